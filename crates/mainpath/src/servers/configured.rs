//! The servers of an installation: connected before a run begins, asked about where they are not trusted, their changes passed on.

use super::caged::{Caged, redact};
use crate::agent::{tools_now, without_denied};
use crate::host::ServerPlace;
use crate::{Error, Host, Logs, launcher, spec_of};
use mainpath_mcp::{Around, ConfigError, Configured, Mcp, SEARCH_ABOVE, Servers, State, Times, Trust};
use mainpath_runtime::Mail;
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

/// Connects to the servers of a workspace and puts their tools among the host's, which keeps them until it ends. `approves` is asked
/// about those that nobody trusts yet; without it they are not used. What is wrong with a server is told, a line each, and the others
/// are used. `ends` ends the wait for servers that start, and their processes; it is first polled when they do.
pub async fn connect<E: From<Error>>(
    host: &Host,
    workspace: &Path,
    run_file: Option<&Path>,
    approves: Option<Approves>,
    ends: impl Future<Output = E>,
    tell: impl Fn(&str) + Send + Sync + Clone + 'static,
) -> Result<(), E> {
    let place = ServerPlace { workspace: workspace.into(), run_file: run_file.map(Path::to_path_buf) };
    if host.has_servers_of(&place) {
        return Ok(());
    }
    let Some(logs) = host.logs() else { return Ok(()) };
    let servers = read(logs, workspace, run_file)?;
    servers.warnings.iter().for_each(|warning| tell(warning));
    host.close_servers().await;
    if servers.servers.is_empty() {
        return Ok(());
    }
    let trust = trust(logs);
    for server in servers.servers.iter().filter(|server| !server.entry.disabled) {
        if let Some(approves) = approves
            && !trust.has(workspace, server).map_err(|error| Error::failed(error.to_string()))?
            && approves(server)?
        {
            trust.add(workspace, server).map_err(|error| Error::failed(error.to_string()))?;
        }
    }
    let mcp = tokio::select! {
        mcp = start(host, workspace, servers, tell.clone()) => mcp?,
        ended = ends => return Err(ended),
    };
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
    host.keep_servers(mcp, place);
    Ok(())
}

/// Whether a person wants a server started that a project lists.
pub type Approves = fn(&Configured) -> Result<bool, Error>;

/// Connects to servers of a host from a home.
pub async fn start(
    host: &Host,
    workspace: &Path,
    servers: Servers,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Mcp, Error> {
    let trust = Trust::new(host.home().config_dir());
    let mut trusted = Vec::new();
    for server in &servers.servers {
        if trust.has(workspace, server).map_err(|error| Error::failed(error.to_string()))? {
            trusted.push(server.name.clone());
        }
    }
    let secrets = host.home().config.secrets.clone();
    let around = Around {
        workspace: workspace.into(),
        variables: Arc::new(move |name| std::env::var(name).ok().or_else(|| secrets.get(name).cloned())),
        starter: Arc::new(
            Caged::new(launcher::own(), host.vault(), workspace, host.home().protected())
                .with_workspaces(host.home().workspaces.clone()),
        ),
        redact: redact(host.vault()),
        times: Times::default(),
    };
    let above = host.home().config.mcp.search_above.unwrap_or(SEARCH_ABOVE);
    let is_trusted = |server: &Configured| trusted.contains(&server.name);
    Ok(Mcp::start(host.tools().clone(), servers, above, around, &is_trusted, tell).await)
}

/// Passes on to a run that the tools of servers have changed, until the returned guard is dropped.
pub fn pass_on(host: &Host, trace: &TraceId) -> PassingOn {
    let (host, mcp) = (host.clone(), host.servers());
    let (changes, trace) = (mcp.map(|mcp| mcp.changes()), trace.clone());
    PassingOn(changes.map(|mut changes| {
        // What changed before the run began is in its spec.
        changes.mark_unchanged();
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(spec) = newest(&host, &trace).await else { return };
                // Under rules that cannot be read nothing is offered anew.
                let Ok(policy) = host.inner.sources.load_for(&spec) else { continue };
                let mut new = Spec { tools: tools_now(&spec, host.tools()), ..spec.clone() };
                without_denied(&mut new, &policy);
                if new != spec {
                    let spec = Arc::new(new);
                    // A run that cannot be told goes on with the tools that it has.
                    let _ = host.runtime().send(host.scope(), &trace, &Mail::SetSpec { spec }).await;
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

async fn newest(host: &Host, trace: &TraceId) -> Option<Spec> {
    spec_of(&host.at(trace).read(1).await.ok()?).cloned()
}
