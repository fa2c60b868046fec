//! What events say about the context: side branches, cuts, summaries.

use crate::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a side branch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BranchKind {
    /// A malformed answer is asked for again.
    Repair,
    /// The conversation is summarised.
    Compaction,
    /// The model looks into what is no longer shown.
    Aside,
}

/// `branch_opened`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BranchOpened {
    /// What it is for.
    pub kind: BranchKind,
    /// The number of its first message, if it has any.
    pub seq: Seq,
    /// That message's estimated size.
    pub tokens: u32,
    /// Who summarises, where it is for that.
    #[serde(default, skip_serializing_if = "SummaryMode::is_default")]
    pub by: SummaryMode,
    /// The request of a person's that it follows, which may say what matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<EventId>,
}

/// `branch_closed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BranchClosed {
    /// What it was for.
    pub kind: BranchKind,
    /// Whether it reached its aim.
    pub done: bool,
}

/// `compaction_requested`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionRequested {
    /// What the summary should keep in mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Who asked.
    pub by: Principal,
}

/// A stretch of the main path: its first and its last message. Numbers between them that lie on other paths do not count.
pub type Span = (Seq, Seq);

/// A result of which only a part is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shortened {
    /// The call.
    pub call: CallId,
    /// The size of what is shown of it.
    pub tokens: u32,
    /// Whether its beginning and its end are shown, rather than its long-term line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excerpt: bool,
}

/// `compacted`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compacted {
    /// The node's number.
    pub seq: Seq,
    /// The event whose text is the summary; this one, where `text` has it.
    pub summary: EventId,
    /// A summary that was made by rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The first message that is still shown after the summary; `None`: nothing before the node is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<Seq>,
    /// Messages that are shown before the summary all the same.
    pub pinned: Vec<Seq>,
    /// Messages of which what they demand is shown before the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<Seq>,
    /// What is left out after the first kept message: see [`ContextCut`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Span>,
    /// What is shown in part only, in the order of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Shortened>,
    /// The summary's size.
    pub tokens: u32,
}

/// Why the context was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutCause {
    /// More messages than the window holds.
    Window,
    /// The server said that the request was too large, or another model's window is smaller.
    Overflow,
    /// Somebody asked to see more.
    Expand,
    /// Goals were reached or given up, and their messages go as soon as that.
    Goals,
    /// The window is nearly full.
    Full,
    /// What was to be shown once has been shown, and takes more than everything else.
    Once,
}

/// `context_cut`. Its sets are whole: they say what is left out from here on, also what an earlier cut had left out before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextCut {
    /// The node's number.
    pub seq: Seq,
    /// The first message that is still shown; `None`: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<Seq>,
    /// Messages that are shown before it all the same.
    pub pinned: Vec<Seq>,
    /// Messages of which what they demand is shown before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<Seq>,
    /// What is left out after the first kept message. A call and its results are left out together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Span>,
    /// What is shown in part only, in the order of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Shortened>,
    /// Why.
    pub cause: CutCause,
}
