//! Tools as data: what they are, what a rule said, what came back.

use crate::{BlobHash, FileChange, Millis, Origin, Part, ToolSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tool can do to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EffectClass {
    /// Changes nothing; several run together; run again after a crash.
    ReadOnly,
    /// The same call twice has the effect of one; run again after a crash.
    Idempotent,
    /// Changes files of the workspace.
    LocalWrite,
    /// Sends something to somebody.
    MessageSend,
    /// Starts or ends processes.
    ProcessControl,
    /// Acts on a screen.
    UiControl,
    /// Waits for a person's answer.
    AskPerson,
    /// Starts another agent.
    StartChild,
    /// Undeclared: treated as the worst.
    #[default]
    SideEffecting,
}

impl EffectClass {
    /// Runs beside other calls.
    pub fn is_read_only(self) -> bool {
        self == EffectClass::ReadOnly
    }
    /// May be run again after a crash without asking.
    pub fn may_repeat(self) -> bool {
        matches!(
            self,
            EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::AskPerson | EffectClass::StartChild
        )
    }
}

/// So many calls in so much time, whenever that time begins: a window that slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateLimit {
    /// How many; at least 1.
    pub calls: u32,
    /// In how many milliseconds.
    pub per_ms: Millis,
}

/// A tool as the model and the core see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Its one name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema (2020-12) of its arguments: an object schema.
    pub input_schema: ToolSchema,
    /// What it can do.
    #[serde(default)]
    pub effect: EffectClass,
    /// Whether it can tell after a crash if a started call was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_probe: bool,
    /// How long a call may take, in milliseconds; the run's limit applies where this says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often it may be called in a run; further calls are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// How often it may be called in a time; further calls wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateLimit>,
}

/// How the names of MCP servers' tools begin: `mcp__SERVER__TOOL`.
pub const MCP_TOOLS: &str = "mcp__";

/// Other names under which models and rules ask for tools, each with the tool's own name.
pub const TOOL_ALIASES: [(&str, &str); 9] = [
    ("read", "read_text_file"),
    ("write", "write_text_file"),
    ("edit", "edit_text_file"),
    ("glob_files", "glob"),
    ("grep_content", "grep"),
    ("webfetch", "web_fetch"),
    ("search", "web_search"),
    ("task", "agent"),
    ("execute_bash", "bash"),
];

/// What other programs, such as Claude Code and Cursor, call tools that Mainpath has. Models and rules do not ask for tools by these names.
const FOREIGN_TOOL_NAMES: [(&str, &str); 21] = [
    ("Agent", "agent"),
    ("AskUserQuestion", "ask_human"),
    ("Bash", "bash"),
    ("BashOutput", "process_output"),
    ("Edit", "edit_text_file"),
    ("Glob", "glob"),
    ("Grep", "grep"),
    ("KillBash", "process_stop"),
    ("KillShell", "process_stop"),
    ("LS", "list_files"),
    ("MultiEdit", "edit_text_file"),
    ("NotebookRead", "read_text_file"),
    ("Read", "read_text_file"),
    ("Shell", "bash"),
    ("Skill", "select_skills"),
    ("Task", "agent"),
    ("TodoRead", "goal"),
    ("TodoWrite", "goal"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("Write", "write_text_file"),
];

/// Returns Mainpath's own name of a tool by the name that another program has for it; `None` if none has this name.
pub fn foreign_tool_name(name: &str) -> Option<&'static str> {
    FOREIGN_TOOL_NAMES.iter().find(|(foreign, _)| *foreign == name).map(|(_, own)| *own)
}

/// A tool's own name, be it asked for by an alias. A name that is no alias is its own.
pub fn own_tool_name(name: &str) -> &str {
    TOOL_ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, own)| own)
}

/// What policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Run it.
    Allow,
    /// Ask a person first.
    Ask,
    /// Never.
    Deny,
}

impl Decision {
    /// As it is written in rules, events and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

/// What policy said about one call, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// The id of the rule that decided, such as `builtin.read-only`.
    pub rule: String,
    /// Why, in a sentence for the model and the log.
    pub reason: String,
}

/// What a tool returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolOutput {
    /// What the model sees.
    pub content: Vec<Part>,
    /// Set when the call failed: a stable code such as `timeout`, `exit_code`, `not_found`. The words are in `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Set on a failure that the same call may not meet a moment later, such as a server that was busy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Origin::is_default")]
    pub origin: Origin,
    /// A line to show people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What stays for the model when the full output is shortened later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_term_memory: Option<String>,
    /// The full output is shown to the model once, then `long_term_memory` stands for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_output_only_once: bool,
    /// The call has waited for something that still goes on, and there is no news: making it again is patience, not a circle.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub still_waiting: bool,
    /// Files and full outputs that the call produced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// How the command ended that the call was, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandEnd>,
    /// The files that the call is known to have changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// What people should know of it, a sentence each, such as files that were moved out of the workspace.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub notices: Box<[String]>,
}

impl ToolOutput {
    /// A success that is one text.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() }
    }
    /// A failure: a stable code and the words that the model sees.
    pub fn failed(code: &str, text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Part::text(text)], error: Some(code.into()), ..ToolOutput::default() }
    }
}

/// How a command ended, and how much it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandEnd {
    /// Its exit code; none where it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Bytes of its standard output.
    pub stdout_bytes: u64,
    /// Bytes of its standard error.
    pub stderr_bytes: u64,
}

/// Something that a call produced and that lies in a blob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// A name to show, such as `stdout`.
    pub name: String,
    /// The blob.
    pub hash: BlobHash,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type.
    pub media_type: String,
}

/// How a call ended. Every call ends in exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// It ran and succeeded.
    Ok,
    /// It ran, or was refused for its arguments, and failed.
    Error,
    /// A rule or a person said no.
    Denied,
    /// It was not started: a limit, or a person steered away.
    Skipped,
    /// It was stopped, or the run ended before it started.
    Interrupted,
    /// It was started and nobody can tell whether it was done.
    Unknown,
}

impl Resolution {
    /// It in a word, as in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Resolution::Ok => "ok",
            Resolution::Error => "error",
            Resolution::Denied => "denied",
            Resolution::Skipped => "skipped",
            Resolution::Interrupted => "interrupted",
            Resolution::Unknown => "unknown",
        }
    }
}
