//! A cage that is complete before its command is known. What was covered, guarded or hidden when it was made must be so when the
//! command comes, so then the cage looks whether it still holds. If it does not, nothing has been started in it yet, and a fresh
//! one is made.
//!
//! A mount goes with the file that it lies on: when somebody outside removes or replaces that file, or makes one that was not
//! there, another mount is seen at its path than before. So a look at every path of the tree finds whatever has changed there.
//! Which paths those are follows from the plan, from what the owner compares (see `forecast.rs`), and from the machine's mounts
//! and sockets.
//!
//! While it waits it has no privileges, the socket, and two lists of the kernel's open. When the machine's mounts change it
//! gives up, so that it does not hold what was unmounted; the command then finds them as they are.

use crate::cage::Bounds;
use crate::error::CageError;
use crate::home::Places;
use crate::inside::enter;
use crate::sockets::sockets_in;
use crate::tree::Step;
use mainpath_types::FileAccess;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::process::Pid;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Which mount is seen at a path, and which file: numbers of the kernel's.
type Seen = Result<(u64, u64), Errno>;

/// The cage around this process, and how it was when it was made.
pub(crate) struct Ready {
    /// The paths of the tree.
    seen: Vec<(PathBuf, Seen)>,
    /// The sockets of others that can be seen all the same: none, but for odd paths.
    open: Vec<PathBuf>,
    /// Where sockets belong to the cage; `None` if they are not hidden in it.
    workspace: Option<PathBuf>,
    /// The machine's lists of its sockets and of its mounts.
    sockets: File,
    mounts: File,
}

impl Ready {
    /// Makes the cage around this process, which has settled. `outside`: a process of the machine's network. Errors: as those of
    /// [`enter`].
    pub fn make(bounds: &Bounds, places: impl FnOnce() -> Places, outside: Pid) -> Result<Ready, CageError> {
        // Opened before anything is looked at: it tells of every change since.
        let mounts = File::open("/proc/self/mountinfo").step(|| "opening the list of mounts".into())?;
        let sockets = File::open(format!("/proc/{outside}/net/unix")).step(|| "opening the list of sockets".into())?;
        let set = enter(bounds, &places())?;
        look(Path::new("/")).step(|| "looking at mounts".into())?;
        let seen = set.into_iter().map(|path| (look(&path), path)).map(|(seen, path)| (path, seen)).collect();
        let workspace = Some(bounds.workspace.clone()).filter(|_| bounds.confinement.files != FileAccess::Full);
        let mut ready = Ready { seen, open: Vec::new(), workspace, sockets, mounts };
        ready.open = ready.open_sockets().step(|| "looking at sockets".into())?;
        Ok(ready)
    }

    /// Waits until the owner has something to say, or is gone. Whether the cage holds then. Of it nothing is left open.
    pub fn wait(mut self, owner: BorrowedFd<'_>) -> bool {
        loop {
            let mut fds = [PollFd::from_borrowed_fd(owner, PollFlags::IN), PollFd::new(&self.mounts, PollFlags::PRI)];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => {}
                Err(_) => return false,
                Ok(_) => {
                    let [_, mounts] = fds.map(|fd| !fd.revents().is_empty());
                    return !mounts && self.holds();
                }
            }
        }
    }

    fn holds(&mut self) -> bool {
        self.seen.iter().all(|(path, seen)| look(path) == *seen)
            && self.open_sockets().is_ok_and(|open| open.iter().all(|path| self.open.contains(path)))
    }

    fn open_sockets(&mut self) -> io::Result<Vec<PathBuf>> {
        let Some(workspace) = &self.workspace else { return Ok(Vec::new()) };
        let mut list = Vec::new();
        self.sockets.rewind()?;
        self.sockets.read_to_end(&mut list)?;
        let is_socket = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        let outside = |path: &PathBuf| !path.starts_with(workspace);
        Ok(sockets_in(&list).into_iter().filter(outside).filter(is_socket).collect())
    }
}

fn look(path: &Path) -> Seen {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC, wanted)?;
    match StatxFlags::from_bits_retain(found.stx_mask).contains(wanted) {
        true => Ok((found.stx_mnt_id, found.stx_ino)),
        false => Err(Errno::NOSYS),
    }
}
