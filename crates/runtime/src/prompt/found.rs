//! What of a log a request needs, and where that is.

use crate::prompt::texts::Events;
use mainpath_core::{Bodies, Item, Log, Packed, State};
use mainpath_types::{EventId, EventKind, Seq};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is at hand of a log: what is kept of its beginning, and its end. It notes whether anything else was asked for.
pub(crate) struct Found<'a> {
    pub early: &'a Log,
    pub end: Events<'a>,
    pub missed: AtomicBool,
}

impl Bodies for Found<'_> {
    fn get(&self, event: EventId) -> Option<&EventKind> {
        let found = self.end.get(event).or_else(|| self.early.get(event));
        self.missed.fetch_or(found.is_none(), Ordering::Relaxed);
        found
    }

    fn before(&self, event: EventId) -> Option<EventId> {
        self.end.before(event).max(self.early.before(event))
    }
}

/// The events whose texts a request shows, those that name its calls included.
fn needed(state: &State, packed: &Packed) -> impl Iterator<Item = EventId> {
    let of = |item: &Item| {
        let call = if let Item::Result { call, .. } | Item::Recalled { call, .. } = item { Some(*call) } else { None };
        let asked = call.and_then(|call| state.tree.node(call.seq)).map(|node| node.event);
        let arguments = call.and_then(|call| state.calls.get(call)).map(|call| call.arguments);
        [item.event(), asked, arguments]
    };
    let cut = packed.under.cut.and_then(|seq| state.tree.cut_at(Some(seq)));
    let summaries = cut.into_iter().flat_map(|cut| [cut.summary, cut.base, cut.by_model]);
    packed.items.iter().flat_map(of).chain(summaries).flatten()
}

/// From where on the log has to be read for a request, beyond what is kept of its beginning.
pub(crate) fn oldest_needed(state: &State, packed: &Packed, early: &Log) -> EventId {
    needed(state, packed).filter(|event| early.get(*event).is_none()).min().unwrap_or(1)
}

/// What a later request shows of the log's beginning, should the prefix break again: the task and whatever else stands before
/// the summary.
pub(crate) fn early(state: &State, packed: &Packed, bodies: &dyn Bodies) -> Log {
    let floor = packed.under.cut.map_or(Seq(0), |seq| state.tree.floor(Some(seq)));
    let is_early =
        |item: &&Item| item.seq().is_some_and(|seq| seq < floor) || matches!(item, Item::User { seq: Seq(1), .. });
    let events = packed.items.iter().filter(is_early).filter_map(Item::event);
    events.filter_map(|event| Some((event, bodies.get(event)?.clone()))).collect()
}

/// The characters of a body in segments.
pub(crate) fn characters(body: &[bytes::Bytes]) -> usize {
    // Every character has one byte that does not go on with another.
    let begins = |byte: &&u8| !(0x80..0xC0).contains(*byte);
    body.iter().map(|segment| segment.iter().filter(begins).count()).sum()
}
