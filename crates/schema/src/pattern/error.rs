//! Why a text is not a pattern.

/// Bytes that a pattern may have.
pub(super) const LONGEST: usize = 8_000;
/// Deeper than this no groups lie in each other.
pub(super) const DEEPEST: usize = 100;

/// Why a text is not a pattern that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is too long.
    #[error("it has more than {LONGEST} bytes")]
    TooLong,
    /// Its automaton is too large.
    #[error("it takes too much memory")]
    TooLarge,
    /// Its sets of characters are too large.
    #[error("its sets of characters take too much memory")]
    LargeSets,
    /// Its groups are nested too deep.
    #[error("its groups are nested more than {DEEPEST} deep")]
    TooDeep,
    /// Two of its groups have this name.
    #[error("two groups have the name {0:?}")]
    SameName(String),
    /// This build has no tables of upper and lower case.
    #[error("Unicode-aware case folding is not available")]
    NoCases,
    /// It breaks a rule of the syntax.
    #[error("at character {at}: {problem}")]
    Syntax {
        /// How many characters before it are read.
        at: usize,
        /// The rule.
        problem: &'static str,
    },
}
