//! What was seen of a run whose end alone counts: enough to tell how it ended, without a look at its log.

use mainpath_core::State;
use mainpath_types::{Event, EventId};
use std::sync::Arc;

/// Of a longer log not all is kept: it is read again.
const MOST: EventId = 500;

/// A log as it was seen, from its first event on, and the state that it makes.
pub(super) struct Seen {
    pub state: State,
    pub events: Vec<Arc<Event>>,
}

/// The events of a log as they are seen.
#[derive(Default)]
pub(super) struct Seeing {
    events: Vec<Arc<Event>>,
    /// Some were not kept.
    is_partial: bool,
}

impl Seeing {
    /// Keeps an event, as long as all before it were kept and they are not too many.
    pub fn note(&mut self, event: &Arc<Event>) {
        let next = self.events.last().map_or(1, |last| last.id + 1);
        if self.is_partial || event.id != next || event.id > MOST {
            return self.stop();
        }
        self.events.push(Arc::clone(event));
    }

    /// Keeps none any more: somebody looks at them, so that there may be many.
    pub fn stop(&mut self) {
        *self = Seeing { events: Vec::new(), is_partial: true };
    }

    /// All that was seen, if all was kept. `state`: what it makes.
    pub fn all(&mut self, state: &State) -> Option<Seen> {
        let events = std::mem::take(&mut self.events);
        (!self.is_partial).then(|| Seen { state: state.clone(), events })
    }
}
