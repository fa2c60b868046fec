//! What a call that starts agents obliges the caller to.

use crate::{Call, CallState, Effect, EffectKey, State};
use mainpath_types::EffectClass;

/// Returns the effects of a call that starts agents and has not ended.
pub(crate) fn pending_of(state: &State, call: &Call) -> Vec<(EffectKey, Effect)> {
    match call.state {
        CallState::Started => work_of(state, call),
        CallState::Cancelling(_) => end_of(state, call),
        CallState::Asked | CallState::Ready | CallState::Probing | CallState::Done(_) => Vec::new(),
    }
}

/// Ends all children of a call at the same time, then the call.
fn end_of(state: &State, call: &Call) -> Vec<(EffectKey, Effect)> {
    let (id, attempt) = (call.id, call.attempt);
    let open = state.children.of(id).filter(|child| child.is_open());
    let mut effects: Vec<(EffectKey, Effect)> =
        open.map(|child| (EffectKey::EndChild(id, child.nth), Effect::EndChild { call: id, nth: child.nth })).collect();
    if effects.is_empty() {
        effects.push((EffectKey::Kill(id, attempt), Effect::Kill { call: id, attempt }));
    }
    effects
}

fn work_of(state: &State, call: &Call) -> Vec<(EffectKey, Effect)> {
    let (id, arguments) = (call.id, call.arguments);
    let mut effects: Vec<(EffectKey, Effect)> = state
        .children
        .of(id)
        .filter(|child| child.is_open())
        .map(|child| (EffectKey::Child(id, child.nth), Effect::AwaitChild { call: id, nth: child.nth, arguments }))
        .collect();
    let started = u16::try_from(state.children.of(id).count()).unwrap_or(u16::MAX);
    // Before the first has started, nobody knows how many there are.
    let of = state.children.of(id).next().map_or(1, |child| child.of);
    let most = state.limits().map_or(1, |limits| limits.children.at_once).max(1);
    let free = usize::from(most).saturating_sub(state.children.open().count());
    if started < of && free > 0 {
        effects.push((EffectKey::Child(id, started), Effect::StartChild { call: id, nth: started, arguments }));
    } else if started >= of && effects.is_empty() {
        effects.push((EffectKey::HandBack(id), Effect::HandBack { call: id }));
    }
    effects
}

/// Whether a call starts agents and has not ended.
pub(crate) fn is_at_work(call: &Call) -> bool {
    call.effect == EffectClass::StartChild && matches!(call.state, CallState::Started | CallState::Cancelling(_))
}
