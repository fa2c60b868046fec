//! A store that breaks by plan. For tests, of this crate and of others.
//!
//! [`Faulty`] wraps any store and breaks appends. [`tear`] leaves an incomplete last line, as a crash in the middle of a
//! write does. A full disk is [`Disk`](crate::files::Disk), given to a files store in its `Options::disk`.

use crate::line::HeadHash;
use crate::report::Report;
use crate::store::{
    Appended, Collected, Fut, Hold, Lease, Letter, Mail, Opened, Owner, ReadLog, Scope, Store, StoreError, Sweep,
    TraceEntry,
};
use crate::{Raw, Refused};
use mainpath_types::{BlobHash, Event, EventId, MailId, TenantId, TraceId};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What happens to one append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing special.
    Pass,
    /// It is refused, and nothing is written.
    Refuse(Refused),
    /// It comes later.
    Delay(Duration),
    /// It is written, and the answer is `Unknown`.
    CommitUnknown,
    /// A beginning of the batch is written, this many events at most, and the answer is `Unknown`.
    PartUnknown(usize),
    /// Nothing is written, and the answer is `Unknown`.
    DropUnknown,
}

/// The append that a plan is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The trace.
    pub trace: TraceId,
    /// How many appends the store has seen before this one.
    pub number: u64,
    /// The batch's length.
    pub events: usize,
}

type Plan = Box<dyn FnMut(&Planned) -> Fault + Send>;

/// A store whose appends go by a plan. All else goes to the inner store, but for a trace whose server is silent. The trace of another
/// machine is in the inner store as well, under the id that it has there.
pub struct Faulty<S> {
    inner: S,
    plan: Mutex<(u64, Plan)>,
    silent: Mutex<Option<TraceId>>,
}

/// The id that a trace has on its own machine.
fn there(trace: &TraceId) -> TraceId {
    trace.elsewhere().and_then(|remote| remote.id.parse().ok()).unwrap_or_else(|| trace.clone())
}

impl<S> Faulty<S> {
    /// Asks `plan` what is to happen to each append.
    pub fn new(inner: S, plan: impl FnMut(&Planned) -> Fault + Send + 'static) -> Faulty<S> {
        Faulty { inner, plan: Mutex::new((0, Box::new(plan))), silent: Mutex::default() }
    }

    /// From now on nobody answers who reads this trace, asks who drives it or sends mail to it.
    pub fn silence(&self, trace: &TraceId) {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = Some(trace.clone());
    }

    fn is_silent(&self, trace: &TraceId) -> bool {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(trace)
    }

    /// No faults.
    pub fn none(inner: S) -> Faulty<S> {
        Faulty::new(inner, |_| Fault::Pass)
    }

    /// One after the other; after the last there are no more faults.
    pub fn listed(inner: S, faults: impl IntoIterator<Item = Fault>) -> Faulty<S> {
        let mut faults: std::collections::VecDeque<_> = faults.into_iter().collect();
        Faulty::new(inner, move |_| faults.pop_front().unwrap_or(Fault::Pass))
    }

    /// About `percent` in a hundred appends have an unknown outcome: written, written in part, or not. The same seed gives
    /// the same faults in the same order.
    pub fn seeded(inner: S, seed: u64, percent: u64) -> Faulty<S> {
        let mut state = seed;
        Faulty::new(inner, move |planned| {
            let drawn = next_random(&mut state);
            if drawn % 100 >= percent {
                return Fault::Pass;
            }
            match (drawn / 100) % 3 {
                0 => Fault::CommitUnknown,
                1 => Fault::PartUnknown((drawn / 300) as usize % planned.events.max(1)),
                _ => Fault::DropUnknown,
            }
        })
    }

    /// The wrapped store.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn plan(&self, trace: &TraceId, events: usize) -> Fault {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, plan) = &mut *plan;
        let planned = Planned { trace: trace.clone(), number: *number, events };
        *number += 1;
        plan(&planned)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Leaves only the first `keep` bytes of a log's last line, and no newline: what a crash in the middle of a write leaves.
/// Does nothing to an empty log.
pub fn tear(store: &impl Raw, tenant: &TenantId, trace: &TraceId, keep: usize) {
    let bytes = store.log_bytes(tenant, trace);
    let Some(whole) = bytes.strip_suffix(b"\n") else { return };
    let start = memchr::memrchr(b'\n', whole).map_or(0, |at| at + 1);
    let end = (start + keep).min(whole.len());
    store.set_log_bytes(tenant, trace, bytes.get(..end).unwrap_or_default());
}

struct FaultyHold {
    inner: Lease,
    lost: AtomicBool,
}

impl Hold for FaultyHold {
    fn release(&self) {
        self.inner.release();
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<S: Store> Store for Faulty<S> {
    fn lease(&self, scope: &Scope, trace: &TraceId, create: bool) -> Fut<'_, Result<Opened, StoreError>> {
        let leased = self.inner.lease(scope, trace, create);
        Box::pin(async move {
            let Opened { lease, log } = leased.await?;
            let (trace, epoch) = (lease.trace().clone(), lease.epoch());
            let hold = FaultyHold { inner: lease, lost: AtomicBool::new(false) };
            Ok(Opened { lease: Lease::new(trace, epoch, Arc::new(hold)), log })
        })
    }

    fn begin(&self, scope: &Scope, trace: &TraceId, log: Vec<Event>) -> Fut<'_, Result<(), StoreError>> {
        self.inner.begin(scope, trace, log)
    }

