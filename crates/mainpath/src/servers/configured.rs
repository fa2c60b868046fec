//! The servers of an installation: connected before a run begins, asked about where they are not trusted, their changes passed on.

use super::caged::{Caged, redact};
use crate::agent::{tools_now, without_denied};
use crate::{Error, Installation, Logs, launcher, spec_of};
use mainpath_mcp::{Around, ConfigError, Configured, Mcp, SEARCH_ABOVE, Servers, State, Times, Trust};
use mainpath_runtime::{Mail, Runtime};
use mainpath_store::{Scope, Store};
use mainpath_types::{Spec, TraceId};
use std::path::Path;
use std::sync::Arc;

/// Which servers there are for a workspace. Errors: what is wrong with a file of the person's own.
pub fn read(logs: &Logs, workspace: &Path, run_file: Option<&Path>) -> Result<Servers, Error> {
    let (config, file) = (&logs.home.config.mcp, &logs.home.config_file);
    Servers::read(config, file, workspace, run_file).map_err(|error| match error {
        // One of the configuration has a line.
        ConfigError::Entry { file: of, entry } if of == *file => {
            logs.home.wrong_in(&["mcp", "servers", &entry.name], &Error::invalid(entry.to_string()))
        }
        error => Error::invalid(error.to_string()),
    })
}

/// Whom the person trusts.
pub fn trust(logs: &Logs) -> Trust {
    Trust::new(logs.home.config_dir())
}

/// Connects to the servers of a workspace and puts their tools among the installation's. `None` if there are none. `approves` is asked
/// about those that nobody trusts yet; without it they are not used. What is wrong with a server is told, a line each, and the others
/// are used.
pub async fn connect(
    app: &Installation,
    workspace: &Path,
    run_file: Option<&Path>,
    approves: Option<Approves>,
    tell: impl Fn(&str) + Send + Sync + Clone + 'static,
) -> Result<Option<Mcp>, Error> {
    let servers = read(&app.logs, workspace, run_file)?;
    servers.warnings.iter().for_each(|warning| tell(warning));
    if servers.servers.is_empty() {
        return Ok(None);
    }
    let trust = trust(&app.logs);
    for server in servers.servers.iter().filter(|server| !server.entry.disabled) {
        if let Some(approves) = approves
            && !trust.has(workspace, server).map_err(|error| Error::failed(error.to_string()))?
            && approves(server)?
        {
            trust.add(workspace, server).map_err(|error| Error::failed(error.to_string()))?;
        }
    }
    let mcp = start(app, workspace, servers, tell.clone()).await?;
    for server in mcp.states() {
        match &server.state {
            State::Failed(why) => tell(&format!("the MCP server {:?} is not used: {why}", server.name)),
            State::Untrusted => tell(&format!(
                "the MCP server {:?} of .mcp.json is not used until you approve it: mainpath mcp trust",
                server.name
            )),
            State::Ready { .. } | State::Disabled => {}
        }
    }
    Ok(Some(mcp))
}

/// Whether a person wants a server started that a project lists.
pub type Approves = fn(&Configured) -> Result<bool, Error>;

/// Connects to servers.
pub async fn start(
    app: &Installation,
    workspace: &Path,
    servers: Servers,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Mcp, Error> {
    let trust = trust(&app.logs);
    let mut trusted = Vec::new();
    for server in &servers.servers {
        if trust.has(workspace, server).map_err(|error| Error::failed(error.to_string()))? {
            trusted.push(server.name.clone());
        }
    }
    let secrets = app.logs.home.config.secrets.clone();
    let around = Around {
        workspace: workspace.into(),
        variables: Arc::new(move |name| std::env::var(name).ok().or_else(|| secrets.get(name).cloned())),
        starter: Arc::new(
            Caged::new(launcher::own(), &app.vault, workspace, app.logs.home.protected())
                .with_workspaces(app.logs.home.workspaces.clone()),
        ),
        redact: redact(&app.vault),
        times: Times::default(),
    };
    let above = app.logs.home.config.mcp.search_above.unwrap_or(SEARCH_ABOVE);
    let is_trusted = |server: &Configured| trusted.contains(&server.name);
    Ok(Mcp::start(app.tools.clone(), servers, above, around, &is_trusted, tell).await)
}

/// Passes on to a run that the tools of servers have changed, until the returned guard is dropped.
pub fn pass_on(app: &Installation, runtime: &Runtime, trace: &TraceId, mcp: Option<&Mcp>) -> PassingOn {
    let (store, scope, tools) = (Arc::clone(&app.logs.store), app.logs.scope.clone(), app.tools.clone());
    let sources = app.sources.clone();
    let (runtime, trace) = (runtime.clone(), trace.clone());
    PassingOn(mcp.map(Mcp::changes).map(|mut changes| {
        // What changed before the run began is in its spec.
        changes.mark_unchanged();
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(spec) = newest(&*store, &scope, &trace).await else { return };
                // Under rules that cannot be read nothing is offered anew.
                let Ok(policy) = sources.load_for(&spec) else { continue };
                let mut new = Spec { tools: tools_now(&spec, &tools), ..spec.clone() };
                without_denied(&mut new, &policy);
                if new != spec {
                    let spec = Arc::new(new);
                    // A run that cannot be told goes on with the tools that it has.
                    let _ = runtime.send(&scope, &trace, &Mail::SetSpec { spec }).await;
                }
            }
        })
    }))
}

/// Ends the passing on when it is dropped.
pub struct PassingOn(Option<tokio::task::JoinHandle<()>>);

impl Drop for PassingOn {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

async fn newest(store: &dyn Store, scope: &Scope, trace: &TraceId) -> Option<Spec> {
    spec_of(&store.read(scope, trace, 1).await.ok()?).cloned()
}
