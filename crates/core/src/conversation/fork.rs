//! A fork: another trace, whose log begins as this one's does up to a message. What was open there is not open in it.

use crate::calls::end::resolved;
use crate::{Inbox, NodeKind, Queues, Refusal, State, apply, next_step};
use mainpath_types::{
    Event, EventId, EventKind, FinishReason, Forked, Millis, Omitted, Principal, Resolution, ResolveCause, Seq, Spent,
    TraceId, Usage,
};

/// The log of the trace `new` as a fork of another at a message; 0 is before the first. It holds the other's events up to
/// there, past all results of the message's calls and what was changed of the plan before anything followed, under the same
/// numbers; then what closes whatever was open. It stands for itself: the other trace may go.
///
/// `events` is the other's log; a gap in its numbers is an event whose content was erased. Errors: the message is not there,
/// or was on a side branch.
pub fn fork(
    from: &TraceId,
    events: &[Event],
    at: Seq,
    new: &TraceId,
    by: &Principal,
    now: Millis,
) -> Result<Vec<Event>, Refusal> {
    let (taken, later) = events.split_at_checked(upto(from, events, at)?).unwrap_or_default();
    let mut fork = Fork { state: State::new(new.clone()), log: Vec::new(), now };
    fork.take_all(taken);
    fork.take_all(later.get(..fork.planned(later)).unwrap_or_default());
    fork.say(Forked { from: from.clone(), event: fork.state.log.last, at, by: by.clone() });
    let runs = |call: &&crate::Call| !call.state.is_done() && !call.state.is_unstarted();
    while let Some(call) = fork.state.turn_calls().iter().find(runs) {
        let end = resolved(call, now, Resolution::Interrupted, ResolveCause::Stopped);
        fork.say(end);
    }
    while let Some(kind) = next_step(&fork.state) {
        fork.say(kind);
    }
    Ok(fork.log)
}

struct Fork {
    state: State,
    log: Vec<Event>,
    now: Millis,
}

impl Fork {
    /// How many of the events that come next there are up to the last that changes the plan at the same message.
    fn planned(&self, later: &[Event]) -> usize {
        let mut ahead = self.state.clone();
        let same = |event: &&Event| {
            apply(&mut ahead, event);
            ahead.tree.head == self.state.tree.head
        };
        let at_it = later.iter().take_while(same).count();
        let changes = |event: &Event| match &event.kind {
            EventKind::GoalsChanged(_) => true,
            // An answer on a side branch.
            EventKind::ModelFinished(data) => !data.goals.is_empty(),
            _ => false,
        };
        later.iter().take(at_it).rposition(changes).map_or(0, |last| last + 1)
    }

    fn take_all(&mut self, events: &[Event]) {
        for event in events {
            while self.state.log.last + 1 < event.id {
                let id = self.state.log.last + 1;
                self.take(Event { id, ts: event.ts, turn: event.turn, mail: None, kind: Omitted {}.into() });
            }
            // Its mailbox is another one.
            self.take(Event { mail: None, ..event.clone() });
        }
    }

    fn take(&mut self, event: Event) {
        apply(&mut self.state, &event);
        self.log.push(event);
    }

    fn say(&mut self, kind: impl Into<EventKind>) {
        let (id, ts) = (self.state.log.last + 1, self.now.max(self.state.log.now));
        let mut event = Event { id, ts, turn: 0, mail: None, kind: kind.into() };
        apply(&mut self.state, &event);
        event.turn = self.state.counts.turns;
        self.log.push(event);
    }
}

/// The event by which a message was there, and the results of its calls if it made any. Errors: as [`fork`]'s.
pub fn reached(from: &TraceId, events: &[Event], at: Seq) -> Result<EventId, Refusal> {
    let taken = upto(from, events, at)?;
    Ok(events.get(..taken).and_then(<[Event]>::last).map_or(0, |event| event.id))
}

/// How many events there are up to that one.
fn upto(from: &TraceId, events: &[Event], at: Seq) -> Result<usize, Refusal> {
    if at == Seq(0) {
        let specs = events.iter().take_while(|event| matches!(event.kind, EventKind::SpecChanged(_))).count();
        return if specs == 0 { Err(Refusal::NoSpec) } else { Ok(specs) };
    }
    let mut state = State::new(from.clone());
    let mut taken = 0;
    for event in events {
        if state.tree.node(at).is_some() {
            // A message that made calls is nothing without their results.
            let open = matches!(state.tree.node(at).map(|node| node.kind), Some(NodeKind::Assistant { .. }));
            if !open || state.turn.is_none_or(|turn| turn.assistant != at) {
                break;
            }
        }
        apply(&mut state, event);
        taken += 1;
        let came = state.tree.node(at).is_some();
        if came && !state.tree.is_on_path(state.tree.head, at) {
            return Err(Refusal::OnSideBranch(at));
        }
    }
    state.tree.node(at).map(|_| taken).ok_or(Refusal::NoSuchMessage(at))
}

impl State {
    /// From here on it is a trace of its own: nothing that was asked of the other is asked of it, nothing that was allowed
    /// there is allowed here, and what was spent was spent there.
    pub(crate) fn forked(&mut self, id: EventId) {
        (self.queues, self.inbox) = (Queues::default(), Inbox::default());
        self.name = None;
        (self.between_runs.rewind, self.between_runs.opening, self.context.compaction, self.between_runs.clearing) =
            (None, None, None, false);
        self.approvals.rules.clear();
        self.approvals.reopened.clear();
        self.rates.clear();
        (self.context.expand, self.context.recalled) = (None, Vec::new());
        self.model = None;
        self.reload_skills();
        (self.spent.usage, self.spent.cost, self.spent.about) = (Usage::default(), 0, false);
        self.with_run(|run| (run.usage, run.cost, run.spent) = (Usage::default(), 0, Spent::default()));
        self.rewind_goals();
        if self.run.as_ref().is_some_and(|run| run.answered.is_none()) {
            self.close(FinishReason::Stopped);
            self.ended.event = Some(id);
        }
    }
}
