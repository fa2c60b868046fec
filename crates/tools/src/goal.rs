//! `goal`: how a model keeps its plan. An internal tool: it changes the trace and nothing else.

use crate::{Fut, Tool, ToolContext, ToolDoc};
use mainpath_types::{EffectClass, GoalId, GoalOp, GoalStatus, Step, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

/// Keeps the plan: a tree of goals.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoalTool;

/// What is to be done with the plan. The fields say little: every request has them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalArgs {
    op: GoalAction,
    id: Option<u32>,
    description: Option<String>,
    reason: Option<String>,
    /// The goal that it serves.
    under: Option<u32>,
    /// The goal that it follows.
    after: Option<u32>,
    summary: Option<String>,
    #[schemars(extend("enum" = STATUS))]
    status: Option<String>,
    steps: Option<Vec<StepArgs>>,
    mission: Option<String>,
    assumptions: Option<Vec<String>>,
    constraints: Option<Vec<String>>,
    /// Words to pin.
    text: Option<String>,
}

const STATUS: [&str; 4] = ["pending", "in_progress", "completed", "abandoned"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GoalAction {
    Add,
    Focus,
    Done,
    Abandon,
    Patch,
    Set,
    Pin,
    Unpin,
    #[default]
    Show,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepArgs {
    /// A name of your own, or a goal's number.
    id: Option<String>,
    title: Option<String>,
    #[schemars(extend("enum" = STATUS))]
    status: Option<String>,
    /// The id of an earlier step.
    under: Option<String>,
}

/// Why a call asks for no operations on the plan, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// A status is unknown.
    #[error("{name:?} is not a status; there are: {}.", STATUS.join(", "))]
    Status {
        /// The status.
        name: String,
    },
    /// The operation does not take this field.
    #[error("{field:?} says nothing to {op}, which takes {}.", listed(takes))]
    Field {
        /// The field that is given.
        field: &'static str,
        /// The operation.
        op: &'static str,
        /// The fields that the operation takes.
        takes: &'static [&'static str],
    },
    /// The operation needs this field.
    #[error("{op} needs {field:?}.")]
    Missing {
        /// The operation.
        op: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A goal is to be patched, without what changes.
    #[error("patch needs \"description\", \"reason\" or \"status\".")]
    NoChange,
    /// Nothing is to be patched.
    #[error("patch needs something to change.")]
    EmptyPatch,
}

/// What a status is called.
fn status(name: &str) -> Result<GoalStatus, GoalError> {
    match name {
        "pending" => Ok(GoalStatus::Pending),
        "in_progress" => Ok(GoalStatus::InProgress),
        "completed" => Ok(GoalStatus::Completed),
        "abandoned" => Ok(GoalStatus::Abandoned),
        other => Err(GoalError::Status { name: other.into() }),
    }
}

impl GoalArgs {
    /// The operations that are asked for; none where the plan is only to be shown. Errors: what is missing or does not belong
    /// there, for the model.
    pub fn ops(self) -> Result<Vec<GoalOp>, GoalError> {
        let given = [
            ("id", self.id.is_some()),
            ("description", self.description.is_some()),
            ("reason", self.reason.is_some()),
            ("under", self.under.is_some()),
            ("after", self.after.is_some()),
            ("summary", self.summary.is_some()),
            ("status", self.status.is_some()),
            ("steps", self.steps.is_some()),
            ("mission", self.mission.is_some()),
            ("assumptions", self.assumptions.is_some()),
            ("constraints", self.constraints.is_some()),
            ("text", self.text.is_some()),
        ];
        let (op, takes): (_, &'static [&'static str]) = match self.op {
            GoalAction::Add => ("add", &["description", "reason", "under", "after"]),
            GoalAction::Focus => ("focus", &["id"]),
            GoalAction::Done => ("done", &["id", "summary"]),
            GoalAction::Abandon => ("abandon", &["id", "summary"]),
            GoalAction::Patch => {
                ("patch", &["id", "description", "reason", "status", "mission", "assumptions", "constraints"])
            }
            GoalAction::Set => ("set", &["steps", "mission", "assumptions", "constraints"]),
            GoalAction::Pin => ("pin", &["text"]),
            GoalAction::Unpin => ("unpin", &["id"]),
            GoalAction::Show => ("show", &[]),
        };
        if let Some(&(field, _)) = given.iter().find(|(field, given)| *given && !takes.contains(field)) {
            return Err(GoalError::Field { field, op, takes });
        }
        let GoalArgs { mission, assumptions, constraints, .. } = self;
        let has_terms = mission.is_some() || assumptions.is_some() || constraints.is_some();
        let state = self.status.as_deref().map(status).transpose()?;
        let terms = has_terms.then_some(GoalOp::Terms { mission, assumptions, constraints });
        let needed = |field| GoalError::Missing { op, field };
        let one = |op: GoalOp| Ok(vec![op]);
        match self.op {
            GoalAction::Add => one(GoalOp::Add {
                description: self.description.ok_or_else(|| needed("description"))?,
                reason: self.reason.unwrap_or_default(),
                under: self.under.map(GoalId),
                after: self.after.map(GoalId),
            }),
            GoalAction::Focus => one(GoalOp::Focus { id: GoalId(self.id.ok_or_else(|| needed("id"))?) }),
            GoalAction::Done => {
                one(GoalOp::Done { id: self.id.map(GoalId), summary: self.summary.unwrap_or_default() })
            }
            GoalAction::Abandon => {
                one(GoalOp::Abandon { id: self.id.map(GoalId), summary: self.summary.unwrap_or_default() })
            }
            GoalAction::Patch => {
                let changes = self.description.is_some() || self.reason.is_some() || self.status.is_some();
                let goal = match self.id.map(GoalId) {
                    Some(id) if changes => {
                        let (description, reason) = (self.description, self.reason);
                        Some(GoalOp::Patch { id, description, reason, status: state })
                    }
                    None if changes => return Err(needed("id")),
                    Some(_) => return Err(GoalError::NoChange),
                    None if terms.is_none() => return Err(GoalError::EmptyPatch),
                    None => None,
                };
                Ok(terms.into_iter().chain(goal).collect())
            }
            GoalAction::Set => {
                let step = |StepArgs { id, title, status: name, under }: StepArgs| {
                    Ok(Step { id, title, status: name.as_deref().map(status).transpose()?, under })
                };
                let steps: Result<Vec<Step>, GoalError> =
                    self.steps.ok_or_else(|| needed("steps"))?.into_iter().map(step).collect();
                Ok(terms.into_iter().chain([GoalOp::Set { steps: steps? }]).collect())
            }
            GoalAction::Pin => one(GoalOp::Pin { text: self.text.ok_or_else(|| needed("text"))? }),
            GoalAction::Unpin => one(GoalOp::Unpin { number: self.id.ok_or_else(|| needed("id"))? }),
            GoalAction::Show => Ok(Vec::new()),
        }
    }
}

fn listed(fields: &[&str]) -> String {
    if fields.is_empty() { "nothing else".into() } else { fields.join(", ") }
}

impl Tool for GoalTool {
    type Args = GoalArgs;
    const NAME: &'static str = "goal";

    fn describe(&self) -> ToolDoc {
        let text = "Keeps your plan, a tree of goals with numbers; answers with the plan. op: add (description, reason, \
                    under or after), focus (id) on what you work on, done or abandon (summary; id, else the goal in focus), patch (id \
                    and what changes), set (steps: the whole plan; mission, assumptions, constraints), pin (text: words of the user's that must stay \
                    in sight), unpin (id: the pin's number), show.";
        ToolDoc { internal: true, ..ToolDoc::new(text, EffectClass::ReadOnly) }
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: GoalArgs) -> Fut<'a, ToolOutput> {
        let text = "The plan belongs to the trace: nothing but the trace's own driver can change it.";
        Box::pin(async move { ToolOutput::failed("internal", text) })
    }
}
