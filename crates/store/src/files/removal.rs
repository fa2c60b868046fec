//! What is taken away: the content of events, whole traces, blobs that nothing names any more.

use super::beside::SCORES;
use super::blobs::lock_blobs;
use super::bytes::bytes_from;
use super::changes;
use super::inner::Inner;
use super::layout::{Layout, sync_dir, write_whole};
use super::mailbox;
use super::owned::{Job, Owned};
use super::record::take_lock;
use super::removed;
use crate::append::erased_by;
use crate::checks::{Named, other_than_file};
use crate::log::erase_lines;
use crate::store::{Appended, Collected, Refused, StoreError, Sweep};
use mainpath_types::{BlobHash, Event, EventId, TenantId, TraceId};
use rustix::fs::FlockOperation;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::oneshot;

/// See [`Store::erase`](crate::Store::erase).
pub(crate) fn erase(inner: &Inner, owned: &Arc<Owned>, marker: &Event) -> Result<Appended, Refused> {
    let gone = erased_by(marker)?;
    let dir = inner.layout.trace(&owned.tenant, &owned.trace);
    let is_link = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    if let Some(link) = ["events.jsonl", "mailbox.jsonl"].map(|name| dir.join(name)).into_iter().find(is_link) {
        let problem = format!(
            "{} is a link, and what it leads to would keep the words: put the file itself there",
            link.display()
        );
        return Err(Refused::BadEvent { id: marker.id, problem });
    }
    let (salts, expected) = (inner.options.salts, marker.id.saturating_sub(1));
    let job = owned.prepare(salts, expected, std::slice::from_ref(marker), oneshot::channel().0)?;
    let Some(Job::Append(append)) = job else { return Err(Refused::WrongId { head: expected }) };
    let done = write_erased(&inner.layout, owned, &gone, &append.lines);
    if done.is_ok() {
        owned.settle(append.tip);
    }
    // The log is another file now, which the writer of logs does not know: this lease has done its work.
    owned.use_up();
    Ok(match done {
        Ok(()) => {
            inner.watchers.tell(&owned.tenant, &owned.trace, marker.id);
            Appended::Committed { head: marker.id }
        }
        Err(error) => Appended::Unknown { problem: error.to_string(), cause: error.cause() },
    })
}

fn write_erased(layout: &Layout, owned: &Owned, gone: &BTreeSet<EventId>, marker: &[u8]) -> Result<(), StoreError> {
    let (dir, path) = (layout.trace(&owned.tenant, &owned.trace), layout.log(&owned.tenant, &owned.trace));
    let say = |what: &str, error: io::Error| StoreError::io(format!("{what} of {}", path.display()), error);
    let bytes = File::open(&path).and_then(|file| bytes_from(&file, 0)).map_err(|e| say("read the log", e))?;
    let (mut log, mail) = erase_lines(&bytes, gone).ok_or_else(|| {
        let broken = io::Error::new(io::ErrorKind::InvalidData, "a line is none of Mainpath's");
        say("read the log", broken)
    })?;
    log.extend_from_slice(marker);
    // What the log still says can be erased again if this breaks off; what only the mailbox still said could not.
    mailbox::blank(&dir.join("mailbox.jsonl"), &mail).map_err(|e| say("blank the mail", e))?;
    remove_file(&dir.join("events.torn")).map_err(|e| say("remove the torn lines", e))?;
    // Who graded it may have quoted it.
    remove_file(&dir.join(SCORES)).map_err(|e| say("remove the scores", e))?;
    write_whole(&path, &log, true).and_then(|()| sync_dir(&dir)).map_err(|e| say("write the log", e))
}

