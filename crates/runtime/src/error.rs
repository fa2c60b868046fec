//! Why something could not be done.

use crate::driver::error::DriveError;
use mainpath_core::Refusal;
use mainpath_store::{StoreError, is_no_room};
use mainpath_types::TraceId;

/// Why something could not be done. One line for people each.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The agent said no.
    #[error("{0}")]
    Refused(Refusal),
    /// A trace was to be begun under an id that another one has, or is just being given.
    #[error("there is a trace {0} already; it was not begun again, and nothing was added to it")]
    Exists(TraceId),
    /// Another process has continued the trace since its log was read.
    #[error("trace {0} was changed by another process in the meantime; try again")]
    Changed(TraceId),
    /// The log cannot be written, or there are too many open files.
    #[error("{problem}")]
    Unwritable {
        /// Why.
        problem: String,
        /// What the system said; `Other` if it is not at fault.
        cause: std::io::ErrorKind,
    },
    /// The trace cannot be driven.
    #[error("{0}")]
    Trace(String),
}

impl RuntimeError {
    /// The same of a trace that was not there before, and is not there now.
    pub(crate) fn of_beginning(self) -> RuntimeError {
        match self {
            RuntimeError::Store(error) => DriveError::Store(error).of_beginning().into(),
            RuntimeError::Unwritable { cause, .. } if is_no_room(cause) => {
                DriveError::NotBegun { problem: cause.to_string(), cause }.into()
            }
            other => other,
        }
    }
}

impl From<DriveError> for RuntimeError {
    fn from(error: DriveError) -> RuntimeError {
        match error {
            DriveError::Store(error) => RuntimeError::Store(error),
            DriveError::Refused(refusal) => RuntimeError::Refused(refusal),
            DriveError::Exists(trace) => RuntimeError::Exists(trace),
            DriveError::Changed(trace) => RuntimeError::Changed(trace),
            DriveError::Unwritable { cause, .. } | DriveError::NotBegun { cause, .. } => {
                RuntimeError::Unwritable { problem: error.to_string(), cause }
            }
            DriveError::TakenOver | DriveError::Spec(_) => RuntimeError::Trace(error.to_string()),
            DriveError::Scarce(problem) => {
                RuntimeError::Unwritable { problem, cause: std::io::ErrorKind::ResourceBusy }
            }
        }
    }
}
