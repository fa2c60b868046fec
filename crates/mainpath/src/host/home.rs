//! The options for opening a host from a home, and the state that only such a host has.

use crate::experience::Lookup;
use crate::rules::Checked;
use crate::{Error, LimitOptions};
use mainpath_policy::Policy;
use mainpath_types::RunRules;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The options of [`Host::open`](crate::Host::open), in addition to the configuration.
#[derive(Clone, Debug, Default)]
pub struct HomeOptions {
    /// Further folders that agents work in.
    pub workspaces: Vec<PathBuf>,
    /// Rules that are added to those of every run.
    pub rules: RunRules,
    /// The timeouts of requests to models. Other limits have no effect here.
    pub limits: LimitOptions,
    /// Run commands without a sandbox if none can be created, even if the configuration does not allow it.
    pub no_sandbox: bool,
    /// Open for reading only: no file or folder has to be writable.
    pub read_only: bool,
}

/// The experiences of agents.
pub(crate) struct Memory {
    /// The lookup of experiences.
    pub lookup: Lookup,
    /// The number of entries shown to a new trace; `None` if agents get no experiences.
    pub shown: Option<usize>,
}

/// The state that only a host from a home has.
#[derive(Default)]
pub(crate) struct FromHome {
    /// The reason why no agent can run: a configured tool or channel to people cannot be used.
    pub unusable: Option<Error>,
    /// The configuration is invalid: the host was opened to send messages.
    pub sends_only: bool,
    /// The rules that the caller has just loaded, for the next run that has them.
    pub checked: Arc<Mutex<Option<Checked>>>,
}

impl FromHome {
    /// The rules that were loaded for this workspace and this caller, if any.
    pub fn checked_rules(&self, workspace: &str, run: &RunRules) -> Option<Arc<Policy>> {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let checked = checked.as_ref().filter(|of| of.workspace == workspace && of.run == *run)?;
        Some(Arc::clone(&checked.policy))
    }

    /// Errors: why no agent can be run.
    pub fn check_usable(&self) -> Result<(), Error> {
        self.unusable.clone().map_or(Ok(()), Err)
    }
}
