//! What is seen of a run whose end alone counts: enough to tell how it ended, without a look at its log.

use mainpath_core::State;
use mainpath_runtime::run_stats::{RunCounting, RunStats};
use mainpath_types::{Event, EventId, TraceId};
use std::sync::Arc;

/// Of a longer log not all is kept: it is read again.
const MOST: EventId = 500;

/// A log as it is seen, from its first event on.
pub(super) struct Seen {
    /// Its runs, and the state that it makes.
    pub runs: RunCounting,
    /// Its events, if all of them were kept.
    pub events: Option<Vec<Arc<Event>>>,
}

/// A log of which all was kept.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'a> {
    /// The state that it makes.
    pub state: &'a State,
    /// What is counted of its last run that has ended.
    pub stats: Option<&'a RunStats>,
    /// Its events, from the first one on.
    pub events: &'a [Arc<Event>],
}

impl Seen {
    /// The log, if all of it was kept.
    pub fn whole(&self) -> Option<Whole<'_>> {
        let events = self.events.as_ref()?;
        Some(Whole { state: self.runs.state(), stats: self.runs.last_ended(), events })
    }

    /// Before the first event.
    pub fn new(trace: TraceId) -> Seen {
        Seen { runs: RunCounting::new(trace), events: Some(Vec::new()) }
    }

    /// The state after what was seen.
    pub fn state(&self) -> &State {
        self.runs.state()
    }

    /// Takes in an event, and keeps it as long as all before it were kept and they are not too many.
    pub fn note(&mut self, event: &Arc<Event>) {
        self.runs.note(event);
        self.events = self.events.take().filter(|seen| event.id == seen.len() as EventId + 1 && event.id <= MOST);
        if let Some(events) = &mut self.events {
            events.push(Arc::clone(event));
        }
    }
}
