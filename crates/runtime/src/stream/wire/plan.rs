//! Changes of the plan as watchers see them: with the numbers that goals got, and a whole plan as one event.

use super::fact::{Fact, value};
use mainpath_core::Goals;
use mainpath_types::{Goal, GoalId, GoalOp, Seq, Step};
use serde_json::{Map, Value, json};

/// The facts of operations on this plan, in order. What is said of the plan as a whole in one go (its terms, its steps) is one
/// fact: `plan_created` the first time, which `created` remembers, and `plan_updated` from then on.
pub(super) fn facts(plan: &Goals, ops: &[GoalOp], head: Option<Seq>, created: &mut bool) -> Vec<Fact> {
    let (mut plan, mut facts, mut whole) = (plan.clone(), Vec::new(), Map::new());
    for op in ops {
        let (next, focus) = (plan.next_id(), plan.focus);
        // A recorded operation was carried out once, so it can be again.
        let _ = plan.change(op, head);
        match op {
            GoalOp::Set { steps } | GoalOp::Update { steps } => {
                put(&mut whole, value(op));
                whole.insert("steps".into(), steps.iter().map(|step| told(&plan, step)).collect());
            }
            GoalOp::Terms { .. } | GoalOp::Pin { .. } | GoalOp::Unpin { .. } => put(&mut whole, value(op)),
            GoalOp::Add { .. } => {
                tell_whole(&mut whole, created, &mut facts);
                facts.push(("goal_added", with_id(op, Some(next))));
            }
            GoalOp::Focus { id } | GoalOp::Patch { id, .. } => {
                tell_whole(&mut whole, created, &mut facts);
                facts.push(("goal_updated", with_id(op, Some(*id))));
            }
            GoalOp::Done { id, .. } | GoalOp::Abandon { id, .. } => {
                tell_whole(&mut whole, created, &mut facts);
                facts.push(("goal_updated", with_id(op, id.or(focus))));
            }
        }
    }
    tell_whole(&mut whole, created, &mut facts);
    facts
}

fn tell_whole(whole: &mut Map<String, Value>, created: &mut bool, facts: &mut Vec<Fact>) {
    if !whole.is_empty() {
        let name = if std::mem::replace(created, true) { "plan_updated" } else { "plan_created" };
        facts.push((name, Value::Object(std::mem::take(whole))));
    }
}

fn put(whole: &mut Map<String, Value>, op: Value) {
    if let Value::Object(fields) = op {
        // Steps say more of what was done than terms.
        let is_named = whole.get("op").is_some_and(|name| name != "terms");
        whole.extend(fields.into_iter().filter(|(name, _)| name != "op" || !is_named));
    }
}

fn with_id(op: &GoalOp, id: Option<GoalId>) -> Value {
    let mut data = value(op);
    data["id"] = json!(id);
    data
}

/// A step as it stands in the plan now, with its goal's number.
fn told(plan: &Goals, step: &Step) -> Value {
    let is_meant = |goal: &&Goal| match (&step.id, &step.title) {
        (Some(id), _) => goal.step.as_ref() == Some(id) || goal.step.is_none() && id.parse() == Ok(goal.id.0),
        (None, Some(title)) => goal.description == title.trim(),
        (None, None) => false,
    };
    let mut data = value(step);
    if let Some(goal) = plan.list().iter().rev().find(is_meant) {
        data["goal"] = json!(goal.id);
        data["title"] = json!(goal.description);
        data["status"] = json!(goal.status);
    }
    data
}
