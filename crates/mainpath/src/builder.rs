//! A host put together by hand.

use crate::agent::REACHING;
use crate::children::ChildSpecFactory;
#[cfg(feature = "home")]
use crate::experience::{Experiences, Lookup, USUAL, offer, scoring};
#[cfg(feature = "mcp")]
use crate::host::Connected;
use crate::host::{Backing, Host, Inner};
#[cfg(feature = "home")]
use crate::host::{FromHome, Memory};
use crate::rules::{MakePolicy, Sources, checking};
#[cfg(feature = "mcp")]
use crate::servers::{ByHand, McpServer, start_all};
use crate::skills::{Shelf, with_tools};
use crate::{Error, Home, Logs, launcher};
use mainpath_policy::Policy;
use mainpath_providers::{Provider, Registry};
use mainpath_runtime::{Config, EnvModels, Hook, Hooks, Runtime, StoreRetries, Unusable, Vault};
use mainpath_sandbox::Launcher;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{FilesStore, LocalScheduler, MemoryStore, Options, Salts, Scheduler, Scope, Store};
use mainpath_tools::{IntoTool, Tools};
use mainpath_types::{Millis, RuleText, RunRules, Spec};
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "mcp")]
use std::sync::Mutex;
use tokio::runtime::Handle;

impl Host {
    /// A host put together by hand.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }
}

/// Puts a host together.
pub struct HostBuilder {
    place: Place,
    /// Those that come with Mainpath, or what takes their place.
    tools: Tools,
    /// Those that were added one by one.
    added: Tools,
    registry: Registry,
    models: Vec<(String, Arc<dyn Provider>)>,
    secrets: Vec<(String, String)>,
    /// Keys of providers, by their names.
    keys: Vec<(String, String)>,
    hooks: Vec<Hook>,
    launcher: Option<Launcher>,
    clock: fn() -> Millis,
    rules: Vec<RuleText>,
    policy: Option<MakePolicy>,
    /// The person's home, where skills are wanted.
    skills: Option<Option<PathBuf>>,
    #[cfg(feature = "mcp")]
    servers: Vec<(String, McpServer)>,
    /// Where what agents learned is kept.
    #[cfg(feature = "home")]
    experiences: Option<PathBuf>,
    /// What cannot be used of what was given; the first thing.
    problem: Option<Error>,
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
            added: Tools::new(),
            registry: Registry::bundled().clone(),
            models: Vec::new(),
            secrets: Vec::new(),
            keys: Vec::new(),
            hooks: Vec::new(),
            launcher: None,
            clock: system_clock,
            rules: Vec::new(),
            policy: None,
            skills: None,
            #[cfg(feature = "mcp")]
            servers: Vec::new(),
            #[cfg(feature = "home")]
            experiences: None,
            problem: None,
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

    /// Adds a tool to those that come with Mainpath: a [`Tool`](mainpath_tools::Tool), or what [`tool_fn`](mainpath_tools::tool_fn)
    /// makes. One of the same name is replaced.
    pub fn tool(mut self, tool: impl IntoTool) -> HostBuilder {
        if let Err(problem) = tool.put_into(&self.added) {
            self.problem.get_or_insert(Error::invalid(problem.text));
        }
        self
    }

    /// Connects to an MCP server when the host is built, and adds its tools as `mcp__NAME__TOOL`. It is started in a cage around
    /// the current folder, without the secrets of this process; a program that starts servers calls
    /// [`launcher_main`](crate::launcher_main).
    #[cfg(feature = "mcp")]
    pub fn mcp_server(mut self, name: impl Into<String>, server: McpServer) -> HostBuilder {
        self.servers.push((name.into(), server));
        self
    }

    /// Has agents learn from each other's work: what fits its task is shown to a new trace, the tools `get_experience`,
    /// `knowledge_search` and `knowledge_save` are added, and what is followed is scored. Entries are kept as Markdown files in this folder,
    /// with a cache in it; no tool can touch the folder.
    #[cfg(feature = "home")]
    pub fn experiences(self, folder: impl AsRef<Path>) -> HostBuilder {
        HostBuilder { experiences: Some(folder.as_ref().into()), ..self }
    }

    /// Adds rules for all agents of this host, in the form of `policy.toml`. `name` stands for them in messages.
    pub fn rules(mut self, name: impl Into<String>, text: impl Into<String>) -> HostBuilder {
        self.rules.push(RuleText { name: name.into(), text: text.into() });
        self
    }

