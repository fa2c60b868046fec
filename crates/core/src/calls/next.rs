//! An open turn: end what will not start, end what must not go on, start what may, and close once all have ended.

use crate::calls::end::{started, unstarted};
use crate::{Call, CallState, Run, State, Turn};
use mainpath_types::{
    CallCancelling, CallDelayed, CallResolved, CancelCause, Decision, EffectClass, EventKind, Principal, RUN_SCRIPT,
    Resolution, ResolveCause, TurnFinished,
};

/// An open turn: end what will not start, end what must not go on, start what may, and close once all have ended.
pub(crate) fn in_turn(state: &State, run: &Run, turn: Turn) -> Option<EventKind> {
    let calls = state.turn_calls();
    let limits = state.limits()?;
    for call in calls.iter().filter(|call| call.state.is_unstarted()) {
        let end = |resolution, cause| Some(unstarted(call, resolution, cause).into());
        if run.closing.is_some() {
            return end(Resolution::Interrupted, ResolveCause::Closing);
        }
        if turn.last {
            return end(Resolution::Skipped, ResolveCause::LastAnswer);
        }
        if state.branch.is_some_and(|branch| !branch.lets(call)) {
            return end(Resolution::Skipped, ResolveCause::Summary);
        }
        if !state.queues.steers.is_empty() && state.branch.is_none() {
            return end(Resolution::Skipped, ResolveCause::Steer);
        }
        if call.attempt > 0 {
            continue;
        }
        if let Some(verdict) = call.verdict().filter(|verdict| verdict.decision == Decision::Deny) {
            // The arguments that an approval put in the place of the model's.
            let (reason, by) = (Some(verdict.reason.clone()), Some(Principal::rule(&verdict.rule)));
            let denied = unstarted(call, Resolution::Denied, ResolveCause::DeniedByRule);
            return Some(CallResolved { reason, by, ..denied }.into());
        }
        if limits.calls_per_turn.is_some_and(|most| u32::from(call.id.index) >= most) {
            return end(Resolution::Skipped, ResolveCause::TurnCap);
        }
        if limits.calls.is_some_and(|most| run.calls >= most) {
            return end(Resolution::Skipped, ResolveCause::CallBudget);
        }
        if is_script(call) && limits.script_runs.is_some_and(|most| scripts(run) >= most) {
            return end(Resolution::Skipped, ResolveCause::ScriptBudget);
        }
        if tool_calls_spent(state, run, call) {
            return end(Resolution::Skipped, ResolveCause::ToolCap);
        }
    }
    if run.closing.is_some()
        && let Some(call) = calls.iter().find(|call| call.state == CallState::Started)
    {
        return Some(match call.effect {
            EffectClass::AskPerson => unstarted(call, Resolution::Interrupted, ResolveCause::Stopped).into(),
            _ => CallCancelling { call: call.id, cause: CancelCause::Closing }.into(),
        });
    }
    // Read-only calls and agents run together; any other waits for all before it, and all after it wait for it.
    let (mut open, mut barrier) = (false, false);
    for call in calls.iter().filter(|call| !call.state.is_done()) {
        // Agents work side by side: where they might be in each other's way, each has a copy of the files.
        let read_only = call.effect.is_read_only() || call.effect == EffectClass::StartChild;
        let may_start = if read_only { !barrier } else { !open };
        if call.state == CallState::Ready && may_start && call.not_before == 0 {
            return Some(match call.tool.as_deref().and_then(|tool| state.wait_for(tool)) {
                Some(until) => CallDelayed { call: call.id, until }.into(),
                None => started(call).into(),
            });
        }
        open = true;
        barrier |= !read_only;
    }
    if open {
        return None;
    }
    let results = u16::try_from(calls.len()).unwrap_or(u16::MAX);
    Some(TurnFinished { seq: state.tree.next_seq(), results }.into())
}

fn is_script(call: &Call) -> bool {
    call.tool.as_deref() == Some(RUN_SCRIPT)
}

fn scripts(run: &Run) -> u32 {
    run.tool_calls.get(RUN_SCRIPT).copied().unwrap_or_default()
}

/// Whether the run has made as many calls of this call's tool as it may.
fn tool_calls_spent(state: &State, run: &Run, call: &Call) -> bool {
    let Some(tool) = call.tool.as_deref() else { return false };
    let made = run.tool_calls.get(tool).copied().unwrap_or_default();
    state.tool(tool).and_then(|tool| tool.max_calls).is_some_and(|most| made >= most)
}
