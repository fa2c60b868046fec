//! The MCP servers of a run: connected before it begins, asked about where they are not trusted, their changes passed on.

mod caged;

use crate::agent::{held_to, without_denied};
use crate::{Error, Installation, Logs};
use caged::Caged;
use mainpath_mcp::{Around, Configured, Mcp, McpConfig, SEARCH_ABOVE, Servers, State, Trust};
use mainpath_runtime::{Mail, Runtime, Vault};
use mainpath_store::{Scope, Store};
use mainpath_tools::Tools;
use mainpath_types::{EventKind, Origin, RunMode, Spec, ToolSpec, TraceId};
use std::path::Path;
use std::sync::Arc;

/// Which servers there are for a workspace. Errors: what is wrong with a file of the person's own.
pub fn read(logs: &Logs, workspace: &Path, run_file: Option<&Path>) -> Result<Servers, Error> {
    let config = (&logs.home.config.mcp, &*logs.home.config_file);
    Servers::read(config, workspace, run_file).map_err(Error::invalid)
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
            && !trust.has(workspace, server).map_err(Error::failed)?
            && approves(server)?
        {
            trust.add(workspace, server).map_err(Error::failed)?;
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
        if trust.has(workspace, server).map_err(Error::failed)? {
            trusted.push(server.name.clone());
        }
    }
    let secrets = app.logs.home.config.secrets.clone();
    let around = Around {
        workspace: workspace.into(),
        variables: Arc::new(move |name| std::env::var(name).ok().or_else(|| secrets.get(name).cloned())),
        starter: Arc::new(Caged::new(app, workspace)?),
    };
    let above = app.logs.home.config.mcp.search_above.unwrap_or(SEARCH_ABOVE);
    let is_trusted = |server: &Configured| trusted.contains(&server.name);
    Ok(Mcp::start(app.tools.clone(), servers, above, around, &is_trusted, tell).await)
}

/// The tools of an earlier spec, with those of MCP servers as they are now, as far as its caller allows them.
pub fn tools(old: &Spec, registry: &Tools) -> Vec<ToolSpec> {
    if old.run_mode == RunMode::Call {
        return Vec::new();
    }
    let origin = |spec: &ToolSpec| registry.doc(&spec.name).map(|doc| doc.origin);
    let kept = old.tools.iter().filter(|spec| origin(spec).is_some_and(|origin| origin != Origin::Mcp)).cloned();
    let now = held_to(&old.allowed_tools, registry).into_iter().filter(|spec| origin(spec) == Some(Origin::Mcp));
    let mut tools: Vec<ToolSpec> = kept.chain(now).collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
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
                let Ok(policy) = sources.load(&spec.workspace, &spec.rules) else { continue };
                let mut new = Spec { tools: self::tools(&spec, &tools), ..spec.clone() };
                without_denied(&mut new, &policy);
                if new != spec {
                    let spec = Box::new(new);
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
    let log = store.read(scope, trace, 1).await.ok()?;
    log.events.into_iter().rev().find_map(|event| match event.kind {
        EventKind::SpecChanged(data) => Some(*data.spec),
        _ => None,
    })
}

/// The secrets that servers are given: the variables that headers are made of, and what stands in an entry itself.
pub(crate) fn secrets(config: &McpConfig) -> (Vec<String>, Vec<(String, String)>) {
    let (mut variables, mut values) = (Vec::new(), Vec::new());
    for (server, entry) in &config.servers {
        for (name, text) in &entry.headers {
            let named = text.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
            variables.extend(named.map(String::from));
            let is_secret = ["auth", "key", "token", "secret"].iter().any(|part| name.to_lowercase().contains(part));
            if is_secret && !text.contains("${") {
                // The last word of `Bearer …`.
                values.push((format!("{server}-{name}"), text.rsplit(' ').next().unwrap_or_default().to_string()));
            }
        }
        let given = entry.env.iter().filter(|(name, text)| Vault::is_secret_name(name) && !text.contains("${"));
        values.extend(given.map(|(name, text)| (format!("{server}-{name}"), text.clone())));
    }
    (variables, values)
}
