//! What events say about the context: side branches, cuts, summaries.

use crate::{CallId, EventId, Principal, Seq, SummaryMode};
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
    /// The plan as the model that summarises is shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
    /// The first of the newest messages that the model is not shown for this summary, since they do not fit; they stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Seq>,
}

/// A plan in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    /// The words.
    pub text: String,
    /// Their estimated size.
    pub tokens: u32,
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

/// What of the main path is shown below a node: everything from one message on, but for a few, and a few before it. The sets
/// are whole: they say what is left out from there on, also what an earlier node had left out before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Keeps {
    /// The first message that is shown; `None`: nothing before the node is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<Seq>,
    /// Earlier messages that are shown all the same, oldest first.
    pub pinned: Vec<Seq>,
    /// Earlier messages of which what they demand is shown, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<Seq>,
    /// An earlier message that demands more than there is room for, of which some is shown, and in how many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partly: Option<(Seq, u32)>,
    /// Later messages that are left out. A call and its results are left out together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Span>,
    /// Results of which only a part is shown, in the order of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Shortened>,
}

/// What a request says of the messages that it does not show: which they are, what came of them, how to look them up. It stands
/// behind the summary, or where a summary would stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutNote {
    /// The words.
    pub text: String,
    /// Their estimated size.
    pub tokens: u32,
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
    /// What is shown from here on.
    #[serde(flatten)]
    pub keeps: Keeps,
    /// The summary's size as it is shown, without the note.
    pub tokens: u32,
    /// In how many tokens a model's summary is shown that is longer than it may be: its beginning and its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<u32>,
    /// What stands below a model's summary. Logs of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<SummaryFloor>,
    /// What is said of what is left out. Logs of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<LeftOutNote>,
    /// Whether the model is told that some of what the summary tells of is still shown. In logs of before it was told that nothing is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub some_shown: bool,
}

/// What rules found in a conversation and a model's summary of it does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryFloor {
    /// The words.
    pub text: String,
    /// Whether it is all that rules found, because the model's words tell nothing: it refused, or wrote of something else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
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

/// `context_cut`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextCut {
    /// The node's number.
    pub seq: Seq,
    /// What is shown from here on.
    #[serde(flatten)]
    pub keeps: Keeps,
    /// Why.
    pub cause: CutCause,
    /// What is said of what is left out, where anything is. Logs of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<LeftOutNote>,
    /// The `compacted` event whose summary stands before the note, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<EventId>,
}

/// `calls_recalled`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallsRecalled {
    /// The calls, oldest first.
    pub calls: Vec<CallId>,
}
