//! The plan as data: goals, the operations that change them, and the events about them.

use crate::{CallId, ChildMode, Principal, Seq, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A goal's number; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct GoalId(pub u32);

/// Where a goal stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

/// A node of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// Its number.
    pub id: GoalId,
    /// The goal that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<GoalId>,
    /// What is to be reached.
    pub description: String,
    /// Why it was added.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Where it stands.
    pub status: GoalStatus,
    /// What came of it, once it is completed or abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The last message before it was made; a rewind to an earlier one drops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_after: Option<Seq>,
    /// What the model calls it, where it named it: the id of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The agents that it was handed to, if a call that starts agents made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_call: Option<AgentCallGoal>,
}

/// What a goal is that was handed to other agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCallGoal {
    /// The call.
    pub call: CallId,
    /// What the agents are for.
    pub mode: ChildMode,
    /// Their traces.
    pub sub_trace_ids: Vec<TraceId>,
}

impl Goal {
    /// Whether nothing is to be done for it any more.
    pub fn is_finished(&self) -> bool {
        matches!(self.status, GoalStatus::Completed | GoalStatus::Abandoned)
    }
}

/// What the plan as a whole is for and held to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Terms {
    /// What all goals serve.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mission: String,
    /// What is taken to be so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// What must be kept to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// What was pinned: shown in these very words after every cut, and changed by no plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<String>,
}

/// A step of a plan as a model or a person writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What the writer calls it, or the number of a goal that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is to be reached. It may be left out of an update of a step that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it stands; pending if it is new and nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<GoalStatus>,
    /// The `id` of the step that it serves, which comes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// One change of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum GoalOp {
    /// A goal at the end of the top level, or under another, or right after another.
    Add {
        /// What is to be reached.
        description: String,
        /// Why.
        #[serde(default)]
        reason: String,
        /// The goal that it serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        under: Option<GoalId>,
        /// The goal that it follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<GoalId>,
    },
    /// Work on this one from here on.
    Focus {
        /// Which.
        id: GoalId,
    },
    /// It is reached.
    Done {
        /// Which; the one in focus if it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<GoalId>,
        /// What came of it.
        summary: String,
    },
    /// It is given up.
    Abandon {
        /// Which; the one in focus if it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<GoalId>,
        /// Why.
        summary: String,
    },
    /// It changes; what is left out stays.
    Patch {
        /// Which.
        id: GoalId,
        /// What is to be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Where it stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<GoalStatus>,
    },
    /// The plan is these steps and no others. A step that is there already stays the goal that it is; what is not among them is
    /// dropped, or abandoned if it was worked on. What is finished stays.
    Set {
        /// The steps, each after the one that it serves.
        steps: Vec<Step>,
    },
    /// Some steps change; those that are not there yet are added.
    Update {
        /// The steps, each after the one that it serves.
        steps: Vec<Step>,
    },
    /// What the plan as a whole is for and held to; what is left out stays.
    Terms {
        /// What all goals serve.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mission: Option<String>,
        /// What is taken to be so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assumptions: Option<Vec<String>>,
        /// What must be kept to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        constraints: Option<Vec<String>>,
    },
    /// These words are to stay in sight.
    Pin {
        /// The words.
        text: String,
    },
    /// A pin is taken off.
    Unpin {
        /// Its place among the pins, from 1.
        number: u32,
    },
}

impl GoalOp {
    /// All that it says in words.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            GoalOp::Add { description, reason, .. } => vec![description, reason],
            GoalOp::Focus { .. } | GoalOp::Unpin { .. } => Vec::new(),
            GoalOp::Pin { text } => vec![text],
            GoalOp::Done { summary, .. } | GoalOp::Abandon { summary, .. } => vec![summary],
            GoalOp::Patch { description, reason, .. } => [description, reason].into_iter().flatten().collect(),
            GoalOp::Set { steps } | GoalOp::Update { steps } => {
                steps.iter_mut().flat_map(|step| [&mut step.id, &mut step.title, &mut step.under]).flatten().collect()
            }
            GoalOp::Terms { mission, assumptions, constraints } => {
                let lists = [assumptions, constraints].into_iter().flatten().flatten();
                mission.iter_mut().chain(lists).collect()
            }
        }
    }
}

/// What a hook of the owner's wants the model to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookText {
    /// Its name.
    pub hook: String,
    /// What it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Why it said nothing, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// `injected`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// The node's number.
    pub seq: Seq,
    /// What the model is told of its plan and its budgets.
    pub text: String,
    /// The estimated size of all that it is told.
    pub tokens: u32,
    /// What the hooks that were asked said, which is told after that, and which of them failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookText>,
}

/// `goals_changed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalsChanged {
    /// The operations, applied in order.
    pub ops: Vec<GoalOp>,
    /// Who asked.
    pub by: Principal,
}
