//! What is known of logs on other machines: each is fetched once, and then only what is new.

use mainpath_types::{BlobHash, Event, EventId, EventKind, TraceId};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many logs are kept at hand.
const MOST_LOGS: usize = 32;
/// A log of more events is not followed from here.
const MOST_EVENTS: EventId = 200_000;
/// Nor is one of more bytes, as its server tells them.
const MOST_BYTES: usize = 48 << 20;
/// What is known of others is forgotten where all together has more.
const MOST_IN_ALL: usize = 128 << 20;

/// A part of a log, as a server tells it.
#[derive(Debug, Deserialize)]
pub(super) struct LogPart {
    /// Events, in order.
    pub events: Vec<Event>,
    /// The last event of the log that this part reaches up to.
    pub through: EventId,
    /// The last event of the log.
    pub head: EventId,
    /// Whether somebody drives the trace.
    pub is_driven: bool,
}

/// Why the answer of another server is not the rest of a log.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LogPartError {
    #[error("it has more than {} MiB", MOST_BYTES >> 20)]
    TooManyBytes,
    #[error("it has more than {MOST_EVENTS} events")]
    TooManyEvents,
    #[error("event {event} does not follow event {last}")]
    OutOfOrder { event: EventId, last: EventId },
    /// Events were erased twice while it was read.
    #[error("it changes while it is read")]
    Unstable,
}

/// What is known of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownLog {
    /// Its events, in order.
    pub events: Vec<Event>,
    /// Up to where it is known.
    pub head: EventId,
    /// The blobs that it names.
    blobs: BTreeSet<BlobHash>,
    /// How many bytes it had as it was told.
    bytes: usize,
}

impl KnownLog {
    /// Adds a part. `None`: what is known of it does not hold any more, and it has to be read anew. Errors: it does not follow.
    pub fn with(mut self, part: LogPart, bytes: usize) -> Result<Option<KnownLog>, LogPartError> {
        let is_erased = |event: &Event| matches!(event.kind, EventKind::Erased(_));
        if self.head > 0 && (part.head < self.head || part.events.iter().any(is_erased)) {
            return Ok(None);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES {
            return Err(LogPartError::TooManyBytes);
        }
        let mut last = self.head;
        for event in part.events {
            if event.id <= last || event.id > part.through || event.id > MOST_EVENTS {
                return Err(match event.id > MOST_EVENTS {
                    true => LogPartError::TooManyEvents,
                    false => LogPartError::OutOfOrder { event: event.id, last },
                });
            }
            last = event.id;
            self.blobs.extend(event.kind.long_texts());
            self.events.push(event);
        }
        self.head = self.head.max(part.through.min(MOST_EVENTS));
        Ok(Some(self))
    }
}

/// The logs of other machines that were read of late.
#[derive(Debug, Default)]
pub(super) struct KnownLogs(Mutex<HashMap<TraceId, Arc<KnownLog>>>);

impl KnownLogs {
    fn table(&self) -> MutexGuard<'_, HashMap<TraceId, Arc<KnownLog>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of one.
    pub fn get(&self, trace: &TraceId) -> Arc<KnownLog> {
        self.table().get(trace).cloned().unwrap_or_default()
    }

    /// Keeps what was read, unless more is known already.
    pub fn put(&self, trace: &TraceId, log: Arc<KnownLog>) {
        let mut table = self.table();
        let in_all = table.iter().filter(|(known, _)| *known != trace).fold(log.bytes, |all, (_, log)| all + log.bytes);
        if table.len() >= MOST_LOGS && !table.contains_key(trace) || in_all > MOST_IN_ALL {
            table.clear();
        }
        table.insert(trace.clone(), log);
    }

    /// The trace whose log names a blob.
    pub fn naming(&self, blob: &BlobHash) -> Option<TraceId> {
        self.table().iter().find(|(_, log)| log.blobs.contains(blob)).map(|(trace, _)| trace.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::TraceNamed;

    fn event(id: EventId) -> Event {
        let named = TraceNamed { name: "x".into(), by: "owner".parse().unwrap(), made: None };
        Event { id, ts: 1, turn: 0, mail: None, kind: named.into() }
    }

    fn part(ids: &[EventId], through: EventId) -> LogPart {
        LogPart { events: ids.iter().map(|id| event(*id)).collect(), through, head: through, is_driven: false }
    }

    #[test]
    fn a_part_must_follow_what_is_known_and_stay_within_bounds() {
        let known = KnownLog::default().with(part(&[1, 2, 4], 5), 100).unwrap().unwrap();
        assert_eq!((known.head, known.events.len()), (5, 3), "an erased event may be missing");
        for (ids, through, why) in [
            (vec![5], 6, "event 5 does not follow event 5"),
            (vec![7], 6, "event 7 does not follow event 5"),
            (vec![6, 6], 7, "event 6 does not follow event 6"),
            (vec![7, 6], 7, "event 6 does not follow event 7"),
            (vec![u64::MAX], u64::MAX, "it has more than 200000 events"),
        ] {
            assert_eq!(known.clone().with(part(&ids, through), 1).unwrap_err().to_string(), why);
        }
        assert_eq!(known.clone().with(part(&[], u64::MAX), 1).unwrap().unwrap().head, MOST_EVENTS);
        assert_eq!(known.clone().with(part(&[6], 6), MOST_BYTES).unwrap_err().to_string(), "it has more than 48 MiB");
        // One that is shorter than it was is read anew.
        assert!(known.with(part(&[1], 1), 1).unwrap().is_none());
    }
}
