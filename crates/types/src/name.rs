//! What a trace is called.

use crate::{Micros, Principal, Spent, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `trace_named`. A trace that was never named goes by its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceNamed {
    /// The name: one line.
    pub name: String,
    /// Who named it.
    pub by: Principal,
    /// The model that made the name out of the task, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<NameMade>,
}

/// What a model took to make a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NameMade {
    /// The model.
    pub model: String,
    /// What its request used.
    pub usage: Usage,
    /// What that cost, in micro-units.
    pub cost: Micros,
    /// Whether some of it was estimated, as the vendor has not counted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
}

impl NameMade {
    /// What it used.
    pub fn spent(&self) -> Spent {
        Spent { usage: self.usage, cost: self.cost, about: self.about }
    }
}
