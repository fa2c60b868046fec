//! Calls that wait for a person.

use crate::{Error, Trace};
use mainpath_types::{CallId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `approval_required`: a call waits for an approval. The run goes on when it is decided, here or anywhere else.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingCall {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments as they will run: JSON text.
    pub arguments: String,
    /// The hooks that have changed the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<String>,
    /// Where its paths lead, if that is not where they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Why, as the model says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The narrowest rule that would allow calls like this one, a pattern in each line: what an approval that lasts
    /// ([`Trace::approve_for`]) makes. `None`: no narrow rule can cover it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<String>,
    /// The rule that has it asked about, and why. `None` where this was read from JSON.
    #[serde(skip)]
    pub verdict: Option<Verdict>,
    #[serde(skip)]
    pub(crate) trace: Option<Trace>,
}

impl PendingCall {
    /// The arguments as a value.
    pub fn arguments_json(&self) -> Value {
        parsed(&self.arguments)
    }

    /// Approves the call as it stands. Errors: as [`Trace::approve`]'s, or this was read from JSON.
    pub async fn approve(&self) -> Result<(), Error> {
        of(&self.trace)?.approve(self.call).await
    }

    /// Denies it; the model is told why. Errors: as [`PendingCall::approve`]'s.
    pub async fn deny(&self, reason: impl Into<String>) -> Result<(), Error> {
        of(&self.trace)?.deny(self.call, Some(reason.into())).await
    }
}

/// `question_asked`: a call of a tool that asks a person waits for the answer. It is in no log of its own: the call is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingQuestion {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments, which say what is asked: JSON text.
    pub arguments: String,
    #[serde(skip)]
    pub(crate) trace: Option<Trace>,
}

impl PendingQuestion {
    /// The arguments as a value.
    pub fn arguments_json(&self) -> Value {
        parsed(&self.arguments)
    }

    /// Answers it; the model is given the answer as the call's result. Errors: this was read from JSON, or nothing can be written.
    pub async fn answer(&self, text: impl Into<String>) -> Result<(), Error> {
        of(&self.trace)?.answer(self.call, text).await
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into())
}

fn of(trace: &Option<Trace>) -> Result<&Trace, Error> {
    let none = || Error::invalid("this event was read from JSON and belongs to no host; use the methods of Trace");
    trace.as_ref().ok_or_else(none)
}
