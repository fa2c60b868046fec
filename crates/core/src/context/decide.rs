//! Requests to show more, or to summarise.

use crate::calls::decide::find;
use crate::error::Decided;
use crate::{Refusal, State};
use mainpath_types::{CallId, CallsRecalled, CompactionRequested, Principal};

pub(crate) fn compact(state: &State, hint: Option<&str>, by: &Principal) -> Decided {
    state.coming_spec().ok_or(Refusal::NoSpec)?;
    state.tree.head.ok_or(Refusal::NothingToSummarise)?;
    if state.between_runs.rewind.is_some() {
        return Err(Refusal::Rewinding);
    }
    Ok(CompactionRequested { hint: hint.map(Into::into), by: by.clone() }.into())
}

pub(crate) fn recall(state: &State, calls: &[CallId]) -> Decided {
    if state.model.is_some() {
        return Err(Refusal::Busy);
    }
    if calls.is_empty() {
        return Err(Refusal::Empty);
    }
    for id in calls {
        if id.seq <= state.tree.cleared {
            return Err(Refusal::NoSuchCall(*id));
        }
        if !find(state, *id)?.state.is_done() {
            return Err(Refusal::NotWaiting(*id));
        }
    }
    Ok(CallsRecalled { calls: calls.to_vec() }.into())
}
