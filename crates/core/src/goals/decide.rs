//! What people and hooks say about the plan.

use crate::error::Decided;
use crate::goals::reminders;
use crate::next::asks_hooks;
use crate::{Refusal, State};
use mainpath_types::{GoalOp, GoalsChanged, HookText, Principal};

pub(crate) fn change(state: &State, ops: &[GoalOp], by: &Principal) -> Decided {
    if ops.is_empty() {
        return Err(Refusal::BadGoal("nothing is to be changed".into()));
    }
    state.goals.clone().change_all(ops, state.tree.head)?;
    Ok(GoalsChanged { ops: ops.to_vec(), by: by.clone() }.into())
}

pub(crate) fn hooks_said(state: &State, turn: u32, texts: &[HookText]) -> Decided {
    match (&state.run, state.coming_spec()) {
        (Some(run), Some(spec)) if turn == state.counts.turns && asks_hooks(state) => {
            Ok(reminders::injected(state, run, spec, texts).into())
        }
        _ => Err(Refusal::NoHooks(turn)),
    }
}
