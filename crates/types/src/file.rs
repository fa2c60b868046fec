//! What became of files: what a call changed, and what they held before.

use crate::{BlobHash, CallId, EventId, Principal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of a larger file neither what it held before a change nor what a snapshot finds is kept, in bytes.
pub const MOST_KEPT: u64 = 16 * 1024 * 1024;

/// A file, or a symbolic link, that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Which: the path from the workspace's root, no link on the way.
    pub path: String,
    /// What it was before. Its content lies in the blob of the hash.
    pub before: FileState,
    /// What it was afterwards. Its content is kept where a call wrote it, or the next one changed it.
    pub after: FileState,
}

/// What a file was at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FileState {
    /// There was none; there may have been a folder.
    Absent,
    /// There was one.
    File {
        /// The SHA-256 of its content.
        hash: BlobHash,
        /// Its size.
        bytes: u64,
        /// Its mode bits, the low twelve.
        mode: u32,
    },
    /// There was a symbolic link.
    Link {
        /// The SHA-256 of where it leads, as it is written in the link, which lies in a blob as a file's content does.
        hash: BlobHash,
    },
    /// There was one, perhaps, of which nothing is known: it was too large to be kept, say.
    #[default]
    Unknown,
}

impl FileState {
    /// Whether it is known to hold the same, whatever its mode.
    pub fn holds_same(&self, other: &FileState) -> bool {
        match (self, other) {
            (FileState::Absent, FileState::Absent) => true,
            (FileState::File { hash, .. }, FileState::File { hash: other, .. }) => hash == other,
            (FileState::Link { hash }, FileState::Link { hash: other }) => hash == other,
            _ => false,
        }
    }

    /// The blob that holds what it held, or where it led.
    pub fn blob(&self) -> Option<&BlobHash> {
        match self {
            FileState::File { hash, .. } | FileState::Link { hash } => Some(hash),
            FileState::Absent | FileState::Unknown => None,
        }
    }
}

/// `files_kept`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesKept {
    /// The call that is about to change them.
    pub call: CallId,
    /// Which of its attempts.
    pub attempt: u32,
    /// What they hold, and what they are to hold. Whether it came to that, the call's result says, or a look at the file.
    pub changes: Vec<FileChange>,
}

/// `files_restored`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesRestored {
    /// To what they were after this event; in a fork, of the trace that it was made from.
    pub to: EventId,
    /// What is overwritten, which is kept, and what it becomes.
    pub changes: Vec<FileChange>,
    /// Who asked.
    pub by: Principal,
}
