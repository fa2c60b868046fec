//! Starting a command so that it cannot outlive its owner; the other side of [`launcher_main`](crate::launcher_main).

use crate::cage::Cage;
use crate::ended::{Ended, How};
use crate::handover::Streams;
use crate::launch::SUPPORT;
use crate::plan::Plan;
use crate::planted::Watch;
use crate::pool::{self, Born, Program, Started};
use crate::supervise::{END, GracePeriods};
use crate::support::Support;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::runtime::{Handle, RuntimeFlavor};

/// How commands are started: through a program that runs [`launcher_main`](crate::launcher_main).
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Without one, nothing is started.
    program: Option<Program>,
    hidden: Arc<[OsString]>,
    support: Arc<OnceLock<Support>>,
    grace: GracePeriods,
    may_run_open: bool,
}

impl Launcher {
    /// A launcher that is started as `program` with `args`.
    pub fn new(program: impl Into<PathBuf>, args: Vec<OsString>) -> Launcher {
        Launcher {
            program: Some(Program { path: program.into(), args }),
            hidden: Arc::default(),
            support: Arc::default(),
            grace: GracePeriods::default(),
            may_run_open: false,
        }
    }

    /// This very program, called as `__launch`.
    pub fn current_exe() -> Launcher {
        Launcher::new("/proc/self/exe", vec!["__launch".into()])
    }

    /// None: whatever is to be started is refused. For a program that has not said by which one its commands are to be started.
    pub fn none() -> Launcher {
        Launcher {
            program: None,
            hidden: Arc::default(),
            support: Arc::default(),
            grace: GracePeriods::default(),
            may_run_open: false,
        }
    }

    /// The same, with these grace periods instead of the default ones.
    pub fn grace(self, grace: GracePeriods) -> Launcher {
        Launcher { grace, ..self }
    }

    /// The same, where the owner accepts that commands run without a sandbox if none can be made.
    pub fn run_open(self, accepted: bool) -> Launcher {
        Launcher { may_run_open: accepted, ..self }
    }

    /// Returns true if the owner accepts that commands run without a sandbox if none can be made.
    pub fn may_run_open(&self) -> bool {
        self.may_run_open
    }

    /// The same, with these environment variables kept from commands. Names that start with `MAINPATH_` always are.
    pub fn hide_env<S: Into<OsString>>(self, names: impl IntoIterator<Item = S>) -> Launcher {
        Launcher { hidden: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// What this machine can confine. It is found out by trying, in some milliseconds and once: blocks for that long.
    pub fn support(&self) -> Support {
        let ask = || {
            let Some(program) = &self.program else { return Support::unknown(io::Error::other(NO_LAUNCHER)) };
            pool::answer_of(program, SUPPORT).map_or_else(Support::unknown, |report| Support::parse(&report))
        };
        self.support.get_or_init(ask).clone()
    }

    /// Starts a command in a folder and a cage, with nothing to read, both outputs in one stream, and `effect_id` as
    /// `MAINPATH_CALL` in its environment. It is ended when the [`Running`] is dropped. Errors: no process could be
    /// started; that its cage could not be made is told in [`How::Refused`].
    pub fn start(&self, words: &[&OsStr], folder: &Path, effect_id: &str, cage: &Cage) -> io::Result<Running> {
        let (reader, writer) = io::pipe()?;
        let streams = Streams { output: writer.try_clone()?.into(), errors: writer.into(), input: None };
        let process = self.spawn(Start { words, folder, effect_id, cage }, &[], streams)?;
        Ok(Running { output: pipe::Receiver::from_owned_fd(reader.into())?, errors: None, process })
    }

    /// The same with its outputs told apart.
    pub fn start_apart(&self, words: &[&OsStr], folder: &Path, effect_id: &str, cage: &Cage) -> io::Result<Running> {
        let ((stdout, output), (stderr, errors)) = (io::pipe()?, io::pipe()?);
        let streams = Streams { output: output.into(), errors: errors.into(), input: None };
        let process = self.spawn(Start { words, folder, effect_id, cage }, &[], streams)?;
        let errors = Some(pipe::Receiver::from_owned_fd(stderr.into())?);
        Ok(Running { output: pipe::Receiver::from_owned_fd(stdout.into())?, errors, process })
    }

    /// Starts a command that is talked to, such as a server on standard input and output, with further variables in its
    /// environment. Otherwise as [`Launcher::start`].
    pub fn command(
        &self,
        words: &[&OsStr],
        folder: &Path,
        effect_id: &str,
        cage: &Cage,
        env: &[(OsString, OsString)],
    ) -> io::Result<Talking> {
        let ((input, stdin), (stdout, output), (stderr, errors)) = (io::pipe()?, io::pipe()?, io::pipe()?);
        let streams = Streams { output: output.into(), errors: errors.into(), input: Some(input.into()) };
        let process = self.spawn(Start { words, folder, effect_id, cage }, env, streams)?;
        Ok(Talking {
            stdin: pipe::Sender::from_owned_fd(stdin.into())?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
            process,
        })
    }

    fn spawn(&self, start: Start<'_>, env: &[(OsString, OsString)], streams: Streams) -> io::Result<Process> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let program = self.program.clone().ok_or_else(|| io::Error::other(NO_LAUNCHER))?;
        let Start { words, folder, effect_id, cage } = start;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{effect_id}#{}-{number}", std::process::id());
        let is_hidden = |name: &OsString| {
            name.as_encoded_bytes().starts_with(b"MAINPATH_")
                || self.hidden.contains(name)
                || env.iter().any(|(own, _)| own == name)
        };
        let inherited = std::env::vars_os().filter(|(name, _)| !is_hidden(name));
        let own = [(MARK.into(), mark.clone().into())];
        let env = inherited.chain(env.iter().cloned()).chain(own).collect();
        let (cage, watch) = blocking(|| cage.guarded());
        let words = words.iter().map(OsString::from).collect();
        let plan = Plan { cage, words, folder: folder.into(), env, limited: false, grace: self.grace };
        let Started { launcher, control } = pool::start(program, plan, streams)?;
        control.set_nonblocking(true)?;
        let control = UnixStream::from_std(control)?;
        Ok(Process { control, heard: Vec::new(), launcher: Some(launcher), mark, effect_id: effect_id.into(), watch })
    }
}

/// Looking through a large workspace takes a while: other tasks go on meanwhile, where there are threads for them.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// What an embedding program is told that has no launcher.
const NO_LAUNCHER: &str = "this program has no launcher, so it starts no processes; call mainpath::launcher_main() first in \
    main, or give its host a launcher";

/// What all ways of starting have in common.
struct Start<'a> {
    words: &'a [&'a OsStr],
    folder: &'a Path,
    effect_id: &'a str,
    cage: &'a Cage,
}

