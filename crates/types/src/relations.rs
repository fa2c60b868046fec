//! What an agent belongs to.

use crate::{GoalId, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent belongs to, for people and for other programs: it changes nothing of what the agent does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Relations {
    /// The session by whose name it was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What kind of agent it is: a preset's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The trace that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_trace: Option<TraceId>,
    /// Whether the trace that started it had read no words from outside when it set the task: then the task counts as its own words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_task: bool,
    /// The goal of that trace that it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_goal: Option<GoalId>,
    /// A digest of the request that it was made by, where that had a key: the same request made again makes no second one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What else the caller wants kept with it.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub context: serde_json::Map<String, serde_json::Value>,
}

impl Relations {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Relations::default()
    }
}
