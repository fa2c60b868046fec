//! The machine: one input in, one batch out, effects once the batch is durable.

use crate::decide::decide;
use crate::model::decide::fill;
use crate::{Effect, EffectKey, Input, InputKind, Refusal, State, apply, estimate, next_step, pending};
use mainpath_types::{CallId, Delta, Event, EventId, EventKind, MailRefused, TraceId};
use std::collections::{BTreeMap, BTreeSet};

/// An agent. `handle` decides and remembers, the caller appends the batch, `commit` releases the effects.
#[derive(Clone, Debug)]
pub struct Machine {
    state: State,
    draft: Draft,
    uncommitted: Option<EventId>,
}

/// What is known of things that are still under way. It is in no log and outlives no crash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The text of the model's answer so far.
    pub text: String,
    /// Its reasoning so far.
    pub thinking: String,
    /// The calls whose tools have really begun.
    pub running: BTreeSet<CallId>,
    /// The estimated size of what has come of the model's answer, where its pieces are not given here.
    pub received: u32,
}

/// Whether an event begins something.
fn begins(kind: &EventKind) -> bool {
    matches!(kind, EventKind::RunStarted(_) | EventKind::ModelRequested(_) | EventKind::ActionStarted(_))
}

impl Machine {
    /// The machine of a trace whose log is empty.
    pub fn new(trace: TraceId) -> Machine {
        Machine::resume(State::new(trace))
    }

    /// The machine of a trace with this log. Offer [`InputKind::Recovered`] next.
    pub fn fold<'a>(trace: TraceId, log: impl IntoIterator<Item = &'a Event>) -> Machine {
        let mut state = State::new(trace);
        log.into_iter().for_each(|event| apply(&mut state, event));
        Machine::resume(state)
    }

    /// The machine of a state that was folded elsewhere.
    pub fn resume(state: State) -> Machine {
        Machine { state, draft: Draft::default(), uncommitted: None }
    }

    /// The state, the uncommitted batch included.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What is still under way.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Decides what follows from an input. The batch is empty where nothing durable follows; otherwise append it as one,
    /// then [`Machine::commit`]. A refusal has changed nothing, but for a mailbox entry: its refusal is an event, so that it
    /// is not read again.
    pub fn handle(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        if self.uncommitted.is_some() {
            return Err(Refusal::Busy);
        }
        self.decided(input)
    }

    /// Decides what follows from one more input that is to be durable together with the batch that waits: append what comes of both as
    /// one. Only for what tells nothing new of the world outside, since nothing of the batch has happened there yet; what
    /// [`pending`] would demand of the caller next, say. As [`Machine::handle`] otherwise.
    pub fn handle_also(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        self.decided(input)
    }

    fn decided(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        if let Some(mail) = input.mail.filter(|mail| self.state.log.mail.has(*mail)) {
            return Err(Refusal::MailConsumed(mail));
        }
        let kind = self.draw(&input.kind)?;
        let mut batch = Vec::new();
        if input.mail.is_some() && matches!(input.kind, InputKind::Stop { .. }) {
            // What was held back until now begins, so that the stop ends it.
            while let Some(kind) = self.next_step().filter(|_| self.state.run.is_none()) {
                batch.push(self.advance(input, None, kind));
            }
        }
        let decided = match decide(&self.state, input.at, kind.as_ref().unwrap_or(&input.kind)) {
            Ok(events) => events,
            Err(Refusal::Busy) => return Err(Refusal::Busy),
            Err(refusal) if input.mail.is_some() => vec![MailRefused { problem: refusal.to_string() }.into()],
            Err(refusal) => return Err(refusal),
        };
        for (index, kind) in decided.into_iter().enumerate() {
            let mail = input.mail.filter(|_| index == 0);
            batch.push(self.advance(input, mail, kind));
        }
        while let Some(kind) = self.next_step().filter(|kind| !input.more || !begins(kind)) {
            batch.push(self.advance(input, None, kind));
        }
        self.uncommitted = batch.last().map(|event| event.id).or(self.uncommitted);
        Ok(batch)
    }

    /// Notes how much of the answer under way has come, by estimate: what is told of it if it is given up.
    pub fn received(&mut self, tokens: u32) {
        self.draft.received = tokens;
    }

    /// The next event that the state demands, with what is known of an answer that it gives up.
    fn next_step(&self) -> Option<EventKind> {
        let mut kind = next_step(&self.state)?;
        if let (EventKind::ModelAbandoned(data), Some(model)) = (&mut kind, &self.state.model) {
            let draft = estimate(&self.draft.text).saturating_add(estimate(&self.draft.thinking));
            let received = self.draft.received.max(draft);
            data.spent = data.spent.map(|_| self.state.spent_on(model, received));
        }
        Some(kind)
    }

    /// Whether an input was taken in with [`Input::more`] and something that follows from it was held back.
    pub fn holds_back(&self) -> bool {
        self.uncommitted.is_none() && next_step(&self.state).is_some()
    }

    /// The batch that ends with this event is durable.
    pub fn commit(&mut self, id: EventId) {
        self.uncommitted = self.uncommitted.filter(|last| id < *last);
    }

    /// What is to be going on now. `None` while a batch is not committed: then nothing may start or end.
    pub fn pending(&self) -> Option<BTreeMap<EffectKey, Effect>> {
        self.uncommitted.is_none().then(|| pending(&self.state))
    }

    fn advance(&mut self, input: &Input, mail: Option<u64>, kind: EventKind) -> Event {
        let ts = input.at.max(self.state.log.now);
        let mut event = Event { id: self.state.log.last + 1, ts, turn: 0, mail, kind };
        apply(&mut self.state, &event);
        event.turn = self.state.counts.turns;
        if self.state.model.is_none() {
            self.draft.text.clear();
            self.draft.thinking.clear();
            self.draft.received = 0;
        }
        if let EventKind::CallResolved(resolved) = &event.kind {
            self.draft.running.remove(&resolved.call);
        }
        event
    }

    /// Fills the draft, or fills an answer from it.
    fn draw(&mut self, input: &InputKind) -> Result<Option<InputKind>, Refusal> {
        match input {
            InputKind::ModelChunk { request, delta } => {
                let awaited = self.state.model.is_some_and(|model| model.request == *request);
                if !awaited {
                    return Err(Refusal::StaleRequest(*request));
                }
                match delta {
                    Delta::Text { text } => self.draft.text.push_str(text),
                    Delta::Thinking { text } => self.draft.thinking.push_str(text),
                    Delta::Arguments { .. } | Delta::Partial { .. } | Delta::ToolOutput { .. } => {}
                }
                Ok(None)
            }
            InputKind::ToolStarted { call, attempt } => {
                let row = self.state.calls.get(*call).ok_or(Refusal::NoSuchCall(*call))?;
                if row.state != crate::CallState::Started {
                    return Err(Refusal::NotStarted(*call));
                }
                if row.attempt != *attempt {
                    return Err(Refusal::WrongAttempt(*call, *attempt));
                }
                self.draft.running.insert(*call);
                Ok(None)
            }
            InputKind::ModelFinished(reply) if reply.parts.is_empty() && reply.calls.is_empty() => {
                Ok(Some(InputKind::ModelFinished(Box::new(fill(reply, &self.draft.text)))))
            }
            _ => Ok(None),
        }
    }
}
