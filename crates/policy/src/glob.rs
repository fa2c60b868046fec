//! One word of a pattern: letters that stand for themselves, and `*`, `?`, `[…]`, `{…,…}`.

use globset::{ErrorKind, GlobBuilder, GlobMatcher};
use std::sync::{Arc, OnceLock};

/// The longest pattern, in bytes. What is longer was not written by a person.
const LONGEST: usize = 1_000;
/// The most alternatives of one pattern.
const MOST_ALTERNATIVES: usize = 200;

/// The most alternatives that are compared one by one.
const MOST_PLAIN: usize = 64;

/// Why a text is not a pattern with wildcards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// It is too long.
    #[error("the pattern is longer than {LONGEST} bytes")]
    TooLong,
    /// It has too many alternatives.
    #[error("the pattern has more than {MOST_ALTERNATIVES} alternatives")]
    ManyAlternatives,
    /// It breaks a rule of the syntax.
    #[error("the pattern {text:?} cannot be read: {problem}")]
    Syntax {
        /// The pattern.
        text: String,
        /// The rule.
        problem: ErrorKind,
    },
}

/// A compiled pattern for a word, a path or an address.
#[derive(Clone, Debug)]
pub(crate) enum Glob {
    /// Nothing in it is special.
    Literal(String),
    /// Any of these. Most patterns for words are no more than that, and comparing them is fast.
    Plain(Vec<Plain>),
    /// The last name of a path is any of these.
    Name(Vec<Plain>),
    /// Anything else. Shared by the copies of a policy, so that it is compiled once.
    Pattern(Arc<Lazy>),
}

/// A pattern that is read, and compiled when a text is first compared with it: most never are, and compiling takes longer
/// than all the rest of loading a rule.
#[derive(Clone, Debug)]
pub(crate) struct Lazy {
    read: globset::Glob,
    compiled: OnceLock<GlobMatcher>,
}

/// Pieces of text with a star between each two of them.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    first: String,
    /// What follows the first star; `None` where there is none.
    rest: Option<(Vec<String>, String)>,
}

impl Glob {
    /// A pattern whose `*` is any letters at all.
    pub fn word(text: &str) -> Result<Glob, GlobError> {
        Glob::new(text, false)
    }

    /// A pattern for a path: `*` stops at `/`, `**` between slashes is any folders.
    pub fn path(text: &str) -> Result<Glob, GlobError> {
        Glob::new(text, true)
    }

    fn new(text: &str, is_path: bool) -> Result<Glob, GlobError> {
        if text.len() > LONGEST {
            return Err(GlobError::TooLong);
        }
        if text.matches(',').count() > MOST_ALTERNATIVES {
            return Err(GlobError::ManyAlternatives);
        }
        if let Some(plain) = unescaped(text) {
            return Ok(Glob::Literal(plain));
        }
        let all =
            |text: &str| -> Option<Vec<Plain>> { alternatives(text)?.iter().map(|text| Plain::new(text)).collect() };
        let plain = match text.strip_prefix("**/") {
            Some(name) if is_path && !name.contains(['/', '\\']) && !name.contains("**") => all(name).map(Glob::Name),
            _ if is_path => None,
            _ => all(text).map(Glob::Plain),
        };
        plain.map_or_else(|| Glob::pattern(text, is_path), Ok)
    }

    fn pattern(text: &str, is_path: bool) -> Result<Glob, GlobError> {
        let glob =
            GlobBuilder::new(text).literal_separator(is_path).backslash_escape(true).empty_alternates(true).build();
        let glob = glob.map_err(|error| GlobError::Syntax { text: text.into(), problem: error.kind().clone() })?;
        Ok(Glob::Pattern(Arc::new(Lazy { read: glob, compiled: OnceLock::new() })))
    }

    /// The one text that matches, if nothing in the pattern is special.
    pub fn one(&self) -> Option<&str> {
        match self {
            Glob::Literal(plain) => Some(plain),
            Glob::Plain(_) | Glob::Name(_) | Glob::Pattern(_) => None,
        }
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Glob::Literal(plain) => plain == text,
            Glob::Plain(all) => all.iter().any(|plain| plain.matches(text)),
            Glob::Name(all) => {
                let name = text.rsplit('/').next().unwrap_or_default();
                all.iter().any(|plain| plain.matches(name))
            }
            Glob::Pattern(lazy) => lazy.compiled.get_or_init(|| lazy.read.compile_matcher()).is_match(text),
        }
    }
}

impl Plain {
    fn new(pattern: &str) -> Option<Plain> {
        if pattern.contains('\\') {
            return unescaped(pattern).map(|first| Plain { first, rest: None });
        }
        if pattern.contains(['?', '[', ']', '{', '}']) {
            return None;
        }
        let mut pieces: Vec<String> = pattern.split('*').map(String::from).collect();
        let last = if pieces.len() > 1 { pieces.pop() } else { None };
        let mut pieces = pieces.into_iter();
        let first = pieces.next().unwrap_or_default();
        Some(Plain { first, rest: last.map(|last| (pieces.collect(), last)) })
    }

