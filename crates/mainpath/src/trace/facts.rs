//! What happened in a trace, as programs read it: a page at a time.

use super::handle::Trace;
use super::readings::Paged;
use crate::{Error, ErrorKind};
use mainpath_runtime::wire::Projector;
use mainpath_types::EventId;
use serde_json::Value;

/// From where facts of a log are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactsFrom {
    /// After an event.
    After(EventId),
    /// As many as are wanted, up to the end.
    Last,
    /// From the beginning of a turn on.
    Turn(u32),
}

impl From<EventId> for FactsFrom {
    fn from(after: EventId) -> FactsFrom {
        FactsFrom::After(after)
    }
}

/// Facts of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// They, each an object of JSON with its `type`. Several may share a number.
    pub facts: Vec<Value>,
    /// The number of the last event of the log.
    pub head: EventId,
}

impl Trace {
    /// The facts from a place on, under their published names, of at most so many events; and the number of the last event. Errors: there
    /// is no such turn, or the log cannot be read.
    pub async fn facts(&self, from: impl Into<FactsFrom>, most: usize) -> Result<Facts, Error> {
        let (read, at) = (self.look().await?, self.host().at(self.id()));
        let events = &read.log.events;
        let after = match from.into() {
            FactsFrom::After(event) => event,
            FactsFrom::Last => {
                events.len().checked_sub(most + 1).and_then(|last| events.get(last)).map_or(0, |last| last.id)
            }
            FactsFrom::Turn(turn) => {
                let first = events.iter().find(|event| event.turn == turn);
                let none = || Error::new(ErrorKind::NotFound, format!("trace {} has no turn {turn}", self.id()));
                first.ok_or_else(none)?.id - 1
            }
        };
        let new = || Paged { after: 0, projector: Projector::new(self.id().clone()) };
        let mut page = self.host().readings().page(at, after).await.unwrap_or_else(new);
        let mut facts = Vec::new();
        let from = |after: EventId| events.partition_point(|event| event.id <= after);
        let (known, first) = (from(page.after), from(after));
        events.get(known..first).unwrap_or_default().iter().for_each(|event| page.projector.skip(event));
        for event in events.iter().skip(first).take(most) {
            facts.extend(page.projector.project(event));
            page.after = event.id;
        }
        page.after = page.after.max(after);
        self.host().readings().keep_page(at, page).await;
        Ok(Facts { facts, head: read.log.head })
    }
}
