//! What there is at a place of a text, and the measures by which formats tell.

use std::ops::Range;

/// Shorter values are no secrets: replacing them would garble ordinary text.
pub(super) const SHORTEST: usize = 8;

/// What there is at some place of a text.
pub(super) enum Look {
    /// No secret.
    Nothing,
    /// One.
    Secret(Range<usize>),
    /// That depends on what follows: the text ends in what may be a secret. If nothing follows, one ends at `end`, or there is none.
    Open { start: usize, end: Option<usize> },
    /// That depends on what follows, and nothing of it is there yet.
    Later,
}

/// The end of the run of such bytes that begins here.
pub(super) fn run(text: &[u8], from: usize, is_of: impl Fn(u8) -> bool) -> usize {
    from + text[from..].iter().take_while(|byte| is_of(**byte)).count()
}

/// Bits a byte, by how often each occurs. Text that repeats itself has few, what was drawn has many.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut times = [0u32; 256];
    text.iter().for_each(|byte| times[usize::from(*byte)] += 1);
    let of = |times: u32| f64::from(times) / text.len() as f64;
    times.iter().filter(|times| **times > 0).map(|times| -of(*times) * of(*times).log2()).sum()
}

/// A value that ends at `end`: is it one of the secret's kind?
pub(super) fn value(text: &[u8], from: usize, end: usize, is_secret: impl Fn(&[u8]) -> bool) -> Look {
    let trimmed = end - text[from..end].iter().rev().take_while(|byte| **byte == b'.').count();
    let whole = is_secret(&text[from..trimmed]).then_some(trimmed);
    match whole {
        _ if end == text.len() && from < end => Look::Open { start: from, end: whole },
        _ if end == text.len() => Look::Later,
        Some(end) => Look::Secret(from..end),
        None => Look::Nothing,
    }
}

/// Placeholders for passwords.
const NO_PASSWORDS: &[&str] =
    &["pass", "passwd", "password", "secret", "changeme", "example", "token", "key", "hidden"];

/// Returns true for a password, false for a placeholder such as `changeme` or the user's name.
pub(super) fn is_password(password: &[u8], user: &[u8]) -> bool {
    let is_word = NO_PASSWORDS.iter().any(|word| password.eq_ignore_ascii_case(word.as_bytes()));
    let is_same = password.iter().all(|byte| Some(byte) == password.first());
    password.len() >= 4 && password != user && !is_word && !is_same
}