    fn matches(&self, text: &str) -> bool {
        // Most comparisons fail, and most of those at the first or the last letter: looking at these alone is much faster.
        let differ = |one: Option<&u8>, other: Option<&u8>| one.is_some() && one != other;
        let (letters, first) = (text.as_bytes(), self.first.as_bytes());
        if differ(first.first(), letters.first()) {
            return false;
        }
        let Some((middle, last)) = &self.rest else { return text == self.first };
        if letters.len() < first.len() + last.len() || differ(last.as_bytes().last(), letters.last()) {
            return false;
        }
        let has_ends = (first.is_empty() || text.starts_with(&self.first)) && (last.is_empty() || text.ends_with(last));
        let inner = text.get(first.len()..letters.len() - last.len()).filter(|_| has_ends);
        let Some(mut text) = inner else { return false };
        middle.iter().all(|piece| {
            let may_be_there = piece.as_bytes().first().is_none_or(|letter| text.as_bytes().contains(letter));
            let found = if may_be_there { text.split_once(piece.as_str()) } else { None };
            text = found.map_or(text, |(_, after)| after);
            found.is_some()
        })
    }
}

/// The pattern without its braces, once for each alternative. `None` where there are too many, or where it takes more to
/// read it.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    if pattern.contains(['\\', '[']) && pattern.contains('{') {
        return None;
    }
    let mut all = vec![pattern.to_string()];
    while let Some(at) = all.iter().position(|pattern| pattern.contains('{')) {
        let pattern = all.swap_remove(at);
        // An opening brace whose closing one comes before any other.
        let close = pattern.find('}')?;
        let open = pattern.get(..close)?.rfind('{')?;
        let (before, after) = (pattern.get(..open)?, pattern.get(close + 1..)?);
        all.extend(pattern.get(open + 1..close)?.split(',').map(|one| format!("{before}{one}{after}")));
        if all.len() > MOST_PLAIN {
            return None;
        }
    }
    Some(all)
}

/// The text without its backslashes, if nothing in it is special.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.push(letters.next()?),
            '*' | '?' | '[' | ']' | '{' | '}' => return None,
            letter => plain.push(letter),
        }
    }
    Some(plain)
}

/// The text as a pattern that matches nothing else.
pub(crate) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | '*' | '?' | '[' | ']' | '{' | '}') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_word_is_any_letters_and_in_a_path_stops_at_a_slash() {
        for (pattern, text, in_word, in_path) in [
            ("a", "a", true, true),
            ("a", "ab", false, false),
            ("a*", "a", true, true),
            ("a*", "a/b", true, false),
            ("**/b", "b", false, true),
            ("**/b", "a/c/b", true, true),
            ("a/**", "a/b/c", true, true),
            ("a/**", "a", false, false),
            ("--x=?", "--x=1", true, true),
            ("{a,b*}", "bc", true, true),
            ("[a-c]", "b", true, true),
            (r"\*", "*", true, true),
            (r"\*", "a", false, false),
        ] {
            let matches = |glob: Result<Glob, GlobError>| glob.unwrap().matches(text);
            let found = (matches(Glob::word(pattern)), matches(Glob::path(pattern)));
            assert_eq!(found, (in_word, in_path), "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_compared_without_a_regex_is_compared_alike() {
        let texts = [
            "", "a", "b", "ab", "x/a", "x/a/y", "a/y", "*", "a*", "{a", "c,d", "bc", "xaxbx", "aab", ".x", "d/.x",
            "a.x",
        ];
        let words = [
            "{a,b}",
            "{,*/}a{,/*}",
            "{a,{b,c}}*",
            "a*",
            "*a",
            "*a*",
            "*",
            r"a\*",
            r"\*",
            "**",
            "{,b}c",
            "*a*b*",
            "a*b",
            "a*a*b",
        ];
        let paths = ["**/a", "**/{a,b}", "**/*.x", "**/{.x,a*}", "**/*", "**/a*b"];
        for (pattern, is_path) in words.map(|word| (word, false)).into_iter().chain(paths.map(|path| (path, true))) {
            let (fast, slow) = (Glob::new(pattern, is_path).unwrap(), Glob::pattern(pattern, is_path).unwrap());
            assert!(!matches!(fast, Glob::Pattern(_)), "{pattern}");
            for text in texts {
                assert_eq!(fast.matches(text), slow.matches(text), "{pattern} {text}");
            }
        }
        assert!(matches!(Glob::word("{,*/}{.ssh,.aws}{,/*}"), Ok(Glob::Plain(all)) if all.len() == 8));
    }

    #[test]
    fn a_pattern_that_is_no_pattern_is_refused() {
        for bad in ["[a", "{a", "{{a,b}", &"a".repeat(1_001), &format!("{{{}}}", ",a".repeat(300))] {
            assert!(Glob::word(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_escaped_text_matches_itself_alone() {
        for text in ["a*b", "[x]", "{a,b}", r"back\slash", "?"] {
            let glob = Glob::word(&escaped(text)).unwrap();
            assert!(glob.matches(text) && matches!(glob, Glob::Literal(_)), "{text}");
        }
    }
}
