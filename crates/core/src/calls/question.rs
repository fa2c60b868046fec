//! Questions to people: sent to whom they are for, answered, or expired.

use crate::calls::end::resolved;
use crate::error::Decided;
use crate::{Call, CallState, Effect, EffectKey, Refusal, State, estimate_parts};
use mainpath_types::{
    CallDue, CallId, CallResolved, EffectClass, EventKind, Millis, QuestionSent, Resolution, ResolveCause, ToolOutput,
};

/// Whether a call waits for a person's answer.
fn waits(call: &Call) -> bool {
    call.state == CallState::Started && call.effect == EffectClass::AskPerson
}

/// The obligation to send a question, if there is one.
pub(crate) fn sending(call: &Call) -> Option<(EffectKey, Effect)> {
    let question = call.question.as_deref().filter(|question| waits(call) && !question.sent)?;
    let to = question.asking.to.clone()?;
    Some((EffectKey::Send(call.id), Effect::SendQuestion { call: call.id, to, arguments: call.arguments }))
}

/// When it is too late for an answer.
pub(crate) fn expiry(call: &Call) -> Option<Millis> {
    let question = call.question.as_deref().filter(|_| waits(call))?;
    Some(call.started.saturating_add(question.asking.expires_ms?))
}

/// What of a question comes first: it expires, or it is sent again.
pub(crate) fn due(call: &Call) -> Option<Millis> {
    let again = (waits(call) && call.not_before > 0).then_some(call.not_before);
    expiry(call).into_iter().chain(again).min()
}

/// What the time of a question brings with it.
pub(crate) fn when_due(call: &Call) -> Option<EventKind> {
    let question = call.question.as_deref().filter(|_| waits(call))?;
    let expires = expiry(call).is_some_and(|expiry| call.not_before == 0 || expiry <= call.not_before);
    if !expires {
        return Some(CallDue { call: call.id }.into());
    }
    let (resolution, output) = match &question.asking.default {
        Some(default) => {
            (Resolution::Ok, ToolOutput::text(format!("Nobody answered in time, so the default counts: {default}")))
        }
        None => (
            Resolution::Error,
            ToolOutput::failed("unanswered", "Nobody answered in time, and the question has no default."),
        ),
    };
    let at = expiry(call).unwrap_or(call.started);
    let tokens = estimate_parts(&output.content);
    let event = resolved(call, at, resolution, ResolveCause::QuestionExpired);
    Some(CallResolved { output: Some(output), tokens, ..event }.into())
}

/// A question was sent, or could not be.
pub(crate) fn sent(state: &State, sent: &QuestionSent) -> Decided {
    let call = state.calls.get(sent.call).ok_or(Refusal::NoSuchCall(sent.call))?;
    match call.state {
        _ if sending(call).is_some() => Ok(sent.clone().into()),
        CallState::Done(_) => Err(Refusal::AlreadyResolved(call.id)),
        _ => Err(Refusal::NotWaiting(call.id)),
    }
}

impl State {
    pub(crate) fn question_sent(&mut self, data: &QuestionSent) {
        let Some(call) = self.calls.get_mut(data.call) else { return };
        if let Some(question) = call.question.as_deref_mut() {
            (question.sent, question.receipt) = (true, data.receipt.clone());
            call.not_before = data.retry_at.unwrap_or(0);
        }
    }

    /// The wait of a call is over: it may start, or its question is sent again.
    pub(crate) fn call_due(&mut self, id: CallId) {
        self.delay_call(id, 0);
        if let Some(question) = self.calls.get_mut(id).and_then(|call| call.question.as_deref_mut()) {
            question.sent = false;
        }
    }
}
