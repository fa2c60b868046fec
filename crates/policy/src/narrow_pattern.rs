//! A pattern that is narrower than its author may have meant.

/// A pattern that matches a single word although its author may have meant any arguments. Its message names the right pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{pattern} {} that begins with {last:?}, so it does not fit `{words} x`; with any arguments write {tool}({words} *)",
    if *.is_only { "is compared with a single word" } else { "compares its last sign within a single word" }
)]
pub struct NarrowPattern {
    /// The pattern.
    pub pattern: String,
    /// The tool that the pattern names.
    pub(crate) tool: String,
    /// The words of the pattern, without the asterisk.
    pub(crate) words: String,
    /// The last word, with the colon before the asterisk if there is one.
    pub(crate) last: String,
    /// True if the pattern has only one word.
    pub(crate) is_only: bool,
}
