//! The journal: lines of many traces made durable by one sync, until their own files are.
//!
//! Each line is `tenant/trace `, then the log line. A journal is removed once every trace in it is synced. One that its
//! process left behind is free of its lock; [`replay`] adds what is missing to the logs, then removes it.

use super::bytes::bytes_from;
use super::disk::Disk;
use super::layout::{Layout, open_to_append, sync_dir};
use super::record::{cut_tail, try_lock};
use super::removed::{self, Removed};
use crate::line::{Bad, Head, HeadHash};
use crate::log;
use crate::private::open_or_make;
use crate::store::StoreError;
use mainpath_types::{EventId, TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// A journal that this process writes. Locked as long as it is open.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    len: u64,
    buffer: Vec<u8>,
    pub made: Instant,
}

impl Journal {
    pub fn create(layout: &Layout) -> io::Result<Journal> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("{}-{:016x}", std::process::id(), u64::from_ne_bytes(random));
        let dir = layout.journals();
        // Locked before it has the name under which others would take it for left behind.
        let new = dir.join(format!("{name}.new"));
        let file = open_or_make(&new)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let path = dir.join(format!("{name}.wal"));
        std::fs::rename(&new, &path)?;
        sync_dir(&dir)?;
        Ok(Journal { path, file, len: 0, buffer: Vec::new(), made: Instant::now() })
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn write<'a>(
        &mut self,
        disk: &Disk,
        group: impl Iterator<Item = (&'a TenantId, &'a TraceId, &'a [u8])>,
    ) -> io::Result<()> {
        self.buffer.clear();
        for (tenant, trace, lines) in group {
            for line in lines.split_inclusive(|b| *b == b'\n') {
                write!(self.buffer, "{tenant}/{trace} ")?;
                self.buffer.extend_from_slice(line);
            }
        }
        disk.write(&self.file, &self.buffer)?;
        disk.sync(&self.file)?;
        self.len += self.buffer.len() as u64;
        Ok(())
    }
}

/// Traces whose own files are not synced yet, and whether their folders are.
pub(crate) type Dirty = HashMap<(TenantId, TraceId), Arc<AtomicBool>>;

/// A journal that is done with once these traces are synced.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub journal: Journal,
    pub dirty: Dirty,
}

/// Syncs traces and removes journals, until nobody sends any more.
pub(crate) fn checkpoint_all(layout: &Layout, disk: &Disk, queue: &Receiver<Checkpoint>) {
    // What could not be synced keeps its journal, locked, until the process ends; then it is played back.
    let mut kept = Vec::new();
    while let Ok(Checkpoint { journal, dirty }) = queue.recv() {
        match sync_all(layout, disk, &dirty) {
            Ok(()) => {
                let _ = std::fs::remove_file(&journal.path);
            }
            Err(_) => kept.push(journal),
        }
    }
}

/// From so many traces on, the whole file system is synced instead of each file. Thousands of single syncs take minutes.
const MANY: usize = 32;

