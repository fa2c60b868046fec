//! Launchers, started by one thread that lasts as long as this process: a launcher in charge of a cage is ended with the thread
//! that started it, and inherits its cgroup.
//!
//! Starting a program takes about as long as making a cage, and this one is large. So it is started once, as the zygote, which
//! forks launchers; and once one of these has been used, the next is borne before it is needed, and makes a cage like the last
//! one ready (see `forecast.rs`, `ready.rs`), in which it waits for its plan. One whose cage does not fit the next command ends
//! unused. All of them end with this process.

use crate::forecast::Forecast;
use crate::handover::{self, Streams, UNANSWERED};
use crate::launch::{ANSWER, ZYGOTE};
use crate::limits;
use crate::plan::Plan;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// The program of a launcher and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

/// A launcher, and our end of its socket.
pub(crate) struct Started {
    pub launcher: Born,
    pub control: UnixStream,
}

impl Started {
    /// Whether it says that it is a launcher.
    fn answers(&self) -> bool {
        let mut answer = [0];
        let read =
            self.control.set_read_timeout(Some(LONGEST_START)).and_then(|()| (&self.control).read_exact(&mut answer));
        read.is_ok() && answer == [ANSWER] && self.control.set_read_timeout(None).is_ok()
    }

    /// Without its socket it ends.
    fn end(self) {
        drop(self.control);
        reap(self.launcher);
    }
}

/// A child process of this one. Its number is its own until it has been waited for.
pub(crate) struct Born(Pid);

impl Born {
    pub fn pid(&self) -> Pid {
        self.0
    }

    /// Waits for its end.
    pub fn wait(self) -> io::Result<()> {
        rustix::io::retry_on_intr(|| waitpid(Some(self.0), WaitOptions::empty()))?;
        Ok(())
    }

    /// Whether it still runs; once it does not, it is gone.
    fn runs(&self) -> bool {
        matches!(rustix::io::retry_on_intr(|| waitpid(Some(self.0), WaitOptions::NOHANG)), Ok(None))
    }
}

struct Order {
    program: Program,
    plan: Plan,
    streams: Streams,
    answer: mpsc::SyncSender<io::Result<Started>>,
}

/// Hands a plan to a launcher. Errors: none could be started, or the plan cannot be sent.
pub(crate) fn start(program: Program, plan: Plan, streams: Streams) -> io::Result<Started> {
    static ORDERS: Mutex<Option<mpsc::Sender<Order>>> = Mutex::new(None);
    let gone = || io::Error::other("the thread that starts processes is gone");
    let (answer, answered) = mpsc::sync_channel(1);
    {
        let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if orders.is_none() {
            let (sender, receiver) = mpsc::channel();
            std::thread::Builder::new().name("mainpath-launch".into()).spawn(move || serve(receiver))?;
            *orders = Some(sender);
        }
        let order = Order { program, plan, streams, answer };
        orders.as_ref().ok_or_else(gone)?.send(order).map_err(|_| gone())?;
    }
    answered.recv().map_err(|_| gone())?
}

/// What bears launchers of a program, all of them in limited cgroups or none.
struct Zygote {
    program: Program,
    limited: bool,
    process: Started,
}

/// A launcher that waits for a plan, and what it has made ready for.
struct Spare {
    program: Program,
    forecast: Option<Forecast>,
    process: Started,
}

fn serve(orders: mpsc::Receiver<Order>) {
    let mut spare: Option<Spare> = None;
    let mut zygote: Option<Zygote> = None;
    for Order { program, mut plan, streams, answer } in orders {
        plan.limited = plan.cage.is_closed() && limits::join_shared();
        let limited = plan.limited;
        let forecast = Forecast::of(&plan);
        let is_known = |zygote: &Zygote| zygote.program == program && zygote.limited == limited;
        let fits = |spare: &Spare| spare.program == program && spare.forecast == forecast;
        let ready = match spare.take() {
            Some(spare) if fits(&spare) => Some(spare.process),
            other => {
                other.into_iter().for_each(|unfit| unfit.process.end());
                zygote.as_ref().filter(|zygote| is_known(zygote)).and_then(|zygote| zygote.bear(None).ok())
            }
        };
        let _ = answer.send(hand_over(ready, &program, &plan, &streams));
        drop(streams);
        zygote = zygote.take().filter(is_known).or_else(|| {
            let process = launch(&program, Some(ZYGOTE)).ok()?;
            Some(Zygote { program: program.clone(), limited, process })
        });
        if let Some(zygote) = &zygote
            && let Ok(process) = zygote.bear(forecast.as_ref())
        {
            spare = Some(Spare { program, forecast, process });
        } else if let Some(zygote) = zygote.take() {
            // It was killed, or cannot bear.
            zygote.process.end();
        }
    }
}

