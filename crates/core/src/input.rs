//! Inputs: something happened outside.

use crate::{TimerKey, estimate_parts};
use mainpath_types::{
    Asking, Breach, CallId, ChildMode, ChildOutcome, ChildPlace, Delta, EventId, FileChange, GoalOp, HandedBack,
    HookText, MailId, MessageImported, MessageQueued, MessageReceived, Millis, ModelError, Part, PlannedCall,
    Principal, QuestionSent, ResourceLoaded, RewindRequested, SkillSelected, Spec, StopReason, TailCut, ToolOutput,
    TraceId, TraceNamed, Usage, Verdict, WrittenCall, written_calls,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something happened outside. It may be refused, and then changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// When.
    pub at: Millis,
    /// The mailbox entry that it came in, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<MailId>,
    /// More is at hand that was said before anything follows from this: no run begins yet, no request, no call. What was
    /// held back follows from the next input without this mark, if it still does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What.
    pub kind: InputKind,
}

impl Input {
    /// An input that came by no mailbox.
    pub fn new(at: Millis, kind: InputKind) -> Input {
        Input { at, mail: None, more: false, kind }
    }
}

/// What happened. Whatever needs text (verdicts, token estimates, schema checks) was decided before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputKind {
    /// The agent is to be this from the next turn on.
    SetSpec {
        /// The whole spec. Boxed, as it is large and rare.
        spec: Arc<Spec>,
        /// Who changes it, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Principal>,
    },
    /// Somebody said something.
    UserMessage(MessageQueued),
    /// Go on from where the last run ended, without a new message: after a limit, a stop, a failure.
    Continue {
        /// Who asked.
        by: Principal,
    },
    /// Go back to a message, and answer it again or continue from there with another one.
    Rewind(RewindRequested),
    /// A running call is about to change files. What they hold is kept; the call goes on once that is durable.
    KeepFiles {
        /// The call.
        call: CallId,
        /// Its attempt.
        attempt: u32,
        /// What they hold, and what they are to hold.
        changes: Vec<FileChange>,
    },
    /// Files are about to be put back to what they were.
    RestoreFiles {
        /// To what they were after this event.
        to: EventId,
        /// What is overwritten, and what it becomes.
        changes: Vec<FileChange>,
        /// Who asked.
        by: Principal,
    },
    /// Call the trace by a name.
    Name(TraceNamed),
    /// Another agent sends a message.
    Receive(MessageReceived),
    /// Begin the conversation anew: end the run, empty the queues, show nothing of what was said any more.
    Clear {
        /// Who asked.
        by: Principal,
    },
    /// End the run as soon as nothing is open any more.
    Stop {
        /// Who asked.
        by: Principal,
    },
    /// A request could not even be sent; it costs nothing. It is made again with the next input.
    ModelUnsent {
        /// The request.
        request: u32,
    },
    /// A hook forbids the run to go on.
    Forbid {
        /// The hook.
        by: Principal,
        /// Why.
        why: String,
    },
    /// End one running call.
    Interrupt {
        /// The call.
        call: CallId,
    },
    /// A piece of a model's answer. Fills the draft and makes no event.
    ModelChunk {
        /// The request that is being answered.
        request: u32,
        /// The piece.
        delta: Delta,
    },
    /// A model's answer is complete.
    ModelFinished(Box<Reply>),
    /// A model's answer is complete and in no valid form.
    ModelMalformed {
        /// The answer as it came; its calls are not used.
        reply: Box<Reply>,
        /// What is wrong, for the model.
        problem: String,
        /// What it does not keep to.
        #[serde(default)]
        breach: Breach,
        /// The estimated size of the message that says so.
        repair_tokens: u32,
    },
    /// A model could not be called or did not answer.
    ModelFailed {
        /// The request.
        request: u32,
        /// How it failed.
        error: ModelError,
        /// When to try again, should the limits allow it.
        retry_at: Option<Millis>,
        /// What it used all the same, where the vendor said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The estimated size of what had come of the answer.
        #[serde(default)]
        received: u32,
    },
    /// A tool has really begun. Fills the draft and makes no event.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: u32,
    },
    /// A tool has returned.
    ToolFinished {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: u32,
        /// What it returned.
        output: ToolOutput,
        /// The output's estimated size.
        tokens: u32,
    },
    /// Nothing of a call runs any more, and it gave no result.
    ToolDead {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: u32,
        /// What there was until then.
        #[serde(default)]
        output: Option<ToolOutput>,
        /// Its estimated size.
        #[serde(default)]
        tokens: u32,
    },
    /// A tool was asked whether a call of an earlier process was done.
    ToolProbed {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: u32,
        /// What it said.
        answer: Probed,
    },
    /// A child agent is to start: this is its task.
    ChildStarting(ChildStarting),
    /// A child agent has ended, or could not be started.
    ChildEnded(ChildEnded),
    /// All children of a call have ended: this is its result.
    HandedBack {
        /// The call.
        call: CallId,
        /// Its result.
        output: ToolOutput,
        /// The result's estimated size.
        tokens: u32,
    },
    /// A person has answered a call.
    Answered(Answered),
    /// A question was sent to the person whom it is for, or could not be.
    QuestionSent(QuestionSent),
    /// Somebody approved a call.
    Approve {
        /// The call.
        call: CallId,
        /// Who.
        by: Principal,
        /// Other arguments than the model's, with a fresh verdict on them.
        #[serde(default)]
        edit: Option<Edit>,
        /// A rule that allows calls like this one for the rest of the trace.
        #[serde(default)]
        rule: Option<String>,
    },
    /// Somebody denied a call.
    Deny {
        /// The call.
        call: CallId,
        /// Who.
        by: Principal,
        /// Why, for the model.
        #[serde(default)]
        reason: Option<String>,
    },
    /// A time has come.
    Timer {
        /// Which.
        key: TimerKey,
    },
    /// Show more of what was left out.
    ExpandContext {
        /// How many more messages.
        by: u32,
    },
    /// Summarise the conversation, also while nothing is going on.
    Compact {
        /// What the summary should keep in mind.
        #[serde(default)]
        hint: Option<String>,
        /// Who asked.
        by: Principal,
    },
    /// The summary by rules that was waited for.
    Summarised {
        /// Its text; empty where a model's words tell everything.
        text: String,
        /// Its estimated size.
        tokens: u32,
        /// Whether it stands below a model's words that tell nothing.
        #[serde(default)]
        all: bool,
    },
    /// Show past calls again in the next request.
    RecallCalls {
        /// Which.
        calls: Vec<CallId>,
    },
    /// What the context hooks said when they were asked.
    ContextTexts {
        /// After which turn.
        turn: u32,
        /// A text each; empty where a hook had nothing to say.
        texts: Vec<HookText>,
    },
    /// A skill is to be loaded. Boxed, as it is large and rare.
    SelectSkill(Box<SkillSelected>),
    /// A running call has read a file of a skill.
    LoadResource(ResourceLoaded),
    /// Change the plan.
    ChangeGoals {
        /// How.
        ops: Vec<GoalOp>,
        /// Who asked.
        by: Principal,
    },
    /// A message from elsewhere joins the conversation. Its numbers and sizes are set here.
    Import(Box<MessageImported>),
    /// A mailbox entry that says nothing that could be done.
    BadMail {
        /// Why, in a sentence.
        problem: String,
    },
    /// The state was folded from a log.
    Recovered {
        /// Whether what was in flight is lost: true after a crash, false where the same process reads its log again.
        lost: bool,
        /// What had to be cut off the log.
        #[serde(default)]
        tail_cut: Option<TailCut>,
    },
}

