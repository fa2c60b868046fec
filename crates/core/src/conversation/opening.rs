//! What happens between two runs: a rewind, a new beginning, and what the next run opens with.

use crate::Queued;
use mainpath_types::Seq;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rewind that waits for the run to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rewind {
    /// The message, as asked; 0 is before the first.
    pub after: Seq,
    /// What to say there.
    pub message: Option<Queued>,
}

/// What a run opens with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// A message.
    Message(Queued),
    /// Nothing new: the model answers again.
    Again,
    /// Nothing new: the model goes on.
    GoOn,
}

/// What happens between two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BetweenRuns {
    /// A rewind that waits for the run to close.
    pub rewind: Option<Rewind>,
    /// Whether the conversation is to be begun anew once the run has closed.
    pub clearing: bool,
    /// What a rewind wants the next run to open with.
    pub opening: Option<Opening>,
}
