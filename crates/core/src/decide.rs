//! From a state and an input to the one event that it decides, or a refusal. What follows is `next_step`'s.

use crate::apply::note_tokens;
use crate::context::{aside, compact, cut};
use crate::inject;
use crate::input::*;
use crate::progress::{Outcome, made, output_result, text_result};
use crate::reopen;
use crate::{Call, CallState, EffectKey, ModelCall, NodeKind, Refusal, State, TimerKey, estimate, estimate_parts};
use mainpath_types::*;

type Decided = Result<EventKind, Refusal>;

/// The events that an input decides: one, but for `Recovered`, which heals every row for itself. The pieces of an answer
/// that is still coming decide none; they never get here.
pub fn decide(state: &State, at: Millis, input: &InputKind) -> Result<Vec<EventKind>, Refusal> {
    let decided = match input {
        InputKind::SetSpec { spec, by } => Ok(SpecChanged { spec: spec.clone(), by: by.clone() }.into()),
        InputKind::UserMessage(message) => self::message(state, message),
        InputKind::Continue { by } => go_on(state, by),
        InputKind::Rewind(asked) => rewind(state, asked),
        InputKind::RestoreFiles { changes, .. } | InputKind::KeepFiles { changes, .. } if changes.is_empty() => {
            Err(Refusal::Empty)
        }
        InputKind::KeepFiles { call, attempt, changes } => running(state, *call, *attempt)
            .map(|_| FilesKept { call: *call, attempt: *attempt, changes: changes.clone() }.into()),
        InputKind::RestoreFiles { to, changes, by } => {
            Ok(FilesRestored { to: *to, changes: changes.clone(), by: by.clone() }.into())
        }
        InputKind::Clear { by } => crate::clear::decide(state, by),
        InputKind::Stop { by } => stop(state, FinishReason::Stopped, by, None),
        InputKind::ModelUnsent { request } => awaited(state, *request).map(|model| {
            let (usage, cost) = (Usage::default(), 0);
            ModelAbandoned { request: model.request, lost: false, usage, cost, spent: None }.into()
        }),
        InputKind::Forbid { by, why } => stop(state, FinishReason::Denied, by, Some(why)),
        InputKind::Interrupt { call } => interrupt(state, *call),
        InputKind::ModelChunk { .. } | InputKind::ToolStarted { .. } => return Ok(Vec::new()),
        InputKind::ModelFinished(reply) => answer(state, at, reply),
        InputKind::ModelMalformed { reply, problem, breach, repair_tokens } => {
            malformed(state, at, reply, (problem, *breach), *repair_tokens)
        }
        InputKind::ModelFailed { request, error, retry_at, usage, received } => {
            model_failed(state, *request, error, (*retry_at, *usage, *received))
        }
        InputKind::ToolFinished { call, attempt, output, tokens } => {
            finished(state, at, *call, *attempt, output, *tokens)
        }
        InputKind::ToolDead { call, attempt, output, tokens } => {
            dead(state, at, *call, *attempt, output.as_ref(), *tokens)
        }
        InputKind::ToolProbed { call, attempt, answer } => probed(state, at, *call, *attempt, answer),
        InputKind::Answered(answered) => person_answered(state, at, answered),
        InputKind::Approve { call, by, edit, rule } => approve(state, *call, by, edit.as_ref(), rule.as_deref()),
        InputKind::Deny { call, by, reason } => deny(state, *call, by, reason.as_deref()),
        InputKind::Timer { key } => timer(state, at, *key),
        InputKind::ExpandContext { .. } if state.branch.is_some() => Err(Refusal::InBranch),
        InputKind::ExpandContext { by } => cut::expand(state, *by).map(EventKind::from),
        InputKind::Compact { hint, by } => compact(state, hint.as_deref(), by),
        InputKind::Summarised { text, tokens, all } => compact::by_rules(state, text, *tokens, *all),
        InputKind::RecallCalls { calls } => recall(state, calls),
        InputKind::ContextTexts { turn, texts } => hooks_said(state, *turn, texts),
        InputKind::ChangeGoals { ops, by } => goals(state, ops, by),
        InputKind::Import(message) => state.take_in(message),
        InputKind::BadMail { problem } => Err(Refusal::BadMail(problem.clone())),
        InputKind::Recovered { lost, tail_cut } => return Ok(recovered(state, *lost, tail_cut.as_ref())),
    };
    decided.map(|event| vec![event])
}

