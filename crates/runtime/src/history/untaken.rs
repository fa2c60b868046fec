//! What agents in copies have changed and nobody has taken, as far as a log says.

use mainpath_core::{Bodies, CallState, State, arguments_in};
use mainpath_types::{EventKind, Resolution, TraceId};
use std::collections::BTreeMap;

/// The tool that takes changes.
const TAKE: &str = "take_changes";

/// The agents whose changes wait, each with how many files it changed; in the order of their ids. What a person takes with a command
/// is in no log.
fn untaken(state: &State, log: &dyn Bodies) -> BTreeMap<TraceId, usize> {
    let mut waiting = BTreeMap::new();
    if state.children.patches.is_empty() {
        return waiting;
    }
    for event in 1..=state.log.last {
        match log.get(event) {
            Some(EventKind::SubTraceCompleted(data)) => {
                if let (Some(child), Some(_)) = (&data.handed.child, &data.handed.patch) {
                    waiting.insert(child.clone(), data.handed.files.len());
                }
            }
            Some(EventKind::CallResolved(data)) if data.resolution == Resolution::Ok => {
                let call = state.calls.get(data.call).filter(|call| call.tool.as_deref() == Some(TAKE));
                let is_done = call.filter(|call| call.state == CallState::Done(Resolution::Ok));
                let arguments = is_done.and_then(|call| arguments_in(log.get(call.arguments)?, call.id));
                let taken = arguments.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
                waiting.retain(|child, _| taken.as_ref().is_none_or(|taken| taken["sub_trace_id"] != child.as_str()));
            }
            _ => {}
        }
    }
    waiting
}

/// What agents in copies have changed and nobody has taken, as far as the log says, in words, with what to do; `None` where nothing waits.
pub fn untaken_in_words(state: &State, log: &dyn Bodies) -> Option<String> {
    let waiting = untaken(state, log);
    let files = |count: &usize| if *count == 1 { "1 file".to_string() } else { format!("{count} files") };
    let each: Vec<String> = waiting.iter().map(|(child, count)| format!("{child} ({})", files(count))).collect();
    let root = &state.trace;
    match (each.as_slice(), waiting.first_key_value()) {
        ([], _) | (_, None) => None,
        ([one], _) => {
            Some(format!("Changes of an agent wait, not yet taken: {one}. To take them: mainpath take {root}"))
        }
        (several, Some((first, _))) => Some(format!(
            "Changes of agents wait, not yet taken: {}. To take those of one: mainpath take {first}",
            several.join(", ")
        )),
    }
}
