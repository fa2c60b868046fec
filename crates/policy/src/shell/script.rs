//! The parts of a command line.

use super::folder::WorkFolders;
use super::word::Word;
use std::ops::Range;

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The simple commands in the order in which they stand; a wrapper such as `sudo` comes before what it wraps.
    pub commands: Vec<Simple>,
    /// The files that are redirected to or from.
    pub files: Vec<File>,
    /// The files that known programs name among their arguments.
    pub operands: Vec<File>,
    /// What one group of commands prints, another reads: pairs of ranges of `commands`.
    pub flows: Vec<(Range<usize>, Range<usize>)>,
    /// Why parts of it cannot be told beforehand.
    pub unclear: Vec<String>,
    /// A variable is set, or a name given a meaning, that changes what its commands do.
    pub tainted: Option<String>,
    /// The texts that variables are set to.
    pub(super) values: Vec<String>,
    /// True if it holds a text for the standard input of a command.
    pub(super) has_text: bool,
}

/// A program and its arguments, quotes removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Simple {
    /// The program first. Never empty.
    pub words: Vec<Word>,
    /// Where it may run.
    pub folders: WorkFolders,
}

impl Simple {
    /// The words as one line.
    pub fn text(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The program's name without its folder.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.rsplit('/').next().unwrap_or_default())
    }

    /// Whether it only looks at or moves the shell itself: alone it does nothing, so it is no reason to ask where the rest
    /// is allowed.
    pub fn is_harmless(&self) -> bool {
        let Some((program, rest)) = self.words.split_first() else { return false };
        match program.text.as_str() {
            ":" | "true" | "false" | "pwd" | "exit" | "return" | "break" | "continue" | "wait" | "[" | "test"
            | "echo" => true,
            "printf" => rest.first().is_none_or(|word| word.fixed && !word.text.starts_with("-v")),
            "cd" => match rest {
                [folder] => folder.fixed && stays_below(&folder.text),
                _ => false,
            },
            "set" => rest.iter().all(|word| word.fixed && word.text.chars().all(|c| "-+euxo pipefail".contains(c))),
            _ => false,
        }
    }
}

/// Whether a relative path leads nowhere but down.
fn stays_below(path: &str) -> bool {
    !path.starts_with(['/', '~', '-']) && path.split('/').all(|step| step != "..")
}

/// A file that a redirection or an argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// The path as the shell gets it.
    pub path: Word,
    /// Whether it may be changed.
    pub write: bool,
    /// Whether that goes for all that is in it, if it is a folder.
    pub whole: bool,
}
