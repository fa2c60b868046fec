//! The changes that a call takes from an agent, as whoever decides on it sees them.

use crate::ui::whole::visible;
use mainpath::Logs;
use mainpath::core::{Bodies, Call, arguments_in};
use mainpath::trace::Taking;
use mainpath::types::TraceId;
use serde_json::Value;

/// The tool that takes them.
const TAKE: &str = "take_changes";

/// The patch, line by line.
pub fn lines(changes: &Taking) -> Vec<String> {
    changes.text().lines().map(visible).collect()
}

/// What a call of a trace takes, line by line; nothing for other calls, and where there is nothing to take.
pub async fn taken(logs: &Logs, trace: &TraceId, tool: &str, arguments: &str) -> Vec<String> {
    let child = || Some(serde_json::from_str::<Value>(arguments).ok()?["sub_trace_id"].as_str()?.to_string());
    let Some(child) = Some(tool).filter(|tool| *tool == TAKE).and_then(|_| child()) else { return Vec::new() };
    let Ok((log, state, bodies)) = logs.read(trace).await else { return Vec::new() };
    let found = Taking::find(logs.of(trace, &log, &state, &bodies), Some(&child)).await;
    found.map(|changes| lines(&changes)).unwrap_or_default()
}

/// The same for a call as the log has it, or with these arguments in the place of its own.
pub async fn taken_by(
    logs: &Logs,
    trace: &TraceId,
    call: Option<&Call>,
    bodies: &dyn Bodies,
    arguments: Option<&str>,
) -> Vec<String> {
    let Some(call) = call else { return Vec::new() };
    let own = bodies.get(call.arguments).and_then(|kind| arguments_in(kind, call.id)).unwrap_or_default();
    taken(logs, trace, call.tool.as_deref().unwrap_or_default(), arguments.unwrap_or(own)).await
}