fn remove_file(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// What a folder is called while it is being removed; no trace has such a name.
const LEAVING: &str = ".leaving-";

/// See [`Store::remove`](crate::Store::remove).
pub(crate) fn remove(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<(), StoreError> {
    layout.existing(tenant, trace)?;
    let (dir, traces) = (layout.trace(tenant, trace), layout.traces(tenant));
    if std::fs::symlink_metadata(&dir).is_ok_and(|data| data.is_symlink()) {
        // The folder that it leads to is somebody else's, and stays as it is.
        let gone = std::fs::remove_file(&dir).and_then(|()| sync_dir(&traces));
        gone.map_err(|e| StoreError::io(format!("remove the link {}", dir.display()), e))?;
        changes::note(&layout.changes(), tenant, trace);
        return Ok(());
    }
    let (lock, _) = take_lock(&dir, trace)?;
    take_out(layout, tenant, trace)?;
    drop(lock);
    Ok(())
}

/// See [`Store::discard`](crate::Store::discard).
pub(crate) fn discard(layout: &Layout, owned: &Owned, head: EventId) -> Result<(), StoreError> {
    let Some(lock) = owned.take_lock_at(head) else { return Ok(()) };
    take_out(layout, &owned.tenant, &owned.trace)?;
    drop(lock);
    Ok(())
}

/// Removes the folder of a trace whose lock is held.
pub(crate) fn take_out(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<(), StoreError> {
    let (dir, traces) = (layout.trace(tenant, trace), layout.traces(tenant));
    let removing = |e: io::Error| StoreError::io(format!("remove {}", dir.display()), e);
    // At once out of everybody's sight; what a crash leaves of it is swept up later.
    let leaving = traces.join(format!("{LEAVING}{trace}"));
    if leaving.exists() {
        std::fs::remove_dir_all(&leaving).map_err(removing)?;
    }
    removed::note(layout, tenant, trace).map_err(removing)?;
    std::fs::rename(&dir, &leaving).and_then(|()| sync_dir(&traces)).map_err(removing)?;
    std::fs::remove_dir_all(&leaving).map_err(removing)?;
    changes::note(&layout.changes(), tenant, trace);
    Ok(())
}

/// Removes what a crash left of traces that were being removed.
fn sweep_up(layout: &Layout, tenant: &TenantId) -> io::Result<()> {
    let entries = match std::fs::read_dir(layout.traces(tenant)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(LEAVING)) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// See [`Store::collect_blobs`](crate::Store::collect_blobs).
pub(crate) fn collect(layout: &Layout, tenant: &TenantId, sweep: &Sweep) -> Result<Collected, StoreError> {
    let blobs = layout.blobs(tenant);
    let collecting = |e: io::Error| StoreError::io(format!("collect the blobs in {}", blobs.display()), e);
    if !sweep.dry_run {
        sweep_up(layout, tenant).map_err(collecting)?;
    }
    // What a missing log names cannot be known, and its copy may come back. Who wants certain blobs gone has looked at what names them.
    if sweep.only.is_none()
        && let Some(lost) = layout.names(tenant)?.iter().find_map(|trace| layout.lost(tenant, trace))
    {
        return Err(lost);
    }
    let before = SystemTime::now().checked_sub(sweep.grace).unwrap_or(SystemTime::UNIX_EPOCH);
    let named = named(layout, tenant)?;
    let mut collected = Collected::default();
    let folders = match std::fs::read_dir(&blobs) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(collected),
        folders => folders.map_err(collecting)?,
    };
    for folder in folders {
        let folder = folder.map_err(collecting)?;
        if !folder.file_type().map_err(collecting)?.is_dir() {
            continue;
        }
        // Nobody puts a blob between the look at its age and its removal.
        let lock = lock_blobs(&blobs, FlockOperation::LockExclusive).map_err(collecting)?;
        for entry in std::fs::read_dir(folder.path()).map_err(collecting)? {
            let entry = entry.map_err(collecting)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(hash) = BlobHash::try_from(name) else { continue };
            if named.has(&hash) || sweep.only.as_ref().is_some_and(|only| !only.contains(&hash)) {
                continue;
            }
            let meta = entry.metadata().map_err(collecting)?;
            if meta.modified().map_err(collecting)? > before {
                collected.young += 1;
                continue;
            }
            if !sweep.dry_run {
                remove_file(&entry.path()).map_err(collecting)?;
            }
            collected.removed += 1;
            collected.bytes += meta.len();
        }
        drop(lock);
    }
    Ok(collected)
}

/// Everything that logs, what was cut off them, and mailboxes name. Traces that appear meanwhile are read as well.
fn named(layout: &Layout, tenant: &TenantId) -> Result<Named, StoreError> {
    let (mut named, mut seen) = (Named::default(), BTreeSet::new());
    loop {
        let fresh: Vec<TraceId> =
            layout.names(tenant)?.into_iter().filter(|trace| seen.insert(trace.clone())).collect();
        if fresh.is_empty() {
            return Ok(named);
        }
        for trace in fresh {
            let dir = layout.trace(tenant, &trace);
            for name in ["events.jsonl", "events.torn", "mailbox.jsonl"] {
                let path = dir.join(name);
                note(&path, &mut named).map_err(|e| StoreError::io(format!("read {}", path.display()), e))?;
            }
        }
    }
}

/// Reads a file in pieces that overlap by more than a hash.
fn note(path: &Path, named: &mut Named) -> io::Result<()> {
    const OVERLAP: usize = 80;
    if other_than_file(path).is_some() {
        return Ok(());
    }
    let mut file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let mut window = vec![0; 256 << 10];
    let mut filled = 0;
    loop {
        let read = file.read(window.get_mut(filled..).unwrap_or_default())?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        named.note(window.get(..filled).unwrap_or_default());
        let keep = filled.min(OVERLAP);
        window.copy_within(filled - keep..filled, 0);
        filled = keep;
    }
}
