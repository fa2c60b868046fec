//! Parts of a host for tests, playback and what-if runs.

use super::{FromHome, Host, Inner};
use crate::children::ChildSpecFactory;
use mainpath_runtime::{Config, EnvModels, Models, Runtime};
use mainpath_store::ScopedStore;
use mainpath_tools::Tools;
use std::sync::{Arc, Mutex};

impl Host {
    /// The store in the scope of this host.
    pub(crate) fn scoped(&self) -> ScopedStore<'_> {
        ScopedStore::new(self.store(), self.scope())
    }

    /// Returns a host on the same store with other tools and models, without MCP servers and skills.
    pub(crate) fn with_parts(&self, tools: Tools, models: Arc<EnvModels>) -> Host {
        let children = Arc::new(ChildSpecFactory {
            home: Arc::clone(self.inner.backing.home()),
            tools: tools.clone(),
            models: Arc::clone(&models),
            shelf: self.inner.shelf.clone(),
        });
        let config = self.runtime().config().clone();
        Host::from(Inner {
            runtime: Runtime::new(Config { tools, models: Arc::clone(&models) as Arc<dyn Models>, children, ..config }),
            readings: Arc::default(),
            backing: self.inner.backing.clone(),
            models,
            sources: self.inner.sources.clone(),
            memory: None,
            from_home: FromHome::default(),
            shelf: None,
            servers: Mutex::default(),
        })
    }
}
