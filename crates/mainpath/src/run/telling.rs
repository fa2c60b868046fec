//! What of one trace is told whoever follows it: its facts, the pieces of what is still coming, the calls that wait for people.

use super::pending::Known;
use crate::event::RunEvent;
use crate::trace::long_answer;
use crate::{Error, Trace};
use mainpath_core::{EffectKey, State};
use mainpath_runtime::wire::Projector;
use mainpath_runtime::{Live, Streamed, Waiting, rest_of};
use mainpath_types::{CallId, Delta, Event, EventId, EventKind, Millis, ModelFinished, text_of};
use std::collections::{BTreeSet, VecDeque};

pub(super) struct Telling {
    trace: Trace,
    projector: Projector,
    /// Events before this one are read to know what is pending, and not given out.
    from: EventId,
    /// Events before this one are not needed for that either.
    needed: EventId,
    /// The last event that was read.
    pub last: EventId,
    calls: Known,
    /// The calls that wait for an approval of which that was told.
    told: BTreeSet<CallId>,
    /// Calls that wait for an answer of which that was told.
    questions: BTreeSet<CallId>,
    /// The answer under way.
    streamed: Streamed,
    /// Whether of an answer of which no piece was told its text is told before it.
    tells_whole: bool,
    queue: VecDeque<Result<RunEvent, Error>>,
}

impl Telling {
    /// It must be fed the log from the beginning.
    pub fn new(trace: &Trace, from: EventId, tells_whole: bool) -> Telling {
        Telling {
            trace: trace.clone(),
            projector: Projector::new(trace.id().clone()),
            from,
            needed: 0,
            last: 0,
            calls: Known::default(),
            told: BTreeSet::new(),
            questions: BTreeSet::new(),
            streamed: Streamed::default(),
            tells_whole,
            queue: VecDeque::new(),
        }
    }

    /// Says that of the events before this one none is needed to know what is pending.
    pub fn need_from(&mut self, needed: EventId) {
        self.needed = needed.min(self.from);
    }

    /// The state after what was fed.
    pub fn state(&self) -> &State {
        self.projector.state()
    }

    /// The next to tell.
    pub fn pop(&mut self) -> Option<Result<RunEvent, Error>> {
        self.queue.pop_front()
    }

    /// Whether all was told.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Tells something that is not of the log.
    pub fn push(&mut self, event: Result<RunEvent, Error>) {
        self.queue.push_back(event);
    }

    /// Takes what was seen and tells nothing of it.
    pub fn pass(&mut self, live: &Live) {
        if let Live::Event(event) = live {
            self.last = event.id;
            self.projector.skip(event);
        }
    }

    /// Takes what was seen. Errors: this version does not know an event.
    pub async fn take(&mut self, live: &Live) -> Result<(), Error> {
        match live {
            Live::Event(event) => {
                self.last = event.id;
                if event.id < self.needed {
                    self.projector.skip(event);
                    return Ok(());
                }
                if let EventKind::ModelFinished(data) = &event.kind {
                    self.complete(event, data).await?;
                }
                let told = self.queue.len();
                for line in self.projector.project(event) {
                    self.fact(event.id, RunEvent::read(line)?);
                }
                let facts = self.queue.iter_mut().skip(told).flatten().filter(|fact| fact.id() == Some(event.id));
                facts.rev().skip(1).for_each(RunEvent::set_more);
            }
            Live::Delta { of: of @ (EffectKey::Model(_) | EffectKey::Tool(..)), nth, pieces, delta } => {
                if self.streamed.take(of, *nth, *pieces, delta) && self.last + 1 >= self.from {
                    self.piece(of, delta)?;
                }
            }
            Live::Notice(text) if self.last + 1 >= self.from => {
                let line = self.projector.notice(text, self.now());
                self.queue.push_back(Ok(RunEvent::read(line)?));
            }
            Live::Delta { .. } | Live::Notice(_) => {}
        }
        Ok(())
    }

    /// An answer is complete: what of its text was not told comes before it. Who only watches is told of what came in pieces.
    async fn complete(&mut self, event: &Event, data: &ModelFinished) -> Result<(), Error> {
        let seen = self.streamed.end(data.request);
        if event.id < self.from || seen.is_none() && !self.tells_whole {
            return Ok(());
        }
        let answer = long_answer(self.trace.host().at(self.trace.id()).scoped(), event).await;
        let answer = answer.unwrap_or_else(|| text_of(&data.parts));
        let rest = rest_of(seen.as_deref().unwrap_or_default(), &answer);
        match rest.is_empty() {
            true => Ok(()),
            false => self.piece(&EffectKey::Model(data.request), &Delta::Text { text: rest.into() }),
        }
    }

    fn piece(&mut self, of: &EffectKey, delta: &Delta) -> Result<(), Error> {
        for line in self.projector.delta(of, delta, self.now()) {
            self.queue.push_back(Ok(RunEvent::read(line)?));
        }
        Ok(())
    }

    fn now(&self) -> Millis {
        (self.trace.host().runtime().config().clock)()
    }

    fn fact(&mut self, id: EventId, event: RunEvent) {
        match self.calls.note(&event, &self.trace) {
            Some(call) if id >= self.from => self.announce(call),
            None if id >= self.from => self.queue.push_back(Ok(event)),
            _ => {}
        }
    }

    /// Tells what people are waited for, once.
    pub fn ask(&mut self, waiting: &[Waiting]) {
        for one in waiting {
            match one {
                Waiting::Approval(call) => self.announce(*call),
                Waiting::Answer(call) => self.question(*call),
                Waiting::Child(_) | Waiting::Timer => {}
            }
        }
    }

    fn announce(&mut self, call: CallId) {
        if let Some(pending) = self.calls.approval(call).filter(|_| self.told.insert(call)) {
            self.queue.push_back(Ok(RunEvent::ApprovalRequired(pending)));
        }
    }

    fn question(&mut self, call: CallId) {
        // One that was approved before has been announced as that, not as a question.
        let asked = self.calls.question(call, self.projector.state(), &self.trace);
        if let Some(asked) = asked.filter(|_| self.questions.insert(call)) {
            self.queue.push_back(Ok(RunEvent::QuestionAsked(asked)));
        }
    }
}
