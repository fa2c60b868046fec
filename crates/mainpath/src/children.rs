//! What the agents are that agents of a host start: their parents, held to what they are for, and narrowed by a preset.

use crate::Home;
use crate::agent::SpecInputs;
use crate::presets::host::presets_in;
use crate::presets::{Preset, PresetLimits};
use crate::skills::{Shelf, preloads};
use mainpath_runtime::{ChildAgent, ChildError, ChildSpecs, EnvModels, Parent};
use mainpath_tools::{AgentCall, TakeChanges, Tool, Tools};
use mainpath_types::{ApprovalMode, ChildLimits, ChildMode, EffectClass, Limits, Relations, Spec};
use std::path::Path;
use std::sync::Arc;

/// The turns of a child that is as its parent.
const TURNS: u32 = 30;
/// What changes no file and nothing outside, whatever its effect is called.
const PLAN: &str = "goal";

/// What children are made from.
pub(crate) struct ChildSpecFactory {
    /// The configuration, and where presets are.
    pub home: Arc<Home>,
    /// The tools.
    pub tools: Tools,
    /// The models.
    pub models: Arc<EnvModels>,
    /// The skills.
    pub shelf: Option<Shelf>,
}

impl ChildSpecs for ChildSpecFactory {
    fn child(&self, parent: Parent<'_>, asked: &AgentCall) -> Result<ChildAgent, ChildError> {
        let Parent { trace, spec, run, .. } = parent;
        let preset = self.preset(asked, spec)?;
        let inputs = SpecInputs {
            home: &self.home,
            tools: &self.tools,
            skills: self.shelf.as_ref(),
            models: self.models.registry(),
            rules: &spec.rules,
            keys: &self.models,
        };
        let mut child = preset.child(&bounded(&parent, asked.mode), run, inputs).map_err(ChildError::host)?;
        if asked.agent_type.is_none() && asked.mode == ChildMode::Delegate {
            // It is as its parent: it keeps its parent's preset, if that has one.
            child.preset.clone_from(&spec.preset);
            crate::agent::with_words(&mut child, inputs).map_err(ChildError::host)?;
        }
        if let Some(name) = asked.skills.iter().flatten().find(|name| !has_skill(&child, name)) {
            return Err(ChildError::host(format!("the skill {name} is not among those that this agent may use")));
        }
        child.mode_for = child.mode_for.filter(|_| child.mode != ApprovalMode::Ask).map(|_| parent.child_run);
        child.relations = Relations {
            agent_type: Some(asked.agent_type.clone().unwrap_or_else(|| asked.mode.name().into())),
            parent_trace: Some(trace.clone()),
            ..Relations::default()
        };
        let told = preloads(&child, self.shelf.as_ref()).map_err(ChildError::host)?;
        Ok(ChildAgent { spec: child, told })
    }
}

impl ChildSpecFactory {
    /// The preset of a child: the one that is named; else one that is for what the child is for.
    fn preset(&self, asked: &AgentCall, parent: &Spec) -> Result<Preset, ChildError> {
        let usual = match asked.mode {
            ChildMode::Delegate => None,
            ChildMode::Explore => Some("explore"),
            ChildMode::Evaluate => Some("evaluate"),
        };
        let mut preset = match asked.agent_type.as_deref().or(usual) {
            Some(name) => {
                let found = presets_in(Path::new(parent.source()), &self.home, &self.tools, &self.models);
                let found = found.map_err(ChildError::host)?;
                found.choose(name).map_err(ChildError::host)?.clone()
            }
            None => {
                let limits = PresetLimits { turns: Some(TURNS), ..PresetLimits::default() };
                Preset { limits, ..Preset::default() }
            }
        };
        if asked.skills.is_some() {
            preset.skills.clone_from(&asked.skills);
        } else if asked.agent_type.is_none() {
            // What its parent may use it may use, and it selects itself.
            preset.skills = None;
        }
        Ok(preset)
    }
}

/// Its parent, held to the share and to what the child is for.
fn bounded(parent: &Parent<'_>, mode: ChildMode) -> Spec {
    let Parent { spec, share, .. } = parent;
    let mut bounded = Spec { limits: within(&spec.limits, parent), ..(*spec).clone() };
    parent.place(&mut bounded);
    bounded.tools.retain(|tool| match tool.effect {
        EffectClass::StartChild => share.depth > 0,
        _ if tool.name == TakeChanges::NAME => share.depth > 0 && !mode.is_read_only(),
        effect => !mode.is_read_only() || effect.is_read_only() || tool.name == PLAN,
    });
    bounded
}

fn within(limits: &Limits, parent: &Parent<'_>) -> Limits {
    let share = parent.share;
    Limits {
        tokens: share.tokens,
        money: share.money,
        calls: share.calls,
        run_timeout_ms: share.time_ms,
        children: ChildLimits { depth: share.depth, in_all: share.children, ..limits.children },
        ..limits.clone()
    }
}

fn has_skill(child: &Spec, name: &str) -> bool {
    !child.skills.off && child.skills.only.as_ref().is_none_or(|only| only.iter().any(|known| known == name))
}