    fn append<'a>(&'a self, lease: &'a Lease, expected: EventId, mut batch: Vec<Event>) -> Fut<'a, Appended> {
        Box::pin(async move {
            let Some(hold) = lease.hold::<FaultyHold>() else { return Appended::Refused(Refused::StaleEpoch) };
            if hold.lost.load(Ordering::SeqCst) {
                return Appended::Refused(Refused::Lost);
            }
            let unknown = |problem: &str| {
                hold.lost.store(true, Ordering::SeqCst);
                Appended::Unknown { problem: problem.into(), cause: std::io::ErrorKind::Other }
            };
            match self.plan(lease.trace(), batch.len()) {
                Fault::Pass => self.inner.append(&hold.inner, expected, batch).await,
                Fault::Refuse(refused) => Appended::Refused(refused),
                Fault::Delay(time) => {
                    tokio::time::sleep(time).await;
                    self.inner.append(&hold.inner, expected, batch).await
                }
                Fault::DropUnknown => unknown("planned: nothing was written"),
                Fault::CommitUnknown => match self.inner.append(&hold.inner, expected, batch).await {
                    Appended::Committed { .. } => unknown("planned: the answer was lost"),
                    other => other,
                },
                Fault::PartUnknown(events) => {
                    batch.truncate(events);
                    match self.inner.append(&hold.inner, expected, batch).await {
                        Appended::Committed { .. } => unknown("planned: only a part was written"),
                        other => other,
                    }
                }
            }
        })
    }

    fn read(&self, scope: &Scope, trace: &TraceId, from: EventId) -> Fut<'_, Result<ReadLog, StoreError>> {
        if self.is_silent(trace) {
            return Box::pin(std::future::pending());
        }
        self.inner.read(scope, &there(trace), from)
    }

    fn problem(&self) -> Option<String> {
        self.inner.problem()
    }

    fn subscribe(&self, scope: &Scope, trace: &TraceId) -> Result<watch::Receiver<EventId>, StoreError> {
        self.inner.subscribe(scope, &there(trace))
    }

    fn driver(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Option<Owner>, StoreError>> {
        if self.is_silent(trace) {
            return Box::pin(std::future::pending());
        }
        self.inner.driver(scope, &there(trace))
    }

    fn send(&self, scope: &Scope, trace: &TraceId, letter: Letter) -> Fut<'_, Result<MailId, StoreError>> {
        if self.is_silent(trace) {
            return Box::pin(std::future::pending());
        }
        self.inner.send(scope, &there(trace), letter)
    }

    fn mail(&self, scope: &Scope, trace: &TraceId, after: MailId) -> Fut<'_, Result<Vec<Mail>, StoreError>> {
        self.inner.mail(scope, trace, after)
    }

    fn put_blob(&self, scope: &Scope, bytes: Vec<u8>) -> Fut<'_, Result<BlobHash, StoreError>> {
        self.inner.put_blob(scope, bytes)
    }

    fn get_blob(&self, scope: &Scope, hash: &BlobHash) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        self.inner.get_blob(scope, hash)
    }

    fn list(&self, scope: &Scope) -> Fut<'_, Result<Vec<TraceEntry>, StoreError>> {
        self.inner.list(scope)
    }

    fn verify(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Report, StoreError>> {
        self.inner.verify(scope, trace)
    }

    fn heads(
        &self,
        scope: &Scope,
        trace: &TraceId,
        events: Vec<EventId>,
    ) -> Fut<'_, Result<Vec<Option<HeadHash>>, StoreError>> {
        self.inner.heads(scope, trace, events)
    }

    fn add_signature(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        self.inner.add_signature(scope, trace, line)
    }

    fn signatures(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        self.inner.signatures(scope, trace)
    }

    fn add_score(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        self.inner.add_score(scope, trace, line)
    }

    fn scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        self.inner.scores(scope, trace)
    }

    fn remove_scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        self.inner.remove_scores(scope, trace)
    }

    fn erase<'a>(&'a self, lease: &'a Lease, marker: Event) -> Fut<'a, Appended> {
        Box::pin(async move {
            let Some(hold) = lease.hold::<FaultyHold>() else { return Appended::Refused(Refused::StaleEpoch) };
            self.inner.erase(&hold.inner, marker).await
        })
    }

    fn remove(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        self.inner.remove(scope, trace)
    }

    fn discard<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, head: EventId) -> Fut<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let Some(hold) = lease.hold::<FaultyHold>() else { return Ok(()) };
            self.inner.discard(scope, &hold.inner, head).await
        })
    }

    fn collect_blobs(&self, scope: &Scope, sweep: Sweep) -> Fut<'_, Result<Collected, StoreError>> {
        self.inner.collect_blobs(scope, sweep)
    }

    fn put_view(&self, scope: &Scope, trace: &TraceId, name: &str, bytes: Vec<u8>) -> Fut<'_, Result<(), StoreError>> {
        self.inner.put_view(scope, trace, name, bytes)
    }

    fn get_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.inner.get_view(scope, trace, name)
    }

    fn views(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<String>, StoreError>> {
        self.inner.views(scope, trace)
    }

    fn delete_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<(), StoreError>> {
        self.inner.delete_view(scope, trace, name)
    }
}

impl<S: Raw> Raw for Faulty<S> {
    fn log_bytes(&self, tenant: &TenantId, trace: &TraceId) -> Vec<u8> {
        self.inner.log_bytes(tenant, trace)
    }

    fn set_log_bytes(&self, tenant: &TenantId, trace: &TraceId, bytes: &[u8]) {
        self.inner.set_log_bytes(tenant, trace, bytes);
    }
}
