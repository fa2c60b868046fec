//! What each event says: the `data` of its log line.

use crate::{
    Asking, CallId, Decision, EventId, EventKind, FinishReason, GoalOp, Micros, Origin, Part, Principal, Resolution,
    Seq, Spec, Spent, StopReason, Usage, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `spec_changed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpecChanged {
    /// The whole new spec. Boxed, as it is large and rare.
    pub spec: Arc<Spec>,
    /// Who changed it; logs of before do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
}

/// When a message is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageMode {
    /// Now, or after the present run.
    Message,
    /// After the running tool; what was planned is skipped.
    Steer,
    /// After the present run, one at a time.
    FollowUp,
}

/// A stretch of a text: its first byte, and the byte after its last.
pub type TextSpan = (u32, u32);

/// `message_queued`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageQueued {
    /// When it is to be read.
    pub mode: MessageMode,
    /// What was said.
    pub parts: Vec<Part>,
    /// Which of the parts a person typed, where the others were piped in or attached: data, which asks for nothing and demands
    /// nothing. `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<u16>,
    /// Its estimated size.
    pub tokens: u32,
    /// The size of what it demands or rules out, which no cut leaves out while there is room; as much as its own size: the whole
    /// message.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub demands: u32,
    /// Where in the text that was typed that stands. Empty in logs of the first version, which had it found when it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demanded: Vec<TextSpan>,
    /// Who said it.
    pub from: Principal,
}

impl MessageQueued {
    /// A message that is to be read now, of `tokens` tokens by estimate, all of which was typed and which demands nothing.
    pub fn new(parts: Vec<Part>, tokens: u32, from: Principal) -> MessageQueued {
        let (mode, typed, demands, demanded) = (MessageMode::Message, None, 0, Vec::new());
        MessageQueued { mode, parts, typed, tokens, demands, demanded, from }
    }

    /// What a person typed of it.
    pub fn typed(&self) -> &[Part] {
        typed(&self.parts, self.typed)
    }
}

/// What a person typed of a message: one of its parts, or all of them.
pub fn typed(parts: &[Part], which: Option<u16>) -> &[Part] {
    let one = which.and_then(|at| parts.get(usize::from(at)..=usize::from(at)));
    one.unwrap_or(parts)
}

/// `message_joined`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageJoined {
    /// The event that holds the message.
    pub of: EventId,
    /// Its number in the tree.
    pub seq: Seq,
}

/// Why a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunCause {
    /// The trace's first message.
    New,
    /// A further message, or one that waited.
    Continue,
    /// A rewind with a message.
    Rewind,
    /// A rewind without one.
    Regenerate,
    /// Somebody asked for a summary while nothing was going on; the run ends with it.
    Compact,
}

/// `run_started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The run's number, from 1.
    pub run: u32,
    /// Why it began.
    pub cause: RunCause,
    /// The event that holds its spec.
    pub spec: EventId,
}

/// `run_closing`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunClosing {
    /// What the run will end with.
    pub reason: FinishReason,
    /// Who asked, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
    /// Why, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// `run_finished`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFinished {
    /// The run.
    pub run: u32,
    /// Why it ended.
    pub reason: FinishReason,
    /// Model calls on the main path.
    pub turns: u32,
    /// Tool calls that were started.
    pub calls: u32,
    /// What all its model calls used, lost ones included.
    pub usage: Usage,
    /// What they cost, in micro-units.
    pub cost: Micros,
    /// Whether some of that was estimated, as no vendor has counted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
}

/// `model_requested`. The request itself is computed from the state at this event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRequested {
    /// The request's number in the trace, from 1; a retry is a new request.
    pub request: u32,
    /// The tip of the packed path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Seq>,
    /// The version of the packer.
    pub pack: u16,
    /// Estimated input tokens.
    pub input: u32,
    /// Tokens set aside until the answer is settled.
    pub reserve: u64,
    /// Money set aside until the answer is settled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reserve_cost: Micros,
    /// Set when it asks for a last answer because a soft budget ran out: what the run will end with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<FinishReason>,
    /// Whether it shows the least there is, the system text and the last message from outside, because the server did not
    /// know the address of the one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minimal: bool,
    /// What it ends with: where things stand at that moment. It is in this request and in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
    /// What it is for, where it is no turn of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
}

/// What a request is for that belongs to no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The model reflects, before it summarises.
    Reflection,
    /// The model summarises.
    Summary,
    /// The model repairs an answer that was in no valid form.
    Repair,
    /// The model looks into what is no longer shown.
    LookBack,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

pub(crate) fn is_none_at_all(n: &u32) -> bool {
    *n == 0
}

/// A tool call of a model's answer, judged before the answer was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCall {
    /// The tool's own name (aliases resolved), or `None` for a name that no tool has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What rules said. `None` when the call never got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why the call cannot be run as it is (unknown tool, invalid arguments), for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Arguments that a hook has put in the place of the model's: JSON text. The verdict is on these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The hooks that did so, by name, in the order in which they were called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<String>,
    /// Where its paths led when it was judged, links followed: absolute, one for each path that its tool reaches for, in the
    /// tool's order. Empty if each led to just where it is written, as almost all do. The call runs there or not at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Where the arguments came from, coarsely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// Where its arguments say that it goes, as far as no person and no server's own field says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<Destination>,
    /// The narrowest rule that would allow calls like this one, where one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<String>,
    /// The result of a call of an internal tool, which has no effect outside the trace and so was answered at once. It counts only
    /// where the verdict allows the call; such a call never starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether the answer shows again what is left out: where the call becomes part of a turn, the answer is shown once and then in
    /// short.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// The messages of other agents that the answer shows, by their events: they are read with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<EventId>,
    /// In how many answers the same call has come to the same by now, where the model is told so; else 0.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub repeated: u32,
    /// Of a call that asks a person: how long it waits, and for whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<Box<Asking>>,
}

