//! Why something could not be done.

use crate::entry::{LONGEST_NAME, LONGEST_TEXT, MOST_TAGS, ORIGINS};
use std::path::PathBuf;

/// Why something could not be done: one line for people each.
#[derive(Debug, thiserror::Error)]
pub enum ExperienceError {
    /// There is no entry of this id.
    #[error("there is no experience {0:?}; mainpath experience list shows them")]
    Unknown(String),
    /// What is to be written is no entry.
    #[error("this is no experience: {0}")]
    Invalid(#[from] EntryError),
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

/// Why a text or its fields are not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The end of its front matter is missing.
    #[error("its front matter is not closed by a line of ---")]
    NotClosed,
    /// Its front matter is not YAML.
    #[error("no YAML: {problem}")]
    Yaml {
        /// The cause.
        problem: String,
    },
    /// Its front matter is not a map.
    #[error("its front matter has no fields (id: …)")]
    NoFields,
    /// A field occurs twice.
    #[error("{0:?} for the second time")]
    SecondTime(String),
    /// A field has a value of the wrong kind.
    #[error("{field} must {wanted}")]
    Kind {
        /// The field.
        field: String,
        /// The kind of value that it takes.
        wanted: &'static str,
    },
    /// A field is not a count.
    #[error("{field} is {text:?}; it must be a number from 0")]
    Count {
        /// The field.
        field: String,
        /// Its value.
        text: String,
    },
    /// An origin is unknown.
    #[error("origin {0:?} is not known: {ORIGINS}")]
    Origin(String),
    /// The status is unknown.
    #[error("status is {0:?}; it is waiting or accepted")]
    Status(String),
    /// It has no id.
    #[error("it has no id")]
    NoId,
    /// Its id has characters that no id has, or too many.
    #[error("the id {0:?} is not one: letters, digits, _ and -, at most 64")]
    Id(String),
    /// A category or tag is too long: its beginning.
    #[error("{0:?}… is longer than {LONGEST_NAME} characters")]
    LongName(String),
    /// It has too many tags.
    #[error("it has more than {MOST_TAGS} tags of a kind")]
    TooManyTags,
    /// Its text is empty.
    #[error("it says nothing")]
    Empty,
    /// Its text has this many bytes.
    #[error("its text has {0} bytes, more than {LONGEST_TEXT}; shorten it")]
    LongText(usize),
}
