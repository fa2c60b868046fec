//! A store in memory: the same lines as in files, kept in maps. It has no threads and, with [`MemoryStore::new`], draws no
//! randomness: the same calls give the same bytes.

use crate::append::{Tip, encode_batch, erased_by};
use crate::checks::{Named, blob_hash, check_blob, check_name, newest_first, one_kept_line, one_line};
use crate::line::{HeadHash, Salts};
use crate::log;
use crate::memory_log::MemoryLog;
use crate::report::{BlobFault, Report};
use crate::scheduler::{Clock, LocalScheduler, Scheduler, system_clock};
use crate::store::{
    Appended, Collected, Fut, Hold, Lease, Letter, Mail, Opened, Owner, ReadLog, Refused, Scope, Store, StoreError,
    Sweep, TailCutInfo, TraceEntry,
};
use crate::verify::{blobs_of, heads_of, last_mail, report_of};
use mainpath_types::{BlobHash, Event, EventId, MailId, Millis, TenantId, TraceId};
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The log's name in reports.
const LOG_NAME: &str = "events.jsonl";

/// A [`Store`] that is gone with its process.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    scheduler: Arc<LocalScheduler>,
    clock: Clock,
    salts: Salts,
}

#[derive(Debug, Default)]
struct Shared(Mutex<Tables>);

type TraceKey = (TenantId, TraceId);

#[derive(Debug, Default)]
struct Tables {
    traces: BTreeMap<TraceKey, Trace>,
    /// With when they were last put.
    blobs: HashMap<(TenantId, BlobHash), (Vec<u8>, Millis)>,
}

#[derive(Debug)]
struct Trace {
    log: MemoryLog,
    torn: Vec<u8>,
    mail: Vec<Mail>,
    views: BTreeMap<String, Vec<u8>>,
    signatures: Vec<u8>,
    scores: Vec<u8>,
    modified: Millis,
    epoch: u64,
    /// Whether the owner of `epoch` still has it.
    owned: bool,
    head: watch::Sender<EventId>,
}

impl Shared {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn trace(&mut self, key: &TraceKey) -> Result<&mut Trace, StoreError> {
        self.traces.get_mut(key).ok_or_else(|| StoreError::NotFound { trace: key.1.clone() })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new(system_clock, Salts::Seeded(0))
    }
}

impl MemoryStore {
    /// An empty store. The clock stamps mail and lists.
    pub fn new(clock: Clock, salts: Salts) -> MemoryStore {
        let scheduler = Arc::new(LocalScheduler::new(clock));
        MemoryStore { shared: Arc::default(), scheduler, clock, salts }
    }

    /// The scheduler that this store's mail wakes.
    pub fn scheduler(&self) -> Arc<LocalScheduler> {
        Arc::clone(&self.scheduler)
    }

    fn with<T>(
        &self,
        scope: &Scope,
        trace: &TraceId,
        work: impl FnOnce(&mut Trace) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let key = (scope.tenant.clone(), trace.clone());
        work(self.shared.tables().trace(&key)?)
    }

    fn new_trace(&self, log: Vec<u8>, head: EventId) -> Trace {
        Trace {
            log: log.into(),
            torn: Vec::new(),
            mail: Vec::new(),
            views: BTreeMap::new(),
            signatures: Vec::new(),
            scores: Vec::new(),
            modified: (self.clock)(),
            epoch: 0,
            owned: false,
            head: watch::Sender::new(head),
        }
    }

    fn begin_now(&self, scope: &Scope, trace: &TraceId, log: &[Event]) -> Result<(), StoreError> {
        let key = (scope.tenant.clone(), trace.clone());
        let mut tables = self.shared.tables();
        here(trace)?;
        if tables.traces.contains_key(&key) {
            return Err(StoreError::Exists { trace: trace.clone() });
        }
        let encoded = encode_batch(self.salts, 0, &HeadHash::genesis(&scope.tenant, trace), 0, log);
        let making = |refused: Refused| std::io::Error::other(refused.to_string());
        let encoded = encoded.map_err(|refused| StoreError::io(format!("make trace {trace}"), making(refused)))?;
        let (bytes, head) = encoded.map_or_else(|| (Vec::new(), 0), |(bytes, tip)| (bytes, tip.head));
        tables.traces.insert(key, self.new_trace(bytes, head));
        Ok(())
    }

