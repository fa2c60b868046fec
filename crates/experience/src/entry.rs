//! An entry, and what is asked of one.

use mainpath_types::Origin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The longest id, in bytes.
pub const LONGEST_ID: usize = 64;
/// The longest text of an entry, in bytes. It is shown to models whole, so it is to be short.
pub const LONGEST_TEXT: usize = 8 * 1024;
/// The most tags of a kind.
pub const MOST_TAGS: usize = 32;
/// The longest category or tag, in characters.
pub(crate) const LONGEST_NAME: usize = 100;
/// The origins that an entry can name.
pub(crate) const ORIGINS: &str = "user, workspace, web, mcp, message, model (also file and http)";

/// Something that was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Experience")]
pub struct Entry {
    /// Its id, such as `ex_k3v9qa`: see [`is_id`].
    pub id: String,
    /// What it is about, such as `tool_usage`, `logic_flow` or `environment`.
    pub category: String,
    /// In which situation it holds.
    pub state: Vec<String>,
    /// For which purpose.
    pub intent: Vec<String>,
    /// How often it helped; 1 at first.
    pub helpful: u32,
    /// How often it did harm.
    pub harmful: u32,
    /// The trace that it was learned in.
    pub trace_id: Option<String>,
    /// When it was written, as its file has it.
    pub created_at: Option<String>,
    /// Which sources its words rest on. Empty: nothing is said of it, as in what people write.
    pub origin: BTreeSet<Origin>,
    /// Whether it may be shown to agents.
    pub status: Status,
    /// What was learned.
    pub text: String,
}

impl Entry {
    /// How often it helped, less how often it did harm.
    pub fn score(&self) -> i64 {
        i64::from(self.helpful) - i64::from(self.harmful)
    }

    /// Whether its words rest on somebody else's.
    pub fn is_foreign(&self) -> bool {
        self.origin.iter().any(|origin| origin.is_foreign())
    }

    /// Whether agents may see it.
    pub fn is_accepted(&self) -> bool {
        self.status == Status::Accepted
    }
}

/// Whether an entry may be shown to agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ExperienceStatus")]
pub enum Status {
    /// A person is to read it first.
    Waiting,
    /// Agents may see it.
    #[default]
    Accepted,
}

/// An entry that is to be written. Its id is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What it is about.
    pub category: String,
    /// In which situation it holds.
    pub state: Vec<String>,
    /// For which purpose.
    pub intent: Vec<String>,
    /// The trace that it was learned in.
    pub trace_id: Option<String>,
    /// When: as it is to stand in the file.
    pub created_at: Option<String>,
    /// Which sources its words rest on. Where one is foreign, the entry waits for a person.
    pub origin: BTreeSet<Origin>,
    /// What was learned.
    pub text: String,
}

/// An entry with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The entry.
    pub entry: Entry,
    /// Its file.
    pub file: PathBuf,
    /// The line that it begins on, from 1.
    pub line: usize,
}

/// Something that is no entry, or a file that cannot be read. It is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; `None`: the whole file.
    pub line: Option<usize>,
    /// What is wrong, in a few words.
    pub why: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = self.line.map_or_else(String::new, |line| format!(", line {line}"));
        write!(to, "{}{line}: {}", self.file.display(), self.why)
    }
}

/// Whether this can be an id: letters of English, digits, `_` and `-`, beginning with a letter or digit. So it is no path, and a model
/// can name it as `[ID]`.
pub fn is_id(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.len() <= LONGEST_ID && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
}
