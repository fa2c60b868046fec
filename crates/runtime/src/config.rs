//! What a runtime is made of.

use crate::children::{ChildSpecs, Peers, Worktrees};
use crate::effects::hooks::Hooks;
use crate::messenger::Messenger;
use crate::models::Models;
use crate::secrets::Vault;
use crate::unusable::Unusable;
use mainpath_policy::Policy;
use mainpath_sandbox::Launcher;
use mainpath_store::{Scheduler, Store};
use mainpath_tools::Tools;
use mainpath_types::{Millis, Spec};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The rules that hold for a spec: those of its workspace, and its own. Errors: [`Unusable::Rules`].
pub type Policies = Arc<dyn Fn(&Spec) -> Result<Arc<Policy>, Unusable> + Send + Sync>;

/// What a runtime is made of.
#[derive(Clone)]
pub struct Config {
    /// Where logs are.
    pub store: Arc<dyn Store>,
    /// Says which trace to look at.
    pub scheduler: Arc<dyn Scheduler>,
    /// The tools that specs can name.
    pub tools: Tools,
    /// The models that specs can name.
    pub models: Arc<dyn Models>,
    /// The secrets to keep out of everything.
    pub vault: Vault,
    /// How processes are started.
    pub launcher: Launcher,
    /// Mainpath's own folders, which no tool may touch.
    pub protected: Vec<PathBuf>,
    /// The rules that hold for a spec.
    pub policies: Policies,
    /// What the owner wants asked or told along the way.
    pub hooks: Hooks,
    /// What the agents are that agents start.
    pub children: Arc<dyn ChildSpecs>,
    /// What begins agents on other machines; `None`: there are none.
    pub peers: Option<Arc<dyn Peers>>,
    /// What sends questions to people.
    pub messenger: Option<Arc<dyn Messenger>>,
    /// Where children that write side by side work; `None`: only one may write at a time.
    pub worktrees: Option<Worktrees>,
    /// The time now, in milliseconds since the Unix epoch.
    pub clock: fn() -> Millis,
    /// When a store that cannot be written is tried again.
    pub store_retries: StoreRetries,
}

/// When a store that cannot be written is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRetries {
    /// How long to wait before each further try. After the last one the trace is given up.
    pub pauses: Arc<[Duration]>,
    /// How often a trace is tried again that the disk had no room for.
    pub look_for_room: Duration,
}

impl Default for StoreRetries {
    fn default() -> Self {
        let pauses = [20, 100, 500, 1_000, 2_000, 3_000].map(Duration::from_millis);
        StoreRetries { pauses: Arc::new(pauses), look_for_room: Duration::from_secs(5) }
    }
}
