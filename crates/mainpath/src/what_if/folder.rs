//! A copy of a folder as it was at a message.

use crate::trace::{Restore, RestoreTo};
use crate::{Error, ErrorKind};
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

/// What is left of what may be copied.
struct Room {
    files: usize,
    bytes: u64,
}

/// Copies a folder to a new one, and puts the files of the copy back to what they were. Gives what could not be put back, a line each.
/// Errors: it is too large, or cannot be read or written.
pub(crate) async fn copy_as_it_was(
    from: PathBuf,
    to: &Path,
    restore: Option<Restore<'_>>,
    store: ScopedStore<'_>,
) -> Result<Vec<String>, Error> {
    let (there, target) = (from.clone(), to.to_path_buf());
    let copied = tokio::task::spawn_blocking(move || {
        let parent = target.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        copy(&there, &target, &mut Room { files: MOST_FILES, bytes: MOST_BYTES })
    });
    let copied = copied.await.map_err(|error| Error::failed(error.to_string()))?;
    copied.map_err(|error| Error::failed(format!("{} cannot be copied: {error}", from.display())))?;
    let Some(restore) = restore else { return Ok(Vec::new()) };
    let planned = restore.plan().await?;
    let mut left = Vec::new();
    if planned.unseen > 0 {
        left.push(format!("{} commands ran since, and what they changed is not known", planned.unseen));
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

fn copy(from: &Path, to: &Path, room: &mut Room) -> io::Result<()> {
    let too_large = || io::Error::other(format!("it has more than {MOST_FILES} files or {} GiB", MOST_BYTES >> 30));
    let meta = from.symlink_metadata()?;
    room.files = room.files.checked_sub(1).ok_or_else(too_large)?;
    let kind: FileType = meta.file_type();
    if kind.is_dir() {
        DirBuilder::new().mode(0o700).create(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), room)?;
        }
        return std::fs::set_permissions(to, Permissions::from_mode(meta.permissions().mode() | 0o700));
    }
    if kind.is_symlink() {
        return symlink(std::fs::read_link(from)?, to);
    }
    if !kind.is_file() {
        // Pipes and sockets belong to who made them.
        return Ok(());
    }
    room.bytes = room.bytes.checked_sub(meta.len()).ok_or_else(too_large)?;
    std::fs::copy(from, to).map(drop)
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
