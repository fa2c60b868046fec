//! What changes took from the plan, so that a rewind can give it back.

use mainpath_types::{Goal, GoalId, Seq, Terms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a change took from the plan. What it added needs no note: a goal knows when it was made. Where goals stand is none
/// either, as a rewind does not undo what was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Former {
    /// The newest message at the change.
    pub(super) at: Option<Seq>,
    /// What all of it was for and held to.
    pub(super) terms: Option<Terms>,
    /// The goals that it dropped, moved or worded anew, as they were.
    pub(super) goals: Vec<Goal>,
    /// The order that it broke.
    pub(super) order: Vec<GoalId>,
}
