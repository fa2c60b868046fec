//! Why a trace cannot be driven on.

use crate::unusable::Unusable;
use mainpath_core::Refusal;
use mainpath_store::{StoreError, is_no_room, is_scarce};
use mainpath_types::TraceId;

/// Why a trace cannot be driven on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("there is a trace {0} already")]
    Exists(TraceId),
    #[error("the log cannot be written ({problem}); nothing acknowledged is lost; fix that, then resume the trace")]
    Unwritable { problem: String, cause: std::io::ErrorKind },
    #[error("the log cannot be written ({problem}); the trace was not begun, and nothing of it is kept")]
    NotBegun { problem: String, cause: std::io::ErrorKind },
    #[error("the log was taken over by another process")]
    TakenOver,
    #[error("trace {0} was changed by another process in the meantime; try again")]
    Changed(TraceId),
    #[error(transparent)]
    Spec(Unusable),
    /// The process has run out of open files or memory.
    #[error(transparent)]
    Scarce(Unusable),
}

impl From<Unusable> for DriveError {
    fn from(problem: Unusable) -> DriveError {
        if is_scarce(problem.cause()) { DriveError::Scarce(problem) } else { DriveError::Spec(problem) }
    }
}

impl DriveError {
    /// The same of a trace that was not there before, and is not there now.
    pub fn of_beginning(self) -> DriveError {
        match self {
            DriveError::Unwritable { problem, cause } => DriveError::NotBegun { problem, cause },
            DriveError::Store(StoreError::Io { source, .. }) if is_no_room(source.kind()) => {
                DriveError::NotBegun { problem: source.to_string(), cause: source.kind() }
            }
            other => other,
        }
    }

    /// Returns true if the process has run out of open files or memory.
    pub fn is_scarce(&self) -> bool {
        match self {
            DriveError::Store(error) => is_scarce(error.cause()),
            DriveError::Unwritable { cause, .. } | DriveError::NotBegun { cause, .. } => is_scarce(*cause),
            DriveError::Scarce(_) => true,
            _ => false,
        }
    }

    /// The log cannot be written, and not for want of what the system could give.
    pub fn unwritable(problem: impl Into<String>) -> DriveError {
        DriveError::Unwritable { problem: problem.into(), cause: std::io::ErrorKind::Other }
    }
}
