//! The steps of a recorded run.

use mainpath_types::{Decision, FinishReason, Part, Resolution, StopReason, SubTraceCompleted, ToolOutput, Usage};
use serde::{Deserialize, Serialize};

/// A step of a run: what was said to the model, or what it answered and what became of that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum RecordedStep {
    /// Somebody said something.
    Said {
        /// What.
        parts: Vec<Part>,
        /// Whether it redirected a run that went on: the calls after it were skipped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        steer: bool,
        /// Why runs ended after it, before anything was answered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ends: Vec<FinishReason>,
    },
    /// The model answered.
    Answered(Box<RecordedAnswer>),
}

/// An answer of the model, and what became of its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// What it said.
    pub parts: Vec<Part>,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
    /// Whether it had no valid form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub malformed: bool,
    /// Its calls, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallStep>,
    /// Why runs ended after it, unless it is a final answer: somebody stopped one, say, and went on later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<FinishReason>,
}

impl RecordedStep {
    /// Something that was said.
    pub fn said(parts: Vec<Part>) -> RecordedStep {
        RecordedStep::Said { parts, steer: false, ends: Vec::new() }
    }

    /// Why runs ended after it. A final answer says for itself that its run ended.
    pub fn ends(&self) -> &[FinishReason] {
        match self {
            RecordedStep::Said { ends, .. } => ends,
            RecordedStep::Answered(answer) => &answer.ends,
        }
    }
}

/// A call, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallStep {
    /// The tool; as the model wrote it where there is none of that name.
    pub tool: String,
    /// The arguments as it ran, or would have run: JSON text.
    pub arguments: String,
    /// The arguments before whoever approved it changed them; `None`: nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What the rules said; `None` where they were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Decision>,
    /// The rule that said it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Whether somebody approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// The rule that the approval made for calls like it, a pattern in each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_for: Option<String>,
    /// How it ended; `None` while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    /// Why it was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the agents came to that it started, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<SubTraceCompleted>,
}
