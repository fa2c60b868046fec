//! How a run that ended stands in OpenAI's terms.

use mainpath::types::FinishReason;
use mainpath::{Outcome, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a run ended, in OpenAI's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// With its final answer.
    Completed,
    /// Before that: a limit was reached.
    Limited,
    /// Before that: rules or people denied what it wanted.
    Denied,
    /// Somebody stopped it.
    Cancelled,
    /// It failed.
    Failed,
}

impl Standing {
    /// Of a reason.
    pub fn of(reason: FinishReason) -> Standing {
        use FinishReason::{
            ApprovalNeeded, ContextLimit, Denied, Final, InternalError, MaxOutput, MaxScriptRuns, MaxToolCalls,
            MaxTurns, ModelError, MoneyBudget, ProtocolError, RepeatedFailure, SchemaError, Stopped, Timeout,
            TokenBudget, ToolError,
        };
        match reason {
            Final => Standing::Completed,
            MaxTurns | MaxToolCalls | MaxScriptRuns | Timeout | TokenBudget | MoneyBudget | MaxOutput
            | ContextLimit => Standing::Limited,
            ApprovalNeeded | Denied => Standing::Denied,
            Stopped => Standing::Cancelled,
            RepeatedFailure | ProtocolError | SchemaError | ModelError | ToolError | InternalError => Standing::Failed,
        }
    }

    /// The `finish_reason` of a choice.
    pub fn finish_reason(self) -> &'static str {
        match self {
            Standing::Completed => "stop",
            Standing::Limited | Standing::Cancelled | Standing::Failed => "length",
            Standing::Denied => "content_filter",
        }
    }

    /// The `status` of a response.
    pub fn status(self) -> &'static str {
        match self {
            Standing::Completed => "completed",
            Standing::Limited | Standing::Denied => "incomplete",
            Standing::Cancelled => "cancelled",
            Standing::Failed => "failed",
        }
    }
}

/// What Mainpath adds to its answers: where the run is, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Details {
    /// The trace: everything about it is at `/api/traces/{id}`.
    pub trace_id: String,
    /// The run's number in it.
    pub run: u32,
    /// Why it ended: `final`, `stopped`, `max_turns`, …; `null` while it goes on.
    pub finish_reason: Option<&'static str>,
    /// Whether the model said the answer; `false`: it says for the model what was done and what is missing.
    pub is_said: bool,
    /// Model turns.
    pub turns: u64,
    /// How often each tool was called.
    pub tools: BTreeMap<String, u32>,
    /// What it cost, in millionths.
    pub cost_micros: u64,
    /// What it waits for: `approval 4.0`, `answer 4.0`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
}

impl Details {
    /// Of a run.
    pub fn of(trace: &mainpath::types::TraceId, record: &RunRecord) -> Details {
        let outcome = record.outcome.as_ref();
        Details {
            trace_id: trace.to_string(),
            run: record.run,
            finish_reason: outcome.map(|outcome| outcome.reason.as_str()),
            is_said: outcome.is_some_and(|outcome| outcome.is_said),
            turns: outcome.map_or(0, |outcome| outcome.turns),
            tools: outcome.map(|outcome| outcome.tools.clone()).unwrap_or_default(),
            cost_micros: outcome.map_or(0, |outcome| outcome.cost),
            waits_for: Vec::new(),
        }
    }
}

/// What a run that failed says of it.
pub fn failure(outcome: &Outcome) -> String {
    let said = outcome.error.as_ref().map(|error| error.message.clone());
    said.unwrap_or_else(|| outcome.answer.clone())
}
