//! Reading files of other programs, which may be huge, broken or hostile.

use super::session::{RecordedSession, SessionProblem, Unreadable};
use mainpath_store::open_regular;
use mainpath_types::{Micros, Millis, parse_time};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// The largest file that is read, in bytes.
pub(super) const LARGEST: u64 = 256 << 20;
/// The longest name of a kind of line that is told.
const NAME: usize = 40;

/// The bytes of a file. Errors: it is no file, cannot be read, or is too large.
pub(super) fn bytes(file: &Path) -> Result<Vec<u8>, Unreadable> {
    let unread = |error| SessionProblem::Io(error).of(file);
    let mut bytes = Vec::new();
    let open = open_regular(file).map_err(unread)?;
    open.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unread)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(SessionProblem::TooLarge(LARGEST).of(file)),
        false => Ok(bytes),
    }
}

/// The lines of a file that are objects of JSON; the others are counted. Errors: as [`bytes`]'.
pub(super) fn lines(file: &Path, session: &mut RecordedSession) -> Result<Vec<Value>, Unreadable> {
    let bytes = bytes(file)?;
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(&bytes);
    let mut lines = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice::<Value>(line).or_else(|_| serde_json::from_slice(&without_halves(line))) {
            Ok(value) if value.is_object() => lines.push(value),
            Ok(_) | Err(_) => session.leave_out("lines that are no JSON objects"),
        }
    }
    Ok(lines)
}

/// A line in which every half of a surrogate pair that stands alone is the replacement character: JavaScript writes such halves where it
/// cuts a text within a letter, and they are no letters of JSON (RFC 8259, section 8.2).
fn without_halves(line: &[u8]) -> Vec<u8> {
    let unit = |at: usize| {
        let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let is_high = |unit: u16| (0xD800..0xDC00).contains(&unit);
    let is_low = |unit: u16| (0xDC00..0xE000).contains(&unit);
    let (mut mended, mut at) = (Vec::with_capacity(line.len()), 0);
    while let Some(byte) = line.get(at) {
        let taken = match (byte, unit(at)) {
            (b'\\', Some(high)) if is_high(high) && unit(at + 6).is_some_and(is_low) => 12,
            (b'\\', Some(half)) if is_high(half) || is_low(half) => {
                mended.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            // What follows a backslash is no beginning of another escape.
            (b'\\', _) => 2,
            _ => 1,
        };
        mended.extend_from_slice(line.get(at..at + taken).or_else(|| line.get(at..)).unwrap_or_default());
        at += taken;
    }
    mended
}

/// A text in an object.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(String::from)
}

/// A text in an object that is not empty.
pub(super) fn filled(value: &Value, name: &str) -> Option<String> {
    text(value, name).filter(|text| !text.trim().is_empty())
}

/// A count in an object; none where it is not one.
pub(super) fn count(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// A time: a text of RFC 3339 in UTC, or milliseconds.
pub(super) fn time(value: &Value, name: &str) -> Option<Millis> {
    match value.get(name)? {
        Value::String(text) => parse_time(text),
        number => number.as_u64().or_else(|| whole(number.as_f64()?)),
    }
}

/// Money in dollars as micro-units.
pub(super) fn micros(value: Option<&Value>) -> Option<Micros> {
    whole(value?.as_f64()? * 1_000_000.0)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(number: f64) -> Option<u64> {
    (0.0..9_007_199_254_740_992.0).contains(&number).then(|| number.round() as u64)
}

/// The name of a kind that is not understood, as it is told to people.
pub(super) fn kind(value: &Value, name: &str) -> String {
    let given = text(value, name).unwrap_or_else(|| "no type".into());
    let shown: String = given.chars().filter(|c| !c.is_control()).take(NAME).collect();
    shown
}

/// A block of text.
pub(super) fn block(text: impl Into<String>) -> Value {
    serde_json::json!({"type": "text", "text": text.into()})
}

/// What was said, a text or pieces, as blocks.
pub(super) fn blocks(said: Option<&Value>, piece: impl Fn(&Value) -> Value) -> Vec<Value> {
    match said {
        Some(Value::String(text)) => vec![block(text)],
        Some(Value::Array(pieces)) => pieces.iter().map(piece).collect(),
        _ => Vec::new(),
    }
}

/// A thought, without what its vendor signed: that holds only where it came from.
pub(super) fn thought(text: impl Into<String>) -> Value {
    serde_json::json!({"type": "thought", "text": text.into()})
}

/// A call of a tool.
pub(super) fn call(id: Option<String>, name: Option<String>, input: Value) -> Value {
    serde_json::json!({"type": "tool_use", "id": id, "name": name.unwrap_or_default(), "input": input})
}

/// The result of a call.
pub(super) fn result(id: Option<String>, content: Value, is_error: bool) -> Value {
    serde_json::json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error})
}

#[cfg(test)]
mod tests {
    use super::without_halves;

    #[test]
    fn halves_of_letters_are_replaced_and_whole_letters_and_backslashes_stay() {
        let mended = |line: &str| String::from_utf8(without_halves(line.as_bytes())).unwrap();
        let cases = [
            (r#"{"a": "cut \ud83d"}"#, r#"{"a": "cut \ufffd"}"#),
            (r#""\ude00\ud83d\ud83d\ude00""#, r#""\ufffd\ufffd\ud83d\ude00""#),
            (r#""an escaped backslash: \\ud83d""#, r#""an escaped backslash: \\ud83d""#),
            (r#""\u00e9 and the end \ud8"#, r#""\u00e9 and the end \ud8"#),
        ];
        cases.into_iter().for_each(|(line, expected)| assert_eq!(mended(line), expected));
    }
}
