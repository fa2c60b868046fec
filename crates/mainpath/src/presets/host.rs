//! The presets of a host and of an installation.

use super::fields::Known;
use super::list::Presets;
#[cfg(feature = "home")]
use crate::Installation;
use crate::agent::workspace;
#[cfg(feature = "home")]
use crate::home::OPTIONAL;
use crate::{Error, ErrorKind, Home, Host};
use mainpath_tools::Tools;
use mainpath_types::Spec;
use std::path::Path;

impl Host {
    /// The presets that there are in a workspace: its repository's, those of this host's home, those that come with Mainpath. Errors:
    /// the workspace is no folder, or which presets are trusted cannot be read.
    pub fn presets(&self, folder: impl AsRef<Path>) -> Result<Presets, Error> {
        let model = |name: &str| in_words(self.check_model(name));
        let folder = workspace(Some(folder.as_ref()))?;
        Presets::find(&folder, self.home(), &Known { tools: &names(self.home(), self.tools()), model: &model })
    }

    /// The spec of a child that an agent starts in its run of this number: the agent's own, narrowed by a preset. See
    /// [`Preset::child`](super::Preset::child). Errors: there is no such preset, or it cannot be used.
    pub fn child_spec(&self, preset: &str, parent: &Spec, run: u32) -> Result<Spec, Error> {
        let presets = self.presets(&parent.workspace)?;
        presets.choose(preset)?.child(parent, run, self.basis(&parent.rules))
    }
}

#[cfg(feature = "home")]
impl Installation {
    /// The presets that there are in a workspace. Errors: as [`Host::presets`].
    pub fn presets(&self, folder: &Path) -> Result<Presets, Error> {
        let model = |name: &str| in_words(crate::agent::check_model(name, self.models.registry()));
        let home = &self.logs.home;
        let folder = workspace(Some(folder))?;
        Presets::find(&folder, home, &Known { tools: &names(home, &self.tools), model: &model })
    }
}

/// A key that is missing here is no mistake of a preset.
fn in_words(checked: Result<(), Error>) -> Result<(), String> {
    match checked {
        Err(error) if error.kind() != ErrorKind::Auth => Err(error.message().into()),
        _ => Ok(()),
    }
}

/// The tools that there are and could be.
fn names(home: &Home, tools: &Tools) -> Vec<String> {
    let mut names: Vec<String> = tools.specs().into_iter().map(|tool| tool.name).collect();
    names.extend(tools.hidden());
    #[cfg(feature = "home")]
    names.extend(OPTIONAL.iter().map(|tool| tool.name.into()));
    #[cfg(feature = "home")]
    names.extend(home.config.tools.external.iter().map(|tool| tool.name.clone()));
    #[cfg(not(feature = "home"))]
    let _ = home;
    names
}
