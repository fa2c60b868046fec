//! Trust by content: a project's skill is used only as the person has seen it. Its hash covers every file in its folder, so a
//! changed script is as little trusted as a changed text.

use crate::open::{self, Problem};
use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The most files and folders of a skill that can be trusted.
pub const MOST_FILES: usize = 10_000;
/// The most bytes of a skill that can be trusted.
pub const MOST_BYTES: u64 = 64 << 20;
/// How deep the folders of a skill that can be trusted may go.
const DEEPEST: usize = 32;

/// The skills that a person has trusted: their folder (of a flat skill its file) with the hash of what was in it. Keep it where
/// no tool may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trusted {
    hashes: BTreeMap<PathBuf, String>,
}

impl Trusted {
    /// Trusts what is there now. Errors: it is such that it cannot be trusted.
    pub fn trust(&mut self, place: &Path) -> Result<(), Untrusted> {
        let hash = content_hash(place)?;
        self.hashes.insert(place.into(), hash);
        Ok(())
    }

    /// Trusts it no longer; whether it was trusted.
    pub fn distrust(&mut self, place: &Path) -> bool {
        self.hashes.remove(place).is_some()
    }

    /// The hash that was trusted.
    pub fn hash(&self, place: &Path) -> Option<&str> {
        self.hashes.get(place).map(String::as_str)
    }
}

/// Why a project's skill does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// Nobody has trusted it.
    #[error("you have not trusted it")]
    NotYet,
    /// It is not what was trusted.
    #[error("it has changed since you trusted it")]
    Changed,
    /// Links and pipes can mean something else tomorrow.
    #[error("{0} is a link or a special file; a skill that can be trusted has only files and folders")]
    Special(String),
    /// Too much to hash.
    #[error("it has more than {MOST_FILES} files")]
    TooManyFiles,
    /// Too much to hash.
    #[error("it has more than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    /// Too deep to hash.
    #[error("its folders go deeper than {DEEPEST}")]
    TooDeep,
    /// It cannot be read.
    #[error("{path}: {problem}")]
    Unreadable {
        /// The path from the skill's folder.
        path: String,
        /// Why.
        problem: Problem,
    },
}

impl Untrusted {
    /// Whether it can be trusted as it is now.
    pub fn can_be_trusted(&self) -> bool {
        matches!(self, Untrusted::NotYet | Untrusted::Changed)
    }
}

/// The hash of a skill's folder, or of a flat skill's file: of every file its relative path, whether it can be executed, and its
/// bytes. Errors: see [`Untrusted`].
pub fn content_hash(place: &Path) -> Result<String, Untrusted> {
    hash_of(opened(place)?, Depth::Bytes)
}

/// What changes whenever a file's bytes do: cheaper than [`content_hash`]. It trusts the kernel's times of change (ctime), which
/// no program can set back.
pub(crate) fn stamp(place: &Path) -> Result<String, Untrusted> {
    hash_of(opened(place)?, Depth::Metadata)
}

/// The content hash of a folder that is open.
pub(crate) fn hash_of_folder(folder: &OwnedFd) -> Result<String, Untrusted> {
    let folder = folder.try_clone().map_err(|error| unreadable("", Problem::Unreadable(error.to_string())))?;
    hash_of(Opened::Folder(folder), Depth::Bytes)
}

/// How far a file is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Metadata,
    Bytes,
}

enum Opened {
    Folder(OwnedFd),
    File(File),
}

fn opened(place: &Path) -> Result<Opened, Untrusted> {
    let failed = |problem| unreadable(&place.to_string_lossy(), problem);
    match place.is_dir() {
        true => Ok(Opened::Folder(open::open_folder(place).map_err(failed)?)),
        false => Ok(Opened::File(open::open_regular(place).map_err(failed)?)),
    }
}

fn unreadable(path: &str, problem: Problem) -> Untrusted {
    Untrusted::Unreadable { path: path.into(), problem }
}

