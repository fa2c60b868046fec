//! The log of a remote child. However fast its server answers, it is read a few times a second at most.

use super::below::Below;
use super::seen::{Seen, look_in};
use mainpath_store::{Owner, Scope, Store, StoreError, TraceStore};
use mainpath_types::{EventId, TraceId};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// The shortest time between two reads.
const GAP: Duration = Duration::from_millis(500);

/// The log of a remote child from an event on.
pub(super) struct RemoteLog<'a> {
    scope: &'a Scope,
    trace: &'a TraceId,
    after: EventId,
    /// Reports when it grows; `None` while its server is not asked.
    heads: Option<watch::Receiver<EventId>>,
    next: Option<Instant>,
}

impl<'a> RemoteLog<'a> {
    /// The log after this event.
    pub fn new(scope: &'a Scope, trace: &'a TraceId, after: EventId) -> RemoteLog<'a> {
        RemoteLog { scope, trace, after, heads: None, next: None }
    }

    /// Reads it. Errors: it cannot be read.
    pub async fn read(&mut self, store: &dyn Store) -> Result<Seen, StoreError> {
        if let Some(next) = self.next {
            sleep_until(next).await;
        }
        self.next = Instant::now().checked_add(GAP);
        // Subscribed to first: what is written while the log is read is reported afterwards.
        match &mut self.heads {
            Some(heads) => drop(heads.borrow_and_update()),
            None => self.heads = store.subscribe(self.scope, self.trace).ok(),
        }
        look_in(TraceStore::new(store, self.scope, self.trace), self.after).await
    }

    /// Returns what waits for a person, by what the log held when it was read last: the child, or one of its agents while none of them
    /// works.
    pub async fn asks(&self, store: &dyn Store, seen: &Seen) -> Option<TraceId> {
        match seen.asks {
            true => Some(self.trace.clone()),
            false => self.below(store, seen).await.asks(),
        }
    }

    /// Returns the state of the agents that the child waits for.
    pub async fn below(&self, store: &dyn Store, seen: &Seen) -> Below {
        Below::look(store, self.scope, self.trace, seen).await
    }

    /// Waits until it has grown, for this long at most. Returns whether it may have grown.
    pub async fn grows(&mut self, most: Duration) -> bool {
        let Some(heads) = &mut self.heads else {
            sleep(most).await;
            return true;
        };
        match timeout(most, heads.changed()).await {
            Ok(Ok(())) => true,
            Ok(Err(_)) => {
                self.heads = None;
                true
            }
            Err(_) => false,
        }
    }

    /// Returns what drives it. Errors: its server cannot be asked.
    pub async fn driver(&self, store: &dyn Store) -> Result<Option<Owner>, StoreError> {
        store.driver(self.scope, self.trace).await
    }

    /// Returns its trace.
    pub fn trace(&self) -> &'a TraceId {
        self.trace
    }
}
