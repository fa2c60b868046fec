//! A run begins and ends.

use crate::{Opening, Run, State};
use mainpath_types::{FinishReason, Millis, RunCause, RunStarted};

impl State {
    pub(crate) fn start_run(&mut self, data: &RunStarted, at: Millis) {
        self.take_spec();
        self.use_model(0);
        self.counts.runs = data.run;
        self.ended.event = None;
        self.goals.begin_run();
        // The reminders so far tell of the budgets of other runs: the next cut drops them, and the plan is told anew.
        self.reminders.plan_changed = true;
        let opening = self.between_runs.opening.take().or_else(|| self.queues.front().map(Opening::Message));
        let message = opening.filter(|opening| matches!(opening, Opening::Message(_)));
        self.run = Some(Run::new(data.run, data.cause, at, message));
    }

    pub(crate) fn finish_run(&mut self, reason: FinishReason) {
        let run = self.run.take();
        let summarises = run.as_ref().is_some_and(|run| run.cause == RunCause::Compact);
        self.ended.reason = Some(reason);
        // Whoever stops does not want a summary either; one that came to nothing is not tried for ever.
        if summarises || reason == FinishReason::Stopped {
            self.context.compaction = None;
        }
        // A run that only summarised says nothing about what waits.
        if !summarises || run.is_some_and(|run| run.closing.is_some()) {
            self.queues.held = reason != FinishReason::Final && !self.queues.is_empty();
        }
    }
}
