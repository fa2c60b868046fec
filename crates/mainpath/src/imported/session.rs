//! A session as another program recorded it.

use mainpath_types::{Micros, Millis, Usage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// A session that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .file.display())]
pub struct Unreadable {
    /// Its file, its database, or the folder of sessions.
    pub file: PathBuf,
    /// The cause.
    #[source]
    pub problem: SessionProblem,
}

/// Why a session cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionProblem {
    /// The file or folder cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The database cannot be read, or has other tables.
    #[error("it cannot be read as a database of opencode: {0}")]
    Database(#[from] rusqlite::Error),
    /// The file is too large.
    #[error("it is larger than {} MiB", .0 >> 20)]
    TooLarge(
        /// The largest size that is read, in bytes.
        u64,
    ),
    /// The file is not JSON.
    #[error("it is no JSON")]
    NotJson,
    /// The file is not in a folder of opencode.
    #[error("it is in no folder of opencode")]
    Misplaced,
    /// The database has no session of this id.
    #[error("it has no session {0:?}")]
    Missing(String),
    /// The first line is not the head of a session.
    #[error("it does not begin with the head of a session of pi")]
    NoHead,
    /// The version of the format is not a number.
    #[error("its version {0} is no number")]
    Version(
        /// The version as JSON.
        Value,
    ),
    /// A newer version of the program wrote the file.
    #[error("a newer pi wrote it: version {version} of the format, and this Mainpath knows it up to {newest}")]
    Newer {
        /// The version of the format.
        version: u64,
        /// The newest version that is understood.
        newest: u64,
    },
    /// Nothing in it is understood.
    #[error("it has no messages that this version understands")]
    NoMessages,
}

impl SessionProblem {
    /// The problem, as the error of a file.
    pub(super) fn of(self, file: &Path) -> Unreadable {
        Unreadable { file: file.into(), problem: self }
    }
}

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
