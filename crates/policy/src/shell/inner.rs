//! What a command runs beside the program that it names.

use super::word::Word;

/// What a command runs in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// A program with its arguments.
    Command(Vec<Word>),
    /// The source of a script.
    Script(String),
    /// A shell that runs what it reads from its standard input.
    Input,
    /// Nobody can tell beforehand.
    Unclear(String),
}
