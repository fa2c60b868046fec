//! Why something could not be done.

use crate::driver::error::DriveError;
use crate::secrets::SecretInSpec;
use crate::unusable::Unusable;
use mainpath_core::Refusal;
use mainpath_providers::history::BadHistory;
use mainpath_store::{Damage, Refused, StoreError, is_no_room};
use mainpath_types::{Seq, TraceId};
use std::io;

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
        cause: io::ErrorKind,
    },
    /// The trace cannot be driven under its spec.
    #[error(transparent)]
    Spec(#[from] Unusable),
    /// Another process writes the log now.
    #[error("the log was taken over by another process")]
    TakenOver,
    /// The store refused to append.
    #[error(transparent)]
    NotAppended(#[from] Refused),
    /// Mail cannot be serialized.
    #[error(transparent)]
    Mail(#[from] serde_json::Error),
    /// The log of a trace that messages are added to is damaged.
    #[error("the log is damaged: {0}")]
    Damaged(Damage),
    /// Messages are added to a trace whose run has not ended.
    #[error("trace {0} has an unfinished run; resume or stop it before you add messages")]
    Unfinished(TraceId),
    /// Messages that are to be added cannot be read.
    #[error("{source_name}: {problem}")]
    History {
        /// Where the messages are from.
        source_name: String,
        /// What is wrong with them.
        problem: BadHistory,
    },
    /// A trace of another machine is to be forked.
    #[error("{0} is on another machine, and can be copied only there")]
    Remote(TraceId),
    /// Nothing, or not all, was erased.
    #[error(transparent)]
    Erase(#[from] EraseError),
}

impl From<SecretInSpec> for RuntimeError {
    fn from(secret: SecretInSpec) -> RuntimeError {
        Unusable::Secret(secret).into()
    }
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
            DriveError::TakenOver => RuntimeError::TakenOver,
            DriveError::Spec(problem) => RuntimeError::Spec(problem),
            DriveError::Scarce(problem) => {
                RuntimeError::Unwritable { problem: problem.to_string(), cause: io::ErrorKind::ResourceBusy }
            }
        }
    }
}

/// Why nothing, or not all, was erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// No words are left there.
    #[error("nothing left to erase there in trace {0}")]
    NothingLeft(TraceId),
    /// The trace has no such message.
    #[error("trace {trace} has no message {seq}; its last is {last}")]
    NoMessage {
        /// The trace.
        trace: TraceId,
        /// The number that was given.
        seq: Seq,
        /// The number of messages in the trace.
        last: usize,
    },
    /// The log cannot be read to its end.
    #[error("the log of {trace} is damaged and stays as it is: {damage}")]
    Damaged {
        /// The trace.
        trace: TraceId,
        /// Where the log is damaged.
        damage: Damage,
    },
    /// The log has events that this program does not know.
    #[error("the log of {0} was written by a newer Mainpath, which can erase it")]
    Newer(TraceId),
    /// A copy cannot be erased, so the trace was not erased either.
    #[error("nothing was erased: {0}")]
    Copy(Box<RuntimeError>),
    /// The erasure stopped in the middle.
    #[error("{trace}: {error}; erased so far: {}; erase again", names(done))]
    Partial {
        /// The trace that could not be erased.
        trace: TraceId,
        /// Why it could not be erased.
        error: Box<RuntimeError>,
        /// The traces that were erased before.
        done: Vec<TraceId>,
    },
}

fn names(traces: &[TraceId]) -> String {
    if traces.is_empty() {
        return "nothing".into();
    }
    traces.iter().map(TraceId::as_str).collect::<Vec<_>>().join(", ")
}
