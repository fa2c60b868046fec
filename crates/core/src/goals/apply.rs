//! The plan changes, and the model is told.

use crate::{NodeKind, State};
use mainpath_types::{EventId, GoalId, GoalOp, Injected};

impl State {
    pub(crate) fn inject(&mut self, event: EventId, data: &Injected) {
        let seq = self.tree.push(self.tree.head, event, NodeKind::Injected, data.tokens, None);
        self.tree.head = Some(seq);
        (self.reminders.turn, self.reminders.plan_is_news, self.reminders.pin_is_news) =
            (self.counts.turns, false, false);
        (self.reminders.plan_changed, self.reminders.plan_hidden, self.inbox.is_news) = (false, false, false);
    }

    /// The plan as it was made up to the head. Where something is cut away there, it may not be seen any more.
    pub(crate) fn rewind_goals(&mut self) {
        self.goals.rewind(self.tree.head);
        let planned = !self.goals.is_empty();
        (self.reminders.plan_changed, self.reminders.plan_hidden) =
            (planned, planned && self.tree.cut_at(self.tree.head).is_some());
    }

    pub(crate) fn change_goals(&mut self, ops: &[GoalOp]) {
        let head = self.tree.head;
        self.context.unswept |= !ops.is_empty();
        self.reminders.plan_changed |= !ops.is_empty();
        let begins = self.goals.list().is_empty();
        for op in ops {
            // What was refused when it was offered is not in the log; an odd log changes nothing.
            let _ = self.goals.change(op, head);
        }
        if begins {
            let top: Vec<GoalId> = self.goals.under(None).map(|goal| goal.id).collect();
            self.goals.root = if let [only] = top[..] { Some(only) } else { None };
        }
    }
}
