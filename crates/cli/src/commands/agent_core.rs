//! `mainpath agent-core`: a request on standard input, what came of it on standard output, for workflow engines that start programs.

use crate::commands::agent_core_mcp;
use crate::exit::{Exit, Failure};
use crate::runs::driven::ends;
use crate::runs::signals::Signals;
use crate::ui::out::out;
use crate::ui::text::one_line;
use clap::Args;
use mainpath::agent_core::{AgentCoreRequest, Refused, Terms};
use mainpath::servers::connect;
use mainpath::{HomeOptions, Host, agent};
use mainpath_server::problem::{Kind, Problem};
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

/// The largest request, in bytes.
const LARGEST: u64 = 64 << 20;

/// `mainpath agent-core`
#[derive(Args, Debug)]
pub struct AgentCoreArgs {
    /// The folder to work in [default: the current one]
    #[arg(short = 'C', long = "workspace", value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print the JSON Schema of requests instead
    #[arg(long)]
    pub schema: bool,
    /// Serve it as the tool of an MCP server on standard input and output
    #[arg(long, conflicts_with = "schema")]
    pub mcp: bool,
}

/// `mainpath agent-core`
pub async fn agent_core(args: AgentCoreArgs) -> Result<Exit, Failure> {
    if args.schema {
        out(&AgentCoreRequest::schema().to_string())?;
        return Ok(Exit::Ok);
    }
    let workspace = agent::workspace(args.workspace.as_deref())?;
    if args.mcp {
        return agent_core_mcp::serve(workspace).await;
    }
    let given = match request()? {
        Ok(given) => given,
        Err(error) => return told(&Problem::new(Kind::NOT_JSON, format!("the request is not JSON: {error}"))),
    };
    let tell = |line: &str| eprintln!("! {}", one_line(line));
    let mut signals = Signals::listen()?;
    let host = Host::open(HomeOptions { workspaces: vec![workspace.clone()], ..HomeOptions::default() })?;
    let request = match host.read_agent_core(given) {
        Ok(request) => request,
        Err(wrong) => return told(&Problem::of_body(wrong)),
    };
    let ends = ends(host.agent_core_time_limit(&request), true);
    connect(&host, &workspace, None, None, ends, tell).await?;
    // A workflow made the request, perhaps of what others wrote: an address in it gets no key.
    host.bind_keys(None);
    let terms = Terms { workspace, once: None, is_permitted: true };
    let run = match host.agent_core(&request, terms).await {
        Ok(run) => run,
        Err(Refused::Failed(error)) => return Err(error.into()),
        Err(fields @ Refused::Fields(_)) => return told(&fields.into()),
    };
    let trace = run.trace().clone();
    let mut ended = Box::pin(run.outcome());
    let outcome = tokio::select! {
        outcome = ended.as_mut() => outcome,
        _ = signals.next() => {
            trace.stop().await?;
            tokio::select! {
                outcome = ended.as_mut() => outcome,
                _ = signals.next() => return Ok(Exit::Interrupted),
            }
        }
    }?;
    out(&json!(trace.executed().await?).to_string())?;
    host.runtime().rest().await;
    if let Some(logs) = host.logs() {
        logs.write_views(trace.id()).await?;
    }
    Ok(Exit::of(outcome.reason, outcome.error.map(|error| error.kind)))
}

/// The request on standard input. The inner error: it is not JSON.
fn request() -> Result<serde_json::Result<Value>, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::usage("give the request on standard input: mainpath agent-core < request.json"));
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::usage(format!("the request has more than {LARGEST} bytes")));
    }
    Ok(serde_json::from_slice(&bytes))
}

/// A problem with the request: for programs on standard output, for people a line for each field.
fn told(problem: &Problem) -> Result<Exit, Failure> {
    out(&json!(problem).to_string())?;
    if problem.errors.is_empty() {
        eprintln!("mainpath: {}", one_line(&problem.detail));
    }
    for field in &problem.errors {
        let pointer = if field.pointer.is_empty() { "the request" } else { &field.pointer };
        eprintln!("mainpath: {}: {}", one_line(pointer), one_line(&field.detail));
    }
    Ok(Exit::Usage)
}
