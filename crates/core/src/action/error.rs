//! What can be wrong with a turn in text.

use mainpath_types::json_kind;
use serde_json::Value;

/// Why a text is not a turn, in words for the model that is to repair it.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The text is empty.
    #[error("it was empty.")]
    Empty,
    /// The text does not begin with an object.
    #[error(
        "it does not begin with the JSON object that it must consist of.{}",
        if *fenced { " Do not put it into a code fence." } else { "" }
    )]
    NoObject {
        /// The text begins with a code fence.
        fenced: bool,
    },
    /// The text ends inside of the object.
    #[error("the JSON object is not complete: {0}.")]
    Incomplete(serde_json::Error),
    /// The text continues after the object.
    #[error("something follows the JSON object (line {line}, column {column}).")]
    Trailing {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The text is not JSON.
    #[error("it is no valid JSON: {0}.")]
    BadJson(serde_json::Error),
    /// The JSON is another kind of value, which this names.
    #[error("it is {0}, not a JSON object.")]
    NotAnObject(&'static str),
    /// A field has the wrong kind of value.
    #[error("\"{field}\" is {is}, not {wanted}.")]
    WrongKind {
        /// The path of the field.
        field: String,
        /// The kind that it has.
        is: &'static str,
        /// The kind that it must have.
        wanted: &'static str,
    },
    /// A required field is missing.
    #[error("\"{0}\" is missing.")]
    Missing(String),
    /// A field is not part of the protocol.
    #[error("the field \"{0}\" does not belong there.")]
    UnknownField(String),
    /// A field has none of its possible values.
    #[error("\"{field}\" is {value:?}; it must be {known}.")]
    UnknownValue {
        /// The path of the field.
        field: String,
        /// The value that it has.
        value: String,
        /// The possible values.
        known: String,
    },
    /// A field must have a text and is blank.
    #[error("\"{0}\" is empty.")]
    EmptyField(String),
}

impl TurnError {
    pub(super) fn kind(field: impl Into<String>, is: &Value, wanted: &'static str) -> TurnError {
        TurnError::WrongKind { field: field.into(), is: json_kind(is), wanted }
    }

    pub(super) fn value(field: impl Into<String>, value: &str, known: impl Into<String>) -> TurnError {
        TurnError::UnknownValue { field: field.into(), value: value.into(), known: known.into() }
    }
}
