//! Small helpers for error lines and JSON.

use crate::text::Compact;
use mainpath_types::{ModelError, ModelErrorKind};
use serde::Serialize;
use std::borrow::Cow;

/// An error without status or waiting time.
pub(crate) fn error(kind: ModelErrorKind, message: impl Into<String>) -> ModelError {
    ModelError { kind, message: message.into(), status: None, retry_after_ms: None }
}

/// Foreign text as part of one line: white space and control characters become single spaces, and at most `limit`
/// characters stay.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut kept = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = kept > 0;
            continue;
        }
        if kept >= limit {
            line.push('…');
            break;
        }
        if gap {
            line.push(' ');
            gap = false;
        }
        line.push(c);
        kept += 1;
    }
    line
}

/// The beginning of a foreign body, to show in an error.
pub(crate) fn snippet(body: &[u8]) -> String {
    match readable(body) {
        None => format!("{} bytes that are not text", body.len()),
        Some(text) => match one_line(&text, 160) {
            line if line.is_empty() => "nothing".into(),
            line => format!("{line:?}"),
        },
    }
}

/// The beginning of a foreign body as text; `None` if it is none.
pub(crate) fn readable(body: &[u8]) -> Option<Cow<'_, str>> {
    let text = String::from_utf8_lossy(&body[..body.len().min(1000)]);
    let odd = |c: &char| *c == '\u{fffd}' || c.is_control() && !c.is_whitespace();
    (text.chars().filter(odd).count() * 5 <= text.chars().count()).then_some(text)
}

/// Appends a value as JSON. Serialising text, numbers and JSON values into memory cannot fail.
pub(crate) fn push_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Compact)).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// The words of the last cause, which are the most telling.
#[cfg(feature = "http")]
pub(crate) fn innermost(top: &(dyn std::error::Error + 'static)) -> String {
    let mut here = top;
    while let Some(inner) = here.source() {
        here = inner;
    }
    one_line(&here.to_string(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_becomes_one_short_line() {
        assert_eq!(one_line("  a\r\n\tb\u{1b}[31m  c ", 99), "a b [31m c");
        assert_eq!(one_line("äöü and more", 3), "äöü…");
        assert_eq!(one_line("äöü", 3), "äöü");
        assert_eq!(snippet(b" \n"), "nothing");
        assert_eq!(snippet(b"<html>\n\xff"), "\"<html> \u{fffd}\"");
        assert_eq!(snippet(b"\x1f\x8b\x08\x00\x00ab"), "7 bytes that are not text");
    }
}
