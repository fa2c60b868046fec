//! Secrets that are told by more than a prefix: by their parts, or by the words before them.
//!
//! JSON web tokens: RFC 7519, RFC 7516. Key blocks: RFC 7468, RFC 4880, and what OpenSSH writes. `Bearer`, `Basic`: RFC 6750, RFC
//! 7617. Passwords in addresses: RFC 3986, 3.2.1. The names in assignments: those of gitleaks' generic rule and
//! of `detect-secrets` 1.5.0.

use super::look::{Look, entropy, is_password, run, value};
use super::programs::{curl_user, netrc, putty_key};
use super::tokens::begins_word;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// One shape.
pub(super) struct Shape {
    /// Its name, as handles and `off` have it.
    pub kind: &'static str,
    /// What it is looked for at, in any case of letters.
    pub anchors: &'static [&'static str],
    /// What there is at such a place, which begins and ends here.
    pub look: fn(&[u8], usize, usize) -> Look,
    /// Whether the secret begins with its anchor, so that a text that ends inside of that may be the beginning of one.
    pub is_part: bool,
}

pub(super) const SHAPES: &[Shape] = &[
    Shape { kind: "jwt", anchors: &["eyJ"], look: web_token, is_part: true },
    Shape { kind: "private-key", anchors: &[BEGIN], look: private_key, is_part: true },
    Shape { kind: "authorization", anchors: &["bearer "], look: bearer, is_part: false },
    Shape { kind: "authorization", anchors: &["basic "], look: basic, is_part: false },
    Shape { kind: "url-password", anchors: &["://"], look: url_password, is_part: false },
    Shape { kind: "netrc-password", anchors: &["password "], look: netrc, is_part: false },
    Shape { kind: "curl-password", anchors: &[" -u", " --user"], look: curl_user, is_part: false },
    Shape { kind: "putty-key", anchors: &["private-lines: "], look: putty_key, is_part: false },
    Shape { kind: "credential", anchors: NAMES, look: assigned, is_part: false },
];

/// What the names of secrets contain.
const NAMES: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "credential",
    "authorization",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "accountkey",
    "account_key",
    "auth_key",
    "authkey",
    "private_key",
];

/// The longest part of a web token. A longer run of such characters is some other data.
const LONGEST_PART: usize = 8 * 1024;

fn web_token(text: &[u8], at: usize, _: usize) -> Look {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if text.get(at..at + 3) != Some(b"eyJ") || !begins_word(text, at) {
        return Look::Nothing;
    }
    let (mut from, mut signed) = (at, false);
    // Three parts where it is signed, the first two of them JSON; five where it is encrypted.
    for part in 1..=5 {
        let end = run(text, from, is_part);
        let short = part == 1 && end - from < 12 && end < text.len();
        if end - from > LONGEST_PART || short {
            return Look::Nothing;
        }
        signed |= part == 2 && text[from..end].starts_with(b"eyJ");
        match text.get(end) {
            None if part == 5 || signed && part == 3 => return Look::Open { start: at, end: Some(end) },
            None => return Look::Open { start: at, end: None },
            Some(_) if part == 5 || signed && part == 3 => return Look::Secret(at..end),
            Some(b'.') => from = end + 1,
            Some(_) => return Look::Nothing,
        }
    }
    Look::Nothing
}

const BEGIN: &str = "-----BEGIN";
const END: &[u8] = b"-----END";
const DASHES: &[u8] = b"-----";
/// Lines of a key are longer than this, but for the last.
const KEY_LINE: usize = 40;
/// So many shorter words in a row are no key any more. There are as many at the end of one: its last line, a checksum, and
/// the letters of escaped line breaks.
const SHORT_WORDS: u32 = 4;

/// A private key from its first to its last line, or as much of it as there is. Line breaks may be escaped, lines indented,
/// quoted or numbered.
fn private_key(text: &[u8], at: usize, end: usize) -> Look {
    let label = run(text, end, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let undecided = Look::Open { start: at, end: None };
    let is_key = |label: &[u8]| label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK");
    if label - end > 80 || text.get(at..end) != Some(BEGIN.as_bytes()) {
        return Look::Nothing;
    }
    let dashes = &text[label..text.len().min(label + DASHES.len())];
    if label == text.len() || DASHES.starts_with(dashes) && dashes.len() < DASHES.len() {
        return undecided;
    }
    if !is_key(&text[end..label]) || dashes != DASHES {
        return Look::Nothing;
    }
    let is_key_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut here, mut short) = (label + DASHES.len(), 0);
    // Where the last line of the key ended, and the last word.
    let (mut key, mut word) = (None, here);
    while here < text.len() {
        let rest = &text[here..];
        if rest.starts_with(END) {
            let closing = rest.windows(DASHES.len()).skip(END.len()).take(120).position(|dashes| dashes == DASHES);
            return match closing {
                Some(closing) => Look::Secret(at..here + END.len() + closing + DASHES.len()),
                None if rest.len() > 128 => Look::Secret(at..here + END.len()),
                None => Look::Open { start: at, end: Some(text.len()) },
            };
        }
        let next = run(text, here, is_key_byte);
        if next == here {
            here += 1;
            // A dash may begin the last line.
            if here - word > 120 {
                break;
            }
            continue;
        }
        let is_line = next - here >= KEY_LINE;
        if next == text.len() {
            let whole = key.is_some() || is_line;
            return Look::Open { start: at, end: whole.then_some(next) };
        }
        (key, short) = if is_line { (Some(next), 0) } else { (key, short + 1) };
        if short > SHORT_WORDS {
            break;
        }
        (here, word) = (next, next);
    }
    match key {
        _ if here == text.len() => Look::Open { start: at, end: key.map(|_| word) },
        Some(key) => Look::Secret(at..key),
        None => Look::Nothing,
    }
}