/// A model's answer, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The request that was answered.
    pub request: u32,
    /// The answer; empty to take its text from the draft.
    pub parts: Vec<Part>,
    /// One entry for each tool call among the parts, in order.
    pub calls: Vec<PlannedCall>,
    /// Operations on the plan.
    pub goals: Vec<GoalOp>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Whether the turn had to be picked out of fences or prose.
    #[serde(default)]
    pub tolerated: bool,
    /// The answer's estimated size.
    pub tokens: u32,
    /// The vendor's count; `None` to charge the estimate.
    pub usage: Option<Usage>,
    /// The hash of the request as it was sent.
    pub sent: Option<String>,
    /// Whether it only looks into what is no longer shown.
    #[serde(default)]
    pub aside: bool,
    /// How many more messages it wants to be shown from here on.
    #[serde(default)]
    pub expand: Option<u32>,
}

impl Reply {
    /// An answer of which nothing more is known: its size is estimated, its request has no hash.
    pub fn new(request: u32, parts: Vec<Part>, calls: Vec<PlannedCall>) -> Reply {
        let stop = if calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        let (goals, tokens) = (Vec::new(), estimate_parts(&parts));
        Reply {
            request,
            parts,
            calls,
            goals,
            stop,
            tolerated: false,
            tokens,
            usage: None,
            sent: None,
            aside: false,
            expand: None,
        }
    }

