//! What follows from the state alone: one event at a time, until nothing does. Budgets and stop conditions live here only.

use crate::calls::{next as open_turn, reopen};
use crate::context::{compact, due};
use crate::conversation::clear;
use crate::goals::reminders;
use crate::model::budget::{budget, closing, request};
use crate::model::cost::abandoned;
use crate::{Opening, Run, SpecHead, State};
use mainpath_types::{
    BranchClosed, BranchKind, EventKind, FinishReason, MessageJoined, Rewound, RunCause, RunClosing, RunFinished,
    RunStarted, Spent, SummaryMode,
};

/// So many requests a side branch may take.
const MOST_ROUNDS: u32 = 5;

/// The next event that the state itself demands; `None` when only the outside can go on.
pub fn next_step(state: &State) -> Option<EventKind> {
    let Some(run) = &state.run else { return between_runs(state) };
    if let Some(model) = &state.model {
        return run.closing.map(|_| abandoned(state, model, false).into());
    }
    match state.turn {
        Some(turn) => open_turn::in_turn(state, run, turn),
        None => at_boundary(state, run),
    }
}

fn between_runs(state: &State) -> Option<EventKind> {
    if state.between_runs.clearing {
        return Some(clear::cleared(state));
    }
    if let Some(rewind) = &state.between_runs.rewind {
        let head = state.tree.rewind_point(rewind.after, rewind.message.is_none());
        return Some(Rewound { asked: rewind.after, head, goal_tree_snapshot: state.goals.list().to_vec() }.into());
    }
    let reopens = !state.approvals.reopened.is_empty();
    let cause = match state.between_runs.opening {
        Some(Opening::Message(_)) => RunCause::Rewind,
        Some(Opening::Again) => RunCause::Regenerate,
        Some(Opening::GoOn) => RunCause::Continue,
        None if reopens => RunCause::Continue,
        None if state.queues.is_empty() || state.queues.held => {
            state.context.compaction.filter(|_| state.tree.head.is_some())?;
            RunCause::Compact
        }
        None if state.tree.head.is_none() => RunCause::New,
        None => RunCause::Continue,
    };
    let spec = state.coming_spec()?.event;
    Some(RunStarted { run: state.counts.runs.saturating_add(1), cause, spec }.into())
}

/// Between two turns the steps of these ladders are tried from the top, and the first that has something to say decides. **Their order
/// is the semantics**: what people want goes before what is left of a budget, and a request to the model is made when nothing else is due.
///
/// | ladder | step | says |
/// |---|---|---|
/// | [`CLOSING`] | `close_branch` | a side branch that is done, has failed or may not go on ends; a paid summary is kept |
/// | | `finish_closing` | a run that was to end ends |
/// | | `await_retry` | after a failed request nothing happens before its time |
/// | [`ON_BRANCH`] | `await_rules` | a summary by rules is the caller's to make |
/// | | `take_summary` | the model has summarised: that becomes the summary |
/// | | `give_up_branch` | after five rounds the branch ends without a result |
/// | | `stop_stuck_aside` | looking back again and again ends the run |
/// | | `stop_at_budget` | a spent budget ends the run |
/// | | `leave_full_branch` | what was said on it has outgrown the window |
/// | | `ask_model` | the model is asked |
/// | [`ON_PATH`] | `finish_summary_run` | a run that was only to summarise has done so |
/// | | `summarise_only` | or does so now, and asks nothing else |
/// | | `make_approved_call` | a denied call that somebody approved is made first |
/// | | `take_skill` | a selected skill joins, before what is said next |
/// | | `take_opening` | what the run opens with joins |
/// | | `take_steer` | what somebody said meanwhile joins |
/// | | `close_after_last_answer` | the last answer that a soft budget allowed has come |
/// | | `finish_answered` | the model has given its final answer |
/// | | `stop_stuck` | the run gets nowhere |
/// | | `stop_at_calls` | its calls, or its runs of scripts, are spent |
/// | | `stop_at_turns` | its turns are spent |
/// | | `remind` | the model is reminded of its plan; hooks are asked first |
/// | | `make_room` | the request would not fit: something is left out, or summarised |
/// | | `stop_at_budget` | tokens or money are spent |
/// | | `ask_model` | the model is asked |
fn at_boundary(state: &State, run: &Run) -> Option<EventKind> {
    if let Some(decided) = CLOSING.iter().find_map(|step| step(state, run)) {
        return decided.into();
    }
    let at = Boundary { state, run, spec: state.coming_spec()? };
    let ladder = if state.branch.is_some() { ON_BRANCH } else { ON_PATH };
    ladder.iter().find_map(|step| step(&at))?.into()
}

