//! A trace that was read.

use crate::Error;
use mainpath_core::{Bodies, Log, State, apply};
use mainpath_runtime::Hydrated;
use mainpath_store::{ReadLog, Scope, ScopedStore, Store, TraceStore};
use mainpath_types::{Event, EventKind, Part, Spec, TraceId, text_of};

/// A trace that was read: where it lies, its log, and the state that the log makes.
#[derive(Clone, Copy)]
pub struct ReadTrace<'a> {
    /// Where it lies.
    pub store: &'a dyn Store,
    /// Whose it is.
    pub scope: &'a Scope,
    /// Which.
    pub trace: &'a TraceId,
    /// Its log.
    pub log: &'a ReadLog,
    /// The state that the log makes.
    pub state: &'a State,
    /// The bodies of its events.
    pub bodies: &'a Log,
}

impl<'a> ReadTrace<'a> {
    /// Where it lies.
    pub fn at(&self) -> TraceStore<'a> {
        TraceStore::new(self.store, self.scope, self.trace)
    }
}

/// The log of a trace, the state that it makes, and the bodies of its events.
pub(crate) struct Read {
    pub log: ReadLog,
    pub state: State,
    pub bodies: Log,
}

impl Read {
    pub async fn of(trace: TraceStore<'_>) -> Result<Read, Error> {
        let log = trace.read(1).await?;
        let mut state = State::new(trace.trace.clone());
        log.events.iter().for_each(|event| apply(&mut state, event));
        let mut bodies = Log::default();
        bodies.extend(&log.events);
        Ok(Read { log, state, bodies })
    }
}

/// The text of an answer that is too long for its event; `None` for all others.
pub(crate) async fn long_answer(store: ScopedStore<'_>, event: &Event) -> Option<String> {
    let is_long = |part: &Part| matches!(part, Part::StoredText { .. });
    match &event.kind {
        EventKind::ModelFinished(data) if data.parts.iter().any(is_long) => {}
        _ => return None,
    }
    let mut log = Log::default();
    log.extend([event]);
    let mut whole = Hydrated::new(&log);
    whole.load(store, event.id).await.ok()?;
    match whole.get(event.id) {
        Some(EventKind::ModelFinished(data)) => Some(text_of(&data.parts)),
        _ => None,
    }
}

/// The newest spec of a log.
pub fn spec_of(log: &ReadLog) -> Option<&Spec> {
    log.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&*data.spec),
        _ => None,
    })
}
