//! What the files of a workspace are at a moment: taken before and after a call that may change any of them.
//!
//! Looked at is what git would look at: files and links, which are not followed, but nothing that ignore files name and
//! nothing in `.git`. A file whose times, number and size are as they were is not read again.

use crate::unread::shown;
use crate::walk::{Over, Walk, Watch};
use crate::words::count;
use crate::work::blocking;
use crate::{BlobSink, FileNow, Problem, Workspace};
use mainpath_types::{FileChange, FileState};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// Files that are looked at in one workspace.
const MOST_FILES: usize = 20_000;
/// Bytes that one snapshot adds to what is kept.
const MOST_BYTES: u64 = 512 * 1024 * 1024;
/// Changes that one call is known to have made at most.
pub const MOST_CHANGES: usize = 5_000;
/// A file that was touched so shortly before it was looked at may have been touched again since, at what the file system
/// takes for the same time. In nanoseconds.
const RACY: i128 = 50_000_000;

/// The files of a workspace at a moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    files: BTreeMap<String, Seen>,
    /// When it was begun, in nanoseconds.
    taken: i128,
    /// Whether all files were looked at.
    whole: bool,
    /// What was not looked at or not kept, a line each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
struct Seen {
    stamp: Stamp,
    /// Whether it had been left alone for long enough when it was looked at.
    settled: bool,
    state: FileState,
    /// Whether its content lies in a blob.
    kept: bool,
}

/// What tells that a file was touched, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: i128,
    changed: i128,
    number: u64,
    size: u64,
    mode: u32,
}

impl Snapshot {
    /// Looks at a workspace. What `earlier` knows is not read again. With blobs, every file's content is kept in them; what
    /// cannot be kept is noted as unknown. Ends early when `cancel` fires.
    pub async fn take(
        workspace: &Arc<Workspace>,
        mut earlier: Snapshot,
        blobs: Option<&dyn BlobSink>,
        cancel: &CancellationToken,
    ) -> Snapshot {
        let (at, watch) = (Arc::clone(workspace), Watch::new(cancel.clone()));
        let listed = blocking(move || list(&at, watch)).await;
        let Listed { names, taken, mut whole, mut notes } = match listed.and_then(|listed| listed) {
            Ok(listed) => listed,
            Err(problem) => return Snapshot { notes: vec![problem.text], ..Snapshot::default() },
        };
        let (mut files, mut kept_bytes, mut unkept) = (BTreeMap::new(), 0, 0_u64);
        for (path, stamp) in names {
            if cancel.is_cancelled() {
                whole = false;
                break;
            }
            let settled = stamp.changed + RACY < taken;
            let known = earlier.files.remove(&path).filter(|seen| seen.settled && seen.stamp == stamp);
            if let Some(seen) = known.filter(|seen| seen.kept || blobs.is_none()) {
                files.insert(path, seen);
                continue;
            }
            let (at, name) = (Arc::clone(workspace), path.clone());
            let now = blocking(move || at.look(&name)).await.and_then(|now| now);
            let (mut state, mut kept) = (now.as_ref().map_or(FileState::Unknown, FileNow::state), false);
            if let (Some(content), Some(blobs)) = (now.ok().and_then(FileNow::into_content), blobs) {
                kept_bytes += content.len() as u64;
                kept = kept_bytes <= MOST_BYTES && blobs.keep(content).await.is_ok();
                state = if kept { state } else { FileState::Unknown };
            }
            unkept += u64::from(state == FileState::Unknown);
            if state != FileState::Absent {
                files.insert(path, Seen { stamp, settled, state, kept });
            }
        }
        if unkept > 0 && blobs.is_some() {
            let are = if unkept == 1 { "is" } else { "are" };
            notes.push(format!("{} {are} too large, or too many, to be kept", count(unkept, "file")));
        }
        Snapshot { files, taken, whole, notes }
    }

