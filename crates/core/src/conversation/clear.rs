//! A conversation begun anew. The log keeps what was said; nothing shows, recalls or works on it any more.

use crate::{Queues, Refusal, State};
use mainpath_types::*;

pub(crate) fn decide(state: &State, by: &Principal) -> Result<EventKind, Refusal> {
    if state.clearing {
        return Err(Refusal::Clearing);
    }
    let has_plan = !state.goals.list().is_empty() || state.goals.terms != Terms::default();
    let is_new = state.tree.head.is_none() && state.queues.is_empty() && state.run.is_none();
    if is_new && !has_plan {
        return Err(Refusal::NothingToClear);
    }
    Ok(ClearRequested { by: by.clone() }.into())
}

/// What follows once the run has closed.
pub(crate) fn cleared(state: &State) -> EventKind {
    let upto = Seq(u32::try_from(state.tree.len()).unwrap_or(u32::MAX));
    SessionCleared { upto, goal_tree_snapshot: state.goals.list().to_vec() }.into()
}

impl State {
    /// What waits goes at once: what is said from here on belongs to the new conversation.
    pub(crate) fn clear_requested(&mut self) {
        self.queues = Queues::default();
        (self.rewind, self.opening, self.compaction) = (None, None, None);
        self.reopened.clear();
        self.clearing = true;
        self.close(FinishReason::Stopped);
    }

    pub(crate) fn session_cleared(&mut self, data: &SessionCleared) {
        self.clearing = false;
        self.cleared = data.upto;
        self.tree.head = None;
        self.goals.clear();
        (self.plan_changed, self.plan_hidden, self.pin_is_news) = (false, false, false);
        (self.window_extra, self.unswept) = (0, false);
        (self.counted, self.summarised_to) = (None, None);
        (self.expand, self.recalled) = (None, Vec::new());
        // Whoever spoke since has spoken to the new conversation.
        self.queues.held = false;
    }
}
