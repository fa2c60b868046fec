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

/// Why a text is no conversation: one line, what and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadHistory(pub String);
