//! A trace that was read.

use crate::Error;
use mainpath_core::{Bodies, Ending, Log, State, short_name};
use mainpath_runtime::{Hydrated, views};
use mainpath_store::{ReadLog, Scope, ScopedStore, Store, TraceStore};
use mainpath_types::{Event, EventId, EventKind, GoalId, Millis, Part, Spec, TraceId, text_of};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    pub bodies: &'a (dyn Bodies + Send + Sync),
}

impl<'a> ReadTrace<'a> {
    /// Where it lies.
    pub fn at(&self) -> TraceStore<'a> {
        TraceStore::new(self.store, self.scope, self.trace)
    }

    /// Returns the text of the first message on the main path. Errors: a blob cannot be read.
    pub async fn task(&self) -> Result<String, Error> {
        Ok(views::task(self.at().scoped(), self.state, &self.log.events).await?)
    }

    /// Returns the name of the trace: one that it was given, or else the beginning of its task. Errors: as [`ReadTrace::task`]'s.
    pub async fn name(&self) -> Result<String, Error> {
        let given = self.state.name.as_deref().or(spec_of(self.log).and_then(|spec| spec.name.as_deref()));
        match given {
            Some(name) => Ok(name.into()),
            None => Ok(short_name(&self.task().await?)),
        }
    }

    /// Returns how the last run ended. `None`: no run has ended, or another one is under way. Errors: a blob cannot be read.
    pub async fn ending(&self) -> Result<Option<Ending>, Error> {
        Ok(views::ending(self.at().scoped(), self.state, self.bodies).await?)
    }
}

/// The log of a trace and the state that it makes. It has the bodies of its events.
#[derive(Clone)]
pub(crate) struct Read {
    pub log: ReadLog,
    pub state: State,
    /// When each goal of its plan was made.
    pub made: BTreeMap<GoalId, Millis>,
}

impl Read {
    pub async fn of(trace: TraceStore<'_>) -> Result<Read, Error> {
        let log = trace.read(1).await?;
        let (state, made) = views::fold(trace.trace, &log.events);
        Ok(Read { log, state, made })
    }

    /// The trace as it was read from this store.
    pub fn at<'a>(&'a self, TraceStore { store, scope, trace }: TraceStore<'a>) -> ReadTrace<'a> {
        ReadTrace { store, scope, trace, log: &self.log, state: &self.state, bodies: self }
    }

    /// The same as it was after an event.
    pub fn up_to(self: &Arc<Read>, last: EventId) -> Arc<Read> {
        if self.log.events.last().is_none_or(|event| event.id <= last) {
            return Arc::clone(self);
        }
        let mut log = self.log.clone();
        log.events.retain(|event| event.id <= last);
        let (state, made) = views::fold(&self.state.trace, &log.events);
        Arc::new(Read { log, state, made })
    }

    /// Adds what the log has beyond it.
    pub fn extend(&mut self, mut tail: ReadLog) {
        for event in &tail.events {
            views::fold_on(&mut self.state, &mut self.made, event);
        }
        let mut events = std::mem::take(&mut self.log.events);
        events.append(&mut tail.events);
        let mut erased = std::mem::take(&mut self.log.erased);
        erased.append(&mut tail.erased);
        self.log = ReadLog { events, erased, ..tail };
    }
}

/// The state that a log makes, as it is at one moment.
#[derive(Clone)]
pub struct TraceState(pub(crate) Arc<Read>);

impl std::ops::Deref for TraceState {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0.state
    }
}

impl std::fmt::Debug for TraceState {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.state.fmt(to)
    }
}

impl Bodies for Read {
    fn get(&self, event: EventId) -> Option<&EventKind> {
        let at = self.log.events.binary_search_by_key(&event, |event| event.id).ok()?;
        self.log.events.get(at).map(|event| &event.kind)
    }

    fn before(&self, event: EventId) -> Option<EventId> {
        let earlier = self.log.events.partition_point(|known| known.id < event);
        earlier.checked_sub(1).and_then(|at| self.log.events.get(at)).map(|known| known.id)
    }
}

/// The text of an answer that is too long for its event; `None` for all others.
pub(crate) async fn long_answer(store: ScopedStore<'_>, event: &Event) -> Option<String> {
    let is_long = |part: &Part| matches!(part, Part::StoredText { .. });
    match &event.kind {
        EventKind::ModelFinished(data) if data.parts.iter().any(is_long) => {}
        EventKind::MessageImported(data) if data.parts.iter().any(is_long) => {}
        _ => return None,
    }
    let mut log = Log::default();
    log.extend([event]);
    let mut whole = Hydrated::new(&log);
    whole.load(store, event.id).await.ok()?;
    match whole.get(event.id) {
        Some(EventKind::ModelFinished(data)) => Some(text_of(&data.parts)),
        Some(EventKind::MessageImported(data)) => Some(text_of(&data.said())),
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
