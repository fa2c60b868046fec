//! What of a request cannot be used.

use crate::Error;

/// A field that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongField {
    /// Which, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

impl WrongField {
    /// A field, and what is wrong with it.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> WrongField {
        WrongField { pointer: pointer.into(), detail: detail.into() }
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Fields that cannot be used: all of them.
    #[error("{}", in_words(.0))]
    Fields(Vec<WrongField>),
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_words(wrong: &[WrongField]) -> String {
    let lines = wrong.iter().map(|WrongField { pointer, detail }| format!("{pointer}: {detail}"));
    lines.collect::<Vec<_>>().join("; ")
}
