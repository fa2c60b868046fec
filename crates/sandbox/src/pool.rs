//! Launchers, started by one thread that lasts as long as this process: a launcher in charge of a cage is ended with the thread
//! that started it, and inherits its cgroup.
//!
//! Starting a program takes about as long as making a cage. So once one launcher has been used, the next one is started
//! before it is needed: it waits for its plan, with an empty environment and nothing open, and ends with this process.

use crate::handover::{self, Streams};
use crate::launch::EARLY;
use crate::limits;
use crate::plan::Plan;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// The program of a launcher and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

/// A launcher, and our end of its socket.
pub(crate) struct Started {
    pub launcher: Child,
    pub control: UnixStream,
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

fn serve(orders: mpsc::Receiver<Order>) {
    let mut spare: Option<(Program, Started)> = None;
    for Order { program, mut plan, streams, answer } in orders {
        plan.limited = plan.cage.is_closed() && limits::join_shared();
        let early = plan.limited;
        let ready = spare.take().filter(|(known, _)| *known == program).map(|(_, started)| started);
        let _ = answer.send(hand_over(ready, &program, &plan, &streams));
        drop(streams);
        spare = launch(&program, early).ok().map(|started| (program, started));
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
    let started = launch(program, false)?;
    handover::send(&started.control, plan, streams)?;
    Ok(started)
}

/// Starts a launcher that waits for its plan; `early`: in the namespaces of a cage, which takes as long again.
fn launch(program: &Program, early: bool) -> io::Result<Started> {
    let (control, theirs) = UnixStream::pair()?;
    let mut command = Command::new(&program.path);
    command.args(&program.args).args(early.then_some(EARLY)).env_clear().current_dir("/").stdin(OwnedFd::from(theirs));
    let launcher = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(Started { launcher, control })
}

/// Takes a launcher that is about to end, so that nobody need wait for it and nothing of it stays in the process table.
pub(crate) fn reap(launcher: Child) {
    static ENDING: Mutex<Option<mpsc::Sender<Child>>> = Mutex::new(None);
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

fn wait_for_all(ending: &mpsc::Receiver<Child>) {
    let mut left: Vec<Child> = Vec::new();
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
        left.retain_mut(|launcher| matches!(launcher.try_wait(), Ok(None)));
    }
}
