//! Whether a run is an agent or a single call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// An agent: the model works with tools until it gives its final answer.
    #[default]
    Agent,
    /// One call of the model, without tools.
    Call,
}

impl RunMode {
    pub(crate) fn is_default(&self) -> bool {
        *self == RunMode::default()
    }
}
