//! Why a text is not a predicate, and where.

use super::field::{FIELDS, StepField};
use super::search::SearchError;

/// The longest predicate, in bytes.
pub(super) const LONGEST: usize = 4_000;
/// How deep parentheses and `not` may be nested.
pub(super) const DEEPEST: usize = 50;

/// What is wrong with a predicate, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {at}: {problem}")]
pub struct PredicateError {
    /// The character of the text, from 1.
    pub at: usize,
    /// The cause, and what to write.
    pub problem: PredicateProblem,
}

/// Why a text is not a predicate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredicateProblem {
    /// It is too long.
    #[error("a predicate has at most {LONGEST} bytes")]
    TooLong,
    /// It is nested too deep.
    #[error("more than {DEEPEST} levels of ( and not")]
    TooDeep,
    /// A closing parenthesis has no opening one.
    #[error("there is no ( for this )")]
    Unopened,
    /// An opening parenthesis has no closing one.
    #[error("this ( is not closed")]
    Unclosed,
    /// It has `&` or `|`.
    #[error("write and, or, not instead of signs")]
    Sign,
    /// Something other than a further condition follows.
    #[error("expected and, or, or the end; put a value with blanks in quotes")]
    NoEnd,
    /// The same inside parentheses.
    #[error("expected and, or, or ); put a value with blanks in quotes")]
    NoClosing,
    /// A condition is missing.
    #[error("expected a condition, such as tool=bash")]
    NoCondition,
    /// A field is followed by no comparison.
    #[error("expected = != ~ !~ > < >= or <= after {0}")]
    NoComparison(StepField),
    /// A comparison is followed by no value.
    #[error("expected a value; write \"\" for an empty one")]
    NoValue,
    /// A quotation is not closed.
    #[error("this quote is not closed")]
    Unquoted,
    /// There is no such field.
    #[error("there is no field {name:?}{}", instead(*meant))]
    UnknownField {
        /// The first characters of its name.
        name: String,
        /// The nearest field.
        meant: Option<&'static str>,
    },
    /// A number is searched as a text.
    #[error("{0} is a number; compare it by = > < >= <=")]
    IsNumber(StepField),
    /// A text is compared as a number.
    #[error("{0} is a text; compare it by = != ~ or !~")]
    IsText(StepField),
    /// A value is not a number.
    #[error("{0:?} is not a number such as 0.10")]
    NotANumber(String),
    /// A value is not a regular expression.
    #[error("{value:?} is no regular expression: {source}")]
    NotARegex {
        /// The value.
        value: String,
        /// The cause.
        source: SearchError,
    },
    /// The field never has the value.
    #[error("{field} is one of {}", known.join(", "))]
    NotAValue {
        /// The field.
        field: StepField,
        /// The values that it can have.
        known: &'static [&'static str],
    },
    /// A breakpoint asks for the field, which is known only after a call.
    #[error("{0} is known only after a call; a breakpoint stops before it")]
    KnownAfter(StepField),
}

fn instead(meant: Option<&str>) -> String {
    match meant {
        Some(known) => format!("; did you mean {known}?"),
        None => format!("; there are {} and args.NAME", FIELDS.map(|(known, _)| known).join(", ")),
    }
}