    /// What became of the files between this moment and a later one, which is now. What was merely not looked at, then or
    /// now, is no change: files that a changed ignore file uncovers were there before, and are not to be removed.
    pub fn changes(&self, later: &Snapshot, workspace: &Workspace) -> Vec<FileChange> {
        let state = |seen: Option<&Seen>| seen.map_or(FileState::Absent, |seen| seen.state.clone());
        let paths: BTreeSet<&String> = self.files.keys().chain(later.files.keys()).collect();
        let changes = paths.into_iter().filter_map(|path| {
            let (old, new) = (self.files.get(path), later.files.get(path));
            let after = match (old, new) {
                // Of one that is unknown its stamp says whether it was touched.
                (Some(old), Some(new)) => (old.state != new.state
                    || old.state == FileState::Unknown && old.stamp != new.stamp)
                    .then(|| new.state.clone()),
                (None, Some(new)) => (self.whole && new.stamp.changed >= self.taken - RACY).then(|| new.state.clone()),
                (Some(_), None) => instead(workspace, path),
                (None, None) => None,
            };
            after.map(|after| FileChange { path: path.clone(), before: state(old), after })
        });
        changes.take(MOST_CHANGES).collect()
    }
}

/// What there is where a file was that is not found any more. `None`: the file, which was not looked at.
fn instead(workspace: &Workspace, path: &str) -> Option<FileState> {
    match workspace.look(path) {
        Ok(FileNow::File { .. } | FileNow::Link { .. } | FileNow::Large) => None,
        Ok(now) => Some(now.state()),
        // One of its folders has become a link.
        Err(problem) if problem.code == "link" => Some(FileState::Absent),
        Err(_) => Some(FileState::Unknown),
    }
}

struct Listed {
    names: Vec<(String, Stamp)>,
    taken: i128,
    whole: bool,
    notes: Vec<String>,
}

/// The files that are looked at, with their stamps.
fn list(workspace: &Workspace, watch: Watch) -> Result<Listed, Problem> {
    let taken = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i128);
    let own = || Problem::new("protected", "the workspace belongs to Mainpath itself, so its files are not kept");
    let root = workspace.found(Path::new("")).ok_or_else(own)?;
    let mut walk = Walk::begin(workspace, &root, watch)?.over_all();
    let (mut names, mut notes, mut whole) = (Vec::new(), Vec::new(), true);
    let (mut odd, mut first_odd) = (0, String::new());
    loop {
        let place = match walk.next_file() {
            Ok(Some(place)) => place,
            Ok(None) => break,
            Err(Over::Stopped) => {
                whole = false;
                break;
            }
            Err(Over::Late) => {
                notes.push("the workspace takes too long to look at; not all of its files are kept".into());
                break;
            }
        };
        let Some(path) = place.relative().to_str() else {
            odd += 1;
            if odd == 1 {
                first_odd = shown(place.relative());
            }
            continue;
        };
        // What a writing tool is about to put in its place.
        if place.path.ends_with(".part") && path.rsplit('/').next().is_some_and(|name| name.starts_with(".mainpath-")) {
            continue;
        }
        if names.len() == MOST_FILES {
            notes.push(format!("only the first {MOST_FILES} files of the workspace are kept"));
            break;
        }
        let Ok(meta) = workspace.root().join(path).symlink_metadata() else { continue };
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let stamp = Stamp {
            modified: nanos(meta.mtime(), meta.mtime_nsec()),
            changed: nanos(meta.ctime(), meta.ctime_nsec()),
            number: meta.ino(),
            size: meta.size(),
            mode: meta.mode() & 0o7777,
        };
        names.push((path.to_string(), stamp));
    }
    // Notes say that not all was looked at: too many names, or folders that could not be read.
    notes.extend(walk.notes());
    whole &= notes.is_empty();
    match odd {
        0 => {}
        1 => notes.push(format!("a file whose name is not UTF-8 is not kept: {first_odd}")),
        _ => notes.push(format!("{odd} files whose names are not UTF-8 are not kept, the first: {first_odd}")),
    }
    Ok(Listed { names, taken, whole, notes })
}
