//! What is news about the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the model was told of its plan, and what is news since.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reminders {
    /// The number of turns when the model was last reminded of its plan.
    pub turn: u32,
    /// Whether somebody else than the model has changed the plan since.
    pub plan_is_news: bool,
    /// Whether what is pinned was changed since.
    pub pin_is_news: bool,
    /// Whether the plan was changed since, or another run has begun: what was told is out of date.
    pub plan_changed: bool,
    /// Whether a cut has taken the plan, as it is now, out of sight.
    pub plan_hidden: bool,
}
