//! Words, as the full-text search knows them.

/// Whether a letter is a word of its own.
pub(crate) fn is_word(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// The text with blanks around every letter that is a word of its own.
pub(crate) fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 2);
    for c in text.chars() {
        if is_word(c) {
            spaced.push(' ');
            spaced.push(c);
            spaced.push(' ');
        } else {
            spaced.push(c);
        }
    }
    spaced
}
