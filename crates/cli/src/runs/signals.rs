//! The signals by which a run is asked to stop.

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

/// Whether who started us wants us to outlive the terminal. Told by Linux; elsewhere it is not known.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
