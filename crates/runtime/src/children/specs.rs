//! What child agents are.

use crate::children::ChildError;
use crate::mail::Mail;
use mainpath_store::Fut;
use mainpath_tools::{AgentCall, ProcessStop, TakeChanges, Tool};
use mainpath_types::{Access, CallId, Copied, EffectClass, Share, Spec, SubTraceCompleted, ToolSpec, TraceId};

/// Who starts a child, and what it is given.
#[derive(Clone, Copy, Debug)]
pub struct Parent<'a> {
    /// The parent's trace.
    pub trace: &'a TraceId,
    /// What the parent is.
    pub spec: &'a Spec,
    /// The run in which it starts the child, counted from 1.
    pub run: u32,
    /// What the child is given of the parent's budgets.
    pub share: &'a Share,
    /// The run of the child, counted from 1, that it is given for.
    pub child_run: u32,
    /// The folder that the child works in, where that is not its parent's.
    pub folder: Option<&'a ChildFolder>,
}

/// A copy of a parent's workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildFolder {
    /// The folder.
    pub workspace: String,
    /// Of what it is a copy.
    pub copy: Copied,
}

impl Parent<'_> {
    /// Puts the folder into a spec that the child works in.
    pub fn place(&self, child: &mut Spec) {
        if let Some(ChildFolder { workspace, copy }) = self.folder {
            child.workspace.clone_from(workspace);
            child.copy = Some(copy.clone());
        }
    }
}

/// A child that is to begin.
#[derive(Clone, Debug)]
pub struct ChildAgent {
    /// What it is.
    pub spec: Spec,
    /// What comes before its task, such as skills that are loaded from the beginning.
    pub told: Vec<Mail>,
}

/// Says what child agents are. A child never has more than its parent: fewer tools or the same, the same rules or stricter ones.
pub trait ChildSpecs: Send + Sync {
    /// What a child is. Errors: there can be none, such as when there is no preset of that name.
    fn child(&self, parent: Parent<'_>, asked: &AgentCall) -> Result<ChildAgent, ChildError>;

    /// Why there can be no such child, where that is known before it begins.
    fn problem(&self, parent: Parent<'_>, asked: &AgentCall) -> Option<ChildError> {
        // Without a preset and skills of its own it is what its parent is.
        let is_own = asked.agent_type.is_some() || asked.skills.is_some();
        if is_own { self.child(parent, asked).err() } else { None }
    }

    /// Whether a child may change files of the workspace. One that cannot be made is taken for one that may. `confined`: whether processes
    /// are held here to what their run may write.
    fn may_write(&self, parent: Parent<'_>, asked: &AgentCall, confined: bool) -> bool {
        if asked.mode.is_read_only() {
            return false;
        }
        // Without a preset it has what its parent has.
        match asked.agent_type {
            None => writes(parent.spec, confined),
            Some(_) => self.child(parent, asked).map_or(true, |agent| writes(&agent.spec, confined)),
        }
    }

    /// What a child of a call came to, counted from 0, where that is known without it: in a run that is played again. Nothing: it is begun.
    fn known(&self, _call: CallId, _nth: u16) -> Fut<'_, Option<SubTraceCompleted>> {
        Box::pin(std::future::ready(None))
    }
}

/// Whether some tool may change files, or one that a pattern lets come later.
fn writes(spec: &Spec, confined: bool) -> bool {
    use EffectClass::*;
    let is_read_only = spec.access == Access::ReadOnly;
    let may = |tool: &&ToolSpec| match tool.effect {
        // Rules deny it in such a run whoever approves it.
        LocalWrite => !is_read_only,
        ProcessControl => !(is_read_only && confined),
        UiControl | SideEffecting => true,
        ReadOnly | Idempotent | MessageSend | AskPerson | StartChild => false,
    };
    // They change nothing by themselves: what others wrote is taken, what others started is ended.
    let is_of_others = |tool: &&ToolSpec| [TakeChanges::NAME, ProcessStop::NAME].contains(&tool.name.as_str());
    let is_denied = |tool: &&ToolSpec| spec.rules.deny.contains(&tool.name);
    let mut tools = spec.tools.iter().filter(|tool| !is_of_others(tool) && !is_denied(tool));
    spec.allowed_tools.iter().any(|name| name.contains('*')) || tools.any(|tool| may(&tool))
}
