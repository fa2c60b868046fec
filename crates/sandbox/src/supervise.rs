//! Watching over a command until nothing of it runs any more.
//!
//! Everything that the command starts is found: this process is the *subreaper* of all its descendants, or in a cage the first
//! process of its PID namespace, so those whose parents have died, daemons included, become its children.

use crate::ended::{Ended, How};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, getpid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, wait, waitid, waitpid,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Ask for an end with a grace.
pub(crate) const END: u8 = b'T';
const STEP: Duration = Duration::from_millis(3);

/// How long the processes of a command may take to end by themselves before they are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GracePeriods {
    /// After the command has ended by itself: the time for its background processes.
    pub after_end: Duration,
    /// After `SIGTERM`: the time for the command and everything it started.
    pub after_term: Duration,
}

impl Default for GracePeriods {
    fn default() -> Self {
        GracePeriods { after_end: Duration::from_millis(200), after_term: Duration::from_millis(300) }
    }
}

/// Whether a command shares its owner's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// It has none.
    None,
    /// It is in its owner's process group, so that keys such as Ctrl-C reach it.
    Owners,
}

/// Runs the command to its end, or ends it. Gives how it ended, or nothing if there is no owner any more. Errors: it could
/// not be started, or not be watched; then nothing of it runs.
pub(crate) fn supervise(
    owner: BorrowedFd<'_>,
    command: &mut Command,
    terminal: Terminal,
    grace: GracePeriods,
) -> io::Result<Option<Ended>> {
    set_child_subreaper(Some(getpid()))?;
    children(getpid())?;
    // The wish to end it is heard but once: one that came before its start is not passed over.
    match asked(owner, None, Duration::ZERO)? {
        Asked::Nothing => {}
        Asked::End => return Ok(Some(Ended::of(How::Signal(Signal::TERM.as_raw())))),
        Asked::EndNow => return Ok(None),
    }
    if terminal == Terminal::None {
        command.process_group(0);
    }
    let child = command.spawn()?;
    // What a terminal sends to everybody is the command's business.
    crate::sys::block_all_signals();
    let command = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    match oversee(owner, command, grace) {
        Ok(ended) => Ok(ended),
        Err(error) => {
            // Whatever could not be found out: nothing may go on unowned.
            let _ = kill_process(command, Signal::KILL);
            let _ = signal_all(command, Signal::KILL);
            while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
            Err(error.into())
        }
    }
}

fn oversee(owner: BorrowedFd<'_>, command: Pid, grace: GracePeriods) -> Result<Option<Ended>, Errno> {
    let end = pidfd_open(command, PidfdFlags::empty()).ok();
    let end = end.as_ref().map(AsFd::as_fd);
    // Without pidfds (before Linux 5.3) the wait is a slow poll.
    let nap = if end.is_some() { Duration::from_secs(5) } else { Duration::from_millis(10) };
    let mut wish = Asked::Nothing;
    while !has_ended(command)? && wish == Asked::Nothing {
        reap(command)?;
        wish = asked(owner, end, nap)?;
    }
    let (mut cleared, mut left) = (0, 0);
    let by_itself = has_ended(command)?;
    match wish {
        Asked::Nothing if others(command)? > 0 => {
            settle(owner, grace.after_end, || Ok(others(command)? > 0))?;
            cleared = others(command)?;
            left = end_all(command)?;
        }
        Asked::Nothing => {}
        Asked::End => {
            signal_all(command, Signal::TERM)?;
            settle(owner, grace.after_term, || running(command))?;
            left = end_all(command)?;
        }
        Asked::EndNow => left = end_all(command)?,
    }
    // The command has stayed unreaped until here, so that its number, which names its group, was not given away.
    let status = waitid(WaitId::Pid(command), ENDED)?;
    Ok((wish != Asked::EndNow).then(|| ended(status.as_ref(), by_itself, cleared, left)))
}

/// Kills until nothing runs any more; gives the number of processes that may not be killed from here.
fn end_all(command: Pid) -> Result<usize, Errno> {
    while running(command)? {
        let refused = signal_all(command, Signal::KILL)?;
        std::thread::sleep(STEP);
        // What belongs to other users would be waited for for ever.
        let alive = others(command)? + usize::from(!has_ended(command)?);
        if refused > 0 && alive <= refused {
            return Ok(alive);
        }
    }
    Ok(0)
}

const ENDED: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOWAIT).union(WaitIdOptions::NOHANG);

fn has_ended(command: Pid) -> Result<bool, Errno> {
    Ok(waitid(WaitId::Pid(command), ENDED)?.is_some())
}

fn ended(status: Option<&WaitIdStatus>, by_itself: bool, cleared: usize, left: usize) -> Ended {
    let how = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
        Some((Some(code), _)) => How::Exit(code),
        Some((None, signal)) => How::Signal(signal.unwrap_or(0)),
        None => How::StillRunning,
    };
    Ended { by_itself, cleared, left, ..Ended::of(how) }
}

/// What the owner wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Nothing,
    /// An end with a grace.
    End,
    /// An end at once, or the owner is gone.
    EndNow,
}

