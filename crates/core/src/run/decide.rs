//! The end of a run, as somebody or the clock wants it.

use crate::error::Decided;
use crate::{Refusal, State};
use mainpath_types::{FinishReason, Principal, RunClosing};

pub(crate) fn stop(state: &State, reason: FinishReason, by: &Principal, why: Option<&str>) -> Decided {
    let run = state.run.as_ref().ok_or(Refusal::NotRunning)?;
    if run.closing.is_some() {
        return Err(Refusal::AlreadyClosing);
    }
    Ok(RunClosing { reason, by: Some(by.clone()), why: why.map(Into::into) }.into())
}
