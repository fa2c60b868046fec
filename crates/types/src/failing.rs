//! Facts about requests that came to nothing.

use crate::{Micros, Millis, ModelError, Spent, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done about a failed request, where the same request would fail again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The next request shows the least there is.
    Minimal,
    /// The context is cut to half before the next request.
    Cut,
    /// The next request goes to the next fallback model.
    Fallback,
}

/// `model_failed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFailed {
    /// The request that failed.
    pub request: u32,
    /// How.
    pub error: ModelError,
    /// When it is tried again; `None` when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Millis>,
    /// What is done about it besides waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// What it is charged: nothing where the server refused it, the reservation where it may have run.
    pub usage: Usage,
    /// What that costs.
    pub cost: Micros,
    /// What was really used, by estimate, where the charge is the reservation. `None`: the charge is all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// `model_abandoned`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAbandoned {
    /// The request.
    pub request: u32,
    /// Whether it was lost in a crash, as opposed to stopped.
    pub lost: bool,
    /// The whole reservation is charged: to the budgets, which must hold whatever the vendor bills.
    pub usage: Usage,
    /// What that costs.
    pub cost: Micros,
    /// What was really used, by estimate: the request, and what had come of the answer. `None`: the charge is all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// `retry_due`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryDue {}

impl ModelFailed {
    /// What the request really used, as far as it is known.
    pub fn spent(&self) -> Spent {
        self.spent.unwrap_or(Spent { usage: self.usage, cost: self.cost, about: false })
    }
}

impl ModelAbandoned {
    /// What the request really used, as far as it is known: in logs of the first version, at most what was set aside.
    pub fn spent(&self) -> Spent {
        let charged = Spent { usage: self.usage, cost: self.cost, about: self.usage != Usage::default() };
        self.spent.unwrap_or(charged)
    }
}
