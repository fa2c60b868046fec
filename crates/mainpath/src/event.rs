//! What a run tells its host while it goes on.

use crate::{Error, Trace};
use mainpath_types::{CallId, Delta, EventId, Verdict};
use serde::Serialize;
use serde_json::Value;

/// What happens in a run. As JSON it is `{"type": NAME, "data": …}` with the names that `mainpath watch --json` has.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", content = "data")]
pub enum RunEvent {
    /// A piece of the answer's text.
    #[serde(rename = "assistant_delta")]
    Text(String),
    /// A piece of what the model thinks.
    #[serde(rename = "thinking_delta")]
    Thinking(String),
    /// A piece of what a running call writes.
    #[serde(rename = "tool_output_delta")]
    ToolOutput {
        /// The call.
        call: CallId,
        /// What it wrote.
        text: String,
    },
    /// A call waits for an approval. The run goes on when it is decided, here or anywhere else.
    #[serde(rename = "approval_required")]
    ApprovalRequired(PendingCall),
    /// Any other event of the log.
    #[serde(untagged)]
    Recorded(Recorded),
}

/// An event of the log under its published name.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// Its number in the log: a watcher resumes after it.
    pub id: EventId,
    /// Its name, such as `action_started` or `run_finished`.
    #[serde(rename = "type")]
    pub name: String,
    /// What it says.
    pub data: Value,
}

/// A call that waits for an approval.
#[derive(Clone, Debug, Serialize)]
pub struct PendingCall {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its arguments, as they will run.
    pub arguments: Value,
    /// Why it is asked.
    pub verdict: Verdict,
    #[serde(skip)]
    pub(crate) trace: Trace,
}

impl PendingCall {
    /// Approves the call as it stands.
    pub async fn approve(&self) -> Result<(), Error> {
        self.trace.approve(self.call).await
    }

    /// Denies it; the model is told why.
    pub async fn deny(&self, reason: impl Into<String>) -> Result<(), Error> {
        self.trace.deny(self.call, Some(reason.into())).await
    }
}

impl RunEvent {
    /// A piece of what is still coming; `None` of arguments, which come whole with their call.
    pub(crate) fn piece(delta: Delta) -> Option<RunEvent> {
        match delta {
            Delta::Text { text } => Some(RunEvent::Text(text)),
            Delta::Thinking { text } => Some(RunEvent::Thinking(text)),
            Delta::ToolOutput { call, text } => Some(RunEvent::ToolOutput { call, text }),
            Delta::Arguments { .. } | Delta::Partial { .. } => None,
        }
    }
}
