//! Ownership of a trace: a lock on `owner.lock`, and where the owner's log ends.

use super::changes;
use super::commit::{Append, Commits, Job};
use super::layout::open_or_make;
use super::{Inner, bytes_between};
use crate::append::{Tip, encode_batch};
use crate::checks::other_than_file;
use crate::line::{HeadHash, Salts};
use crate::log;
use crate::store::*;
use mainpath_types::{Event, EventId, TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// What `owner.lock` says, for people and for the next owner.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    epoch: u64,
    pid: u32,
    /// Whether the trace's folder and log are known to be durable.
    placed: bool,
    /// Where the log ended when an owner that had written to it gave it free. No line follows the last one whose `prev` would
    /// hold its head: this does.
    pub head: EventId,
    /// The hash of that line's head; empty where none is known.
    pub hash: String,
}

impl Record {
    /// What a trace's folder says; nothing where it says nothing.
    pub fn of(dir: &Path) -> Record {
        File::open(dir.join("owner.lock")).map(|file| Record::read(&file)).unwrap_or_default()
    }

    /// Notes that a log has lost its end, where it has fewer events than when its last writer left it. Nothing is written to such a
    /// log: what was done in the lines that are gone would be done again. A last line that is there in part is cut, kept aside and
    /// said to be, as after a crash.
    pub fn check(&self, read: &mut ReadLog, path: &Path, torn: bool) {
        if self.head <= read.head + EventId::from(torn) || read.read_only() {
            return;
        }
        let problem = format!("lines are missing at the end: when it was last written it had {} events", self.head);
        read.damage = Some(Damage { file: path.display().to_string(), line: read.head + 1, problem });
    }

    /// A record that cannot be read is as none: it is only lost with everything that could be stale.
    fn read(file: &File) -> Record {
        let mut bytes = [0; 256];
        let len = file.read_at(&mut bytes, 0).unwrap_or(0);
        serde_json::from_slice(bytes.get(..len).unwrap_or_default()).unwrap_or_default()
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        file.write_all_at(&text, 0)?;
        file.set_len(text.len() as u64)
    }
}

/// The store's side of a lease. Small, since there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct Owned {
    /// Unique in its store.
    pub key: u64,
    pub tenant: TenantId,
    pub trace: TraceId,
    /// Whether the trace's folder and log are known to be durable.
    pub placed: Arc<AtomicBool>,
    read_only: bool,
    commits: Arc<Commits>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Locked as long as it is here.
    lock: Option<File>,
    /// What the lock's file says.
    record: Record,
    tip: Tip,
    /// Whether anything was appended.
    is_grown: bool,
    /// Whether the record says that the trace is placed.
    recorded: bool,
    /// An append is under way.
    busy: bool,
    /// An append had no known outcome.
    lost: bool,
    released: bool,
}

impl Owned {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks and encodes a batch, and marks an append as under way. `None` if there is nothing to write.
    pub fn prepare(
        self: &Arc<Self>,
        salts: Salts,
        expected: EventId,
        batch: &[Event],
        answer: oneshot::Sender<Appended>,
    ) -> Result<Option<Job>, Refused> {
        let mut state = self.state();
        if state.released {
            return Err(Refused::StaleEpoch);
        }
        if self.read_only {
            return Err(Refused::ReadOnly);
        }
        if state.lost {
            return Err(Refused::Lost);
        }
        if state.busy {
            return Err(Refused::Busy);
        }
        let encoded = encode_batch(salts, state.tip.head, &state.tip.hash, expected, batch)?;
        let Some((lines, tip)) = encoded else { return Ok(None) };
        state.busy = true;
        Ok(Some(Job::Append(Append { owned: Arc::clone(self), lines, tip, answer })))
    }

    /// Hands the job to the store that gave the lease, which need not be the one that was asked; false if it is closed.
    pub fn submit(&self, job: Job) -> bool {
        self.commits.submit(job)
    }

    /// The append under way is durable.
    pub fn settle(&self, tip: Tip) {
        let mut state = self.state();
        let state = &mut *state;
        state.tip = tip;
        state.is_grown = true;
        if !state.recorded && self.placed.load(Ordering::Relaxed) {
            state.recorded = true;
            if let Some(file) = &state.lock {
                // Without the record the next owner only syncs once more than it must.
                state.record.placed = true;
                let _ = state.record.write(file);
            }
        }
        state.rest();
    }

    /// The outcome of the append under way is not known.
    pub fn lose(&self, problem: &str) -> Appended {
        let mut state = self.state();
        state.lost = true;
        state.rest();
        Appended::Unknown { problem: format!("{problem}; trace {} has to be opened again", self.trace) }
    }
}

impl Owned {
    /// Nothing is under way any more, and nothing more can be.
    pub fn use_up(&self) {
        let mut state = self.state();
        state.released = true;
        state.rest();
    }
}

impl State {
    fn rest(&mut self) {
        self.busy = false;
        if self.released {
            self.unlock();
        }
    }

    fn unlock(&mut self) {
        if let Some(file) = self.lock.take() {
            if self.is_grown {
                (self.record.head, self.record.hash) = (self.tip.head, self.tip.hash.to_string());
                // Without it a change of the last line's head is not seen, as before.
                let _ = self.record.write(&file);
            }
            // Closing is not enough while a child process that is just being started still has a copy.
            let _ = flock(&file, FlockOperation::Unlock);
        }
    }
}

