//! Patterns of a schema, and what it costs to hold a text to one.

use std::borrow::Cow;

use fancy_regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson::{Compiler, Config};

/// Bytes that a pattern may have.
const LONGEST: usize = 8_000;
/// Bytes that a pattern may take when compiled.
const COMPILED: usize = 10 << 20;
/// Bytes that each part of a pattern with look-around may take: there may be as many parts as it has characters.
const COMPILED_PART: usize = 1 << 16;
/// Bytes that a pattern may keep to be faster.
const CACHED: usize = 1 << 18;
/// Steps back of a pattern with look-around that come with every match, and those that are paid for.
const FEW_STEPS_BACK: usize = 1_000;
const MANY_STEPS_BACK: usize = 100_000;
/// What many steps back cost.
const COST_OF_MANY: usize = 20_000;

/// A pattern, read as ECMAScript has it.
#[derive(Debug)]
pub(crate) struct Pattern {
    quick: Regex,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Takes a time that grows with the text and with this, the states of its automaton.
    Plain(usize),
    /// With look-around or references to its own groups: steps back.
    SteppingBack { patient: Regex },
}

impl Pattern {
    /// Errors: why it is none.
    pub fn new(pattern: &str) -> Result<Pattern, String> {
        if pattern.len() > LONGEST {
            return Err(format!("it has more than {LONGEST} bytes"));
        }
        // What the translation does not know (look-around) means the same here.
        let ours = jsonschema_regex::to_rust_regex(pattern).unwrap_or(Cow::Borrowed(pattern));
        let automaton = Compiler::new().configure(Config::new().nfa_size_limit(Some(COMPILED))).build(&ours).ok();
        let build = |steps_back: usize| {
            let size = if automaton.is_some() { COMPILED } else { COMPILED_PART };
            let mut builder = RegexBuilder::new(&ours);
            builder.backtrack_limit(steps_back).delegate_size_limit(size).delegate_dfa_size_limit(CACHED);
            builder.build().map_err(|error| error.to_string())
        };
        let kind = match &automaton {
            Some(automaton) => Kind::Plain(automaton.states().len()),
            None => Kind::SteppingBack { patient: build(MANY_STEPS_BACK)? },
        };
        Ok(Pattern { quick: build(FEW_STEPS_BACK)?, kind })
    }

    /// What it takes in memory, beside its text; of a plain one some 100 bytes each.
    pub fn weight(&self) -> usize {
        match &self.kind {
            Kind::Plain(states) => 100 + states / 4,
            Kind::SteppingBack { .. } => 500,
        }
    }

    /// Steps that it takes to hold a text to it.
    pub fn cost(&self, text: &str) -> usize {
        match &self.kind {
            Kind::Plain(states) => 1 + text.len().saturating_mul(*states) / 64,
            Kind::SteppingBack { .. } => 100 + text.len().saturating_mul(4),
        }
    }

    /// Whether a text matches; `None` when that takes more steps back than come with the cost.
    pub fn is_match(&self, text: &str) -> Option<bool> {
        self.quick.is_match(text).ok()
    }

    /// Steps that it takes where [`Pattern::is_match`] did not say.
    pub fn patient_cost(&self, text: &str) -> usize {
        COST_OF_MANY + text.len().saturating_mul(64)
    }

    /// The same with many more steps back.
    pub fn is_match_patiently(&self, text: &str) -> Option<bool> {
        match &self.kind {
            Kind::Plain(_) => None,
            Kind::SteppingBack { patient } => patient.is_match(text).ok(),
        }
    }
}
