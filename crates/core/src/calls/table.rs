//! The table of calls: tools, children and people alike.

use mainpath_types::{Asking, CallId, CancelCause, EffectClass, EventId, EventKind, Millis, Resolution, Seq, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All calls of a trace, oldest first. A call is never removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calls(Vec<Call>);

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Which.
    pub id: CallId,
    /// The tool; `None` for a name that no tool has.
    pub tool: Option<Arc<str>>,
    /// What it can do.
    pub effect: EffectClass,
    /// Whether its tool can tell after a crash if it was done.
    pub can_probe: bool,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Option<Millis>,
    /// Where it stands.
    pub state: CallState,
    /// The latest attempt, from 1; 0 before it started.
    pub attempt: u32,
    /// When the latest attempt started; before there was one, when the call was made.
    pub started: Millis,
    /// The time that it waits for before it starts; 0 if it waits for none.
    pub not_before: Millis,
    /// What rules said, and of what; dropped once it has ended.
    pub judged: Option<Box<Judged>>,
    /// What it asks a person, if it does; dropped once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<Question>>,
    /// Whether somebody approved it.
    pub approved: bool,
    /// The event that holds its arguments: the model's answer, or the approval that changed them.
    pub arguments: EventId,
    /// The event that holds its result, once it has ended.
    pub result: EventId,
    /// The result's estimated size.
    pub tokens: u32,
    /// The size of its long-term line, if it has one.
    pub memory: Option<u32>,
    /// Whether it is to be shown once only.
    pub once: bool,
    /// Whether it was denied, and somebody has approved it since: it is made under another number.
    #[serde(default)]
    pub reopened: bool,
    /// Whether a result may still come that nobody uses, and has not come yet.
    pub may_be_late: bool,
}

/// What rules said of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Their verdict.
    pub verdict: Verdict,
    /// Where the call's paths led, if that is not where they are written.
    pub places: Vec<String>,
}

impl Judged {
    pub(crate) fn boxed(verdict: Option<Verdict>, places: &[String]) -> Option<Box<Judged>> {
        verdict.map(|verdict| Box::new(Judged { verdict, places: places.to_vec() }))
    }
}

/// A question to a person that is not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// How long it waits, and for whom.
    pub asking: Asking,
    /// Whether nothing is to be done now to send it.
    #[serde(default)]
    pub sent: bool,
    /// What the channel that it went by calls the message.
    #[serde(default)]
    pub receipt: Option<String>,
}

impl Question {
    pub(crate) fn boxed(asking: Option<&Asking>) -> Option<Box<Question>> {
        asking.map(|asking| Box::new(Question { asking: asking.clone(), sent: false, receipt: None }))
    }
}

impl Call {
    /// What rules said.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.judged.as_ref().map(|judged| &judged.verdict)
    }

    /// Whether somebody has approved it and it has not started.
    pub fn is_approved_only(&self) -> bool {
        self.state == CallState::Ready && self.approved && self.attempt == 0
    }
}

/// The arguments that a call runs with, in the event that holds them: the model's, those that hooks put in their place, or those
/// of an approval. `None` where they were erased.
pub fn arguments_in(kind: &EventKind, call: CallId) -> Option<&str> {
    match kind {
        EventKind::ModelFinished(data) => data.call(call.index).map(|call| call.arguments),
        EventKind::ApprovalGranted(data) => data.arguments.as_deref(),
        _ => None,
    }
}

/// Where the paths of a call led and what it would have run when rules judged it, in the event that holds its arguments.
pub fn places_in(kind: &EventKind, call: CallId) -> &[String] {
    match kind {
        EventKind::ModelFinished(data) => data.call(call.index).map_or(&[], |call| &call.planned.places),
        EventKind::ApprovalGranted(data) => &data.places,
        _ => &[],
    }
}

/// A turn whose calls have not all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The assistant message that made the calls.
    pub assistant: Seq,
    /// Whether it was a last answer, so that no call starts.
    pub last: bool,
}

/// A denied call that was approved and is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reopened {
    /// The call that was denied.
    pub of: CallId,
    /// The event that approved it and holds its arguments.
    pub grant: EventId,
    /// What rules say of it now.
    pub judged: Option<Box<Judged>>,
    /// The size of what the model is told.
    pub tokens: u32,
    /// What it asks a person, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<Question>>,
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It waits for an approval.
    Asked,
    /// It may start when its turn has come.
    Ready,
    /// It runs, or may have run.
    Started,
    /// It is being ended.
    Cancelling(CancelCause),
    /// Somebody looks whether it was done.
    Probing,
    /// It has ended.
    Done(Resolution),
}

impl CallState {
    /// Whether it has not started.
    pub fn is_unstarted(self) -> bool {
        matches!(self, CallState::Asked | CallState::Ready)
    }
    /// Whether it has ended.
    pub fn is_done(self) -> bool {
        matches!(self, CallState::Done(_))
    }
}

impl Calls {
    /// A call by its id.
    pub fn get(&self, id: CallId) -> Option<&Call> {
        self.0.binary_search_by_key(&id, |call| call.id).ok().and_then(|at| self.0.get(at))
    }

    /// A call by its id, to change.
    pub fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        self.0.binary_search_by_key(&id, |call| call.id).ok().and_then(|at| self.0.get_mut(at))
    }

    /// All calls, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.0.iter()
    }

    /// The calls of one assistant message, in order.
    pub fn of(&self, seq: Seq) -> &[Call] {
        let start = self.0.partition_point(|call| call.id.seq < seq);
        let end = self.0.partition_point(|call| call.id.seq <= seq);
        self.0.get(start..end).unwrap_or(&[])
    }

    /// Adds a call. Its id is greater than all before it: it is made from its message's number and its place there.
    pub(crate) fn push(&mut self, call: Call) {
        self.0.push(call);
    }

    /// A new attempt.
    pub fn start(&mut self, id: CallId, attempt: u32, at: Millis) {
        if let Some(call) = self.get_mut(id) {
            call.state = CallState::Started;
            call.attempt = attempt;
            call.started = at;
        }
    }

    /// The end of a call.
    pub fn resolve(&mut self, id: CallId, resolution: Resolution, result: EventId, tokens: u32, may_be_late: bool) {
        if let Some(call) = self.get_mut(id) {
            call.state = CallState::Done(resolution);
            call.result = result;
            call.tokens = tokens;
            call.judged = None;
            call.question = None;
            call.may_be_late = may_be_late;
        }
    }
}

/// What people have approved beyond the calls that wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvals {
    /// The rules that were made of approvals, as they were written.
    pub rules: Vec<Arc<str>>,
    /// Calls that were denied, were approved since, and are to be made.
    pub reopened: Vec<Reopened>,
}
