//! Mainpath, put together for a measure: files store, runtime, and two tools that do nothing but answer.

use crate::Fail;
use crate::server::{Plan, Server};
use mainpath_policy::Folders;
use mainpath_runtime::{
    BuiltinRules, Config, EnvModels, Hooks, Live, Mail, Phase, Runtime, StoreRetries, Unusable, Vault,
};
use mainpath_sandbox::Launcher;
use mainpath_store::files::Disk;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{FilesStore, Options, Scheduler, Scope};
use mainpath_tools::{AgentTool, Fut, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::{EffectClass, EventKind, Limits, Profile, Spec, ToolOutput, TraceId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much a tool is to return.
#[derive(Deserialize, JsonSchema)]
pub struct Size {
    /// How many bytes.
    bytes: usize,
}

/// A read-only tool.
struct Look;

impl Tool for Look {
    type Args = Size;
    const NAME: &'static str = "look";

    fn describe(&self) -> ToolDoc {
        ToolDoc::new("Looks, and says what there is in so many bytes.", EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, _: &'a ToolContext, args: Size) -> Fut<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::text(text(args.bytes)) })
    }
}

/// A tool that a person has to allow.
struct Act;

impl Tool for Act {
    type Args = Size;
    const NAME: &'static str = "act";

    fn describe(&self) -> ToolDoc {
        ToolDoc::new("Acts, and says what came of it in so many bytes.", EffectClass::LocalWrite)
    }

    fn run<'a>(&'a self, _: &'a ToolContext, args: Size) -> Fut<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::text(text(args.bytes)) })
    }
}

/// So many bytes of something like prose.
pub fn text(bytes: usize) -> String {
    "what was found there is said here in a line that is neither short nor long. ".chars().cycle().take(bytes).collect()
}

/// The first message of a run, as long as wanted.
pub fn task(run: &str, bytes: usize) -> String {
    let start = format!("@{run}; take a look at everything and say what you found. ");
    let more = text(bytes.saturating_sub(start.len()));
    start + &more
}

/// A runtime on a data directory.
pub struct Agents {
    pub runtime: Runtime,
    pub store: Arc<FilesStore>,
    /// Counts the syncs.
    pub disk: Arc<Disk>,
    pub scope: Scope,
    workspace: PathBuf,
}

impl Agents {
    /// Opens `folder/data`. Call it inside a tokio runtime.
    pub fn new(folder: &Path) -> Result<Agents, Fail> {
        let options = Options::default();
        let disk = Arc::clone(&options.disk);
        let store = Arc::new(FilesStore::open(&folder.join("data"), options)?);
        let workspace = folder.join("work");
        std::fs::create_dir_all(&workspace)?;
        let builtin = BuiltinRules::default();
        let runtime = Runtime::new(Config {
            store: store.clone(),
            scheduler: store.scheduler() as Arc<dyn Scheduler>,
            tools: tools().with(AgentTool::default()),
            models: Arc::new(EnvModels::default()),
            vault: Vault::default(),
            launcher: Launcher::current_exe(),
            protected: vec![folder.join("data")],
            policies: Arc::new(move |spec| {
                let folders = Folders { workspace: spec.workspace.clone(), home: String::new(), ..Folders::default() };
                builtin.of(folders).map(Arc::new).map_err(Unusable::rules)
            }),
            hooks: Hooks::default(),
            children: Arc::new(mainpath_runtime::Narrowed),
            peers: None,
            messenger: None,
            worktrees: None,
            clock: system_clock,
            store_retries: StoreRetries::default(),
        });
        Ok(Agents { runtime, store, disk, scope: Scope::local(), workspace })
    }

    /// The spec of a run by this plan.
    pub fn spec(&self, server: &Server, plan: Plan) -> Spec {
        Spec { workspace: self.workspace.display().to_string(), ..spec(server.model(plan)) }
    }

    /// Begins a run with a first message of this length, and returns when its beginning is durable.
    pub async fn start(&self, spec: Spec, run: &str, bytes: usize) -> Result<TraceId, Fail> {
        let trace: TraceId = run.parse()?;
        self.runtime.start(&self.scope, &trace, spec, Mail::message(task(run, bytes))).await?;
        Ok(trace)
    }

    /// Waits until nothing is left to be done for a trace but waiting.
    pub async fn rest(&self, trace: &TraceId) -> Result<Phase, Fail> {
        let mut phase = self.runtime.phase(&self.scope, trace);
        let at_rest = phase.wait_for(|phase| !matches!(phase, Phase::Running)).await?.clone();
        match at_rest {
            Phase::Failed(problem) | Phase::Elsewhere(problem) => Err(problem.into()),
            at_rest => Ok(at_rest),
        }
    }

    /// A whole run with somebody who watches it. Gives how many pieces of answers they saw.
    pub async fn watched(&self, spec: Spec, run: &str) -> Result<u64, Fail> {
        let trace: TraceId = run.parse()?;
        self.start(spec, run, 0).await?;
        let mut watcher = self.runtime.watch(&self.scope, &trace, 1);
        let watching = tokio::spawn(async move {
            let mut pieces = 0;
            loop {
                match watcher.next().await {
                    Ok(Live::Delta { .. }) => pieces += 1,
                    Ok(Live::Event(event)) if matches!(event.kind, EventKind::RunFinished(_)) => return pieces,
                    Ok(_) => {}
                    Err(_) => return pieces,
                }
            }
        });
        self.rest(&trace).await?;
        Ok(watching.await?)
    }

    /// A whole run.
    pub async fn run(&self, spec: Spec, run: &str) -> Result<TraceId, Fail> {
        let trace = self.start(spec, run, 0).await?;
        self.rest(&trace).await?;
        Ok(trace)
    }
}

fn tools() -> Tools {
    Tools::new().with(Look).with(Act)
}

/// A spec without limits.
pub fn spec(model: String) -> Spec {
    Spec {
        instructions: "You look around in the folder you are given and say what you found.".into(),
        tools: tools().specs(),
        limits: Limits::default(),
        temperature: None,
        context_window: 100_000_000,
        reserved_output: 1_000,
        ..Spec::new(model, Profile::Trace)
    }
}
