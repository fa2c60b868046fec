//! What tools, people and crashes do to a call.

use crate::calls::end::{note_tokens, resolved, started, unstarted, with_output};
use crate::calls::{question, reopen};
use crate::error::Decided;
use crate::model::decide::repeats;
use crate::run::progress::output_result;
use crate::{Answered, Call, CallState, Edit, Probed, Refusal, State};
use mainpath_types::{
    ApprovalGranted, CallCancelling, CallDue, CallId, CallResolved, CallRetried, CancelCause, EffectClass, EventKind,
    FileChange, FilesKept, LateResult, Millis, Principal, Resolution, ResolveCause, ToolOutput,
};

pub(crate) fn find(state: &State, id: CallId) -> Result<&Call, Refusal> {
    state.calls.get(id).ok_or(Refusal::NoSuchCall(id))
}

/// A call whose attempt is running, or may be.
pub(crate) fn running(state: &State, id: CallId, attempt: u32) -> Result<&Call, Refusal> {
    let call = find(state, id)?;
    match call.state {
        CallState::Asked | CallState::Ready => Err(Refusal::NotStarted(id)),
        _ if call.attempt != attempt => Err(Refusal::WrongAttempt(id, attempt)),
        CallState::Done(_) => Err(Refusal::AlreadyResolved(id)),
        CallState::Started | CallState::Cancelling(_) | CallState::Probing => Ok(call),
    }
}

pub(crate) fn interrupt(state: &State, id: CallId) -> Decided {
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

pub(crate) fn finished(
    state: &State,
    at: Millis,
    id: CallId,
    attempt: u32,
    output: &ToolOutput,
    tokens: u32,
) -> Decided {
    match running(state, id, attempt) {
        // What children came to is handed back.
        Ok(call) if call.effect == EffectClass::StartChild => Err(Refusal::NotWaiting(id)),
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

pub(crate) fn dead(
    state: &State,
    at: Millis,
    id: CallId,
    attempt: u32,
    output: Option<&ToolOutput>,
    tokens: u32,
) -> Decided {
    let call = running(state, id, attempt)?;
    if state.children.of(id).any(|child| child.is_open()) {
        return Err(Refusal::NotWaiting(id));
    }
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

pub(crate) fn probed(state: &State, at: Millis, id: CallId, attempt: u32, answer: &Probed) -> Decided {
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

/// What the children of a call came to. Until all have ended there is nothing to hand back.
pub(crate) fn handed_back(state: &State, at: Millis, id: CallId, output: &ToolOutput, tokens: u32) -> Decided {
    let call = find(state, id)?;
    let mut rows = state.children.of(id);
    match call.state {
        CallState::Done(_) => Err(Refusal::AlreadyResolved(id)),
        CallState::Started if call.effect == EffectClass::StartChild && rows.all(|child| !child.is_open()) => {
            Ok(with_output(call, at, output, tokens).into())
        }
        _ => Err(Refusal::NotWaiting(id)),
    }
}

pub(crate) fn person_answered(state: &State, at: Millis, answered: &Answered) -> Decided {
    let call = find(state, answered.call)?;
    let waits = call.effect == EffectClass::AskPerson;
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
pub(crate) fn approve(state: &State, id: CallId, by: &Principal, edit: Option<&Edit>, rule: Option<&str>) -> Decided {
    if let Some(call) = state.calls.get(id).filter(|call| call.is_denied()) {
        return reopen::decide(state, call, by, edit, rule);
    }
    asked(state, id)?;
    Ok(ApprovalGranted {
        call: id,
        by: by.clone(),
        arguments: edit.map(|edit| edit.arguments.clone()),
        verdict: edit.map(|edit| edit.verdict.clone()),
        places: edit.map(|edit| edit.places.clone()).unwrap_or_default(),
        changed_by: edit.map(|edit| edit.changed_by.clone()).unwrap_or_default(),
        rule: rule.map(Into::into),
        asking: edit.and_then(|edit| edit.asking.clone()),
    }
    .into())
}

/// Whoever has approved a call may think better of it as long as it has not started.
pub(crate) fn deny(state: &State, id: CallId, by: &Principal, reason: Option<&str>) -> Decided {
    let call = match find(state, id)? {
        call if call.is_approved_only() => call,
        _ => asked(state, id)?,
    };
    let event = resolved(call, 0, Resolution::Denied, ResolveCause::DeniedByPerson);
    Ok(CallResolved { reason: reason.map(Into::into), by: Some(by.clone()), ..event }.into())
}

/// What a call's time brings with it.
pub(crate) fn due(call: &Call) -> EventKind {
    if let Some(event) = question::when_due(call) {
        return event;
    }
    match call.state {
        CallState::Asked => unstarted(call, Resolution::Denied, ResolveCause::ApprovalExpired).into(),
        CallState::Ready => CallDue { call: call.id }.into(),
        _ => CallCancelling { call: call.id, cause: CancelCause::Timeout }.into(),
    }
}

pub(crate) fn keep_files(state: &State, call: CallId, attempt: u32, changes: &[FileChange]) -> Decided {
    if changes.is_empty() {
        return Err(Refusal::Empty);
    }
    running(state, call, attempt)?;
    Ok(FilesKept { call, attempt, changes: changes.to_vec() }.into())
}
