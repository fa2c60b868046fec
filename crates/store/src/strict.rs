//! JSON as the format of the log has it, also where a reader skips it: no half of a character, and a bounded depth.

use memchr::{memchr2, memchr2_iter, memmem};

/// The maximum depth of nested objects and arrays: that of the JSON reader.
const DEEPEST: usize = 127;

/// Returns true if a valid JSON text has no half of a surrogate pair, and no more levels than [`DEEPEST`]. What a reader does not know it
/// skips without a look.
pub(crate) fn is_strict(json: &[u8]) -> bool {
    // Most texts have neither.
    let may_be_half = || memmem::find(json, b"\\ud").is_some() || memmem::find(json, b"\\uD").is_some();
    let may_be_deep = || memchr2_iter(b'{', b'[', json).nth(DEEPEST).is_some();
    (!may_be_half() && !may_be_deep()) || is_whole(json)
}

fn is_whole(json: &[u8]) -> bool {
    let (mut rest, mut depth) = (json, 0_usize);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => match after_text(after) {
                Some(after) => rest = after,
                None => return false,
            },
            _ => {}
        }
        if depth > DEEPEST {
            return false;
        }
    }
    true
}

/// The rest after a string, from the rest after its first quote. `None`: it has a lone surrogate.
fn after_text(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let at = memchr2(b'"', b'\\', rest)?;
        let (found, after) = rest.get(at..)?.split_first()?;
        if *found == b'"' {
            return Some(after);
        }
        rest = match unit(after) {
            None => after.get(1..)?,
            Some(0xd800..=0xdbff) => {
                let second = after.get(5..)?.strip_prefix(b"\\")?;
                unit(second).filter(|unit| (0xdc00..=0xdfff).contains(unit))?;
                second.get(5..)?
            }
            Some(0xdc00..=0xdfff) => return None,
            Some(_) => after.get(5..)?,
        };
    }
}

/// The number in an escape such as `u00e4`.
fn unit(escape: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(escape.strip_prefix(b"u")?.get(..4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_and_too_many_levels_are_found_wherever_they_are() {
        for (text, strict) in [
            (r#"{"a":"\ud83d\ude00 \\ud800 \u00e4 \"","b":[]}"#, true),
            (r#"{"a":"\ud800"}"#, false),
            (r#"{"a":"\ud800\n"}"#, false),
            (r#"{"a":"\ud800\ud800"}"#, false),
            (r#"{"a":"\uDC00\ud800"}"#, false),
            (r#"{"\ud800":1}"#, false),
            (r#"["\\\ud800"]"#, false),
        ] {
            assert_eq!(is_strict(text.as_bytes()), strict, "{text}");
        }
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(is_strict(nested(127).as_bytes()) && !is_strict(nested(128).as_bytes()));
        let side_by_side = format!("[{}\"[[\"]", "[],".repeat(300));
        assert!(is_strict(side_by_side.as_bytes()));
    }
}