fn message(state: &State, message: &MessageQueued) -> Decided {
    if state.coming_spec().is_none() {
        return Err(Refusal::NoSpec);
    }
    if message.parts.is_empty() {
        return Err(Refusal::Empty);
    }
    Ok(message.clone().into())
}

fn go_on(state: &State, by: &Principal) -> Decided {
    if state.run.is_some() {
        return Err(Refusal::Running);
    }
    state.tree.up(state.tree.head).find(|(_, node)| node.kind != NodeKind::Cut).ok_or(Refusal::NothingOpen)?;
    if state.tree.is_answered() {
        return Err(Refusal::NothingOpen);
    }
    Ok(ContinueRequested { by: by.clone() }.into())
}

fn rewind(state: &State, asked: &RewindRequested) -> Decided {
    let (after, parts) = (asked.after, asked.parts.as_deref());
    if state.coming_spec().is_none() {
        return Err(Refusal::NoSpec);
    }
    if state.rewind.is_some() {
        return Err(Refusal::Rewinding);
    }
    if state.clearing {
        return Err(Refusal::Clearing);
    }
    if after == Seq(0) {
        parts.ok_or(Refusal::NothingToAnswer)?;
    } else {
        state.tree.node(after).ok_or(Refusal::NoSuchMessage(after))?;
        if !state.tree.is_on_path(state.tree.head, after) {
            return Err(Refusal::OffPath(after));
        }
    }
    if parts.is_some_and(<[Part]>::is_empty) {
        return Err(Refusal::Empty);
    }
    Ok(asked.clone().into())
}

fn stop(state: &State, reason: FinishReason, by: &Principal, why: Option<&str>) -> Decided {
    let run = state.run.as_ref().ok_or(Refusal::NotRunning)?;
    if run.closing.is_some() {
        return Err(Refusal::AlreadyClosing);
    }
    Ok(RunClosing { reason, by: Some(by.clone()), why: why.map(Into::into) }.into())
}

fn interrupt(state: &State, id: CallId) -> Decided {
    let call = find(state, id)?;
    match call.state {
        CallState::Started if call.effect != EffectClass::AskPerson => {
            Ok(CallCancelling { call: id, cause: CancelCause::Interrupt }.into())
        }
        CallState::Done(_) => Err(Refusal::AlreadyResolved(id)),
        CallState::Asked | CallState::Ready => Err(Refusal::NotStarted(id)),
        CallState::Started | CallState::Cancelling(_) | CallState::Probing => Err(Refusal::NotWaiting(id)),
    }
}

fn awaited(state: &State, request: u32) -> Result<&ModelCall, Refusal> {
    state.model.as_ref().filter(|model| model.request == request).ok_or(Refusal::StaleRequest(request))
}

/// The vendor's count, and whether it is whole; what it does not say was estimated. No request is empty, nor what it cost to
/// answer.
fn used(model: &ModelCall, reply: &Reply) -> (Usage, bool) {
    let said = reply.usage.unwrap_or_default();
    let or = |said: u64, estimate: u32| if said > 0 { said } else { estimate.into() };
    let output = if reply.parts.is_empty() { said.output } else { or(said.output, reply.tokens) };
    let likely = u32::try_from(model.likely).unwrap_or(u32::MAX);
    let usage = Usage { input: or(said.input, likely), output, ..said };
    (usage, usage == said)
}

fn answer(state: &State, at: Millis, reply: &Reply) -> Decided {
    let model = awaited(state, reply.request)?;
    let (usage, counted) = used(model, reply);
    let finished = ModelFinished {
        request: reply.request,
        seq: state.tree.next_seq(),
        parts: reply.parts.clone(),
        calls: told_of_repeats(state, reply),
        goals: carried_out(state, &reply.goals),
        stop: reply.stop,
        tolerated: reply.tolerated,
        tokens: reply.tokens,
        usage,
        counted,
        cost: state.price_of(&usage),
        elapsed_ms: at.saturating_sub(model.since),
        sent: reply.sent.clone(),
        aside: reply.aside && aside::may(state, reply),
        expand: reply.expand,
    };
    Ok(finished.into())
}

