//! A trace is copied; under a caller's key, once.

use super::handle::Trace;
use super::point::Point;
use crate::Error;
use crate::agent::id_of;
use mainpath_runtime::{Runtime, RuntimeError};
use mainpath_store::{Scope, StoreError};
use mainpath_types::{Event, EventKind, Seq, TraceId};
use std::time::{Duration, Instant};

/// How long another may take to make the same copy,
const PATIENCE: Duration = Duration::from_secs(5);
/// and how often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(10);

impl Trace {
    /// Copies the trace up to a message. The copy goes its own way. Made again under the same key ([`Trace::once`]) it is the same copy.
    pub async fn fork(&self, at: Seq) -> Result<Trace, Error> {
        self.here()?;
        self.point(Point::Message(at)).await?;
        let (runtime, scope) = (self.host().runtime(), self.host().scope());
        let Some(once) = self.key() else {
            let id = self.host().new_trace_id()?;
            runtime.fork(scope, self.id(), at, &id).await?;
            return Ok(Trace::new(self.host().clone(), id));
        };
        let id = id_of(once).map_err(|error| Error::failed(error.to_string()))?;
        let is_new = fork_once(runtime, scope, self.id(), at, &id).await?;
        let copy = Trace::new(self.host().clone(), id);
        let is_same = |event: &Event| match &event.kind {
            EventKind::Forked(data) => data.from == *self.id() && data.at == at,
            _ => false,
        };
        match is_new || copy.events(1).await?.iter().any(is_same) {
            true => Ok(copy),
            false => Err(StoreError::Reused { trace: self.id().clone(), key: once.key.clone() }.into()),
        }
    }
}

/// Copies a trace under an id that every caller who means the same copy gives; whether it was made now. When this answers the copy is there,
/// whoever made it. Errors: as [`Runtime::fork`]'s, or another has not made it in time.
pub(crate) async fn fork_once(
    runtime: &Runtime,
    scope: &Scope,
    from: &TraceId,
    at: Seq,
    new: &TraceId,
) -> Result<bool, RuntimeError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match runtime.fork(scope, from, at, new).await {
            Err(RuntimeError::Store(StoreError::Exists { .. })) => return Ok(false),
            // Another makes it just now.
            Err(RuntimeError::Store(StoreError::Held { .. })) if Instant::now() < until => {
                tokio::time::sleep(LOOK).await;
            }
            made => return made.map(|()| true),
        }
    }
}
