//! What tests, plays and runs that are decided again use of a host.

use super::{FromHome, Host, Inner};
use crate::children::ChildSpecFactory;
use crate::trace::ReadTrace;
use mainpath_core::{Bodies, State};
use mainpath_runtime::{Config, EnvModels, Models, Runtime};
use mainpath_store::{ReadLog, ScopedStore};
use mainpath_tools::Tools;
use mainpath_types::TraceId;
use std::sync::{Arc, Mutex};

impl Host {
    /// The store, as whoever asks uses it.
    pub(crate) fn scoped(&self) -> ScopedStore<'_> {
        ScopedStore::new(self.store(), self.scope())
    }

    /// A trace that was read here, with where it lies.
    pub(crate) fn read_trace<'a>(
        &'a self,
        trace: &'a TraceId,
        log: &'a ReadLog,
        state: &'a State,
        bodies: &'a (dyn Bodies + Send + Sync),
    ) -> ReadTrace<'a> {
        ReadTrace { store: self.store(), scope: self.scope(), trace, log, state, bodies }
    }

    /// The same host with other tools and models, without servers and skills of its own.
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