/// The calls of an answer; of those that have ended already the model is told which it makes again and again.
fn told_of_repeats(state: &State, reply: &Reply) -> Vec<PlannedCall> {
    let mut calls = reply.calls.clone();
    for (planned, call) in calls.iter_mut().zip(made(&reply.parts)) {
        let result = planned.ended().map(|(_, text)| text_result(text));
        planned.repeated = result.map_or(0, |result| repeats(state, call, result));
    }
    calls
}

/// How often a call has come to the same by now, if the model is to be told.
fn repeats(state: &State, call: u64, result: Outcome) -> u32 {
    let (Some(run), Some(limits)) = (&state.run, state.limits()) else { return 0 };
    run.progress.to_tell(call, result, state.requests, limits.repeated_failures)
}

/// The operations that the plan allows: it may have changed since they were read.
fn carried_out(state: &State, ops: &[GoalOp]) -> Vec<GoalOp> {
    if ops.is_empty() {
        return Vec::new();
    }
    let (mut plan, head) = (state.goals.clone(), Some(state.tree.next_seq()));
    ops.iter().filter(|op| plan.change(op, head).is_ok()).cloned().collect()
}

fn malformed(
    state: &State,
    at: Millis,
    reply: &Reply,
    (problem, breach): (&str, Breach),
    repair_tokens: u32,
) -> Decided {
    let model = awaited(state, reply.request)?;
    let (usage, counted) = used(model, reply);
    let seq = state.tree.next_seq();
    let malformed = ModelMalformed {
        request: reply.request,
        seq,
        repair_seq: Seq(seq.0.saturating_add(1)),
        parts: reply.parts.clone(),
        problem: problem.into(),
        breach,
        tokens: reply.tokens,
        repair_tokens,
        usage,
        about: !counted,
        cost: state.price_of(&usage),
        elapsed_ms: at.saturating_sub(model.since),
        sent: reply.sent.clone(),
    };
    Ok(malformed.into())
}

/// A request of which the vendor says what it used is charged that, another that may have run in full; one that the server
/// refused is free. What is shown to people of the second is an estimate of what was really used.
fn model_failed(
    state: &State,
    request: u32,
    error: &ModelError,
    (retry_at, usage, received): (Option<Millis>, Option<Usage>, u32),
) -> Decided {
    let model = awaited(state, request)?;
    let failures = state.run.as_ref().map_or(0, |run| run.model_failures);
    let retries = state.limits().map_or(0, |limits| limits.model_retries);
    let may_retry = error.kind.is_retryable() && failures < retries;
    let (charged, spent) = match (usage, error.kind) {
        (Some(usage), _) => ((usage, state.price_of(&usage)), None),
        (None, ModelErrorKind::Timeout | ModelErrorKind::StreamCut) => {
            (state.reserved(model), Some(state.spent_on(model, received)))
        }
        // It had begun to answer when it broke off.
        (None, _) if received > 0 => (state.reserved(model), Some(state.spent_on(model, received))),
        (None, _) => ((Usage::default(), 0), None),
    };
    let (usage, cost) = charged;
    let retry_at = retry_at.filter(|_| may_retry);
    let remedy = if retry_at.is_none() { remedy(state, model, error.kind) } else { None };
    Ok(ModelFailed { request, error: error.clone(), retry_at, remedy, usage, cost, spent }.into())
}

/// What may help where the same request would fail again. Each is tried once: the least context in a run's first turn, half
/// the context once a turn, every fallback model once a run.
fn remedy(state: &State, model: &ModelCall, kind: ModelErrorKind) -> Option<Remedy> {
    use ModelErrorKind::*;
    let run = state.run.as_ref().filter(|run| run.closing.is_none())?;
    let spec = state.spec.as_ref()?;
    let on_path = state.branch.is_none();
    match kind {
        NotFound if on_path && run.turns == 1 && run.model_failures == 0 => Some(Remedy::Minimal),
        Overflow if on_path && run.compacted_at != Some(run.turns) => Some(Remedy::Cut),
        Overflow | ContentFilter => None,
        _ if spec.using + 1 < spec.models.len() && !model.last => Some(Remedy::Fallback),
        _ => None,
    }
}

