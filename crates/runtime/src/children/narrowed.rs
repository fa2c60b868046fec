//! A child without presets: its parent, narrowed to what it is for.

use super::error::ChildError;
use super::specs::{ChildAgent, ChildSpecs, Parent};
use mainpath_tools::{AgentCall, TakeChanges, Tool};
use mainpath_types::{ChildLimits, ChildMode, EffectClass, Limits, Relations, Spec};

/// Children are as their parent, without its budgets, and without what changes anything where they only look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Narrowed;

/// The turns that a child has, by what it is for.
fn turns(mode: ChildMode) -> u32 {
    match mode {
        ChildMode::Delegate => 30,
        ChildMode::Explore | ChildMode::Evaluate => 15,
    }
}

/// What an agent that judges is told.
const JUDGE: &str = "You judge whether a goal was reached. Look for yourself where you can, change nothing, and say first whether it was \
                     reached, then what is missing and what would help.";

/// What an agent that looks into something is told.
const LOOK: &str = "You look into one question for another agent and change nothing. Answer with what you found, where you found it, and \
                    what you could not find out.";

impl ChildSpecs for Narrowed {
    fn child(&self, parent: Parent<'_>, asked: &AgentCall) -> Result<ChildAgent, ChildError> {
        if let Some(preset) = asked.agent_type.as_deref().filter(|preset| *preset != "default") {
            return Err(ChildError::NoPreset(preset.into()));
        }
        if asked.skills.as_ref().is_some_and(|skills| !skills.is_empty()) {
            return Err(ChildError::NoSkills);
        }
        let Parent { trace, spec, run, share, child_run, .. } = parent;
        let mut child = Spec {
            mode: spec.mode_in(run),
            mode_for: Some(child_run),
            name: None,
            output_schema: None,
            relations: Relations {
                agent_type: Some(asked.mode.name().into()),
                parent_trace: Some(trace.clone()),
                ..Relations::default()
            },
            ..spec.clone()
        };
        parent.place(&mut child);
        child.tools.retain(|tool| match tool.effect {
            EffectClass::StartChild => share.depth > 0,
            _ if tool.name == TakeChanges::NAME => share.depth > 0 && !asked.mode.is_read_only(),
            effect => !asked.mode.is_read_only() || effect.is_read_only() || tool.name == "goal",
        });
        let task = match asked.mode {
            ChildMode::Delegate => "",
            ChildMode::Explore => LOOK,
            ChildMode::Evaluate => JUDGE,
        };
        if !task.is_empty() {
            child.instructions = format!("{}\n\n{task}", child.instructions).trim_start().into();
        }
        child.limits = Limits {
            turns: Some(turns(asked.mode).min(spec.limits.turns.unwrap_or(u32::MAX))),
            tokens: share.tokens,
            money: share.money,
            calls: share.calls,
            run_timeout_ms: share.time_ms,
            children: ChildLimits { depth: share.depth, in_all: share.children, ..spec.limits.children },
            ..spec.limits.clone()
        };
        Ok(ChildAgent { spec: child, told: Vec::new() })
    }
}
