//! `[limits]` of the configuration.

use crate::Error;
use crate::values::{self, time_limit};
use mainpath_types::{BudgetMode, Limits, Micros, Millis, Recovery};
use serde::Deserialize;
use std::time::Duration;

/// `[limits]`: what the flags of the same names set. 0 means no limit.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Model calls of a run.
    max_turns: Option<u32>,
    /// Tool calls of a run.
    max_calls: Option<u32>,
    /// Tool calls in one answer of the model; further ones are skipped.
    max_calls_per_turn: Option<u32>,
    /// Scripts of skills in a run.
    max_script_runs: Option<u32>,
    /// Agents that a run may start, those of its agents included; 0: none.
    max_agents: Option<u16>,
    /// How many of them work at a time.
    max_agents_at_once: Option<u16>,
    /// Generations of agents below a run; 0: it starts none, 1: those that it starts start none.
    max_agent_depth: Option<u8>,
    /// Characters of one request. It comes before the key of the same name at the top.
    max_context_chars: Option<u32>,
    /// Tokens of a run, in and out.
    max_tokens: Option<u64>,
    /// What a run may cost; the model's price must be known.
    max_cost: Option<Dollars>,
    /// Time of a run, without the time that it waits for people.
    timeout: Option<TimeLimit>,
    /// Time of one tool call.
    call_timeout: Option<TimeLimit>,
    /// How long a question waits for an answer; then it counts as denied.
    approval_timeout: Option<TimeLimit>,
    /// Turns in a row in which the same tool may fail or be denied; the run ends at the last of them.
    repeated_failure_limit: Option<u32>,
    /// Characters of a tool's result that the model is shown.
    observation_max_len: Option<u32>,
    /// What happens when tokens or money run out.
    budget: Option<BudgetMode>,
    /// What becomes of calls that a crash cut short and that can be repeated.
    recovery: Option<Recovery>,
    /// How often a request that failed for the moment is sent again.
    model_retries: Option<u32>,
}

/// An amount such as `"0.50"`.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
struct Dollars(#[schemars(with = "String")] Micros);

impl TryFrom<String> for Dollars {
    type Error = Error;
    fn try_from(text: String) -> Result<Dollars, Error> {
        values::dollars(&text).map(Dollars)
    }
}

/// A time such as `"90s"`, or `"0"`.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
struct TimeLimit(#[schemars(with = "String")] Millis);

impl TryFrom<String> for TimeLimit {
    type Error = Error;
    fn try_from(text: String) -> Result<TimeLimit, Error> {
        let time = time_limit(&text).map_err(|why| Error::invalid(format!("{text:?} is not a time: {why}")))?;
        Ok(TimeLimit(ms(time)))
    }
}

/// A time in milliseconds. One that is shorter is one of them: none at all would be no limit.
pub(crate) fn ms(time: Duration) -> Millis {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    ms.max(u64::from(!time.is_zero()))
}

impl LimitsConfig {
    /// Puts what is said here in the place of what a profile says.
    pub fn set(&self, limits: &mut Limits) {
        limits.turns = self.max_turns.or(limits.turns);
        limits.calls = self.max_calls.or(limits.calls);
        limits.calls_per_turn = self.max_calls_per_turn.or(limits.calls_per_turn);
        limits.script_runs = self.max_script_runs.or(limits.script_runs);
        let children = &mut limits.children;
        children.in_all = self.max_agents.unwrap_or(children.in_all);
        children.at_once = self.max_agents_at_once.unwrap_or(children.at_once);
        children.depth = self.max_agent_depth.unwrap_or(children.depth);
        limits.context_chars = self.max_context_chars.or(limits.context_chars);
        limits.tokens = self.max_tokens.or(limits.tokens);
        limits.money = self.max_cost.map(|Dollars(micros)| micros).or(limits.money);
        limits.run_timeout_ms = self.timeout.map(|time| time.0).or(limits.run_timeout_ms);
        limits.call_timeout_ms = self.call_timeout.map(|time| time.0).or(limits.call_timeout_ms);
        limits.approval_timeout_ms = self.approval_timeout.map(|time| time.0).or(limits.approval_timeout_ms);
        limits.repeated_failures = self.repeated_failure_limit.or(limits.repeated_failures);
        limits.observation_chars = self.observation_max_len.or(limits.observation_chars);
        limits.budget = self.budget.unwrap_or(limits.budget);
        limits.recovery = self.recovery.unwrap_or(limits.recovery);
        limits.model_retries = self.model_retries.unwrap_or(limits.model_retries);
    }
}
