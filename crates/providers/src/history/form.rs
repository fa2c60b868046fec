//! The forms of a conversation: as other programs have it, and as it is after it was read.

use mainpath_types::{Part, Role};

/// The form of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    /// Mainpath's own messages.
    Neutral,
    /// The `messages` of OpenAI's Chat Completions.
    OpenAi,
    /// The `messages` of Anthropic's Messages.
    Anthropic,
    /// The `contents` of Gemini.
    Gemini,
}

/// A message that every vendor takes after those before it: a person's, or the model's with a result for each of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// [`Role::User`] or [`Role::Assistant`].
    pub role: Role,
    /// What was said, then for each call its result, in call order.
    pub parts: Vec<Part>,
}

/// A conversation that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The messages, oldest first. The first one is a person's where nothing was said before.
    pub messages: Vec<Whole>,
    /// What was mended or left out, a line for people each.
    pub healed: Vec<String>,
}

/// A conversation that was read, with where each message came from.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedHistory {
    /// The conversation.
    pub history: History,
    /// For each of its messages, which of those that were given it is, counted from 0; `None`: it was put there.
    pub from: Vec<Option<usize>>,
}

/// Why a text is not a conversation. Messages and lines are counted from 1.
#[derive(Debug, thiserror::Error)]
pub enum BadHistory {
    /// The text is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// A line of JSON lines is not JSON.
    #[error("line {line} is not JSON: {error}")]
    BadLine {
        /// The line.
        line: usize,
        /// The error of the parser.
        error: serde_json::Error,
    },
    /// The JSON is not a list.
    #[error("it is not a list of messages")]
    NotAList,
    /// The JSON is an object without a list of messages.
    #[error("the object has no list of \"messages\", \"contents\" or \"input\"")]
    NoList,
    /// A message is not an object.
    #[error("message {0} is not a JSON object")]
    NotAnObject(usize),
    /// A message is of another format than the one that was asked for.
    #[error("message {0} is not of that format; --format auto tells the form of each message by itself")]
    OtherFormat(usize),
    /// A message has no role.
    #[error("message {0} has no \"role\"")]
    NoRole(usize),
    /// No format has the role of a message.
    #[error("message {message} has the unknown role {role:?}")]
    UnknownRole {
        /// The message.
        message: usize,
        /// The beginning of its role.
        role: String,
    },
}
