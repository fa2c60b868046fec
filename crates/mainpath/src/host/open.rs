//! Opening a host from a home: the parts, put together as its files say.

use super::home::{FromHome, HomeOptions, Memory};
use super::{Backing, Host, Inner};
use crate::agent::env;
use crate::children::ChildSpecFactory;
use crate::experience::{Experienced, Experiences, Lookup, Meaning, offer, scoring, with_experience};
use crate::home::{CallParts, ContextHookEntry, HookEntry, OPTIONAL, Unready};
#[cfg(feature = "people")]
use crate::people::{Agents, Inboxes, People, Sender, offer_agents};
use crate::rules::{Checked, Sources};
use crate::{Error, Home, LimitOptions, Logs, launcher, servers};
use mainpath_net::Client;
use mainpath_providers::Timeouts;
use mainpath_runtime::{
    Config, EnvModels, Hook, Hooks, Mail, Messenger, Models, Runtime, StoreRetries, Unusable, Vault,
};
use mainpath_store::scheduler::system_clock;
use mainpath_store::{Scheduler, Store};
use mainpath_types::Principal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

impl Host {
    /// A host as this machine's `mainpath` command is configured: the same data, models, tools, rules and hooks. MCP servers are
    /// not connected. Call it inside a tokio runtime. Errors: what is wrong with the configuration.
    pub async fn from_home() -> Result<Host, Error> {
        Host::open(HomeOptions::default())?.usable()
    }

    /// The same for agents that work in these folders, with the MCP servers of the first folder. `tell` gets one line for each server that
    /// cannot be used.
    pub async fn from_home_in(
        workspaces: &[PathBuf],
        tell: impl Fn(&str) + Send + Sync + Clone + 'static,
    ) -> Result<Host, Error> {
        let host = Host::open(HomeOptions { workspaces: workspaces.to_vec(), ..HomeOptions::default() })?;
        let folder = workspaces.first().ok_or_else(|| Error::invalid("no folder to work in"))?;
        servers::connect(&host, folder, None, None, std::future::pending::<Error>(), tell).await?;
        host.usable()
    }

    /// A host with a home of its own in this folder: its data, its `config.toml`, its rules and its skills, and nothing of the person's
    /// home. Errors: as [`Host::from_home`]'s.
    pub fn from_folder(folder: &Path) -> Result<Host, Error> {
        Host::open_logs(Logs::open_in(Home::at(folder, Vec::new())?)?, HomeOptions::default())?.usable()
    }

    /// A host with a home of its own in a folder within this one's home: its tools can touch neither home.
    pub fn within(&self, folder: &Path) -> Result<Host, Error> {
        Host::open_logs(Logs::open_in(Home::at(folder, self.home().protected())?)?, HomeOptions::default())?.usable()
    }

    /// A host from this machine's home, for a caller that may also only look at it: a configured tool that cannot be used is no error until
    /// an agent is to run ([`Host::check_usable`]). Call it inside a tokio runtime. Errors: what is wrong with the configuration.
    pub fn open(options: HomeOptions) -> Result<Host, Error> {
        let mut home = Home::find()?;
        home.workspaces.extend_from_slice(&options.workspaces);
        let logs = match options.read_only {
            // Errors of the configuration are not ignored here.
            true => Logs::look(|_| {})?.with_home(Arc::new(home)),
            false => Logs::open_in(home)?,
        };
        Host::open_logs(logs, options)
    }

