//! What agents are run with on this machine: the parts, put together as the files of its home say.

use crate::agent::{Basis, Recorded, check_model, env};
use crate::backtest::PastJudge;
use crate::children::Kin;
use crate::experience::{Experienced, Experiences, Lookup, Meaning, offer, scoring, with_experience};
use crate::home::{CallParts, ContextHookEntry, HookEntry, OPTIONAL, Unready};
#[cfg(feature = "people")]
use crate::people::{Agents, Inboxes, People, Sender, offer_agents};
use crate::presets::Presets;
use crate::presets::host::presets_in;
use crate::rules::{Checked, Sources};
use crate::skills::Shelf;
use crate::{Error, Home, LimitOptions, Logs, launcher};
use mainpath_net::Client;
use mainpath_policy::{CallFacts, PathFact, Rules, judge, judge_found};
use mainpath_providers::Timeouts;
use mainpath_runtime::{
    Config, EnvModels, Hook, Hooks, Mail, Messenger, Models, Runtime, StoreRetries, Unusable, Vault,
};
use mainpath_store::scheduler::system_clock;
use mainpath_store::{Scheduler, Store};
use mainpath_tools::{Planned, Tools, Workspace};
use mainpath_types::{ApprovalMode, Decision, Principal, RunRules, Spec};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Binds the keys of this machine to the owner: to servers whose address the configuration or `MAINPATH_MODEL` names, or that the owner
/// names or named. A trace may have a model that a caller of the server named.
fn bind_keys_to(models: &EnvModels, owner: &Principal, home: &Home) {
    let set = env("MAINPATH_MODEL");
    models.bind_keys_to(owner, home.configured_models().chain(set.as_deref()));
}

/// The parts of this machine's installation: its logs, models, tools, rules, hooks and secrets. Clones are the same parts.
#[derive(Clone)]
pub struct Installation {
    /// What there is to look at.
    pub logs: Logs,
    /// The models.
    pub models: Arc<EnvModels>,
    /// What is asked or told along the way.
    hooks: Hooks,
    /// What agents learned.
    pub experiences: Arc<Experiences>,
    /// How that is looked up.
    pub(crate) lookup: Lookup,
    /// Whether agents are to have that.
    has_experience: bool,
    /// Where rules come from.
    pub sources: Sources,
    /// The secrets.
    pub vault: Vault,
    /// The tools that agents can have.
    pub tools: Tools,
    /// The skills, unless the configuration has them off.
    pub shelf: Option<Shelf>,
    /// Those that are configured and cannot be used: no agent works until that is put right.
    unready: Vec<Unready>,
    /// True if commands may run without a sandbox if none can be made.
    no_sandbox: bool,
}

impl Installation {
    /// Opens the data directory. Errors: the configuration is wrong, among others.
    pub fn open() -> Result<Installation, Error> {
        Installation::on(Logs::open()?)
    }

    /// The same where agents also work in these folders.
    pub(crate) fn open_for(workspaces: &[PathBuf]) -> Result<Installation, Error> {
        let mut home = Home::find()?;
        home.workspaces.extend_from_slice(workspaces);
        Installation::on(Logs::open_in(home)?)
    }

    /// An installation in a folder of its own: data and configuration, and nothing of the person's home. No tool may touch it, nor what is
    /// `around`.
    pub fn open_in(folder: &Path, around: Vec<PathBuf>) -> Result<Installation, Error> {
        Installation::on(Logs::open_in(Home::at(folder, around)?)?)
    }

    /// The same for who only looks: nothing need be writable there.
    pub fn look() -> Result<Installation, Error> {
        // What is wrong in the configuration is an error here as well.
        let home = Arc::new(Home::find()?);
        Installation::on(Logs::look(|_| {})?.with_home(home))
    }

