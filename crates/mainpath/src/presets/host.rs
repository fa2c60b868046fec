//! The presets of a host and of an installation.

use super::fields::Known;
use super::list::Presets;
use crate::agent::workspace;
#[cfg(feature = "home")]
use crate::home::OPTIONAL;
use crate::{Error, ErrorKind, Home, Host};
use mainpath_runtime::EnvModels;
use mainpath_tools::Tools;
use mainpath_types::Spec;
use std::path::Path;

/// The presets that there are in a workspace. Errors: the workspace is no folder, or which presets are trusted cannot be read.
pub(crate) fn presets_in(folder: &Path, home: &Home, tools: &Tools, models: &EnvModels) -> Result<Presets, Error> {
    let folder = workspace(Some(folder))?;
    // Those that were added by hand are in no registry.
    let model = |name: &str| {
        if models.has(name) { Ok(()) } else { without_key(crate::agent::check_model(name, models.registry())) }
    };
    Presets::find(&folder, home, &Known { tools: &names(home, tools), model: &model })
}

impl Host {
    /// The presets that there are in a workspace: its repository's, those of this host's home, those that come with Mainpath. Errors:
    /// the workspace is no folder, or which presets are trusted cannot be read.
    pub fn presets(&self, folder: impl AsRef<Path>) -> Result<Presets, Error> {
        presets_in(folder.as_ref(), self.home(), self.tools(), self.models())
    }

    /// The spec of a child that an agent starts in its run of this number, counted from 1: the agent's own, narrowed by a preset. It never has
    /// more tools, rules, access, secrets or limits than the agent. Errors: there is no such preset, or it cannot be used.
    pub fn child_spec(&self, preset: &str, parent: &Spec, run: u32) -> Result<Spec, Error> {
        let presets = self.presets(parent.source())?;
        presets.choose(preset)?.child(parent, run, self.spec_inputs(&parent.rules))
    }
}

/// The same result without a missing key, which is no mistake of a preset.
fn without_key(checked: Result<(), Error>) -> Result<(), Error> {
    checked.or_else(|error| if error.kind() == ErrorKind::Auth { Ok(()) } else { Err(error) })
}

/// The tools that there are and could be.
fn names(home: &Home, tools: &Tools) -> Vec<String> {
    #[cfg(feature = "home")]
    let optional = OPTIONAL.iter().map(|tool| tool.name.into());
    #[cfg(feature = "home")]
    let others = optional.chain(home.config.tools.external.iter().map(|tool| tool.name.clone()));
    #[cfg(not(feature = "home"))]
    let others = {
        let _ = home;
        std::iter::empty()
    };
    tools.names().into_iter().chain(others).collect()
}
