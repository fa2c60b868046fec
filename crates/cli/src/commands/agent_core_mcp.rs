//! `mainpath agent-core --mcp`: the agent core as the tool of an MCP server.

use crate::exit::{Exit, Failure};
use crate::runs::signals::Signals;
use crate::ui::person::person_only;
use crate::ui::text::one_line;
use mainpath::agent_core::{AgentCoreRequest, Refused, Terms};
use mainpath::mcp::{CallError, OneTool, serve_tool};
use mainpath::tools::Fut;
use mainpath::{Host, Trace};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Serves until the client goes; what goes on then comes to rest at its next checkpoint.
pub async fn serve(workspace: PathBuf) -> Result<Exit, Failure> {
    // What an agent starts must not start agents of its own kind by itself.
    person_only("serve runs")?;
    let tell = |line: &str| eprintln!("! {}", one_line(line));
    let host = Host::from_home_in(std::slice::from_ref(&workspace), tell).await?;
    host.bind_keys(None);
    let core = Arc::new(Core { host: host.clone(), workspace });
    let mut signals = Signals::listen()?;
    let done = tokio::select! {
        done = serve_tool(core) => Some(done),
        _ = signals.next() => None,
    };
    tokio::select! {
        () = host.runtime().rest() => {}
        _ = signals.next() => {}
    }
    match done {
        Some(served) => served.map(|()| Exit::Ok).map_err(|error| Failure::error(error.to_string())),
        None => Ok(Exit::Interrupted),
    }
}

struct Core {
    host: Host,
    workspace: PathBuf,
}

impl OneTool for Core {
    fn name(&self) -> &'static str {
        "agent_core"
    }

    fn about(&self) -> &'static str {
        "Has an agent do a task with the tools that it is given, and returns its final answer, its trace, the tools that it used and why it \
         ended. Nobody is asked: a call that needs a person is denied."
    }

    fn schema(&self) -> Value {
        AgentCoreRequest::schema()
    }

    fn call(&self, arguments: Value) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move { self.execute(arguments).await.map_err(CallError::failed) })
    }
}

impl Core {
    async fn execute(&self, arguments: Value) -> Result<Value, Refused> {
        let request = self.host.read_agent_core(arguments).map_err(Refused::Fields)?;
        let terms = Terms { workspace: self.workspace.clone(), once: None, is_permitted: false };
        let run = self.host.agent_core(&request, terms).await?;
        // Whoever asked has gone when this is dropped: nobody else knows of the run.
        let mut open = Open { trace: run.trace().clone(), is_over: false };
        let executed = run.executed().await?;
        open.is_over = true;
        if let Some(logs) = self.host.logs() {
            logs.write_views(open.trace.id()).await?;
        }
        Ok(json!(executed))
    }
}

/// A run that is waited for.
struct Open {
    trace: Trace,
    is_over: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_over {
            let trace = self.trace.clone();
            tokio::spawn(async move {
                if let Err(error) = trace.stop().await {
                    eprintln!("! {} cannot be stopped: {}", trace.id(), one_line(error.message()));
                }
            });
        }
    }
}
