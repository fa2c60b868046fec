//! From a state and an event to the next state. Total: no event, however odd, makes it fail.

use crate::{CallState, Opening, Queued, Rewind, SpecHead, State};
use mainpath_types::{
    ClearRequested, CompactionRequested, ContinueRequested, Erased, Event, EventKind, FilesKept, FilesRestored,
    FinishReason, Forked, GoalOp, MailRefused, Omitted, RetryDue, TailCut, TurnFinished,
};

/// Applies an event. This alone makes state; replay is nothing but this.
pub fn apply(state: &mut State, event: &Event) {
    let (id, at) = (event.id, event.ts);
    state.log.last = id;
    state.log.now = state.log.now.max(at);
    if let Some(mail) = event.mail {
        state.log.mail.note(mail);
    }
    match &event.kind {
        EventKind::SpecChanged(data) => {
            state.next_spec = Some(SpecHead::new(id, &data.spec).scaled(&state.counting.learned))
        }
        EventKind::MessageQueued(data) => {
            state.queues.push(data.mode, Queued { event: id, tokens: data.tokens, demands: data.demands })
        }
        EventKind::MessageJoined(data) => state.join(data.of),
        EventKind::RunStarted(data) => state.start_run(data, at),
        EventKind::RunClosing(data) => {
            state.close(data.reason);
            state.ended.event = data.why.is_some().then_some(id);
        }
        EventKind::RunFinished(data) => state.finish_run(data.reason),
        EventKind::ModelRequested(data) => state.request(data, at),
        EventKind::ModelFinished(data) => state.answer(id, data),
        EventKind::ModelMalformed(data) => state.malformed(id, data),
        EventKind::ModelFailed(data) => state.model_failed(data),
        EventKind::ModelAbandoned(data) => {
            state.settle(data.usage, data.cost, data.spent());
        }
        EventKind::RetryDue(RetryDue {}) => state.with_run(|run| run.retry_at = None),
        EventKind::ActionStarted(data) => {
            state.start_call(data, at);
        }
        EventKind::ApprovalGranted(data) => state.approve(id, data),
        EventKind::CallReopened(data) => state.reopen(id, data),
        EventKind::CallDelayed(data) => state.delay_call(data.call, data.until),
        EventKind::CallDue(data) => state.call_due(data.call),
        EventKind::QuestionSent(data) => state.question_sent(data),
        EventKind::CallRetried(data) => state.set_call(data.call, CallState::Ready),
        EventKind::CallCancelling(data) => state.set_call(data.call, CallState::Cancelling(data.cause)),
        EventKind::CallProbing(data) => state.set_call(data.call, CallState::Probing),
        EventKind::CallResolved(data) => state.resolve(id, data),
        EventKind::LateResult(data) => {
            if let Some(call) = state.calls.get_mut(data.call) {
                call.may_be_late = false;
            }
        }
        EventKind::TurnFinished(TurnFinished { .. }) => state.finish_turn(),
        EventKind::ContinueRequested(ContinueRequested { .. }) => match state.tree.is_answered() {
            // The message that waits opens the run.
            true => state.queues.held = false,
            false => state.between_runs.opening = Some(Opening::GoOn),
        },
        EventKind::RewindRequested(data) => {
            let message =
                data.parts.is_some().then_some(Queued { event: id, tokens: data.tokens, demands: data.demands });
            state.between_runs.rewind = Some(Rewind { after: data.after, message });
            state.close(FinishReason::Stopped);
        }
        EventKind::Rewound(data) => state.rewound(data),
        EventKind::ClearRequested(ClearRequested { .. }) => state.clear_requested(),
        EventKind::SessionCleared(data) => state.session_cleared(data),
        EventKind::Forked(Forked { .. }) => state.forked(id),
        EventKind::BranchOpened(data) => state.open_branch(id, data),
        EventKind::BranchClosed(data) => state.close_branch(data),
        EventKind::CompactionRequested(CompactionRequested { .. }) => state.context.compaction = Some(id),
        EventKind::Compacted(data) => state.compacted(id, data),
        EventKind::ContextCut(data) => state.context_cut(id, data),
        EventKind::CallsRecalled(data) => state.context.recalled.extend(&data.calls),
        EventKind::Injected(data) => state.inject(id, data),
        EventKind::GoalsChanged(data) => {
            state.change_goals(&data.ops);
            state.reminders.plan_is_news = true;
            // What somebody pins is told before anything else is asked.
            state.reminders.pin_is_news |=
                data.ops.iter().any(|op| matches!(op, GoalOp::Pin { .. } | GoalOp::Unpin { .. }));
        }
        EventKind::SkillSelected(data) => state.skill_selected(id, data),
        EventKind::MailRefused(MailRefused { .. })
        | EventKind::TailCut(TailCut { .. })
        | EventKind::FilesKept(FilesKept { .. })
        | EventKind::ResourceLoaded(_)
        | EventKind::FilesRestored(FilesRestored { .. })
        | EventKind::Omitted(Omitted {}) => {}
        EventKind::MessageReceived(data) => state.receive(id, data),
        EventKind::TraceNamed(data) => state.named(data),
        EventKind::MessageImported(data) => state.import(id, data),
        EventKind::SubTraceStarted(data) => state.start_child(data, at),
        EventKind::SubTraceCompleted(data) => state.end_child(data),
        // Whoever reads the log has put what is left of them in the places of the erased events.
        EventKind::Erased(Erased { .. }) => {}
    }
    let (waits, now) = (state.waits_for_people(), state.log.now);
    state.with_run(|run| run.note_waiting(waits, now));
}
