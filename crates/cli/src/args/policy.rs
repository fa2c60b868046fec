//! The command line of rules: those of a run, and `mainpath policy`.

use super::ModeArg;
use clap::{Args, Subcommand, ValueEnum};
use mainpath_types::{Micros, Origin};
use std::path::PathBuf;

/// Rules for this run only. Deny beats ask, ask beats allow, wherever they come from.
#[derive(Args, Clone, Debug, Default)]
pub struct RuleArgs {
    /// Allow calls like this without asking, such as 'bash(cargo test *)' or 'write(src/**)'. May be repeated
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Ask about calls like this. May be repeated
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Deny calls like this. May be repeated
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// A file with more rules. May be repeated
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
}

/// `mainpath policy`
#[derive(Args, Debug)]
pub struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// `mainpath policy …`
#[derive(Subcommand, Debug)]
pub enum PolicyCommand {
    /// Check how the rules decide on a call, and why: exit code 0 allow, 5 ask, 6 deny
    Check(PolicyCheckArgs),
    /// List the rules that apply in a folder
    List(PolicyListArgs),
    /// Trust the folder's .mainpath/policy.toml in its present text, so that its allow rules apply
    Trust(PolicyTrustArgs),
    /// Apply today's rules to the calls of a trace, and show what would be decided differently
    Replay(PolicyReplayArgs),
}

/// `mainpath policy check`
#[derive(Args, Debug)]
pub struct PolicyCheckArgs {
    /// The call, such as "bash(git push)", "write(src/main.rs)", "http_request(POST https://example.com/x)"; or a tool's name,
    /// with the arguments after it
    pub call: String,
    /// The tool's arguments, as a JSON object
    pub arguments: Option<String>,
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Where the arguments came from. May be repeated
    #[arg(long, value_enum, value_name = "WHERE")]
    pub origin: Vec<OriginArg>,
    /// A value in the arguments that comes from somebody's text and that no person named. May be repeated
    #[arg(long, value_name = "VALUE")]
    pub from_text: Vec<String>,
    /// What is allowed without asking [default: the configuration's]
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// As in a run with --yes
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `--origin`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginArg {
    /// You, or whoever gives the agent its tasks
    User,
    /// Files of the workspace
    Workspace,
    /// The network
    Web,
    /// An MCP server
    Mcp,
    /// A message from another agent or person
    Message,
    /// The model itself
    Model,
}

impl From<OriginArg> for Origin {
    fn from(arg: OriginArg) -> Origin {
        match arg {
            OriginArg::User => Origin::User,
            OriginArg::Workspace => Origin::Workspace,
            OriginArg::Web => Origin::Web,
            OriginArg::Mcp => Origin::Mcp,
            OriginArg::Message => Origin::Message,
            OriginArg::Model => Origin::Model,
        }
    }
}

/// `mainpath policy list`
#[derive(Args, Debug)]
pub struct PolicyListArgs {
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath policy replay`
#[derive(Args, Debug)]
pub struct PolicyReplayArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// All calls, not only those that would be decided differently
    #[arg(short, long)]
    pub all: bool,
    /// Run the checks of this file (order and number of calls, budgets): exit code 6 if one fails
    #[arg(long, value_name = "FILE")]
    pub checks: Option<PathBuf>,
    /// Check that calls like CALL come only after one like AFTER succeeded. May be repeated
    #[arg(long, num_args = 2, value_names = ["CALL", "AFTER"])]
    pub order: Vec<String>,
    /// Check that a run has at most N calls like this. May be repeated
    #[arg(long, num_args = 2, value_names = ["CALL", "N"])]
    pub most: Vec<String>,
    /// Maximum turns in a run
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u64>,
    /// Maximum calls in a run
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Maximum tokens in a run, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Maximum cost of a run in dollars, such as 0.50
    #[arg(long, value_name = "DOLLARS", value_parser = mainpath::values::dollars)]
    pub max_cost: Option<Micros>,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath policy trust`
#[derive(Args, Debug)]
pub struct PolicyTrustArgs {
    /// The folder [default: the current folder]
    pub workspace: Option<PathBuf>,
    /// Withdraw the trust
    #[arg(long)]
    pub revoke: bool,
}
