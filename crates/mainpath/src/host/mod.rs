//! The host: everything that agents are run with, put together once.

mod denials;
#[cfg(feature = "home")]
mod home;
#[cfg(feature = "home")]
mod open;
#[cfg(feature = "home")]
mod parts;
#[cfg(feature = "home")]
mod sending;

#[cfg(feature = "home")]
pub use home::HomeOptions;
#[cfg(feature = "home")]
pub(crate) use home::{FromHome, Memory};

use crate::agent::{SpecInputs, env};
use crate::rules::Sources;
use crate::skills::Shelf;
use crate::trace::{Read, Readings};
use crate::{Error, Home, Logs};
#[cfg(feature = "mcp")]
use mainpath_mcp::Mcp;
use mainpath_policy::Policy;
use mainpath_providers::{ModelPlace, Registry};
use mainpath_runtime::{EnvModels, Runtime, Vault};
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_tools::Tools;
use mainpath_types::{Principal, RunRules, TraceId};
#[cfg(feature = "mcp")]
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(feature = "mcp")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Runs agents. Clones are cheap and share everything; active agents run until the last clone is dropped and the process exits.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
    /// Whose traces, and who asks.
    scope: Scope,
}

/// MCP servers that are connected.
#[cfg(feature = "mcp")]
pub(crate) struct Connected {
    pub servers: Arc<Mcp>,
    /// The place that lists them; `None` for a host that was built by hand.
    pub place: Option<ServerPlace>,
}

/// The place that lists the MCP servers of a run.
#[cfg(feature = "mcp")]
#[derive(PartialEq, Eq)]
pub(crate) struct ServerPlace {
    /// The workspace.
    pub workspace: PathBuf,
    /// The file that the run names.
    pub run_file: Option<PathBuf>,
}

pub(crate) struct Inner {
    pub runtime: Runtime,
    /// Long logs that were read a moment ago.
    pub readings: Arc<Readings>,
    pub backing: Backing,
    pub models: Arc<EnvModels>,
    pub sources: Sources,
    /// The experiences of agents.
    #[cfg(feature = "home")]
    pub memory: Option<Memory>,
    /// The state that only a host from a home has.
    #[cfg(feature = "home")]
    pub from_home: FromHome,
    /// The skills, if it has any.
    pub shelf: Option<Shelf>,
    /// The connected MCP servers. They end with the host.
    #[cfg(feature = "mcp")]
    pub servers: Mutex<Option<Connected>>,
}

/// Where traces are stored, and the folders of Mainpath's own.
#[derive(Clone)]
pub(crate) enum Backing {
    /// In files, with sessions and an index.
    Files(Logs),
    /// In memory, or in a store of the caller's.
    Store {
        home: Arc<Home>,
        scope: Scope,
        /// The folder of the home. It is removed with the last host that has it.
        _own: Arc<TempDir>,
    },
}

impl std::fmt::Debug for Host {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Host").field("data", &self.home().data).finish_non_exhaustive()
    }
}

impl Host {
    /// Returns the same host acting for another principal of the same tenant, whose name is recorded with messages, approvals and answers.
    pub fn acting_as(&self, who: Principal) -> Host {
        Host { inner: Arc::clone(&self.inner), scope: Scope { principal: who, ..self.scope.clone() } }
    }

    /// The tools that agents can have; more can be added at any time.
    pub fn tools(&self) -> &Tools {
        &self.runtime().config().tools
    }

