//! The host and the logs that commands use.

use crate::exit::Failure;
use mainpath::{HomeOptions, Host, Logs};

/// The host of this machine's home, and its logs.
#[derive(Clone)]
pub struct App {
    /// Runs agents.
    pub host: Host,
    /// The stored traces.
    pub logs: Logs,
}

impl App {
    /// Opens the host as configured. Errors: the configuration is invalid.
    pub fn open() -> Result<App, Failure> {
        App::with(HomeOptions::default())
    }

    /// Opens the host for reading only: no file or folder has to be writable.
    pub fn look() -> Result<App, Failure> {
        App::with(HomeOptions { read_only: true, ..HomeOptions::default() })
    }

    /// Opens the host to send messages and decisions; with an invalid configuration it does no more than that.
    pub fn for_sending(logs: &Logs) -> Result<App, Failure> {
        Ok(App { host: Host::for_sending(logs)?, logs: logs.clone() })
    }

    /// Opens the host with options of the command line. Errors: the configuration is invalid.
    pub fn with(options: HomeOptions) -> Result<App, Failure> {
        let host = Host::open(options)?;
        let logs = host.logs().cloned().ok_or_else(|| Failure::error("this home keeps no logs"))?;
        Ok(App { host, logs })
    }
}
