//! A child is to start, or has ended.

use crate::calls::decide::find;
use crate::children::pending::is_at_work;
use crate::children::share::{carve, children_left};
use crate::error::Decided;
use crate::{Call, CallState, ChildEnded, ChildStarting, Refusal, State};
use mainpath_types::{
    ChildMode, ChildOutcome, ChildPlace, HandedBack, Millis, SubTraceCompleted, SubTraceStarted, TraceId,
};

/// A child that is to start gets its id and its share, or is told why it may not.
pub(crate) fn starting(state: &State, asked: &ChildStarting) -> Decided {
    let call = find(state, asked.call)?;
    let started = state.children.of(call.id).count();
    if !is_at_work(call) || call.state != CallState::Started {
        return Err(Refusal::NotWaiting(call.id));
    }
    if usize::from(asked.nth) != started || asked.nth >= asked.of {
        return Err(Refusal::NoSuchChild(call.id, asked.nth));
    }
    let (Some(run), Some(limits)) = (&state.run, state.limits()) else { return Err(Refusal::NotRunning) };
    let refused = |why: String| {
        let handed = HandedBack { problem: Some(why), ..HandedBack::default() };
        let outcome = ChildOutcome::Failed;
        Ok(SubTraceCompleted { call: call.id, nth: asked.nth, of: asked.of, outcome, handed }.into())
    };
    if limits.children.depth == 0 {
        return refused("an agent that was started by another starts none itself".into());
    }
    if children_left(state, run, limits) == 0 {
        return refused(format!("this run has started its {} agents; do the rest yourself", limits.children.in_all));
    }
    if asked.place == ChildPlace::Alone && state.children.open().any(|child| child.place == ChildPlace::Alone) {
        let why = asked.no_copy.as_ref().map(|why| format!(", and no copy of it can be made ({why})"));
        let why = why.unwrap_or_default();
        return refused(format!(
            "another agent is changing files in this workspace{why}; wait for it, then start this one"
        ));
    }
    if asked.continues.as_ref().is_some_and(|child| state.children.open().any(|one| one.trace.as_ref() == Some(child)))
    {
        return refused("this agent is at work for another call; wait for it, then continue it".into());
    }
    let Some(share) = carve(state, run, limits, call.id, asked.of - asked.nth) else {
        return refused("nothing is left of the run's budgets to give to another agent".into());
    };
    let Some(child) = asked.continues.clone().or_else(|| child_id(state, call, asked)) else {
        return refused("its id would be too long: too many agents are above it".into());
    };
    let (nth, of, mode, place, after) = (asked.nth, asked.of, asked.mode, asked.place, asked.after);
    let (continued, task) = (asked.continues.is_some(), asked.task.clone());
    Ok(SubTraceStarted { call: call.id, nth, of, child, mode, place, continued, after, task, share }.into())
}

/// A child has ended, or could not be started.
pub(crate) fn ended(state: &State, ended: &ChildEnded) -> Decided {
    let call = find(state, ended.call)?;
    let row = state.children.get(call.id, ended.nth);
    let is_next = usize::from(ended.nth) == state.children.of(call.id).count() && ended.nth < ended.of;
    match row {
        _ if call.state.is_done() => return Err(Refusal::AlreadyResolved(call.id)),
        Some(child) if child.is_open() => {}
        None if is_next && is_at_work(call) => {}
        _ => return Err(Refusal::NoSuchChild(call.id, ended.nth)),
    }
    let of = row.map_or(ended.of, |child| child.of);
    let (outcome, handed) = (ended.outcome, ended.handed.clone());
    Ok(SubTraceCompleted { call: call.id, nth: ended.nth, of, outcome, handed }.into())
}

/// The id of a child: derived from its call, so starting it twice is starting it once.
fn child_id(state: &State, call: &Call, asked: &ChildStarting) -> Option<TraceId> {
    let first = state.children.of(call.id).next();
    let time = first.and_then(|child| time_in(child.trace.as_ref()?));
    // Calls that start in the same moment have different times in the ids of their children.
    let time = time.unwrap_or_else(|| call.started.max(state.children.latest.saturating_add(1)));
    let (parent, mode) = (&state.trace, asked.mode.name());
    let own = match asked.mode {
        ChildMode::Explore => format!("{mode}-{:03}-{time}-001", asked.nth + 1),
        ChildMode::Delegate | ChildMode::Evaluate => format!("{mode}-{time}-001"),
    };
    match &asked.host {
        None => format!("{parent}@{own}").parse().ok(),
        // There it belongs to no trace: its parent is here.
        Some(host) => TraceId::remote(host, &format!("{parent}.{own}").replace('@', ".")).ok(),
    }
}

/// The time in the id of a child.
pub(crate) fn time_in(child: &TraceId) -> Option<Millis> {
    child.as_str().rsplit('-').nth(1)?.parse().ok()
}
