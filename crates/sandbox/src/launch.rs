//! The program that stands between Mainpath and a command, and dies with its owner.
//!
//! It is started with one end of a socket pair as its standard input; the owner keeps the other end. It may be started long
//! before there is anything to run, and then waits for its plan. Whatever happens to
//! the owner, that end closes, and everything that the command has started is ended. In a cage the launcher's child, the
//! first process of the cage, listens in its place; that child dies with the launcher, and the kernel ends whatever is in a
//! PID namespace whose first process dies.
//!
//! # The socket
//! From the owner, first its plan (see `handover.rs`), then: the byte `T` asks for an end with a short grace; closing asks
//! for an end at once.
//! To the owner, one line, after which nothing of the command runs any more (`left` counts processes of other users,
//! which the launcher may not end; `ended` those that it had to end after the command itself had finished):
//! ```text
//! exit CODE by itself|asked ended N left N
//! signal NUMBER by itself|asked ended N left N
//! running 0 by asked ended N left N      (the command itself is one of those left)
//! failed ERRNO                           (it could not be started)
//! refused WHY                            (its cage could not be made, nothing was started)
//! ```
//! No line before the end of the stream: the launcher itself was killed.

use crate::cage::Bounds;
use crate::ended::{Ended, How};
use crate::handover::{self, Streams};
use crate::home::{Places, TEMPORARY, VARIABLES};
use crate::inside::{Owner, enter};
use crate::limits::Group;
use crate::plan::Plan;
use crate::supervise::{Terminal, supervise};
use crate::sys;
use mainpath_types::FileAccess;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getgid, getuid, set_parent_process_death_signal, setsid, waitpid};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, ExitCode};

/// Ask for an end with a grace.
pub(crate) const END: u8 = b'T';
/// The word that asks for a report on what this machine can confine, instead of a command.
pub(crate) const SUPPORT: &str = "__support";

/// The exit status when the owner has gone; nobody is left to read it but whoever looks at the process table.
const OWNER_GONE: u8 = 107;
/// The exit status of a wrong use.
const USAGE: u8 = 2;

/// The launcher's `main`. Its standard input must be the socket, over which it is told what to run.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    if args.into_iter().next().is_some_and(|word| word == SUPPORT) {
        crate::support::report();
        return ExitCode::SUCCESS;
    }
    if !is_socket(rustix::stdio::stdin()) {
        eprintln!("mainpath-launch is started by Mainpath itself, which tells it over a socket what to run");
        return ExitCode::from(USAGE);
    }
    match take_over() {
        Ok((owner, plan)) => launch(owner, &plan),
        Err(_) => ExitCode::from(OWNER_GONE),
    }
}

fn is_socket(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
}

/// Takes the socket away from standard input, waits for the plan, and takes the command's streams.
fn take_over() -> io::Result<(OwnedFd, Plan)> {
    sys::close_from(3);
    let owner = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let (plan, Streams { output, errors, input }) = handover::receive(&owner)?;
    let input = match input {
        Some(input) => input,
        None => std::fs::File::open("/dev/null")?.into(),
    };
    rustix::stdio::dup2_stdin(input)?;
    rustix::stdio::dup2_stdout(output)?;
    rustix::stdio::dup2_stderr(errors)?;
    Ok((owner, plan))
}

fn launch(owner: OwnedFd, plan: &Plan) -> ExitCode {
    // Its own session: no terminal, and the terminal's Ctrl-C does not reach it.
    let _ = setsid();
    let Some(bounds) = &plan.cage.bounds else {
        return finish(owner.as_fd(), run(owner.as_fd(), plan, Terminal::None));
    };
    // From here on the kernel ends this process with the thread that started it, even while it is stopped, and the cage with
    // this process. Without a cage it must live on to end the rest.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let group = if plan.limited { None } else { Group::make().ok() };
    let started = start_init(bounds, &Places::of(plan), group.as_ref(), owner.as_fd(), |made| {
        finish(owner.as_fd(), made.and_then(|()| run(owner.as_fd(), plan, Terminal::None)))
    });
    match started {
        Ok(init) => {
            // What the owner hears comes from the cage.
            drop(owner);
            let _ = wait_for(init);
            ExitCode::SUCCESS
        }
        Err(why) => finish(owner.as_fd(), Err(How::Refused(why))),
    }
}

