//! Secrets in the files and on the command lines of well-known programs: `.netrc` (curl's documentation, "The .netrc file format"), `curl
//! --user` (curl(1)), and the private keys of PuTTY (PuTTY's manual, appendix C).

use super::look::{Look, is_password, run, value};

const fn is_inside(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'$' | b'<' | b'>')
}

/// The password of an entry that begins `machine HOST login NAME` or `default login NAME`, on one line or on several, whose breaks may be
/// escaped.
pub(super) fn netrc(text: &[u8], at: usize, from: usize) -> Look {
    let before = String::from_utf8_lossy(&text[at.saturating_sub(300)..at]).replace("\\n", " ");
    let mut words = before.split_whitespace().rev().map(|word| word.trim_matches('\\')).filter(|word| !word.is_empty());
    let (_, login, first, second) = (words.next(), words.next(), words.next(), words.next());
    // A colour of a terminal may stand before the first word.
    let begins = |word: Option<&str>, with: &str| word.is_some_and(|word| word.ends_with(with));
    let is_entry = login == Some("login") && (begins(first, "default") || begins(second, "machine"));
    match is_entry && before.ends_with(|c: char| c.is_whitespace()) {
        true => value(text, from, run(text, from, is_inside), |value| is_secret(value, b"")),
        false => Look::Nothing,
    }
}

/// Returns true for a password that is not already a handle.
fn is_secret(value: &[u8], user: &[u8]) -> bool {
    !value.starts_with(b"{{") && is_password(value, user)
}

/// The password in `curl -u NAME:PASSWORD`, with or without quotes.
pub(super) fn curl_user(text: &[u8], at: usize, from: usize) -> Look {
    let line = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = &text[line.max(at.saturating_sub(500))..at];
    if !line.ends_with(b"curl") && !line.windows(5).any(|word| word == b"curl ") {
        return Look::Nothing;
    }
    let from = run(text, from, |byte| matches!(byte, b' ' | b'=' | b'"' | b'\'' | b'\\'));
    let end = run(text, from, is_inside);
    let Some(colon) = text[from..end].iter().position(|byte| *byte == b':') else {
        return if end == text.len() { Look::Later } else { Look::Nothing };
    };
    let (user, start) = (&text[from..from + colon], from + colon + 1);
    value(text, start, end, |value| is_secret(value, user))
}

/// The minimum length of a key.
const SHORTEST_KEY: usize = 16;

/// The lines of a key that follow `Private-Lines: NUMBER`. Their breaks may be escaped, once or more.
pub(super) fn putty_key(text: &[u8], _: usize, from: usize) -> Look {
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let start = after_breaks(text, run(text, from, |byte| byte.is_ascii_digit()));
    let (mut end, mut here) = (start, start);
    while here < text.len() {
        let next = run(text, here, is_key);
        // The line after the key has a name and a colon.
        if next == here || matches!(text.get(next), Some(b'-' | b':')) {
            break;
        }
        (end, here) = (next, after_breaks(text, next));
    }
    let whole = (end - start >= SHORTEST_KEY).then_some(end);
    match whole {
        _ if here == text.len() && start == end => Look::Later,
        _ if here == text.len() => Look::Open { start, end: whole },
        Some(end) => Look::Secret(start..end),
        None => Look::Nothing,
    }
}

/// The place after the line breaks that begin here; the end of the text, if it ends within one.
fn after_breaks(text: &[u8], mut at: usize) -> usize {
    loop {
        let end = run(text, at, |byte| byte == b'\\');
        at = match text.get(end) {
            Some(b'\r' | b'\n') if end == at => at + 1,
            Some(b'r' | b'n') if end > at => end + 1,
            None => return end,
            Some(_) => return at,
        };
    }
}
