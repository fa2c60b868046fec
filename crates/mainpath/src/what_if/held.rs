//! The copies of folders that are worked in: removed where the work breaks off, and by who comes next where it was killed.

use crate::Error;
use mainpath_types::TraceId;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// How the mark of a copy that is worked in ends. Who works in it holds a lock on the mark.
const HELD: &str = ".held";

/// Asks what works in copies of folders to end: its runs are stopped, and their copies removed. Its clones are one.
#[derive(Clone, Debug, Default)]
pub struct StopWork(Arc<watch::Sender<bool>>);

impl StopWork {
    /// Asks for it.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether somebody has asked for it.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until somebody asks for it.
    pub async fn stopped(&self) {
        // The sender is this one: it does not go while it is waited for.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}

/// A copy that is worked in. It goes with this, unless it is kept.
pub(crate) struct HeldCopy {
    folder: PathBuf,
    mark: PathBuf,
    /// Let go of when the process ends, however it does.
    _lock: File,
    is_kept: bool,
}

impl HeldCopy {
    /// Where a copy for a trace is to be; nothing is there yet. Errors: nothing can be written there.
    pub fn begin(copies: &Path, trace: &TraceId) -> Result<HeldCopy, Error> {
        let bad =
            |error: io::Error| Error::of_io(&error, format!("no copy can be made in {}: {error}", copies.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(copies).map_err(bad)?;
        let mark = copies.join(format!("{trace}{HELD}"));
        // Locked before it has its name: who looks for what was left behind takes it for nothing else.
        let begun = tempfile::Builder::new().prefix(".new-").tempfile_in(copies).map_err(bad)?;
        begun.as_file().lock().map_err(bad)?;
        let lock = begun.persist(&mark).map_err(|error| bad(error.error))?;
        Ok(HeldCopy { folder: copies.join(trace.as_str()), mark, _lock: lock, is_kept: false })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the folder: it belongs to its trace from now on.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.folder.clone()
    }
}

impl Drop for HeldCopy {
    fn drop(&mut self) {
        if self.is_kept || is_gone(&self.folder) {
            // One that stays is looked at again by who comes next: nothing is at the folder's place, or its trace has it.
            let _ = std::fs::remove_file(&self.mark);
        }
    }
}

/// Removes the copies that processes left behind which were killed. What cannot be removed is left for the next time.
pub(crate) fn sweep(copies: &Path) {
    let Ok(entries) = std::fs::read_dir(copies) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(trace) = name.to_str().and_then(|name| name.strip_suffix(HELD)) else { continue };
        if trace.parse::<TraceId>().is_err() || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Who works in it holds the lock.
        let Ok(mark) = File::open(entry.path()) else { continue };
        if mark.try_lock().is_ok() && is_at(&mark, &entry.path()) && is_gone(&copies.join(trace)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether an open file still has this name: who has kept its copy has removed its mark before it let go of it.
fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|open| path.symlink_metadata().is_ok_and(|named| open.ino() == named.ino()))
}

/// Removes a folder. Whether nothing is left of it.
fn is_gone(folder: &Path) -> bool {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_nobody_holds_any_more_is_removed_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let (copies, outside) = (root.path().join("copies"), root.path().join("outside"));
        std::fs::create_dir(&outside).unwrap();
        let id = |text: &str| text.parse::<TraceId>().unwrap();
        let begun = |name: &str| {
            let held = HeldCopy::begin(&copies, &id(name)).unwrap();
            std::fs::create_dir(held.folder()).unwrap();
            held
        };
        let (held, kept, dropped) = (begun("held"), begun("kept"), begun("dropped"));
        assert_eq!(kept.keep(), copies.join("kept"));
        drop(dropped);
        // As a killed process leaves it, and what only looks like it.
        std::fs::create_dir(copies.join("killed")).unwrap();
        for name in ["killed.held", "never.held", "...held", "plain"] {
            std::fs::write(copies.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(&outside, copies.join("linked")).unwrap();
        std::os::unix::fs::symlink(outside.join("x.held"), copies.join("linked.held")).unwrap();
        sweep(&copies);
        assert_eq!(names(&copies), ["...held", "held", "held.held", "kept", "linked", "linked.held", "plain"]);
        assert!(outside.is_dir());
        drop(held);
        assert_eq!(names(&copies), ["...held", "kept", "linked", "linked.held", "plain"]);
        sweep(&root.path().join("none"));
        // Kept between the look at its mark and the lock on it.
        let kept = begun("late");
        let mark = File::open(copies.join("late.held")).unwrap();
        assert!(is_at(&mark, &copies.join("late.held")));
        kept.keep();
        assert!(mark.try_lock().is_ok() && !is_at(&mark, &copies.join("late.held")));
    }
}
