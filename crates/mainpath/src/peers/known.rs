//! What is known of logs on other machines: each is fetched once, and then only what is new.

use mainpath_types::{BlobHash, Event, EventId, EventKind, TraceId};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many logs are kept at hand.
const MOST_LOGS: usize = 32;
/// A log of more events is not followed from here.
const MOST_EVENTS: EventId = 200_000;

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

/// What is known of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownLog {
    /// Its events, in order.
    pub events: Vec<Event>,
    /// Up to where it is known.
    pub head: EventId,
    /// The blobs that it names.
    blobs: BTreeSet<BlobHash>,
}

impl KnownLog {
    /// Adds a part. `None`: what is known of it does not hold any more, and it has to be read anew. Errors: it does not follow.
    pub fn with(mut self, part: LogPart) -> Result<Option<KnownLog>, String> {
        let is_erased = |event: &Event| matches!(event.kind, EventKind::Erased(_));
        if self.head > 0 && (part.head < self.head || part.events.iter().any(is_erased)) {
            return Ok(None);
        }
        let mut last = self.head;
        for event in part.events {
            if event.id <= last || event.id > part.through || event.id > MOST_EVENTS {
                return Err(match event.id > MOST_EVENTS {
                    true => format!("it has more than {MOST_EVENTS} events"),
                    false => format!("event {} does not follow event {last}", event.id),
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
        if table.len() >= MOST_LOGS && !table.contains_key(trace) {
            table.clear();
        }
        table.insert(trace.clone(), log);
    }

    /// The trace whose log names a blob.
    pub fn naming(&self, blob: &BlobHash) -> Option<TraceId> {
        self.table().iter().find(|(_, log)| log.blobs.contains(blob)).map(|(trace, _)| trace.clone())
    }
}
