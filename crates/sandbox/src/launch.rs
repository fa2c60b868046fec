//! The program that stands between Mainpath and a command, and dies with its owner.
//!
//! It is started with one end of a socket pair as its standard input; the owner keeps the other end. It may be started long
//! before there is anything to run, with a forecast of its plan; then it makes the cage and waits in it. Whatever happens to the
//! owner, that end closes, and everything that the command has started is ended. In a cage the launcher's child, the first
//! process of the cage, listens in its place; that child dies with the launcher, and the kernel ends whatever is in a PID
//! namespace whose first process dies.
//!
//! # The socket
//! From the owner, first a forecast or none, and the plan (see `handover.rs`), then: the byte `T` asks for an end with a short
//! grace; closing asks for an end at once.
//! To the owner, first the byte `L` as soon as the program has found that it is a launcher (not from one that a zygote bears), and at
//! the end one line, after which nothing of the command runs any more (`left` counts processes of other users,
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
use crate::init::{begin, close_folders, start_init, wait_for};
use crate::limits::Group;
use crate::plan::{FORECAST, Plan};
use crate::ready::Ready;
use crate::supervise::{Terminal, supervise};
use crate::sys;
use mainpath_types::FileAccess;
use rustix::fs::{FileType, fstat};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, ExitCode};

/// The word that asks for a report on what this machine can confine, instead of a command.
pub(crate) const SUPPORT: &str = "__support";

/// The word with which the zygote is started: what bears launchers before there are plans for them.
pub(crate) const ZYGOTE: &str = "__zygote";

/// The first byte to the owner: this program is a launcher.
pub(crate) const ANSWER: u8 = b'L';

/// The exit status when the owner has gone; nobody is left to read it but whoever looks at the process table.
const OWNER_GONE: u8 = 107;
/// The exit status of a first process whose cage was made ahead and does not hold. No command's: nobody else sees it.
const UNFIT: u8 = 77;
/// The exit status of a wrong use.
const USAGE: u8 = 2;

/// The launcher's `main`. Its standard input must be the socket, over which it is told what to run.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let word = args.into_iter().next();
    match threads() {
        // What it does is for a process with one thread.
        2.. => in_child(word),
        _ => serve(word, true),
    }
    .into()
}

/// The same; ends the process with its exit code.
pub fn launcher_exit(args: impl IntoIterator<Item = OsString>) -> ! {
    let word = args.into_iter().next();
    let code = if threads() > 1 { in_child(word) } else { serve(word, true) };
    std::process::exit(code.into())
}

/// Does what the word says. `bears`: whether it may be a zygote, whose launchers are children of its own parent.
fn serve(word: Option<OsString>, bears: bool) -> u8 {
    if word.as_ref().is_some_and(|word| word == SUPPORT) {
        crate::support::report();
        return 0;
    }
    if !is_socket(rustix::stdio::stdin()) {
        eprintln!("mainpath-launch is started by Mainpath itself, which tells it over a socket what to run");
        return USAGE;
    }
    let done = match word.is_some_and(|word| word == ZYGOTE) {
        true if !bears => return USAGE,
        true => answer().and_then(|()| bear()),
        false => answer().and_then(|()| take_over()),
    };
    done.unwrap_or(OWNER_GONE)
}

/// Tells the owner that this program is a launcher.
fn answer() -> io::Result<()> {
    rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdin(), &[ANSWER]))?;
    Ok(())
}

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Does it in a child, which has one thread whatever this process has: `main` may begin in a runtime that has started its
/// threads. This process ends with the child, the child with this process, and this process with its owner.
fn in_child(word: Option<OsString>) -> u8 {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    match sys::fork() {
        Ok(Some(child)) => {
            let code = wait_for(child).ok().flatten().and_then(|code| u8::try_from(code).ok());
            code.unwrap_or(OWNER_GONE)
        }
        Ok(None) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            std::process::exit(serve(word, false).into());
        }
        Err(error) => {
            eprintln!("the launcher cannot start: {error}");
            USAGE
        }
    }
}

/// Bears a launcher for every socket that comes over standard input, as a child of the owner's, and tells its number (four
/// bytes, of this machine's order). Returns in the launchers, and when the owner has gone.
fn bear() -> io::Result<u8> {
    sys::close_from(3);
    let _ = setsid();
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let owner = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    loop {
        let theirs = handover::receive_socket(&owner)?;
        match sys::fork_beside()? {
            Some(born) => {
                let number = born.as_raw_nonzero().get().to_ne_bytes();
                rustix::io::retry_on_intr(|| rustix::io::write(&owner, &number))?;
            }
            None => {
                rustix::stdio::dup2_stdin(&theirs)?;
                // Before all numbers from 3 on are closed: they would be closed twice.
                drop((theirs, owner));
                return take_over();
            }
        }
    }
}

