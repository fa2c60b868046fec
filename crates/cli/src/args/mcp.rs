//! The command line of `mainpath mcp`.

use crate::args::AgentArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

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
