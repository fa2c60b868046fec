//! What is wrong with a predicate, and where.

/// What is wrong with a predicate, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {at}: {problem}")]
pub struct PredicateError {
    /// The character of the text, from 1.
    pub at: usize,
    /// What is wrong, and what to write.
    pub problem: String,
}