fn find(state: &State, id: CallId) -> Result<&Call, Refusal> {
    state.calls.get(id).ok_or(Refusal::NoSuchCall(id))
}

/// A call whose attempt is running, or may be.
fn running(state: &State, id: CallId, attempt: u32) -> Result<&Call, Refusal> {
    let call = find(state, id)?;
    match call.state {
        CallState::Asked | CallState::Ready => Err(Refusal::NotStarted(id)),
        _ if call.attempt != attempt => Err(Refusal::WrongAttempt(id, attempt)),
        CallState::Done(_) => Err(Refusal::AlreadyResolved(id)),
        CallState::Started | CallState::Cancelling(_) | CallState::Probing => Ok(call),
    }
}

pub(crate) fn resolved(call: &Call, at: Millis, resolution: Resolution, cause: ResolveCause) -> CallResolved {
    CallResolved {
        call: call.id,
        attempt: call.attempt,
        resolution,
        cause,
        output: None,
        reason: None,
        by: None,
        tokens: 24,
        memory: None,
        repeated: 0,
        elapsed_ms: at.saturating_sub(call.started),
    }
}

fn with_output(call: &Call, at: Millis, output: &ToolOutput, tokens: u32) -> CallResolved {
    let resolution = if output.error.is_some() { Resolution::Error } else { Resolution::Ok };
    let memory = output.long_term_memory.as_deref().map(estimate);
    CallResolved {
        output: Some(output.clone()),
        tokens,
        memory,
        ..resolved(call, at, resolution, ResolveCause::Result)
    }
}

fn finished(state: &State, at: Millis, id: CallId, attempt: u32, output: &ToolOutput, tokens: u32) -> Decided {
    match running(state, id, attempt) {
        Ok(call) if is_retried(state, call, output) => {
            Ok(CallRetried { call: id, attempt, output: output.clone() }.into())
        }
        Ok(call) => {
            let event = with_output(call, at, output, tokens);
            let made = state.run.as_ref().map_or(0, |run| run.progress.call(id.index));
            let repeated = repeats(state, made, output_result(Some(output)));
            Ok(CallResolved { repeated, tokens: event.tokens.saturating_add(note_tokens(repeated)), ..event }.into())
        }
        Err(Refusal::AlreadyResolved(_)) if state.calls.get(id).is_some_and(|call| call.may_be_late) => {
            Ok(LateResult { call: id, attempt, output: output.clone() }.into())
        }
        Err(refusal) => Err(refusal),
    }
}

/// Whether a failed attempt is made again: only what changes nothing when it is done twice, and only so often.
fn is_retried(state: &State, call: &Call, output: &ToolOutput) -> bool {
    let retries = state.limits().map_or(0, |limits| limits.call_retries);
    let repeats = matches!(call.effect, EffectClass::ReadOnly | EffectClass::Idempotent);
    let failed = output.transient && output.error.is_some();
    failed && repeats && call.state == CallState::Started && call.attempt <= retries && state.closing().is_none()
}

fn dead(state: &State, at: Millis, id: CallId, attempt: u32, output: Option<&ToolOutput>, tokens: u32) -> Decided {
    let call = running(state, id, attempt)?;
    let (resolution, cause) = match call.state {
        CallState::Cancelling(CancelCause::Timeout) => (Resolution::Error, ResolveCause::Timeout),
        CallState::Cancelling(CancelCause::Closing | CancelCause::Interrupt) => {
            (Resolution::Interrupted, ResolveCause::Stopped)
        }
        // Nobody asked for its end: it may or may not have done its work.
        _ if call.effect.may_repeat() => (Resolution::Interrupted, ResolveCause::Crash),
        _ => (Resolution::Unknown, ResolveCause::Uncertain),
    };
    let mut event = resolved(call, at, resolution, cause);
    if let Some(output) = output {
        event.output = Some(output.clone());
        event.tokens = event.tokens.saturating_add(tokens);
    }
    Ok(event.into())
}

