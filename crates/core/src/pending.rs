//! From a state to what it obliges the caller to. Start, resume, interrupt and recovery all read this one map.

use crate::calls::question;
use crate::children::pending::pending_of;
use crate::context::compact::{self, Wanted};
use crate::next::asks_hooks;
use crate::{Call, CallState, Effect, EffectKey, Judged, State, TimerKey};
use mainpath_policy::{Attempt, Grant};
use mainpath_types::{CallId, EffectClass, Millis};
use std::collections::BTreeMap;

/// Everything that is to be going on now. Keys are stable across restarts; a value may change under its key (a deadline
/// moves while people are waited for).
pub fn pending(state: &State) -> BTreeMap<EffectKey, Effect> {
    let mut effects = BTreeMap::new();
    let Some(run) = &state.run else { return effects };
    if let Some(model) = &state.model {
        effects.insert(EffectKey::Model(model.request), Effect::CallModel { request: model.request });
    }
    if let Some(Wanted { most, below, keeps }) = compact::wanted(state) {
        let summarise = Effect::Summarise { most, below, keeps: keeps.into() };
        effects.insert(EffectKey::Summary(state.tree.next_seq()), summarise);
    }
    for call in state.turn_calls() {
        if let Some(at) = due(state, call) {
            effects.insert(EffectKey::Timer(TimerKey::Call(call.id)), Effect::Timer { at });
        }
        effects.extend(of_call(state, call));
        if call.effect == EffectClass::StartChild {
            effects.extend(pending_of(state, call));
        }
        effects.extend(question::sending(call));
    }
    if let Some(at) = state.limits().and_then(|limits| run.deadline(limits)) {
        effects.insert(EffectKey::Timer(TimerKey::Run), Effect::Timer { at });
    }
    if let Some(at) = run.retry_at.filter(|_| run.closing.is_none()) {
        effects.insert(EffectKey::Timer(TimerKey::Retry), Effect::Timer { at });
    }
    if asks_hooks(state) {
        effects.insert(EffectKey::Hooks(state.counts.turns), Effect::AskHooks { turn: state.counts.turns });
    }
    effects
}

fn of_call(state: &State, call: &Call) -> Option<(EffectKey, Effect)> {
    let (id, attempt, arguments) = (call.id, call.attempt, call.arguments);
    Some(match call.state {
        CallState::Asked => (EffectKey::Approval(id), Effect::AwaitApproval { call: id }),
        CallState::Started => match call.effect {
            EffectClass::AskPerson => (EffectKey::Answer(id), Effect::AwaitAnswer { call: id, arguments }),
            EffectClass::StartChild => return None,
            _ => (EffectKey::Tool(id, attempt), Effect::RunTool { grant: grant(state, call)?, arguments }),
        },
        CallState::Cancelling(_) if call.effect == EffectClass::StartChild => return None,
        CallState::Cancelling(_) => (EffectKey::Kill(id, attempt), Effect::Kill { call: id, attempt }),
        CallState::Probing => (EffectKey::Probe(id, attempt), Effect::Probe { grant: grant(state, call)?, arguments }),
        CallState::Ready | CallState::Done(_) => return None,
    })
}

fn grant(state: &State, call: &Call) -> Option<Grant> {
    let judged: &Judged = call.judged.as_deref()?;
    let tool = call.tool.as_deref()?;
    let confinement = state.spec.as_ref().map(|spec| spec.confinement).unwrap_or_default();
    let of = Attempt { trace: &state.trace, call: call.id, number: call.attempt, tool, effect: call.effect };
    let grant = Grant::issue(of, confinement, &judged.verdict, call.approved);
    grant.map(|grant| grant.at(judged.places.clone()))
}

/// When the approval that a call waits for comes too late. `None` if it waits for none, or for as long as it takes.
pub fn approval_due(state: &State, id: CallId) -> Option<Millis> {
    let call = state.turn_calls().iter().find(|call| call.id == id && call.state == CallState::Asked)?;
    due(state, call)
}

/// When the question that a call waits with is too old to be answered. `None` if it asks nobody, or for as long as it takes.
pub fn answer_due(state: &State, id: CallId) -> Option<Millis> {
    let call = state.turn_calls().iter().find(|call| call.id == id)?;
    question::expiry(call)
}

/// How long a call may take once it has started: the tool's own limit or the run's, whichever is shorter.
pub fn call_time(state: &State, call: &Call) -> Option<Millis> {
    [call.timeout_ms, state.limits()?.call_timeout_ms].into_iter().flatten().min()
}

/// The time that a call's state lasts until, if it ends by itself: an approval expires, a wait is over, an attempt takes too
/// long.
fn due(state: &State, call: &Call) -> Option<Millis> {
    let limits = state.limits()?;
    let waits = matches!(call.effect, EffectClass::AskPerson | EffectClass::StartChild);
    match call.state {
        CallState::Asked => Some(call.started.saturating_add(limits.approval_timeout_ms?)),
        CallState::Ready => (call.not_before > 0).then_some(call.not_before),
        CallState::Started if !waits => Some(call.started.saturating_add(call_time(state, call)?)),
        CallState::Started => question::due(call),
        CallState::Cancelling(_) | CallState::Probing | CallState::Done(_) => None,
    }
}
