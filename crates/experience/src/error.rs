//! Why something could not be done.

use std::path::PathBuf;

/// Why something could not be done: one line for people each.
#[derive(Debug, thiserror::Error)]
pub enum ExperienceError {
    /// There is no entry of this id.
    #[error("there is no experience {0:?}; mainpath experience list shows them")]
    Unknown(String),
    /// What is to be written is no entry.
    #[error("this is no experience: {0}")]
    Invalid(String),
    /// Another process is writing.
    #[error("another process is changing the experiences in {0}; try again in a moment")]
    Busy(PathBuf),
    /// A person wrote the entry in a way that cannot be changed without losing something.
    #[error("{file}, line {line}: {what} cannot be set here; edit it by hand")]
    ByHand {
        /// The file.
        file: PathBuf,
        /// The line that the entry begins on.
        line: usize,
        /// What was to be set.
        what: String,
    },
    /// The folder or a file of it cannot be used.
    #[error("{file}: {source}")]
    Io {
        /// Which.
        file: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The cache cannot be used.
    #[error("the cache {file} cannot be used: {source}; it can be deleted, it is made again")]
    Cache {
        /// The file.
        file: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}
