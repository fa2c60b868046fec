//! The skills of a spec: which it may use, and the tools and the words for them.

use super::offer::{held_to, without_denied};
use super::options::AgentOptions;
use super::spec_inputs::SpecInputs;
use crate::skills::{SKILL_TOOLS, tell};
use mainpath_policy::Policy;
use mainpath_types::{FIND_SKILL, LOAD_RESOURCE, RUN_SCRIPT, SELECT_SKILLS, Spec, ToolSpec};

/// The skills that the caller names; if it names none, those of its preset, where there are skills at all.
pub(super) fn set_skills(spec: &mut Spec, given: &AgentOptions, inputs: SpecInputs<'_>) {
    let of_preset = given.preset.as_ref().and_then(|preset| preset.skills.as_ref()).filter(|_| inputs.skills.is_some());
    if let Some(names) = given.skills.as_ref().or(of_preset) {
        let mut only = names.clone();
        only.dedup();
        spec.skills.off = only.is_empty();
        spec.skills.only = Some(only).filter(|only| !only.is_empty());
    }
}

/// Tells of the skills that there are to an agent that keeps the tools that it has. Gives the part of the system text.
pub(super) fn tell_skills(spec: &mut Spec, inputs: SpecInputs<'_>) -> String {
    let told = tell(spec, inputs.skills, inputs.tools);
    if !told.has_skills {
        spec.tools.retain(|tool| !SKILL_TOOLS.contains(&tool.name.as_str()));
    }
    if selects(spec) { told.text } else { String::new() }
}

/// A list that nothing can be selected from only takes room.
fn selects(spec: &Spec) -> bool {
    spec.tools.iter().any(|tool| tool.name == SELECT_SKILLS)
}

/// Tells of the skills that there are, and offers the tools for them where there is one to use. Gives the part of the system text.
pub(super) fn offer_skills(spec: &mut Spec, inputs: SpecInputs<'_>, policy: &Policy) -> String {
    let told = tell(spec, inputs.skills, inputs.tools);
    let is_one = |tool: &str| SKILL_TOOLS.contains(&tool);
    let before: Vec<ToolSpec> = spec.tools.iter().filter(|tool| is_one(&tool.name)).cloned().collect();
    spec.tools.retain(|tool| !is_one(&tool.name));
    if !told.has_skills {
        return told.text;
    }
    let mut now = held_to(&spec.allowed_tools, inputs.tools);
    now.retain(|tool| is_one(&tool.name));
    now.retain(|tool| match tool.name.as_str() {
        FIND_SKILL => told.is_searched,
        LOAD_RESOURCE | RUN_SCRIPT => told.has_files,
        _ => true,
    });
    // Limits that were set on them stay.
    let limited = |tool: ToolSpec| before.iter().find(|known| known.name == tool.name).cloned().unwrap_or(tool);
    spec.tools.extend(now.into_iter().map(limited));
    spec.tools.sort_by(|one, other| one.name.cmp(&other.name));
    without_denied(spec, policy);
    if selects(spec) { told.text } else { String::new() }
}
