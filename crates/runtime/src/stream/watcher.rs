//! Who watches what. Durable events are resumed by number, deltas are only for those who look.

use crate::stream::audience::{Heard, Listener};
use crate::stream::hub::{Handle, Live, Phase, Subscribed};
use mainpath_core::EffectKey;
use mainpath_store::{Scope, Store, StoreError};
use mainpath_types::{
    CallId, Event, EventId, EventKind, ModelAbandoned, ModelFailed, ModelFinished, ModelMalformed, TraceId,
};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::watch;

/// The events of a trace from a number on, without gaps, and the deltas in between.
pub struct Watcher {
    store: Arc<dyn Store>,
    scope: Scope,
    trace: TraceId,
    next: EventId,
    live: Listener<Live>,
    /// What had come of the effects under way when it began.
    so_far: VecDeque<Live>,
    backlog: VecDeque<Arc<Event>>,
    handle: Arc<Handle>,
    behind: bool,
    settled: Settled,
}

/// What a watcher has seen the end of. Events may be read from the log faster than deltas come in; one that comes after the
/// end of what it is a piece of is not shown.
#[derive(Debug, Default)]
struct Settled {
    request: u32,
    calls: BTreeSet<CallId>,
}

impl Settled {
    fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ModelFinished(ModelFinished { request, .. })
            | EventKind::ModelMalformed(ModelMalformed { request, .. })
            | EventKind::ModelFailed(ModelFailed { request, .. })
            | EventKind::ModelAbandoned(ModelAbandoned { request, .. }) => {
                self.request = *request;
                // The calls of earlier turns are long over; their deltas too.
                self.calls.clear();
            }
            EventKind::CallResolved(data) => {
                self.calls.insert(data.call);
            }
            _ => {}
        }
    }

    fn has(&self, of: &EffectKey) -> bool {
        match of {
            EffectKey::Model(request) => *request <= self.request,
            EffectKey::Tool(call, _) => self.calls.contains(call),
            _ => false,
        }
    }
}

impl Watcher {
    /// Watches from an event on (1 is the first).
    pub(crate) fn new(
        store: Arc<dyn Store>,
        scope: Scope,
        trace: TraceId,
        from: EventId,
        handle: Arc<Handle>,
    ) -> Watcher {
        let (next, Subscribed { live, so_far }) = (from.max(1), handle.subscribe());
        let (backlog, settled) = (VecDeque::new(), Settled::default());
        Watcher { store, scope, trace, next, live, so_far: so_far.into(), backlog, handle, behind: true, settled }
    }

    /// The same for a trace that is begun after this: it will be told of every event, so its log need not be read.
    pub(crate) fn before_it_begins(self) -> Watcher {
        Watcher { behind: false, ..self }
    }

    /// The next thing to see. Waits for it; `Err` when the log cannot be read.
    pub async fn next(&mut self) -> Result<Live, StoreError> {
        loop {
            if self.behind {
                let log = self.store.read(&self.scope, &self.trace, self.next).await?;
                // Only now: whoever drops this future half-way, or comes back after an error, reads again.
                self.behind = false;
                self.backlog.extend(log.events.into_iter().map(Arc::new));
            }
            if let Some(event) = self.backlog.pop_front() {
                if event.id >= self.next {
                    return Ok(self.see(event));
                }
                continue;
            }
            if let Some(piece) = self.begun() {
                return Ok(piece);
            }
            let heard = self.live.next().await;
            if let Some(live) = self.take(heard) {
                return Ok(live);
            }
        }
    }

    /// What has been told already and was not seen yet, if the log need not be read for it.
    pub fn told(&mut self) -> Option<Live> {
        while !self.behind {
            if let Some(event) = self.backlog.pop_front() {
                if event.id >= self.next {
                    return Some(self.see(event));
                }
                continue;
            }
            if let Some(piece) = self.begun() {
                return Some(piece);
            }
            match self.live.told() {
                Heard::Nothing => return None,
                heard => {
                    if let Some(live) = self.take(heard) {
                        return Some(live);
                    }
                }
            }
        }
        None
    }

    /// What of it is to be seen. What cannot be told any more is read.
    fn take(&mut self, heard: Heard<Live>) -> Option<Live> {
        match heard {
            Heard::This(Live::Event(event)) if event.id == self.next => return Some(self.see(event)),
            Heard::This(Live::Event(event)) => self.behind |= event.id > self.next,
            Heard::This(Live::Delta { of, .. }) if self.settled.has(&of) => {}
            Heard::This(other) => return Some(other),
            Heard::Missed => self.behind = true,
            Heard::Nothing => {}
        }
        None
    }

    /// The next piece of what had come when it began, of what goes on still.
    fn begun(&mut self) -> Option<Live> {
        let is_over = |live: &Live| matches!(live, Live::Delta { of, .. } if self.settled.has(of));
        while self.so_far.front().is_some_and(is_over) {
            self.so_far.pop_front();
        }
        self.so_far.pop_front()
    }

    fn see(&mut self, event: Arc<Event>) -> Live {
        self.next = event.id + 1;
        self.settled.note(&event);
        Live::Event(event)
    }

    /// Reads the log before anything else: what was written with no known outcome was told to nobody.
    pub fn read_again(&mut self) {
        self.behind = true;
    }

    /// Where the driving stands, now and whenever it changes.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.handle.phase.subscribe()
    }
}
