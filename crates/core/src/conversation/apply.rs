//! A message joins the path; the path goes back.

use crate::run::progress::Progress;
use crate::{NodeKind, Opening, State};
use mainpath_types::{EventId, Rewound};

impl State {
    pub(crate) fn join(&mut self, of: EventId) {
        if self.skill_joined(of) {
            return;
        }
        let opening = self.run.as_ref().and_then(|run| run.opening);
        let (tokens, demands) = match (self.queues.take(of), opening) {
            (Some(message), _) | (None, Some(Opening::Message(message))) => (message.tokens, message.demands),
            (None, _) => (0, 0),
        };
        let seq = self.tree.push(self.tree.head, of, NodeKind::User, tokens, self.goals.focus);
        self.tree.set_demands(seq, demands);
        self.tree.head = Some(seq);
        self.with_run(|run| {
            run.opening = None;
            run.answered = None;
            run.first = run.first.or(Some(seq));
            // Somebody had a look, and said how to go on.
            run.progress = Progress::default();
        });
    }

    pub(crate) fn rewound(&mut self, data: &Rewound) {
        self.tree.head = data.head;
        self.reload_skills();
        self.rewind_goals();
        self.rewind_inbox();
        self.context.window_extra = 0;
        (self.counting.counted, self.context.summarised_to) = (None, None);
        self.context.recalled.clear();
        self.approvals.reopened.clear();
        let message = self.between_runs.rewind.take().and_then(|rewind| rewind.message);
        self.between_runs.opening = Some(message.map_or(Opening::Again, Opening::Message));
    }
}