/// What a step says: the next event, or that only the outside can go on.
#[expect(clippy::large_enum_variant, reason = "it lives for one decision")]
enum Next {
    Event(EventKind),
    Wait,
}

impl From<Next> for Option<EventKind> {
    fn from(next: Next) -> Option<EventKind> {
        match next {
            Next::Event(kind) => Some(kind),
            Next::Wait => None,
        }
    }
}

fn event(kind: impl Into<EventKind>) -> Option<Next> {
    Some(Next::Event(kind.into()))
}

/// A run between two of its turns.
struct Boundary<'a> {
    state: &'a State,
    run: &'a Run,
    /// What the next request is made under.
    spec: &'a SpecHead,
}

type Step = fn(&Boundary<'_>) -> Option<Next>;

const CLOSING: &[fn(&State, &Run) -> Option<Next>] = &[close_branch, finish_closing, await_retry];

const ON_BRANCH: &[Step] =
    &[await_rules, take_summary, give_up_branch, stop_stuck_aside, stop_at_budget, leave_full_branch, ask_model];

const ON_PATH: &[Step] = &[
    finish_summary_run,
    summarise_only,
    make_approved_call,
    take_skill,
    take_opening,
    take_steer,
    close_after_last_answer,
    finish_answered,
    stop_stuck,
    stop_at_calls,
    stop_at_turns,
    remind,
    make_room,
    stop_at_budget,
    ask_model,
];

fn close_branch(state: &State, run: &Run) -> Option<Next> {
    let branch = state.branch?;
    let closes = run.closing.is_some();
    // What a model has summarised by then was paid for.
    let paid = closes && branch.kind == BranchKind::Compaction && !branch.done && !branch.failed;
    let spec = state.coming_spec().filter(|_| paid);
    if let Some(summarised) = spec.and_then(|spec| compact::summarised(state, spec, None)) {
        return event(summarised);
    }
    let gives_up = closes && !branch.done || branch.failed;
    (gives_up || branch.done).then(|| Next::Event(BranchClosed { kind: branch.kind, done: !gives_up }.into()))
}

fn finish_closing(_: &State, run: &Run) -> Option<Next> {
    event(finish(run, run.closing?))
}

fn await_retry(_: &State, run: &Run) -> Option<Next> {
    run.retry_at.map(|_| Next::Wait)
}

fn await_rules(at: &Boundary<'_>) -> Option<Next> {
    at.state.branch?.is_by_rules().then_some(Next::Wait)
}

fn take_summary(at: &Boundary<'_>) -> Option<Next> {
    at.state.branch?.result?;
    Some(compact::summarised(at.state, at.spec, None).map_or(Next::Wait, Next::Event))
}

fn give_up_branch(at: &Boundary<'_>) -> Option<Next> {
    let branch = at.state.branch.filter(|branch| branch.rounds >= MOST_ROUNDS)?;
    event(BranchClosed { kind: branch.kind, done: false })
}

fn stop_stuck_aside(at: &Boundary<'_>) -> Option<Next> {
    at.state.branch.filter(|branch| branch.kind == BranchKind::Aside)?;
    stop_stuck(at)
}

fn leave_full_branch(at: &Boundary<'_>) -> Option<Next> {
    let branch = at.state.branch?;
    let has_reflected = branch.by == SummaryMode::Agent && !branch.reflects;
    let summarises = branch.kind == BranchKind::Compaction && (branch.rounds > 0 || has_reflected);
    let has_grown = branch.kind == BranchKind::Aside || summarises;
    // The model would refuse.
    let refused = has_grown && !due::fits(at.state, at.spec);
    refused.then(|| Next::Event(BranchClosed { kind: branch.kind, done: false }.into()))
}

fn finish_summary_run(at: &Boundary<'_>) -> Option<Next> {
    let Boundary { state, run, .. } = at;
    if run.cause != RunCause::Compact || state.context.compaction.is_some() || run.summary_next.is_some() {
        return None;
    }
    // As the run before it, unless what was taken in since wants an answer.
    let ended = state.ended.reason.filter(|reason| *reason != FinishReason::Final || state.tree.is_answered());
    event(finish(run, ended.unwrap_or(FinishReason::Stopped)))
}

fn summarise_only(at: &Boundary<'_>) -> Option<Next> {
    let summarises = at.run.cause == RunCause::Compact;
    summarises.then(|| due::due(at.state, at.run, at.spec).map_or(Next::Wait, Next::Event))
}

fn make_approved_call(at: &Boundary<'_>) -> Option<Next> {
    reopen::due(at.state).map(Next::Event)
}

/// After a final answer it waits for what is said next: alone it asks nothing.
fn take_skill(at: &Boundary<'_>) -> Option<Next> {
    let Boundary { state, run, .. } = at;
    let is_asked = run.answered.is_none() || !state.queues.steers.is_empty();
    let row = state.skills.waiting().filter(|_| is_asked)?;
    event(MessageJoined { of: row.event, seq: state.tree.next_seq() })
}

fn take_opening(at: &Boundary<'_>) -> Option<Next> {
    let Some(Opening::Message(message)) = at.run.opening else { return None };
    event(MessageJoined { of: message.event, seq: at.state.tree.next_seq() })
}

fn take_steer(at: &Boundary<'_>) -> Option<Next> {
    let steer = at.state.queues.steers.front()?;
    event(MessageJoined { of: steer.event, seq: at.state.tree.next_seq() })
}

fn close_after_last_answer(at: &Boundary<'_>) -> Option<Next> {
    event(closing(at.run.last_answer.filter(|_| !at.run.asking)?))
}

fn finish_answered(at: &Boundary<'_>) -> Option<Next> {
    event(finish(at.run, at.run.answered?))
}

fn stop_stuck(at: &Boundary<'_>) -> Option<Next> {
    let why = at.run.progress.stuck(at.spec.limits.repeated_failures)?;
    event(RunClosing { reason: FinishReason::RepeatedFailure, by: None, why: Some(why) })
}

fn stop_at_calls(at: &Boundary<'_>) -> Option<Next> {
    let reason = match at.run {
        Run { calls_spent: true, .. } => FinishReason::MaxToolCalls,
        Run { scripts_spent: true, .. } => FinishReason::MaxScriptRuns,
        _ => return None,
    };
    event(closing(reason))
}

fn stop_at_turns(at: &Boundary<'_>) -> Option<Next> {
    let most = at.spec.limits.turns.filter(|_| !at.run.asking)?;
    (at.run.turns >= most).then(|| Next::Event(closing(FinishReason::MaxTurns)))
}

fn remind(at: &Boundary<'_>) -> Option<Next> {
    let Boundary { state, run, spec } = at;
    let due = reminders::is_due(state, run, spec);
    due.then(|| match spec.has_context_hooks {
        true => Next::Wait,
        false => Next::Event(reminders::injected(state, run, spec, &[]).into()),
    })
}

fn make_room(at: &Boundary<'_>) -> Option<Next> {
    due::due(at.state, at.run, at.spec).map(Next::Event)
}

fn stop_at_budget(at: &Boundary<'_>) -> Option<Next> {
    budget(at.state, at.run, at.spec).map(Next::Event)
}

fn ask_model(at: &Boundary<'_>) -> Option<Next> {
    event(request(at.state, at.spec, None))
}

/// Whether the owner's hooks are asked now what they have to say: it is time to remind the model, and nothing else is to be done first.
pub(crate) fn asks_hooks(state: &State) -> bool {
    let (Some(run), Some(spec)) = (&state.run, state.coming_spec()) else { return false };
    let due = spec.has_context_hooks && run.retry_at.is_none() && reminders::is_due(state, run, spec);
    due && next_step(state).is_none()
}

fn finish(run: &Run, reason: FinishReason) -> EventKind {
    let (turns, calls, Spent { usage, cost, about }) = (run.turns, run.calls, run.spent);
    RunFinished { run: run.number, reason, turns, calls, usage, cost, about }.into()
}
