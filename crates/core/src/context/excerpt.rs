//! Part of a long text.

use crate::context::estimate::{Size, letters};

/// The beginning and the end of a text, about so many tokens by estimate.
pub fn excerpt(text: &str, tokens: u32) -> String {
    if letters(text) <= tokens {
        return text.into();
    }
    let end = tokens / 3;
    let (mut size, mut head) = (Size::default(), text.len());
    for (at, c) in text.char_indices() {
        if !size.takes(c, tokens - end) {
            head = at;
            break;
        }
    }
    let (mut size, mut tail) = (Size::default(), text.len());
    for (at, c) in text.char_indices().rev() {
        if at < head || !size.takes(c, end) {
            break;
        }
        tail = at;
    }
    let (first, last) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{first}\n[…]\n{last}")
}
