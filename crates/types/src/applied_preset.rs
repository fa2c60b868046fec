//! The preset that an agent was made from, as its log has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The preset that an agent was made from: what of it is in no other field of the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AppliedPreset {
    /// Its name.
    pub name: String,
    /// Where it stood: a file, or `builtin`.
    pub source: String,
    /// The skills that it names; `None`: it says nothing of skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// What it tells the agent; it is part of the spec's `instructions`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub instructions: String,
}
