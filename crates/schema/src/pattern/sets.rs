//! Sets of characters as ECMAScript has them: `\d` and `\w` are ASCII, and its spaces and line ends are its own.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// No more characters than this have a capital and a small form.
const CASED: usize = 3_000;

/// A set of the code points of some ranges. Those of surrogates are no characters: no text has them.
pub(super) fn set(ranges: impl IntoIterator<Item = [u32; 2]>) -> ClassUnicode {
    let characters = ranges.into_iter().filter_map(|[first, last]| {
        let first = if (0xd800..0xe000).contains(&first) { 0xe000 } else { first };
        let last = if (0xd800..0xe000).contains(&last) { 0xd7ff } else { last };
        let [first, last] = [char::from_u32(first)?, char::from_u32(last)?];
        (first <= last).then(|| ClassUnicodeRange::new(first, last))
    });
    ClassUnicode::new(characters)
}

pub(super) fn digits() -> ClassUnicode {
    set([[0x30, 0x39]])
}

pub(super) fn of_words() -> ClassUnicode {
    set([[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]])
}

pub(super) fn spaces() -> ClassUnicode {
    let beyond_ascii = [0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff].map(|one| [one, one]);
    set([[0x09, 0x0d], [0x20, 0x20], [0x2000, 0x200a]].into_iter().chain(beyond_ascii))
}

pub(super) fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// What `.` stands for, unless that is everything.
pub(super) fn within_a_line() -> ClassUnicode {
    let mut inner = set([[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]]);
    inner.negate();
    inner
}

pub(super) fn everything() -> ClassUnicode {
    set([[0, 0x10_ffff]])
}

/// What has a property of Unicode, as `\p{…}` names it: a general category, a script by its keyword, or one that
/// characters have or have not. How its name is spelled, in capitals or not, is read more loosely than ECMAScript does.
pub(super) fn with_property(name: &str) -> Option<ClassUnicode> {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let fits = match name.split_once('=') {
        Some((key, value)) => {
            let keys = ["General_Category", "gc", "Script", "sc", "Script_Extensions", "scx"];
            keys.contains(&key) && is_word(value)
        }
        // A script alone is none, unless a category has the same name.
        None => {
            let is_of = |key: &str| characters_of(&format!("{key}={name}")).is_some();
            is_word(name) && (!is_of("sc") || is_of("gc"))
        }
    };
    fits.then(|| characters_of(name)).flatten()
}

fn characters_of(property: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(&format!(r"\p{{{property}}}")).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Class(Class::Bytes(_)) => Some(ClassUnicode::empty()),
        // One character alone.
        HirKind::Literal(one) => {
            std::str::from_utf8(&one.0).ok().map(|one| set(one.chars().map(|one| [u32::from(one); 2])))
        }
        _ => None,
    }
}

/// What it takes to add to a set the other forms, capital and small, of its characters.
pub(super) fn cost_of_folding(set: &ClassUnicode) -> usize {
    set.iter().map(|range| range.len().min(CASED)).sum()
}
