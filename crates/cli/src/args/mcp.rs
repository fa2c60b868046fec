//! The command line of `mainpath mcp`.

use crate::args::AgentArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `mainpath mcp`
#[derive(Subcommand, Debug)]
pub enum McpCommand {
    /// Connect to the servers and list them with their tools
    List(McpListArgs),
    /// Approve servers that the workspace's .mcp.json names, so that agents may start them there
    Trust(McpTrustArgs),
    /// Call a tool of a server and print what it returns
    Call(McpCallArgs),
    /// Serve runs to an MCP client on standard input and output: run_start, run_status, run_answer, run_result
    Serve(Box<AgentArgs>),
}

/// Which servers are meant.
#[derive(Args, Debug)]
pub struct McpWhere {
    /// The folder whose .mcp.json is read [default: the current one]
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
    /// The servers to approve [default: none; those that wait are shown]
    #[arg(value_name = "SERVER")]
    pub servers: Vec<String>,
    /// The folder whose .mcp.json is read [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath mcp call`
#[derive(Args, Debug)]
pub struct McpCallArgs {
    /// The server
    pub server: String,
    /// The tool, by the server's own name or by the name that agents know
    pub tool: String,
    /// The arguments, as a JSON object
    #[arg(default_value = "{}")]
    pub arguments: String,
    #[command(flatten)]
    pub place: McpWhere,
}
