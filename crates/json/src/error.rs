//! Why a text was refused, and where.

use std::fmt;

/// A text is not JSON, or is more of it than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// How many bytes precede the character at fault, from the first byte that was pushed.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Something else belongs here.
    Unexpected {
        /// What belongs here, in words.
        expected: &'static str,
        /// What is here.
        found: char,
    },
    /// The text stops before its value is complete.
    Unfinished {
        /// What would come next, in words.
        expected: &'static str,
    },
    /// An escape (`\uD800` to `\uDFFF`) is half of a character, and the other half is not beside it.
    LoneSurrogate,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// More arrays and objects lie in one another than [`Limits::depth`](crate::Limits::depth).
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The text is longer than [`Limits::total`](crate::Limits::total).
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A value that somebody subscribed to is longer than [`Limits::value`](crate::Limits::value).
    ValueTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unexpected { expected, found } => write!(f, "expected {expected}, found {found:?}"),
            Problem::Unfinished { expected } => write!(f, "expected {expected}, but the text ends"),
            Problem::LoneSurrogate => f.write_str("a \\u escape is half of a surrogate pair"),
            Problem::NotUtf8 => f.write_str("the bytes are not UTF-8"),
            Problem::TooDeep { limit } => write!(f, "more than {limit} arrays and objects in one another"),
            Problem::TooLong { limit } => write!(f, "the text is longer than {limit} bytes"),
            Problem::ValueTooLong { limit } => write!(f, "a value is longer than {limit} bytes"),
        }
    }
}

impl std::error::Error for Error {}
