//! Where what was said came from, taken in as the log grows.

use crate::gate::origins::{Origins, foreign_in};
use mainpath_core::{Bodies, Log};
use mainpath_store::{StoreError, TraceStore};
use mainpath_tools::Tools;
use mainpath_types::EventId;
use std::sync::Arc;

/// Where what was said came from.
#[derive(Default)]
pub(super) struct Provenance {
    /// Where the texts of the trace came from, once something foreign was seen.
    pub origins: Option<Arc<Origins>>,
    /// The last event whose origin was looked at.
    noted: EventId,
}

impl Provenance {
    /// Takes in what was said since the last look, up to the event `last`, whose bodies are among `bodies`. Nothing is taken in
    /// until something is foreign, unless it is `wanted` in any case. `tools`: those that there are now.
    pub async fn take_in(
        &mut self,
        bodies: &Log,
        last: EventId,
        wanted: bool,
        tools: &Tools,
        trace: TraceStore<'_>,
    ) -> Result<(), StoreError> {
        let from = self.noted + 1;
        let foreign = |id| bodies.get(id).is_some_and(|kind| foreign_in(kind).is_some());
        if self.origins.is_none() && !wanted && !(from..=last).any(foreign) {
            self.noted = last;
            return Ok(());
        }
        let mut origins = match self.origins.take() {
            Some(origins) => origins,
            // Nothing was said before.
            None if from == 1 => Arc::default(),
            None => {
                // The first of its kind: what was said before counts as well.
                let log = trace.read(1).await?;
                let mut origins = Origins::default();
                for event in log.events.iter().filter(|event| event.id < from) {
                    origins.note_event(trace.scoped(), &event.kind, tools).await?;
                }
                Arc::new(origins)
            }
        };
        for kind in (from..=last).filter_map(|id| bodies.get(id)) {
            Arc::make_mut(&mut origins).note_event(trace.scoped(), kind, tools).await?;
        }
        (self.origins, self.noted) = (Some(origins), last);
        Ok(())
    }
}
