//! Formats of one's own: regular expressions of the configuration.

use super::error::BadForm;
use super::look::Look;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};
use std::sync::{Mutex, PoisonError};

/// One expression.
pub(super) struct Own {
    regex: Regex,
    /// Tells of the end of a text whether it may still become a match.
    walk: DFA,
    cache: Mutex<Cache>,
}

impl Own {
    /// Reads an expression. Errors: it is invalid, or matches the empty text.
    pub fn new(pattern: &str) -> Result<Own, BadForm> {
        let why = |error: &dyn std::error::Error| {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            // The last line says it; those before draw where.
            let cause = cause.lines().last().unwrap_or_default().trim_start_matches("error: ").into();
            BadForm::Expression { cause }
        };
        let regex = Regex::new(pattern).map_err(|error| why(&error))?;
        if regex.is_match("") {
            return Err(BadForm::MatchesEmpty);
        }
        let config = DFA::config().unicode_word_boundary(true);
        let walk = DFA::builder().configure(config).build(pattern).map_err(|error| why(&error))?;
        let cache = Mutex::new(walk.create_cache());
        Ok(Own { regex, walk, cache })
    }

    /// The matches. One that ends with the text may go on.
    pub fn looks<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Look> + 'a {
        self.regex.find_iter(text).filter(|found| !found.is_empty()).map(|found| match found.end() == text.len() {
            true => Look::Open { start: found.start(), end: Some(found.end()) },
            false => Look::Secret(found.range()),
        })
    }

    /// Whether the text from here to its end may be the beginning of a match. Where that cannot be told, it may.
    pub fn begins(&self, text: &[u8], at: usize) -> bool {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let input = Input::new(text).range(at..).anchored(Anchored::Yes);
        let Ok(mut state) = self.walk.start_state_forward(&mut cache, &input) else { return true };
        for byte in &text[at..] {
            match self.walk.next_state(&mut cache, state, *byte) {
                Ok(next) if next.is_dead() => return false,
                Ok(next) if next.is_quit() => return true,
                Ok(next) => state = next,
                Err(_) => return true,
            }
        }
        !state.is_dead()
    }
}
