//! Opening what is under a folder, and nothing that a link leads to.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Opens `relative` under `dir` and refuses every link on the way.
pub(crate) fn beneath(dir: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if relative.as_os_str().len() < LONG_PATH {
        return beneath_at_once(dir, relative, flags);
    }
    let mut folder: Option<OwnedFd> = None;
    let mut rest = relative.components();
    loop {
        let mut part = PathBuf::new();
        while part.as_os_str().len() < LONG_PATH / 2
            && let Some(step) = rest.next()
        {
            part.push(step);
        }
        let is_last = rest.as_path().as_os_str().is_empty();
        let flags = if is_last { flags } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC };
        let opened = beneath_at_once(folder.as_ref().unwrap_or(dir), &part, flags)?;
        if is_last {
            return Ok(opened);
        }
        folder = Some(opened);
    }
}

/// The kernel takes no path of 4,096 bytes or more: a longer one is opened in parts. A name has at most 255.
const LONG_PATH: usize = 3_584;

fn beneath_at_once(dir: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..8 {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve) {
            // A rename somewhere made the kernel unsure; it asks to be asked again.
            Err(Errno::AGAIN) => {}
            // Kernels before 5.6 and some containers' filters do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return step_by_step(dir, path, flags),
            other => return other,
        }
    }
    step_by_step(dir, path, flags)
}

/// The same without `openat2`: one folder at a time, none of them a link.
pub(crate) fn step_by_step(dir: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut steps = relative.components().peekable();
    let mut folder: Option<OwnedFd> = None;
    while let Some(step) = steps.next() {
        let name = match step {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        };
        let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = if steps.peek().is_some() { on_the_way } else { flags };
        let from = folder.as_ref().unwrap_or(dir);
        let opened = rustix::fs::openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty());
        // O_DIRECTORY calls a link "no directory".
        let is_link = || {
            let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW);
            stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        };
        folder = Some(opened.map_err(|error| if error == Errno::NOTDIR && is_link() { Errno::LOOP } else { error })?);
    }
    folder.ok_or(Errno::NOENT)
}
