//! What can be shown of a JSON text that is still being written, such as the arguments of a tool call.

use crate::decoder::Decoder;
use crate::grammar::{Grammar, Sign};
use crate::parser::Limits;

/// Closes the beginning of a JSON text, so that it is one. In time linear in its bytes, so show one now and then rather
/// than for every few bytes that come.
///
/// An open string is shown as far as its characters are whole, open arrays and objects with what they hold. Left out are a
/// key whose value has not begun, a literal until it is whole, and a number until something follows it, for its digits so
/// far are another number. Nothing else is changed: blanks, escapes, and keys that come twice stay as they are.
///
/// `None` if there is nothing to show yet, or if this is not the beginning of a JSON text of at most 127 levels.
///
/// ```
/// use mainpath_json::preview;
///
/// assert_eq!(preview(br#"{"path": "src/ma"#).as_deref(), Some(r#"{"path": "src/ma"}"#));
/// assert_eq!(preview(br#"{"edits": [{"old_text": "a\u00"#).as_deref(), Some(r#"{"edits": [{"old_text": "a"}]}"#));
/// assert_eq!(preview(br#"{"a": true, "limit": 1"#).as_deref(), Some(r#"{"a": true}"#));
/// ```
pub fn preview(beginning: &[u8]) -> Option<String> {
    let mut rest = beginning;
    let mut decoder = Decoder::default();
    let mut grammar = Grammar::new(Limits::default().depth);
    let mut text = String::with_capacity(beginning.len());
    // So much of the text is good once its string and its levels are closed.
    let mut good = 0;
    while let Some(character) = decoder.next(&mut rest).ok()? {
        if grammar.number_ends(Some(character)) {
            good = text.len();
        }
        let sign = grammar.step(character).ok()?;
        text.push(character);
        match sign {
            Sign::Opens | Sign::Text(_) | Sign::Ends => good = text.len(),
            Sign::Begins if grammar.is_in_text() => good = text.len(),
            Sign::Begins | Sign::Within | Sign::KeyBegins | Sign::KeyText(_) => {}
        }
    }
    if good == 0 {
        return None;
    }
    text.truncate(good);
    if grammar.is_in_text() {
        text.push('"');
    }
    text.extend(grammar.levels().iter().rev().map(|level| level.closing()));
    Some(text)
}