    /// Its calls, in order.
    pub fn calls_mut(&mut self) -> impl Iterator<Item = ReplyCall<'_>> {
        self.calls.iter_mut().zip(written_calls(&self.parts)).map(|(planned, written)| ReplyCall { planned, written })
    }
}

/// A call of an answer that is being judged: what the model wrote, and what is made of it.
pub struct ReplyCall<'a> {
    /// What is made of it.
    pub planned: &'a mut PlannedCall,
    /// What the model wrote.
    pub written: WrittenCall<'a>,
}

impl ReplyCall<'_> {
    /// The arguments that it will run with: those that hooks put in the place of the model's, else the model's.
    pub fn arguments(&self) -> &str {
        self.planned.arguments.as_deref().unwrap_or(self.written.arguments)
    }
}

/// What a probe found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Probed {
    /// The call was done.
    Done {
        /// Its result.
        output: ToolOutput,
        /// The result's estimated size.
        tokens: u32,
    },
    /// The call was not done.
    NotDone,
    /// Nobody can tell.
    Unknown,
}

/// A child agent that is to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildStarting {
    /// The call that asks for it.
    pub call: CallId,
    /// Which of the call's children, from 0.
    pub nth: u16,
    /// How many the call asks for.
    pub of: u16,
    /// What it is for.
    pub mode: ChildMode,
    /// Where it works.
    pub place: ChildPlace,
    /// The host of the other machine, if that is where it works.
    #[serde(default)]
    pub host: Option<String>,
    /// The child that goes on, where none is to be begun.
    #[serde(default)]
    pub continues: Option<TraceId>,
    /// The last event of that trace.
    #[serde(default)]
    pub after: EventId,
    /// Its task in short, for people.
    pub task: String,
    /// Why it gets no copy of its parent's workspace, where it should have one.
    #[serde(default)]
    pub no_copy: Option<String>,
}

/// A child agent that has ended, or could not be started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildEnded {
    /// The call that asked for it.
    pub call: CallId,
    /// Which of the call's children, from 0.
    pub nth: u16,
    /// How many the call asks for.
    pub of: u16,
    /// How it ended.
    pub outcome: ChildOutcome,
    /// What it came to.
    pub handed: HandedBack,
}

/// A person's answer to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The call.
    pub call: CallId,
    /// The answer.
    pub output: ToolOutput,
    /// Its estimated size.
    pub tokens: u32,
    /// Who answered.
    pub by: Principal,
}

/// Other arguments than the model's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// The arguments: JSON text.
    pub arguments: String,
    /// What rules say about them. A fresh `ask` counts as answered.
    pub verdict: Verdict,
    /// Where the paths in them lead; see [`PlannedCall::places`].
    #[serde(default)]
    pub places: Vec<String>,
    /// The hooks that changed what the approver gave, in order. Such arguments count only where rules allow them.
    #[serde(default)]
    pub changed_by: Vec<String>,
    /// What they say about the waiting; see [`PlannedCall::asking`].
    #[serde(default)]
    pub asking: Option<Box<Asking>>,
}
