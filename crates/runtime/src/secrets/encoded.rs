//! Encodings of a secret that is known by name: JSON, base64, hexadecimal, reversed, and with line breaks or invisible characters in it.

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
const BREAKS: usize = 4;

/// The same of invisible characters.
const UNSEEN: usize = 8;

/// The same of both.
pub(super) const REACH: usize = BREAKS + UNSEEN;

/// A first line that is shorter than this is no part of a value: almost every line ends with the first letter of one.
const FIRST: usize = 4;

/// What is between the characters of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    /// A line break of this length.
    Break(usize),
    /// Something of this length that a terminal does not show.
    Unseen(usize),
    /// The beginning of that.
    Cut,
}

/// The bytes of a value in a text, with what is between them.
#[derive(Default)]
struct Measure {
    known: usize,
    breaks: usize,
    unseen: usize,
    /// Bytes of the value before the first line break.
    first: Option<usize>,
}

impl Measure {
    /// Takes in what is next. Returns its length; 0: a byte of the value.
    fn add(&mut self, between: Between) -> usize {
        match between {
            Between::Nothing => self.known += 1,
            Between::Break(length) => {
                self.first.get_or_insert(self.known);
                self.breaks += length;
                return length;
            }
            Between::Unseen(length) => {
                self.unseen += length;
                return length;
            }
            Between::Cut => {}
        }
        0
    }

    fn fits(&self, length: usize) -> bool {
        self.first.is_none_or(|first| first >= FIRST)
            && self.known + self.breaks <= BREAKS * length
            && self.unseen <= UNSEEN * length
    }
}

/// The values in a text, from `since` on, that have line breaks or invisible characters in them: the number and the range of each.
pub(super) fn split(values: &AhoCorasick, text: &[u8], since: usize) -> Vec<(usize, Range<usize>)> {
    let rest = &text[since..];
    // Most texts have none.
    let may_be = |at: usize| matches!(rest[at], b'\\' | 0x80..) || rest[at].is_ascii_control();
    if !(0..rest.len()).any(|at| may_be(at) && between(&rest[at..]) != Between::Nothing) {
        return Vec::new();
    }
    // The text without them, and where each of its bytes stands.
    let (mut joined, mut places) = (Vec::with_capacity(rest.len()), Vec::with_capacity(rest.len()));
    let mut at = since;
    while at < text.len() {
        match between(&text[at..]) {
            Between::Nothing | Between::Cut => {
                joined.push(text[at]);
                places.push(at);
                at += 1;
            }
            Between::Break(length) | Between::Unseen(length) => at += length,
        }
    }
    let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
    let found = values.find_overlapping_iter(Input::new(&joined)).filter_map(|found| {
        let range = place(found.start())..place(found.end() - 1) + 1;
        if range.len() == found.len() {
            return None;
        }
        let (mut measure, mut at) = (Measure::default(), range.start);
        while at < range.end {
            at += measure.add(between(&text[at..])).max(1);
        }
        measure.fits(found.len()).then(|| (found.pattern().as_usize(), range))
    });
    found.collect()
}

/// Returns true if the text may end within a value that has line breaks or invisible characters in it.
pub(super) fn begins_across(value: &[u8], text: &[u8]) -> bool {
    let (mut measure, mut at) = (Measure::default(), 0);
    while at < text.len() {
        let between = between(&text[at..]);
        if between == Between::Cut {
            return measure.known > 0 && measure.fits(value.len());
        }
        // The first byte of an escaped break may be the end of the text.
        if between == Between::Nothing && value.get(measure.known) != text.get(at) {
            return measure.known >= FIRST && text[at..] == *b"\\";
        }
        at += measure.add(between).max(1);
        if measure.first.is_some_and(|first| first < FIRST) {
            return false;
        }
    }
    measure.known < value.len() && at > measure.known && measure.fits(value.len())
}

/// What a text begins with. Line breaks count as well if JSON has escaped them.
fn between(text: &[u8]) -> Between {
    match text {
        [b'\n' | b'\r', ..] => Between::Break(1),
        [b'\\', b'n' | b'r', ..] => Between::Break(2),
        [0x1b, rest @ ..] => match sequence(rest) {
            Some(length) => Between::Unseen(1 + length),
            None => Between::Cut,
        },
        [b'\t', ..] => Between::Nothing,
        [byte, ..] if byte.is_ascii_control() => Between::Unseen(1),
        [0x80..=0xff, ..] => unseen(text).map_or(Between::Nothing, Between::Unseen),
        _ => Between::Nothing,
    }
}

/// The length of the rest of a control sequence of a terminal, behind its first byte; 0: it is none. `None`: its end is not there.
fn sequence(rest: &[u8]) -> Option<usize> {
    let Some((b'[', parameters)) = rest.split_first() else { return rest.first().map(|_| 0) };
    let count = parameters.iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
    parameters.get(count).map(|_| count + 2)
}

/// The length of an invisible character with which a text begins.
fn unseen(text: &[u8]) -> Option<usize> {
    let length = match text.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let letter = std::str::from_utf8(text.get(..length)?).ok()?.chars().next()?;
    let is_unseen = matches!(
        letter,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    is_unseen.then_some(length)
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