    /// Makes the policy itself: its rules take the place of all others, those of Mainpath, of files and of [`HostBuilder::rules`]
    /// among them. It is asked whenever the rules of an agent are needed, with its workspace and the rules that it was started
    /// with. What an agent itself [denies](crate::Agent::deny) or [asks](crate::Agent::ask) about is added to what it makes; what the
    /// agent allows is not.
    pub fn policy(
        mut self,
        make: impl Fn(&Path, &RunRules) -> Result<Policy, Error> + Send + Sync + 'static,
    ) -> HostBuilder {
        self.policy = Some(Arc::new(make));
        self
    }

    /// Gives agents skills: those of their workspaces, once they were trusted ([`Shelf::trust`](crate::skills::Shelf::trust)), those in
    /// this home, if one is named, and those that come with Mainpath. Without it agents have none.
    pub fn skills(self, home: Option<PathBuf>) -> HostBuilder {
        HostBuilder { skills: Some(home), ..self }
    }

    /// These tools in the place of those that come with Mainpath. `Tools::new()` has none; the internal ones, with which agents plan
    /// and look back, are added, and so is what [`HostBuilder::tool`] adds, before or after.
    pub fn only_tools(self, tools: Tools) -> HostBuilder {
        HostBuilder { tools: tools.with_internal(), ..self }
    }

    /// What is known of providers and models, in the place of what comes with Mainpath.
    pub fn registry(self, registry: Registry) -> HostBuilder {
        HostBuilder { registry, ..self }
    }

    /// Adds a model of your own under a name; what is known of it, such as its price, it says itself ([`Provider::facts`]).
    pub fn model(mut self, name: impl Into<String>, provider: Arc<dyn Provider>) -> HostBuilder {
        self.models.push((name.into(), provider));
        self
    }

    /// The key of a provider, such as `anthropic`, for all its models. Its key is then never taken from the environment, and like all
    /// secrets it is kept out of logs, streams and prompts.
    pub fn api_key(mut self, provider: impl Into<String>, key: impl Into<String>) -> HostBuilder {
        self.keys.push((provider.into(), key.into().trim().into()));
        self
    }

