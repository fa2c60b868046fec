//! What goes out, and how that went.

use serde::Serialize;
use std::fmt;

/// A message to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its id: of a question, the trace and the call with a slash between. It is the same however often it is sent.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The trace that sends it.
    pub trace: String,
    /// What it says.
    pub text: String,
    /// Of a question: answers to choose from.
    pub choices: Vec<Choice>,
    /// Files that it is about, by their paths.
    pub files: Vec<String>,
    /// Of a question: when it expires, as RFC 3339 has it.
    pub expires_at: Option<String>,
    /// The answer that counts then.
    pub default: Option<String>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It wants an answer.
    Question,
    /// It wants none.
    Message,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A way to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A signed POST to an address of the owner's.
    Webhook,
    /// Feishu.
    Feishu,
    /// E-mail. Its replies are read by people, not by Mainpath.
    Email,
}

impl Channel {
    /// As configuration, log and JSON have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Channel::Webhook => "webhook",
            Channel::Feishu => "feishu",
            Channel::Email => "email",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message that a channel took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The channel.
    pub channel: Channel,
    /// What the channel calls the message, if it has a name for it.
    pub receipt: Option<String>,
}

/// Why a message was not taken: a sentence without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unsent {
    /// What is wrong.
    pub problem: String,
    /// Whether a later try may do better.
    pub again: bool,
}

impl Unsent {
    pub(crate) fn for_good(problem: impl Into<String>) -> Unsent {
        Unsent { problem: problem.into(), again: false }
    }

    pub(crate) fn for_now(problem: impl Into<String>) -> Unsent {
        Unsent { problem: problem.into(), again: true }
    }
}

impl Outgoing {
    /// The message as plain text: what it says, numbered choices, files, when it expires.
    pub fn in_words(&self) -> String {
        let mut text = self.text.trim().to_string();
        for (number, Choice { label, description }) in (1..).zip(&self.choices) {
            text += &match description {
                Some(description) => format!("\n{number}. {label} ({description})"),
                None => format!("\n{number}. {label}"),
            };
        }
        for file in &self.files {
            text += &format!("\nfile: {file}");
        }
        if let Some(at) = &self.expires_at {
            text += &match &self.default {
                Some(default) => format!("\nWithout an answer by {at} this counts: {default}"),
                None => format!("\nExpires {at}"),
            };
        }
        text
    }
}

/// A genuine message of an agent of another system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentWord {
    /// The sender's name.
    pub from: String,
    /// The trace that it is for.
    pub trace: String,
    /// The conversation that it belongs to.
    pub conversation: Option<String>,
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
}

/// What became of such a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordTaken {
    /// It waits until the agent looks.
    Received,
    /// It came before.
    Before,
    /// There is no such trace.
    NoTrace(String),
    /// The trace takes no such message.
    Refused(String),
    /// It could not be recorded; a later try may do better.
    Failed(String),
}
