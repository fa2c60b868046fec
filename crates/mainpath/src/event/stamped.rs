//! An event with its stamp.

use mainpath_types::{EventId, MailId, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// An event's data with its stamp: whose it is, when it happened, and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Stamped<T> {
    /// The version of the event vocabulary.
    pub v: u16,
    /// When, as RFC 3339 in UTC.
    pub ts: String,
    /// The trace.
    pub trace_id: TraceId,
    /// The run: the trace and the run's number.
    pub run_id: String,
    /// The turn; 0 before the first.
    pub turn: u32,
    /// Its number in the log, from which a watcher resumes. Several events may share one. `None` for what is in no log: pieces of
    /// what is still coming, and questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EventId>,
    /// The mailbox entry that caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<MailId>,
    /// What happened.
    pub data: Box<T>,
    /// Whether another event of the same number follows. It is in no JSON.
    #[serde(skip)]
    pub more: bool,
}

impl<T> Deref for Stamped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T: fmt::Display> fmt::Display for Stamped<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(to)
    }
}
