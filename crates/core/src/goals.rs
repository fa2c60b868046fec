//! The plan: a tree of goals, changed by recorded operations only.

use crate::Refusal;
use mainpath_types::{Goal, GoalId, GoalOp, GoalStatus, Seq};

/// The plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goals {
    /// Siblings in their order, parents anywhere.
    list: Vec<Goal>,
    /// The goal that is worked on.
    pub focus: Option<GoalId>,
    /// The last number given; never given again.
    last: u32,
}

impl Goals {
    /// All goals.
    pub fn list(&self) -> &[Goal] {
        &self.list
    }

    /// A goal by its number.
    pub fn get(&self, id: GoalId) -> Option<&Goal> {
        self.list.iter().find(|goal| goal.id == id)
    }

    /// Carries out an operation that was requested when `head` was the newest message. A refused one changes nothing.
    pub fn change(&mut self, op: &GoalOp, head: Option<Seq>) -> Result<(), Refusal> {
        match op {
            GoalOp::Add { description, reason, under, after } => self.add(description, reason, *under, *after, head),
            GoalOp::Focus { id } => {
                self.find(*id)?.status = GoalStatus::InProgress;
                self.focus = Some(*id);
                Ok(())
            }
            GoalOp::Done { id, summary } => self.end(*id, GoalStatus::Completed, summary),
            GoalOp::Abandon { id, summary } => self.end(*id, GoalStatus::Abandoned, summary),
        }
    }

    fn add(
        &mut self,
        description: &str,
        reason: &str,
        under: Option<GoalId>,
        after: Option<GoalId>,
        head: Option<Seq>,
    ) -> Result<(), Refusal> {
        if description.trim().is_empty() {
            return Err(Refusal::BadGoal("a goal needs a description".into()));
        }
        let (parent, at) = match (under, after) {
            (Some(_), Some(_)) => return Err(Refusal::BadGoal("a goal goes either under or after another".into())),
            (Some(parent), None) => (Some(self.find(parent)?.id), self.list.len()),
            (None, Some(after)) => {
                let parent = self.find(after)?.parent;
                let at = self.list.iter().position(|goal| goal.id == after).map_or(self.list.len(), |at| at + 1);
                (parent, at)
            }
            (None, None) => (None, self.list.len()),
        };
        self.last += 1;
        let goal = Goal {
            id: GoalId(self.last),
            parent,
            description: description.into(),
            reason: reason.into(),
            status: GoalStatus::Pending,
            summary: None,
            made_after: head,
        };
        self.list.insert(at, goal);
        Ok(())
    }

    fn end(&mut self, id: Option<GoalId>, status: GoalStatus, summary: &str) -> Result<(), Refusal> {
        let id = id.or(self.focus).ok_or_else(|| Refusal::BadGoal("no goal is in focus: name one".into()))?;
        let goal = self.find(id)?;
        goal.status = status;
        goal.summary = Some(summary.into());
        if self.focus == Some(id) {
            self.focus = None;
        }
        Ok(())
    }

    fn find(&mut self, id: GoalId) -> Result<&mut Goal, Refusal> {
        let found = self.list.iter_mut().find(|goal| goal.id == id);
        found.ok_or_else(|| Refusal::BadGoal(format!("there is no goal {}", id.0)))
    }

    /// No plan; numbers that were given are not given again.
    pub fn clear(&mut self) {
        *self = Goals { last: self.last, ..Goals::default() };
    }

    /// After a rewind: goals made after the new head go, with those under them; those in progress wait again; no focus.
    pub fn rewind(&mut self, head: Option<Seq>) {
        self.list.retain(|goal| goal.made_after <= head);
        loop {
            let ids: Vec<GoalId> = self.list.iter().map(|goal| goal.id).collect();
            let before = self.list.len();
            self.list.retain(|goal| goal.parent.is_none_or(|parent| ids.contains(&parent)));
            if self.list.len() == before {
                break;
            }
        }
        for goal in self.list.iter_mut().filter(|goal| goal.status == GoalStatus::InProgress) {
            goal.status = GoalStatus::Pending;
        }
        self.focus = None;
    }
}
