//! From a batch of events to lines that follow the head.

use crate::line::{self, HeadHash, Salts};
use crate::store::Refused;
use mainpath_types::{Event, EventId, EventKind};
use std::collections::BTreeSet;

/// Where a log ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tip {
    pub head: EventId,
    pub hash: HeadHash,
}

/// Checks that the batch follows the head and writes its lines; `None` for an empty batch.
pub(crate) fn encode_batch(
    salts: Salts,
    head: EventId,
    hash: &HeadHash,
    expected: EventId,
    batch: &[Event],
) -> Result<Option<(Vec<u8>, Tip)>, Refused> {
    let follows = batch.iter().zip(1..).all(|(event, n)| head.checked_add(n) == Some(event.id));
    if expected != head || !follows {
        return Err(Refused::WrongId { head });
    }
    let Some(first) = batch.first() else { return Ok(None) };
    let salts = salts
        .draw(hash, batch.len())
        .map_err(|e| Refused::BadEvent { id: first.id, problem: format!("no randomness for its salt: {e}") })?;
    let mut bytes = Vec::with_capacity(batch.len() * 512);
    let mut tip = Tip { head, hash: *hash };
    for (event, salt) in batch.iter().zip(&salts) {
        let hash = line::write(&mut bytes, event, &tip.hash, salt)
            .map_err(|problem| Refused::BadEvent { id: event.id, problem: problem.to_string() })?;
        tip = Tip { head: event.id, hash };
    }
    Ok(Some((bytes, tip)))
}

/// The events that a marker takes the content of. Errors: it is no `erased` event, or names nothing that is there.
pub(crate) fn erased_by(marker: &Event) -> Result<BTreeSet<EventId>, Refused> {
    let refused = |problem: &str| Refused::BadEvent { id: marker.id, problem: problem.into() };
    let EventKind::Erased(data) = &marker.kind else { return Err(refused("it erases nothing")) };
    let gone: BTreeSet<EventId> = data.left.iter().map(|left| left.event).collect();
    if gone.is_empty() || gone.iter().any(|id| *id == 0 || *id >= marker.id) {
        return Err(refused("it names events that are not there"));
    }
    Ok(gone)
}
