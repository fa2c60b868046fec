//! Long logs that were read a moment ago: kept for as long as somebody looks, so that each look reads only what is new.

use super::read::Read;
use crate::Error;
use mainpath_runtime::wire::Projector;
use mainpath_store::{ReadLog, TraceStore};
use mainpath_types::{EventId, EventKind, TenantId, TraceId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Logs of at least so many events are kept; a shorter one is read as quickly as it is looked up.
const LONG: usize = 500;
/// So many are kept at most.
const MOST: usize = 8;
/// For so long after the last look.
const IDLE: Duration = Duration::from_secs(30);

/// The logs that are kept.
#[derive(Default)]
pub(crate) struct Readings(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    slots: HashMap<Whose, Slot>,
    /// Whether somebody sees to it that what nobody looks at goes.
    is_swept: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Whose {
    tenant: TenantId,
    trace: TraceId,
}

impl Whose {
    fn of(trace: TraceStore<'_>) -> Whose {
        Whose { tenant: trace.scope.tenant.clone(), trace: trace.trace.clone() }
    }
}

struct Slot {
    reading: Arc<tokio::sync::Mutex<Reading>>,
    used: Instant,
}

/// What is kept of a log.
#[derive(Default)]
struct Reading {
    read: Option<Arc<Read>>,
    /// Who reads page by page is not told everything before each page anew.
    page: Option<Paged>,
}

/// Up to where facts were made.
pub(crate) struct Paged {
    /// The event after which they go on.
    pub after: EventId,
    /// What makes them.
    pub projector: Projector,
}

impl Readings {
    /// The log of a trace and the state that it makes. Who asks while it is read waits for that. Errors: there is none, or it cannot be
    /// read.
    pub async fn of(self: &Arc<Self>, trace: TraceStore<'_>) -> Result<Arc<Read>, Error> {
        let whose = Whose::of(trace);
        let slot = self.slot(&whose);
        let mut reading = slot.lock().await;
        let gone_on = match reading.read.take() {
            Some(known) => gone_on(known, trace).await?,
            None => None,
        };
        let read = match gone_on {
            Some(read) => Ok(read),
            None => {
                reading.page = None;
                Read::of(trace).await.map(Arc::new)
            }
        };
        let kept = read.as_ref().ok().filter(|read| read.log.events.len() >= LONG && !read.log.read_only());
        reading.read = kept.map(Arc::clone);
        drop(reading);
        match kept {
            Some(_) => self.note(&whose),
            None => self.forget(&whose, &slot),
        }
        read
    }

    /// What makes the facts after an event, if what made those before is kept.
    pub async fn page(&self, trace: TraceStore<'_>, after: EventId) -> Option<Paged> {
        let slot = self.known(&Whose::of(trace))?;
        let page = slot.lock().await.page.take()?;
        (page.after <= after).then_some(page)
    }

    /// Keeps what makes the facts that come next.
    pub async fn keep_page(&self, trace: TraceStore<'_>, page: Paged) {
        if let Some(slot) = self.known(&Whose::of(trace)) {
            slot.lock().await.page = Some(page);
        }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, whose: &Whose) -> Arc<tokio::sync::Mutex<Reading>> {
        let mut shelf = self.shelf();
        let new = || Slot { reading: Arc::default(), used: Instant::now() };
        Arc::clone(&shelf.slots.entry(whose.clone()).or_insert_with(new).reading)
    }

    fn known(&self, whose: &Whose) -> Option<Arc<tokio::sync::Mutex<Reading>>> {
        self.shelf().slots.get(whose).map(|slot| Arc::clone(&slot.reading))
    }

    /// A slot with nothing in it goes, unless somebody else is about to read the log.
    fn forget(&self, whose: &Whose, slot: &Arc<tokio::sync::Mutex<Reading>>) {
        let mut shelf = self.shelf();
        let is_mine = shelf.slots.get(whose).is_some_and(|known| Arc::ptr_eq(&known.reading, slot));
        // The shelf's own and this one.
        if is_mine && Arc::strong_count(slot) <= 2 {
            shelf.slots.remove(whose);
        }
    }

    /// Notes that a log is looked at, and sees to it that it is forgotten when nobody looks any more.
    fn note(self: &Arc<Self>, whose: &Whose) {
        let mut shelf = self.shelf();
        if let Some(slot) = shelf.slots.get_mut(whose) {
            slot.used = Instant::now();
        }
        if shelf.slots.len() > MOST {
            let oldest = shelf.slots.iter().min_by_key(|(_, slot)| slot.used).map(|(whose, _)| whose.clone());
            oldest.and_then(|oldest| shelf.slots.remove(&oldest));
        }
        if !std::mem::replace(&mut shelf.is_swept, true) {
            tokio::spawn(swept(Arc::downgrade(self)));
        }
    }
}

/// Forgets what nobody looks at, until nothing is kept.
async fn swept(readings: Weak<Readings>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(readings) = readings.upgrade() else { return };
        let mut shelf = readings.shelf();
        shelf.slots.retain(|_, slot| slot.used.elapsed() < IDLE);
        if shelf.slots.is_empty() {
            shelf.is_swept = false;
            return;
        }
    }
}

/// What was read before with what the log has got since; `None` where that is to be read anew.
async fn gone_on(mut known: Arc<Read>, trace: TraceStore<'_>) -> Result<Option<Arc<Read>>, Error> {
    let tail = trace.read(known.log.head).await?;
    let Some(new) = beyond(&known, tail) else { return Ok(None) };
    if !new.events.is_empty() || new.torn != known.log.torn {
        Arc::make_mut(&mut known).extend(new);
    }
    Ok(Some(known))
}

/// What a log has beyond what was read of it, by its last lines from the last known one on; `None` where what is known of it does not
/// hold any more: it is another log, or something was erased.
fn beyond(known: &Read, mut tail: ReadLog) -> Option<ReadLog> {
    let is_erased = tail.events.iter().any(|event| matches!(event.kind, EventKind::Erased(_)));
    let is_same = !tail.events.is_empty() && tail.events.first() == known.log.events.last();
    if is_erased || !is_same || tail.read_only() || !tail.erased.is_empty() {
        return None;
    }
    tail.events.remove(0);
    Some(tail)
}
