//! The limits of a run: the profile's, changed by `[limits]` of the configuration, changed by flags.

use crate::args::{AgentArgs, time_limit};
use crate::config::Home;
use crate::exit::Failure;
use mainpath_policy::ToolNames;
use mainpath_types::{BudgetMode, Limits, Micros, Millis, RateLimit, Recovery, ToolSpec};
use serde::Deserialize;
use std::time::Duration;

/// `[limits]` in `config.toml`: what the flags of the same names set. 0 means no limit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    max_turns: Option<u32>,
    max_calls: Option<u32>,
    max_calls_per_turn: Option<u32>,
    max_context_chars: Option<u32>,
    max_tokens: Option<u64>,
    max_cost: Option<Dollars>,
    timeout: Option<TimeLimit>,
    call_timeout: Option<TimeLimit>,
    approval_timeout: Option<TimeLimit>,
    repeated_failure_limit: Option<u32>,
    observation_max_len: Option<u32>,
    budget: Option<BudgetMode>,
    recovery: Option<Recovery>,
    model_retries: Option<u32>,
}

/// An amount such as `"0.50"`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Dollars(Micros);

impl TryFrom<String> for Dollars {
    type Error = String;
    fn try_from(text: String) -> Result<Dollars, String> {
        crate::args::dollars(&text).map(Dollars)
    }
}

/// A time such as `"90s"`, or `"0"`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct TimeLimit(Millis);

impl TryFrom<String> for TimeLimit {
    type Error = String;
    fn try_from(text: String) -> Result<TimeLimit, String> {
        let time = time_limit(&text).map_err(|why| format!("{text:?} is not a time: {why}"))?;
        Ok(TimeLimit(ms(time)))
    }
}

fn ms(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl LimitsConfig {
    /// Puts what is said here in the place of what a profile says.
    pub fn set(&self, limits: &mut Limits) {
        limits.turns = self.max_turns.or(limits.turns);
        limits.calls = self.max_calls.or(limits.calls);
        limits.calls_per_turn = self.max_calls_per_turn.or(limits.calls_per_turn);
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

/// Puts what the flags say in the place of what was there. 0 takes a limit away.
pub fn set_limits(limits: &mut Limits, args: &AgentArgs) {
    let more = &args.limits;
    limits.context_chars = args.max_context_chars.or(limits.context_chars);
    limits.turns = args.max_turns.or(limits.turns);
    limits.calls = args.max_calls.or(limits.calls);
    limits.calls_per_turn = more.max_calls_per_turn.or(limits.calls_per_turn);
    limits.tokens = args.max_tokens.or(limits.tokens);
    limits.money = args.max_cost.or(limits.money);
    limits.run_timeout_ms = args.timeout.map(ms).or(limits.run_timeout_ms);
    limits.call_timeout_ms = args.call_timeout.map(ms).or(limits.call_timeout_ms);
    limits.approval_timeout_ms = args.approval_timeout.map(ms).or(limits.approval_timeout_ms);
    limits.repeated_failures = more.repeated_failure_limit.or(limits.repeated_failures);
    limits.observation_chars = more.observation_max_len.or(limits.observation_chars);
    limits.budget = more.budget.map_or(limits.budget, BudgetMode::from);
    limits.recovery = more.recovery.map_or(limits.recovery, Recovery::from);
    limits.model_retries = more.model_retries.unwrap_or(limits.model_retries);
    *limits = std::mem::take(limits).without_zeros();
}

/// The limits that the configuration and the flags set on single tools. Errors: a flag names no tool that there is, or one twice.
pub fn limit_tools(tools: &mut [ToolSpec], args: &AgentArgs, home: &Home) -> Result<(), Failure> {
    let rates = read_rates(&args.limits.rate, tools)?;
    for tool in tools {
        if let Some(limit) = home.config.tool_limit(&tool.name) {
            tool.max_calls = limit.max_calls.map(|most| most.get()).or(tool.max_calls);
            tool.rate = limit.rate.map(|rate| rate.0).or(tool.rate);
            tool.timeout_ms = limit.timeout.map(|time| time.0).or(tool.timeout_ms);
        }
        set_rate(tool, &rates);
    }
    Ok(())
}

/// The rates that the flags set, over those that the tools have. Errors: as [`limit_tools`].
pub fn limit_rates(tools: &mut [ToolSpec], args: &AgentArgs) -> Result<(), Failure> {
    let rates = read_rates(&args.limits.rate, tools)?;
    tools.iter_mut().for_each(|tool| set_rate(tool, &rates));
    Ok(())
}

fn set_rate(tool: &mut ToolSpec, rates: &[(ToolNames, RateLimit)]) {
    let fitting = || rates.iter().filter(|(names, _)| names.matches(&tool.name));
    // A name before a pattern.
    let rate = fitting().find(|(names, _)| names.one().is_some()).or_else(|| fitting().next());
    tool.rate = rate.map(|(_, rate)| *rate).or(tool.rate);
}

fn read_rates(given: &[(String, RateLimit)], tools: &[ToolSpec]) -> Result<Vec<(ToolNames, RateLimit)>, Failure> {
    let mut read: Vec<(ToolNames, RateLimit)> = Vec::new();
    for (text, rate) in given {
        let wrong = |why: String| Failure::usage(format!("--rate: {why}"));
        let names: ToolNames = text.parse().map_err(wrong)?;
        names.check(tools.iter().map(|tool| tool.name.as_str())).map_err(wrong)?;
        if let Some(one) = names.one().filter(|one| read.iter().any(|(other, _)| other.one() == Some(*one))) {
            return Err(wrong(format!("{one} is limited twice")));
        }
        read.push((names, *rate));
    }
    Ok(read)
}
