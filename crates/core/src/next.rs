//! What follows from the state alone: one event at a time, until nothing does. Budgets and stop conditions live here only.

use crate::context::{compact, cut};
use crate::decide::{abandoned, started, unstarted};
use crate::inject;
use crate::reopen;
use crate::{Call, CallState, Opening, PACK_VERSION, Run, SpecHead, State, Turn};
use mainpath_types::*;

/// The next event that the state itself demands; `None` when only the outside can go on.
pub fn next_step(state: &State) -> Option<EventKind> {
    let Some(run) = &state.run else { return between_runs(state) };
    if let Some(model) = &state.model {
        return run.closing.map(|_| abandoned(state, model, false).into());
    }
    match state.turn {
        Some(turn) => in_turn(state, run, turn),
        None => at_boundary(state, run),
    }
}

fn between_runs(state: &State) -> Option<EventKind> {
    if state.clearing {
        return Some(crate::clear::cleared(state));
    }
    if let Some(rewind) = &state.rewind {
        let head = state.tree.rewind_point(rewind.after, rewind.message.is_none());
        return Some(Rewound { asked: rewind.after, head, goal_tree_snapshot: state.goals.list().to_vec() }.into());
    }
    let reopens = !state.reopened.is_empty();
    let cause = match state.opening {
        Some(Opening::Message(_)) => RunCause::Rewind,
        Some(Opening::Again) => RunCause::Regenerate,
        Some(Opening::GoOn) => RunCause::Continue,
        None if reopens => RunCause::Continue,
        None if state.queues.is_empty() || state.queues.held => {
            state.compaction.filter(|_| state.tree.head.is_some())?;
            RunCause::Compact
        }
        None if state.tree.head.is_none() => RunCause::New,
        None => RunCause::Continue,
    };
    let spec = state.coming_spec()?.event;
    Some(RunStarted { run: state.runs.saturating_add(1), cause, spec }.into())
}

