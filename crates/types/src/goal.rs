//! The plan as data: goals and the operations that change them.

use crate::Seq;
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
}
