//! What happens in a trace, as it happens, whoever drives it.

use super::bound::Bound;
use super::pending::Known;
use crate::event::RunEvent;
use crate::trace::long_answer;
use crate::{Error, Trace};
use mainpath_core::{EffectKey, pending};
use mainpath_runtime::wire::Projector;
use mainpath_runtime::{Live, Phase, Streamed, Waiting, Watcher, rest_of};
use mainpath_types::{CallId, Delta, Event, EventId, EventKind, ModelFinished, TraceId, text_of};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// So often it is looked whether another program still drives a trace of which nothing new is heard.
const LOOK: Duration = Duration::from_millis(250);

/// A call of a child.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ChildCall {
    trace: TraceId,
    call: CallId,
}

pub(super) struct Following {
    trace: Trace,
    watcher: Watcher,
    phases: watch::Receiver<Phase>,
    projector: Projector,
    /// Events before this one are read to know what is pending, and not given out.
    from: EventId,
    last: EventId,
    queue: VecDeque<Result<RunEvent, Error>>,
    calls: Known,
    /// The calls that wait for an approval of which that was told.
    told: BTreeSet<CallId>,
    /// The same of calls of children.
    told_of_children: BTreeSet<ChildCall>,
    /// Calls that wait for an answer of which that was told.
    questions: BTreeSet<CallId>,
    /// Where the log ends, as its store tells: for what another program drives.
    heads: Option<watch::Receiver<EventId>>,
    /// The answer under way.
    streamed: Streamed,
    /// Which run is followed.
    bound: Bound,
    /// The event with which that ended.
    finished: Arc<OnceLock<EventId>>,
    ended: bool,
}

impl Following {
    /// From an event on, until what is bound has ended; that is noted in `finished`.
    pub fn new(trace: &Trace, from: EventId, bound: Bound, finished: Arc<OnceLock<EventId>>) -> Following {
        let host = trace.host();
        let watcher = host.runtime().watch(host.scope(), trace.id(), 1);
        Following {
            trace: trace.clone(),
            phases: watcher.phase(),
            watcher,
            projector: Projector::new(trace.id().clone()),
            from,
            last: 0,
            queue: VecDeque::new(),
            calls: Known::default(),
            told: BTreeSet::new(),
            told_of_children: BTreeSet::new(),
            questions: BTreeSet::new(),
            heads: None,
            streamed: Streamed::default(),
            bound,
            finished,
            ended: false,
        }
    }

    /// See [`Run::next`](super::Run::next).
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.step().await {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        let phase = self.phases.borrow_and_update().clone();
        match phase {
            Phase::Running => {}
            Phase::Idle | Phase::Elsewhere(_) => return self.elsewhere(phase).await,
            Phase::Failed(problem) => {
                self.catch_up().await?;
                self.queue.push_back(Err(Error::failed(problem)));
                self.ended = true;
                return Ok(());
            }
            Phase::Parked(waiting) => {
                self.catch_up().await?;
                waiting.iter().for_each(|one| self.ask(one));
                self.ask_of_children(&waiting).await?;
                if !self.queue.is_empty() {
                    return Ok(());
                }
            }
        }
        tokio::select! {
            changed = self.phases.changed() => changed.map_err(|_| Error::failed("the host has ended")),
            live = self.watcher.next() => {
                self.take(live?).await
            }
        }
    }

