//! The data of events that the log has in another form. What the log has as it is, is a type of `mainpath_types`.

use mainpath_types::{
    BranchKind, BranchOpened, CallId, CallResolved, GoalId, GoalStatus, ModelFinished, ModelMalformed, Principal,
    Resolution, Step, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// What a piece of something that is still coming belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieceOf {
    /// A model's answer: the number of its request.
    Request(u32),
    /// A call's output: the number of its attempt.
    Attempt(u32),
    /// Something else that is under way.
    Effect(Value),
}

/// `assistant_delta`, `thinking_delta`: more text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextPiece {
    /// The new text.
    pub text: String,
    /// What it is a piece of.
    #[serde(flatten)]
    pub of: PieceOf,
}

impl fmt::Display for TextPiece {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(to)
    }
}

/// `arguments_delta`: more of a call's arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArgumentsPiece {
    /// Which call of this answer, from 0.
    pub index: u16,
    /// The tool's name, when it became known with this piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The new text.
    pub text: String,
    /// What it is a piece of.
    #[serde(flatten)]
    pub of: PieceOf,
}

/// `tool_output_delta`: more of a running call's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputPiece {
    /// The call.
    pub call: CallId,
    /// The new text.
    pub text: String,
    /// What it is a piece of.
    #[serde(flatten)]
    pub of: PieceOf,
}

impl fmt::Display for OutputPiece {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(to)
    }
}

/// `notice`: a word about the run itself, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// One line, such as that the log cannot be written just now and is tried again.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(to)
    }
}

/// `action_partial`: what is known of an action before the answer is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PartialAction {
    /// The tool of a call.
    Tool {
        /// The number of the request.
        request: u32,
        /// Which call of this answer, from 0.
        index: u16,
        /// The tool, as the model names it.
        tool: String,
    },
    /// A value of a turn in JSON text.
    Value {
        /// Where it stands in the turn, such as `$.plan_update.steps[0].title`.
        path: String,
        /// What it says.
        value: String,
        /// What it is a piece of.
        #[serde(flatten)]
        of: PieceOf,
    },
}

/// `turn_started`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {}

/// `budget_changed`: limits that a new spec changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetChanged {
    /// Who changed them, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
    /// Each limit by its name.
    #[serde(flatten)]
    pub limits: BTreeMap<String, LimitChange>,
}

/// What a limit was and is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitChange {
    /// What it was.
    pub from: Value,
    /// What it is.
    pub to: Value,
}

/// `request_repacked`: a request was made again with less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestRepacked {
    /// The session, or the trace where there is none.
    pub chat_id: String,
    /// Why: a fixed word.
    pub reason: String,
    /// Which retry it is.
    pub retry: u32,
    /// Why, for people.
    pub message: String,
}

/// `model_response`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ModelResponse {
    /// In no valid form: the model is asked again.
    Malformed(ModelMalformed),
    /// A whole answer.
    Finished(ModelFinished),
}

/// `action_planned`: a call that the model wants made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionPlanned {
    /// The call.
    pub call: CallId,
    /// The tool, as the model names it.
    pub tool: String,
    /// The arguments as they will run: JSON text.
    pub arguments: String,
    /// The hooks that have changed the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<String>,
    /// Where its paths lead, if that is not where they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Why, as the model says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `action_validated`: what rules say of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionValidated {
    /// The call.
    pub call: CallId,
    /// The tool's own name.
    pub tool: Option<String>,
    /// What rules say.
    pub verdict: Verdict,
}

/// `approval_denied`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDenied {
    /// The call.
    pub call: CallId,
    /// The person or the rule.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// `action_executed`: an attempt of a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionExecuted {
    /// The call.
    pub call: CallId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// How it ended.
    pub resolution: Resolution,
    /// From start to end, in milliseconds.
    pub elapsed_ms: u64,
    /// What came of it, in numbers: `error`, `chars`, `exit_code`, … Its words are in `observation_recorded`.
    pub result: Map<String, Value>,
}

/// `observation_recorded`: what the model sees of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Observation {
    /// Of a call that was to run.
    Ended(Box<CallResolved>),
    /// Of a call that was answered at once, denied, or could not be made.
    AtOnce {
        /// The call.
        call: CallId,
        /// How it ended.
        resolution: Resolution,
        /// Why it could not be made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// The answer of an internal tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
}

impl Observation {
    /// The call.
    pub fn call(&self) -> CallId {
        match self {
            Observation::Ended(ended) => ended.call,
            Observation::AtOnce { call, .. } => *call,
        }
    }
}

/// `branch_opened`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SideBranchOpened {
    /// With the message that it begins with.
    Prompted(BranchOpened),
    /// After an answer in no valid form.
    Repair {
        /// What it is for.
        kind: BranchKind,
    },
}

/// What is done to the plan as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanOp {
    /// It has these steps and no others.
    Set,
    /// Some steps change.
    Update,
    /// Its terms change.
    Terms,
    /// Words are pinned.
    Pin,
    /// A pin is taken off.
    Unpin,
}

/// `plan_created`, `plan_updated`. What is not said stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanChanged {
    /// What is done; of several operations the one that says most.
    pub op: PlanOp,
    /// What all goals serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission: Option<String>,
    /// What is taken to be so: a list, or an object where the model gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumptions: Option<Value>,
    /// What must be kept to; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Value>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<PlanStep>>,
    /// The words that are pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The place of the pin that is taken off, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Who changes it, where it is not the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
}

/// A step of a plan, with its goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// The step as it was written, and its title and status as they are now.
    #[serde(flatten)]
    pub step: Step,
    /// The number of its goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalId>,
}

/// What is done to a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalChange {
    /// It is new.
    Add,
    /// It is worked on from here on.
    Focus,
    /// Its words or its status change.
    Patch,
    /// It is reached.
    Done,
    /// It is given up.
    Abandon,
}

/// `goal_added`, `goal_updated`. What is not said stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalChanged {
    /// What is done.
    pub op: GoalChange,
    /// The goal.
    pub id: Option<GoalId>,
    /// What is to be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The goal that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<GoalId>,
    /// The goal that it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<GoalId>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<GoalStatus>,
    /// Who changes it, where it is not the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
}
