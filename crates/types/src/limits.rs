//! What bounds a run, and how what is over a bound is dealt with.

use crate::{ChildLimits, Micros, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits of a run. `None` and 0 mean unlimited; every limit counts per run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// Model calls on the main path.
    pub turns: Option<u32>,
    /// Tool calls in all.
    pub calls: Option<u32>,
    /// Tool calls per turn; further ones resolve as `skipped`.
    pub calls_per_turn: Option<u32>,
    /// Scripts of skills that may be run in all; more end the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_runs: Option<u32>,
    /// Wall time of the run in milliseconds, waiting for people excluded.
    pub run_timeout_ms: Option<Millis>,
    /// Wall time of one tool call in milliseconds.
    pub call_timeout_ms: Option<Millis>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Money in micro-units.
    pub money: Option<Micros>,
    /// Whether the token and money budgets are checked before a call, or end with one last answer.
    pub budget: BudgetMode,
    /// Turns in a row in which the same tool may fail or be denied; the run ends at the last of them. Twice as many end it where several
    /// tools fail in turn, four times as many answers that only plan or look back, and one more where the same call comes to the
    /// same result, which the model is told before.
    pub repeated_failures: Option<u32>,
    /// Failed model requests in a row that are retried.
    pub model_retries: u32,
    /// How often a call that can be repeated is made again by itself when it failed for the moment.
    pub call_retries: u32,
    /// How long an approval is waited for, in milliseconds; then the call is denied.
    pub approval_timeout_ms: Option<Millis>,
    /// Characters of a tool's output that the model sees.
    pub observation_chars: Option<u32>,
    /// Messages that the model sees; older ones are cut.
    pub window_messages: Option<u32>,
    /// After so many turns the model is reminded of its plan and its budgets; `None` or 0: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_every: Option<u32>,
    /// Whether every request ends with the plan in short and what is left of the budgets, as they are at that moment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standing: bool,
    /// What becomes of open repeatable calls after a crash.
    pub recovery: Recovery,
    /// Characters of a request, at four a token; more are treated like more than the model's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_chars: Option<u32>,
    /// The shares of a request's sections.
    #[serde(skip_serializing_if = "Shares::is_default")]
    pub shares: Shares,
    /// When the messages of finished goals are left out.
    #[serde(skip_serializing_if = "Finished::is_default")]
    pub finished_goals: Finished,
    /// Who summarises when the window is nearly full.
    #[serde(skip_serializing_if = "SummaryMode::is_default")]
    pub summary: SummaryMode,
    /// How many agents it may start.
    #[serde(skip_serializing_if = "ChildLimits::is_default")]
    pub children: ChildLimits,
}

impl Limits {
    /// The same, where 0 means no limit: as people write it, and as the sources have it.
    #[must_use]
    pub fn without_zeros(mut self) -> Limits {
        let counts = [
            &mut self.turns,
            &mut self.calls,
            &mut self.calls_per_turn,
            &mut self.script_runs,
            &mut self.repeated_failures,
            &mut self.observation_chars,
            &mut self.window_messages,
            &mut self.context_chars,
            &mut self.inject_every,
        ];
        for count in counts {
            *count = count.filter(|most| *most > 0);
        }
        let sums = [
            &mut self.run_timeout_ms,
            &mut self.call_timeout_ms,
            &mut self.approval_timeout_ms,
            &mut self.tokens,
            &mut self.money,
        ];
        for sum in sums {
            *sum = sum.filter(|most| *most > 0);
        }
        self
    }
}

/// The sections of a request and the part of the window that each may take, in hundredths of what the answer leaves of it. They
/// count when the window is nearly full: until then any section may be larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shares {
    /// The system text and the tools.
    pub system: u8,
    /// What stands for the messages that are left out: the summary, and what is pinned.
    pub summary: u8,
    /// The messages before the newest turn.
    pub recent: u8,
    /// The newest turn, and what came after it.
    pub current: u8,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares { system: 10, summary: 20, recent: 50, current: 20 }
    }
}

impl Shares {
    pub(crate) fn is_default(&self) -> bool {
        *self == Shares::default()
    }
}

/// When the messages of finished goals are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finished {
    /// When room is needed, so that the prefix breaks seldom.
    #[default]
    Lazy,
    /// At the next turn.
    EveryTurn,
}

impl Finished {
    pub(crate) fn is_default(&self) -> bool {
        *self == Finished::default()
    }
}

/// Who summarises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryMode {
    /// Rules, without a model.
    Rules,
    /// The model, in one answer.
    #[default]
    Single,
    /// The model, which first reflects, and may use tools that change nothing.
    Agent,
}

impl SummaryMode {
    pub(crate) fn is_default(&self) -> bool {
        *self == SummaryMode::default()
    }
}

/// Whether a budget stops a call or asks for a last answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetMode {
    /// Checked with the estimate before every model call.
    #[default]
    Hard,
    /// The turn is finished, then one last answer is asked for.
    Soft,
}

/// What becomes of open repeatable calls after a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// They run again.
    #[default]
    Rerun,
    /// They resolve as interrupted and the model is told.
    Notify,
}
