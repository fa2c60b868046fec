//! Effects: obligations derived from the state.

use mainpath_policy::Grant;
use mainpath_types::{CallId, EventId, Keeps, Millis, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of an effect, stable across restarts. With the trace's id in front it is unique everywhere. In JSON it is its text, such
/// as `tool/12.0/1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub enum EffectKey {
    /// Model request N.
    Model(u32),
    /// An attempt of a tool call.
    Tool(CallId, u32),
    /// A call waits for an approval.
    Approval(CallId),
    /// A call waits for a person's answer.
    Answer(CallId),
    /// A call starts child agent N of its own, or waits for it.
    Child(CallId, u16),
    /// Child agent N of a call is to be ended.
    EndChild(CallId, u16),
    /// What the children of a call came to is handed back to it.
    HandBack(CallId),
    /// An attempt is to be ended.
    Kill(CallId, u32),
    /// An attempt of an earlier process is to be looked into.
    Probe(CallId, u32),
    /// The context hooks are asked, after turn N.
    Hooks(u32),
    /// A summary by rules, which will get this number, is to be made.
    Summary(Seq),
    /// A time is waited for.
    Timer(TimerKey),
    /// A question is to be sent to the person whom it is for.
    Send(CallId),
}

/// Which time is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "timer", content = "call", rename_all = "snake_case")]
pub enum TimerKey {
    /// The run's deadline.
    Run,
    /// A call's deadline.
    Call(CallId),
    /// The end of the wait before a retry.
    Retry,
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EffectKey::Model(n) => write!(f, "model/{n}"),
            EffectKey::Tool(call, attempt) => write!(f, "tool/{call}/{attempt}"),
            EffectKey::Approval(call) => write!(f, "approval/{call}"),
            EffectKey::Answer(call) => write!(f, "answer/{call}"),
            EffectKey::Child(call, nth) => write!(f, "child/{call}/{nth}"),
            EffectKey::EndChild(call, nth) => write!(f, "end-child/{call}/{nth}"),
            EffectKey::HandBack(call) => write!(f, "hand-back/{call}"),
            EffectKey::Kill(call, attempt) => write!(f, "kill/{call}/{attempt}"),
            EffectKey::Probe(call, attempt) => write!(f, "probe/{call}/{attempt}"),
            EffectKey::Hooks(turn) => write!(f, "hooks/{turn}"),
            EffectKey::Summary(seq) => write!(f, "summary/{seq}"),
            EffectKey::Timer(TimerKey::Run) => write!(f, "timer/run"),
            EffectKey::Timer(TimerKey::Call(call)) => write!(f, "timer/call/{call}"),
            EffectKey::Timer(TimerKey::Retry) => write!(f, "timer/retry"),
            EffectKey::Send(call) => write!(f, "send/{call}"),
        }
    }
}

impl Serialize for EffectKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl EffectKey {
    /// Whether this only waits: for a person, a child, a time. A trace with nothing but these can be parked.
    pub fn is_waiting(self) -> bool {
        match self {
            EffectKey::Approval(_) | EffectKey::Answer(_) | EffectKey::Child(..) | EffectKey::Timer(_) => true,
            EffectKey::Model(_)
            | EffectKey::Tool(..)
            | EffectKey::Kill(..)
            | EffectKey::Probe(..)
            | EffectKey::EndChild(..)
            | EffectKey::HandBack(_)
            | EffectKey::Hooks(_)
            | EffectKey::Summary(_)
            | EffectKey::Send(_) => false,
        }
    }
}

/// What is to be done. The caller starts it once and reports back with an input. It can be written as JSON for whoever looks, and
/// is never read from it: effects are derived from the state ([`crate::pending()`]), and their grants are made by rules alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Ask the model; what to send is [`crate::pack()`].
    CallModel {
        /// The request's number.
        request: u32,
    },
    /// Run a tool.
    RunTool {
        /// The permission, and which call it is.
        grant: Grant,
        /// The event that holds the arguments: the model's answer, or the approval that changed them.
        arguments: EventId,
    },
    /// Find out what a child agent is to do, and report with [`crate::InputKind::ChildStarting`], or with
    /// [`crate::InputKind::ChildEnded`] where there can be none.
    StartChild {
        /// The call.
        call: CallId,
        /// Which of its children, from 0.
        nth: u16,
        /// The event that holds the task.
        arguments: EventId,
    },
    /// Begin a child's trace, or attach to it if it exists, and report with [`crate::InputKind::ChildEnded`] when its run has ended.
    /// Its row in [`crate::Children`] says what it is given.
    AwaitChild {
        /// The call.
        call: CallId,
        /// Which of its children, from 0.
        nth: u16,
        /// The event that holds the task.
        arguments: EventId,
    },
    /// End the work of a child agent, and report with [`crate::InputKind::ChildEnded`] what it has done until then. The children of a
    /// call are ended at the same time.
    EndChild {
        /// The call.
        call: CallId,
        /// The index of the child among those of the call, from 0.
        nth: u16,
    },
    /// All children of a call have ended: put together what they came to, and report with [`crate::InputKind::HandedBack`].
    HandBack {
        /// The call.
        call: CallId,
    },
    /// Tell people that a call waits for them.
    AwaitApproval {
        /// The call.
        call: CallId,
    },
    /// Tell people that the agent asks them something.
    AwaitAnswer {
        /// The call.
        call: CallId,
        /// The event that holds the question.
        arguments: EventId,
    },
    /// Send a question to a contact, and report with [`crate::InputKind::QuestionSent`]. Its id is the trace's and the call's, so that
    /// whoever receives it twice knows it again.
    SendQuestion {
        /// The call.
        call: CallId,
        /// The contact.
        to: String,
        /// The event that holds the question.
        arguments: EventId,
    },
    /// End an attempt and confirm that it is dead.
    Kill {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: u32,
    },
    /// Find out whether an attempt of an earlier process was done.
    Probe {
        /// The permission, and which call it is.
        grant: Grant,
        /// The event that holds the arguments.
        arguments: EventId,
    },
    /// Ask the context hooks of the spec what the model should know, and report with [`crate::InputKind::ContextTexts`], also
    /// where none has anything to say: the next request waits for it.
    AskHooks {
        /// After which turn.
        turn: u32,
    },
    /// Summarise the main path by rules, and report with [`crate::InputKind::Summarised`]: [`crate::summarise`] with
    /// [`crate::summary_text`], or [`crate::summary_floor`]. It needs no model, only the texts.
    Summarise {
        /// How large the summary may be, in tokens.
        most: u32,
        /// The event with the words of a model that has summarised: what they do not tell is wanted.
        below: Option<EventId>,
        /// What stays of what it tells about.
        keeps: Box<Keeps>,
    },
    /// Report when a time has come.
    Timer {
        /// The time.
        at: Millis,
    },
}
