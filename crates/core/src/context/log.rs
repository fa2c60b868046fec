//! Where the bodies of events can be looked up.

use mainpath_types::{Event, EventId, EventKind};
use std::collections::BTreeMap;

/// Where the bodies of events can be looked up.
pub trait Bodies {
    /// The event with this number, if it is there.
    fn get(&self, event: EventId) -> Option<&EventKind>;
    /// The last event that is there before this one.
    fn before(&self, event: EventId) -> Option<EventId>;
}

/// A log in memory: all that a user of this crate alone needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log(BTreeMap<EventId, EventKind>);

impl Log {
    /// Adds events.
    pub fn extend<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>) {
        self.0.extend(events.into_iter().map(|event| (event.id, event.kind.clone())));
    }
}

impl FromIterator<(EventId, EventKind)> for Log {
    fn from_iter<I: IntoIterator<Item = (EventId, EventKind)>>(events: I) -> Log {
        Log(events.into_iter().collect())
    }
}

impl FromIterator<Event> for Log {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Log {
        Log(events.into_iter().map(|event| (event.id, event.kind)).collect())
    }
}

impl Bodies for Log {
    fn get(&self, event: EventId) -> Option<&EventKind> {
        self.0.get(&event)
    }

    fn before(&self, event: EventId) -> Option<EventId> {
        self.0.range(..event).next_back().map(|(event, _)| *event)
    }
}
