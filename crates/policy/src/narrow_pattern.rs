//! A pattern that is narrower than its author may have meant.

/// A pattern that is compared with a single word, where any arguments may have been meant. Its text says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{pattern} {} that begins with {last:?}, so it does not fit `{words} x`; with any arguments write {tool}({words} *)",
    if *.is_only { "is compared with a single word" } else { "compares its last sign within a single word" }
)]
pub struct NarrowPattern {
    /// The pattern.
    pub pattern: String,
    /// The tool that it names.
    pub(crate) tool: String,
    /// Its words, without the sign.
    pub(crate) words: String,
    /// The last of them, with a colon where one stands before the sign.
    pub(crate) last: String,
    /// Whether it is the only word.
    pub(crate) is_only: bool,
}
