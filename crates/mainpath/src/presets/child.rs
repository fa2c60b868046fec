//! What a child of an agent is: its parent, narrowed by a preset.

use super::apply::narrower;
use super::preset::Preset;
use crate::Error;
use crate::agent::{SpecInputs, with_model, with_words};
use mainpath_policy::{Folders, Policy, ToolNames};
use mainpath_runtime::{is_look_back, look_back_tools};
use mainpath_types::{ApprovalMode, Decision, Limits, Relations, RunMode, SkillTerms, Spec};

impl Preset {
    /// The spec of a child that an agent starts in its run of this number, counted from 1: never more tools, rules, access, secrets or
    /// limits than its parent has. What it belongs to is the caller's to say. Errors: the preset's model has no known price, and its
    /// parent has a limit in money.
    pub(crate) fn child(&self, parent: &Spec, run: u32, inputs: SpecInputs<'_>) -> Result<Spec, Error> {
        let known: Vec<&str> = parent.tools.iter().map(|tool| tool.name.as_str()).collect();
        let tools = self.tools_within(&parent.allowed_tools, &known);
        let reasons = inputs.models.facts(&parent.model).abilities.reasoning;
        let mut child = Spec {
            name: None,
            run_mode: RunMode::default(),
            output_schema: None,
            mode: parent.mode_in(run),
            // What its owner allowed for one run is for this one.
            mode_for: parent.mode_for.filter(|_| parent.mode_in(run) != ApprovalMode::Ask).map(|_| 1),
            rules: parent.rules.clone().with(&self.rules()),
            effort: self.effort.or(parent.effort),
            // Models that reason refuse any other than their own: only who said so to the parent has one.
            temperature: self.temperature.filter(|_| !reasons).or(parent.temperature),
            preset: Some(self.applied()),
            relations: Relations { agent_type: Some(self.name.clone()), ..Relations::default() },
            ..parent.clone()
        };
        narrow(&mut child.limits, self);
        narrow_skills(&mut child.skills, self);
        if parent.run_mode == RunMode::Call {
            child.tools.clear();
        }
        if let Some(allowed) = tools {
            let names: Vec<ToolNames> = allowed.iter().filter_map(|names| names.parse().ok()).collect();
            let reads_back = || look_back_tools().map(String::from).collect();
            child.tools.retain(|tool| is_look_back(&tool.name) || names.iter().any(|names| names.matches(&tool.name)));
            child.allowed_tools = if allowed.is_empty() { reads_back() } else { allowed };
        }
        let mut denies = Policy::new(Folders::default());
        self.denied_tools.iter().try_for_each(|rule| denies.add_rule(Decision::Deny, rule))?;
        child.tools.retain(|tool| !denies.denies_all_of(&tool.name, tool.effect));
        if let Some(model) = &self.model {
            with_model(&mut child, model.clone(), self, inputs)?;
        }
        with_words(&mut child, inputs)?;
        Ok(child)
    }
}

/// Holds a child to the skills of its preset, among those that its parent may use.
fn narrow_skills(terms: &mut SkillTerms, preset: &Preset) {
    let Some(names) = &preset.skills else { return };
    let bounds = terms.only.take();
    let fits = |name: &&String| bounds.as_ref().is_none_or(|bounds| bounds.contains(name));
    let only: Vec<String> = names.iter().filter(fits).cloned().collect();
    terms.off |= only.is_empty();
    terms.only = Some(only).filter(|only| !only.is_empty());
}

/// Holds a child's limits to its preset's, which never widen those of its parent.
fn narrow(limits: &mut Limits, preset: &Preset) {
    let said = preset.limits;
    limits.turns = narrower(said.turns, limits.turns, limits.turns);
    limits.calls = narrower(said.calls, limits.calls, limits.calls);
    limits.tokens = narrower(said.tokens, limits.tokens, limits.tokens);
    limits.money = narrower(said.money, limits.money, limits.money);
    limits.run_timeout_ms = narrower(said.time_ms, limits.run_timeout_ms, limits.run_timeout_ms);
    *limits = std::mem::take(limits).without_zeros();
}