    /// Secrets to keep out of logs, streams and prompts, by name and value; values of less than 8 bytes are none.
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = (String, String)>) -> HostBuilder {
        self.secrets.extend(secrets);
        self
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

    /// The host. Call it inside a tokio runtime. Errors: nothing was said of where traces are kept, nothing can be kept there, or a tool,
    /// a rule or an MCP server cannot be used.
    pub async fn build(self) -> Result<Host, Error> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        if Handle::try_current().is_err() {
            return Err(Error::invalid(
                "a host lives in a tokio runtime: call build() inside one, as under #[tokio::main]",
            ));
        }
        let elsewhere = || -> Result<Backing, Error> {
            let folder = tempfile::tempdir()?;
            let home = Arc::new(Home::by_hand(&folder.path().canonicalize()?));
            Ok(Backing::Store { home, scope: Scope::local(), _own: Arc::new(folder) })
        };
        let (backing, store, scheduler): (Backing, Arc<dyn Store>, Arc<dyn Scheduler>) = match self.place {
            Place::Nowhere => {
                return Err(Error::invalid(
                    "the host does not know where to keep traces; call data_dir(…) or in_memory()",
                ));
            }
            Place::Folder(folder) if folder.as_os_str().is_empty() => {
                return Err(Error::of_field("data_dir", " is empty; give a folder, such as \"./data\""));
            }
            Place::Folder(folder) => {
                let home = Arc::new(Home::by_hand(&std::path::absolute(folder)?));
                let options = Options { clock: self.clock, ..Options::default() };
                let store = Arc::new(FilesStore::open(&home.data, options)?);
                let scheduler = store.scheduler();
                (Backing::Files(Logs::by_hand(home, Arc::clone(&store))), store, scheduler)
            }
            Place::Memory => {
                let store = MemoryStore::new(self.clock, Salts::Random);
                let scheduler: Arc<LocalScheduler> = store.scheduler();
                (elsewhere()?, Arc::new(store), scheduler)
            }
            Place::Store(store, scheduler) => (elsewhere()?, store, scheduler),
        };
        let home = Arc::clone(backing.home());
        let mut registry = self.registry;
        for (name, provider) in &self.models {
            if name.trim().is_empty() || name.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
                return Err(Error::of_field("model", format_args!(" cannot be called {name:?}: a name has no spaces")));
            }
            if let Some(facts) = provider.facts() {
                registry.add_own(name, facts);
            }
        }
        let mut models = EnvModels::new(Arc::new(registry));
        for (provider, key) in &self.keys {
            check_key(provider, key, models.registry())?;
            models = models.with_key(provider, key);
        }
        let models = Arc::new(models);
        self.models.into_iter().for_each(|(name, provider)| models.add(&name, provider));
        let keys = self.keys.into_iter().map(|(provider, key)| (format!("{provider}-api-key"), key));
        let vault = Vault::new(self.secrets.into_iter().chain(keys));
        let shelf = self.skills.map(|place| Shelf::new(&home.data, place));
        if let Some(shelf) = &shelf {
            self.tools.put_all(&with_tools(Tools::new(), shelf));
        }
        self.tools.put_all(&self.added);
        let protected = home.protected();
        #[cfg(feature = "home")]
        let (memory, hooks, protected) = {
            let folder = self.experiences.map(folder_of_experiences).transpose()?;
            // In the folder, so that no tool can touch the cache either.
            let known = folder.map(|folder| Arc::new(Experiences::open(&folder, folder.join(".cache.sqlite"))));
            if let Some(known) = &known {
                offer(&self.tools, &Lookup::by_words(Arc::clone(known)), self.clock);
            }
            let counts = known.as_ref().map(|known| scoring(known, Arc::clone(&store), backing.scope().clone()));
            let folder = known.as_ref().map(|known| known.folder().to_path_buf());
            (
                known.map(|known| Memory { lookup: Lookup::by_words(known), shown: Some(USUAL) }),
                self.hooks.into_iter().chain(counts).collect::<Hooks>(),
                protected.into_iter().chain(folder).collect::<Vec<_>>(),
            )
        };
        #[cfg(not(feature = "home"))]
        let hooks = self.hooks.into_iter().collect::<Hooks>();
        let launcher = self.launcher.unwrap_or_else(launcher::own);
        #[cfg(feature = "mcp")]
        let with =
            ByHand { tools: &self.tools, launcher: launcher.clone(), vault: &vault, protected: protected.clone() };
        #[cfg(feature = "mcp")]
        let servers = start_all(self.servers, with).await?;
        let sources = Sources::new(&home)
            .with_host(self.rules, &self.tools)?
            .with_instead(self.policy.map(|make| checking(make, self.tools.clone(), &REACHING)));
        let policies = sources.clone();
        let tools = self.tools.clone();
        let worktrees = home.worktrees();
        let children = Arc::new(ChildSpecFactory { home, tools, models: Arc::clone(&models), shelf: shelf.clone() });
        let runtime = Runtime::new(Config {
            store,
            scheduler,
            tools: self.tools,
            models: Arc::clone(&models) as Arc<dyn mainpath_runtime::Models>,
            vault,
            launcher,
            protected,
            policies: Arc::new(move |spec: &Spec| {
                let loaded = policies.load_for(spec);
                loaded.map(Arc::new).map_err(Unusable::from)
            }),
            hooks,
            children,
            peers: None,
            messenger: None,
            worktrees,
            clock: self.clock,
            store_retries: StoreRetries::default(),
        });
        let inner = Inner {
            runtime,
            readings: Arc::default(),
            backing,
            models,
            sources,
            #[cfg(feature = "home")]
            memory,
            #[cfg(feature = "home")]
            from_home: FromHome::default(),
            shelf,
            #[cfg(feature = "mcp")]
            servers: Mutex::new(servers.map(|servers| Connected { servers: Arc::new(servers), place: None })),
        };
        Ok(inner.into())
    }
}

/// Where experiences are kept. Errors: that can be no folder.
#[cfg(feature = "home")]
fn folder_of_experiences(folder: PathBuf) -> Result<PathBuf, Error> {
    if folder.as_os_str().is_empty() {
        return Err(Error::of_field("experiences", " is empty; give a folder, such as \"./experiences\""));
    }
    let folder = std::path::absolute(folder)?;
    match folder.exists() && !folder.is_dir() {
        true => Err(Error::of_field("experiences", format_args!(": {} is no folder", folder.display()))),
        false => Ok(folder),
    }
}

/// Whether a provider can be given this key. Errors: there is no such provider, it takes no key, or this is none.
fn check_key(provider: &str, key: &str, registry: &Registry) -> Result<(), Error> {
    let Some(profile) = registry.provider(provider) else {
        let known: Vec<&str> = registry.providers().iter().map(|known| known.name.as_str()).collect();
        return Err(Error::invalid(format!(
            "api_key: there is no provider {provider:?}; they are: {}",
            known.join(", ")
        )));
    };
    if profile.key_variables.is_empty() {
        return Err(Error::invalid(format!("api_key: {provider} takes no key")));
    }
    if key.is_empty() {
        return Err(Error::invalid(format!("api_key: the key of {provider} is empty")));
    }
    Ok(())
}
