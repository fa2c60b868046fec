//! Child agents: how many there may be, what each is given, and how each comes to an end.

use crate::{BlobHash, CallId, FinishReason, Micros, Millis, Origin, Spent, TraceId, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The error of a call of which every agent failed.
pub const AGENT_FAILED: &str = "agent_failed";

/// How many agents an agent may start. They count per run, and what children start counts as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChildLimits {
    /// How many generations of agents may be below this one; 0: it may start none.
    pub depth: u8,
    /// How many may work at a time.
    pub at_once: u16,
    /// How many there may be in a run.
    pub in_all: u16,
}

impl Default for ChildLimits {
    fn default() -> ChildLimits {
        ChildLimits { depth: 1, at_once: 6, in_all: 24 }
    }
}

impl ChildLimits {
    pub(crate) fn is_default(&self) -> bool {
        *self == ChildLimits::default()
    }
}

/// What a child is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildMode {
    /// It does a task, with the tools of its parent.
    #[default]
    Delegate,
    /// One of several that look into something; they change nothing.
    Explore,
    /// It judges whether a goal was reached, and changes nothing.
    Evaluate,
}

impl ChildMode {
    /// Its name, as in the ids of children.
    pub fn name(self) -> &'static str {
        match self {
            ChildMode::Delegate => "delegate",
            ChildMode::Explore => "explore",
            ChildMode::Evaluate => "evaluate",
        }
    }

    /// Whether such a child changes nothing.
    pub fn is_read_only(self) -> bool {
        self != ChildMode::Delegate
    }
}

/// Where a child works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildPlace {
    /// In its parent's workspace, where it changes nothing.
    #[default]
    Reading,
    /// In a copy of its own; what it made is handed back.
    Own,
    /// In its parent's workspace, as the only one that writes there.
    Alone,
    /// On another machine.
    Elsewhere,
}

/// Of which folder a workspace is a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Copied {
    /// The folder. Whatever is trusted there is trusted in the copy, and nothing else; rules about it are about the copy.
    pub of: String,
    /// The folder of the git repository, where commands that work in `of` see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// What of its parent's budgets a child is given; what it leaves of it is handed back. `None`: the parent has no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Share {
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money in micro-units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<Micros>,
    /// Time to work in milliseconds; waiting for people is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<Millis>,
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Agents that it may start itself.
    pub children: u16,
    /// Generations of agents below it.
    pub depth: u8,
}

/// `sub_trace_started`: a call starts a child, which is given a share of the run's budgets. Written before there is a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubTraceStarted {
    /// The call.
    pub call: CallId,
    /// Which of the call's children, from 0.
    pub nth: u16,
    /// How many the call asks for.
    pub of: u16,
    /// The child's trace.
    pub child: TraceId,
    /// What it is for.
    pub mode: ChildMode,
    /// Where it works.
    #[serde(default)]
    pub place: ChildPlace,
    /// Whether the trace was there before and goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// The event of the child's log after which the work of this call begins: 0 for a new child.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u64,
    /// Its task in short, for people.
    #[serde(default)]
    pub task: String,
    /// What it is given.
    #[serde(default)]
    pub share: Share,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildOutcome {
    /// It has done its task.
    Result,
    /// It came to a limit: what it has is not all.
    Partial,
    /// It could not do it, or could not be started.
    Failed,
    /// It was stopped.
    Stopped,
}

/// `sub_trace_completed`: a child has ended, and what it left of its share is the parent's again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubTraceCompleted {
    /// The call that started it.
    pub call: CallId,
    /// Which of the call's children, from 0.
    pub nth: u16,
    /// How many the call asks for.
    pub of: u16,
    /// How it ended.
    pub outcome: ChildOutcome,
    /// What it came to.
    #[serde(flatten)]
    pub handed: HandedBack,
}

/// The changes of a child that worked in a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildPatch {
    /// The child.
    pub child: TraceId,
    /// A patch of git.
    pub patch: BlobHash,
    /// The files in it, as the workspace names them.
    pub files: Vec<String>,
}

/// What a child hands back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HandedBack {
    /// Its trace; `None` where none was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<TraceId>,
    /// Why its run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<FinishReason>,
    /// What it said last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// How many characters of that were left out here; its trace has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Why it could not be started or failed, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The files that it changed, as it names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Its changes to files as a patch of git, where it worked in a copy of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<BlobHash>,
    /// Where what it has read came from, if from outside: its words may be somebody else's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// What the parent's budgets are charged for it: tokens.
    pub usage: Usage,
    /// The same: money in micro-units.
    pub cost: Micros,
    /// What it really used.
    pub spent: Spent,
    /// Its model calls.
    pub turns: u32,
    /// Its tool calls, those of its own children included.
    pub calls: u32,
    /// Those of its own tool calls that were denied.
    #[serde(skip_serializing_if = "is_none")]
    pub denied: u32,
    /// Its calls of which nobody knows whether they were done: what ran them ended in the middle.
    #[serde(skip_serializing_if = "is_none")]
    pub unknown: u32,
    /// The agents that it started itself.
    pub children: u16,
    /// For how long it worked, in milliseconds; waiting for people is not counted.
    pub active_ms: Millis,
}

impl HandedBack {
    /// Whether nothing came of it: no word and no change.
    pub fn is_empty(&self) -> bool {
        self.answer.trim().is_empty() && self.files.is_empty()
    }
}

fn is_none(n: &u32) -> bool {
    *n == 0
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
