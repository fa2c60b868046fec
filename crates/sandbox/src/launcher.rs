//! Starting a command so that it cannot outlive its owner; the other side of [`launcher_main`](crate::launcher_main).

use crate::cage::{Cage, Plan};
use crate::ended::{Ended, How};
use crate::guard::Watch;
use crate::launch::{END, SUPPORT};
use crate::support::Support;
use crate::{handover, limits};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// How commands are started: through a program that runs [`launcher_main`](crate::launcher_main).
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    args: Vec<OsString>,
    hidden: Arc<[OsString]>,
    support: Arc<OnceLock<Support>>,
}

impl Launcher {
    /// A launcher that is started as `program` with `args` before the command's own words.
    pub fn new(program: impl Into<PathBuf>, args: Vec<OsString>) -> Launcher {
        Launcher { program: program.into(), args, hidden: Arc::default(), support: Arc::default() }
    }

    /// This very program, called as `__launch`.
    pub fn current_exe() -> Launcher {
        Launcher::new("/proc/self/exe", vec!["__launch".into()])
    }

    /// The same, with these environment variables kept from commands. Names that start with `MAINPATH_` always are.
    pub fn hide_env<S: Into<OsString>>(self, names: impl IntoIterator<Item = S>) -> Launcher {
        Launcher { hidden: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// What this machine can confine. It is found out by trying, in some milliseconds and once: blocks for that long.
    pub fn support(&self) -> Support {
        let ask = || {
            let asked =
                std::process::Command::new(&self.program).args(&self.args).arg(SUPPORT).stdin(Stdio::null()).output();
            asked.map_or_else(Support::unknown, |output| Support::parse(&String::from_utf8_lossy(&output.stdout)))
        };
        self.support.get_or_init(ask).clone()
    }

    /// Starts a command in a folder and a cage, with nothing to read, both outputs in one stream, and `effect_id` as
    /// `MAINPATH_CALL` in its environment. It is ended when the [`Running`] is dropped. Errors: no process could be
    /// started; that its cage could not be made is told in [`How::Refused`].
    pub fn start(&self, words: &[&OsStr], folder: &Path, effect_id: &str, cage: &Cage) -> io::Result<Running> {
        let (reader, writer) = io::pipe()?;
        let outputs = [writer.try_clone()?.into(), writer.into()];
        let process = self.spawn(words, folder, effect_id, cage, &[], None, outputs)?;
        Ok(Running { output: pipe::Receiver::from_owned_fd(reader.into())?, process })
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
        let outputs = [output.into(), errors.into()];
        let process = self.spawn(words, folder, effect_id, cage, env, Some(input.into()), outputs)?;
        Ok(Talking {
            stdin: pipe::Sender::from_owned_fd(stdin.into())?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
            process,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the two ways of starting differ in the last three alone")]
    fn spawn(
        &self,
        words: &[&OsStr],
        folder: &Path,
        effect_id: &str,
        cage: &Cage,
        env: &[(OsString, OsString)],
        input: Option<OwnedFd>,
        [stdout, stderr]: [OwnedFd; 2],
    ) -> io::Result<Process> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{effect_id}#{}-{number}", std::process::id());
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.args).args(words).stdin(OwnedFd::from(theirs)).stdout(stdout).stderr(stderr);
        for name in std::env::vars_os().map(|(name, _)| name) {
            if name.as_encoded_bytes().starts_with(b"MAINPATH_") || self.hidden.contains(&name) {
                command.env_remove(name);
            }
        }
        command.envs(env.iter().map(|(name, value)| (name, value))).env(MARK, &mark);
        let closed = cage.is_closed();
        let ((cage, watch), folder) = (cage.guarded(), folder.to_path_buf());
        let (launcher, ours) = on_lasting_thread(move || {
            let limited = closed && limits::join_shared();
            // Its plan waits in the socket when the launcher begins.
            handover::send(&ours, &Plan { cage, folder, limited }, input)?;
            let launcher = command.spawn()?;
            Ok((launcher, ours))
        })?;
        ours.set_nonblocking(true)?;
        Ok(Process { control: UnixStream::from_std(ours)?, heard: Vec::new(), launcher, mark, watch })
    }
}

const MARK: &str = "MAINPATH_CALL";

/// Does something on a thread that lasts as long as this process: a launcher is ended with the thread that started it, and
/// inherits its cgroup.
fn on_lasting_thread<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    type Work = Box<dyn FnOnce() + Send>;
    static QUEUE: Mutex<Option<mpsc::Sender<Work>>> = Mutex::new(None);
    let gone = || io::Error::other("the thread that starts processes is gone");
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let (answer, answered) = mpsc::sync_channel(1);
    let job: Work = Box::new(move || {
        let _entered = runtime.enter();
        let _ = answer.send(work());
    });
    {
        let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.is_none() {
            let (sender, jobs) = mpsc::channel::<Work>();
            let serve = move || jobs.into_iter().for_each(|job| job());
            std::thread::Builder::new().name("mainpath-launch".into()).spawn(serve)?;
            *queue = Some(sender);
        }
        queue.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
    }
    answered.recv().map_err(|_| gone())?
}

/// A command that runs under a launcher. Dropping it ends the command at once, unconfirmed.
pub struct Running {
    /// Both of its outputs, in the order in which they were written.
    pub output: pipe::Receiver,
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
    launcher: tokio::process::Child,
    mark: String,
    watch: Option<Watch>,
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
            && let Some(pid) = self.launcher_pid()
        {
            let mark = format!("{MARK}={}", self.mark);
            // Not yet reaped, the launcher's number still names its session and nothing else.
            tokio::task::spawn_blocking(move || clear(pid, mark.as_bytes())).await.map_err(io::Error::other)??;
            self.launcher.wait().await?;
        }
        // Otherwise it is reaped when it has taken its cage down, which takes longer than anybody need wait for.
        ended.planted = self.watch.as_ref().map(Watch::changed).unwrap_or_default();
        Ok(ended)
    }

    fn launcher_pid(&self) -> Option<Pid> {
        self.launcher.id().and_then(|id| Pid::from_raw(id.cast_signed()))
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