fn probed(state: &State, at: Millis, id: CallId, attempt: u32, answer: &Probed) -> Decided {
    let call = running(state, id, attempt)?;
    if call.state != CallState::Probing {
        return Err(Refusal::NotWaiting(id));
    }
    match answer {
        Probed::Done { output, tokens } => Ok(with_output(call, at, output, *tokens).into()),
        Probed::NotDone if state.closing().is_none() => Ok(started(call).into()),
        Probed::NotDone => Ok(resolved(call, at, Resolution::Interrupted, ResolveCause::Closing).into()),
        Probed::Unknown => Ok(resolved(call, at, Resolution::Unknown, ResolveCause::Uncertain).into()),
    }
}

/// The next attempt of a call.
pub(crate) fn started(call: &Call) -> ActionStarted {
    let rule = call.verdict().map_or_else(String::new, |verdict| verdict.rule.clone());
    ActionStarted { call: call.id, attempt: call.attempt + 1, rule }
}

fn person_answered(state: &State, at: Millis, answered: &Answered) -> Decided {
    let call = find(state, answered.call)?;
    let waits = matches!(call.effect, EffectClass::AskPerson | EffectClass::StartChild);
    match call.state {
        CallState::Started | CallState::Cancelling(_) if waits => {
            let event = with_output(call, at, &answered.output, answered.tokens);
            Ok(CallResolved { by: Some(answered.by.clone()), ..event }.into())
        }
        CallState::Done(_) => Err(Refusal::AlreadyResolved(call.id)),
        _ => Err(Refusal::NotWaiting(call.id)),
    }
}

fn asked(state: &State, id: CallId) -> Result<&Call, Refusal> {
    let call = find(state, id)?;
    match call.state {
        CallState::Asked => Ok(call),
        CallState::Done(_) => Err(Refusal::AlreadyResolved(id)),
        _ => Err(Refusal::NotWaiting(id)),
    }
}

/// The approval is on record whatever rules say to edited arguments. A fresh `deny` wins over it in the next step; a fresh
/// `ask` counts as answered.
fn approve(state: &State, id: CallId, by: &Principal, edit: Option<&Edit>, rule: Option<&str>) -> Decided {
    if let Some(call) = state.calls.get(id).filter(|call| reopen::is_denied(call)) {
        return reopen::decide(state, call, by, edit, rule);
    }
    asked(state, id)?;
    Ok(ApprovalGranted {
        call: id,
        by: by.clone(),
        arguments: edit.map(|edit| edit.arguments.clone()),
        verdict: edit.map(|edit| edit.verdict.clone()),
        places: edit.map(|edit| edit.places.clone()).unwrap_or_default(),
        rule: rule.map(Into::into),
    }
    .into())
}

/// Whoever has approved a call may think better of it as long as it has not started.
fn deny(state: &State, id: CallId, by: &Principal, reason: Option<&str>) -> Decided {
    let call = match find(state, id)? {
        call if call.is_approved_only() => call,
        _ => asked(state, id)?,
    };
    let event = resolved(call, 0, Resolution::Denied, ResolveCause::DeniedByPerson);
    Ok(CallResolved { reason: reason.map(Into::into), by: Some(by.clone()), ..event }.into())
}

/// Deadlines come from the state; a timer before its time is refused.
fn timer(state: &State, at: Millis, key: TimerKey) -> Decided {
    let due = match crate::pending(state).get(&EffectKey::Timer(key)) {
        Some(crate::Effect::Timer { at }) => *at,
        _ => return Err(Refusal::NoTimer),
    };
    if at < due {
        return Err(Refusal::NotDue(due));
    }
    Ok(match key {
        TimerKey::Run => RunClosing { reason: FinishReason::Timeout, by: None, why: None }.into(),
        TimerKey::Call(call) => call_due(find(state, call)?),
        TimerKey::Retry => RetryDue {}.into(),
    })
}

/// What a call's time brings with it.
fn call_due(call: &Call) -> EventKind {
    match call.state {
        CallState::Asked => unstarted(call, Resolution::Denied, ResolveCause::ApprovalExpired).into(),
        CallState::Ready => CallDue { call: call.id }.into(),
        _ => CallCancelling { call: call.id, cause: CancelCause::Timeout }.into(),
    }
}

