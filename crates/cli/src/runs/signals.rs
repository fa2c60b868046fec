//! The signals by which a run is asked to stop.

use crate::exit::{Exit, Failure};
use mainpath::Error;
use mainpath::what_if::StopWork;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for Ctrl-C, for a supervisor that ends the program, and for a terminal that goes.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`: then a terminal that goes is no reason to stop.
    hangup: Option<Signal>,
}

/// Which of them came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A person at the terminal pressed Ctrl-C.
    Interrupt,
    /// A supervisor ends the program, or the terminal goes.
    End,
}

impl Heard {
    /// What to do for another one.
    pub fn again(self) -> &'static str {
        match self {
            Heard::Interrupt => "Ctrl-C again",
            Heard::End => "a second signal",
        }
    }
}

impl Signals {
    /// Listens from now on. Errors: the system does not let us.
    pub fn listen() -> std::io::Result<Signals> {
        let hangup = (!ignores_hangup()).then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Heard {
        let hangup = async {
            match &mut self.hangup {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Heard::Interrupt,
            _ = self.terminate.recv() => Heard::End,
            _ = hangup => Heard::End,
        }
    }
}

/// Has work in copies of folders stop at the first signal from now on; at the second the program leaves at once. Errors: the system does
/// not let us listen.
pub fn stop_at_signals(stop: &StopWork) -> std::io::Result<()> {
    let (mut signals, stop) = (Signals::listen()?, stop.clone());
    tokio::spawn(async move {
        let heard = signals.next().await;
        eprintln!("mainpath: stopping, and removing the copies; {} leaves at once", heard.again());
        stop.stop();
        signals.next().await;
        // What is left is removed by the next that makes copies.
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(())
}

/// The failure of such work: where somebody stopped it, it says so.
pub fn stopped(error: Error, stop: &StopWork) -> Failure {
    match stop.is_stopped() {
        true => Failure { exit: Exit::Interrupted, message: error.message().into() },
        false => error.into(),
    }
}

/// Whether who started us wants us to outlive the terminal. Told by Linux; elsewhere it is not known.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
