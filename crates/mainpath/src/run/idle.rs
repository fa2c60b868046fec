//! Whether a trace still goes on by itself in this process.

use crate::Trace;
use mainpath_runtime::{Phase, Waiting};

impl Trace {
    /// Waits until nothing happens by itself in this process: the run has ended, waits for a person or another agent, or cannot be driven on.
    pub async fn wait_until_idle(&self) {
        let mut phases = self.host().runtime().phase(self.host().scope(), self.id());
        // An error is a runtime that has ended.
        let _ = phases.wait_for(is_idle).await;
    }

    /// Returns true if nothing happens by itself in this process; see [`Trace::wait_until_idle`].
    pub fn is_idle(&self) -> bool {
        is_idle(&self.host().runtime().phase(self.host().scope(), self.id()).borrow())
    }

    /// Why this process does not drive it any more, if it broke off.
    pub fn problem(&self) -> Option<String> {
        match &*self.host().runtime().phase(self.host().scope(), self.id()).borrow() {
            Phase::Full(problem) | Phase::Failed(problem) | Phase::Elsewhere(problem) => Some(problem.clone()),
            Phase::Running | Phase::Parked(_) | Phase::Idle => None,
        }
    }
}

fn is_idle(phase: &Phase) -> bool {
    match phase {
        Phase::Running => false,
        Phase::Parked(waiting) => waiting.iter().any(|one| *one != Waiting::Timer),
        Phase::Idle | Phase::Full(_) | Phase::Failed(_) | Phase::Elsewhere(_) => true,
    }
}
