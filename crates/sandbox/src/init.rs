//! The first process of a cage: started in fresh namespaces, and waited for.

use crate::cage::Bounds;
use crate::ended::How;
use crate::error::CageError;
use crate::home::Places;
use crate::inside::{Owner, enter, settle};
use crate::limits::Group;
use crate::sys;
use crate::tree::Step;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getgid, getpid, getuid, set_parent_process_death_signal, waitpid};
use std::os::fd::BorrowedFd;

/// Starts the first process of a cage, which does `body` with the cage made, or with why it could not be made, and ends. Of
/// the descriptors above 2 it has `kept` alone. `places` is asked with a process outside. Errors: there are no namespaces to
/// be had.
pub(crate) fn start_init(
    bounds: &Bounds,
    group: Option<&Group>,
    kept: BorrowedFd<'_>,
    places: impl FnOnce(Pid) -> Places,
    body: impl FnOnce(Result<(), How>) -> u8,
) -> Result<Pid, CageError> {
    bounds.check()?;
    begin(!bounds.confinement.network, group, kept, |settled, outside| {
        body(settled.and_then(|()| shut(bounds, &places(outside))).map_err(How::refused))
    })
}

/// Makes the cage around this process, which has settled and has the command's streams.
fn shut(bounds: &Bounds, places: &Places) -> Result<(), CageError> {
    close_folders()?;
    enter(bounds, places).map(drop)
}

/// Starts a process that settles in fresh namespaces, does `body` and ends with its code.
pub(crate) fn begin(
    own_network: bool,
    group: Option<&Group>,
    kept: BorrowedFd<'_>,
    body: impl FnOnce(Result<(), CageError>, Pid) -> u8,
) -> Result<Pid, CageError> {
    let (owner, outside) = (Owner(getuid(), getgid()), getpid());
    match sys::fork_into(sys::namespaces(own_network), group.and_then(Group::birthplace)) {
        Ok(Some(init)) => Ok(init),
        Ok(None) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            // A copy of the owner's end of the socket would hide the owner's death.
            sys::close_but(kept);
            // Its own folder lies outside.
            let _ = std::env::set_current_dir("/");
            std::process::exit(body(settle(owner, own_network), outside).into());
        }
        Err(error) => Err(error).step(|| "making namespaces".into()),
    }
}

/// A standard stream that is a folder would lead out of the cage.
pub(crate) fn close_folders() -> Result<(), CageError> {
    replace_folders().step(|| "closing folders".into())
}

fn replace_folders() -> Result<(), Errno> {
    let is_folder =
        |fd: BorrowedFd<'_>| fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let open = || rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty());
    if is_folder(rustix::stdio::stdin()) {
        rustix::stdio::dup2_stdin(open()?)?;
    }
    if is_folder(rustix::stdio::stdout()) {
        rustix::stdio::dup2_stdout(open()?)?;
    }
    if is_folder(rustix::stdio::stderr()) {
        rustix::stdio::dup2_stderr(open()?)?;
    }
    Ok(())
}

/// Waits until a child, and for the first process of a cage all of that cage, has ended. Gives its exit status if it has one.
pub(crate) fn wait_for(child: Pid) -> Result<Option<i32>, Errno> {
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))?;
    Ok(ended.and_then(|(_, status)| status.exit_status()))
}
