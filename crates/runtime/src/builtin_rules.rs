//! The rules that come with Mainpath, read once for the folders that they were last asked for.

use mainpath_policy::{Folders, Policy, PolicyError};
use std::sync::{Mutex, PoisonError};

/// Gives the built-in rules: they are the same for all agents that work in one folder, and reading them is most of what an agent's
/// rules cost.
#[derive(Debug, Default)]
pub struct BuiltinRules(Mutex<Option<Policy>>);

impl BuiltinRules {
    /// The rules for these folders, as [`Policy::builtin`] gives them. Errors: as its.
    pub fn of(&self, folders: Folders) -> Result<Policy, PolicyError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| *known.folders() == folders) {
            return Ok(known.clone());
        }
        Ok(last.insert(Policy::builtin(folders)?).clone())
    }
}