/// An argument that says where a call goes or to whom (a recipient, an address, an account, an id, a path), whose value was said by
/// no person of the trace and stands in no field that a server fills.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Destination {
    /// The argument: its names from the outside in, with dots between.
    pub argument: String,
    /// The value, or the address in it.
    pub value: String,
    /// The call whose result says it in a text, such as a mail or a page. `None`: no call of this trace does so in these letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// That call's tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl PlannedCall {
    /// How the call had ended by the time it was recorded, and the text of that; `None` if it is still to be asked about or to
    /// start.
    pub fn ended(&self) -> Option<(Resolution, &str)> {
        if let Some(problem) = &self.problem {
            return Some((Resolution::Error, problem));
        }
        let Some(verdict) = &self.verdict else { return Some((Resolution::Error, "")) };
        match (verdict.decision, &self.answer) {
            (Decision::Deny, _) => Some((Resolution::Denied, &verdict.reason)),
            (Decision::Allow, Some(answer)) => Some((Resolution::Ok, answer)),
            (Decision::Allow, None) | (Decision::Ask, _) => None,
        }
    }
}

/// `model_finished`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFinished {
    /// The request that was answered.
    pub request: u32,
    /// The answer's number in the tree.
    pub seq: Seq,
    /// The answer.
    pub parts: Vec<Part>,
    /// One entry for each tool call among the parts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PlannedCall>,
    /// Operations on the plan, applied in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalOp>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Whether the turn had to be picked out of fences or prose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// The answer's estimated size.
    pub tokens: u32,
    /// What the call used: the vendor's count, or an estimate.
    pub usage: Usage,
    /// Whether `usage` is the vendor's count.
    pub counted: bool,
    /// What it cost, in micro-units.
    pub cost: Micros,
    /// From request to the answer's end, in milliseconds.
    pub elapsed_ms: u64,
    /// The hash of the request as it was sent: see `replay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// Whether it only looks into what is no longer shown: it and what it is told are in the next request and in no other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// How many more messages it wants to be shown from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expand: Option<u32>,
}

impl ModelFinished {
    /// What it used.
    pub fn spent(&self) -> Spent {
        Spent { usage: self.usage, cost: self.cost, about: !self.counted }
    }
}

impl ModelMalformed {
    /// What it used.
    pub fn spent(&self) -> Spent {
        Spent { usage: self.usage, cost: self.cost, about: self.about }
    }
}

impl RunFinished {
    /// What its requests used.
    pub fn spent(&self) -> Spent {
        Spent { usage: self.usage, cost: self.cost, about: self.about }
    }
}

/// What a malformed answer does not keep to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    /// The action protocol.
    #[default]
    Protocol,
    /// The final answer's schema.
    Schema,
}

impl Breach {
    fn is_protocol(&self) -> bool {
        *self == Breach::Protocol
    }
}

/// `model_malformed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelMalformed {
    /// The request that was answered.
    pub request: u32,
    /// The answer's number in the tree.
    pub seq: Seq,
    /// The number of the message that asks for a repair.
    pub repair_seq: Seq,
    /// The answer as it came.
    pub parts: Vec<Part>,
    /// What is wrong with it, for the model.
    pub problem: String,
    /// What it does not keep to.
    #[serde(default, skip_serializing_if = "Breach::is_protocol")]
    pub breach: Breach,
    /// The answer's estimated size.
    pub tokens: u32,
    /// The repair message's estimated size.
    pub repair_tokens: u32,
    /// What the call used.
    pub usage: Usage,
    /// Whether that is an estimate, as the vendor has not counted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
    /// What it cost, in micro-units.
    pub cost: Micros,
    /// From request to the answer's end, in milliseconds.
    pub elapsed_ms: u64,
    /// The hash of the request as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
}

/// `turn_finished`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFinished {
    /// The number of the first result in the tree; the others follow in call order.
    pub seq: Seq,
    /// How many results entered the tree.
    pub results: u16,
}

/// `continue_requested`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContinueRequested {
    /// Who asked.
    pub by: Principal,
}

/// `mail_refused`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailRefused {
    /// Why, in a sentence.
    pub problem: String,
}

/// `tail_cut`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailCut {
    /// How many bytes were cut.
    pub bytes: u64,
    /// The file, beside the log, that keeps them.
    pub kept: String,
}

/// `erased`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Erased {
    /// The events that lost their content, oldest first, and what is left of each.
    pub left: Vec<Left>,
    /// Who asked.
    pub by: Principal,
    /// Why, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What is left of an event whose content was erased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// Which.
    pub event: EventId,
    /// The same fact without its words: see [`EventKind::without_words`].
    pub kind: EventKind,
}
