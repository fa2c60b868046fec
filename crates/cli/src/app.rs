//! What agents are run with: the parts, put together.

use crate::args::{AgentArgs, RuleArgs};
use crate::config::Home;
use crate::exit::Failure;
use crate::hooks::{ContextHookEntry, HookEntry};
use crate::logs::Logs;
use crate::policy::{Checked, Sources};
use crate::toolbox::{OPTIONAL, Unready};
use mainpath_net::Client;
use mainpath_providers::{BadScript, Substitutions, Timeouts};
use mainpath_runtime::replay::playback;
use mainpath_runtime::{Config, EnvModels, Hooks, Runtime, Vault};
use mainpath_sandbox::Launcher;
use mainpath_store::Scheduler;
use mainpath_store::scheduler::system_clock;
use mainpath_tools::Tools;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What commands that run agents work on, or set up what runs them.
pub struct App {
    /// What there is to look at.
    pub logs: Logs,
    /// The models.
    pub models: Arc<EnvModels>,
    /// What is asked or told along the way.
    hooks: Hooks,
    /// Where rules come from.
    pub sources: Sources,
    /// The secrets.
    pub vault: Vault,
    /// The tools that agents can have.
    pub tools: Tools,
    /// Those that are configured and cannot be used: no agent works until that is put right.
    unready: Vec<Unready>,
}

impl App {
    /// Opens the data directory.
    pub fn open() -> Result<App, Failure> {
        App::on(Logs::open()?)
    }

    /// The same for who only looks: nothing need be writable there.
    pub fn look() -> Result<App, Failure> {
        // What is wrong in the configuration is an error here as well.
        let home = Home::find()?;
        App::on(Logs { home, ..Logs::look()? })
    }

    fn on(logs: Logs) -> Result<App, Failure> {
        let home = &logs.home;
        let models = Arc::new(EnvModels::new(Arc::new(home.registry()?)));
        let sources = Sources::new(home);
        let launcher = Launcher::current_exe();
        let (client, secret) = (Client::new(&home.config.net), |name: &str| home.secret(name));
        let build = |hook: &HookEntry| hook.build(&launcher, &client, &secret);
        let hooks: Result<Hooks, String> = home.config.hooks.iter().map(build).collect();
        let build = |hook: &ContextHookEntry| hook.build(&launcher, &client, &secret);
        let context: Result<Vec<_>, String> = home.config.context_hooks.iter().map(build).collect();
        let hooks = hooks.and_then(|hooks| Ok(hooks.with_context(context?)));
        let hooks = hooks.map_err(|why| Failure::error(format!("{}: {why}", home.config_file.display())))?;
        home.check_hooks()?;
        let vault = home.vault(models.registry())?;
        let (tools, unready) = home.toolbox();
        // One that cannot be used might have any name; that is told first.
        if unready.is_empty() {
            let names: Vec<String> = tools.specs().into_iter().map(|tool| tool.name).collect();
            let optional = OPTIONAL.iter().map(|tool| tool.name);
            home.check_tools(names.iter().map(String::as_str).chain(optional))?;
        }
        Ok(App { logs, models, vault, hooks, sources, tools, unready })
    }

    /// The same with the rules of the command line.
    /// Errors: a file of theirs cannot be read.
    pub fn with_rules(mut self, rules: &RuleArgs) -> Result<App, Failure> {
        self.sources.run = rules.read()?;
        Ok(self)
    }

    /// The same as one run is to be made: with the rules and the waiting times of its command line.
    /// Errors: a file of its rules cannot be read.
    pub fn for_run(mut self, args: &AgentArgs) -> Result<App, Failure> {
        let Timeouts { first_byte, idle } = self.models.registry().timeouts();
        let timeouts = Timeouts {
            first_byte: args.limits.first_byte_timeout.unwrap_or(first_byte),
            idle: args.limits.idle_timeout.unwrap_or(idle),
        };
        self.models = Arc::new(EnvModels::new(Arc::new(self.models.registry().clone().with_timeouts(timeouts))));
        self.with_rules(&args.rules)
    }

    /// Makes a model that only this data directory has: `playback:TRACE` gives a recorded trace's answers again,
    /// `playback:TRACE#FILE` with what the file changes. Errors: no such trace or file, or no such model.
    pub async fn prepare_model(&self, model: &str) -> Result<(), Failure> {
        let Some(wanted) = model.strip_prefix("playback:") else {
            return crate::choose::check_model(model, self.models.registry());
        };
        let (trace, file) = wanted.split_once('#').map_or((wanted, None), |(trace, file)| (trace, Some(file)));
        if file == Some("") {
            return Err(Failure::usage(format!("the model {model:?} lacks the file: write playback:TRACE#FILE")));
        }
        let bad = |error: BadScript| Failure::usage(error.to_string());
        let changes = file.map(|file| Substitutions::read(Path::new(file))).transpose().map_err(bad)?;
        let trace = self.logs.find(Some(trace)).await?;
        let mut recording = playback(&*self.logs.store, &self.logs.scope, &trace).await?;
        if let Some(changes) = &changes {
            recording = recording.with(changes).map_err(bad)?;
        }
        self.models.add(model, Arc::new(recording));
        Ok(())
    }

    /// A runtime on it. Errors: a tool that is configured cannot be used.
    pub fn runtime(&self) -> Result<Runtime, Failure> {
        self.runtime_under(None)
    }

    /// The same for a run whose rules have just been loaded: whoever first asks for them gets these.
    pub fn runtime_under(&self, checked: impl Into<Option<Checked>>) -> Result<Runtime, Failure> {
        if let Some(Unready { name, why }) = self.unready.first() {
            return Err(Failure::error(format!("{}, [tools.{name}]: {why}", self.logs.home.config_file.display())));
        }
        let (sources, checked) = (self.sources.clone(), Mutex::new(checked.into()));
        Ok(Runtime::new(Config {
            store: self.logs.store.clone(),
            scheduler: self.logs.store.scheduler() as Arc<dyn Scheduler>,
            tools: self.tools.clone(),
            models: self.models.clone(),
            vault: self.vault.clone(),
            launcher: Launcher::current_exe(),
            protected: self.logs.home.protected(),
            policies: Arc::new(move |spec| {
                let known = checked.lock().unwrap_or_else(PoisonError::into_inner).take();
                let load =
                    || sources.load(&spec.workspace, &spec.rules).map(Arc::new).map_err(|failure| failure.message);
                let known = known.filter(|of: &Checked| of.workspace == spec.workspace && of.run == spec.rules);
                known.map_or_else(load, |known| Ok(known.policy))
            }),
            hooks: self.hooks.clone(),
            clock: system_clock,
        }))
    }
}
