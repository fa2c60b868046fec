//! What was agreed to in a recording.

use super::step::{CallStep, RecordedStep};
use crate::event::PendingCall;
use mainpath_policy::BY_YES;
use serde_json::Value;
use std::collections::HashSet;

/// The calls that somebody approved in a recording, one by one or all with `--yes`.
pub(crate) struct Consent(HashSet<SameCall>);

/// A call by its tool and what its arguments say.
#[derive(PartialEq, Eq, Hash)]
struct SameCall {
    tool: String,
    arguments: Value,
}

impl SameCall {
    fn new(tool: &str, arguments: &str) -> SameCall {
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.into()));
        SameCall { tool: tool.into(), arguments }
    }
}

impl Consent {
    /// In these steps.
    pub fn of(steps: &[RecordedStep]) -> Consent {
        let calls = steps.iter().flat_map(|step| match step {
            RecordedStep::Answered(answer) => answer.calls.as_slice(),
            RecordedStep::Said { .. } => &[],
        });
        let agreed = calls.filter(|call| call.approved || call.rule == BY_YES);
        Consent(agreed.map(|CallStep { tool, arguments, .. }| SameCall::new(tool, arguments)).collect())
    }

    /// Whether it covers a call that waits: the same with the same arguments.
    pub fn covers(&self, call: &PendingCall) -> bool {
        self.0.contains(&SameCall::new(&call.tool, &call.arguments))
    }
}
