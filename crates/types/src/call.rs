//! What events say about calls.

use crate::{
    Asking, CallId, EventId, Millis, ModelFinished, PlannedCall, Principal, Resolution, Seq, ToolOutput, Verdict,
    WrittenCall, written_calls,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A call of a model's answer with everything that is recorded of it there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedCall<'a> {
    /// Which.
    pub id: CallId,
    /// The tool's name and the arguments as the model wrote them.
    pub written: WrittenCall<'a>,
    /// The arguments that it runs with: those that hooks put in the place of the model's, else the model's.
    pub arguments: &'a str,
    /// Its tool, its verdict, its places, or why it cannot be run.
    pub planned: &'a PlannedCall,
}

impl ModelFinished {
    /// The calls of the answer, in order.
    pub fn calls(&self) -> impl Iterator<Item = RecordedCall<'_>> {
        let mut written = written_calls(&self.parts);
        (0..=u16::MAX).zip(&self.calls).map(move |(index, planned)| {
            // Each has its part. Of a log that somebody has edited, the verdict counts all the same.
            let written = written.next().unwrap_or(WrittenCall { name: "", arguments: "" });
            let arguments = planned.arguments.as_deref().unwrap_or(written.arguments);
            RecordedCall { id: CallId { seq: self.seq, index }, written, arguments, planned }
        })
    }

    /// The call at a place of the answer, from 0.
    pub fn call(&self, index: u16) -> Option<RecordedCall<'_>> {
        self.calls().nth(index.into())
    }
}

/// `action_started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionStarted {
    /// The call.
    pub call: CallId,
    /// From 1; higher when a repeatable call runs again after a crash.
    pub attempt: u32,
    /// The rule that allowed it.
    pub rule: String,
}

/// `approval_granted`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalGranted {
    /// The call.
    pub call: CallId,
    /// Who approved.
    pub by: Principal,
    /// Arguments to use instead of the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// What rules said about the edited arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Where the paths in them led when rules judged them; see [`PlannedCall::places`](crate::PlannedCall::places).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// The hooks that changed what the approver gave, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<String>,
    /// A rule that was made of the approval. It allows calls like this one for the rest of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the edited arguments say about the waiting, where the call asks a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<Box<Asking>>,
}

/// `call_reopened`: a call that was denied, and approved since, is made after all. Its new row has the number of this message and the
/// old one's place in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReopened {
    /// The call that was denied.
    pub of: CallId,
    /// The number of the message that says so.
    pub seq: Seq,
    /// The event that approved it.
    pub grant: EventId,
}

impl CallReopened {
    /// The id of its new row, by which the events to come name it. Whoever keeps something of calls by their ids keeps it of this, too.
    pub fn made(&self) -> CallId {
        CallId { seq: self.seq, index: self.of.index }
    }
}

/// `call_delayed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDelayed {
    /// The call.
    pub call: CallId,
    /// When it may start.
    pub until: Millis,
}

/// `call_due`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDue {
    /// The call.
    pub call: CallId,
}

/// `call_retried`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRetried {
    /// The call.
    pub call: CallId,
    /// The attempt that failed.
    pub attempt: u32,
    /// How it failed.
    pub output: ToolOutput,
}

/// Why a started call is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelCause {
    /// Its time was up.
    Timeout,
    /// The run is closing.
    Closing,
    /// Somebody interrupted it.
    Interrupt,
}

/// `call_cancelling`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCancelling {
    /// The call.
    pub call: CallId,
    /// Why.
    pub cause: CancelCause,
}

/// `call_probing`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallProbing {
    /// The call.
    pub call: CallId,
}

/// Why a call ended, where nothing came back from a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolveCause {
    /// The tool, the person or the child answered.
    Result,
    /// A person said no.
    DeniedByPerson,
    /// A person approved it with other arguments, and a rule denies these.
    DeniedByRule,
    /// Nobody decided in time.
    ApprovalExpired,
    /// The run ended before it started.
    Closing,
    /// A person steered away before it started.
    Steer,
    /// More calls than a turn may have.
    TurnCap,
    /// More calls than the run may have.
    CallBudget,
    /// More calls of its tool than the run may have.
    ToolCap,
    /// More scripts of skills than the run may run.
    ScriptBudget,
    /// Only a last answer was asked for.
    LastAnswer,
    /// While a summary is made, only what changes nothing may run, or nothing at all.
    Summary,
    /// It was ended after its time was up.
    Timeout,
    /// It was ended because the run was stopped or somebody interrupted it.
    Stopped,
    /// A crash, and the profile wants the model to be told rather than the call to run again.
    Crash,
    /// A crash, and nobody can tell whether it was done.
    Uncertain,
    /// It asked a person, and nobody answered in time.
    QuestionExpired,
}