    fn on(logs: Logs) -> Result<Installation, Error> {
        let home = &logs.home;
        let models = Arc::new(EnvModels::new(Arc::new(home.registry()?)));
        bind_keys_to(&models, &logs.scope.principal, home);
        let sources = Sources::new(home);
        let launcher = launcher::own();
        let (client, secret) = (Client::new(&home.config.net), |name: &str| home.secret(name));
        home.check_values()?;
        let program = |words: Vec<String>| home.owner_program(words);
        let parts = CallParts { launcher: &launcher, client: &client, secret: &secret, program: &program };
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
        let experiences = Arc::new(home.experiences());
        let has_experience = home.has_experience(&experiences);
        let store = Arc::clone(&logs.store) as Arc<dyn Store>;
        let counts = has_experience.then(|| scoring(&experiences, store, logs.scope.clone()));
        let hooks = hooks.into_iter().chain(counts).collect::<Hooks>().with_context(context);
        home.check_hooks()?;
        let vault = home.vault(models.registry())?;
        let (tools, unready) = home.toolbox();
        #[cfg(feature = "people")]
        if home.config.people.agents {
            let (store, scope) = (Arc::clone(&logs.store) as Arc<dyn Store>, logs.scope.clone());
            let inboxes = Inboxes { store, scope, vault: vault.clone() };
            offer_agents(&tools, home.people()?.map(Arc::new), Agents::At(inboxes));
        }
        let mut lookup = Lookup::by_words(Arc::clone(&experiences));
        if let Some(config) = &home.config.experience.embeddings {
            let wrong =
                |why| home.wrong_in(&["experience", "embeddings"], &Error::failed(format!("embeddings: {why}")));
            lookup.meaning = Some(Arc::new(Meaning::new(config, &client, &secret, vault.clone()).map_err(wrong)?));
            if has_experience {
                offer(&tools, &lookup, system_clock);
            }
        }
        // One that cannot be used might have any name; that is told first.
        if unready.is_empty() {
            let names: Vec<String> = tools.specs().into_iter().map(|tool| tool.name).collect();
            let optional = OPTIONAL.iter().map(|tool| tool.name);
            home.check_tools(names.iter().map(String::as_str).chain(optional))?;
        }
        let shelf = home.shelf();
        let no_sandbox = logs.home.config.no_sandbox;
        Ok(Installation {
            logs,
            models,
            vault,
            hooks,
            experiences,
            lookup,
            has_experience,
            sources,
            tools,
            shelf,
            unready,
            no_sandbox,
        })
    }

    /// The same with these rules of a run.
    pub fn with_rules(mut self, rules: RunRules) -> Installation {
        self.sources.run = rules;
        self
    }

    /// The same, where commands may run without a sandbox if none can be made, as the configuration or `accepted` says.
    pub fn with_no_sandbox(mut self, accepted: bool) -> Installation {
        self.no_sandbox |= accepted;
        self
    }

    /// A line about commands that `--yes` would allow, where the sandbox cannot be made on this machine.
    pub fn sandbox_note(&self) -> Option<String> {
        let missing = launcher::own().support().missing()?;
        Some(match self.no_sandbox {
            true => format!("commands run without a sandbox: {missing}"),
            false => format!(
                "commands are not run unless you approve each of them: {missing}; --no-sandbox runs them without a sandbox"
            ),
        })
    }

    /// What judges recorded calls by the rules of now, and by others.
    pub fn past_judge(&self) -> PastJudge {
        let confined = launcher::own().support().can_confine();
        PastJudge::new(self.tools.clone(), self.sources.clone(), self.logs.home.protected(), confined)
    }

    /// The same with a run's own waiting times.
    pub fn with_waits(mut self, given: &LimitOptions) -> Installation {
        let Timeouts { first_byte, idle } = self.models.registry().timeouts();
        let timeouts =
            Timeouts { first_byte: given.first_byte.unwrap_or(first_byte), idle: given.idle.unwrap_or(idle) };
        self.models = Arc::new(self.models.with_registry(self.models.registry().clone().with_timeouts(timeouts)));
        self
    }

    /// What agents learned and how many entries a new trace is shown, where they are to have that.
    pub(crate) fn experience(&self) -> Option<(Lookup, usize)> {
        self.has_experience.then(|| (self.lookup.clone(), self.logs.home.experiences_shown()))
    }

    /// A new trace's first message with what earlier work says about it, at its end.
    pub async fn with_experience(&self, mail: Mail) -> Experienced {
        match self.has_experience {
            true => with_experience(&self.lookup, self.logs.home.experiences_shown(), mail).await,
            false => Experienced { mail, shown: Vec::new(), problem: None },
        }
    }

