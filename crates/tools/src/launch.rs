//! The program that stands between Mainpath and a command, and dies with its owner.
//!
//! It is started with one end of a socket pair as its standard input; the owner keeps the other end. Whatever happens to
//! the owner, that end closes, and the launcher ends everything that the command has started. It finds everything: it is
//! the *subreaper* of all its descendants, so those whose parents have died, daemons included, become its children.
//!
//! # The socket
//! From the owner: the byte `T` asks for an end with a short grace; closing asks for an end at once.
//! To the owner, one line, after which nothing of the command runs any more (`left` counts processes of other users,
//! which the launcher may not end; `ended` those that it had to end after the command itself had finished):
//! ```text
//! exit CODE by itself|asked ended N left N
//! signal NUMBER by itself|asked ended N left N
//! running 0 by asked ended N left N      (the command itself is one of those left)
//! failed ERRNO
//! ```
//! No line before the end of the stream: the launcher itself was killed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, getpid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, setsid, wait, waitid, waitpid,
};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Ask for an end with a grace.
pub(crate) const END: u8 = b'T';

/// What is left when a command has ended by itself may take this long to finish as well.
const AFTER_END: Duration = Duration::from_millis(200);
/// What was asked to end may take this long.
const AFTER_TERM: Duration = Duration::from_millis(300);
const STEP: Duration = Duration::from_millis(3);

/// The exit status when the owner has gone; nobody is left to read it but whoever looks at the process table.
const OWNER_GONE: u8 = 107;
/// The exit status of a wrong use.
const USAGE: u8 = 2;

/// The launcher's `main`: runs the program that `args` names, with its arguments, under the rules of this module. Its
/// standard input must be the socket; its standard output and error are the command's.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let Some(program) = args.next() else {
        eprintln!("mainpath-launch is started by Mainpath itself: mainpath-launch PROGRAM [ARGUMENT…]");
        return ExitCode::from(USAGE);
    };
    let owner = rustix::stdio::stdin();
    match supervise(owner, program, args) {
        Ok(Some(line)) => {
            let _ = send(owner, &line);
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::from(OWNER_GONE),
        Err(error) => {
            let _ = send(owner, &format!("failed {}\n", error.raw_os_error().unwrap_or(0)));
            ExitCode::FAILURE
        }
    }
}

/// Runs the command to its end, or ends it. Gives the line for the owner, or nothing if there is no owner any more.
fn supervise(
    owner: BorrowedFd<'_>,
    program: OsString,
    args: impl Iterator<Item = OsString>,
) -> io::Result<Option<String>> {
    set_child_subreaper(Some(getpid()))?;
    // Its own session: no terminal, and the terminal's Ctrl-C does not reach it.
    let _ = setsid();
    children(getpid())?;
    if asked(owner, None, Duration::ZERO)? == Asked::EndNow {
        return Ok(None);
    }
    let child = Command::new(program).args(args).stdin(Stdio::null()).process_group(0).spawn()?;
    let command = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    match oversee(owner, command) {
        Ok(line) => Ok(line),
        Err(error) => {
            // Whatever could not be found out: nothing may go on unowned.
            let _ = kill_process_group(command, Signal::KILL);
            let _ = signal_all(command, Signal::KILL);
            while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
            Err(error.into())
        }
    }
}

fn oversee(owner: BorrowedFd<'_>, command: Pid) -> Result<Option<String>, Errno> {
    let ended = pidfd_open(command, PidfdFlags::empty()).ok();
    let ended = ended.as_ref().map(AsFd::as_fd);
    // Without pidfds (before Linux 5.3) the wait is a slow poll.
    let nap = if ended.is_some() { Duration::from_secs(5) } else { Duration::from_millis(10) };
    let mut wish = Asked::Nothing;
    while !has_ended(command)? && wish == Asked::Nothing {
        wish = asked(owner, ended, nap)?;
        reap(command)?;
    }
    let mut cleared = 0;
    let by_itself = has_ended(command)?;
    match wish {
        Asked::Nothing if others(command)? > 0 => {
            settle(owner, AFTER_END, || Ok(others(command)? > 0))?;
            cleared = others(command)?;
        }
        Asked::End => {
            signal_all(command, Signal::TERM)?;
            settle(owner, AFTER_TERM, || running(command))?;
        }
        Asked::Nothing | Asked::EndNow => {}
    }
    let left = end_all(command)?;
    // The command has stayed unreaped until here, so that its number, which names its group, was not given away.
    let status = waitid(WaitId::Pid(command), ENDED)?;
    Ok((wish != Asked::EndNow).then(|| report(status.as_ref(), by_itself, cleared, left)))
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

fn report(status: Option<&WaitIdStatus>, by_itself: bool, ended: usize, left: usize) -> String {
    let how = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
        Some((Some(code), _)) => format!("exit {code}"),
        Some((None, signal)) => format!("signal {}", signal.unwrap_or(0)),
        None => "running 0".into(),
    };
    let why = if by_itself { "itself" } else { "asked" };
    format!("{how} by {why} ended {ended} left {left}\n")
}

fn send(owner: BorrowedFd<'_>, line: &str) -> Result<(), Errno> {
    let mut bytes = line.as_bytes();
    while !bytes.is_empty() {
        let sent = rustix::io::retry_on_intr(|| rustix::io::write(owner, bytes))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// What the owner wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    /// An end with a grace.
    End,
    /// An end at once, or the owner is gone.
    EndNow,
}

/// Waits for the owner, for the command's end or for the time, whichever comes first.
fn asked(owner: BorrowedFd<'_>, ended: Option<BorrowedFd<'_>>, limit: Duration) -> Result<Asked, Errno> {
    let mut fds = vec![PollFd::from_borrowed_fd(owner, PollFlags::IN)];
    fds.extend(ended.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
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
        reap(command)?;
        let found: Vec<Pid> = descendants(getpid())?.into_iter().filter(|pid| *pid != command).collect();
        let alive = found.iter().filter(|pid| is_alive(**pid)).count();
        // One that ended between the two looks may have left children behind, which are ours now: look again.
        if alive > 0 || found.is_empty() {
            return Ok(alive);
        }
    }
}

/// Reaps the children that have ended, the command excepted.
fn reap(command: Pid) -> Result<(), Errno> {
    loop {
        let mut reaped = false;
        for pid in children(getpid())?.into_iter().filter(|pid| *pid != command) {
            reaped |= matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)));
        }
        // The children of one that has ended may have become ours after the look.
        if !reaped {
            return Ok(());
        }
    }
}

/// Signals the command's group and every descendant; gives the number of those that may not be signalled.
fn signal_all(command: Pid, signal: Signal) -> Result<usize, Errno> {
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
