//! `plan` and `plan_update` of the skills dialect, as operations on the plan.

use super::error::TurnError;
use super::words::Fields;
use mainpath_types::{GoalOp, GoalStatus, Step};
use serde_json::Value;

/// The operations of a plan: `goal`, `steps[{id, title, status}]`, `assumptions`, `constraints`. A `plan` takes the old one's
/// place, a `plan_update` changes what it names.
pub(super) fn read(name: &str, value: Value, tolerant: bool) -> Result<Vec<GoalOp>, TurnError> {
    let whole = name == "plan";
    let mut plan = Fields::new(name, value)?;
    let mission = plan.optional_text("goal")?;
    let given = match plan.take("steps") {
        None if whole => return Err(TurnError::Missing("plan.steps".into())),
        None => Vec::new(),
        Some(Value::Array(steps)) => steps,
        Some(other) => return Err(TurnError::kind(format!("{name}.steps"), &other, "an array")),
    };
    let mut steps = Vec::new();
    for (step, number) in given.into_iter().zip(0..) {
        steps.push(read_step(&format!("{name}.steps[{number}]"), step, whole, tolerant)?);
    }
    let assumptions = terms(name, "assumptions", plan.take("assumptions"))?;
    let constraints = terms(name, "constraints", plan.take("constraints"))?;
    plan.end(tolerant)?;
    let said = mission.is_some() || assumptions.is_some() || constraints.is_some();
    let terms = match whole {
        // What a whole plan does not name is no part of it.
        true => Some(GoalOp::Terms {
            mission,
            assumptions: Some(assumptions.unwrap_or_default()),
            constraints: Some(constraints.unwrap_or_default()),
        }),
        false => said.then_some(GoalOp::Terms { mission, assumptions, constraints }),
    };
    let steps = match whole {
        true => Some(GoalOp::Set { steps }),
        false => (!steps.is_empty()).then_some(GoalOp::Update { steps }),
    };
    Ok(terms.into_iter().chain(steps).collect())
}

fn read_step(place: &str, step: Value, whole: bool, tolerant: bool) -> Result<Step, TurnError> {
    let mut step = Fields::new(place, step)?;
    let id = match step.take("id") {
        None => None,
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) => Some(id.to_string()),
        Some(other) => return Err(TurnError::kind(format!("{place}.id"), &other, "a string")),
    };
    let title = if whole { Some(step.text("title")?) } else { step.optional_text("title")? };
    if title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(TurnError::EmptyField(format!("{place}.title")));
    }
    let status = match step.optional_text("status")?.as_deref() {
        None => None,
        Some("pending") => Some(GoalStatus::Pending),
        Some("in_progress") => Some(GoalStatus::InProgress),
        Some("completed") => Some(GoalStatus::Completed),
        Some("abandoned") => Some(GoalStatus::Abandoned),
        Some(other) => {
            let known = "\"pending\", \"in_progress\", \"completed\", \"abandoned\"";
            return Err(TurnError::value(format!("{place}.status"), other, known));
        }
    };
    step.end(tolerant)?;
    Ok(Step { id, title, status, under: None })
}

/// A value in words: texts as they are, lists and objects with a comma between two, in brackets where they are inside another.
fn line(value: &Value) -> String {
    let inner = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => format!("({})", line(value)),
        other => line(other),
    };
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(inner).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}: {}", inner(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Assumptions or constraints: one text or several, or what is named in an object, a line each.
fn terms(plan: &str, field: &str, value: Option<Value>) -> Result<Option<Vec<String>>, TurnError> {
    Ok(match value {
        None => None,
        Some(Value::Array(items)) => Some(items.iter().map(line).collect()),
        Some(Value::Object(fields)) => {
            Some(fields.iter().map(|(name, value)| format!("{name}: {}", line(value))).collect())
        }
        Some(Value::String(text)) => Some(vec![text]),
        Some(other) => return Err(TurnError::kind(format!("{plan}.{field}"), &other, "an array")),
    })
}
