//! Messages that other agents send to a trace. They wait in its inbox until the agent looks.

use crate::Principal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest message, in bytes.
pub const LONGEST_MESSAGE: usize = 8 * 1024;

/// The tool that reads them.
pub const CHECK_MESSAGES: &str = "check_messages";

/// `message_received`. Nothing begins because of it, and it is never the owner's word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageReceived {
    /// The agent that sent it.
    pub from: Principal,
    /// The conversation that it belongs to, by the sender's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The sender's id for it: one that comes again with the same id is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it says: at most [`LONGEST_MESSAGE`] bytes.
    pub text: String,
}