fn hash_of(opened: Opened, depth: Depth) -> Result<String, Untrusted> {
    let mut hashing = Hashing { depth, digest: Sha256::new(), files: 0, bytes: 0 };
    match opened {
        Opened::Folder(folder) => hashing.add_folder(&folder)?,
        Opened::File(file) => hashing.add_file("", file)?,
    }
    Ok(hashing.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Hashing {
    depth: Depth,
    digest: Sha256,
    files: usize,
    bytes: u64,
}

/// A folder whose entries are to be hashed: its path from the skill's. It is opened when its turn comes, so that not many are
/// open at once.
struct Folder {
    path: String,
    level: usize,
}

impl Hashing {
    /// Every folder's entries in the order of their names: files at once, folders afterwards.
    fn add_folder(&mut self, skill: &OwnedFd) -> Result<(), Untrusted> {
        let mut open = vec![Folder { path: String::new(), level: 0 }];
        while let Some(folder) = open.pop() {
            if folder.level > DEEPEST {
                return Err(Untrusted::TooDeep);
            }
            let opened =
                open::open_folder_inside(skill, &folder.path).map_err(|problem| unreadable(&folder.path, problem))?;
            let mut below = Vec::new();
            for name in self.names(&folder.path, &opened)? {
                let path = if folder.path.is_empty() { name.clone() } else { format!("{}/{name}", folder.path) };
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
                let entry = match openat(&opened, &name, flags, Mode::empty()).map_err(Problem::from) {
                    Ok(entry) => entry,
                    Err(Problem::Link | Problem::NotAFile) => return Err(Untrusted::Special(path)),
                    Err(problem) => return Err(unreadable(&path, problem)),
                };
                let found = fstat(&entry).map_err(|error| unreadable(&path, error.into()))?;
                match FileType::from_raw_mode(found.st_mode) {
                    FileType::Directory => {
                        self.piece(b"folder");
                        self.piece(path.as_bytes());
                        below.push(Folder { path, level: folder.level + 1 });
                    }
                    FileType::RegularFile => self.add_file(&path, File::from(entry))?,
                    _ => return Err(Untrusted::Special(path)),
                }
            }
            below.reverse();
            open.append(&mut below);
        }
        Ok(())
    }

    fn names(&mut self, path: &str, opened: &OwnedFd) -> Result<Vec<String>, Untrusted> {
        let failed = |error: rustix::io::Errno| unreadable(path, error.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(opened.as_fd()).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_str().map(String::from);
            // Two names that are no text could look the same.
            let name = name.map_err(|_| unreadable(path, Problem::NotText))?;
            if name == "." || name == ".." {
                continue;
            }
            self.files += 1;
            if self.files > MOST_FILES {
                return Err(Untrusted::TooManyFiles);
            }
            names.push(name);
        }
        names.sort();
        Ok(names)
    }

    fn add_file(&mut self, path: &str, file: File) -> Result<(), Untrusted> {
        let found = fstat(&file).map_err(|error| unreadable(path, error.into()))?;
        self.piece(b"file");
        self.piece(path.as_bytes());
        self.piece(&[u8::from(found.st_mode & 0o111 != 0)]);
        if self.depth == Depth::Metadata {
            let numbers = format!("{} {} {}", found.st_dev, found.st_ino, found.st_size);
            let times =
                format!("{} {} {} {}", found.st_mtime, found.st_mtime_nsec, found.st_ctime, found.st_ctime_nsec);
            self.piece(numbers.as_bytes());
            self.piece(times.as_bytes());
            return Ok(());
        }
        let mut bytes = Vec::new();
        let left = MOST_BYTES - self.bytes;
        let read = file.take(left + 1).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(path, Problem::Unreadable(error.to_string())))?;
        if bytes.len() as u64 > left {
            return Err(Untrusted::TooLarge);
        }
        self.bytes += bytes.len() as u64;
        self.piece(&bytes);
        Ok(())
    }

    /// Its length first, so that what one piece ends with is never what the next one begins with.
    fn piece(&mut self, bytes: &[u8]) {
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(bytes);
    }
}