    /// Follows what this host does not drive, until nobody does.
    async fn elsewhere(&mut self, phase: Phase) -> Result<(), Error> {
        let host = self.trace.host().clone();
        // Asked first: what was written before its driver went is read.
        let is_driven = host.at(self.trace.id()).driver().await?.is_some();
        self.catch_up().await?;
        let waiting = Waiting::among(&pending(self.projector.state()));
        waiting.iter().for_each(|one| self.ask(one));
        self.ask_of_children(&waiting).await?;
        if !self.queue.is_empty() {
            return Ok(());
        }
        if !is_driven && waiting.is_empty() {
            match self.bound != Bound::All && phase != Phase::Idle {
                true => host.runtime().resume(host.scope(), self.trace.id()),
                false => self.ended = true,
            }
            return Ok(());
        }
        let heads = match &mut self.heads {
            Some(heads) => heads,
            None => self.heads.insert(host.store().subscribe(host.scope(), self.trace.id())?),
        };
        if *heads.borrow_and_update() > self.last {
            return Ok(());
        }
        tokio::select! {
            changed = self.phases.changed() => changed.map_err(|_| Error::failed("the host has ended")),
            changed = heads.changed() => changed.map_err(|_| Error::failed("the store has ended")),
            () = tokio::time::sleep(LOOK) => Ok(()),
        }
    }

    /// Takes what the log has beyond what was seen.
    async fn catch_up(&mut self) -> Result<(), Error> {
        while let Some(live) = self.watcher.told() {
            self.take(live).await?;
        }
        let host = self.trace.host().clone();
        let log = host.store().read(host.scope(), self.trace.id(), self.last + 1).await?;
        let head = log.events.last().map_or(0, |event| event.id);
        self.watcher.read_again();
        while self.last < head && !self.ended {
            let live = self.watcher.next().await?;
            self.take(live).await?;
        }
        Ok(())
    }

    async fn take(&mut self, live: Live) -> Result<(), Error> {
        match live {
            // What comes after the run that is followed is somebody else's.
            _ if self.ended => {}
            Live::Event(event) => {
                self.last = event.id;
                if let EventKind::ModelFinished(data) = &event.kind {
                    self.complete(&event, data).await?;
                }
                for line in self.projector.project(&event) {
                    self.fact(event.id, RunEvent::read(line)?);
                }
                if event.id >= self.from && self.bound.see(&event, self.projector.state().counts.runs)? {
                    self.ended = true;
                    let _ = self.finished.set(event.id);
                }
            }
            Live::Delta { of: of @ (EffectKey::Model(_) | EffectKey::Tool(..)), nth, delta } => {
                if self.streamed.take(&of, nth, &delta) && self.last + 1 >= self.from {
                    self.piece(&of, &delta)?;
                }
            }
            Live::Delta { .. } | Live::Notice(_) => {}
        }
        Ok(())
    }

    /// An answer is complete: what of its text was not told comes before it. Who only watches is told of what came in pieces.
    async fn complete(&mut self, event: &Event, data: &ModelFinished) -> Result<(), Error> {
        let seen = self.streamed.end(data.request);
        if event.id < self.from || seen.is_none() && self.bound == Bound::All {
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
        let now = (self.trace.host().runtime().config().clock)();
        for line in self.projector.delta(of, delta, now) {
            self.queue.push_back(Ok(RunEvent::read(line)?));
        }
        Ok(())
    }

    fn fact(&mut self, id: EventId, event: RunEvent) {
        match self.calls.note(&event, &self.trace) {
            Some(call) if id >= self.from => self.announce(call),
            None if id >= self.from => self.queue.push_back(Ok(event)),
            _ => {}
        }
    }

    fn ask(&mut self, waiting: &Waiting) {
        match waiting {
            Waiting::Approval(call) => self.announce(*call),
            Waiting::Answer(call) => self.question(*call),
            Waiting::Child(_) | Waiting::Timer => {}
        }
    }

    /// What children wait for is asked here, under their own names.
    async fn ask_of_children(&mut self, waiting: &[Waiting]) -> Result<(), Error> {
        if !waiting.iter().any(|one| matches!(one, Waiting::Child(_))) {
            return Ok(());
        }
        let children: Vec<TraceId> =
            self.projector.state().children.open().filter_map(|child| child.trace.clone()).collect();
        for child in children {
            for pending in Trace::new(self.trace.host().clone(), child).approvals().await? {
                if self.told_of_children.insert(ChildCall { trace: pending.trace_id.clone(), call: pending.call }) {
                    self.queue.push_back(Ok(RunEvent::ApprovalRequired(pending)));
                }
            }
        }
        Ok(())
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
