//! A trace at a glance: what it is about, its plan, and the agents that it has started.

use super::handle::Trace;
use crate::Error;
use mainpath_runtime::views;
use mainpath_types::{ChildMode, ChildOutcome, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A trace at a glance.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The status: one of [`STANDINGS`](crate::standing::STANDINGS).
    pub status: &'static str,
    /// What it is about: what `meta.json` says.
    pub meta: Value,
    /// Its plan: what `goal.json` says.
    pub plan: Value,
    /// The agents that it has started, in their order.
    pub agents: Vec<SubTrace>,
    /// How many runs it has had.
    pub runs: u32,
}

/// An agent that another has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubTrace {
    /// Its trace; `None` where it never began.
    pub trace_id: Option<TraceId>,
    /// What it was for.
    pub mode: ChildMode,
    /// Its task, in short.
    pub task: String,
    /// How it ended; `None` while it works.
    pub outcome: Option<ChildOutcome>,
}

impl Trace {
    /// It at a glance, all by one snapshot of its log. Errors: the log cannot be read.
    pub async fn overview(&self) -> Result<Overview, Error> {
        let is_driven = self.is_driven_now().await?;
        let read = self.look().await?;
        let about = views::about(self.host().at(self.id()).scoped(), &read.log.events, &read.state, &read.made).await?;
        let agents = read.state.children.list.iter().map(|child| SubTrace {
            trace_id: child.trace.clone(),
            mode: child.mode,
            task: child.task.to_string(),
            outcome: child.outcome,
        });
        let runs = read.state.counts.runs;
        let status = self.standing_in(&read, is_driven).await;
        Ok(Overview { status, meta: about.meta, plan: about.plan, agents: agents.collect(), runs })
    }
}
