//! What the model looks into that is no longer shown: older messages, past calls, a past result. What it is told is in the next
//! request and in no other, and is no larger than what the window has free.

use crate::context::pack::left_out;
use crate::context::room::Room;
use crate::{Branch, Item, Reply, State};
use mainpath_types::{BranchKind, CallId, EventId, ModelFinished, Seq};

/// So often in a row a model may look aside before its looks become turns.
const MOST: u32 = 5;
/// So often in a run where its turns are not limited; else as often as it may have turns.
const MOST_IN_A_RUN: u32 = 200;

/// Whether an answer may be an aside: only if all its calls are answered and it plans nothing, not for ever, not on a side branch for something else, not where a last answer is asked for.
pub(crate) fn may(state: &State, reply: &Reply) -> bool {
    let answered = !reply.calls.is_empty() && reply.calls.iter().all(|planned| planned.ended().is_some());
    let elsewhere = state.branch.is_some_and(|branch| branch.kind != BranchKind::Aside);
    let last = state.model.is_some_and(|model| model.last || model.minimal);
    let all = state.limits().and_then(|limits| limits.turns).unwrap_or(MOST_IN_A_RUN);
    let more = state.run.as_ref().is_some_and(|run| run.asides < MOST && run.all_asides < all);
    answered && reply.goals.is_empty() && !elsewhere && !last && more
}

/// How many tokens the next request has room for, a fiftieth of what it may take kept back since sizes are estimates.
pub fn free_tokens(state: &State) -> u64 {
    let room = |spec| Room::of(spec).most / 50 * 49;
    state.coming_spec().map_or(0, |spec| room(spec).saturating_sub(state.request_tokens()))
}

/// The messages that the main path has and does not show, newest first; only those before one. With `partly`, results of which
/// only a part is shown are among them.
pub fn older(state: &State, before: Option<Seq>, partly: bool) -> impl Iterator<Item = Item> {
    left_out(state, state.tree.head, partly).filter(move |item| before.is_none_or(|before| item.seq() < Some(before)))
}

impl State {
    /// An answer that only looks aside hangs off the frozen path. One look takes the place of the one before.
    pub(crate) fn answer_aside(&mut self, id: EventId, data: &ModelFinished) {
        let Some(head) = self.tree.head else { return };
        self.with_run(|run| {
            run.asides = run.asides.saturating_add(1);
            run.all_asides = run.all_asides.saturating_add(1);
            run.model_failures = 0;
            run.progress.note_answer(&data.parts);
        });
        let calls = u16::try_from(data.calls.len()).unwrap_or(u16::MAX);
        let seq = self.tree.push(Some(head), id, crate::NodeKind::Assistant { calls }, data.tokens, self.goals.focus);
        let rounds = self.branch.map_or(0, |branch| branch.rounds);
        self.branch = Some(Branch { rounds, ..Branch::new(BranchKind::Aside, seq) });
        self.tree.set_apart(seq);
        for call in data.calls() {
            self.plan(id, CallId { seq, ..call.id }, call.planned);
        }
        self.turn = Some(crate::Turn { assistant: seq, last: false });
        self.context.expand = data.expand;
    }

    /// Whoever wants to see more sees it on the main path, and needs no branch for it.
    pub(crate) fn leave_aside(&mut self) {
        if self.context.expand.is_some() && self.branch.is_some_and(|branch| branch.kind == BranchKind::Aside) {
            self.branch = None;
        }
    }
}
