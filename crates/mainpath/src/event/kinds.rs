//! Every event of a run, by its published name.

use super::data::{
    ActionExecuted, ActionPlanned, ActionValidated, ApprovalDenied, ArgumentsPiece, BudgetChanged, GoalChanged,
    ModelResponse, Notice, Observation, OutputPiece, PartialAction, PlanChanged, RequestRepacked, SideBranchOpened,
    TextPiece, TurnStarted,
};
use super::pending::{PendingCall, PendingQuestion};
use super::stamped::Stamped;
use mainpath_types::{
    ActionStarted, ApprovalGranted, BranchClosed, CallCancelling, CallDelayed, CallDue, CallProbing, CallReopened,
    CallRetried, CallsRecalled, ClearRequested, Compacted, CompactionRequested, ContextCut, ContinueRequested, Erased,
    EventId, FilesKept, FilesRestored, Forked, Injected, LateResult, MailRefused, MessageImported, MessageJoined,
    MessageQueued, MessageReceived, ModelAbandoned, ModelFailed, ModelRequested, Omitted, QuestionSent, ResourceLoaded,
    RetryDue, RewindRequested, Rewound, RunClosing, RunFinished, RunStarted, SessionCleared, SkillSelected,
    SpecChanged, SubTraceCompleted, SubTraceStarted, TailCut, TraceId, TraceNamed, TurnFinished,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! events {
    ($( $(#[$doc:meta])* $variant:ident($data:ty) = $name:literal,)*) => {
        /// What happens in a run. As JSON it is the object that `mainpath run --json` and `mainpath watch --json` print for it.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "type")]
        pub enum RunEvent {
            $( $(#[$doc])* #[serde(rename = $name)] $variant(Stamped<$data>), )*
        }

        impl RunEvent {
            /// The names of all events.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Its published name.
            pub fn name(&self) -> &'static str {
                match self { $( RunEvent::$variant(_) => $name, )* }
            }

            /// The trace that it is of.
            pub fn trace_id(&self) -> &TraceId {
                match self { $( RunEvent::$variant(event) => &event.trace_id, )* }
            }

            /// Whether another event of the same number follows: whoever resumes after the number has missed none once this is `false`.
            pub fn has_more(&self) -> bool {
                match self { $( RunEvent::$variant(event) => event.more, )* }
            }

            pub(crate) fn set_more(&mut self) {
                match self { $( RunEvent::$variant(event) => event.more = true, )* }
            }

            /// Its number in the log, from which a watcher resumes; see [`Stamped::id`].
            pub fn id(&self) -> Option<EventId> {
                match self { $( RunEvent::$variant(event) => event.id, )* }
            }
        }
    };
}

events! {
    /// A piece of the answer's text.
    Text(TextPiece) = "assistant_delta",
    /// A piece of what the model thinks.
    Thinking(TextPiece) = "thinking_delta",
    /// A piece of a call's arguments.
    Arguments(ArgumentsPiece) = "arguments_delta",
    /// What is known of an action before the answer is complete.
    ActionPartial(PartialAction) = "action_partial",
    /// A piece of what a running call writes.
    ToolOutput(OutputPiece) = "tool_output_delta",
    /// A call waits for an approval.
    ApprovalRequired(PendingCall) = "approval_required",
    /// A call waits for a person's answer.
    QuestionAsked(PendingQuestion) = "question_asked",
    /// A word about the run itself, which is in no log: what it waits for at this moment, or what could not be kept.
    Notice(Notice) = "notice",
    /// A run began.
    RunStarted(RunStarted) = "run_started",
    /// The run is to end as soon as nothing is open.
    RunClosing(RunClosing) = "run_closing",
    /// A run ended.
    RunFinished(RunFinished) = "run_finished",
    /// A turn began.
    TurnStarted(TurnStarted) = "turn_started",
    /// All calls of a turn have ended; their results entered the tree.
    TurnFinished(TurnFinished) = "turn_finished",
    /// A model call was decided.
    ModelRequest(ModelRequested) = "model_request",
    /// A request was made again with less.
    RequestRepacked(RequestRepacked) = "request_repacked",
    /// A model answered.
    ModelResponse(ModelResponse) = "model_response",
    /// A model call failed.
    ModelFailed(ModelFailed) = "model_failed",
    /// A model call was given up; its answer will not be used.
    ModelAbandoned(ModelAbandoned) = "model_abandoned",
    /// The wait before a retry is over.
    RetryDue(RetryDue) = "retry_due",
    /// The model wants a call made.
    ActionPlanned(ActionPlanned) = "action_planned",
    /// Rules have judged a call.
    ActionValidated(ActionValidated) = "action_validated",
    /// A call starts.
    ActionStarted(ActionStarted) = "action_started",
    /// An attempt of a call ended.
    ActionExecuted(ActionExecuted) = "action_executed",
    /// The model sees what became of a call.
    ObservationRecorded(Observation) = "observation_recorded",
    /// Somebody approved a call.
    ApprovalGranted(ApprovalGranted) = "approval_granted",
    /// A person or a rule denied a call.
    ApprovalDenied(ApprovalDenied) = "approval_denied",
    /// A call that was denied is made after all.
    CallReopened(CallReopened) = "call_reopened",
    /// A call waits until its tool may be called again.
    CallDelayed(CallDelayed) = "call_delayed",
    /// The wait of a call is over.
    CallDue(CallDue) = "call_due",
    /// An attempt failed for the moment; the call is made again.
    CallRetried(CallRetried) = "call_retried",
    /// A started call is to be ended.
    CallCancelling(CallCancelling) = "call_cancelling",
    /// A started call is asked whether it was done.
    CallProbing(CallProbing) = "call_probing",
    /// A result came after its call had ended; it is not used.
    LateResult(LateResult) = "late_result",
    /// A skill was loaded.
    SkillSelected(SkillSelected) = "skill_selected",
    /// A call has read a file of a skill.
    ResourceLoaded(ResourceLoaded) = "resource_loaded",
    /// What files hold is kept, as a call is about to change them.
    FilesKept(FilesKept) = "files_kept",
    /// Files are put back to what they were.
    FilesRestored(FilesRestored) = "files_restored",
    /// A spec was set; it takes effect at the next run or turn.
    SpecChanged(SpecChanged) = "spec_changed",
    /// A new spec changes limits.
    BudgetChanged(BudgetChanged) = "budget_changed",
    /// A message was queued.
    MessageQueued(MessageQueued) = "message_queued",
    /// A message that redirects the run was queued.
    SteerQueued(MessageQueued) = "steer_queued",
    /// A message for after the run was queued.
    FollowUpQueued(MessageQueued) = "follow_up_queued",
    /// A queued message entered the tree.
    MessageJoined(MessageJoined) = "message_joined",
    /// A message from elsewhere joined the conversation.
    MessageImported(MessageImported) = "message_imported",
    /// A mailbox entry was refused.
    MailRefused(MailRefused) = "mail_refused",
    /// The agent was asked to go on from where it is.
    ContinueRequested(ContinueRequested) = "continue_requested",
    /// A rewind was asked for.
    RewindRequested(RewindRequested) = "rewind_requested",
    /// The head moved back.
    Rewound(Rewound) = "rewound",
    /// The conversation is to be begun anew.
    ClearRequested(ClearRequested) = "clear_requested",
    /// The conversation was begun anew.
    SessionCleared(SessionCleared) = "session_cleared",
    /// The trace was made as a fork.
    Forked(Forked) = "forked",
    /// Stands in a fork for an event whose content was erased where it was made from.
    Omitted(Omitted) = "omitted",
    /// A side branch began.
    BranchOpened(SideBranchOpened) = "branch_opened",
    /// A side branch ended.
    BranchClosed(BranchClosed) = "branch_closed",
    /// Somebody asked for a summary.
    CompactionRequested(CompactionRequested) = "compaction_requested",
    /// The conversation up to a message was replaced by a summary.
    Compacted(Compacted) = "compacted",
    /// Messages before one are left out from here on.
    ContextCut(ContextCut) = "context_cut",
    /// Past calls are shown again in the next request.
    CallsRecalled(CallsRecalled) = "calls_recalled",
    /// The model was reminded of its plan and its budgets.
    Injected(Injected) = "injected",
    /// A plan was made.
    PlanCreated(PlanChanged) = "plan_created",
    /// The plan changed as a whole.
    PlanUpdated(PlanChanged) = "plan_updated",
    /// A goal was added.
    GoalAdded(GoalChanged) = "goal_added",
    /// A goal changed.
    GoalUpdated(GoalChanged) = "goal_updated",
    /// A call starts another agent.
    SubTraceStarted(SubTraceStarted) = "sub_trace_started",
    /// An agent that was started has ended.
    SubTraceCompleted(SubTraceCompleted) = "sub_trace_completed",
    /// A torn last line was cut off the log.
    TailCut(TailCut) = "tail_cut",
    /// The trace was named.
    TraceNamed(TraceNamed) = "trace_named",
    /// Another agent sent a message; it waits in the inbox.
    MessageReceived(MessageReceived) = "message_received",
    /// A question was sent to a person, or could not be.
    QuestionSent(QuestionSent) = "question_sent",
    /// The content of earlier events was taken out of the log.
    Erased(Erased) = "erased",
}

impl RunEvent {
    /// The event of a line. Errors: it is not one that this version knows.
    pub(crate) fn read(line: Value) -> Result<RunEvent, crate::Error> {
        let name = line["type"].as_str().unwrap_or_default().to_string();
        serde_json::from_value(line)
            .map_err(|error| crate::Error::failed(format!("the event {name:?} cannot be read: {error}")))
    }
}
