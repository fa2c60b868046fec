//! A host for a caller that only sends messages and decisions.

use super::{Backing, FromHome, HomeOptions, Host, Inner};
use crate::children::ChildSpecFactory;
use crate::rules::Sources;
use crate::{Error, Logs, launcher};
use mainpath_runtime::{Config, EnvModels, Hooks, Models, Runtime, StoreRetries, Unusable};
use mainpath_store::Scheduler;
use mainpath_store::scheduler::system_clock;
use mainpath_tools::Tools;
use std::sync::{Arc, Mutex};

impl Host {
    /// A host for a caller that sends messages and decisions to traces. If the configuration is invalid, the host still opens and sends, and
    /// [`Host::check_usable`] fails: it drives no trace. Call it inside a tokio runtime. Errors: a secret cannot be read.
    pub fn for_sending(logs: &Logs) -> Result<Host, Error> {
        match Host::open(HomeOptions::default()) {
            Ok(host) => Ok(host),
            Err(invalid) => Host::sending_only(logs.clone(), invalid),
        }
    }

    fn sending_only(logs: Logs, invalid: Error) -> Result<Host, Error> {
        let home = Arc::clone(&logs.home);
        let models = Arc::new(EnvModels::new(Arc::new(logs.registry())));
        let (tools, why) = (Tools::new(), invalid.clone());
        let children = ChildSpecFactory {
            home: Arc::clone(&home),
            tools: tools.clone(),
            models: Arc::clone(&models),
            shelf: None,
        };
        let runtime = Runtime::new(Config {
            store: logs.all_stores(),
            peers: logs.peers(),
            scheduler: logs.store.scheduler() as Arc<dyn Scheduler>,
            tools,
            models: Arc::clone(&models) as Arc<dyn Models>,
            vault: home.vault(models.registry())?,
            launcher: launcher::own(),
            protected: home.protected(),
            policies: Arc::new(move |_| Err(Unusable::from(why.clone()))),
            hooks: Hooks::default(),
            children: Arc::new(children),
            messenger: None,
            worktrees: home.worktrees(),
            clock: system_clock,
            store_retries: StoreRetries::default(),
        });
        Ok(Host::from(Inner {
            runtime,
            readings: Arc::default(),
            sources: Sources::new(&home),
            backing: Backing::Files(logs),
            models,
            memory: None,
            from_home: FromHome { unusable: Some(invalid), sends_only: true, ..FromHome::default() },
            shelf: None,
            #[cfg(feature = "mcp")]
            servers: Mutex::default(),
        }))
    }
}
