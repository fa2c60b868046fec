//! Questions to people: what the core knows of them, and that they were sent.

use crate::{CallId, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a call that asks a person says about the waiting, read from its arguments before they were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asking {
    /// How long an answer is waited for, in milliseconds; `None` for as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<Millis>,
    /// The answer that counts when nobody has answered by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The contact that the question is sent to, by name. `None`: it is asked where the run is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// `question_sent`: a question was sent to a contact, or could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionSent {
    /// The call that asks. With the trace it is the question's id, which is the same however often it is sent.
    pub call: CallId,
    /// The contact.
    pub to: String,
    /// How it went: `webhook`, `feishu` or `email`. `None` where it went nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// What the channel calls the message, if it has a name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Why it could not be sent, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When it is tried again; `None`: not any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Millis>,
}
