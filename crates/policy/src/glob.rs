//! One word of a pattern: letters that stand for themselves, and `*`, `?`, `[…]`, `{…,…}`.

use globset::{GlobBuilder, GlobMatcher};

/// The longest pattern, in bytes. What is longer was not written by a person.
const LONGEST: usize = 1_000;
/// The most alternatives of one pattern.
const MOST_ALTERNATIVES: usize = 200;

/// The most alternatives that are compared one by one.
const MOST_PLAIN: usize = 64;

/// A compiled pattern for a word, a path or an address.
#[derive(Clone, Debug)]
pub(crate) enum Glob {
    /// Nothing in it is special.
    Literal(String),
    /// Any of these. Most patterns for words are no more than that, and comparing them is fast.
    Plain(Vec<Plain>),
    /// Anything else.
    Pattern(Box<GlobMatcher>),
}

/// A text with a star at one of its ends, at both or at none.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    text: String,
    before: bool,
    after: bool,
}

impl Glob {
    /// A pattern whose `*` is any letters at all.
    pub fn word(text: &str) -> Result<Glob, String> {
        let compiled = Glob::new(text, false)?;
        let Glob::Pattern(_) = compiled else { return Ok(compiled) };
        let plain = alternatives(text).and_then(|all| all.iter().map(|text| Plain::new(text)).collect());
        Ok(plain.map_or(compiled, Glob::Plain))
    }

    /// A pattern for a path: `*` stops at `/`, `**` between slashes is any folders.
    pub fn path(text: &str) -> Result<Glob, String> {
        Glob::new(text, true)
    }

    fn new(text: &str, is_path: bool) -> Result<Glob, String> {
        if text.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
        if text.matches(',').count() > MOST_ALTERNATIVES {
            return Err(format!("the pattern has more than {MOST_ALTERNATIVES} alternatives"));
        }
        if let Some(plain) = unescaped(text) {
            return Ok(Glob::Literal(plain));
        }
        let glob =
            GlobBuilder::new(text).literal_separator(is_path).backslash_escape(true).empty_alternates(true).build();
        let glob = glob.map_err(|error| format!("the pattern {text:?} cannot be read: {}", error.kind()))?;
        Ok(Glob::Pattern(Box::new(glob.compile_matcher())))
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Glob::Literal(plain) => plain == text,
            Glob::Plain(all) => all.iter().any(|plain| plain.matches(text)),
            Glob::Pattern(matcher) => matcher.is_match(text),
        }
    }
}

impl Plain {
    fn new(pattern: &str) -> Option<Plain> {
        let inner = pattern.strip_prefix('*');
        let (before, rest) = (inner.is_some(), inner.unwrap_or(pattern));
        // A star after a backslash is a letter.
        let inner = rest.strip_suffix('*').filter(|inner| !inner.ends_with('\\'));
        let (after, rest) = (inner.is_some(), inner.unwrap_or(rest));
        Some(Plain { text: unescaped(rest)?, before, after })
    }

    fn matches(&self, text: &str) -> bool {
        match (self.before, self.after) {
            (false, false) => text == self.text,
            (true, false) => text.ends_with(&self.text),
            (false, true) => text.starts_with(&self.text),
            (true, true) => text.contains(&self.text),
        }
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
            ("**/b", "b", true, true),
            ("**/b", "a/c/b", true, true),
            ("a/**", "a/b/c", true, true),
            ("a/**", "a", false, false),
            ("--x=?", "--x=1", true, true),
            ("{a,b*}", "bc", true, true),
            ("[a-c]", "b", true, true),
            (r"\*", "*", true, true),
            (r"\*", "a", false, false),
        ] {
            let matches = |glob: Result<Glob, String>| glob.unwrap().matches(text);
            let found = (matches(Glob::word(pattern)), matches(Glob::path(pattern)));
            assert_eq!(found, (in_word, in_path), "{pattern} {text}");
        }
    }

    #[test]
    fn alternatives_are_compared_as_the_whole_pattern_would_be() {
        let texts = ["", "a", "b", "ab", "x/a", "x/a/y", "a/y", "*", "a*", "{a", "c,d", "bc"];
        for pattern in
            ["{a,b}", "{,*/}a{,/*}", "{a,{b,c}}*", "a*", "*a", "*a*", "*", r"a\*", r"\*", "{a,b", "**", "{,b}c", "{}"]
        {
            let Ok(word) = Glob::word(pattern) else { continue };
            let whole = Glob::new(pattern, false).unwrap();
            for text in texts {
                assert_eq!(word.matches(text), whole.matches(text), "{pattern} {text}");
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
