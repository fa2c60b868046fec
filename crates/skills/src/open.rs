//! Opening what lies in a skill's folder: regular files only, and step by step without following a link.

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

/// Why something cannot be read: one line for people each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No such file.
    #[error("there is no such file")]
    Missing,
    /// Something else than a regular file: reading it could wait without an end, or never end.
    #[error("it is not a regular file")]
    NotAFile,
    /// A link, or a path through one.
    #[error("it is a link or lies behind one")]
    Link,
    /// An empty path.
    #[error("the path is empty; name a file of the skill, such as references/guide.md")]
    Empty,
    /// A path that leads out of the folder.
    #[error("the path must be relative and stay inside the skill's folder (no `..`)")]
    Outside,
    /// The system does not let it be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// More bytes than are read.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// Bytes that are no UTF-8 text.
    #[error("it is not UTF-8 text")]
    NotText,
}

impl From<Errno> for Problem {
    fn from(error: Errno) -> Problem {
        match error {
            Errno::NOENT => Problem::Missing,
            // A socket, or a device without a driver.
            Errno::NXIO => Problem::NotAFile,
            Errno::LOOP | Errno::MLINK => Problem::Link,
            other => Problem::Unreadable(std::io::Error::from(other).to_string()),
        }
    }
}

/// Opened so, a pipe without a writer answers at once.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a file to read, through links. Errors: it is no regular file, or cannot be opened.
pub(crate) fn open_regular(path: &Path) -> Result<File, Problem> {
    regular(open(path, FILE, Mode::empty())?)
}

/// Opens a folder, through links. Errors: there is none.
pub fn open_folder(path: &Path) -> Result<OwnedFd, Problem> {
    Ok(open(path, FOLDER, Mode::empty())?)
}

/// Opens a folder in a folder; a link is refused.
pub(crate) fn open_folder_in(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Problem> {
    openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(of_step)
}

/// Opens a file in a folder. Errors: it is a link or no regular file, or cannot be opened.
pub fn open_file_in(folder: impl AsFd, name: &OsStr) -> Result<File, Problem> {
    regular(openat(folder, name, FILE | OFlags::NOFOLLOW, Mode::empty())?)
}

/// What a step says that is no folder: the system tells a link and a file alike.
fn of_step(error: Errno) -> Problem {
    if error == Errno::NOTDIR { Problem::Link } else { error.into() }
}

/// The steps of a path that stays inside the folder it starts in. Errors: it is absolute, empty, or has `..`.
pub(crate) fn steps(path: &str) -> Result<Vec<&OsStr>, Problem> {
    if path.contains('\0') {
        return Err(Problem::Outside);
    }
    let mut steps = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(step) => steps.push(step),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Problem::Outside),
        }
    }
    if steps.is_empty() { Err(Problem::Empty) } else { Ok(steps) }
}

/// Opens a regular file at a path inside a folder, every step by itself, so that no link can lead elsewhere.
pub(crate) fn open_inside(folder: &OwnedFd, path: &str) -> Result<File, Problem> {
    let steps = steps(path)?;
    let Some((last, before)) = steps.split_last() else { return Err(Problem::Empty) };
    open_file_in(walk_in(folder, before)?, last)
}

/// Opens a folder in the same way; the empty path is the folder itself.
pub(crate) fn open_folder_inside(folder: &OwnedFd, path: &str) -> Result<OwnedFd, Problem> {
    if path.is_empty() { walk_in(folder, &[]) } else { walk_in(folder, &steps(path)?) }
}

fn walk_in(folder: &OwnedFd, steps: &[&OsStr]) -> Result<OwnedFd, Problem> {
    let mut here = folder.try_clone().map_err(|error| Problem::Unreadable(error.to_string()))?;
    for step in steps {
        here = open_folder_in(&here, step)?;
    }
    Ok(here)
}

fn regular(file: OwnedFd) -> Result<File, Problem> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        _ => Err(Problem::NotAFile),
    }
}

/// The bytes of a file. Errors: there are more than this, or they cannot be read.
pub fn read_whole(file: File, most: u64) -> Result<Vec<u8>, Problem> {
    let bytes = read_start(file, most.saturating_add(1))?;
    if bytes.len() as u64 > most { Err(Problem::TooLarge(most)) } else { Ok(bytes) }
}

/// The first bytes of a file.
pub(crate) fn read_start(file: File, most: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    // Read, not asked for its size: a file can grow.
    match file.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Problem::Unreadable(error.to_string())),
    }
}
