//! The host: everything that agents are run with, put together once.

#[cfg(feature = "home")]
use crate::Installation;
use crate::agent::{Basis, env};
use crate::backtest::PastJudge;
#[cfg(feature = "home")]
use crate::experience::{Lookup, with_experience};
use crate::rules::Sources;
#[cfg(feature = "home")]
use crate::servers;
use crate::skills::Shelf;
use crate::trace::{Read, Readings};
use crate::{Error, Home, Logs};
use mainpath_policy::Policy;
use mainpath_providers::ModelPlace;
use mainpath_runtime::{EnvModels, Mail, Runtime};
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_tools::Tools;
use mainpath_types::{Principal, RunRules, TraceId};
#[cfg(feature = "home")]
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Runs agents. Cheap to clone; agents under way go on until the last clone is dropped and the process ends.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
    /// Whose traces, and who asks.
    scope: Scope,
}

pub(crate) struct Inner {
    pub runtime: Runtime,
    /// Long logs that were read a moment ago.
    pub readings: Arc<Readings>,
    pub kept: Kept,
    pub models: Arc<EnvModels>,
    pub sources: Sources,
    /// What agents learned, and how many entries a new trace is shown.
    #[cfg(feature = "home")]
    pub experience: Option<(Lookup, usize)>,
    /// The skills, if it has any.
    pub shelf: Option<Shelf>,
    /// The MCP servers, which end with the host.
    #[cfg(feature = "mcp")]
    pub _servers: Option<mainpath_mcp::Mcp>,
}

/// Where traces are, and what else is Mainpath's own.
pub(crate) enum Kept {
    /// As an installation has them.
    #[cfg(feature = "home")]
    Installed(Box<Installation>),
    /// In files, with sessions and an index beside them.
    Files(Logs),
    /// Elsewhere.
    Elsewhere {
        home: Arc<Home>,
        scope: Scope,
        /// The folder of the home. It goes with the host.
        _own: TempDir,
    },
}

impl std::fmt::Debug for Host {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Host").field("data", &self.home().data).finish_non_exhaustive()
    }
}

impl Host {
    /// A host as this machine's `mainpath` command is configured: the same data, models, tools, rules and hooks. MCP servers are
    /// not connected. Call it inside a tokio runtime. Errors: what is wrong with the configuration.
    #[cfg(feature = "home")]
    pub async fn from_home() -> Result<Host, Error> {
        Host::of(Installation::open()?, None)
    }

    /// The same for agents that work in these folders, with the MCP servers of the first folder. `tell` gets one line for each server that
    /// cannot be used.
    #[cfg(feature = "home")]
    pub async fn from_home_in(
        workspaces: &[std::path::PathBuf],
        tell: impl Fn(&str) + Send + Sync + Clone + 'static,
    ) -> Result<Host, Error> {
        let installation = Installation::open_for(workspaces)?;
        let folder = workspaces.first().ok_or_else(|| Error::invalid("no folder to work in"))?;
        let servers = servers::connect(&installation, folder, None, None, tell).await?;
        Host::of(installation, servers)
    }

    /// A host with an installation of its own in this folder: its data, its `config.toml`, its rules and its skills, and nothing of the
    /// person's home. Errors: as [`Host::from_home`]'s.
    #[cfg(feature = "home")]
    pub fn from_folder(folder: &Path) -> Result<Host, Error> {
        Host::of(Installation::open_in(folder, Vec::new())?, None)
    }

    /// A host with an installation of its own in a folder within this one's home: its tools can touch neither home.
    #[cfg(feature = "home")]
    pub fn within(&self, folder: &Path) -> Result<Host, Error> {
        Host::of(Installation::open_in(folder, self.home().protected())?, None)
    }

    /// A host on an installation that was opened before, as one that a command line changed; and on the servers that were connected to
    /// its tools, which end with the host. Errors: a tool that is configured cannot be used.
    #[cfg(feature = "home")]
    pub fn of(installation: Installation, servers: Option<mainpath_mcp::Mcp>) -> Result<Host, Error> {
        Ok(Host::from(Inner {
            runtime: installation.runtime()?,
            readings: Arc::default(),
            experience: installation.experience(),
            models: Arc::clone(&installation.models),
            sources: installation.sources.clone(),
            shelf: installation.shelf.clone(),
            kept: Kept::Installed(Box::new(installation)),
            _servers: servers,
        }))
    }

