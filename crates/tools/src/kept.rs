//! Files as they were: looking at one before it is changed, and putting it back.

use crate::workspace::{Place, Workspace};
use crate::{Problem, ToolContext};
use mainpath_types::{BlobHash, FileChange, FileState, MOST_KEPT};
use rustix::fs::AtFlags;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;

/// A file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNow {
    /// There is none.
    Absent,
    /// There is one.
    File {
        /// What it holds.
        content: Vec<u8>,
        /// Its mode bits, the low twelve.
        mode: u32,
    },
    /// There is one of more than [`MOST_KEPT`] bytes.
    Large,
}

impl FileNow {
    /// What it is, without its content.
    pub fn state(&self) -> FileState {
        match self {
            FileNow::Absent => FileState::Absent,
            FileNow::File { content, mode } => hash_of(content).map_or(FileState::Unknown, |hash| FileState::File {
                hash,
                bytes: content.len() as u64,
                mode: *mode,
            }),
            FileNow::Large => FileState::Unknown,
        }
    }
}

/// The name of bytes as a blob. Sixty-four digits are always one.
fn hash_of(content: &[u8]) -> Option<BlobHash> {
    let digits: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    BlobHash::try_from(digits).ok()
}

impl Workspace {
    /// A file of the workspace as it is now, by the path that a [`FileChange`] names it by. Errors: there is something else, or
    /// a link on the way.
    pub fn look(&self, path: &str) -> Result<FileNow, Problem> {
        self.look_at(&self.unlinked(path)?)
    }

    /// Puts a file back in one step, with this mode, or removes it. `tag` names the restore, so that a repeated one clears
    /// what a crash left beside the file. Errors: as [`look`](Workspace::look)'s, and it cannot be written.
    pub fn put_back(&self, path: &str, file: Option<(&[u8], u32)>, tag: &str) -> Result<(), Problem> {
        let place = self.unlinked(path)?;
        self.clear_part(&place, tag);
        match file {
            Some((content, mode)) => self.replace_with_mode(&place, content, Some(mode), tag).map(drop),
            None => self.remove(&place),
        }
    }

    /// The place of a path that is free of links, as those that were recorded are.
    fn unlinked(&self, path: &str) -> Result<Place, Problem> {
        let place = self.place(path)?;
        if place.relative() != Path::new(path) {
            return Err(Problem::new("link", format!("there is a link on the way to {path:?} now")));
        }
        Ok(place)
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

    fn remove(&self, place: &Place) -> Result<(), Problem> {
        let removed = self.folder_of(place, false).and_then(|(folder, name)| {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
            rustix::fs::fsync(&folder)
        });
        match removed {
            Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::INVAL) => Ok(()),
            Err(error) => Err(self.failed(place, error)),
        }
    }
}

/// A file is about to be given this content: what it holds is kept, and that is put on record. Errors: it cannot be kept, so
/// the file is not to be changed.
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
        (ctx.changing)(vec![change.clone()]).await.map_err(refused)?;
    }
    Ok(change)
}

/// What a file was after its content was written with this mode.
pub(crate) fn written(content: &[u8], mode: u32) -> FileState {
    let hash = hash_of(content);
    hash.map_or(FileState::Unknown, |hash| FileState::File { hash, bytes: content.len() as u64, mode })
}