    /// What specs are made from here.
    pub(crate) fn basis(&self) -> Basis<'_> {
        let (home, skills) = (&self.logs.home, self.shelf.as_ref());
        let keys = &*self.models;
        Basis { home, tools: &self.tools, skills, models: keys.registry(), rules: &self.sources.run, keys }
    }

    /// Why a rule denies a call with these arguments to an agent of this spec, in a sentence; `None` if none does. Errors: its rules or
    /// its folder cannot be read.
    pub fn denial(&self, spec: &Spec, tool: &str, arguments: &str) -> Result<Option<String>, Error> {
        let workspace = Workspace::new(Path::new(&spec.workspace), self.logs.home.protected())?;
        let facts = match self.tools.plan(tool, arguments, &workspace) {
            // The sandbox holds what a command does, not what a file tool does.
            Ok(Planned { facts, .. }) => {
                let confined = !facts.commands.is_empty() && launcher::own().support().can_confine();
                CallFacts { confined, ..facts }
            }
            Err(problem) => return Ok(Some(problem.to_string())),
        };
        let rules = Rules {
            mode: ApprovalMode::Ask,
            access: spec.access,
            allowed_tools: spec.tools.iter().map(|tool| tool.name.clone()).collect(),
            policy: Arc::new(self.sources.load_for(spec)?),
        };
        let verdict = judge(&rules, &facts);
        Ok((verdict.decision == Decision::Deny).then_some(verdict.reason))
    }

    /// Returns true if a rule denies an agent of this spec to read a file, wherever it is. Errors: its rules or its folder cannot be read.
    pub fn denies_reading(&self, spec: &Spec, file: &Path) -> Result<bool, Error> {
        let workspace = Workspace::new(Path::new(&spec.workspace), self.logs.home.protected())?;
        let policy = Arc::new(self.sources.load_for(spec)?);
        let arguments = serde_json::json!({ "path": file.to_string_lossy() }).to_string();
        let Ok(Planned { facts, .. }) = self.tools.plan("read_text_file", &arguments, &workspace) else {
            return Ok(false);
        };
        let (rules, call) = (Rules { policy, ..Rules::default() }, CallFacts { paths: Vec::new(), ..facts.clone() });
        // A person may show a model files of Mainpath's own.
        let mut files = facts.paths.into_iter().map(|file| PathFact { protected: false, ..file });
        Ok(files.any(|file| judge_found(&rules, &call, &file) == Decision::Deny))
    }

    /// Makes a model that only this data directory has: `playback:TRACE` gives a recorded trace's answers again,
    /// `playback:TRACE#FILE` with what the file changes. Errors: no such trace or file, or no such model.
    pub async fn prepare_model(&self, model: &str) -> Result<(), Error> {
        let Some(recorded) = Recorded::of(model)? else { return check_model(model, self.models.registry()) };
        let trace = self.logs.find(Some(recorded.trace)).await?;
        recorded.add(model, self.logs.at(&trace), &self.models).await
    }

    /// The presets that there are in a workspace. Errors: as [`Host::presets`](crate::Host::presets).
    pub fn presets(&self, folder: &Path) -> Result<Presets, Error> {
        presets_in(folder, &self.logs.home, &self.tools, &self.models)
    }

    /// The channels to people. `None`: none is configured. Errors: one cannot be used.
    #[cfg(feature = "people")]
    pub fn people(&self) -> Result<Option<Arc<People>>, Error> {
        Ok(self.logs.home.people()?.map(Arc::new))
    }

    fn messenger(&self) -> Result<Option<Arc<dyn Messenger>>, Error> {
        #[cfg(feature = "people")]
        return Ok(self.people()?.map(|people| Arc::new(Sender(people)) as Arc<dyn Messenger>));
        #[cfg(not(feature = "people"))]
        Ok(None)
    }

    /// A runtime on it. Errors: a tool that is configured cannot be used.
    pub fn runtime(&self) -> Result<Runtime, Error> {
        self.runtime_under(None)
    }

    /// The same for a run whose rules have just been loaded: whoever first asks for them gets these.
    pub fn runtime_under(&self, checked: impl Into<Option<Checked>>) -> Result<Runtime, Error> {
        self.runtime_of(checked.into(), self.tools.clone(), Arc::clone(&self.models))
    }

    /// The same with these tools and models.
    pub(crate) fn runtime_of(
        &self,
        checked: Option<Checked>,
        tools: Tools,
        models: Arc<EnvModels>,
    ) -> Result<Runtime, Error> {
        if let Some(Unready { name, why }) = self.unready.first() {
            let wrong = Error::failed(format!("[tools.{name}]: {why}"));
            return Err(self.logs.home.wrong_in(&["tools", name], &wrong));
        }
        let (sources, checked) = (self.sources.clone(), Mutex::new(checked));
        Ok(Runtime::new(Config {
            store: self.logs.all_stores(),
            peers: self.logs.peers(),
            scheduler: self.logs.store.scheduler() as Arc<dyn Scheduler>,
            tools: tools.clone(),
            models: Arc::clone(&models) as Arc<dyn Models>,
            vault: self.vault.clone(),
            launcher: launcher::own().run_open(self.no_sandbox),
            protected: self.logs.home.protected(),
            policies: Arc::new(move |spec| {
                let known = checked.lock().unwrap_or_else(PoisonError::into_inner).take();
                let load = || sources.load_for(spec).map(Arc::new).map_err(Unusable::from);
                let known = known.filter(|of: &Checked| of.workspace == spec.workspace && of.run == spec.rules);
                known.map_or_else(load, |known| Ok(known.policy))
            }),
            hooks: self.hooks.clone(),
            children: Arc::new(Kin { home: Arc::clone(&self.logs.home), tools, models, shelf: self.shelf.clone() }),
            messenger: self.messenger()?,
            worktrees: self.logs.home.worktrees(),
            clock: system_clock,
            store_retries: StoreRetries::default(),
        }))
    }
}
