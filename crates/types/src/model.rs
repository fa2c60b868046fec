//! What is asked of a model and what comes back, in no vendor's format.

use crate::{Message, Part, ToolSpec, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything of a request but its messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestHead {
    /// The model's name as its vendor knows it.
    pub model: String,
    /// The system text.
    pub system: String,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
    /// Sampling temperature, if set.
    pub temperature: Option<f64>,
    /// The most tokens that may come back, if set.
    pub max_output: Option<u64>,
    /// How much the model should think before it answers; unset is the vendor's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The JSON Schema that a final answer must match, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Whether the answer is streamed.
    pub stream: bool,
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// A whole request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRequest {
    /// Everything but the messages.
    pub head: RequestHead,
    /// The conversation.
    pub messages: Vec<Message>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It wants tools to run.
    ToolCalls,
    /// It ran into the output limit.
    MaxTokens,
    /// The vendor's filter cut it.
    ContentFilter,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// Text, thinking and tool calls, in order.
    pub parts: Vec<Part>,
    /// What it used; `None` when the server did not say.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub stop: StopReason,
    /// The model that answered, if the server said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A piece of an answer that is still coming. A delta can never become an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    #[serde(rename = "assistant_delta")]
    Text {
        /// The new text.
        text: String,
    },
    /// More reasoning.
    #[serde(rename = "thinking_delta")]
    Thinking {
        /// The new text.
        text: String,
    },
    /// More of a call's arguments.
    #[serde(rename = "arguments_delta")]
    Arguments {
        /// Which call of this answer, from 0.
        index: u16,
        /// The tool's name, when it became known with this piece.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The new text.
        text: String,
    },
    /// Something of a turn in JSON text is known before the turn is complete: what it will do, or a step of its plan.
    #[serde(rename = "action_partial")]
    Partial {
        /// Where it stands in the turn, such as `$.plan_update.steps[0].title`.
        path: String,
        /// What it says.
        value: String,
    },
    /// More of a running tool's output.
    #[serde(rename = "tool_output_delta")]
    ToolOutput {
        /// The call.
        call: crate::CallId,
        /// The new text.
        text: String,
    },
}

/// What kind of failure a model call met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The key is missing or refused.
    Auth,
    /// Too many requests or tokens in a while.
    RateLimit,
    /// The server is over capacity.
    Overloaded,
    /// No answer in time.
    Timeout,
    /// The server cannot be reached.
    Connection,
    /// The answer broke off.
    StreamCut,
    /// The request is larger than the model's window.
    Overflow,
    /// The vendor's filter refused.
    ContentFilter,
    /// The server says that the request is wrong.
    BadRequest,
    /// No such model or address.
    NotFound,
    /// The server failed, or answered something that is no answer.
    Server,
}

impl ModelErrorKind {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        use ModelErrorKind::*;
        matches!(self, RateLimit | Overloaded | Timeout | Connection | StreamCut | Server)
    }
}

/// A failed model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind.
    pub kind: ModelErrorKind,
    /// One line: what is wrong, where, what to do.
    pub message: String,
    /// The HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the server asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}
