//! Why a trace cannot be driven on.

use mainpath_core::Refusal;
use mainpath_store::StoreError;
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
    #[error("the log was taken over by another process")]
    TakenOver,
    #[error("{0}")]
    Spec(String),
}

impl DriveError {
    /// The log cannot be written, and not for want of what the system could give.
    pub fn unwritable(problem: impl Into<String>) -> DriveError {
        DriveError::Unwritable { problem: problem.into(), cause: std::io::ErrorKind::Other }
    }
}
