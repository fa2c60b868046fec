//! A regular expression that is looked for in a text, at a cost that grows with the text alone.

use regex_automata::meta::{Config, Regex};
use regex_syntax::hir::{Hir, HirKind};

/// The most that a compiled expression takes, in bytes.
const MOST: usize = 1 << 20;

/// Why a text is not a regular expression that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// It breaks a rule of the syntax: which, on one line.
    #[error("{}", last_line(&.0.to_string()))]
    Syntax(Box<regex_syntax::Error>),
    /// Its automaton is too large.
    #[error("it is too large")]
    TooLarge,
}

/// What is looked for in a text: a regular expression that may match anywhere in it.
#[derive(Clone, Debug)]
pub struct TextSearch {
    pattern: String,
    regex: Regex,
    needs: Option<String>,
}

impl TextSearch {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// It is invalid or too large.
    pub fn new(pattern: &str) -> Result<TextSearch, SearchError> {
        let hir = regex_syntax::parse(pattern).map_err(|error| SearchError::Syntax(Box::new(error)))?;
        let config = Config::new().nfa_size_limit(Some(MOST)).onepass_size_limit(Some(MOST));
        let regex = Regex::builder().configure(config).build_from_hir(&hir);
        let regex = regex.map_err(|_| SearchError::TooLarge)?;
        Ok(TextSearch { pattern: pattern.into(), regex, needs: needed(&hir) })
    }

    /// As it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether a text has it.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// A piece that every text has in which it is found.
    pub fn needs(&self) -> Option<&str> {
        self.needs.as_deref()
    }
}

/// The last line of a message of several lines, which shows the place in the first ones.
fn last_line(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    last.trim_start_matches("error: ").into()
}

/// The longest piece that every match has.
fn needed(hir: &Hir) -> Option<String> {
    let longest = |pieces: Vec<String>| pieces.into_iter().max_by_key(String::len);
    match hir.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok().map(String::from),
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => needed(&repeated.sub),
        HirKind::Concat(parts) => longest(parts.iter().filter_map(needed).collect()),
        HirKind::Repetition(_) | HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Alternation(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_match_has_is_found_and_nothing_else() {
        let needs = |pattern: &str| TextSearch::new(pattern).unwrap().needs.unwrap_or_default();
        assert_eq!(needs("deploy"), "deploy");
        assert_eq!(needs("^git (push|pull) --force$"), " --force");
        assert_eq!(needs("(rollback)+x?"), "rollback");
        assert_eq!(needs("(?i)deploy"), "");
        assert_eq!(needs("a|b"), "");
        assert_eq!(needs("(abc)*"), "");
        assert_eq!(needs(""), "");
    }
}