const MARK: &str = "MAINPATH_CALL";

/// A command that runs under a launcher. Dropping it ends the command at once, unconfirmed.
pub struct Running {
    /// Its output; both of its outputs, in the order in which they were written, where these are not told apart.
    pub output: pipe::Receiver,
    /// Its error output, where it is told apart.
    pub errors: Option<pipe::Receiver>,
    /// Its processes.
    pub process: Process,
}

/// A command that is talked to. Dropping it ends the command at once, unconfirmed.
pub struct Talking {
    /// What it reads.
    pub stdin: pipe::Sender,
    /// What it answers.
    pub stdout: pipe::Receiver,
    /// What it says beside that.
    pub stderr: pipe::Receiver,
    /// Its processes.
    pub process: Process,
}

/// The processes of a running command. Dropping it ends them at once, unconfirmed.
pub struct Process {
    control: UnixStream,
    heard: Vec<u8>,
    /// Taken when it is waited for.
    launcher: Option<Born>,
    mark: String,
    effect_id: String,
    watch: Option<Watch>,
}

impl Process {
    /// Asks the launcher to end the command, with a short grace.
    pub async fn end(&mut self) {
        // A launcher that was stopped could not hear it. One that has gone needs no word.
        if let Some(pid) = self.launcher.as_ref().map(Born::pid) {
            let _ = kill_process(pid, Signal::CONT);
        }
        let _ = self.control.write_all(&[END]).await;
    }

    /// Waits until the launcher has spoken its last word. May be dropped and called again.
    pub async fn launcher_done(&mut self) {
        // The line is the last word; without one the end of the stream is.
        while !self.heard.ends_with(b"\n") {
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
        let mut ended = Ended::parse(&String::from_utf8_lossy(&self.heard));
        if ended.how == How::Lost
            && let Some(launcher) = self.launcher.take()
        {
            let pid = launcher.pid();
            let mark = format!("{MARK}={}", self.mark);
            // Not yet reaped, the launcher's number still names its session and nothing else.
            let clear = move || clear(pid, mark.as_bytes()).and_then(|()| launcher.wait().map(drop));
            tokio::task::spawn_blocking(clear).await.map_err(io::Error::other)??;
        }
        // Otherwise it ends when it has taken its cage down, which takes longer than anybody need wait for.
        if let Some(watch) = self.watch.take() {
            let name = self.effect_id.clone();
            let settled = tokio::task::spawn_blocking(move || watch.settle(&name)).await;
            ended.planted = settled.map_err(io::Error::other)?;
        }
        Ok(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its socket closes, so it ends everything.
        if let Some(launcher) = self.launcher.take() {
            pool::reap(launcher);
        }
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
