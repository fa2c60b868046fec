//! A conversation begun anew. The log keeps what was said; nothing shows, recalls or works on it any more.

use crate::{Queues, Refusal, State};
use mainpath_types::{ClearRequested, EventKind, FinishReason, Principal, Seq, SessionCleared, Terms};

pub(crate) fn decide(state: &State, by: &Principal) -> Result<EventKind, Refusal> {
    if state.between_runs.clearing {
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
        (self.between_runs.rewind, self.between_runs.opening, self.context.compaction) = (None, None, None);
        self.approvals.reopened.clear();
        self.between_runs.clearing = true;
        self.close(FinishReason::Stopped);
    }

    pub(crate) fn session_cleared(&mut self, data: &SessionCleared) {
        self.between_runs.clearing = false;
        self.tree.cleared = data.upto;
        self.tree.head = None;
        self.reload_skills();
        self.goals.clear();
        (self.reminders.plan_changed, self.reminders.plan_hidden, self.reminders.pin_is_news) = (false, false, false);
        (self.context.window_extra, self.context.unswept) = (0, false);
        (self.counting.counted, self.context.summarised_to) = (None, None);
        (self.context.expand, self.context.recalled) = (None, Vec::new());
        // Whoever spoke since has spoken to the new conversation.
        self.queues.held = false;
    }
}
