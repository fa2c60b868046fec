//! `mainpath mcp`: the servers that agents use, for people.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::runs::attach::{Sizes, line};
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{one_line, plain, short};
use clap::{Args, Subcommand};
use mainpath::Logs;
use mainpath::agent;
use mainpath::mcp::{Servers, State};
use mainpath::policy::{Attempt, Grant};
use mainpath::sandbox::Launcher;
use mainpath::servers;
use mainpath::tools::{ToolContext, Workspace};
use mainpath::types::{BadName, CallId, Confinement, Decision, Part, Seq, TraceId, Verdict};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// `mainpath mcp`
#[derive(Subcommand, Debug)]
pub enum McpCommand {
    /// Connect to the servers and list them with their tools
    List(McpListArgs),
    /// Approve servers of the workspace's .mcp.json, so that agents may start them
    Trust(McpTrustArgs),
    /// Call a tool of a server and print what it returns
    Call(McpCallArgs),
    /// Serve runs to an MCP client on standard input and output: run_start, run_status, run_answer, run_result
    Serve(Box<AgentArgs>),
}

/// Which servers are meant.
#[derive(Args, Debug)]
pub struct McpWhere {
    /// The folder with the .mcp.json [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// More servers, in a file like .mcp.json
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,
}

/// `mainpath mcp list`
#[derive(Args, Debug)]
pub struct McpListArgs {
    #[command(flatten)]
    pub place: McpWhere,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath mcp trust`
#[derive(Args, Debug)]
pub struct McpTrustArgs {
    /// The servers to approve [default: show those that need approval]
    #[arg(value_name = "SERVER")]
    pub servers: Vec<String>,
    /// The folder with the .mcp.json [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath mcp call`
#[derive(Args, Debug)]
pub struct McpCallArgs {
    /// The server
    pub server: String,
    /// The tool: the server's name for it, or the agent's
    pub tool: String,
    /// The arguments, as a JSON object
    #[arg(default_value = "{}")]
    pub arguments: String,
    #[command(flatten)]
    pub place: McpWhere,
}

/// `mainpath mcp`
pub async fn mcp(command: McpCommand) -> Result<Exit, Failure> {
    match command {
        McpCommand::List(args) => list(args).await,
        McpCommand::Trust(args) => trust(&args),
        McpCommand::Call(args) => call(args).await,
        McpCommand::Serve(args) => crate::commands::serve::serve(*args).await,
    }
}

async fn list(args: McpListArgs) -> Result<Exit, Failure> {
    let app = App::open()?;
    let workspace = agent::workspace(args.place.workspace.as_deref())?;
    let servers = servers::read(&app.logs, &workspace, args.place.mcp_config.as_deref())?;
    servers.warnings.iter().for_each(|warning| eprintln!("! {}", one_line(warning)));
    let files: Vec<String> = servers.servers.iter().map(|server| server.file.display().to_string()).collect();
    if files.is_empty() && !args.json {
        out(&format!("no MCP servers; add them to {} or .mcp.json", app.logs.home.config_file.display()))?;
    }
    let mcp = servers::start(&app.host, &workspace, servers, |notice| eprintln!("! {}", one_line(notice))).await?;
    let mut fine = true;
    for (server, file) in mcp.states().iter().zip(files) {
        let (state, about) = match &server.state {
            State::Ready { protocol, about, .. } => ("ready", format!("{about}, protocol {protocol}")),
            State::Failed(why) => ("failed", why.clone()),
            State::Untrusted => ("untrusted", format!("not approved; review it with mainpath mcp trust ({file})")),
            State::Disabled => ("disabled", file.clone()),
        };
        fine &= state != "failed";
        let tools = if let State::Ready { tools, .. } = &server.state { tools.as_slice() } else { &[] };
        if args.json {
            let tools: Vec<Value> =
                tools.iter().map(|(name, what)| json!({"name": name, "description": what})).collect();
            let line = json!({"server": server.name, "state": state, "about": about, "file": file, "tools": tools});
            out(&line.to_string())?;
            continue;
        }
        out(&format!("{:<16} {state:<9} {}", one_line(&server.name), one_line(&about)))?;
        for (name, what) in tools {
            out(&format!("  {:<40} {}", one_line(name), short(&one_line(what), 76)))?;
        }
    }
    mcp.close().await;
    Ok(if fine { Exit::Ok } else { Exit::Error })
}

fn trust(args: &McpTrustArgs) -> Result<Exit, Failure> {
    person_only("approve MCP servers")?;
    let logs = Logs::open()?;
    let workspace = agent::workspace(args.workspace.as_deref())?;
    let Servers { servers, warnings } = servers::read(&logs, &workspace, None)?;
    warnings.iter().for_each(|warning| eprintln!("! {}", one_line(warning)));
    let trust = servers::trust(&logs);
    for name in &args.servers {
        let Some(server) = servers.iter().find(|server| server.name == *name) else {
            let file = workspace.join(".mcp.json");
            return Err(Failure::usage(format!("{} names no MCP server {name:?}", file.display())));
        };
        trust.add(&workspace, server).map_err(|error| Failure::error(error.to_string()))?;
        out(&format!("approved {} in {}", one_line(name), workspace.display()))?;
        print(&server.described())?;
    }
    if args.servers.is_empty() {
        let mut waiting = 0;
        for server in &servers {
            if !trust.has(&workspace, server).map_err(|error| Failure::error(error.to_string()))? {
                waiting += 1;
                out(&format!("{} ({})", one_line(&server.name), server.file.display()))?;
                print(&server.described())?;
            }
        }
        match waiting {
            0 => out("no MCP server needs approval")?,
            _ => out("to approve one as shown here: mainpath mcp trust SERVER")?,
        }
    }
    Ok(Exit::Ok)
}

fn print(described: &str) -> Result<(), Failure> {
    described.lines().try_for_each(|line| out(&format!("  {}", one_line(line))))
}

/// It is the person's own deed, so no rule is asked.
async fn call(args: McpCallArgs) -> Result<Exit, Failure> {
    person_only("call MCP servers past the gate")?;
    let app = App::open()?;
    let folder = agent::workspace(args.place.workspace.as_deref())?;
    let Servers { mut servers, .. } = servers::read(&app.logs, &folder, args.place.mcp_config.as_deref())?;
    servers.retain(|server| server.name == args.server);
    let Some(server) = servers.first() else {
        return Err(Failure::usage(format!("there is no MCP server {:?}; see mainpath mcp list", args.server)));
    };
    let prefixed = format!("{}{}", server.prefix(), args.tool);
    let servers = Servers { servers, warnings: Vec::new() };
    let mcp = servers::start(&app.host, &folder, servers, |notice| eprintln!("! {}", one_line(notice))).await?;
    match mcp.states().first().map(|server| &server.state) {
        Some(State::Failed(why)) => return Err(Failure::error(format!("the MCP server {:?}: {why}", args.server))),
        Some(State::Untrusted) => {
            return Err(Failure::error(format!("{:?} is not approved; see mainpath mcp trust", args.server)));
        }
        Some(State::Disabled) => return Err(Failure::error(format!("{:?} is disabled", args.server))),
        Some(State::Ready { .. }) | None => {}
    }
    let known = |name: &&String| app.host.tools().resolve(name).is_some();
    // A set that is too large for a prompt is called through the tool that stands for it.
    let (tool, arguments) = match [&args.tool, &prefixed].into_iter().find(known) {
        Some(tool) => (tool.clone(), args.arguments.clone()),
        None if app.host.tools().resolve("use_tool").is_some() => {
            let inner: Value = serde_json::from_str(&args.arguments)
                .map_err(|error| Failure::usage(format!("the arguments are not JSON: {error}")))?;
            ("use_tool".into(), json!({"name": prefixed, "arguments": inner}).to_string())
        }
        None => return Err(Failure::usage(format!("the MCP server {:?} has no tool {:?}", args.server, args.tool))),
    };
    let output = app.host.tools().run(&tool, &arguments, &context(&app, &folder, &tool)?).await;
    for part in &output.content {
        match (part, line(part, &Sizes::new())) {
            (Part::Text { text }, _) => out(&plain(text))?,
            (_, Some(line)) => out(&line)?,
            _ => {}
        }
    }
    mcp.close().await;
    match output.error {
        None => Ok(Exit::Ok),
        Some(code) => Err(Failure::error(format!("the call failed: {code}"))),
    }
}

fn context(app: &App, folder: &std::path::Path, tool: &str) -> Result<ToolContext, Failure> {
    let verdict = Verdict { decision: Decision::Allow, rule: "person".into(), reason: "A person called it.".into() };
    let effect = app.host.tools().doc(tool).map(|doc| doc.effect).unwrap_or_default();
    let trace: TraceId = "mcp-call".parse().map_err(|error: BadName| Failure::error(error.to_string()))?;
    let of = Attempt { trace: &trace, call: CallId { seq: Seq(1), index: 0 }, number: 1, tool, effect };
    let grant = Grant::issue(of, Confinement::default(), &verdict, true);
    let grant = grant.ok_or_else(|| Failure::error("no grant can be made"))?;
    let workspace = Workspace::new(folder, app.logs.home.protected())?;
    let mut ctx = ToolContext::new(Arc::new(workspace), grant, Launcher::current_exe());
    ctx.timeout = app.host.tools().doc(tool).and_then(|doc| doc.timeout);
    ctx.progress = Arc::new(|piece| eprint!("{}", plain(piece)));
    Ok(ctx)
}