fn compact(state: &State, hint: Option<&str>, by: &Principal) -> Decided {
    state.coming_spec().ok_or(Refusal::NoSpec)?;
    state.tree.head.ok_or(Refusal::NothingToSummarise)?;
    if state.rewind.is_some() {
        return Err(Refusal::Rewinding);
    }
    Ok(CompactionRequested { hint: hint.map(Into::into), by: by.clone() }.into())
}

fn recall(state: &State, calls: &[CallId]) -> Decided {
    if state.model.is_some() {
        return Err(Refusal::Busy);
    }
    if calls.is_empty() {
        return Err(Refusal::Empty);
    }
    for id in calls {
        if id.seq <= state.cleared {
            return Err(Refusal::NoSuchCall(*id));
        }
        if !find(state, *id)?.state.is_done() {
            return Err(Refusal::NotWaiting(*id));
        }
    }
    Ok(CallsRecalled { calls: calls.to_vec() }.into())
}

fn hooks_said(state: &State, turn: u32, texts: &[HookText]) -> Decided {
    match (&state.run, state.coming_spec()) {
        (Some(run), Some(spec)) if turn == state.turn_number && inject::asks_hooks(state) => {
            Ok(inject::injected(state, run, spec, texts).into())
        }
        _ => Err(Refusal::NoHooks(turn)),
    }
}

fn goals(state: &State, ops: &[GoalOp], by: &Principal) -> Decided {
    if ops.is_empty() {
        return Err(Refusal::BadGoal("nothing is to be changed".into()));
    }
    state.goals.clone().change_all(ops, state.tree.head)?;
    Ok(GoalsChanged { ops: ops.to_vec(), by: by.clone() }.into())
}

/// Heals what a crash left: the table of recovery, a row at a time, so that a torn batch of these heals further.
fn recovered(state: &State, lost: bool, tail_cut: Option<&TailCut>) -> Vec<EventKind> {
    let mut events: Vec<EventKind> = tail_cut.cloned().map(EventKind::from).into_iter().collect();
    if !lost {
        return events;
    }
    if let Some(model) = &state.model {
        events.push(abandoned(state, model, true).into());
    }
    let rerun = state.limits().is_none_or(|limits| limits.recovery == Recovery::Rerun);
    for call in state.turn_calls().iter().filter(|call| call.state == CallState::Started) {
        let at = state.now;
        let event = match call.effect {
            // The person or the child is still there: announced again, attached to again.
            EffectClass::AskPerson | EffectClass::StartChild => continue,
            effect if effect.may_repeat() && state.closing().is_some() => {
                resolved(call, at, Resolution::Interrupted, ResolveCause::Stopped).into()
            }
            effect if effect.may_repeat() && rerun => started(call).into(),
            effect if effect.may_repeat() => resolved(call, at, Resolution::Interrupted, ResolveCause::Crash).into(),
            _ if call.can_probe => CallProbing { call: call.id }.into(),
            _ => resolved(call, at, Resolution::Unknown, ResolveCause::Uncertain).into(),
        };
        events.push(event);
    }
    events
}

/// A model call that is given up, charged in full if it may have been sent. What had come of its answer is added by who knows it:
/// see [`crate::Machine::received`].
pub(crate) fn abandoned(state: &State, model: &ModelCall, lost: bool) -> ModelAbandoned {
    // What a hook forbade was never sent.
    let unsent = state.closing() == Some(FinishReason::Denied);
    let (usage, cost) = if unsent { (Usage::default(), 0) } else { state.reserved(model) };
    let spent = (!unsent).then(|| state.spent_on(model, 0));
    ModelAbandoned { request: model.request, lost, usage, cost, spent }
}

/// A call that ends without having started.
pub(crate) fn unstarted(call: &Call, resolution: Resolution, cause: ResolveCause) -> CallResolved {
    resolved(call, 0, resolution, cause)
}

/// Takes what a `ModelFinished` left out from the draft's text.
pub(crate) fn fill(reply: &Reply, text: &str) -> Reply {
    let parts = vec![Part::text(text)];
    Reply { tokens: estimate_parts(&parts), parts, ..reply.clone() }
}