    fn open_logs(logs: Logs, options: HomeOptions) -> Result<Host, Error> {
        let home = Arc::clone(&logs.home);
        let models = models(&home, &logs.scope.principal, &options.limits)?;
        let (client, secret) = (Client::new(&home.config.net), |name: &str| home.secret(name));
        home.check_values()?;
        let memory = memory(&home);
        let hooks = hooks(&logs, &client, &secret, &memory)?;
        let vault = home.vault(models.registry())?;
        let (tools, unready) = home.toolbox();
        #[cfg(feature = "people")]
        if home.config.people.agents {
            let (store, scope) = (Arc::clone(&logs.store) as Arc<dyn Store>, logs.scope.clone());
            let inboxes = Inboxes { store, scope, vault: vault.clone() };
            offer_agents(&tools, home.people()?.map(Arc::new), Agents::At(inboxes));
        }
        let memory = with_meaning(memory, &home, &client, &secret, &vault)?;
        if memory.lookup.meaning.is_some() && memory.shown.is_some() {
            offer(&tools, &memory.lookup, system_clock);
        }
        // A tool that cannot be used may have any name, and is reported before wrong names.
        if unready.is_empty() {
            let names: Vec<String> = tools.specs().into_iter().map(|tool| tool.name).collect();
            let optional = OPTIONAL.iter().map(|tool| tool.name);
            home.check_tools(names.iter().map(String::as_str).chain(optional))?;
        }
        let (shelf, mut sources) = (home.shelf(), Sources::new(&home));
        sources.run = options.rules;
        let no_sandbox = home.config.no_sandbox || options.no_sandbox;
        let mut unusable = unready.first().map(|Unready { name, why }| {
            home.wrong_in(&["tools", name], &Error::failed(format!("[tools.{name}]: {why}")))
        });
        let messenger = messenger(&home).unwrap_or_else(|error| {
            unusable.get_or_insert(error);
            None
        });
        let checked: Arc<Mutex<Option<Checked>>> = Arc::default();
        let (policies, next) = (sources.clone(), Arc::clone(&checked));
        let runtime = Runtime::new(Config {
            store: logs.all_stores(),
            peers: logs.peers(),
            scheduler: logs.store.scheduler() as Arc<dyn Scheduler>,
            tools: tools.clone(),
            models: Arc::clone(&models) as Arc<dyn Models>,
            vault,
            launcher: launcher::own().run_open(no_sandbox),
            protected: home.protected(),
            policies: Arc::new(move |spec| {
                let known = next.lock().unwrap_or_else(PoisonError::into_inner).take();
                let known = known.filter(|of: &Checked| of.workspace == spec.workspace && of.run == spec.rules);
                let load = || policies.load_for(spec).map(Arc::new).map_err(Unusable::from);
                known.map_or_else(load, |known| Ok(known.policy))
            }),
            hooks,
            children: Arc::new(ChildSpecFactory {
                home: Arc::clone(&home),
                tools,
                models: Arc::clone(&models),
                shelf: shelf.clone(),
            }),
            messenger,
            worktrees: home.worktrees(),
            clock: system_clock,
            store_retries: StoreRetries::default(),
        });
        Ok(Host::from(Inner {
            runtime,
            readings: Arc::default(),
            backing: Backing::Files(logs),
            models,
            sources,
            memory: Some(memory),
            from_home: FromHome { unusable, checked, sends_only: false },
            shelf,
            servers: Mutex::default(),
        }))
    }

    fn usable(self) -> Result<Host, Error> {
        self.check_usable().map(|()| self)
    }

    /// Makes the next run with these rules use them without loading them. Later runs load them again.
    pub fn use_checked(&self, rules: Checked) {
        *self.inner.from_home.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(rules);
    }

    /// A line about commands that `--yes` would allow, where the sandbox cannot be made on this machine.
    pub fn sandbox_note(&self) -> Option<String> {
        let missing = launcher::own().support().missing()?;
        Some(match self.runtime().config().launcher.may_run_open() {
            true => format!("commands run without a sandbox: {missing}"),
            false => format!(
                "commands are not run unless you approve each of them: {missing}; --no-sandbox runs them without a sandbox"
            ),
        })
    }

    /// The experiences of agents; `None` if the host stores none.
    pub fn experiences(&self) -> Option<&Arc<Experiences>> {
        self.inner.memory.as_ref().map(|memory| &memory.lookup.known)
    }

    /// The lookup of experiences.
    pub(crate) fn lookup(&self) -> Option<&Lookup> {
        self.inner.memory.as_ref().map(|memory| &memory.lookup)
    }

    /// Appends the experiences that fit a new trace's first message.
    pub(crate) async fn with_experience(&self, mail: Mail) -> Experienced {
        match &self.inner.memory {
            Some(Memory { lookup, shown: Some(most) }) => with_experience(lookup, *most, mail).await,
            _ => Experienced { mail, shown: Vec::new(), problem: None },
        }
    }