/// Tells the owner how it ended, if there still is one.
pub(crate) fn finish(owner: BorrowedFd<'_>, ended: Result<Option<Ended>, How>) -> ExitCode {
    let (ended, code) = match ended {
        Ok(Some(ended)) => (ended, ExitCode::SUCCESS),
        Ok(None) => return ExitCode::from(OWNER_GONE),
        Err(how) => (Ended::of(how), ExitCode::FAILURE),
    };
    let line = ended.line();
    let mut bytes = line.as_bytes();
    while let Ok(sent) = rustix::io::retry_on_intr(|| rustix::io::write(owner, bytes))
        && let Some(rest) = bytes.get(sent..).filter(|rest| sent > 0 && !rest.is_empty())
    {
        bytes = rest;
    }
    code
}

/// Runs the command to its end, or ends it; `None` if there is no owner any more.
pub(crate) fn run(owner: BorrowedFd<'_>, plan: &Plan, terminal: Terminal) -> Result<Option<Ended>, How> {
    let mut command = plan.command();
    if let Some(bounds) = &plan.cage.bounds {
        // By the same path as before, but what lies there now.
        if !plan.folder.is_dir() {
            return Err(How::Refused(format!("there is no folder {} in it", plan.folder.display())));
        }
        settle(&mut command, plan, bounds);
    }
    supervise(owner, &mut command, terminal).map_err(|error| How::Failed(error.raw_os_error().unwrap_or(0)))
}

/// The environment of a command in a cage: nothing points to what is not there.
fn settle(command: &mut Command, plan: &Plan, bounds: &Bounds) {
    for name in VARIABLES {
        command.env_remove(name);
    }
    if bounds.confinement.files != FileAccess::Full {
        for name in TEMPORARY.iter().filter(|name| plan.var(name).is_some()) {
            command.env(name, "/tmp");
        }
    }
}

/// Starts the first process of a cage, which does `body` with the cage made, or with why it could not be made, and ends. Of
/// the descriptors above 2 it has `kept` alone. Errors: there are no namespaces to be had.
pub(crate) fn start_init(
    bounds: &Bounds,
    places: &Places,
    group: Option<&Group>,
    kept: BorrowedFd<'_>,
    body: impl FnOnce(Result<(), How>) -> ExitCode,
) -> Result<Pid, String> {
    if let Some(problem) = bounds.problem() {
        return Err(problem);
    }
    let owner = Owner(getuid(), getgid());
    let namespaces = sys::namespaces(!bounds.confinement.network);
    match sys::fork_into(namespaces, group.and_then(Group::birthplace)) {
        Ok(Some(init)) => Ok(init),
        Ok(None) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            // A copy of the owner's end of the socket would hide the owner's death.
            sys::close_but(kept);
            // Its own folder lies outside.
            let _ = std::env::set_current_dir("/");
            let made = close_folders().map_err(|error| error.to_string()).and_then(|()| enter(bounds, owner, places));
            let code = body(made.map_err(How::Refused));
            std::process::exit(i32::from(code != ExitCode::SUCCESS));
        }
        Err(error) => Err(format!("making namespaces: {error}")),
    }
}

/// A standard stream that is a folder would lead out of the cage.
fn close_folders() -> Result<(), Errno> {
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

/// Waits until a child, and for the first process of a cage all of that cage, has ended.
pub(crate) fn wait_for(child: Pid) -> Result<(), Errno> {
    rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty())).map(drop)
}
