//! What a host from a home is opened with, and what only such a host has.

use crate::experience::Lookup;
use crate::rules::Checked;
use crate::{Error, LimitOptions};
use mainpath_policy::Policy;
use mainpath_types::RunRules;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What the caller of [`Host::open`](crate::Host::open) says besides the configuration.
#[derive(Clone, Debug, Default)]
pub struct HomeOptions {
    /// Further folders that agents work in.
    pub workspaces: Vec<PathBuf>,
    /// Rules that are added to those of every run.
    pub rules: RunRules,
    /// The waiting times for models; other limits have no effect here.
    pub limits: LimitOptions,
    /// Whether commands may run without a sandbox where none can be made, also if the configuration does not allow it.
    pub no_sandbox: bool,
    /// For a caller that only reads: nothing need be writable.
    pub read_only: bool,
}

/// What agents learned.
pub(crate) struct Memory {
    /// How it is looked up.
    pub lookup: Lookup,
    /// How many entries a new trace is shown; `None`: its agents are not to have it.
    pub shown: Option<usize>,
}

/// What only a host from a home has.
#[derive(Default)]
pub(crate) struct FromHome {
    /// Why no agent can be run: a tool or a channel to people is configured that cannot be used.
    pub unusable: Option<Error>,
    /// Whether commands may run without a sandbox where none can be made.
    pub no_sandbox: bool,
    /// Rules that the caller has just checked: the next run that has them uses them as they are.
    pub checked: Arc<Mutex<Option<Checked>>>,
}

impl FromHome {
    /// The rules that were checked for this workspace and this caller, if they were.
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
