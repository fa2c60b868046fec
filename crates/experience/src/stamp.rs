//! The files of a folder as they lie there: what tells whether one has changed.

use crate::entry::Broken;
use mainpath_skills::Problem;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, statat};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// So many files are read at most, the first ones in the order of their names.
pub const MOST_FILES: usize = 50_000;
/// A folder whose last change is so long ago cannot have changed since without another time.
const SETTLED: Duration = Duration::from_secs(2);
/// From so many files on two threads look at them.
const MANY: usize = 1_000;

/// A file as it lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub name: String,
    pub len: i64,
    pub at: i64,
    pub inode: i64,
    /// Whether it is a regular file.
    pub is_file: bool,
}

/// The names in a folder that has not changed since.
pub(crate) struct Listed {
    changed: SystemTime,
    names: Arc<Vec<CString>>,
}

/// The files that may hold entries, in the order of their names.
pub(crate) fn stamps(folder: &Path, listed: &Mutex<Option<Listed>>) -> io::Result<Vec<Stamp>> {
    let handle = match open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        handle => handle?,
    };
    let changed = File::from(handle.try_clone()?).metadata()?.modified()?;
    let mut listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
    let names = match listed.take() {
        Some(known) if known.changed == changed => known.names,
        _ => Arc::new(names(&handle)?),
    };
    // What changes within one tick of the clock has one time.
    let settled = changed.elapsed().is_ok_and(|ago| ago > SETTLED);
    *listed = settled.then(|| Listed { changed, names: Arc::clone(&names) });
    drop(listed);
    if names.len() < MANY {
        return stamps_of(&handle, &names);
    }
    // Looking at each takes nearly all of the time, and none of it needs another.
    let (first, second) = names.split_at(names.len() / 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| stamps_of(&handle, second));
        let mut found = stamps_of(&handle, first)?;
        found.extend(second.join().unwrap_or_else(|_| Err(io::Error::other("a thread has died")))?);
        Ok(found)
    })
}

/// The names of the files that may hold entries. What begins with a dot is something else.
fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names: Vec<CString> = Vec::new();
    for file in Dir::read_from(folder)? {
        let file = file?;
        let name = file.file_name().to_bytes();
        if !name.starts_with(b".") && name.ends_with(b".md") {
            names.push(file.file_name().into());
        }
    }
    names.sort_unstable();
    names.truncate(MOST_FILES);
    Ok(names)
}

fn stamps_of(folder: &OwnedFd, names: &[CString]) -> io::Result<Vec<Stamp>> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let stat = match statat(folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            // Gone meanwhile.
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            continue;
        }
        let second = stat.st_mtime.saturating_mul(1_000_000_000);
        found.push(Stamp {
            name: String::from_utf8_lossy(name.to_bytes()).into_owned(),
            len: stat.st_size,
            at: second.saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            inode: i64::try_from(stat.st_ino).unwrap_or(i64::MAX),
            is_file: kind == FileType::RegularFile,
        });
    }
    Ok(found)
}

/// What is broken in a file that cannot be read.
pub(crate) fn unreadable(folder: &Path, name: &str, problem: &Problem) -> Broken {
    Broken { file: folder.join(name), line: None, why: problem.to_string() }
}
