//! What a preset adds to the agent that is made from it.

use super::preset::{Preset, PresetLimits};
use super::within;
use crate::home::LimitsConfig;
use crate::{AgentOptions, Error, ErrorKind};
use mainpath_policy::{ToolNames, with_preset};
use mainpath_types::{AppliedPreset, Limits, RunRules, Spec};

/// What a caller says of a new agent, put together with a preset.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// What the agent is to be.
    pub options: AgentOptions,
    /// Its rules: the caller's, and those of the preset.
    pub rules: RunRules,
    /// What to say about the preset.
    pub notes: Vec<PresetNote>,
}

/// A line about a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetNote {
    /// A part of its file that has no effect: the file, the line and why.
    NoEffect(String),
    /// Tools that it names and that this host does not have.
    NoTools {
        /// The preset.
        preset: String,
        /// The tools.
        tools: Vec<String>,
    },
}

impl Given {
    /// What the caller says, with this preset below it.
    pub fn new(mut options: AgentOptions, rules: RunRules, preset: Option<Preset>) -> Given {
        let rules = rules.with(&preset.as_ref().map(Preset::rules).unwrap_or_default());
        options.preset = preset;
        Given { options, rules, notes: Vec::new() }
    }

    /// The model that the caller names, else the preset's.
    pub fn model(&self) -> Option<&str> {
        let of_preset = || self.options.preset.as_ref().and_then(|preset| preset.model.as_deref());
        self.options.model.as_deref().or_else(of_preset)
    }
}

impl Preset {
    /// The rules that hold for who is made from it. They only deny, and say in whose name.
    pub fn rules(&self) -> RunRules {
        let commands = Some(self.commands.clone()).filter(|commands| !commands.is_empty());
        let deny = self.denied_tools.iter().map(|rule| with_preset(rule, &self.name)).collect();
        RunRules { deny, commands: commands.into_iter().collect(), ..RunRules::default() }
    }

    /// What a spec keeps of it that is in no other field.
    pub(crate) fn applied(&self) -> AppliedPreset {
        AppliedPreset {
            name: self.name.clone(),
            source: self.source.clone(),
            skills: self.skills.clone(),
            instructions: self.instructions.clone(),
        }
    }

    /// The tools that it allows within these; `known` are the names of the tools that there are. `None`: all; empty: none.
    pub(crate) fn tools_within(&self, bounds: &[String], known: &[&str]) -> Option<Vec<String>> {
        match (bounds, &self.tools) {
            ([], tools) => tools.clone(),
            (bounds, None) => Some(bounds.to_vec()),
            (bounds, Some(tools)) => Some(within(bounds, tools, known)),
        }
    }

    /// The tools that it names and that are not there.
    pub fn absent<'a>(&'a self, known: &[String]) -> Vec<&'a str> {
        let is_there = |name: &ToolNames| known.iter().any(|tool| name.matches(tool));
        let names = self.tools.iter().flatten().map(String::as_str);
        names
            .filter(|text| text.parse().is_ok_and(|name: ToolNames| name.one().is_some() && !is_there(&name)))
            .collect()
    }

    /// A tool that the caller names and this denies. Errors: there is one.
    pub(crate) fn check_named(&self, named: &[String]) -> Result<(), Error> {
        let denied = named.iter().filter_map(|text| text.parse::<ToolNames>().ok()).find_map(|names| {
            let one = names.one()?;
            self.denied_tools.iter().any(|denied| denied == one).then(|| one.to_string())
        });
        match denied {
            Some(tool) => Err(Error::of_field("tools", format_args!(": the preset {} denies {tool}", self.name))),
            None => Ok(()),
        }
    }
}

/// Sets the limits of a preset in the place of a profile's, no wider than what the configuration sets.
pub(crate) fn set_limits(limits: &mut Limits, preset: &PresetLimits, config: &LimitsConfig) {
    let mut bounds = Limits::default();
    config.set(&mut bounds);
    let PresetLimits { turns, calls, tokens, money, time_ms } = *preset;
    limits.turns = narrower(turns, bounds.turns, limits.turns);
    limits.calls = narrower(calls, bounds.calls, limits.calls);
    limits.tokens = narrower(tokens, bounds.tokens, limits.tokens);
    limits.money = narrower(money, bounds.money, limits.money);
    limits.run_timeout_ms = narrower(time_ms, bounds.run_timeout_ms, limits.run_timeout_ms);
}

/// What a preset says, held to a bound; without either, what was there. 0 is no limit.
pub(super) fn narrower<T: Ord + Copy + Default>(said: Option<T>, bound: Option<T>, was: Option<T>) -> Option<T> {
    let is_limit = |limit: &T| *limit > T::default();
    match (said, bound.filter(is_limit)) {
        (None, _) => was,
        (Some(said), None) => Some(said),
        (Some(said), Some(bound)) => Some(bound.min(Some(said).filter(is_limit).unwrap_or(bound))),
    }
}

/// Holds a trace to the preset that it began with. Errors: another one is named.
pub fn check_kept(spec: &Spec, named: &str) -> Result<(), Error> {
    let now = spec.preset.as_ref().map(|preset| preset.name.as_str());
    if now == Some(named) {
        return Ok(());
    }
    let is = now.map_or_else(|| "was started without a preset".into(), |now| format!("is the agent {now}"));
    let line = format!("the trace {is}, and an agent keeps its preset; start a new trace for the agent {named}");
    Err(Error::new(ErrorKind::Refused, line))
}

#[cfg(test)]
mod tests {
    use super::narrower;

    #[test]
    fn a_preset_comes_before_what_was_there_and_stays_within_its_bound() {
        for ((said, bound, was), limit) in [
            ((None, None, Some(200)), Some(200)),
            ((None, Some(10), Some(10)), Some(10)),
            ((Some(30), None, Some(200)), Some(30)),
            ((Some(500), None, Some(200)), Some(500)),
            ((Some(30), Some(10), Some(10)), Some(10)),
            ((Some(5), Some(10), Some(10)), Some(5)),
            ((Some(0), Some(10), Some(10)), Some(10)),
            ((Some(0), None, Some(200)), Some(0)),
            ((Some(30), Some(0), Some(0)), Some(30)),
        ] {
            assert_eq!(narrower(said, bound, was), limit, "{said:?} {bound:?} {was:?}");
        }
    }
}
