//! The files of a folder as they lie there: what tells whether one has changed.

use crate::entry::Broken;
use mainpath_skills::Problem;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, open, statat};
use rustix::io::Errno;
use std::collections::hash_map::DefaultHasher;
use std::ffi::CString;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant, SystemTime};

/// So many files are read at most, the first ones in the order of their names.
pub const MOST_FILES: usize = 50_000;
/// A folder whose last change is so long ago cannot have changed since without another time.
const SETTLED: Duration = Duration::from_secs(2);
/// From so many files on two threads look at them,
const MANY: usize = 1_000;
/// and each is looked at again only after so long, where the folder has not changed: that takes as long as all else.
pub(crate) const LATELY: Duration = Duration::from_secs(5);

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
    /// When each of them was last looked at.
    looked: Instant,
}

/// The files of a folder as they were when it was looked at: an unchanged folder is told by its sum, without anything made for each file.
#[derive(Default)]
pub(crate) struct Looked {
    names: Arc<Vec<CString>>,
    /// One for each name; `None`: it is no file that may hold entries, or gone meanwhile.
    seen: Vec<Option<Seen>>,
}

/// What of a file changes when it does.
#[derive(Clone, Copy, Hash)]
struct Seen {
    len: i64,
    at: i64,
    inode: i64,
    is_file: bool,
}

impl Looked {
    /// Whether there is no file that may hold entries.
    pub fn is_empty(&self) -> bool {
        self.seen.iter().all(Option::is_none)
    }

    /// A number that is another one if any file of the folder is.
    pub fn sum(&self, folder: &Path) -> i64 {
        let mut hasher = DefaultHasher::new();
        (folder, &*self.names, &self.seen).hash(&mut hasher);
        i64::from_ne_bytes(hasher.finish().to_ne_bytes())
    }

    /// The files that may hold entries, in the order of their names.
    pub fn stamps(&self) -> impl Iterator<Item = Stamp> {
        self.names.iter().zip(&self.seen).filter_map(|(name, seen)| {
            let Seen { len, at, inode, is_file } = (*seen)?;
            Some(Stamp { name: String::from_utf8_lossy(name.to_bytes()).into_owned(), len, at, inode, is_file })
        })
    }
}

/// Looks at the files that may hold entries: at each, since one that is written in its place leaves its folder as it is.
pub(crate) fn look(folder: &Path, listed: &Mutex<Option<Listed>>) -> io::Result<Looked> {
    let handle = match open_to_list(folder) {
        Err(Errno::NOENT) => return Ok(Looked::default()),
        handle => handle?,
    };
    let changed = changed(&handle)?;
    let mut listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
    let names = match listed.take() {
        Some(known) if known.changed == changed => known.names,
        _ => Arc::new(names(&handle)?),
    };
    // What changes within one tick of the clock has one time.
    let settled = changed.elapsed().is_ok_and(|ago| ago > SETTLED);
    *listed = settled.then(|| Listed { changed, names: Arc::clone(&names), looked: Instant::now() });
    drop(listed);
    let mut seen = vec![None; names.len()];
    if names.len() < MANY {
        see(&handle, &names, &mut seen)?;
        return Ok(Looked { names, seen });
    }
    // Looking at each takes nearly all of the time, and none of it needs another.
    let half = names.len() / 2;
    let ((first, second), (left, right)) = (names.split_at(half), seen.split_at_mut(half));
    std::thread::scope(|scope| {
        let started = Builder::new().spawn_scoped(scope, || see(&handle, second, right));
        see(&handle, first, left)?;
        started?.join().unwrap_or_else(|_| Err(io::Error::other("a thread has died")))
    })?;
    Ok(Looked { names, seen })
}

/// Whether a folder of many files was looked at a moment ago and is as it was, as far as it tells itself: no file has come or gone since, or
/// was put in the place of another.
pub(crate) fn is_known(folder: &Path, listed: &Mutex<Option<Listed>>, lately: Duration) -> bool {
    let listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(known) = &*listed else { return false };
    let is_new = known.looked.elapsed() < lately && known.names.len() >= MANY;
    is_new && open_to_list(folder).is_ok_and(|handle| changed(&handle).is_ok_and(|changed| changed == known.changed))
}

/// A file as it lies there now, if there is one.
pub(crate) fn stamp_of(path: &Path) -> Option<Stamp> {
    let Seen { len, at, inode, is_file } = of(&statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?)?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(Stamp { name, len, at, inode, is_file })
}

fn open_to_list(folder: &Path) -> Result<OwnedFd, Errno> {
    open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn changed(folder: &OwnedFd) -> io::Result<SystemTime> {
    File::from(folder.try_clone()?).metadata()?.modified()
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

fn see(folder: &OwnedFd, names: &[CString], seen: &mut [Option<Seen>]) -> io::Result<()> {
    for (name, seen) in names.iter().zip(seen) {
        let stat = match statat(folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            // Gone meanwhile.
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        *seen = of(&stat);
    }
    Ok(())
}

/// What changes of it; `None` of a folder.
fn of(stat: &Stat) -> Option<Seen> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let second = stat.st_mtime.saturating_mul(1_000_000_000);
    (kind != FileType::Directory).then(|| Seen {
        len: stat.st_size,
        at: second.saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        inode: i64::try_from(stat.st_ino).unwrap_or(i64::MAX),
        is_file: kind == FileType::RegularFile,
    })
}

/// What is broken in a file that cannot be read.
pub(crate) fn unreadable(folder: &Path, name: &str, problem: &Problem) -> Broken {
    Broken { file: folder.join(name), line: None, why: problem.to_string() }
}