    fn lease_now(&self, scope: &Scope, trace: &TraceId, create: bool) -> Result<Opened, StoreError> {
        let key = (scope.tenant.clone(), trace.clone());
        let mut tables = self.shared.tables();
        if create && !tables.traces.contains_key(&key) {
            here(trace)?;
            tables.traces.insert(key.clone(), self.new_trace(Vec::new(), 0));
        }
        let row = tables.trace(&key)?;
        if row.owned {
            return Err(StoreError::Held { trace: trace.clone(), by: Owner::ThisProcess });
        }
        let scan = log::whole(row.log.bytes(), &scope.tenant, trace);
        let (good, torn) = (scan.good, scan.torn);
        let mut read = scan.into_read(LOG_NAME);
        if torn > 0 && !read.read_only() {
            let cut = row.log.cut(good);
            row.torn.extend(cut);
            read.tail_cut = Some(TailCutInfo { bytes: torn as u64, kept: "events.torn".into() });
        }
        row.epoch += 1;
        row.owned = true;
        let tip = Tip { head: read.head, hash: read.hash };
        let hold = MemoryHold {
            shared: Arc::clone(&self.shared),
            key,
            epoch: row.epoch,
            read_only: read.read_only(),
            tip: Mutex::new(tip),
        };
        Ok(Opened { lease: Lease::new(trace.clone(), row.epoch, Arc::new(hold)), log: read })
    }

    fn append_now(&self, lease: &Lease, expected: EventId, batch: &[Event]) -> Result<EventId, Refused> {
        let hold: Arc<MemoryHold> = lease.hold().ok_or(Refused::StaleEpoch)?;
        let mut tables = hold.shared.tables();
        let row = tables.traces.get_mut(&hold.key).ok_or(Refused::StaleEpoch)?;
        if !row.owned || row.epoch != hold.epoch {
            return Err(Refused::StaleEpoch);
        }
        if hold.read_only {
            return Err(Refused::ReadOnly);
        }
        let mut tip = hold.tip.lock().unwrap_or_else(PoisonError::into_inner);
        let written = encode_batch(self.salts, tip.head, &tip.hash, expected, batch)?;
        if let Some((bytes, next)) = written {
            row.log.append(*tip, &bytes);
            row.modified = (self.clock)();
            *tip = next;
            row.head.send_replace(tip.head);
        }
        Ok(tip.head)
    }
}

impl MemoryStore {
    fn erase_now(&self, lease: &Lease, marker: &Event) -> Result<EventId, Refused> {
        let gone = erased_by(marker)?;
        let hold: Arc<MemoryHold> = lease.hold().ok_or(Refused::StaleEpoch)?;
        let head = self.append_now(lease, marker.id.saturating_sub(1), std::slice::from_ref(marker))?;
        let mut tables = hold.shared.tables();
        let row = tables.traces.get_mut(&hold.key).ok_or(Refused::StaleEpoch)?;
        if let Some((log, mail)) = log::erase_lines(row.log.bytes(), &gone) {
            row.log = log.into();
            row.mail.iter_mut().filter(|entry| mail.contains(&entry.id)).for_each(|entry| entry.body = "0".into());
        }
        row.torn.clear();
        row.scores.clear();
        row.owned = false;
        Ok(head)
    }
}

#[derive(Debug)]
struct MemoryHold {
    shared: Arc<Shared>,
    key: TraceKey,
    epoch: u64,
    read_only: bool,
    tip: Mutex<Tip>,
}

impl Hold for MemoryHold {
    fn release(&self) {
        if let Some(row) = self.shared.tables().traces.get_mut(&self.key)
            && row.epoch == self.epoch
        {
            row.owned = false;
        }
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Fut<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for MemoryStore {
    fn lease(&self, scope: &Scope, trace: &TraceId, create: bool) -> Fut<'_, Result<Opened, StoreError>> {
        ready(self.lease_now(scope, trace, create))
    }

    fn begin(&self, scope: &Scope, trace: &TraceId, log: Vec<Event>) -> Fut<'_, Result<(), StoreError>> {
        ready(self.begin_now(scope, trace, &log))
    }

    fn append<'a>(&'a self, lease: &'a Lease, expected: EventId, batch: Vec<Event>) -> Fut<'a, Appended> {
        ready(match self.append_now(lease, expected, &batch) {
            Ok(head) => Appended::Committed { head },
            Err(refused) => Appended::Refused(refused),
        })
    }