fn hand_over(ready: Option<Started>, program: &Program, plan: &Plan, streams: &Streams) -> io::Result<Started> {
    if let Some(ready) = ready {
        match handover::send(&ready.control, plan, streams) {
            // It was killed while it waited.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => reap(ready.launcher),
            done => return done.map(|()| ready),
        }
    }
    let started = launch(program, None)?;
    handover::send(&started.control, plan, streams)?;
    Ok(started)
}

impl Zygote {
    /// A launcher that waits for its plan; in a cage that is ready, if it is told what to expect.
    fn bear(&self, forecast: Option<&Forecast>) -> io::Result<Started> {
        let (control, theirs) = UnixStream::pair()?;
        handover::send_socket(&self.process.control, theirs.as_fd())?;
        drop(theirs);
        let mut number = [0; 4];
        (&self.process.control).read_exact(&mut number)?;
        let pid = Pid::from_raw(i32::from_ne_bytes(number)).ok_or(io::ErrorKind::InvalidData)?;
        let started = Started { launcher: Born(pid), control };
        // One that is long is taken in parts, so somebody must be there.
        match forecast.map_or(Ok(()), |forecast| handover::send_forecast(&started.control, &forecast.plan)) {
            Ok(()) => Ok(started),
            Err(error) => {
                started.end();
                Err(error)
            }
        }
    }
}

/// How long a program may take to say that it is a launcher.
const LONGEST_START: Duration = Duration::from_secs(20);
/// So much of what it says instead is told, in bytes.
const LONGEST_WORDS: usize = 400;

/// Starts the program: a launcher that waits for its plan, or what the word makes of it. Errors: it is no launcher, and what it said.
fn launch(program: &Program, word: Option<&str>) -> io::Result<Started> {
    let (control, theirs) = UnixStream::pair()?;
    // A pipe would have to be read for as long as the launcher lives.
    let mut said = File::from(memfd_create("launcher", MemfdFlags::CLOEXEC)?);
    let mut command = Command::new(&program.path);
    command.args(&program.args).args(word).env_clear().current_dir("/").stdin(OwnedFd::from(theirs));
    let launcher = command.stdout(Stdio::null()).stderr(said.try_clone()?).spawn()?;
    // It holds the other end of the socket.
    drop(command);
    let pid = i32::try_from(launcher.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let started = Started { launcher: Born(pid), control };
    if started.answers() {
        return Ok(started);
    }
    // It may be anything, and go on for ever.
    let _ = kill_process(pid, Signal::KILL);
    started.end();
    Err(io::Error::other(unanswered(&mut said)))
}

/// What the program prints about itself when it is started with this word. Errors: it cannot be started, or does not end.
pub(crate) fn answer_of(program: &Program, word: &str) -> io::Result<String> {
    let mut printed = File::from(memfd_create("answer", MemfdFlags::CLOEXEC)?);
    let mut command = Command::new(&program.path);
    command.args(&program.args).arg(word).stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(Stdio::null());
    let mut asked = command.spawn()?;
    let until = Instant::now() + LONGEST_START;
    while asked.try_wait()?.is_none() {
        if Instant::now() > until {
            asked.kill()?;
            asked.wait()?;
            return Err(io::Error::other(UNANSWERED));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut answer = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// That a program is no launcher, and what it said.
fn unanswered(said: &mut File) -> String {
    let mut words = Vec::new();
    let read = said.rewind().and_then(|()| said.take(LONGEST_WORDS as u64).read_to_end(&mut words));
    let words = String::from_utf8_lossy(&words);
    let words: Vec<&str> = words.split_whitespace().collect();
    match read.is_ok() && !words.is_empty() {
        true => format!("{UNANSWERED}; it said: {}", words.join(" ")),
        false => UNANSWERED.into(),
    }
}

/// Takes a launcher that is about to end, so that nobody need wait for it and nothing of it stays in the process table.
pub(crate) fn reap(launcher: Born) {
    static ENDING: Mutex<Option<mpsc::Sender<Born>>> = Mutex::new(None);
    let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    if ending.is_none() {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name("mainpath-reap".into());
        if thread.spawn(move || wait_for_all(&receiver)).is_ok() {
            *ending = Some(sender);
        }
    }
    if let Some(sender) = &*ending {
        // The thread lasts as long as this process.
        let _ = sender.send(launcher);
    }
}

fn wait_for_all(ending: &mpsc::Receiver<Born>) {
    let mut left: Vec<Born> = Vec::new();
    loop {
        let next = match left.is_empty() {
            true => ending.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            false => ending.recv_timeout(Duration::from_millis(5)),
        };
        match next {
            Ok(launcher) => left.push(launcher),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        left.retain(Born::runs);
    }
}
