//! The limits that a caller sets, over those of the configuration and the profile.

use super::options::{AgentOptions, LimitOptions};
use crate::Remedy;
use crate::home::ConfigFile;
use crate::home::limits::ms;
use crate::values::DENY_INSTEAD;
use crate::{Error, Home, presets};
use mainpath_policy::{ToolNameError, ToolNames};
use mainpath_types::{Limits, Profile, RateLimit, ToolSpec};
use std::fmt::Display;
#[cfg(feature = "home")]
use std::time::Duration;

/// The limits of a profile, and over them those of the configuration.
pub(super) fn configured(profile: Profile, config: &ConfigFile) -> Limits {
    let mut limits = profile.limits();
    limits.inject_every = config.inject_every.or(limits.inject_every).filter(|turns| *turns > 0);
    limits.summary = config.summary.unwrap_or(limits.summary);
    limits.finished_goals = config.finished_goals.unwrap_or(limits.finished_goals);
    limits.context_chars = config.max_context_chars.or(limits.context_chars);
    limits.shares = config.shares.all();
    config.limits.set(&mut limits);
    limits
}

/// The limits of a new agent: those of its profile, the configuration, its preset and its caller.
pub(super) fn new_limits(given: &AgentOptions, config: &ConfigFile) -> Limits {
    let mut limits = configured(given.profile.or(config.profile).unwrap_or_default(), config);
    if let Some(preset) = &given.preset {
        presets::set_limits(&mut limits, &preset.limits, &config.limits);
    }
    set_limits(&mut limits, &given.limits);
    limits
}

/// Returns the time limit of a run, which also holds for what is started before the run: of a new agent, or of one that continues with the
/// limits that it has kept. `None` without a limit.
#[cfg(feature = "home")]
pub fn time_limit(given: &AgentOptions, kept: Option<&Limits>, home: &Home) -> Option<Duration> {
    let limits = match kept {
        None => new_limits(given, &home.config),
        Some(kept) => {
            let mut limits = kept.clone();
            set_limits(&mut limits, &given.limits);
            limits
        }
    };
    limits.run_timeout_ms.map(Duration::from_millis)
}

/// Puts what is given in the place of what was there. 0 takes a limit away.
pub(super) fn set_limits(limits: &mut Limits, given: &LimitOptions) {
    limits.context_chars = given.context_chars.or(limits.context_chars);
    limits.turns = given.turns.or(limits.turns);
    limits.calls = given.calls.or(limits.calls);
    limits.calls_per_turn = given.calls_per_turn.or(limits.calls_per_turn);
    limits.script_runs = given.script_runs.or(limits.script_runs);
    limits.tokens = given.tokens.or(limits.tokens);
    limits.money = given.money.or(limits.money);
    limits.run_timeout_ms = given.time.map(ms).or(limits.run_timeout_ms);
    limits.call_timeout_ms = given.call_time.map(ms).or(limits.call_timeout_ms);
    limits.approval_timeout_ms = given.approval_time.map(ms).or(limits.approval_timeout_ms);
    limits.repeated_failures = given.repeated_failures.or(limits.repeated_failures);
    limits.observation_chars = given.observation_chars.or(limits.observation_chars);
    limits.budget = given.budget.unwrap_or(limits.budget);
    limits.recovery = given.recovery.unwrap_or(limits.recovery);
    limits.model_retries = given.model_retries.unwrap_or(limits.model_retries);
    *limits = std::mem::take(limits).without_zeros();
}

/// The limits that a caller sets, by their names among [`LimitOptions`], that go beyond what a home's configuration sets.
pub fn beyond(given: &LimitOptions, home: &Home) -> Vec<&'static str> {
    let mut kept = Limits::default();
    home.config.limits.set(&mut kept);
    let of = |number: Option<u32>| number.map(u64::from);
    let all = [
        ("turns", of(given.turns), of(kept.turns)),
        ("calls", of(given.calls), of(kept.calls)),
        ("calls_per_turn", of(given.calls_per_turn), of(kept.calls_per_turn)),
        ("script_runs", of(given.script_runs), of(kept.script_runs)),
        ("tokens", given.tokens, kept.tokens),
        ("money", given.money, kept.money),
        ("time", given.time.map(ms), kept.run_timeout_ms),
        ("call_time", given.call_time.map(ms), kept.call_timeout_ms),
        ("approval_time", given.approval_time.map(ms), kept.approval_timeout_ms),
        ("repeated_failures", of(given.repeated_failures), of(kept.repeated_failures)),
        ("observation_chars", of(given.observation_chars), of(kept.observation_chars)),
    ];
    // 0 is no limit.
    let is_beyond = |given: u64, kept: u64| kept > 0 && (given == 0 || given > kept);
    all.into_iter()
        .filter(|(_, given, kept)| given.zip(*kept).is_some_and(|(given, kept)| is_beyond(given, kept)))
        .map(|(name, ..)| name)
        .collect()
}

/// The limits that the configuration and the caller set on single tools. Errors: a rate names no tool that there is, or one twice.
pub(super) fn limit_tools(tools: &mut [ToolSpec], given: &LimitOptions, home: &Home) -> Result<(), Error> {
    let rates = read_rates(&given.rates, tools)?;
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

/// The rates that the caller sets, over those that the tools have. Errors: as [`limit_tools`].
pub(super) fn limit_rates(tools: &mut [ToolSpec], given: &LimitOptions) -> Result<(), Error> {
    let rates = read_rates(&given.rates, tools)?;
    tools.iter_mut().for_each(|tool| set_rate(tool, &rates));
    Ok(())
}

fn set_rate(tool: &mut ToolSpec, rates: &[(ToolNames, RateLimit)]) {
    let fitting = || rates.iter().filter(|(names, _)| names.matches(&tool.name));
    // A name before a pattern.
    let rate = fitting().find(|(names, _)| names.one().is_some()).or_else(|| fitting().next());
    tool.rate = rate.map(|(_, rate)| *rate).or(tool.rate);
}

fn read_rates(given: &[(String, RateLimit)], tools: &[ToolSpec]) -> Result<Vec<(ToolNames, RateLimit)>, Error> {
    let mut read: Vec<(ToolNames, RateLimit)> = Vec::new();
    for (text, rate) in given {
        let wrong = |why: &dyn Display| Error::of_field("limits.rates", format_args!(": {why}"));
        let names: ToolNames = text.parse().map_err(|why: ToolNameError| wrong(&why))?;
        names
            .check(tools.iter().map(|tool| tool.name.as_str()))
            .map_err(|why| wrong(&why).with_remedy(Remedy::of(&why)))?;
        if let Some(one) = names.one().filter(|one| read.iter().any(|(other, _)| other.one() == Some(*one))) {
            return Err(wrong(&format_args!("{one} is limited twice")));
        }
        if rate.calls == 0 || rate.per_ms == 0 {
            return Err(wrong(&format_args!(
                "{text} would have {} calls in {} ms; {DENY_INSTEAD}",
                rate.calls, rate.per_ms
            )));
        }
        read.push((names, *rate));
    }
    Ok(read)
}
