//! Events: decided facts in the past tense, one log line each.
//!
//! The log holds these; the finer names that watchers know (`action_planned`, `observation_recorded`, …) are projections.
//! A body is stored once, in the event that brought it; everything else refers to it by event id.

use crate::{
    ActionStarted, ApprovalGranted, BranchClosed, BranchOpened, CallCancelling, CallDelayed, CallDue, CallProbing,
    CallReopened, CallResolved, CallRetried, CallsRecalled, ClearRequested, Compacted, CompactionRequested, ContextCut,
    ContinueRequested, Erased, EventId, FilesKept, FilesRestored, Forked, GoalsChanged, Injected, LateResult, MailId,
    MailRefused, MessageImported, MessageJoined, MessageQueued, MessageReceived, Millis, ModelAbandoned, ModelFailed,
    ModelFinished, ModelMalformed, ModelRequested, Omitted, QuestionSent, ResourceLoaded, RetryDue, RewindRequested,
    Rewound, RunClosing, RunFinished, RunStarted, SessionCleared, SkillSelected, SpecChanged, SubTraceCompleted,
    SubTraceStarted, TailCut, TraceId, TraceNamed, TurnFinished,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the event vocabulary that this code writes.
pub const LOG_VERSION: u16 = 1;

/// One decided fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number in the trace, from 1, without gaps.
    pub id: EventId,
    /// When it was decided.
    pub ts: Millis,
    /// The turn it belongs to; 0 before the first.
    pub turn: u32,
    /// The mailbox entry that caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<MailId>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

macro_rules! events {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "type", content = "data", rename_all = "snake_case")]
        pub enum EventKind {
            $( $(#[$doc])* $variant($variant), )*
        }

        impl EventKind {
            /// The name on the log line.
            pub fn name(&self) -> &'static str {
                match self { $( EventKind::$variant(_) => $name, )* }
            }

            /// The `data` of the log line.
            pub fn encode(&self) -> serde_json::Result<Vec<u8>> {
                match self { $( EventKind::$variant(data) => serde_json::to_vec(data), )* }
            }

            /// The event of a log line with this `type` and `data`; `None` for a type that this code does not know.
            pub fn decode(name: &str, data: &str) -> Option<serde_json::Result<EventKind>> {
                match name {
                    $( $name => Some(serde_json::from_str(data).map(EventKind::$variant)), )*
                    _ => None,
                }
            }
        }

        $( impl From<$variant> for EventKind {
            fn from(data: $variant) -> EventKind {
                EventKind::$variant(data)
            }
        } )*
    };
}

events! {
    /// A spec was set; it takes effect at the next run or turn.
    SpecChanged = "spec_changed",
    /// A message from outside was queued.
    MessageQueued = "message_queued",
    /// A queued message entered the tree.
    MessageJoined = "message_joined",
    /// A run began.
    RunStarted = "run_started",
    /// The run is to end as soon as nothing is open.
    RunClosing = "run_closing",
    /// A run ended.
    RunFinished = "run_finished",
    /// A model call was decided.
    ModelRequested = "model_requested",
    /// A model answered.
    ModelFinished = "model_finished",
    /// A model answered in no valid form.
    ModelMalformed = "model_malformed",
    /// A model call failed.
    ModelFailed = "model_failed",
    /// A model call was given up; its answer will not be used.
    ModelAbandoned = "model_abandoned",
    /// The wait before a retry is over.
    RetryDue = "retry_due",
    /// A call was let loose. Written before it runs.
    ActionStarted = "action_started",
    /// Somebody approved a call.
    ApprovalGranted = "approval_granted",
    /// A call that was denied is made after all.
    CallReopened = "call_reopened",
    /// A call waits until its tool may be called again.
    CallDelayed = "call_delayed",
    /// The wait of a call is over.
    CallDue = "call_due",
    /// An attempt failed for the moment; the call is made again.
    CallRetried = "call_retried",
    /// A started call is to be ended.
    CallCancelling = "call_cancelling",
    /// A started call is asked whether it was done.
    CallProbing = "call_probing",
    /// What files hold is kept, as a call is about to change them. Written before it does.
    FilesKept = "files_kept",
    /// A call ended.
    CallResolved = "call_resolved",
    /// A result came after its call had ended; it is not used.
    LateResult = "late_result",
    /// All calls of a turn have ended; their results entered the tree.
    TurnFinished = "turn_finished",
    /// The agent was asked to go on from where it is.
    ContinueRequested = "continue_requested",
    /// A rewind was asked for.
    RewindRequested = "rewind_requested",
    /// The head moved back.
    Rewound = "rewound",
    /// Files are put back to what they were. Written before it is done.
    FilesRestored = "files_restored",
    /// The conversation is to be begun anew.
    ClearRequested = "clear_requested",
    /// The conversation was begun anew: nothing before is shown any more.
    SessionCleared = "session_cleared",
    /// The trace was made as a fork: everything before is what another trace held up to a message.
    Forked = "forked",
    /// Stands in a fork for an event whose content was erased in the trace that it was made from.
    Omitted = "omitted",
    /// A side branch began.
    BranchOpened = "branch_opened",
    /// A side branch ended.
    BranchClosed = "branch_closed",
    /// Somebody asked for a summary.
    CompactionRequested = "compaction_requested",
    /// The conversation up to a message was replaced by a summary.
    Compacted = "compacted",
    /// Messages before one are left out from here on.
    ContextCut = "context_cut",
    /// Past calls are shown again in the next request.
    CallsRecalled = "calls_recalled",
    /// The model was reminded of its plan and its budgets.
    Injected = "injected",
    /// The plan changed.
    GoalsChanged = "goals_changed",
    /// A mailbox entry was refused.
    MailRefused = "mail_refused",
    /// A torn last line was cut off the log.
    TailCut = "tail_cut",
    /// A message from elsewhere joined the conversation, with the results of its calls.
    MessageImported = "message_imported",
    /// A skill's text was loaded; it joins the conversation at the next turn.
    SkillSelected = "skill_selected",
    /// A call has read a file of a selected skill.
    ResourceLoaded = "resource_loaded",
    /// The content of earlier events was taken out of the log.
    Erased = "erased",
    /// A call starts a child agent. Written before there is one.
    SubTraceStarted = "sub_trace_started",
    /// A child agent has ended.
    SubTraceCompleted = "sub_trace_completed",
    /// The trace was named.
    TraceNamed = "trace_named",
    /// Another agent sent a message; it waits in the inbox.
    MessageReceived = "message_received",
    /// A question was sent to a person, or could not be.
    QuestionSent = "question_sent",
}

impl EventKind {
    /// Says of the agents that an event names that they are on the machine with this host, where its trace is.
    pub fn place_children(&mut self, host: &str) {
        let child = match self {
            EventKind::SubTraceStarted(data) => Some(&mut data.child),
            EventKind::SubTraceCompleted(data) => data.handed.child.as_mut(),
            _ => None,
        };
        if let Some(child) = child
            && child.elsewhere().is_none()
            && let Ok(placed) = TraceId::remote(host, child.as_str())
        {
            *child = placed;
        }
    }
}
