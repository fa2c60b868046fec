//! Why a hook has no answer.

use crate::unusable::HostCause;
use std::time::Duration;

/// Why a hook has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// What the hook runs has failed.
    #[error(transparent)]
    Failed(HostCause),
    /// Its answer has another form than hooks may give.
    #[error("its answer: {0}")]
    BadAnswer(#[from] serde_json::Error),
    /// The code of the hook panicked, with this text.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// It took longer than it may.
    #[error("it took longer than {0:?}")]
    TimedOut(Duration),
    /// It was cancelled together with what it was called for.
    #[error("it was ended together with what it was called for")]
    Cancelled,
    /// No hook has this name.
    #[error("there is no such hook here")]
    Unknown,
}

impl HookError {
    /// What the hook runs has failed.
    pub fn failed(cause: impl Into<HostCause>) -> HookError {
        HookError::Failed(cause.into())
    }
}
