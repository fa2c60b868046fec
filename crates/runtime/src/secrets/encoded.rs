//! Encodings of a secret that is known by name: JSON, base64, hexadecimal, reversed, and split over several lines.

use aho_corasick::{AhoCorasick, Input};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;
use std::ops::Range;

/// The ways to write a value, other than as it is.
pub(super) fn written(value: &str) -> Vec<String> {
    let in_json = serde_json::to_string(value).unwrap_or_default();
    let in_json = in_json.trim_matches('"').to_string();
    let backwards: String = value.chars().rev().collect();
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut ways = vec![in_json.replace('/', "\\/"), in_json, backwards, hexadecimal.to_uppercase(), hexadecimal];
    ways.extend((0..3).flat_map(|before| base64_within(value, before)));
    let mut known = BTreeSet::from([value.to_string()]);
    ways.retain(|way| known.insert(way.clone()));
    ways
}

/// The base64 characters that depend only on this value, if it has `before` bytes (modulo 3) in front of it and any bytes after it: in each
/// of the two alphabets of RFC 4648.
fn base64_within(value: &str, before: usize) -> [String; 2] {
    let bytes = [&b"   "[..before], value.as_bytes()].concat();
    // Of the first characters some bits are those of the bytes before, of the last character those of the bytes after.
    let first = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]
        .map(|text| text.get(first..end).unwrap_or_default().to_string())
}

/// A value with line breaks in it is found if they make it at most this number of times longer.
pub(super) const REACH: usize = 4;

/// A first line that is shorter than this is no part of a value: almost every line ends with the first letter of one.
const FIRST: usize = 4;

/// The values in a text, from `since` on, that have line breaks in them: the number and the range of each.
pub(super) fn split(values: &AhoCorasick, text: &[u8], since: usize) -> Vec<(usize, Range<usize>)> {
    let rest = &text[since..];
    if !rest.contains(&b'\n') && !rest.windows(2).any(|two| two == b"\\n") {
        return Vec::new();
    }
    // The text without breaks, and where each of its bytes stands.
    let (mut joined, mut places) = (Vec::with_capacity(rest.len()), Vec::with_capacity(rest.len()));
    let mut at = since;
    while at < text.len() {
        match line_break(&text[at..]) {
            0 => {
                joined.push(text[at]);
                places.push(at);
                at += 1;
            }
            length => at += length,
        }
    }
    let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
    let found = values.find_overlapping_iter(Input::new(&joined)).filter_map(|found| {
        let range = place(found.start())..place(found.end() - 1) + 1;
        let first = range.len().min(FIRST);
        let is_split = range.len() > found.len() && range.len() <= REACH * found.len();
        (is_split && place(found.start() + first - 1) == range.start + first - 1)
            .then(|| (found.pattern().as_usize(), range))
    });
    found.collect()
}

/// Returns true if the text may end within a value that has line breaks in it.
pub(super) fn begins_across(value: &[u8], text: &[u8]) -> bool {
    let (mut known, mut at) = (0, 0);
    while at < text.len() {
        match line_break(&text[at..]) {
            0 => {
                // The first byte of an escaped break may be the end of the text.
                if value.get(known) != text.get(at) {
                    return known >= FIRST && text[at..] == *b"\\";
                }
                (known, at) = (known + 1, at + 1);
            }
            _ if known < FIRST => return false,
            length => at += length,
        }
    }
    known < value.len() && at > known && at <= REACH * value.len()
}

/// The length of the line break with which a text begins, also of one that JSON has escaped. 0: it begins with something else.
fn line_break(text: &[u8]) -> usize {
    match text {
        [b'\n' | b'\r', ..] => 1,
        [b'\\', b'n' | b'r', ..] => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_text_holds_what_its_value_decides_wherever_it_stands() {
        let value = "hunter2/hunter2?>~~";
        for (before, after) in (0..7).flat_map(|before| (0..4).map(move |after| (before, after))) {
            let text = format!("{}{value}{}", &"A_KEY=\n"[..before], &"\nB=c"[..after]);
            for whole in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let found = base64_within(value, before % 3).iter().any(|way| whole.contains(way.as_str()));
                assert!(found, "{before} before, {after} after: {whole}");
            }
        }
    }

    #[test]
    fn a_value_is_written_in_every_way_once() {
        let ways = written("12345678");
        assert_eq!(ways.iter().collect::<BTreeSet<_>>().len(), ways.len());
        assert!(
            ["87654321", "3132333435363738", "MTIzNDU2Nz"].iter().all(|way| ways.contains(&way.to_string())),
            "{ways:?}"
        );
        assert!(ways.iter().all(|way| way.len() >= 8), "{ways:?}");
    }
}