impl Hold for Owned {
    fn release(&self) {
        let mut state = self.state();
        state.released = true;
        if !state.busy {
            state.unlock();
        }
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.state().unlock();
        // Fails only when the store is gone, and with it the file that this would close.
        let _ = self.commits.submit(Job::Forget(self.key));
        self.commits.leases.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See [`Store::lease`].
pub(crate) fn lease(inner: &Inner, tenant: &TenantId, trace: &TraceId, create: bool) -> Result<Opened, StoreError> {
    let opening = |e: io::Error| StoreError::io(format!("open trace {trace}"), e);
    let layout = &inner.layout;
    if let Some(lost) = layout.lost(tenant, trace) {
        return Err(lost);
    }
    if create {
        layout.make_trace(tenant, trace).map_err(opening)?;
    } else {
        layout.existing_log(tenant, trace)?;
    }
    let dir = layout.trace(tenant, trace);
    let (lock, earlier) = take_lock(&dir, trace)?;
    // Before there is a log: a trace that is not noted yet is not there yet.
    changes::note(&layout.changes(), tenant, trace);
    let path = layout.log(tenant, trace);
    let file = open_or_make(&path).map_err(opening)?;
    let scan = log::scan_file(&file, 0, Some((0, HeadHash::genesis(tenant, trace)))).map_err(opening)?.settled();
    let (good, torn) = (scan.good, scan.torn);
    inner.marks.set(tenant, trace, &file, &scan, good as u64);
    let mut read = scan.into_read(&path.display().to_string());
    earlier.check(&mut read, &path, torn > 0);
    if torn > 0 && !read.read_only() {
        let tail = bytes_between(&file, good as u64, (good + torn) as u64).map_err(opening)?;
        cut_tail(&dir, &file, good, &tail).map_err(opening)?;
        read.tail_cut = Some(TailCutInfo { bytes: torn as u64, kept: "events.torn".into() });
    }
    let record = Record { epoch: earlier.epoch.saturating_add(1), pid: std::process::id(), ..earlier };
    record.write(&lock).map_err(opening)?;
    let (epoch, placed) = (record.epoch, record.placed);
    let owned = Owned {
        key: inner.next_key.fetch_add(1, Ordering::Relaxed),
        tenant: tenant.clone(),
        trace: trace.clone(),
        placed: Arc::new(AtomicBool::new(placed)),
        read_only: read.read_only(),
        commits: Arc::clone(&inner.commits),
        state: Mutex::new(State {
            lock: Some(lock),
            tip: Tip { head: read.head, hash: read.hash },
            is_grown: false,
            recorded: placed,
            record,
            busy: false,
            lost: false,
            released: false,
        }),
    };
    inner.commits.leases.fetch_add(1, Ordering::Relaxed);
    Ok(Opened { lease: Lease::new(trace.clone(), epoch, Arc::new(owned)), log: read })
}

pub(crate) fn take_lock(dir: &Path, trace: &TraceId) -> Result<(File, Record), StoreError> {
    let path = dir.join("owner.lock");
    let locking = |e: io::Error| StoreError::io(format!("lock {}", path.display()), e);
    let file = try_lock(&path).map_err(locking)?;
    match file {
        Ok(file) => {
            let record = Record::read(&file);
            Ok((file, record))
        }
        Err(file) => Err(StoreError::Held { trace: trace.clone(), by: named(&file) }),
    }
}

/// Who has locked the file, by what it says.
fn named(file: &File) -> Owner {
    match Record::read(file).pid {
        0 => Owner::Unnamed,
        pid if pid == std::process::id() => Owner::ThisProcess,
        pid => Owner::Process(pid),
    }
}

/// See [`FilesStore::owner`](super::FilesStore::owner).
pub(crate) fn owner(inner: &Inner, tenant: &TenantId, trace: &TraceId) -> Result<Option<Owner>, StoreError> {
    inner.layout.existing(tenant, trace)?;
    let path = inner.layout.trace(tenant, trace).join("owner.lock");
    let looking = |e: io::Error| StoreError::io(format!("look at {}", path.display()), e);
    if let Some(what) = other_than_file(&path) {
        return Err(StoreError::NotAFile { trace: trace.clone(), file: path.display().to_string(), what });
    }
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(looking(e)),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => flock(&file, FlockOperation::Unlock).map(|()| None).map_err(|e| looking(e.into())),
        Err(e) if e == rustix::io::Errno::WOULDBLOCK => Ok(Some(named(&file))),
        Err(e) => Err(looking(e.into())),
    }
}

/// The file, locked; or, if somebody else has it locked, just the file.
pub(crate) fn try_lock(path: &Path) -> io::Result<Result<File, File>> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Ok(file)),
        Err(e) if e == rustix::io::Errno::WOULDBLOCK => Ok(Err(file)),
        Err(e) => Err(e.into()),
    }
}

/// Keeps the bytes after the last good line beside the log, then cuts them off.
pub(crate) fn cut_tail(dir: &Path, log: &File, good: usize, torn: &[u8]) -> io::Result<()> {
    let mut kept = open_or_make(&dir.join("events.torn"))?;
    kept.write_all(torn)?;
    kept.write_all(b"\n")?;
    log.set_len(good as u64)
}
