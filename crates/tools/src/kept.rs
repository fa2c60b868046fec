//! Files and links as they were: looking at one before it is changed, and putting it back.

use crate::unread::shown;
use crate::workspace::{Place, Workspace, entries, part_name, synced};
use crate::{Problem, ToolContext};
use mainpath_types::{BlobHash, FileChange, FileState, MOST_KEPT};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Names that are looked at in a folder which stands in a file's place.
const MOST_INSIDE: usize = 10_000;

/// What there is at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNow {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// What it holds.
        content: Vec<u8>,
        /// Its mode bits, the low twelve.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as it is written in it.
        target: Vec<u8>,
    },
    /// A folder.
    Folder,
    /// A file of more than [`MOST_KEPT`] bytes.
    Large,
    /// A device, a pipe or a socket.
    Other,
}

impl FileNow {
    /// What it is, without its content.
    pub fn state(&self) -> FileState {
        match self {
            FileNow::Absent | FileNow::Folder => FileState::Absent,
            FileNow::File { content, mode } => hash_of(content).map_or(FileState::Unknown, |hash| FileState::File {
                hash,
                bytes: content.len() as u64,
                mode: *mode,
            }),
            FileNow::Link { target } => hash_of(target).map_or(FileState::Unknown, |hash| FileState::Link { hash }),
            FileNow::Large | FileNow::Other => FileState::Unknown,
        }
    }

    /// What has to be kept for it to be put back: what a file holds, where a link leads.
    pub fn into_content(self) -> Option<Vec<u8>> {
        match self {
            FileNow::File { content, .. } => Some(content),
            FileNow::Link { target } => Some(target),
            FileNow::Absent | FileNow::Folder | FileNow::Large | FileNow::Other => None,
        }
    }
}

/// The name of bytes as a blob. Sixty-four digits are always one.
fn hash_of(content: &[u8]) -> Option<BlobHash> {
    let digits: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    BlobHash::try_from(digits).ok()
}

impl Workspace {
    /// What there is at a path that a [`FileChange`] names; a link there is not followed. Errors: there is a link on the way
    /// (code "link"), or it cannot be read.
    pub fn look(&self, path: &str) -> Result<FileNow, Problem> {
        let place = self.unlinked(path)?;
        match self.kind(&place).map_err(|error| self.failed(&place, error))? {
            None => Ok(FileNow::Absent),
            Some(FileType::RegularFile) => self.look_at(&place),
            Some(FileType::Directory) => Ok(FileNow::Folder),
            Some(FileType::Symlink) => {
                let read = self.folder_of(&place, false);
                let read = read.and_then(|(folder, name)| rustix::fs::readlinkat(&folder, name, Vec::new()));
                let target = read.map_err(|error| self.failed(&place, error))?;
                Ok(FileNow::Link { target: target.into_bytes() })
            }
            Some(_) => Ok(FileNow::Other),
        }
    }

    /// Puts back in one step what there was at a path, or removes what there is. A link there is replaced, not followed; a
    /// folder goes only if no file is in it or in its folders. `tag` names the restore, so that a repeated one clears what a
    /// crash left beside the place. Errors: as [`look`](Workspace::look)'s, a folder with content is there, it cannot be
    /// written, or `then` does not say what it was.
    pub fn put_back(&self, path: &str, then: &FileNow, tag: &str) -> Result<(), Problem> {
        let place = self.unlinked(path)?;
        self.clear_part(&place, tag);
        let failed = |error| self.failed(&place, error);
        if self.kind(&place).map_err(failed)? == Some(FileType::Directory) {
            self.remove_folders(&place)?;
        }
        match then {
            FileNow::Absent => self.remove(&place).map_err(failed),
            FileNow::File { content, mode } => self.replace_with_mode(&place, content, Some(*mode), tag).map(drop),
            FileNow::Link { target } => self.link(&place, target, tag).map_err(failed),
            FileNow::Folder | FileNow::Large | FileNow::Other => {
                Err(Problem::new("unknown", "it is nothing that can be put back"))
            }
        }
    }

