//! How often a tool may be called: a window of time that slides over the starts of its calls.

use mainpath_types::{Millis, RateLimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When a tool's latest calls started, as many as its limit counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window(VecDeque<Millis>);

impl Window {
    /// When a call may be made, if it may not be made now: once the call that is a whole number of the limit's calls back has left
    /// the window.
    pub fn wait(&self, limit: RateLimit, now: Millis) -> Option<Millis> {
        let oldest = self.0.len().checked_sub(most(limit)).and_then(|at| self.0.get(at))?;
        let due = oldest.saturating_add(limit.per_ms);
        (due > now).then_some(due)
    }

    /// A call starts.
    pub fn take(&mut self, limit: RateLimit, now: Millis) {
        let gone = |start: &Millis| start.saturating_add(limit.per_ms) <= now;
        while self.0.front().is_some_and(gone) || self.0.len() >= most(limit) {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }
}

fn most(limit: RateLimit) -> usize {
    usize::try_from(limit.calls.max(1)).unwrap_or(usize::MAX)
}
