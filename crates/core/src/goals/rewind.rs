//! A rewind of the plan: what changes took from it comes back.

use super::former::Former;
use super::{DROPPED, Goals};
use mainpath_types::{Goal, GoalStatus, Seq};
use std::sync::Arc;

impl Goals {
    /// Notes what a change at `at` took from the plan that was there before it.
    pub(super) fn note(&mut self, before: &Goals, at: Option<Seq>) {
        let is_as_it_was = |goal: &&Goal| self.get(goal.id).is_some_and(|now| is_same(goal, now));
        let goals: Vec<Goal> = before.list.iter().filter(|goal| !is_as_it_was(goal)).cloned().collect();
        let stayed = self.list.iter().filter(|goal| before.get(goal.id).is_some()).map(|goal| goal.id);
        let has_order = stayed.eq(before.list.iter().map(|goal| goal.id));
        let order = if has_order { Vec::new() } else { before.list.iter().map(|goal| goal.id).collect() };
        let terms = (self.terms != before.terms).then(|| before.terms.clone());
        if terms.is_some() || !goals.is_empty() || !order.is_empty() {
            self.former.push(Arc::new(Former { at, terms, goals, order }));
        }
    }

    /// After a rewind: the plan as it was when `head` was the newest message, each goal as far as it has come since; one that
    /// a later plan dropped, as far as it had come by then. Those in progress wait again; no focus.
    pub fn rewind(&mut self, head: Option<Seq>) {
        let now = self.list.clone();
        let kept = self.former.iter().take_while(|former| former.at <= head).count();
        let left = self.former.split_off(kept);
        left.iter().rev().for_each(|former| self.undo(former));
        self.list.retain(|goal| goal.made_after <= head);
        for goal in &mut self.list {
            if let Some(now) = now.iter().find(|now| now.id == goal.id && !is_dropped(now)) {
                (goal.status, goal.summary) = (now.status, now.summary.clone());
            }
            if goal.status == GoalStatus::InProgress {
                goal.status = GoalStatus::Pending;
            }
        }
        self.focus = None;
    }

    fn undo(&mut self, former: &Former) {
        for goal in &former.goals {
            match self.list.iter_mut().find(|now| now.id == goal.id) {
                Some(now) => now.clone_from(goal),
                None => self.list.push(goal.clone()),
            }
        }
        if !former.order.is_empty() {
            let place = |goal: &Goal| former.order.iter().position(|id| *id == goal.id);
            self.list.sort_by_key(|goal| place(goal).unwrap_or(usize::MAX));
        }
        if let Some(terms) = &former.terms {
            self.terms = terms.clone();
        }
    }
}

/// Whether a goal is the same in the same place, however far it has come.
fn is_same(goal: &Goal, now: &Goal) -> bool {
    let Goal { id, parent, description, reason, made_after, step, status: _, summary: _, agent_call: _ } = goal;
    let is_there = (*id, *parent, *made_after) == (now.id, now.parent, now.made_after);
    let says = (description, reason, step) == (&now.description, &now.reason, &now.step);
    is_there && says && is_dropped(goal) == is_dropped(now)
}

/// Whether a new plan left a goal out that was worked on.
fn is_dropped(goal: &Goal) -> bool {
    goal.status == GoalStatus::Abandoned && goal.summary.as_deref() == Some(DROPPED)
}