    /// The installation that it is made from, if it is.
    #[cfg(feature = "home")]
    pub fn installation(&self) -> Option<&Installation> {
        match &self.inner.kept {
            Kept::Installed(installation) => Some(installation),
            Kept::Files(_) | Kept::Elsewhere { .. } => None,
        }
    }

    /// The same host for somebody else who has the same traces: what is sent, approved and answered by it bears this name.
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
        self.inner.kept.home()
    }

    /// The files that traces are kept in, if they are.
    pub fn logs(&self) -> Option<&Logs> {
        match &self.inner.kept {
            Kept::Files(logs) => Some(logs),
            #[cfg(feature = "home")]
            Kept::Installed(installation) => Some(&installation.logs),
            Kept::Elsewhere { .. } => None,
        }
    }

    /// A new trace's first message: with what earlier work says about it, where the host has that.
    pub(crate) async fn first_message(&self, text: String) -> Mail {
        let mail = Mail::message(text);
        #[cfg(feature = "home")]
        if let Some((lookup, most)) = &self.inner.experience {
            // Where it cannot be looked up, it is done without.
            return with_experience(lookup, *most, mail).await.mail;
        }
        mail
    }

    /// What is kept of a trace.
    pub(crate) fn at<'a>(&'a self, trace: &'a TraceId) -> TraceStore<'a> {
        TraceStore::new(self.store(), self.scope(), trace)
    }

    pub(crate) fn readings(&self) -> &Arc<Readings> {
        &self.inner.readings
    }

    /// The log of a trace and the state that it makes, now. Errors: there is none, or it cannot be read.
    pub(crate) async fn read(&self, trace: &TraceId) -> Result<Arc<Read>, Error> {
        self.readings().of(self.at(trace)).await
    }

    pub(crate) fn models(&self) -> &EnvModels {
        &self.inner.models
    }

    /// Whether there can be such a model. Errors: no such name, or no key for it ([`ErrorKind::Auth`](crate::ErrorKind::Auth)).
    pub fn check_model(&self, model: &str) -> Result<(), Error> {
        // Those that were added by hand are in no registry.
        if self.inner.models.has(model) { Ok(()) } else { Ok(self.inner.models.resolve(model).map(drop)?) }
    }

    /// Prepares the host to take names of models from callers: keys of this machine then go only to known providers and to the servers of
    /// the models that the owner configured or typed (`typed`), never to an address that a caller names.
    #[cfg(feature = "home")]
    pub fn bind_keys(&self, typed: Option<&str>) {
        let set = env("MAINPATH_MODEL");
        self.inner.models.bind_keys(self.home().configured_models().chain(set.as_deref()).chain(typed));
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

    pub(crate) fn basis<'a>(&'a self, rules: &'a RunRules) -> Basis<'a> {
        let skills = self.skills();
        let keys = self.models();
        Basis { home: self.home(), tools: self.tools(), skills, models: keys.registry(), rules, keys }
    }

    /// The skills that its agents can have; nothing if it was not given any ([`HostBuilder::skills`](crate::HostBuilder::skills)).
    pub fn skills(&self) -> Option<&Shelf> {
        self.inner.shelf.as_ref()
    }

    /// What judges recorded calls by the rules of now, and by others.
    pub fn past_judge(&self) -> PastJudge {
        let config = self.runtime().config();
        let confined = config.launcher.support().can_confine();
        PastJudge::new(self.tools().clone(), self.inner.sources.clone(), config.protected.clone(), confined)
    }

    pub(crate) fn policy(&self, workspace: &str, rules: &RunRules) -> Result<Policy, Error> {
        self.inner.sources.load(workspace, rules)
    }
}

impl Kept {
    pub fn scope(&self) -> &Scope {
        match self {
            #[cfg(feature = "home")]
            Kept::Installed(installation) => &installation.logs.scope,
            Kept::Files(logs) => &logs.scope,
            Kept::Elsewhere { scope, .. } => scope,
        }
    }

    pub fn home(&self) -> &Arc<Home> {
        match self {
            #[cfg(feature = "home")]
            Kept::Installed(installation) => &installation.logs.home,
            Kept::Files(logs) => &logs.home,
            Kept::Elsewhere { home, .. } => home,
        }
    }
}

impl From<Inner> for Host {
    fn from(inner: Inner) -> Host {
        let scope = inner.kept.scope().clone();
        Host { inner: Arc::new(inner), scope }
    }
}
