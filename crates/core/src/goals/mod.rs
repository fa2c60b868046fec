//! The plan: a tree of goals and what it is held to, changed by recorded operations only.

mod agent_call;
pub(crate) mod apply;
pub(crate) mod decide;
mod former;
pub(crate) mod news;
pub(crate) mod reminders;
mod rewind;
pub mod stats;
pub mod view;

use crate::Refusal;
use former::Former;
use mainpath_types::{Goal, GoalId, GoalOp, GoalStatus, Seq, Step, Terms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// So many goals a plan may have.
const MOST_GOALS: usize = 500;
/// So many levels.
const MOST_LEVELS: usize = 12;
/// So many characters a text of it may have, and a summary.
const MOST_CHARS: (usize, usize) = (2_000, 8_000);
/// So many characters all assumptions have together, and all constraints: models are told them whole.
const MOST_TERMS: usize = 4_000;
/// What is said of a goal that was worked on and is no part of a new plan.
const DROPPED: &str = "No longer part of the plan.";

/// The plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goals {
    /// Siblings in their order, parents anywhere.
    list: Vec<Goal>,
    /// The goal that is worked on.
    pub focus: Option<GoalId>,
    /// The goal that the plan began with, if it began with one alone: what serves no other serves it.
    pub root: Option<GoalId>,
    /// What all of it is for and held to.
    pub terms: Terms,
    /// What changes took from all this, in their order.
    former: Vec<Arc<Former>>,
    /// The last number given; never given again.
    last: u32,
    /// The goals that were completed when the last run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    done_before: Vec<GoalId>,
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

    /// The goals right under one, or those of the top level, in their order.
    pub fn under(&self, parent: Option<GoalId>) -> impl Iterator<Item = &Goal> {
        self.list.iter().filter(move |goal| goal.parent == parent)
    }

    /// A run begins: what is completed by now is not its work.
    pub(crate) fn begin_run(&mut self) {
        let done = self.list.iter().filter(|goal| goal.status == GoalStatus::Completed);
        self.done_before = done.map(|goal| goal.id).collect();
    }

    /// The goals that the last run completed.
    pub(crate) fn completed_since(&self) -> impl Iterator<Item = &Goal> {
        let is_new = |goal: &&Goal| goal.status == GoalStatus::Completed && !self.done_before.contains(&goal.id);
        self.list.iter().filter(is_new)
    }

    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.terms == Terms::default()
    }

    /// The number that the next goal gets.
    pub fn next_id(&self) -> GoalId {
        GoalId(self.last.saturating_add(1))
    }

    /// The goals above one, from its parent to the top level.
    pub fn above(&self, id: GoalId) -> impl Iterator<Item = &Goal> {
        let parent = |goal: &Goal| self.get(goal.parent?);
        // It ends: what would put a goal under itself is refused.
        std::iter::successors(self.get(id).and_then(parent), move |goal| parent(goal))
    }

    /// Carries out operations that were requested when `head` was the newest message: all of them, or none. Errors: what is
    /// wrong with the first that cannot be carried out, for whoever asked.
    pub fn change_all(&mut self, ops: &[GoalOp], head: Option<Seq>) -> Result<(), Refusal> {
        let mut after = self.clone();
        ops.iter().try_for_each(|op| after.change(op, head))?;
        *self = after;
        Ok(())
    }

    /// Carries out an operation that was requested when `head` was the newest message. A refused one changes nothing.
    pub fn change(&mut self, op: &GoalOp, head: Option<Seq>) -> Result<(), Refusal> {
        let mut after = self.clone();
        after.carry_out(op, head)?;
        after.note(self, head);
        *self = after;
        Ok(())
    }

    /// The same, but that one which is refused may have been carried out in part.
    fn carry_out(&mut self, op: &GoalOp, head: Option<Seq>) -> Result<(), Refusal> {
        match op {
            GoalOp::Add { description, reason, under, after } => self.add(description, reason, *under, *after, head),
            GoalOp::Focus { id } => {
                self.set_status(*id, GoalStatus::InProgress)?;
                self.focus = Some(*id);
                Ok(())
            }
            GoalOp::Done { id, summary } => self.end(*id, GoalStatus::Completed, summary),
            GoalOp::Abandon { id, summary } => self.end(*id, GoalStatus::Abandoned, summary),
            GoalOp::Patch { id, description, reason, status } => {
                let description = description.as_deref().map(title).transpose()?;
                let reason = reason.as_deref().map(|text| bounded(text, MOST_CHARS.0)).transpose()?;
                let goal = self.find(*id)?;
                goal.description = description.unwrap_or(std::mem::take(&mut goal.description));
                goal.reason = reason.unwrap_or(std::mem::take(&mut goal.reason));
                status.map_or(Ok(()), |status| self.set_status(*id, status))
            }
            GoalOp::Set { steps } => self.set(steps, head).and_then(|()| self.check_levels()),
            GoalOp::Update { steps } => self.take_steps(steps, false, head).and_then(|_| self.check_levels()),
            GoalOp::Terms { mission, assumptions, constraints } => {
                let mission = mission.as_deref().map(|text| bounded(text, MOST_CHARS.0)).transpose()?;
                let assumptions = assumptions.as_deref().map(terms).transpose()?;
                let constraints = constraints.as_deref().map(terms).transpose()?;
                let old = std::mem::take(&mut self.terms);
                self.terms = Terms {
                    mission: mission.unwrap_or(old.mission),
                    assumptions: assumptions.unwrap_or(old.assumptions),
                    constraints: constraints.unwrap_or(old.constraints),
                    pinned: old.pinned,
                };
                Ok(())
            }
            GoalOp::Pin { text } => self.pin(text),
            GoalOp::Unpin { number } => {
                let at = (*number as usize).checked_sub(1).filter(|at| *at < self.terms.pinned.len());
                let at = at.ok_or_else(|| Refusal::BadGoal(format!("there is no pin {number}")))?;
                self.terms.pinned.remove(at);
                Ok(())
            }
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
        let (description, reason) = (title(description)?, bounded(reason, MOST_CHARS.0)?);
        let (parent, at) = match (under, after) {
            (Some(_), Some(_)) => return bad("a goal goes either under or after another"),
            (Some(parent), None) => (Some(self.find(parent)?.id), self.list.len()),
            (None, Some(after)) => {
                let parent = self.find(after)?.parent;
                let at = self.list.iter().position(|goal| goal.id == after).map_or(self.list.len(), |at| at + 1);
                (parent, at)
            }
            (None, None) => (None, self.list.len()),
        };
        self.insert(at, Goal { parent, description, reason, made_after: head, ..blank() }).map(drop)
    }

    /// Gives a goal its number and its place.
    fn insert(&mut self, at: usize, goal: Goal) -> Result<GoalId, Refusal> {
        if self.list.len() >= MOST_GOALS {
            return bad(format!("the plan has {MOST_GOALS} goals already; finish it, or set a shorter one"));
        }
        if goal.parent.is_some_and(|parent| self.above(parent).count() + 2 > MOST_LEVELS) {
            return too_deep();
        }
        let id = self.next_id();
        self.last = id.0;
        self.list.insert(at.min(self.list.len()), Goal { id, ..goal });
        Ok(id)
    }

    /// A step that moves takes along what is under it.
    fn check_levels(&self) -> Result<(), Refusal> {
        let is_too_deep = |goal: &Goal| self.above(goal.id).count() + 1 > MOST_LEVELS;
        if self.list.iter().any(is_too_deep) { too_deep() } else { Ok(()) }
    }

    fn set(&mut self, steps: &[Step], head: Option<Seq>) -> Result<(), Refusal> {
        let named = self.take_steps(steps, true, head)?;
        for goal in self.list.iter_mut().filter(|goal| !named.contains(&goal.id)) {
            if goal.status == GoalStatus::InProgress {
                goal.status = GoalStatus::Abandoned;
                goal.summary = Some(DROPPED.into());
            }
        }
        self.list.retain(|goal| named.contains(&goal.id) || goal.is_finished());
        let left: BTreeSet<GoalId> = self.list.iter().map(|goal| goal.id).collect();
        self.list.iter_mut().for_each(|goal| goal.parent = goal.parent.filter(|parent| left.contains(parent)));
        // In the order of the new plan, after what was finished before it.
        let place = |goal: &Goal| named.iter().position(|id| *id == goal.id).map_or(0, |at| at + 1);
        self.list.sort_by_key(place);
        if self.focus.is_some_and(|id| self.get(id).is_none_or(Goal::is_finished)) {
            self.focus = None;
        }
        Ok(())
    }

    /// Carries out steps one by one, and returns the goals that they are. `afresh`: they are a whole plan, in which a step that
    /// is there already stands where it is written, and a name may come back for something else than what was finished under it.
    fn take_steps(&mut self, steps: &[Step], afresh: bool, head: Option<Seq>) -> Result<Vec<GoalId>, Refusal> {
        let (mut done, mut names) = (Vec::new(), BTreeSet::new());
        for (number, step) in steps.iter().enumerate() {
            let place = || step.id.as_ref().map_or(format!("step {}", number + 1), |id| format!("step {id:?}"));
            if step.id.as_ref().is_some_and(|id| !names.insert(id)) {
                return bad(format!("{} is there twice", place()));
            }
            let parent = match step.under.as_deref() {
                None => None,
                Some(under) => match self.named(under) {
                    Some(parent) => Some(parent),
                    None => return bad(format!("{} is under {under:?}, which no step before it is", place())),
                },
            };
            let id = match (self.meant(step, afresh, &done), step.title.as_deref()) {
                (Some(id), text) => {
                    if parent.is_some_and(|parent| parent == id || self.above(parent).any(|goal| goal.id == id)) {
                        return bad(format!("{} cannot be under itself", place()));
                    }
                    let description = text.map(title).transpose()?;
                    let goal = self.find(id)?;
                    goal.description = description.unwrap_or(std::mem::take(&mut goal.description));
                    goal.parent = if afresh { parent } else { parent.or(goal.parent) };
                    id
                }
                (None, None) => return bad(format!("{} is not part of the plan, and it has no title", place())),
                (None, Some(text)) => {
                    let (description, name) = (title(text)?, step.id.as_deref().map(title).transpose()?);
                    let taken = self.list.iter_mut().filter(|goal| goal.step.is_some() && goal.step == name);
                    taken.for_each(|goal| goal.step = None);
                    let goal = Goal { parent, description, made_after: head, step: name, ..blank() };
                    self.insert(self.list.len(), goal)?
                }
            };
            if let Some(status) = step.status.filter(|status| self.get(id).is_some_and(|goal| goal.status != *status)) {
                self.set_status(id, status)?;
            }
            // A plan in steps has no other way to say what is worked on.
            if step.status == Some(GoalStatus::InProgress) {
                self.focus = Some(id);
            }
            done.push(id);
        }
        Ok(done)
    }

    /// The goal that a step is, if it is there already: by its id, else by its words.
    fn meant(&self, step: &Step, afresh: bool, done: &[GoalId]) -> Option<GoalId> {
        let text = step.title.as_deref().map(str::trim);
        let Some(name) = &step.id else {
            let same =
                |goal: &&Goal| goal.step.is_none() && Some(&*goal.description) == text && !done.contains(&goal.id);
            return self.list.iter().filter(|goal| !goal.is_finished()).find(same).map(|goal| goal.id);
        };
        let known = self.get(self.named(name)?)?;
        let another = afresh && known.is_finished() && text.is_some_and(|text| text != known.description);
        (!another).then_some(known.id)
    }

    /// The goal that a step's id means: what the model called it, else its number.
    fn named(&self, name: &str) -> Option<GoalId> {
        let step = self.list.iter().find(|goal| goal.step.as_deref() == Some(name));
        let number =
            || name.parse().ok().and_then(|number| self.get(GoalId(number))).filter(|goal| goal.step.is_none());
        step.or_else(number).map(|goal| goal.id)
    }

    fn end(&mut self, id: Option<GoalId>, status: GoalStatus, summary: &str) -> Result<(), Refusal> {
        let id = id.or(self.focus).ok_or_else(|| Refusal::BadGoal("no goal is in focus: name one".into()))?;
        let summary = bounded(summary, MOST_CHARS.1)?;
        self.set_status(id, status)?;
        self.find(id)?.summary = Some(summary);
        Ok(())
    }

    /// A finished goal gives the focus to the goal that it serves.
    fn set_status(&mut self, id: GoalId, status: GoalStatus) -> Result<(), Refusal> {
        let goal = self.find(id)?;
        goal.status = status;
        let is_open = !goal.is_finished();
        if is_open {
            goal.summary = None;
            self.done_before.retain(|done| *done != id);
        } else if self.focus == Some(id) {
            let next = self.above(id).find(|goal| !goal.is_finished()).map(|goal| goal.id);
            self.focus = next;
            if let Some(parent) = next {
                self.find(parent)?.status = GoalStatus::InProgress;
            }
        }
        Ok(())
    }

    /// Words that are pinned already are not pinned twice.
    fn pin(&mut self, text: &str) -> Result<(), Refusal> {
        let text = text.trim();
        if text.is_empty() {
            return bad("a pin needs words");
        }
        if self.terms.pinned.iter().any(|pinned| pinned == text) {
            return Ok(());
        }
        let chars = self.terms.pinned.iter().map(|pinned| pinned.chars().count()).sum::<usize>() + text.chars().count();
        if chars > MOST_TERMS {
            return bad(format!(
                "all pins together have {MOST_TERMS} characters at most; these would have {chars}: unpin one"
            ));
        }
        self.terms.pinned.push(text.into());
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
}

/// A goal of which nothing is known yet.
fn blank() -> Goal {
    Goal {
        id: GoalId(0),
        parent: None,
        description: String::new(),
        reason: String::new(),
        status: GoalStatus::Pending,
        summary: None,
        made_after: None,
        step: None,
        agent_call: None,
    }
}

fn too_deep<T>() -> Result<T, Refusal> {
    bad(format!("a plan has {MOST_LEVELS} levels at most"))
}

fn bad<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::BadGoal(why.into()))
}

/// What a goal is about: a text that says something.
fn title(text: &str) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return bad("a goal needs a description");
    }
    bounded(text.trim(), MOST_CHARS.0)
}

fn bounded(text: &str, most: usize) -> Result<String, Refusal> {
    match text.chars().count() {
        chars if chars > most => bad(format!("a text of a plan has {most} characters at most; this one has {chars}")),
        _ => Ok(text.into()),
    }
}

fn terms(list: &[String]) -> Result<Vec<String>, Refusal> {
    let chars: usize = list.iter().map(|text| text.chars().count()).sum();
    if chars > MOST_TERMS {
        return bad(format!("assumptions and constraints have {MOST_TERMS} characters at most; these have {chars}"));
    }
    list.iter().filter(|text| !text.trim().is_empty()).map(|text| title(text)).collect()
}
