//! Starting a command so that it cannot outlive its owner; the other side of [`launcher_main`](crate::launcher_main).

use crate::launch::END;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// How commands are started: through a program that runs [`launcher_main`](crate::launcher_main).
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    args: Vec<OsString>,
    hidden: Arc<[OsString]>,
}

impl Launcher {
    /// A launcher that is started as `program` with `args` before the command's own words.
    pub fn new(program: impl Into<PathBuf>, args: Vec<OsString>) -> Launcher {
        Launcher { program: program.into(), args, hidden: Arc::default() }
    }

    /// This very program, called as `__launch`.
    pub fn current_exe() -> Launcher {
        Launcher::new("/proc/self/exe", vec!["__launch".into()])
    }

    /// The same, with these environment variables kept from commands. Names that start with `MAINPATH_` always are.
    pub fn hide_env<S: Into<OsString>>(self, names: impl IntoIterator<Item = S>) -> Launcher {
        Launcher { hidden: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Starts a command in a folder, with nothing to read, both outputs in one stream, and `effect_id` as
    /// `MAINPATH_CALL` in its environment. It is ended when the [`Running`] is dropped.
    pub(crate) fn start(&self, words: &[&OsStr], folder: &Path, effect_id: &str) -> io::Result<Running> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{effect_id}#{}-{number}", std::process::id());
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (reader, writer) = io::pipe()?;
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.args).args(words).current_dir(folder);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(writer.try_clone()?).stderr(writer);
        for name in std::env::vars_os().map(|(name, _)| name) {
            if name.as_encoded_bytes().starts_with(b"MAINPATH_") || self.hidden.contains(&name) {
                command.env_remove(name);
            }
        }
        command.env(MARK, &mark);
        let launcher = command.spawn()?;
        // The command holds the writing ends of the pipe until it is dropped.
        drop(command);
        let (control, output) = (UnixStream::from_std(ours)?, pipe::Receiver::from_owned_fd(reader.into())?);
        Ok(Running { output, process: Process { control, heard: Vec::new(), launcher, mark } })
    }
}

const MARK: &str = "MAINPATH_CALL";

/// A command that runs under a launcher. Dropping it ends the command at once, unconfirmed.
pub(crate) struct Running {
    /// Both of its outputs, in the order in which they were written.
    pub output: pipe::Receiver,
    pub process: Process,
}

/// The processes of a running command.
pub(crate) struct Process {
    control: UnixStream,
    heard: Vec<u8>,
    launcher: tokio::process::Child,
    mark: String,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub how: How,
    /// Before the launcher acted on any wish to end it.
    pub by_itself: bool,
    /// Processes that were ended because they still ran after the command.
    pub cleared: usize,
    /// Processes of other users, which could not be ended.
    pub left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// With an exit code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be ended: it belongs to another user.
    StillRunning,
    /// It could not be started; the error's number.
    Failed(i32),
    /// Its launcher was killed.
    Lost,
}

impl Process {
    /// Asks the launcher to end the command, with a short grace.
    pub async fn end(&mut self) {
        // A launcher that was stopped could not hear it. One that has gone needs no word.
        if let Some(pid) = self.launcher_pid() {
            let _ = kill_process(pid, Signal::CONT);
        }
        let _ = self.control.write_all(&[END]).await;
    }

    /// Waits until the launcher has spoken its last word. May be dropped and called again.
    pub async fn launcher_done(&mut self) {
        loop {
            match self.control.read_buf(&mut self.heard).await {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// How it ended; nothing of it runs any more, but for [`Ended::left`]. To be called after [`Process::launcher_done`].
    pub async fn ended(mut self) -> io::Result<Ended> {
        let ended = parse(&String::from_utf8_lossy(&self.heard));
        if ended.how == How::Lost
            && let Some(pid) = self.launcher_pid()
        {
            let mark = format!("{MARK}={}", self.mark);
            // Not yet reaped, the launcher's number still names its session and nothing else.
            tokio::task::spawn_blocking(move || clear(pid, mark.as_bytes())).await.map_err(io::Error::other)??;
        }
        self.launcher.wait().await?;
        Ok(ended)
    }

    fn launcher_pid(&self) -> Option<Pid> {
        self.launcher.id().and_then(|id| Pid::from_raw(id.cast_signed()))
    }
}

fn parse(line: &str) -> Ended {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |text: &str| text.parse::<i32>().ok();
    let counted = |text: &str| text.parse::<usize>().unwrap_or(0);
    let lost = Ended { how: How::Lost, by_itself: false, cleared: 0, left: 0 };
    match words.as_slice() {
        [how, value, "by", why, "ended", cleared, "left", left] => {
            let how = match (*how, number(value)) {
                ("exit", Some(code)) => How::Exit(code),
                ("signal", Some(signal)) => How::Signal(signal),
                ("running", _) => How::StillRunning,
                _ => return lost,
            };
            Ended { how, by_itself: *why == "itself", cleared: counted(cleared), left: counted(left) }
        }
        ["failed", value] => Ended { how: How::Failed(number(value).unwrap_or(0)), ..lost },
        _ => lost,
    }
}

/// Ends what a killed launcher has left: its session, and what bears the call's mark in its environment.
fn clear(launcher: Pid, mark: &[u8]) -> io::Result<()> {
    let session = launcher.to_string();
    loop {
        let mut found = 0;
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else { continue };
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
            let fields: Vec<&str> = rest.split(' ').collect();
            if pid == launcher || fields.first().is_none_or(|state| matches!(*state, "Z" | "X")) {
                continue;
            }
            let marked = || {
                let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|variable| variable == mark)
            };
            // State, parent, group, session.
            if (fields.get(3) == Some(&session.as_str()) || marked()) && kill_process(pid, Signal::KILL).is_ok() {
                found += 1;
            }
        }
        if found == 0 {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_is_no_report_means_that_the_launcher_was_lost() {
        let ended = |how, by_itself, cleared, left| Ended { how, by_itself, cleared, left };
        assert_eq!(parse("exit 3 by itself ended 1 left 2\n"), ended(How::Exit(3), true, 1, 2));
        assert_eq!(parse("signal 9 by asked ended 0 left 0\n"), ended(How::Signal(9), false, 0, 0));
        assert_eq!(parse("running 0 by asked ended 0 left 1\n"), ended(How::StillRunning, false, 0, 1));
        assert_eq!(parse("failed 2\n"), ended(How::Failed(2), false, 0, 0));
        for line in ["", "exit", "exit 3 by itself ended 1 le", "fail 2", "failed"] {
            assert_eq!(parse(line), ended(How::Lost, false, 0, 0), "{line:?}");
        }
    }
}
