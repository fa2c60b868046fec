//! Agents are begun on other machines.

use super::routed::RoutedStore;
use super::server::PeerAsk;
use mainpath_runtime::{Mail, Peers, RemoteTask, Unbegun};
use mainpath_store::Fut;
use mainpath_types::{ChildMode, TraceId};
use serde_json::{Map, Value, json};

/// An answer of which nothing need be known but that it came.
type Taken = Map<String, Value>;

impl Peers for RoutedStore {
    fn begin<'a>(&'a self, task: RemoteTask<'a>) -> Fut<'a, Result<(), Unbegun>> {
        Box::pin(async move {
            let for_good = |why: String| Unbegun { why, is_for_now: false };
            let there = self.there(task.trace).map_err(|error| for_good(error.to_string()))?;
            let there = there.ok_or_else(|| for_good(format!("{} is on this machine", task.trace)))?;
            let (path, body) = match task.after {
                0 => (vec!["api", "traces"], new_agent(&task, there.id)),
                _ => (vec!["api", "traces", there.id, "mail"], json!({ "mail": Mail::message(task.message) })),
            };
            let ask = PeerAsk { path: &path, body: Some(&body), once: Some(task.key), ..PeerAsk::default() };
            there.server.json::<Taken>(ask).await.map(drop).map_err(Unbegun::from)
        })
    }

    fn resume<'a>(&'a self, trace: &'a TraceId) -> Fut<'a, Result<(), Unbegun>> {
        Box::pin(async move {
            let for_good = |why: String| Unbegun { why, is_for_now: false };
            let there = self.there(trace).map_err(|error| for_good(error.to_string()))?;
            let there = there.ok_or_else(|| for_good(format!("{trace} is on this machine")))?;
            let path = ["api", "traces", there.id, "resume"];
            // Without a key of its own: each request is to take effect.
            let ask = PeerAsk { path: &path, body: Some(&json!({})), ..PeerAsk::default() };
            there.server.json::<Taken>(ask).await.map(drop).map_err(Unbegun::from)
        })
    }
}

/// What an agent there is to be: what that machine has, within what its parent can give.
fn new_agent(task: &RemoteTask<'_>, id: &str) -> Value {
    let RemoteTask { call, share, .. } = task;
    let is_read_only = call.mode != ChildMode::Delegate;
    let limits = json!({
        "max_tokens": share.tokens,
        "max_cost_micros": share.money,
        "max_tool_calls": share.calls,
        // A second is the least that can be given.
        "timeout_s": share.time_ms.map(|ms| (ms / 1_000).max(1)),
    });
    let mut agent = json!({
        "trace_id": id,
        "task": task.message,
        "limits": limits,
        "approvals": task.approvals,
        "context": {"called_by": task.parent},
    });
    if let Some(agent_type) = call.agent_type.as_deref().or(is_read_only.then_some("explore")) {
        agent["agent"] = agent_type.into();
    }
    if is_read_only {
        agent["access"] = "read-only".into();
    }
    if let Some(skills) = &call.skills {
        agent["skills"] = json!(skills);
    }
    agent
}
