//! What people say: a message, a word to go on, a way back.

use crate::error::Decided;
use crate::{NodeKind, Refusal, State};
use mainpath_types::{ContinueRequested, MessageQueued, Part, Principal, RewindRequested, Seq};

pub(crate) fn message(state: &State, message: &MessageQueued) -> Decided {
    if state.coming_spec().is_none() {
        return Err(Refusal::NoSpec);
    }
    if message.parts.is_empty() {
        return Err(Refusal::Empty);
    }
    Ok(message.clone().into())
}

pub(crate) fn go_on(state: &State, by: &Principal) -> Decided {
    if state.run.is_some() {
        return Err(Refusal::Running);
    }
    state.tree.up(state.tree.head).find(|(_, node)| node.kind != NodeKind::Cut).ok_or(Refusal::NothingOpen)?;
    // A message that waits since a stop or a limit is still to be answered.
    if state.tree.is_answered() && state.queues.is_empty() {
        return Err(Refusal::NothingOpen);
    }
    Ok(ContinueRequested { by: by.clone() }.into())
}

pub(crate) fn rewind(state: &State, asked: &RewindRequested) -> Decided {
    let (after, parts) = (asked.after, asked.parts.as_deref());
    if state.coming_spec().is_none() {
        return Err(Refusal::NoSpec);
    }
    if state.between_runs.rewind.is_some() {
        return Err(Refusal::Rewinding);
    }
    if state.between_runs.clearing {
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