fn bearer(text: &[u8], at: usize, from: usize) -> Look {
    if !begins_word(text, at) {
        return Look::Nothing;
    }
    let is_value = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    value(text, from, run(text, from, is_value), |value| {
        let has = |what: fn(&u8) -> bool| value.iter().any(what);
        value.len() >= 16 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && entropy(value) >= 3.0
    })
}

fn basic(text: &[u8], at: usize, from: usize) -> Look {
    if !begins_word(text, at) {
        return Look::Nothing;
    }
    let is_value = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    value(text, from, run(text, from, is_value), |value| {
        let padding = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        let decoded = GeneralPurpose::new(&STANDARD, padding).decode(value).unwrap_or_default();
        let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
        value.len() >= 8 && decoded.contains(&b':') && decoded.iter().all(is_text)
    })
}

fn url_password(text: &[u8], at: usize, from: usize) -> Look {
    let is_inside =
        |byte: u8| !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"/?#\"'<>\\`{}()$".contains(&byte);
    let scheme = text[..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'+').count();
    let end = run(text, from, is_inside);
    let authority = &text[from..end];
    if scheme < 2 {
        return Look::Nothing;
    }
    let Some(colon) = authority.iter().position(|byte| *byte == b':') else {
        return if end == text.len() { Look::Later } else { Look::Nothing };
    };
    // A password in which an @ stands as it is belongs to an address that works nevertheless.
    let password_end = authority.iter().rposition(|byte| *byte == b'@').filter(|end| *end > colon);
    let start = from + colon + 1;
    let is_secret = |end: usize| is_password(&authority[colon + 1..end], &authority[..colon]);
    let whole = password_end.filter(|end| is_secret(*end)).map(|end| from + end);
    // An address's host and port are not held back for long.
    let is_port = password_end.is_none() && authority[colon + 1..].len() > 256;
    match whole {
        _ if is_port => Look::Nothing,
        _ if end == text.len() && start < end => Look::Open { start, end: whole },
        _ if end == text.len() => Look::Later,
        Some(end) => Look::Secret(start..end),
        None => Look::Nothing,
    }
}

/// `name = value`, `"name": "value"`, `--name value`, where the value looks like a key.
fn assigned(text: &[u8], at: usize, end: usize) -> Look {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let name_end = run(text, end, is_name);
    if text[..at].ends_with(b"{{") {
        // A handle.
        return Look::Nothing;
    }
    let is_quote = |byte: u8| b"\"'`\\]".contains(&byte);
    let blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let quoted = run(text, name_end, is_quote);
    let separator = run(text, quoted, blank);
    let from = run(text, separator, |byte| matches!(byte, b'=' | b':' | b'>'));
    let sign = &text[separator..from];
    let is_flag = || {
        let name = text[..at].iter().rev().take(60).take_while(|byte| is_name(**byte)).count();
        text[at - name..].starts_with(b"--") && separator > name_end
    };
    if name_end - end > 40 || quoted - name_end > 8 || sign.len() > 3 {
        return Look::Nothing;
    }
    let from = if from == text.len() { from } else { run(text, from, |byte| is_quote(byte) || blank(byte)) };
    if from == text.len() {
        return Look::Later;
    }
    if sign == b"::" || sign.is_empty() && !is_flag() {
        return Look::Nothing;
    }
    let is_value = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_~.-".contains(&byte);
    let mut end = run(text, from, is_value);
    // JSON may write a slash so.
    while text[end..].starts_with(b"\\/") {
        end = run(text, end + 2, is_value);
    }
    if text[end..] == *b"\\" && from < end {
        return Look::Open { start: from, end: is_key(&text[from..end]).then_some(end) };
    }
    // A call, a path or a template, but no value.
    if text.get(end).is_some_and(|byte| b"([{<:$@!*&".contains(byte)) {
        return Look::Nothing;
    }
    value(text, from, end, is_key)
}

/// Whether a value looks drawn rather than written: it holds a long word in which letters and digits take turns.
fn is_key(value: &[u8]) -> bool {
    let words = value.split(|byte| !byte.is_ascii_alphanumeric());
    let Some(word) = words.max_by_key(|word| word.len()).filter(|word| word.len() >= 12 && value.len() >= 16) else {
        return false;
    };
    let turns = word.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let has = |what: fn(&u8) -> bool| word.iter().any(what);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    turns >= if mixed { 2 } else { 3 } && entropy(word) >= 3.0
}