/// Waits for the owner, for the command's end or for the time, whichever comes first.
fn asked(owner: BorrowedFd<'_>, end: Option<BorrowedFd<'_>>, limit: Duration) -> Result<Asked, Errno> {
    let mut fds = vec![PollFd::from_borrowed_fd(owner, PollFlags::IN)];
    fds.extend(end.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    match poll(&mut fds, Some(&limit)) {
        Err(Errno::INTR) => return Ok(Asked::Nothing),
        other => other?,
    };
    if fds[0].revents().is_empty() {
        return Ok(Asked::Nothing);
    }
    let mut byte = [0];
    match rustix::io::retry_on_intr(|| rustix::io::read(owner, &mut byte)) {
        Ok(1) if byte[0] == END => Ok(Asked::End),
        Ok(1) => Ok(Asked::Nothing),
        Ok(_) | Err(_) => Ok(Asked::EndNow),
    }
}

/// Gives what still runs some time to end by itself; a word from the owner, or its death, cuts that short.
fn settle(owner: BorrowedFd<'_>, grace: Duration, runs: impl Fn() -> Result<bool, Errno>) -> Result<(), Errno> {
    let until = Instant::now() + grace;
    while Instant::now() < until && runs()? && asked(owner, None, STEP)? == Asked::Nothing {}
    Ok(())
}

/// Whether anything of the command still runs, itself included.
fn running(command: Pid) -> Result<bool, Errno> {
    Ok(!has_ended(command)? || others(command)? > 0)
}

/// How many descendants besides the command run.
fn others(command: Pid) -> Result<usize, Errno> {
    loop {
        let is_last = reap(command)?.iter().all(|pid| *pid == command);
        if is_last && has_ended(command)? {
            return Ok(0);
        }
        let found: Vec<Pid> = descendants(getpid())?.into_iter().filter(|pid| *pid != command).collect();
        let alive = found.iter().filter(|pid| is_alive(**pid)).count();
        // One that ended between the two looks may have left children behind, which are ours now: look again.
        if alive > 0 || found.is_empty() {
            return Ok(alive);
        }
    }
}

/// Reaps the children that have ended, the command excepted, and gives those that have not.
fn reap(command: Pid) -> Result<Vec<Pid>, Errno> {
    loop {
        let mut reaped = false;
        let children = own_children()?;
        for pid in children.iter().filter(|pid| **pid != command) {
            reaped |= matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_)));
        }
        // The children of one that has ended may have become ours after the look.
        if !reaped {
            return Ok(children);
        }
    }
}

/// Signals the command's group and every descendant; gives the number of those that may not be signalled.
fn signal_all(command: Pid, signal: Signal) -> Result<usize, Errno> {
    if getpid() == Pid::INIT {
        // In a cage there is nobody else, and nobody can be born past a signal to all.
        crate::sys::signal_everybody(signal);
        return Ok(0);
    }
    let _ = kill_process_group(command, signal);
    let refused = |pid: &Pid| kill_process(*pid, signal) == Err(Errno::PERM);
    Ok(descendants(getpid())?.iter().filter(|pid| refused(pid)).count())
}

/// Whether a process runs, that is, exists and is not just waiting to be reaped.
fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name in brackets, which may hold anything, comes the state.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// All descendants of a process, parents before their children.
fn descendants(of: Pid) -> Result<Vec<Pid>, Errno> {
    let mut found = children(of)?;
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        // A process that has ended meanwhile has no children any more.
        let more = children(*pid).unwrap_or_default();
        found.extend(more.into_iter().filter(|pid| *pid != of));
        next += 1;
    }
    Ok(found)
}

/// The children of this process, which has one thread, ended ones included.
fn own_children() -> Result<Vec<Pid>, Errno> {
    let own = getpid();
    match std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")) {
        Ok(list) => Ok(list.split_ascii_whitespace().filter_map(pid).collect()),
        Err(_) => children(own),
    }
}

/// The children of a process, ended ones included.
fn children(of: Pid) -> Result<Vec<Pid>, Errno> {
    let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let mut found = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{of}/task")).map_err(errno)? {
        let list = thread.map_err(errno)?.path().join("children");
        match std::fs::read_to_string(&list) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(pid)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && list.parent().is_some_and(|p| p.exists()) => {
                return children_by_scan(of).map_err(errno);
            }
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The same on kernels that keep no lists of children.
fn children_by_scan(of: Pid) -> io::Result<Vec<Pid>> {
    let parent = of.to_string();
    let is_child = |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name in brackets, which may hold anything: state, parent.
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)) == Some(parent.as_str())
    };
    let pids = std::fs::read_dir("/proc")?.flatten().filter_map(|entry| pid(entry.file_name().to_str()?));
    Ok(pids.filter(is_child).collect())
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_finding_children_agree() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let wanted = Pid::from_raw(child.id().cast_signed()).unwrap();
        assert!(children(getpid()).unwrap().contains(&wanted));
        assert!(children_by_scan(getpid()).unwrap().contains(&wanted));
        assert!(descendants(getpid()).unwrap().contains(&wanted));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(getpid()).unwrap().contains(&wanted));
    }
}
