//! What hooks denied in a recording. The hooks themselves are not called again: their answers are taken from it.

use super::compare::json;
use super::playing::{AnswerAt, NextRecorded, Playing};
use super::step::{CallStep, RecordedStep};
use mainpath_runtime::{Hook, HookError, HookPoint, HookRunner, Hooks, OnFailure};
use mainpath_tools::Fut;
use mainpath_types::Decision;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A look at what was recorded takes no longer.
const LONGEST: Duration = Duration::from_secs(10);

/// A hook for each that denied a call in the recording, under its name.
pub(super) fn recorded_denials(playing: &Arc<Playing>) -> Hooks {
    let calls = playing.recording.iter().flat_map(|step| match step {
        RecordedStep::Answered(answer) => answer.calls.as_slice(),
        RecordedStep::Said { .. } => &[],
    });
    let names: BTreeSet<&str> = calls.filter_map(denied_by).collect();
    let hook = |name: &str| Hook {
        name: name.into(),
        points: vec![HookPoint::BeforeTool],
        tools: Vec::new(),
        timeout: LONGEST,
        on_failure: OnFailure::Closed,
        runner: Arc::new(RecordedDenials { name: name.into(), playing: Arc::clone(playing) }),
    };
    names.into_iter().map(hook).collect()
}

/// The hook that denied a call, if one did.
fn denied_by(call: &CallStep) -> Option<&str> {
    call.rule.strip_prefix("hook.").filter(|_| call.verdict == Some(Decision::Deny))
}

/// Denies what a hook denied in the recording, and nothing else.
struct RecordedDenials {
    name: String,
    playing: Arc<Playing>,
}

impl HookRunner for RecordedDenials {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        Box::pin(async move {
            let next = self.playing.next().await.map_err(HookError::failed)?;
            // Where the two have parted, no recorded answer is played any more.
            let Ok(NextRecorded::Answer(AnswerAt { answer, .. })) = next else { return Ok(json!({})) };
            let is_it = |call: &CallStep| {
                denied_by(call) == Some(self.name.as_str())
                    && event["tool"] == call.tool
                    && event["arguments"] == json(&call.arguments)
            };
            Ok(match answer.calls.iter().any(is_it) {
                true => json!({"decision": "deny", "reason": "A hook denied it when the run was recorded."}),
                false => json!({}),
            })
        })
    }
}