    /// The runtime below.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.runtime().config().store
    }

    /// Why the last write of a log could not be made durable; `None` if it was.
    pub fn store_problem(&self) -> Option<String> {
        self.store().problem()
    }

    /// Whose traces these are, and in whose name it acts.
    pub fn whose(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Its folders and configuration.
    pub fn home(&self) -> &Home {
        self.inner.backing.home()
    }

    /// The files that traces are kept in, if they are.
    pub fn logs(&self) -> Option<&Logs> {
        match &self.inner.backing {
            Backing::Files(logs) => Some(logs),
            Backing::Store { .. } => None,
        }
    }

    /// Checks that the host can run agents. Errors: a configured tool or channel to people cannot be used.
    pub fn check_usable(&self) -> Result<(), Error> {
        #[cfg(feature = "home")]
        self.inner.from_home.check_usable()?;
        Ok(())
    }

    /// Returns true if the configuration is invalid, so that the host sends messages and drives no trace.
    pub(crate) fn sends_only(&self) -> bool {
        #[cfg(feature = "home")]
        return self.inner.from_home.sends_only;
        #[cfg(not(feature = "home"))]
        false
    }

    /// What is kept of a trace.
    pub(crate) fn at<'a>(&'a self, trace: &'a TraceId) -> TraceStore<'a> {
        TraceStore::new(self.store(), self.scope(), trace)
    }

    /// The sources of rules.
    pub fn sources(&self) -> &Sources {
        &self.inner.sources
    }

    pub(crate) fn readings(&self) -> &Arc<Readings> {
        &self.inner.readings
    }

    /// The log of a trace and the state that it makes, now. Errors: there is none, or it cannot be read.
    pub(crate) async fn read(&self, trace: &TraceId) -> Result<Arc<Read>, Error> {
        self.readings().of(self.at(trace)).await
    }

    /// The models.
    pub fn models(&self) -> &Arc<EnvModels> {
        &self.inner.models
    }

    /// Whether there can be such a model. Errors: no such name, or no key for it ([`ErrorKind::Auth`](crate::ErrorKind::Auth)).
    pub fn check_model(&self, model: &str) -> Result<(), Error> {
        // Those that were added by hand are in no registry.
        if self.inner.models.has(model) { Ok(()) } else { Ok(self.inner.models.resolve(model).map(drop)?) }
    }

    /// Returns true if any caller may name this model: its provider is known, or the owner configured it. Other names choose where a
    /// conversation goes (an address), or which file or trace is read (a script, a recording).
    pub fn is_model_of_owner(&self, model: &str) -> bool {
        let set = env("MAINPATH_MODEL");
        let mut configured = self.home().configured_models().chain(set.as_deref());
        let place = self.inner.models.registry().place_of(model);
        // A name of no known form is refused with its reason later.
        matches!(place, None | Some(ModelPlace::Provider)) || configured.any(|known| known.trim() == model.trim())
    }

    /// The inputs for specs, with these rules of the caller.
    pub(crate) fn spec_inputs<'a>(&'a self, rules: &'a RunRules) -> SpecInputs<'a> {
        let keys = self.models();
        let (home, tools, skills) = (self.home(), self.tools(), self.skills());
        SpecInputs { home, tools, skills, models: keys.registry(), rules, keys }
    }

    /// The registry of models and providers.
    pub fn registry(&self) -> &Registry {
        self.models().registry()
    }

    /// The secrets that are never written.
    pub fn vault(&self) -> &Vault {
        &self.runtime().config().vault
    }

    /// The skills that its agents can have; nothing if it was not given any ([`HostBuilder::skills`](crate::HostBuilder::skills)).
    pub fn skills(&self) -> Option<&Shelf> {
        self.inner.shelf.as_ref()
    }

    /// All rules that hold in a workspace for a run with these. Errors: file or flag, line, what is wrong.
    pub(crate) fn policy(&self, workspace: &str, rules: &RunRules) -> Result<Arc<Policy>, Error> {
        #[cfg(feature = "home")]
        if let Some(checked) = self.inner.from_home.checked_rules(workspace, rules) {
            return Ok(checked);
        }
        Ok(Arc::new(self.inner.sources.load(workspace, rules)?))
    }
}

#[cfg(feature = "mcp")]
impl Host {
    fn connected(&self) -> MutexGuard<'_, Option<Connected>> {
        self.inner.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps connected MCP servers until the host ends or [`Host::close_servers`] is called.
    #[cfg(feature = "home")]
    pub(crate) fn keep_servers(&self, servers: Mcp, place: ServerPlace) {
        *self.connected() = Some(Connected { servers: Arc::new(servers), place: Some(place) });
    }

    /// Returns true if the servers of this place are connected.
    #[cfg(feature = "home")]
    pub(crate) fn has_servers_of(&self, place: &ServerPlace) -> bool {
        self.connected().as_ref().is_some_and(|connected| connected.place.as_ref() == Some(place))
    }

    /// The connected MCP servers, if there are any.
    pub(crate) fn servers(&self) -> Option<Arc<Mcp>> {
        self.connected().as_ref().map(|connected| Arc::clone(&connected.servers))
    }

    /// Ends the connected MCP servers and waits until their processes have exited.
    pub async fn close_servers(&self) {
        let connected = self.connected().take();
        if let Some(Connected { servers, .. }) = connected {
            servers.close().await;
        }
    }
}

impl Backing {
    pub fn scope(&self) -> &Scope {
        match self {
            Backing::Files(logs) => &logs.scope,
            Backing::Store { scope, .. } => scope,
        }
    }

    pub fn home(&self) -> &Arc<Home> {
        match self {
            Backing::Files(logs) => &logs.home,
            Backing::Store { home, .. } => home,
        }
    }
}

impl From<Inner> for Host {
    fn from(inner: Inner) -> Host {
        let scope = inner.backing.scope().clone();
        Host { inner: Arc::new(inner), scope }
    }
}
