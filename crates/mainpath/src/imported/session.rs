//! A session as another program recorded it.

use mainpath_types::{Micros, Millis, Usage};
use serde_json::Value;
use std::collections::BTreeMap;

/// The programs whose sessions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// OpenAI's codex.
    Codex,
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// opencode.
    Opencode,
    /// pi, the coding agent of pi-mono.
    Pi,
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 4] = [Program::ClaudeCode, Program::Codex, Program::Opencode, Program::Pi];

    /// Its name on the command line and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Program::Codex => "codex",
            Program::ClaudeCode => "claude-code",
            Program::Opencode => "opencode",
            Program::Pi => "pi",
        }
    }
}

/// Why a session cannot be read: one line, with the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSession {
    /// Who recorded it.
    pub program: Program,
    /// What that program calls it.
    pub id: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// The folder it worked in.
    pub cwd: Option<String>,
    /// The program's version.
    pub version: Option<String>,
    /// The session that it was forked from or started by.
    pub parent: Option<String>,
    /// When it began.
    pub begun: Option<Millis>,
    /// What was said: the way that was gone last, then others that were left.
    pub branches: Vec<RecordedBranch>,
    /// What was left out, by kind, and how often.
    pub left_out: BTreeMap<String, usize>,
}

/// A way through a session, from its beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedBranch {
    /// The messages, oldest first.
    pub messages: Vec<RecordedMessage>,
}

/// A message, and what was recorded of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMessage {
    /// The message in Anthropic's form: `role`, and `content` as a list of blocks; results of calls are blocks of the user.
    pub message: Value,
    /// When.
    pub at: Option<Millis>,
    /// By which model.
    pub model: Option<String>,
    /// With which provider, in that program's words.
    pub provider: Option<String>,
    /// What it used.
    pub usage: Option<Usage>,
    /// What it cost by the file, in micro-units.
    pub cost: Option<Micros>,
}

impl RecordedMessage {
    /// A message of which nothing else is known.
    pub(super) fn new(role: &str, content: Vec<Value>, at: Option<Millis>) -> RecordedMessage {
        let message = serde_json::json!({"role": role, "content": content});
        RecordedMessage { message, at, model: None, provider: None, usage: None, cost: None }
    }

    pub(super) fn is_of(&self, role: &str) -> bool {
        self.message.get("role").and_then(Value::as_str) == Some(role)
    }

    /// Puts more blocks behind its own.
    pub(super) fn extend(&mut self, blocks: impl IntoIterator<Item = Value>) {
        if let Some(content) = self.message.get_mut("content").and_then(Value::as_array_mut) {
            content.extend(blocks);
        }
    }
}

impl RecordedSession {
    pub(super) fn new(program: Program, id: String) -> RecordedSession {
        RecordedSession {
            program,
            id,
            title: None,
            cwd: None,
            version: None,
            parent: None,
            begun: None,
            branches: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// Notes that something of this kind was left out.
    pub(super) fn leave_out(&mut self, what: impl Into<String>) {
        *self.left_out.entry(what.into()).or_default() += 1;
    }
}
