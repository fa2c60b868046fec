//! Ownership of a trace: taking it, and who has it.

use super::bytes::bytes_between;
use super::changes;
use super::inner::Inner;
use super::owned::{Commit, Owned, State};
use super::record::{Record, cut_tail, named, take_lock};
use crate::append::Tip;
use crate::checks::other_than_file;
use crate::line::HeadHash;
use crate::log;
use crate::private::open_or_make;
use crate::store::{Lease, Opened, Owner, ReadLog, StoreError, TailCutInfo};
use mainpath_types::{TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// See [`Store::lease`].
pub(crate) fn lease(inner: &Inner, tenant: &TenantId, trace: &TraceId, create: bool) -> Result<Opened, StoreError> {
    let opening = |e: io::Error| StoreError::io(format!("open trace {trace}"), e);
    let layout = &inner.layout;
    // In a folder that was made just now there is nothing.
    let is_new = create && layout.make_trace(tenant, trace).map_err(opening)?;
    if let Some(lost) = (!is_new).then(|| layout.lost(tenant, trace)).flatten() {
        return Err(lost);
    }
    if !create {
        layout.existing_log(tenant, trace)?;
    }
    let dir = layout.trace(tenant, trace);
    // Nothing stays behind of a new trace that cannot be leased, unless another process has started it in the meantime.
    let (lock, earlier) = take_lock(&dir, trace).inspect_err(|_| {
        if is_new {
            let _ = std::fs::remove_dir(&dir);
        }
    })?;
    let (record, read) = open_log(inner, tenant, trace, &lock, &earlier).inspect_err(|_| {
        if is_new {
            clear_new(&dir, &layout.log(tenant, trace));
        }
    })?;
    let (epoch, placed) = (record.epoch, record.placed);
    let owned = Owned {
        key: inner.next_key.fetch_add(1, Ordering::Relaxed),
        tenant: tenant.clone(),
        trace: trace.clone(),
        placed: Arc::new(AtomicBool::new(placed)),
        read_only: read.read_only(),
        commits: Arc::clone(&inner.commits) as Arc<dyn Commit>,
        state: Mutex::new(State {
            lock: Some(lock),
            tip: Tip { head: read.head, hash: read.hash },
            is_grown: false,
            record,
            busy: false,
            lost: false,
            released: false,
        }),
    };
    inner.commits.leases.fetch_add(1, Ordering::Relaxed);
    Ok(Opened { lease: Lease::new(trace.clone(), epoch, Arc::new(owned)), log: read })
}

/// Records the new owner of a trace that this process has locked, and reads its log. A torn last line is cut off.
fn open_log(
    inner: &Inner,
    tenant: &TenantId,
    trace: &TraceId,
    lock: &File,
    earlier: &Record,
) -> Result<(Record, ReadLog), StoreError> {
    let opening = |e: io::Error| StoreError::io(format!("open trace {trace}"), e);
    let (layout, dir) = (&inner.layout, inner.layout.trace(tenant, trace));
    // Before there is a log: a trace that is not noted yet is not there yet. Nor is one for which the disk has no room.
    let record = Record { epoch: earlier.epoch.saturating_add(1), pid: std::process::id(), ..earlier.clone() };
    record.write(lock).map_err(opening)?;
    changes::note(&layout.changes(), tenant, trace);
    let path = layout.log(tenant, trace);
    let file = open_or_make(&path).map_err(opening)?;
    inner.commits.take_back(tenant, trace, &file).map_err(opening)?;
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
    Ok((record, read))
}

/// Removes what a lease that failed has made of a new trace, while its lock is held. Where that fails too, a folder without a log is no
/// trace.
fn clear_new(dir: &Path, log: &Path) {
    if log.metadata().is_ok_and(|meta| meta.len() > 0) {
        return;
    }
    let _ = std::fs::remove_file(log);
    let _ = std::fs::remove_file(dir.join("owner.lock"));
    let _ = std::fs::remove_dir(dir);
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
