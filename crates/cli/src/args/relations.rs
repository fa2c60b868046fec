//! What an agent belongs to.

use clap::Args;
use mainpath::types::{GoalId, Relations, TraceId};
use serde_json::Value;

/// Metadata for other programs: recorded in `meta.json`, no effect on the agent.
#[derive(Args, Clone, Debug, Default)]
pub struct RelationArgs {
    /// The kind of agent, in your own words [default: the name given with --agent]
    #[arg(long, value_name = "NAME")]
    pub agent_type: Option<String>,
    /// The trace that starts this one
    #[arg(long, value_name = "ID")]
    pub parent_trace: Option<TraceId>,
    /// The goal of the parent trace that this one works on
    #[arg(long, value_name = "N", requires = "parent_trace")]
    pub parent_goal: Option<u32>,
    /// More metadata: a name and a text or JSON. May be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub context: Vec<(String, Value)>,
    /// The session by whose name the trace is called.
    #[arg(skip)]
    pub session: Option<String>,
}

impl RelationArgs {
    /// What is given.
    pub fn relations(&self) -> Relations {
        let RelationArgs { agent_type, parent_trace, parent_goal, context, session } = self.clone();
        Relations {
            session,
            agent_type,
            parent_trace,
            parent_goal: parent_goal.map(GoalId),
            context: context.into_iter().collect(),
            ..Relations::default()
        }
    }
}

fn pair(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.trim().is_empty() {
        return Err("the name before = is missing".into());
    }
    Ok((name.trim().into(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}
