//! Removing a worktree.

use super::place::{Place, Record, Worktrees};
use super::problem::{Problem, aside};
use mainpath_types::TraceId;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a child's worktree with all that is known of it, unless it is to be kept. Once more is as well as once.
pub(crate) async fn remove(place: &Place) -> Result<(), Problem> {
    let Some(record) = place.read().await? else { return Ok(()) };
    if record.kept {
        return Ok(());
    }
    let place = place.clone();
    aside(move || clear(&place, &record)).await
}

impl Worktrees {
    /// Removes the worktree of a trace that is removed, if it has one: also what was kept, as nothing leads to it any more. Errors: a
    /// file cannot be removed.
    pub async fn forget(&self, trace: &TraceId) -> io::Result<()> {
        let place = self.of(trace);
        let cleared = async {
            let Some(record) = place.read().await? else { return Ok(()) };
            let place = place.clone();
            aside(move || clear(&place, &record)).await
        };
        cleared.await.map_err(|problem: Problem| io::Error::other(problem.to_string()))
    }
}

fn clear(place: &Place, record: &Record) -> io::Result<()> {
    let gone = |done: io::Result<()>| match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    };
    gone(remove_folder(&place.tree))?;
    let entry = place.entry(record);
    // The name is ours; what it says shows that nobody else has taken it.
    let named = fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
    let part = place.part(record);
    gone(fs::remove_dir_all(&part))?;
    if Path::new(named.trim_end()) == place.tree.join(".git") {
        // In one step: git fails where it finds half an entry.
        gone(fs::rename(&entry, &part))?;
        gone(fs::remove_dir_all(&part))?;
    }
    // As git does with the last one. Not empty: others are in it.
    let _ = fs::remove_dir(record.common.join("worktrees"));
    gone(fs::remove_file(&place.index))?;
    gone(fs::remove_file(place.index.with_extension("index.lock")))?;
    gone(fs::remove_file(&place.record))
}

/// Removes a folder, also where one in it was made such that nothing can be removed from it.
fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_all(folder)?;
            fs::remove_dir_all(folder)
        }
        other => other,
    }
}

fn open_all(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_all(&entry.path())?;
        }
    }
    Ok(())
}
