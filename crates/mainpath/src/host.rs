//! The host: everything that agents are run with, put together once.

use crate::agent::{Basis, check_model};
use crate::rules::Sources;
use crate::{Error, Home, Installation, Logs, launcher};
use mainpath_policy::Policy;
use mainpath_providers::{Provider, Registry};
use mainpath_runtime::{Config, EnvModels, Hook, Hooks, Runtime, Vault};
use mainpath_sandbox::Launcher;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{FilesStore, LocalScheduler, MemoryStore, Options, Salts, Scheduler, Scope, Store, TraceStore};
use mainpath_tools::{Tool, Tools};
use mainpath_types::{Millis, RunRules, Spec, TraceId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Runs agents. Cheap to clone; agents under way go on until the last clone is dropped and the process ends.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Runtime,
    kept: Kept,
    models: Arc<EnvModels>,
    sources: Sources,
}

/// Where traces are, and what else is Mainpath's own.
enum Kept {
    /// In files, with sessions and an index beside them.
    Files(Logs),
    /// Elsewhere.
    Elsewhere {
        home: Home,
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
    /// A host put together by hand.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// A host as this machine's `mainpath` command is configured: the same data, models, tools, rules and hooks. MCP servers are
    /// not connected. Call it inside a tokio runtime. Errors: what is wrong with the configuration.
    pub async fn from_home() -> Result<Host, Error> {
        let installation = Installation::open()?;
        let runtime = installation.runtime()?;
        let Installation { logs, models, sources, .. } = installation;
        let inner = Inner { runtime, kept: Kept::Files(logs), models, sources };
        Ok(Host { inner: Arc::new(inner) })
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

    pub(crate) fn scope(&self) -> &Scope {
        match &self.inner.kept {
            Kept::Files(logs) => &logs.scope,
            Kept::Elsewhere { scope, .. } => scope,
        }
    }

    pub(crate) fn home(&self) -> &Home {
        self.inner.kept.home()
    }

    /// The files that traces are kept in, if they are.
    pub(crate) fn logs(&self) -> Option<&Logs> {
        match &self.inner.kept {
            Kept::Files(logs) => Some(logs),
            Kept::Elsewhere { .. } => None,
        }
    }

    /// What is kept of a trace.
    pub(crate) fn at<'a>(&'a self, trace: &'a TraceId) -> TraceStore<'a> {
        TraceStore::new(self.store(), self.scope(), trace)
    }

    pub(crate) fn models(&self) -> &EnvModels {
        &self.inner.models
    }

    pub(crate) fn check_model(&self, model: &str) -> Result<(), Error> {
        // Those that were added by hand are in no registry.
        if self.inner.models.has(model) { Ok(()) } else { check_model(model, self.inner.models.registry()) }
    }

    pub(crate) fn basis<'a>(&'a self, rules: &'a RunRules) -> Basis<'a> {
        Basis { home: self.home(), tools: self.tools(), models: self.inner.models.registry(), rules }
    }

    pub(crate) fn policy(&self, workspace: &str, rules: &RunRules) -> Result<Policy, Error> {
        self.inner.sources.load(workspace, rules)
    }
}

/// Puts a host together.
pub struct HostBuilder {
    place: Place,
    tools: Tools,
    registry: Registry,
    models: Vec<(String, Arc<dyn Provider>)>,
    vault: Vault,
    hooks: Vec<Hook>,
    launcher: Option<Launcher>,
    clock: fn() -> Millis,
}

/// Where traces are kept.
enum Place {
    Nowhere,
    Folder(PathBuf),
    Memory,
    Store(Arc<dyn Store>, Arc<dyn Scheduler>),
}

impl Default for HostBuilder {
    fn default() -> HostBuilder {
        HostBuilder {
            place: Place::Nowhere,
            tools: Tools::kernel().with_internal(),
            registry: Registry::bundled().clone(),
            models: Vec::new(),
            vault: Vault::default(),
            hooks: Vec::new(),
            launcher: None,
            clock: system_clock,
        }
    }
}

impl Kept {
    fn home(&self) -> &Home {
        match self {
            Kept::Files(logs) => &logs.home,
            Kept::Elsewhere { home, .. } => home,
        }
    }
}

impl HostBuilder {
    /// Keeps traces in this folder, which no tool can touch.
    pub fn data_dir(self, folder: impl AsRef<Path>) -> HostBuilder {
        HostBuilder { place: Place::Folder(folder.as_ref().into()), ..self }
    }

    /// Keeps traces in memory: they are gone with the host.
    pub fn in_memory(self) -> HostBuilder {
        HostBuilder { place: Place::Memory, ..self }
    }

    /// Keeps traces in a store of your own; the scheduler says which trace to look at.
    pub fn store(self, store: Arc<dyn Store>, scheduler: Arc<dyn Scheduler>) -> HostBuilder {
        HostBuilder { place: Place::Store(store, scheduler), ..self }
    }

    /// Adds a tool to those that come with Mainpath.
    pub fn tool<T: Tool>(self, tool: T) -> HostBuilder {
        HostBuilder { tools: self.tools.with(tool), ..self }
    }

    /// These tools alone. `Tools::new()` has none; the internal ones, with which agents plan and look back, are added.
    pub fn only_tools(self, tools: Tools) -> HostBuilder {
        HostBuilder { tools: tools.with_internal(), ..self }
    }

    /// What is known of providers and models, in the place of what comes with Mainpath.
    pub fn registry(self, registry: Registry) -> HostBuilder {
        HostBuilder { registry, ..self }
    }

    /// Adds a model of your own under a name.
    pub fn model(mut self, name: impl Into<String>, provider: Arc<dyn Provider>) -> HostBuilder {
        self.models.push((name.into(), provider));
        self
    }

    /// Secrets to keep out of logs, streams and prompts, by name and value.
    pub fn secrets(self, secrets: impl IntoIterator<Item = (String, String)>) -> HostBuilder {
        HostBuilder { vault: self.vault.with_secrets(secrets), ..self }
    }

    /// Adds a hook that is asked or told at points of a run.
    pub fn hook(mut self, hook: Hook) -> HostBuilder {
        self.hooks.push(hook);
        self
    }

    /// How processes are started. Without it by this program, if it called [`launcher_main`](crate::launcher_main), else not at all.
    pub fn launcher(self, launcher: Launcher) -> HostBuilder {
        HostBuilder { launcher: Some(launcher), ..self }
    }

    /// The time, in milliseconds since the Unix epoch.
    pub fn clock(self, clock: fn() -> Millis) -> HostBuilder {
        HostBuilder { clock, ..self }
    }

    /// The host. Call it inside a tokio runtime. Errors: nothing was said of where traces are kept, or nothing can be kept there.
    pub async fn build(self) -> Result<Host, Error> {
        let elsewhere = || -> Result<Kept, Error> {
            let folder = tempfile::tempdir()?;
            let home = Home::by_hand(&folder.path().canonicalize()?);
            Ok(Kept::Elsewhere { home, scope: Scope::local(), _own: folder })
        };
        let (kept, store, scheduler): (Kept, Arc<dyn Store>, Arc<dyn Scheduler>) = match self.place {
            Place::Nowhere => {
                return Err(Error::invalid(
                    "the host does not know where to keep traces; call data_dir(…) or in_memory()",
                ));
            }
            Place::Folder(folder) => {
                let home = Home::by_hand(&std::path::absolute(folder)?);
                let options = Options { clock: self.clock, ..Options::default() };
                let store = Arc::new(FilesStore::open(&home.data, options)?);
                let scheduler = store.scheduler();
                (Kept::Files(Logs::by_hand(home, Arc::clone(&store))), store, scheduler)
            }
            Place::Memory => {
                let store = MemoryStore::new(self.clock, Salts::Random);
                let scheduler: Arc<LocalScheduler> = store.scheduler();
                (elsewhere()?, Arc::new(store), scheduler)
            }
            Place::Store(store, scheduler) => (elsewhere()?, store, scheduler),
        };
        let home = kept.home();
        let models = Arc::new(EnvModels::new(Arc::new(self.registry)));
        self.models.into_iter().for_each(|(name, provider)| models.add(&name, provider));
        let sources = Sources::new(home);
        let policies = sources.clone();
        let runtime = Runtime::new(Config {
            store,
            scheduler,
            tools: self.tools,
            models: Arc::clone(&models) as Arc<dyn mainpath_runtime::Models>,
            vault: self.vault,
            launcher: self.launcher.unwrap_or_else(launcher::own),
            protected: home.protected(),
            policies: Arc::new(move |spec: &Spec| {
                let loaded = policies.load(&spec.workspace, &spec.rules);
                loaded.map(Arc::new).map_err(|error| error.message().into())
            }),
            hooks: self.hooks.into_iter().collect::<Hooks>(),
            clock: self.clock,
        });
        Ok(Host { inner: Arc::new(Inner { runtime, kept, models, sources }) })
    }
}
