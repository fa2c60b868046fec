//! A trace and its agents as they were recorded, event by event, with the time that had passed before each.

use crate::Error;
use crate::watching::{Seen, WatchFrom, Watching};
use mainpath_store::{Scope, Store};
use mainpath_types::{Event, EventId, EventKind, Millis, TraceId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What is seen next, and how much time had passed before it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayStep {
    /// What is seen.
    pub seen: Seen,
    /// The time since the latest event before it; nothing before the first one that is shown, and for what is not shown.
    pub passed: Duration,
}

/// A recorded trace with its agents, from the beginning to the end of what was recorded. Nothing is waited for: who plays it waits.
pub struct Playback {
    watching: Watching,
    /// The first event that is shown, of each trace.
    from: BTreeMap<TraceId, EventId>,
    /// The latest time of those that were shown.
    latest: Option<Millis>,
}

impl Playback {
    /// Plays a trace of a store. Events before `from` come as history.
    pub fn new(store: Arc<dyn Store>, scope: Scope, trace: &TraceId, from: impl Into<WatchFrom>) -> Playback {
        let watching = Watching::new(store, scope, trace, from, Duration::ZERO).of_what_is_there();
        Playback { watching, from: BTreeMap::new(), latest: None }
    }

    /// The next step; `None` at the end. Errors: the log cannot be read, or is damaged; everything before that was given.
    pub async fn next(&mut self) -> Result<Option<PlayStep>, Error> {
        let seen = self.watching.next().await?;
        let mut passed = Duration::ZERO;
        match &seen {
            Seen::Quiet { .. } => return Ok(None),
            Seen::Opened { trace, from } => drop(self.from.insert(trace.clone(), *from)),
            Seen::Event { trace, event } if self.from.get(trace).is_some_and(|from| event.id >= *from) => {
                let at = time_of(event);
                let before = self.latest.unwrap_or(at);
                passed = Duration::from_millis(at.saturating_sub(before));
                self.latest = Some(at.max(before));
            }
            Seen::Event { .. } | Seen::Damaged { .. } | Seen::Closed(_) => {}
        }
        Ok(Some(PlayStep { seen, passed }))
    }
}

/// When something happened: of what was imported, when it was said there.
fn time_of(event: &Event) -> Millis {
    match &event.kind {
        EventKind::MessageImported(data) => data.recorded.as_ref().and_then(|of| of.at).unwrap_or(event.ts),
        _ => event.ts,
    }
}