/// `call_resolved`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallResolved {
    /// The call.
    pub call: CallId,
    /// The attempt that ended; 0 when it never started.
    pub attempt: u32,
    /// How it ended.
    pub resolution: Resolution,
    /// Why.
    pub cause: ResolveCause,
    /// What came back, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    /// The person's or the rule's reason for a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who decided, where a person or a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
    /// The result's estimated size.
    pub tokens: u32,
    /// The size of its long-term line, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    /// In how many answers the same call has come to the same result by now, where the model is told so; else 0.
    #[serde(default, skip_serializing_if = "crate::facts::is_none_at_all")]
    pub repeated: u32,
    /// From start to end, in milliseconds.
    #[serde(default)]
    pub elapsed_ms: u64,
}

impl CallResolved {
    /// How it ended, in a word for programs, where that is not well: `timeout`, the tool's own code, `error`, `denied`, `skipped`,
    /// `interrupted` or `unknown`.
    pub fn failure(&self) -> Option<String> {
        match self.resolution {
            Resolution::Ok => None,
            Resolution::Error if self.cause == ResolveCause::Timeout => Some("timeout".into()),
            Resolution::Error => {
                let code = self.output.as_ref().and_then(|output| output.error.clone());
                Some(code.unwrap_or_else(|| "error".into()))
            }
            Resolution::Denied => Some("denied".into()),
            Resolution::Skipped => Some("skipped".into()),
            Resolution::Interrupted => Some("interrupted".into()),
            Resolution::Unknown => Some("unknown".into()),
        }
    }

    /// How long it ran, in milliseconds; `None` if it never started, and after a crash, of which nobody knows when it was.
    pub fn ran_ms(&self) -> Option<u64> {
        let is_known = !matches!(self.cause, ResolveCause::Crash | ResolveCause::Uncertain);
        (self.attempt > 0 && is_known).then_some(self.elapsed_ms)
    }
}

/// `late_result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateResult {
    /// The call.
    pub call: CallId,
    /// The attempt that answered.
    pub attempt: u32,
    /// What came back.
    pub output: ToolOutput,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, StopReason, Usage};

    #[test]
    fn a_call_is_read_with_the_arguments_that_it_runs_with_beside_those_that_the_model_wrote() {
        let call = |name: &str, arguments: &str| Part::ToolCall {
            name: name.into(),
            arguments: arguments.into(),
            signature: None,
        };
        let as_written = PlannedCall { tool: Some("bash".into()), ..PlannedCall::default() };
        let changed = PlannedCall { arguments: Some("{\"n\":2}".into()), ..as_written.clone() };
        let answer = ModelFinished {
            request: 1,
            seq: Seq(2),
            parts: vec![call("bash", "{\"n\":0}"), Part::text("and"), call("execute_bash", "{\"n\":1}")],
            calls: vec![as_written.clone(), changed.clone()],
            goals: Vec::new(),
            stop: StopReason::ToolCalls,
            tolerated: false,
            tokens: 0,
            usage: Usage::default(),
            counted: false,
            cost: 0,
            elapsed_ms: 0,
            sent: None,
            aside: false,
            expand: None,
        };
        let id = |index| CallId { seq: Seq(2), index };
        let first = RecordedCall {
            id: id(0),
            written: WrittenCall { name: "bash", arguments: "{\"n\":0}" },
            arguments: "{\"n\":0}",
            planned: &as_written,
        };
        let second = RecordedCall {
            id: id(1),
            written: WrittenCall { name: "execute_bash", arguments: "{\"n\":1}" },
            arguments: "{\"n\":2}",
            planned: &changed,
        };
        assert_eq!(answer.calls().collect::<Vec<_>>(), [first, second]);
        assert_eq!((answer.call(1), answer.call(2)), (Some(second), None));
    }

    #[test]
    fn a_call_that_a_crash_ended_or_that_never_ran_has_no_duration() {
        let ended = |attempt, cause| CallResolved {
            call: CallId { seq: Seq(2), index: 0 },
            attempt,
            resolution: Resolution::Error,
            cause,
            output: None,
            reason: None,
            by: None,
            tokens: 0,
            memory: None,
            repeated: 0,
            elapsed_ms: 7,
        };
        assert_eq!(ended(1, ResolveCause::Result).ran_ms(), Some(7));
        assert_eq!(ended(1, ResolveCause::Timeout).ran_ms(), Some(7));
        assert_eq!(ended(1, ResolveCause::Crash).ran_ms(), None);
        assert_eq!(ended(1, ResolveCause::Uncertain).ran_ms(), None);
        assert_eq!(ended(0, ResolveCause::Closing).ran_ms(), None);
    }
}