    fn read(&self, scope: &Scope, trace: &TraceId, from: EventId) -> Fut<'_, Result<ReadLog, StoreError>> {
        ready(self.with(scope, trace, |row| {
            let mut read = row.log.scan_from(from, &scope.tenant, trace).into_read(LOG_NAME);
            read.keep_from(from);
            Ok(read)
        }))
    }

    fn subscribe(&self, scope: &Scope, trace: &TraceId) -> Result<watch::Receiver<EventId>, StoreError> {
        self.with(scope, trace, |row| {
            let head = log::last_id(row.log.bytes()).unwrap_or(0);
            row.head.send_if_modified(|known| std::mem::replace(known, head) != head);
            Ok(row.head.subscribe())
        })
    }

    fn driver(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Option<Owner>, StoreError>> {
        ready(self.with(scope, trace, |row| Ok(row.owned.then_some(Owner::ThisProcess))))
    }

    fn send(&self, scope: &Scope, trace: &TraceId, letter: Letter) -> Fut<'_, Result<MailId, StoreError>> {
        let posted = self.with(scope, trace, |row| {
            let Letter { urgent, body, once } = letter;
            let body = one_line(&body)?;
            if let Some(once) = &once {
                let is_known = |mail: &&Mail| mail.once.as_ref().is_some_and(|known| known.key == once.key);
                if let Some(Mail { id, once: Some(known), .. }) = row.mail.iter().find(is_known) {
                    return known.is_again(once, trace, *id);
                }
            }
            let read = log::last_read(row.log.bytes()).unwrap_or(0);
            let id = 1 + row.mail.last().map_or(0, |mail| mail.id).max(read);
            row.mail.push(Mail { id, at: (self.clock)(), from: scope.principal.clone(), urgent, once, body });
            Ok(id)
        });
        if posted.is_ok() {
            self.scheduler.wake(&scope.tenant, trace);
        }
        ready(posted)
    }

    fn mail(&self, scope: &Scope, trace: &TraceId, after: MailId) -> Fut<'_, Result<Vec<Mail>, StoreError>> {
        ready(self.with(scope, trace, |row| Ok(row.mail.iter().filter(|mail| mail.id > after).cloned().collect())))
    }

    fn put_blob(&self, scope: &Scope, bytes: Vec<u8>) -> Fut<'_, Result<BlobHash, StoreError>> {
        ready(blob_hash(&bytes).inspect(|hash| {
            self.shared.tables().blobs.insert((scope.tenant.clone(), hash.clone()), (bytes, (self.clock)()));
        }))
    }

    fn get_blob(&self, scope: &Scope, hash: &BlobHash) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        let found = self.shared.tables().blobs.get(&(scope.tenant.clone(), hash.clone())).cloned();
        ready(match found {
            Some((bytes, _)) => check_blob(&format!("blob {hash}"), hash, bytes),
            None => Err(StoreError::NoBlob { hash: hash.clone() }),
        })
    }

    fn list(&self, scope: &Scope) -> Fut<'_, Result<Vec<TraceEntry>, StoreError>> {
        let tables = self.shared.tables();
        let own = tables.traces.iter().filter(|((tenant, _), _)| *tenant == scope.tenant);
        let mut list: Vec<_> =
            own.map(|((_, trace), row)| TraceEntry { trace: trace.clone(), modified: row.modified }).collect();
        newest_first(&mut list);
        ready(Ok(list))
    }

    fn verify(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Report, StoreError>> {
        let scanned = self.with(scope, trace, |row| {
            let scan = log::whole(row.log.bytes(), &scope.tenant, trace);
            let mut report = report_of(&scan, LOG_NAME);
            report.look_at_mail(row.mail.iter().map(|mail| mail.id), last_mail(&scan), "the mailbox");
            Ok((scan, report))
        });
        ready(scanned.map(|(scan, mut report)| {
            let tables = self.shared.tables();
            report.look_at_blobs(&blobs_of(&scan.events), |hash| {
                let held = tables.blobs.get(&(scope.tenant.clone(), hash.clone()));
                let (bytes, _) = held.ok_or(BlobFault::Missing)?;
                let is_it = blob_hash(bytes).is_ok_and(|own| own == *hash);
                is_it.then_some(bytes.len() as u64).ok_or(BlobFault::Other)
            });
            report
        }))
    }

    fn heads(
        &self,
        scope: &Scope,
        trace: &TraceId,
        events: Vec<EventId>,
    ) -> Fut<'_, Result<Vec<Option<HeadHash>>, StoreError>> {
        ready(self.with(scope, trace, |row| {
            let genesis = HeadHash::genesis(&scope.tenant, trace);
            heads_of(row.log.bytes(), genesis, &events).map_err(|e| StoreError::io("read the log", e))
        }))
    }

    fn add_signature(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        ready(one_kept_line(&line).and_then(|()| {
            self.with(scope, trace, |row| {
                row.signatures.extend_from_slice(line.as_bytes());
                row.signatures.push(b'\n');
                Ok(())
            })
        }))
    }

    fn signatures(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        ready(self.with(scope, trace, |row| Ok(row.signatures.clone())))
    }

    fn add_score(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        ready(one_kept_line(&line).and_then(|()| {
            self.with(scope, trace, |row| {
                row.scores.extend_from_slice(line.as_bytes());
                row.scores.push(b'\n');
                Ok(())
            })
        }))
    }

    fn scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        ready(self.with(scope, trace, |row| Ok(row.scores.clone())))
    }

    fn remove_scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        ready(self.with(scope, trace, |row| {
            row.scores.clear();
            Ok(())
        }))
    }

    fn erase<'a>(&'a self, lease: &'a Lease, marker: Event) -> Fut<'a, Appended> {
        ready(match self.erase_now(lease, &marker) {
            Ok(head) => Appended::Committed { head },
            Err(refused) => Appended::Refused(refused),
        })
    }

    fn remove(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        let key = (scope.tenant.clone(), trace.clone());
        let mut tables = self.shared.tables();
        ready(
            tables
                .trace(&key)
                .and_then(|row| match row.owned {
                    true => Err(StoreError::Held { trace: trace.clone(), by: Owner::ThisProcess }),
                    false => Ok(()),
                })
                .map(|()| drop(tables.traces.remove(&key))),
        )
    }

    fn discard<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, head: EventId) -> Fut<'a, Result<(), StoreError>> {
        let is_there = lease.hold::<MemoryHold>().is_some_and(|hold| {
            !hold.read_only && hold.tip.lock().unwrap_or_else(PoisonError::into_inner).head == head
        });
        lease.release();
        if is_there { self.remove(scope, lease.trace()) } else { ready(Ok(())) }
    }

    fn collect_blobs(&self, scope: &Scope, sweep: Sweep) -> Fut<'_, Result<Collected, StoreError>> {
        let mut tables = self.shared.tables();
        let own = tables.traces.iter().filter(|((tenant, _), _)| *tenant == scope.tenant);
        let mut named = Named::default();
        for (_, row) in own {
            named.note(row.log.bytes());
            row.mail.iter().for_each(|mail| named.note(mail.body.as_bytes()));
        }
        let now = (self.clock)();
        let grace = Millis::try_from(sweep.grace.as_millis()).unwrap_or(Millis::MAX);
        let mut collected = Collected::default();
        tables.blobs.retain(|(tenant, hash), (bytes, put)| {
            let wanted = sweep.only.as_ref().is_none_or(|only| only.contains(hash));
            if *tenant != scope.tenant || !wanted || named.has(hash) {
                return true;
            }
            if now.saturating_sub(*put) < grace {
                collected.young += 1;
                return true;
            }
            collected.removed += 1;
            collected.bytes += bytes.len() as u64;
            sweep.dry_run
        });
        ready(Ok(collected))
    }

    fn put_view(&self, scope: &Scope, trace: &TraceId, name: &str, bytes: Vec<u8>) -> Fut<'_, Result<(), StoreError>> {
        ready(check_name(name).and_then(|()| {
            self.with(scope, trace, |row| {
                row.views.insert(name.into(), bytes);
                Ok(())
            })
        }))
    }

    fn get_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<Option<Vec<u8>>, StoreError>> {
        ready(check_name(name).and_then(|()| self.with(scope, trace, |row| Ok(row.views.get(name).cloned()))))
    }

    fn views(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<String>, StoreError>> {
        ready(self.with(scope, trace, |row| Ok(row.views.keys().cloned().collect())))
    }

    fn delete_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<(), StoreError>> {
        ready(check_name(name).and_then(|()| {
            self.with(scope, trace, |row| {
                row.views.remove(name);
                Ok(())
            })
        }))
    }
}

#[cfg(any(feature = "faults", feature = "conformance"))]
impl crate::Raw for MemoryStore {
    fn log_bytes(&self, tenant: &TenantId, trace: &TraceId) -> Vec<u8> {
        let key = (tenant.clone(), trace.clone());
        self.shared.tables().traces.get(&key).map(|row| row.log.bytes().to_vec()).unwrap_or_default()
    }

    fn set_log_bytes(&self, tenant: &TenantId, trace: &TraceId, bytes: &[u8]) {
        if let Some(row) = self.shared.tables().traces.get_mut(&(tenant.clone(), trace.clone())) {
            row.log = bytes.to_vec().into();
        }
    }
}
/// Errors: the trace is one of another machine, and none is made for it here.
fn here(trace: &TraceId) -> Result<(), StoreError> {
    let other = || std::io::Error::other("it is one of another machine");
    match trace.elsewhere() {
        None => Ok(()),
        Some(_) => Err(StoreError::io(format!("make trace {trace}"), other())),
    }
}
