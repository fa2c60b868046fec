//! A child enters the table, and ends.

use crate::children::decide::time_in;
use crate::{Child, State};
use mainpath_types::{CallId, ChildOutcome, ChildPatch, Millis, Share, SubTraceCompleted, SubTraceStarted};

impl State {
    /// Its share is set aside.
    pub(crate) fn start_child(&mut self, data: &SubTraceStarted, at: Millis) {
        self.children.latest = self.children.latest.max(time_in(&data.child).unwrap_or_default());
        self.children.list.push(Child {
            call: data.call,
            nth: data.nth,
            of: data.of,
            trace: Some(data.child.clone()),
            started: at,
            mode: data.mode,
            task: data.task.as_str().into(),
            place: data.place,
            after: data.after,
            share: data.share,
            outcome: None,
            active_ms: 0,
        });
        self.with_run(|run| run.children = run.children.saturating_add(1));
        self.reminders.plan_changed |= self.goals.hand_on(data, self.tree.head);
    }

    /// What it left of its share is the run's again.
    pub(crate) fn end_child(&mut self, data: &SubTraceCompleted) {
        let handed = &data.handed;
        let longest = self.longest_of(data.call);
        match self.children.list.iter_mut().rev().find(|child| child.call == data.call && child.nth == data.nth) {
            Some(child) => {
                child.share = Share::default();
                child.outcome = Some(data.outcome);
                child.active_ms = handed.active_ms;
            }
            None => self.children.list.push(Child {
                call: data.call,
                nth: data.nth,
                of: data.of,
                trace: handed.child.clone(),
                started: 0,
                mode: Default::default(),
                task: "".into(),
                place: Default::default(),
                after: 0,
                share: Share::default(),
                outcome: Some(data.outcome),
                active_ms: 0,
            }),
        }
        let of = self.children.of(data.call);
        let outcomes: Vec<ChildOutcome> = of.filter_map(|child| child.outcome).collect();
        let is_last = outcomes.len() >= usize::from(data.of);
        self.reminders.plan_changed |= self.goals.take_back(data, is_last.then_some(&outcomes));
        if let (Some(child), Some(patch)) = (&handed.child, &handed.patch) {
            self.children.patches.retain(|known| known.child != *child);
            let (child, patch, files) = (child.clone(), patch.clone(), handed.files.clone());
            self.children.patches.push(ChildPatch { child, patch, files });
        }
        // The run's clock stood while children worked: the longest of those that worked side by side counts.
        let more = handed.active_ms.saturating_sub(longest);
        self.spent += handed.spent;
        self.with_run(|run| {
            run.settle(handed.usage, handed.cost, handed.spent);
            run.calls = run.calls.saturating_add(handed.calls);
            run.children = run.children.saturating_add(handed.children);
            run.children_ms = run.children_ms.saturating_add(more);
        });
    }

    fn longest_of(&self, call: CallId) -> Millis {
        self.children.of(call).map(|child| child.active_ms).max().unwrap_or_default()
    }
}
