//! The command line of rules: those of a run, and `mainpath policy`.

use super::ModeArg;
use clap::{Args, Subcommand, ValueEnum};
use mainpath_types::{Micros, Origin};
use std::path::PathBuf;

/// Rules of this run alone. A denial beats an ask, and that an allowance, wherever they come from.
#[derive(Args, Clone, Debug, Default)]
pub struct RuleArgs {
    /// Allow calls like this without asking, such as 'bash(cargo test *)' or 'write(src/**)'. May be repeated
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Have a person decide on calls like this. May be repeated
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Deny calls like this. May be repeated
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// A file with further rules. May be repeated
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
    /// Say what the rules make of a call, and why: exit code 0 for allow, 5 for ask, 6 for deny
    Check(PolicyCheckArgs),
    /// List the rules that hold in a folder
    List(PolicyListArgs),
    /// Let what the folder's .mainpath/policy.toml allows hold, as it is now
    Trust(PolicyTrustArgs),
    /// Judge the calls of a trace by the rules of today, and say what would come out otherwise
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
    /// The folder to work in [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Where the arguments came from. May be repeated
    #[arg(long, value_enum, value_name = "WHERE")]
    pub origin: Vec<OriginArg>,
    /// A value of its arguments that comes from somebody's text and that no person named. May be repeated
    #[arg(long, value_name = "VALUE")]
    pub from_text: Vec<String>,
    /// What may happen unasked [default: the configuration's]
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
    /// The people whose agent it is
    User,
    /// Files of the workspace
    Workspace,
    /// The network
    Web,
    /// An MCP server
    Mcp,
    /// A message from somebody else
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
    /// The folder to work in [default: the current one]
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
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
    pub trace: Option<String>,
    /// All calls, not only those that would be judged otherwise
    #[arg(short, long)]
    pub all: bool,
    /// Hold the trace to the checks of a file (order of calls, number of calls, budgets): exit code 6 where one does not hold
    #[arg(long, value_name = "FILE")]
    pub checks: Option<PathBuf>,
    /// Calls like the first only after one like the second has succeeded. May be repeated
    #[arg(long, num_args = 2, value_names = ["CALL", "AFTER"])]
    pub order: Vec<String>,
    /// At most so many calls like this in a run. May be repeated
    #[arg(long, num_args = 2, value_names = ["CALL", "N"])]
    pub most: Vec<String>,
    /// At most so many turns in a run
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u64>,
    /// At most so many calls in a run
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// At most so many tokens in a run, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// At most so many dollars in a run, such as 0.50
    #[arg(long, value_name = "DOLLARS", value_parser = super::dollars)]
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
    /// The folder [default: the current one]
    pub workspace: Option<PathBuf>,
    /// Take the trust back
    #[arg(long)]
    pub revoke: bool,
}
