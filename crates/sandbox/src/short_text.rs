//! Reading short files that lie where a command may have put anything.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use std::fs;
use std::io::Read;
use std::path::Path;

/// The most that a file holds which names a folder.
pub(crate) const LINE: usize = 4096;

/// A file's text, if it has no more than so many bytes. Whatever lies there: it is not waited for.
pub(crate) fn text_of(path: &Path, most: usize) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    let is_file = FileType::from_raw_mode(fstat(&file).ok()?.st_mode) == FileType::RegularFile;
    let mut text = String::new();
    is_file.then_some(())?;
    fs::File::from(file).take(most as u64 + 1).read_to_string(&mut text).ok()?;
    (text.len() <= most).then_some(text)
}
