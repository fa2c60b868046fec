//! Letters, digits and space as Python has them: the validator of the specification is written in it, and names of skills may
//! be in any script.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// `str.strip()`: control characters that separate are space as well.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// `str.isalnum()` of one character: a letter or anything with a numeric value, and no mark that is written on a letter.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    // Letters in squares and circles are symbols; those without a plain form are still here after NFKC.
    let is_symbol = matches!(c, '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f149}' | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    c.is_numeric() || c.is_alphabetic() && !is_combining_mark(c) && !is_symbol
}

/// The form in which names are compared: NFKC.
pub(crate) fn normalize(name: &str) -> String {
    name.nfkc().collect()
}
