//! Why a run ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a run ended. The strings are published and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model gave its final answer.
    Final,
    /// Somebody stopped it.
    Stopped,
    /// The turns were used up.
    MaxTurns,
    /// The tool calls were used up.
    MaxToolCalls,
    /// The script runs were used up.
    MaxScriptRuns,
    /// The time was used up.
    Timeout,
    /// The tokens were used up.
    TokenBudget,
    /// The money was used up.
    MoneyBudget,
    /// The answer was cut off at the model's output limit.
    MaxOutput,
    /// The conversation does not fit the model's window.
    ContextLimit,
    /// The same tool failed too often in a row.
    RepeatedFailure,
    /// The model did not keep to the protocol, also after a repair.
    ProtocolError,
    /// The final answer did not match its schema.
    SchemaError,
    /// Somebody has to approve a call and nobody was there.
    ApprovalNeeded,
    /// A denial ended the run.
    Denied,
    /// The model could not be called.
    ModelError,
    /// A tool ended the run.
    ToolError,
    /// A defect of Mainpath.
    InternalError,
}

impl FinishReason {
    /// The published string.
    pub fn as_str(self) -> &'static str {
        use FinishReason::*;
        match self {
            Final => "final",
            Stopped => "stopped",
            MaxTurns => "max_turns",
            MaxToolCalls => "max_tool_calls",
            MaxScriptRuns => "max_script_runs",
            Timeout => "timeout",
            TokenBudget => "token_budget",
            MoneyBudget => "money_budget",
            MaxOutput => "max_output",
            ContextLimit => "context_limit",
            RepeatedFailure => "repeated_failure",
            ProtocolError => "protocol_error",
            SchemaError => "schema_error",
            ApprovalNeeded => "approval_needed",
            Denied => "denied",
            ModelError => "model_error",
            ToolError => "tool_error",
            InternalError => "internal_error",
        }
    }

    /// The same for people, at most 16 characters.
    pub fn words(self) -> &'static str {
        use FinishReason::*;
        match self {
            Final => "final",
            Stopped => "stopped",
            MaxTurns => "turn limit",
            MaxToolCalls => "call limit",
            MaxScriptRuns => "script limit",
            Timeout => "time limit",
            TokenBudget => "tokens used up",
            MoneyBudget => "budget reached",
            MaxOutput => "answer cut off",
            ContextLimit => "context full",
            RepeatedFailure => "repeated failure",
            ProtocolError => "protocol error",
            SchemaError => "schema error",
            ApprovalNeeded => "approval needed",
            Denied => "denied by a hook",
            ModelError => "model error",
            ToolError => "tool error",
            InternalError => "internal error",
        }
    }
}
