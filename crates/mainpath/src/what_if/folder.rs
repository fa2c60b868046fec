//! A copy of a folder as it was at a message.

use super::held::StopWork;
use crate::trace::{Restore, RestoreTo};
use crate::{Error, ErrorKind, Home};
use mainpath_runtime::files::Fate;
use mainpath_store::ScopedStore;
use mainpath_types::{BlobHash, FileState};
use std::fs::{DirBuilder, FileType, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// So many files and folders are copied at most,
const MOST_FILES: usize = 200_000;
/// and so many bytes.
const MOST_BYTES: u64 = 4 << 30;

/// A folder that is to be copied.
pub(crate) struct Original {
    /// The folder.
    folder: PathBuf,
    /// What of it is not: folders of Mainpath's own, which no agent may look into.
    without: Vec<PathBuf>,
}

impl Original {
    /// A folder, without what is Mainpath's own in it. Errors: it is not there.
    pub(crate) fn new(folder: &Path, home: &Home) -> Result<Original, Error> {
        let cached = [home.copies(), home.worktrees().map(|worktrees| worktrees.trees)];
        let own = home.protected().into_iter().chain(cached.into_iter().flatten());
        let without = own.map(|path| path.canonicalize().unwrap_or(path)).collect();
        Ok(Original { folder: folder.canonicalize()?, without })
    }
}

/// Copies a folder to a new one, and puts the files of the copy back to what they were. Gives what is not as it was, a line each.
/// Errors: it holds the person's home, is too large, cannot be read or written, or it is stopped; then nothing is left of the copy.
pub(crate) async fn copy_as_it_was(
    from: Original,
    to: &Path,
    restore: Option<Restore<'_>>,
    store: ScopedStore<'_>,
    stop: &StopWork,
) -> Result<Vec<String>, Error> {
    let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
    if home.is_some_and(|home| home.starts_with(&from.folder)) {
        let problem = format!("{} holds your home: nothing can be tried in a copy of it", from.folder.display());
        return Err(Error::new(ErrorKind::Refused, problem));
    }
    let (folder, target, stop) = (from.folder.clone(), to.to_path_buf(), stop.clone());
    let copied = tokio::task::spawn_blocking(move || {
        let parent = target.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        copy(&from, &target, &stop).inspect_err(|_| drop(std::fs::remove_dir_all(&target)))
    });
    let copied = copied.await.map_err(|error| Error::failed(error.to_string()))?;
    let mut left =
        copied.map_err(|error| Error::of_io(&error, format!("{} cannot be copied: {error}", folder.display())))?;
    let Some(restore) = restore else { return Ok(left) };
    let planned = restore.plan().await?;
    match planned.unseen {
        0 => {}
        1 => left.push("a command ran since, and what it changed is not known".to_owned()),
        more => left.push(format!("{more} commands ran since, and what they changed is not known")),
    }
    for plan in planned.files {
        match plan.fate {
            Fate::Same => {}
            Fate::Lost(why) => left.push(format!("{}: {why}", plan.path)),
            Fate::Restore | Fate::Foreign => put_back(to, &plan.path, &plan.then, store).await?,
        }
    }
    Ok(left)
}

/// Gives what was left out, a line each.
fn copy(from: &Original, to: &Path, stop: &StopWork) -> io::Result<Vec<String>> {
    let too_large = || {
        let most = MOST_BYTES >> 30;
        io::Error::other(format!(
            "a folder of more than {MOST_FILES} files or {most} GiB is not copied to try something out"
        ))
    };
    let (mut files, mut bytes) = (MOST_FILES, MOST_BYTES);
    let mut left_out = Vec::new();
    let mut open = vec![PathBuf::new()];
    // Folders that cannot be written to are made so at the end.
    let mut modes = Vec::new();
    while let Some(below) = open.pop() {
        if stop.is_stopped() {
            return Err(io::Error::other("it was stopped"));
        }
        let (there, here) = (from.folder.join(&below), to.join(&below));
        if from.without.contains(&there) {
            left_out.push(format!("{} is Mainpath's own and not copied", there.display()));
            continue;
        }
        let meta = there.symlink_metadata()?;
        files = files.checked_sub(1).ok_or_else(too_large)?;
        let kind: FileType = meta.file_type();
        if kind.is_dir() {
            DirBuilder::new().mode(0o700).create(&here)?;
            for entry in std::fs::read_dir(&there)? {
                open.push(below.join(entry?.file_name()));
            }
            modes.push((here, meta.permissions().mode() | 0o700));
        } else if kind.is_symlink() {
            symlink(std::fs::read_link(&there)?, &here)?;
        } else if kind.is_file() {
            bytes = bytes.checked_sub(meta.len()).ok_or_else(too_large)?;
            std::fs::copy(&there, &here)?;
        }
        // Pipes and sockets belong to who made them.
    }
    modes.into_iter().try_for_each(|(here, mode)| std::fs::set_permissions(here, Permissions::from_mode(mode)))?;
    Ok(left_out)
}

/// Puts one file of the copy back. Whatever the log says, nothing outside the copy is touched.
async fn put_back(root: &Path, path: &str, then: &FileState, store: ScopedStore<'_>) -> Result<(), Error> {
    let refused = || Error::new(ErrorKind::Refused, format!("{path:?} does not lie in the folder"));
    let place = root.join(path);
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(refused());
    }
    let parent = place.parent().unwrap_or(root);
    std::fs::create_dir_all(parent)?;
    if !parent.canonicalize()?.starts_with(root.canonicalize()?) {
        return Err(refused());
    }
    if place.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
        std::fs::remove_file(&place)?;
    }
    let content = async |hash: &BlobHash| store.get_blob(hash).await;
    match then {
        FileState::Absent | FileState::Unknown => {}
        FileState::File { hash, mode, .. } => {
            std::fs::write(&place, content(hash).await?)?;
            std::fs::set_permissions(&place, Permissions::from_mode(*mode))?;
        }
        FileState::Link { hash } => symlink(String::from_utf8_lossy(&content(hash).await?).into_owned(), &place)?,
    }
    Ok(())
}

/// What a restore to a message is.
pub(super) fn to(at: mainpath_types::Seq) -> RestoreTo {
    RestoreTo::from(at)
}