/// An open turn: end what will not start, end what must not go on, start what may, and close once all have ended.
fn in_turn(state: &State, run: &Run, turn: Turn) -> Option<EventKind> {
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
    // Read-only calls run together; any other waits for all before it, and all after it wait for it.
    let (mut open, mut barrier) = (false, false);
    for call in calls.iter().filter(|call| !call.state.is_done()) {
        let read_only = call.effect.is_read_only();
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

/// Whether the run has made as many calls of this call's tool as it may.
fn tool_calls_spent(state: &State, run: &Run, call: &Call) -> bool {
    let Some(tool) = call.tool.as_deref() else { return false };
    let made = run.tool_calls.get(tool).copied().unwrap_or_default();
    state.tool(tool).and_then(|tool| tool.max_calls).is_some_and(|most| made >= most)
}

/// Between two turns, in this order: frames, the end of the run, what was said, the limits, the context, the request.
fn at_boundary(state: &State, run: &Run) -> Option<EventKind> {
    if let Some(branch) = &state.branch {
        // What a model has summarised by then was paid for.
        let paid = run.closing.is_some() && branch.kind == BranchKind::Compaction && !branch.done && !branch.failed;
        if let Some(summarised) =
            state.coming_spec().filter(|_| paid).and_then(|spec| compact::summarised(state, spec, None))
        {
            return Some(summarised);
        }
        if run.closing.is_some() && !branch.done || branch.failed {
            return Some(BranchClosed { kind: branch.kind, done: false }.into());
        }
        if branch.done {
            return Some(BranchClosed { kind: branch.kind, done: true }.into());
        }
    }
    if let Some(reason) = run.closing {
        return Some(finish(run, reason));
    }
    if run.retry_at.is_some() {
        return None;
    }
    let spec = state.coming_spec()?;
    if let Some(branch) = &state.branch {
        if branch.is_by_rules() {
            return None;
        }
        if branch.result.is_some() {
            return compact::summarised(state, spec, None);
        }
        if branch.rounds >= 5 {
            return Some(BranchClosed { kind: branch.kind, done: false }.into());
        }
        if let Some(end) = stuck(run, spec).filter(|_| branch.kind == BranchKind::Aside) {
            return Some(end);
        }
        if let Some(end) = budget(state, run, spec) {
            return Some(end);
        }
        // What was said on it has outgrown the window: the model would refuse.
        let has_reflected = branch.by == SummaryMode::Agent && !branch.reflects;
        let summarises = branch.kind == BranchKind::Compaction && (branch.rounds > 0 || has_reflected);
        let added = branch.kind == BranchKind::Aside || summarises;
        if added && !cut::fits(state, spec) {
            return Some(BranchClosed { kind: branch.kind, done: false }.into());
        }
        return Some(request(state, spec, None));
    }
    if run.cause == RunCause::Compact && state.compaction.is_none() && run.summary_next.is_none() {
        // As the run before it, unless what was taken in since wants an answer.
        let ended = state.finished.filter(|reason| *reason != FinishReason::Final || state.tree.is_answered());
        return Some(finish(run, ended.unwrap_or(FinishReason::Stopped)));
    }
    if run.cause == RunCause::Compact {
        return cut::due(state, run, spec);
    }
    if let Some(reopened) = reopen::due(state) {
        return Some(reopened);
    }
    if let Some(Opening::Message(message)) = run.opening {
        return Some(MessageJoined { of: message.event, seq: state.tree.next_seq() }.into());
    }
    if let Some(steer) = state.queues.steers.front() {
        return Some(MessageJoined { of: steer.event, seq: state.tree.next_seq() }.into());
    }
    if let Some(reason) = run.last_answer.filter(|_| !run.asking) {
        return Some(closing(reason));
    }
    if let Some(reason) = run.answered {
        return Some(finish(run, reason));
    }
    let limits = &spec.limits;
    if let Some(end) = stuck(run, spec) {
        return Some(end);
    }
    if run.calls_spent {
        return Some(closing(FinishReason::MaxToolCalls));
    }
    if limits.turns.is_some_and(|most| run.turns >= most) && !run.asking {
        return Some(closing(FinishReason::MaxTurns));
    }
    if inject::is_due(state, run, spec) {
        // The hooks have their word first: see `pending`.
        return (!spec.has_context_hooks).then(|| inject::injected(state, run, spec, &[]).into());
    }
    if let Some(cut) = cut::due(state, run, spec) {
        return Some(cut);
    }
    Some(budget(state, run, spec).unwrap_or_else(|| request(state, spec, None)))
}

fn closing(reason: FinishReason) -> EventKind {
    RunClosing { reason, by: None, why: None }.into()
}

/// The end of a run that gets nowhere.
fn stuck(run: &Run, spec: &SpecHead) -> Option<EventKind> {
    let why = run.progress.stuck(spec.limits.repeated_failures)?;
    Some(RunClosing { reason: FinishReason::RepeatedFailure, by: None, why: Some(why) }.into())
}

fn finish(run: &Run, reason: FinishReason) -> EventKind {
    let (turns, calls, Spent { usage, cost, about }) = (run.turns, run.calls, run.spent);
    RunFinished { run: run.number, reason, turns, calls, usage, cost, about }.into()
}

/// What a request would use at most: tokens and money.
fn reserve(state: &State, spec: &SpecHead) -> (u32, u64, Micros) {
    let model = spec.model();
    let input = model.scale.real(state.request_tokens());
    let output = u64::from(model.reserved_output);
    let cost = model.price.cost(&Usage { input, output, ..Usage::default() });
    (u32::try_from(input).unwrap_or(u32::MAX), input.saturating_add(output), cost)
}

/// The end, or the request for a last answer, that a spent budget calls for.
fn budget(state: &State, run: &Run, spec: &SpecHead) -> Option<EventKind> {
    let (limits, (_, tokens, cost)) = (&spec.limits, reserve(state, spec));
    let soft = limits.budget == BudgetMode::Soft;
    // A soft budget may be overrun by what is under way; a hard one is never.
    let (more_tokens, more_cost) = if soft { (1, 1) } else { (tokens, cost) };
    let reason = if limits.tokens.is_some_and(|most| run.usage.total().saturating_add(more_tokens) > most) {
        FinishReason::TokenBudget
    } else if limits.money.is_some_and(|most| run.cost.saturating_add(more_cost) > most) {
        FinishReason::MoneyBudget
    } else {
        return None;
    };
    let may_ask = soft && state.branch.is_none() && run.turns > 0;
    Some(if may_ask { request(state, spec, Some(reason)) } else { closing(reason) })
}

fn request(state: &State, spec: &SpecHead, last: Option<FinishReason>) -> EventKind {
    let (input, reserve, reserve_cost) = reserve(state, spec);
    let (request, head) = (state.requests.saturating_add(1), state.tip());
    let minimal = state.run.as_ref().is_some_and(|run| run.remedy == Some(Remedy::Minimal));
    let standing = inject::standing(state, spec).filter(|_| !minimal);
    let purpose = state.branch.map(|branch| match branch.kind {
        BranchKind::Compaction if branch.reflects => Purpose::Reflection,
        BranchKind::Compaction => Purpose::Summary,
        BranchKind::Repair => Purpose::Repair,
        BranchKind::Aside => Purpose::LookBack,
    });
    let pack = PACK_VERSION;
    ModelRequested { request, head, pack, input, reserve, reserve_cost, last, minimal, standing, purpose }.into()
}
