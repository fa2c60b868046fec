//! A denial that somebody takes back: just that call is made after all, and its result joins the conversation where that stands now.
//!
//! What was said of the denial stays. The call gets a row of its own, below a message that says who approved what; the model did not
//! make it, so its result is told as a message too, and no vendor has to take in a call that its model did not sign.

use crate::input::Edit;
use crate::run::progress::Progress;
use crate::{Bodies, Call, CallState, Judged, NodeKind, Question, Refusal, Reopened, State, Turn, estimate};
use mainpath_types::{
    ApprovalGranted, CallId, CallReopened, Decision, EventId, EventKind, Message, Part, Principal, Resolution,
    ResolveCause, Role, Seq,
};

/// What it takes to say who approved which call, in tokens.
const FRAME: u32 = 64;

impl Call {
    /// Returns true if the call was denied and has not been reopened.
    pub fn is_denied(&self) -> bool {
        self.state == CallState::Done(Resolution::Denied) && !self.reopened
    }

    /// Returns true if a person denied the call, also if it was reopened later.
    pub fn is_denied_by_person(&self, bodies: &dyn Bodies) -> bool {
        let cause = bodies.get(self.result).and_then(|kind| match kind {
            EventKind::CallResolved(data) if data.call == self.id => Some(data.cause),
            _ => None,
        });
        cause == Some(ResolveCause::DeniedByPerson)
    }
}

/// The approval of a denied call. Rules have judged its arguments afresh: what would be asked is answered by it, what they deny stays
/// denied.
pub(crate) fn decide(
    state: &State,
    call: &Call,
    by: &Principal,
    edit: Option<&Edit>,
    rule: Option<&str>,
) -> Result<EventKind, Refusal> {
    let id = call.id;
    let edit = edit.ok_or(Refusal::AlreadyResolved(id))?;
    if id.seq <= state.tree.cleared || !state.tree.is_on_path(state.tree.head, id.seq) {
        return Err(Refusal::OffPath(id.seq));
    }
    if edit.verdict.decision == Decision::Deny {
        return Err(Refusal::StillDenied(id, edit.verdict.clone().into()));
    }
    Ok(ApprovalGranted {
        call: id,
        by: by.clone(),
        arguments: Some(edit.arguments.clone()),
        verdict: Some(edit.verdict.clone()),
        places: edit.places.clone(),
        changed_by: edit.changed_by.clone(),
        rule: rule.map(Into::into),
        asking: edit.asking.clone(),
    }
    .into())
}

/// The next denied call that is to be made after all.
pub(crate) fn due(state: &State) -> Option<EventKind> {
    let next = state.approvals.reopened.first()?;
    Some(CallReopened { of: next.of, seq: state.tree.next_seq(), grant: next.grant }.into())
}

impl State {
    /// A denied call was approved. It is made when nothing else is open.
    pub(crate) fn note_reopened(&mut self, grant: EventId, data: &ApprovalGranted) {
        let Some(call) = self.calls.get_mut(data.call).filter(|call| call.is_denied()) else { return };
        call.reopened = true;
        let tokens = FRAME.saturating_add(data.arguments.as_deref().map_or(0, estimate));
        let judged = Judged::boxed(data.verdict.clone(), &data.places);
        let question = Question::boxed(data.asking.as_deref());
        self.approvals.reopened.push(Reopened { of: data.call, grant, judged, tokens, question });
    }

    /// It is made: a message says so, and the call is its own row below that.
    pub(crate) fn reopen(&mut self, event: EventId, data: &CallReopened) {
        let Some(at) = self.approvals.reopened.iter().position(|one| one.of == data.of) else { return };
        let Reopened { of, grant, judged, tokens, question } = self.approvals.reopened.remove(at);
        let Some(old) = self.calls.get(of).cloned() else { return };
        let seq = self.tree.push(self.tree.head, event, NodeKind::User, tokens, self.goals.focus);
        self.tree.head = Some(seq);
        let tool = old.tool.as_deref().and_then(|tool| self.tool(tool)).cloned();
        self.calls.push(Call {
            id: CallId { seq, index: of.index },
            effect: tool.as_ref().map_or(old.effect, |tool| tool.effect),
            can_probe: tool.as_ref().map_or(old.can_probe, |tool| tool.can_probe),
            timeout_ms: tool.as_ref().map_or(old.timeout_ms, |tool| tool.timeout_ms),
            state: CallState::Ready,
            attempt: 0,
            started: self.log.now,
            not_before: 0,
            judged,
            question,
            approved: true,
            arguments: grant,
            result: event,
            tokens: 0,
            memory: None,
            once: false,
            // It is a call of its own: denied again, it can be approved again.
            reopened: false,
            may_be_late: false,
            ..old
        });
        self.turn = Some(Turn { assistant: seq, last: false });
        self.with_run(|run| {
            (run.answered, run.progress) = (None, Progress::default());
            run.first = run.first.or(Some(seq));
        });
    }
}

/// What the model is told of a call that is made after all.
pub fn reopened_text(state: &State, bodies: &dyn Bodies, data: &CallReopened) -> Option<String> {
    let EventKind::ApprovalGranted(grant) = bodies.get(data.grant)? else { return None };
    let tool = state.calls.get(data.of).and_then(|call| call.tool.clone());
    Some(format!(
        "[{} has approved the call {} of {}, which was denied. It is made now, just so: {}]",
        grant.by,
        data.of,
        tool.as_deref().unwrap_or("a tool"),
        grant.arguments.as_deref().unwrap_or("{}"),
    ))
}

/// Its result: a message, as no call of the model's stands before it.
pub fn result_in_words(seq: Seq, tool: &str, mut content: Vec<Part>) -> Message {
    content.insert(0, Part::text(format!("[The result of the approved call of {tool}:]")));
    Message { seq: Some(seq), role: Role::User, parts: content }
}