fn is_socket(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
}

/// Takes the socket away from standard input, waits for the plan and carries it out. After a forecast the cage is made before
/// the plan is known; where it does not hold, a fresh one is made.
fn take_over() -> io::Result<u8> {
    sys::close_from(3);
    let owner = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    // Its own session: no terminal, and the terminal's Ctrl-C does not reach it.
    let _ = setsid();
    // From here on the kernel ends this process with the thread that started it, even while it is stopped, and the cage with
    // this process.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if handover::peek(&owner)? == FORECAST {
        let forecast = handover::receive_forecast(&owner)?;
        if ready(&owner, &forecast) {
            return Ok(0);
        }
    }
    let plan = receive(&owner)?;
    Ok(launch(owner, &plan))
}

/// Starts the first process of a cage before its plan is known. Whether it has done what there was to do; otherwise the plan
/// still lies in the socket.
fn ready(owner: &OwnedFd, forecast: &Plan) -> bool {
    let Some(bounds) = forecast.cage.bounds.as_ref().filter(|bounds| bounds.check().is_ok()) else { return false };
    let group = group(forecast);
    let init = begin(!bounds.confinement.network, group.as_ref(), owner.as_fd(), |settled, outside| {
        let ready = settled.and_then(|()| Ready::make(bounds, || Places::of(forecast, outside), outside));
        // Why it cannot be made is told by the one that is made for the command.
        match ready.is_ok_and(|ready| ready.wait(owner.as_fd())) {
            true => wait_inside(owner),
            false => UNFIT,
        }
    });
    init.is_ok_and(|init| wait_for(init) != Ok(Some(UNFIT.into())))
}

/// Carries out the plan, or finds that the owner is gone, in a cage that holds.
fn wait_inside(owner: &OwnedFd) -> u8 {
    let Ok(plan) = receive(owner) else { return OWNER_GONE };
    let done = close_folders().map_err(How::refused);
    finish(owner.as_fd(), done.and_then(|()| run(owner.as_fd(), &plan, Terminal::None)))
}

/// The cgroup of a plan's cage, if its launcher is in none and there is one to be had.
fn group(plan: &Plan) -> Option<Group> {
    if plan.limited { None } else { Group::make().ok() }
}

/// Takes the plan, and the command's streams in place of this process's.
fn receive(owner: &OwnedFd) -> io::Result<Plan> {
    let (plan, Streams { output, errors, input }) = handover::receive(owner)?;
    let input = match input {
        Some(input) => input,
        None => std::fs::File::open("/dev/null")?.into(),
    };
    rustix::stdio::dup2_stdin(input)?;
    rustix::stdio::dup2_stdout(output)?;
    rustix::stdio::dup2_stderr(errors)?;
    Ok(plan)
}

fn launch(owner: OwnedFd, plan: &Plan) -> u8 {
    let Some(bounds) = &plan.cage.bounds else {
        // Without a cage it must outlive its owner, to end the rest.
        let _ = set_parent_process_death_signal(None);
        return finish(owner.as_fd(), run(owner.as_fd(), plan, Terminal::None));
    };
    let group = group(plan);
    let started = start_init(
        bounds,
        group.as_ref(),
        owner.as_fd(),
        |outside| Places::of(plan, outside),
        |made| finish(owner.as_fd(), made.and_then(|()| run(owner.as_fd(), plan, Terminal::None))),
    );
    match started {
        Ok(init) => {
            // What the owner hears comes from the cage.
            drop(owner);
            let _ = wait_for(init);
            0
        }
        Err(error) => finish(owner.as_fd(), Err(How::refused(error))),
    }
}

/// Tells the owner how it ended, if there still is one.
pub(crate) fn finish(owner: BorrowedFd<'_>, ended: Result<Option<Ended>, How>) -> u8 {
    let (ended, code) = match ended {
        Ok(Some(ended)) => (ended, 0),
        Ok(None) => return OWNER_GONE,
        Err(how) => (Ended::of(how), 1),
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
        tidy(&mut command, plan, bounds);
    }
    supervise(owner, &mut command, terminal, plan.grace).map_err(|error| How::Failed(error.raw_os_error().unwrap_or(0)))
}

/// The environment of a command in a cage: nothing points to what is not there.
fn tidy(command: &mut Command, plan: &Plan, bounds: &Bounds) {
    for name in VARIABLES {
        command.env_remove(name);
    }
    if bounds.confinement.files != FileAccess::Full {
        for name in TEMPORARY.iter().filter(|name| plan.var(name).is_some()) {
            command.env(name, "/tmp");
        }
    }
}
