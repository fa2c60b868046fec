//! A language that finds calls: `tool=bash and args~deploy and cost>0.10`. What it says of a call is the same before the call
//! runs, as a breakpoint, and after it has, in a search.

mod error;
mod facts;
mod field;
mod read;
mod search;
mod term;

pub use error::{PredicateError, PredicateProblem};
pub use facts::{StepFacts, argument_values};
pub use field::StepField;
pub use search::{SearchError, TextSearch};
pub use term::{Condition, FieldTest, NumberOrder, Term};

use error::LONGEST;
use std::fmt;

/// What is looked for among calls.
#[derive(Clone, Debug)]
pub struct Predicate {
    text: String,
    term: Term,
}

impl Predicate {
    /// Reads a predicate. Errors: where it cannot be read, and what is expected there.
    pub fn parse(text: &str) -> Result<Predicate, PredicateError> {
        if text.len() > LONGEST {
            return Err(PredicateError { at: 1, problem: PredicateProblem::TooLong });
        }
        Ok(Predicate { text: text.trim().into(), term: read::read(text)? })
    }

    /// The same for a breakpoint. Errors: as [`Predicate::parse`]; it asks for what is known only after a call.
    pub fn breakpoint(text: &str) -> Result<Predicate, PredicateError> {
        let predicate = Predicate::parse(text)?;
        let mut after = predicate.term.conditions().into_iter().filter(|condition| !condition.field.is_known_before());
        match after.next() {
            None => Ok(predicate),
            Some(Condition { field, at, .. }) => {
                Err(PredicateError { at: *at, problem: PredicateProblem::KnownAfter(field.clone()) })
            }
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is made of.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// The tools that it names in full.
    pub fn tools(&self) -> Vec<&str> {
        let conditions = self.term.conditions().into_iter();
        let named = conditions.filter_map(|condition| match (&condition.field, &condition.is) {
            (StepField::Tool, FieldTest::Text(name)) if !name.is_empty() => Some(name.as_str()),
            _ => None,
        });
        named.collect()
    }

    /// Whether a call is meant.
    pub fn matches(&self, step: &StepFacts<'_>) -> bool {
        self.term.matches(step)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}