    /// Prepares the host to accept names of models from callers: keys of this machine then go only to known providers and to the servers of
    /// the models that the owner configured or typed (`typed`), never to an address that a caller names.
    pub fn bind_keys(&self, typed: Option<&str>) {
        let set = env("MAINPATH_MODEL");
        self.inner.models.bind_keys(self.home().configured_models().chain(set.as_deref()).chain(typed));
    }

    /// The channels to people. `None`: none is configured. Errors: one cannot be used.
    #[cfg(feature = "people")]
    pub fn people(&self) -> Result<Option<Arc<People>>, Error> {
        Ok(self.home().people()?.map(Arc::new))
    }
}

/// The models of a home, with the caller's waiting times. Keys of this machine are bound to the owner: to servers whose address the
/// configuration or `MAINPATH_MODEL` names, or that the owner names or named. A trace may have a model that a caller of the server named.
fn models(home: &Home, owner: &Principal, limits: &LimitOptions) -> Result<Arc<EnvModels>, Error> {
    let registry = home.registry()?;
    let Timeouts { first_byte, idle } = registry.timeouts();
    let timeouts = Timeouts { first_byte: limits.first_byte.unwrap_or(first_byte), idle: limits.idle.unwrap_or(idle) };
    let models = EnvModels::new(Arc::new(registry.with_timeouts(timeouts)));
    let set = env("MAINPATH_MODEL");
    models.bind_keys_to(owner, home.configured_models().chain(set.as_deref()));
    Ok(Arc::new(models))
}

fn memory(home: &Home) -> Memory {
    let known = Arc::new(home.experiences());
    let shown = home.has_experience(&known).then(|| home.experiences_shown());
    Memory { lookup: Lookup::by_words(known), shown }
}

/// Adds lookup by meaning to the experiences, if it is configured.
fn with_meaning(
    memory: Memory,
    home: &Home,
    client: &Client,
    secret: &dyn Fn(&str) -> Option<String>,
    vault: &Vault,
) -> Result<Memory, Error> {
    let Some(config) = &home.config.experience.embeddings else { return Ok(memory) };
    let wrong = |why| home.wrong_in(&["experience", "embeddings"], &Error::failed(format!("embeddings: {why}")));
    let meaning = Meaning::new(config, client, secret, vault.clone()).map_err(wrong)?;
    Ok(Memory { lookup: Lookup { meaning: Some(Arc::new(meaning)), ..memory.lookup }, ..memory })
}

/// The hooks of the configuration. Errors: a hook cannot be used.
fn hooks(
    logs: &Logs,
    client: &Client,
    secret: &dyn Fn(&str) -> Option<String>,
    memory: &Memory,
) -> Result<Hooks, Error> {
    let (home, launcher) = (&logs.home, launcher::own());
    let program = |words: Vec<String>| home.owner_program(words);
    let parts = CallParts { launcher: &launcher, client, secret: &secret, program: &program };
    let build = |hook: &HookEntry| {
        let built = hook.build(parts);
        built.map_err(|why| home.wrong_at(hook.name.span().start, why))
    };
    let hooks = home.config.hooks.iter().map(build).collect::<Result<Vec<Hook>, Error>>()?;
    let build = |hook: &ContextHookEntry| {
        let built = hook.build(parts);
        built.map_err(|why| home.wrong_at(hook.name.span().start, why))
    };
    let context = home.config.context_hooks.iter().map(build).collect::<Result<Vec<_>, Error>>()?;
    let store = Arc::clone(&logs.store) as Arc<dyn Store>;
    let counts = memory.shown.is_some().then(|| scoring(&memory.lookup.known, store, logs.scope.clone()));
    let hooks = hooks.into_iter().chain(counts).collect::<Hooks>().with_context(context);
    home.check_hooks()?;
    Ok(hooks)
}

fn messenger(home: &Home) -> Result<Option<Arc<dyn Messenger>>, Error> {
    #[cfg(feature = "people")]
    return Ok(home.people()?.map(|people| Arc::new(Sender(Arc::new(people))) as Arc<dyn Messenger>));
    #[cfg(not(feature = "people"))]
    {
        let _ = home;
        Ok(None)
    }
}