fn sync_all(layout: &Layout, disk: &Disk, dirty: &Dirty) -> io::Result<()> {
    let mut tenants: Vec<_> = dirty.keys().map(|(tenant, _)| tenant).collect();
    tenants.sort();
    tenants.dedup();
    if dirty.len() >= MANY {
        for tenant in tenants {
            disk.sync_all_around(&File::open(layout.traces(tenant))?)?;
        }
    } else {
        for ((tenant, trace), placed) in dirty {
            match open_to_append(&layout.log(tenant, trace)) {
                Ok(log) => disk.sync(&log)?,
                // The trace was removed meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(e),
            }
            if !placed.load(Ordering::Relaxed) {
                sync_dir(&layout.trace(tenant, trace))?;
            }
        }
        for tenant in tenants {
            sync_dir(&layout.traces(tenant))?;
        }
    }
    for placed in dirty.values() {
        placed.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Lines of one trace out of journals.
type Lines = Vec<(EventId, Vec<u8>)>;

/// What became of a trace's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Replayed {
    /// They are all in the log.
    Done,
    /// Somebody runs the trace; try again another time.
    Later,
    /// The log is damaged before them.
    Stuck,
}

/// Adds what journals left behind hold and logs lack, and removes those journals. One whose lines do not fit a damaged
/// log is kept as `.kept`.
pub(crate) fn replay(layout: &Layout) -> Result<(), StoreError> {
    let dir = layout.journals();
    let replaying = |e: io::Error| StoreError::io(format!("play back the journals in {}", dir.display()), e);
    let lock = open_or_make(&dir.join("lock")).map_err(replaying)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| replaying(e.into()))?;
    let journals = left_behind(&dir).map_err(replaying)?;
    // Two processes may have had the same trace one after the other, so all journals are read before any is applied.
    let mut traces: BTreeMap<(TenantId, TraceId), (Lines, Vec<usize>)> = BTreeMap::new();
    let removed = Removed::read(&dir).map_err(replaying)?;
    let mut outcome = vec![Replayed::Done; journals.len()];
    for (n, (path, file)) in journals.iter().enumerate() {
        let bytes = bytes_from(file, 0).map_err(replaying)?;
        let mut end = 0;
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let at = end;
            end += line.len();
            // What follows an incomplete line was never acknowledged.
            let Some((key, line)) = split_line(line) else { break };
            if removed.has(path, at, &key.0, &key.1) && !layout.log(&key.0, &key.1).try_exists().map_err(replaying)? {
                continue;
            }
            let id = match Head::read(line) {
                Ok(head) => head.id,
                Err(Bad::Newer(_)) => {
                    if let Some(outcome) = outcome.get_mut(n) {
                        *outcome = Replayed::Later;
                    }
                    break;
                }
                Err(Bad::Damaged(_)) => break,
            };
            let (lines, from) = traces.entry(key).or_default();
            lines.push((id, line.to_vec()));
            from.push(n);
        }
    }
    let mut dirty = Dirty::new();
    for ((tenant, trace), (lines, from)) in traces {
        let replayed = restore(layout, &tenant, &trace, lines).map_err(replaying)?;
        for n in from {
            if let Some(outcome) = outcome.get_mut(n) {
                *outcome = replayed.max(*outcome);
            }
        }
        if layout.log(&tenant, &trace).exists() {
            dirty.insert((tenant, trace), Arc::default());
        }
    }
    // Also what was not missing: it may be no further than the page cache.
    sync_all(layout, &Disk::default(), &dirty).map_err(replaying)?;
    for ((path, _), outcome) in journals.iter().zip(outcome) {
        match outcome {
            Replayed::Done => std::fs::remove_file(path).map_err(replaying)?,
            Replayed::Later => {}
            Replayed::Stuck => std::fs::rename(path, path.with_extension("kept")).map_err(replaying)?,
        }
    }
    removed::clear(&dir).map_err(replaying)
}

/// The journals that nobody has locked; they are locked now.
fn left_behind(dir: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    let mut journals = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "wal")
            && let Ok(file) = try_lock(&path)?
        {
            journals.push((path, file));
        }
    }
    journals.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(journals)
}

/// `tenant/trace {…}\n`; the line comes back without its newline.
fn split_line(line: &[u8]) -> Option<((TenantId, TraceId), &[u8])> {
    let line = line.strip_suffix(b"\n")?;
    let space = memchr::memchr(b' ', line)?;
    let (tenant, trace) = std::str::from_utf8(line.get(..space)?).ok()?.split_once('/')?;
    Some(((tenant.parse().ok()?, trace.parse().ok()?), line.get(space + 1..)?))
}

fn restore(layout: &Layout, tenant: &TenantId, trace: &TraceId, mut lines: Lines) -> io::Result<Replayed> {
    if !layout.log(tenant, trace).try_exists()? && lines.iter().all(|(id, _)| *id != 1) {
        // Its beginning was durable before and is gone: somebody removed the trace.
        return Ok(Replayed::Done);
    }
    layout.make_tenant_dir(tenant, &layout.traces(tenant))?;
    layout.make_trace(tenant, trace)?;
    let dir = layout.trace(tenant, trace);
    let lock = try_lock(&dir.join("owner.lock"))?;
    let log_file = open_or_make(&layout.log(tenant, trace))?;
    let bytes = bytes_from(&log_file, 0)?;
    let scan = log::scan(&bytes, Some((0, HeadHash::genesis(tenant, trace))));
    lines.sort_by_key(|(id, _)| *id);
    let last = lines.last().map_or(0, |(id, _)| *id);
    let mut missing = Vec::new();
    let (mut head, mut hash) = (scan.last, scan.hash);
    for (id, line) in &lines {
        if let Ok(read) = Head::read(line)
            && Some(*id) == head.checked_add(1)
            && read.prev == hash
            && read.body(line).is_ok()
        {
            (head, hash) = (*id, read.hash(line));
            missing.extend_from_slice(line);
            missing.push(b'\n');
        }
    }
    if !missing.is_empty() {
        if lock.is_err() {
            return Ok(Replayed::Later);
        }
        if let Some(torn) = bytes.get(scan.good..).filter(|torn| !torn.is_empty()) {
            // The journal has the right bytes for what stands here.
            cut_tail(&dir, &log_file, scan.good, torn)?;
        }
        (&log_file).write_all(&missing)?;
    }
    Ok(if head >= last { Replayed::Done } else { Replayed::Stuck })
}
