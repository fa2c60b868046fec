//! What a server writes is hostile: its texts are stripped of what a reader would not see, and cut.

use serde_json::Value;

/// Bytes of a schema, written as JSON, that are taken.
const SCHEMA_BYTES: usize = 64 * 1024;
/// Characters of any one text in a schema.
const SCHEMA_TEXT: usize = 4_000;

/// Whether a reader would not see a character although it acts: control characters but line breaks and tabs, those that
/// turn the direction of writing, and the tag characters that spell hidden text.
fn is_unseen(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' | '\u{feff}')
}

/// The text without what a reader would not see.
pub(crate) fn seen(text: &str) -> String {
    text.chars().filter(|letter| !is_unseen(*letter)).collect()
}

/// The same with its first `most` characters only.
pub(crate) fn text(text: &str, most: usize) -> String {
    let mut seen = text.chars().filter(|letter| !is_unseen(*letter));
    let mut kept: String = seen.by_ref().take(most).collect();
    if seen.next().is_some() {
        kept.push('…');
    }
    kept
}

/// The same as one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(most).collect();
    self::text(&words.join(" "), most)
}

/// A schema that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has {bytes} bytes; {SCHEMA_BYTES} is the most")]
pub(crate) struct LargeSchema {
    bytes: usize,
}

/// A schema with its texts cleaned. Errors: it is too large.
pub(crate) fn schema(mut schema: Value) -> Result<Value, LargeSchema> {
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES {
        return Err(LargeSchema { bytes });
    }
    clean(&mut schema);
    Ok(schema)
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(is_unseen) || text.len() > SCHEMA_TEXT => {
            *text = self::text(text, SCHEMA_TEXT);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(map) => {
            if map.keys().any(|key| key.chars().any(is_unseen)) {
                *map = std::mem::take(map).into_iter().map(|(key, value)| (seen(&key), value)).collect();
            }
            map.values_mut().for_each(clean);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_reader_would_not_see_is_taken_out() {
        let hostile = "Reads\u{1b}[2J a\u{202e}file\u{e0041}.\r\n\tNo more\0.";
        assert_eq!(seen(hostile), "Reads[2J afile.\n\tNo more.");
        assert_eq!(text(hostile, 7), "Reads[2…");
        assert_eq!(text("short", 5), "short");
        assert_eq!(line(" a\n b ", 9), "a b");
        let hostile = json!({"type": "object", "properties": {"a\u{1b}": {"description": "x\u{e0041}y"}}, "n": 1});
        let cleaned = json!({"type": "object", "properties": {"a": {"description": "xy"}}, "n": 1});
        assert_eq!(schema(hostile), Ok(cleaned));
    }

    #[test]
    fn a_schema_that_is_too_large_is_refused() {
        let large = json!({"description": "a".repeat(SCHEMA_BYTES)});
        assert_eq!(schema(large).unwrap_err().to_string(), "it has 65554 bytes; 65536 is the most");
    }
}