    /// The paths of all that is in a folder and its folders, but for the folders. Errors: there is too much, or it cannot be
    /// read.
    pub fn inside(&self, path: &str) -> Result<Vec<String>, Problem> {
        let (_, others) = self.contents(&self.unlinked(path)?)?;
        Ok(others.iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// The folders in a folder, each after the one that it is in, and what else there is.
    fn contents(&self, place: &Place) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Problem> {
        let (mut folders, mut others) = (vec![place.relative().to_path_buf()], Vec::new());
        let mut next = 0;
        while let Some(path) = folders.get(next).cloned() {
            next += 1;
            let room = MOST_INSIDE.saturating_sub(folders.len() + others.len());
            let found = self.found(&path).ok_or_else(|| Problem::new("protected", "it is Mainpath's own"))?;
            let read = self.folder(&found).and_then(|folder| entries(&folder, room));
            let read = read.map_err(|error| self.failed(&found, error))?;
            if read.len() == room {
                let text = format!("there are more than {MOST_INSIDE} names in {:?}", place.path);
                return Err(Problem::new("too_many", text));
            }
            for entry in read {
                let list = if entry.kind == FileType::Directory { &mut folders } else { &mut others };
                list.push(path.join(entry.name));
            }
        }
        Ok((folders, others))
    }

    /// Removes a folder and all folders in it, and nothing else: whatever is in one of them keeps it.
    fn remove_folders(&self, place: &Place) -> Result<(), Problem> {
        let (folders, others) = self.contents(place)?;
        if let Some(other) = others.first() {
            return Err(Problem::new(
                "folder",
                format!("there is a folder in its place, which holds {}", shown(other)),
            ));
        }
        for path in folders.iter().rev() {
            let found = self.found(path).ok_or_else(|| Problem::new("protected", "it is Mainpath's own"))?;
            let removed = self.folder_of(&found, false).and_then(|(folder, name)| {
                rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?;
                synced(&folder)
            });
            removed.map_err(|error| self.failed(&found, error))?;
        }
        Ok(())
    }

    /// What kind of thing there is, no link followed.
    fn kind(&self, place: &Place) -> Result<Option<FileType>, Errno> {
        let stat = self.folder_of(place, false);
        let stat = stat.and_then(|(folder, name)| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW));
        match stat {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The place of a path without a link on the way, as those that were recorded have none.
    fn unlinked(&self, path: &str) -> Result<Place, Problem> {
        let written = Path::new(path);
        let is_plain = written.components().all(|step| matches!(step, Component::Normal(_)));
        let (Some(parent), true) = (written.parent(), is_plain) else {
            return Err(Problem::new("bad_path", format!("{path:?} names no file of the workspace")));
        };
        let folder = if parent == Path::new("") { "." } else { parent.to_str().unwrap_or_default() };
        if self.resolve(folder)?.absolute != self.root().join(parent) {
            return Err(Problem::new("link", format!("there is a link on the way to {path:?} now")));
        }
        let own = || Problem::new("protected", format!("{path:?} belongs to Mainpath itself"));
        self.found(written).ok_or_else(own)
    }

    pub(crate) fn look_at(&self, place: &Place) -> Result<FileNow, Problem> {
        let (file, stat) = match self.open(place) {
            Ok(open) => open,
            Err(problem) if problem.code == "not_found" => return Ok(FileNow::Absent),
            Err(problem) => return Err(problem),
        };
        let mut content = Vec::new();
        let read = file.take(MOST_KEPT + 1).read_to_end(&mut content);
        read.map_err(|error| Problem::new("io", format!("{:?} cannot be read: {error}.", place.path)))?;
        if content.len() as u64 > MOST_KEPT {
            return Ok(FileNow::Large);
        }
        Ok(FileNow::File { content, mode: stat.st_mode & 0o7777 })
    }

    fn remove(&self, place: &Place) -> Result<(), Errno> {
        let removed = self.folder_of(place, false).and_then(|(folder, name)| {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
            synced(&folder)
        });
        match removed {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// Puts a link at the place in one step.
    fn link(&self, place: &Place, target: &[u8], tag: &str) -> Result<(), Errno> {
        let (folder, name) = self.folder_of(place, true)?;
        let part = part_name(tag);
        rustix::fs::symlinkat(OsStr::from_bytes(target), &folder, &part)?;
        rustix::fs::renameat(&folder, &part, &folder, name).inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&folder, &part, AtFlags::empty());
        })?;
        synced(&folder)
    }
}

/// A file is about to be given this content: what it holds is kept, and what it is to hold, and that is put on record. Errors: it
/// cannot be kept, so the file is not to be changed.
pub(crate) async fn keep(
    ctx: &ToolContext,
    place: &Place,
    before: FileNow,
    content: &[u8],
) -> Result<FileChange, Problem> {
    let path = place.relative().to_string_lossy().into_owned();
    let refused = |error: io::Error| {
        let text = format!("{:?} was not changed, as what it holds now cannot be kept: {error}.", place.path);
        Problem::new("io", text)
    };
    let state = before.state();
    // A new file gets this mode at most.
    let mut mode = 0o666;
    if let FileNow::File { content, mode: old } = before {
        mode = old;
        ctx.blobs.keep(content).await.map_err(refused)?;
    }
    let change = FileChange { path, before: state, after: written(content, mode) };
    if change.after != change.before {
        // A secret that a handle stood for is in the file, and in no copy of it.
        let text = String::from_utf8_lossy(content);
        if content.len() as u64 <= MOST_KEPT && ctx.secrets.redact(&text) == text {
            ctx.blobs.keep(content.to_vec()).await.map_err(refused)?;
        }
        (ctx.changing)(vec![change.clone()]).await.map_err(refused)?;
    }
    Ok(change)
}

/// What a file was after its content was written with this mode.
pub(crate) fn written(content: &[u8], mode: u32) -> FileState {
    let hash = hash_of(content);
    hash.map_or(FileState::Unknown, |hash| FileState::File { hash, bytes: content.len() as u64, mode })
}
