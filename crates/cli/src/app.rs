//! What commands work with.

use crate::exit::Failure;
use mainpath::{HomeOptions, Host, Logs};

/// The host of this machine's home, and the logs that it writes.
#[derive(Clone)]
pub struct App {
    /// Runs agents, and has what they are run with.
    pub host: Host,
    /// Where traces are.
    pub logs: Logs,
}

impl App {
    /// As the configuration says. Errors: what is wrong with it.
    pub fn open() -> Result<App, Failure> {
        App::with(HomeOptions::default())
    }

    /// For a command that only reads: nothing need be writable.
    pub fn look() -> Result<App, Failure> {
        App::with(HomeOptions { read_only: true, ..HomeOptions::default() })
    }

    /// As the configuration and the command line say. Errors: what is wrong with the configuration.
    pub fn with(options: HomeOptions) -> Result<App, Failure> {
        let host = Host::open(options)?;
        let logs = host.logs().cloned().ok_or_else(|| Failure::error("this home keeps no logs"))?;
        Ok(App { host, logs })
    }
}
