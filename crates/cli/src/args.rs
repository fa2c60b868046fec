//! The command line.

mod about;
mod agent;
mod attachments;
mod goal;
mod limits;
mod looking;
mod mcp;
mod policy;
mod relations;
mod removal;
mod rewind;
mod session;
mod stats;
mod telling;

pub use about::*;
pub use agent::*;
pub use attachments::*;
pub use goal::*;
pub use limits::*;
pub use looking::*;
pub use mcp::*;
pub use policy::*;
pub use relations::*;
pub use removal::*;
pub use rewind::*;
pub use session::*;
pub use stats::*;
pub use telling::*;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run LLM agents that you can watch, stop, rewind, resume and replay.
#[derive(Parser, Debug)]
#[command(name = "mainpath", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Give an agent a task and watch it work
    #[command(visible_alias = "exec")]
    Run(RunArgs),
    /// Watch a demonstration without a model: a fixed script with real tools in a temporary folder
    Demo(DemoArgs),
    /// Talk with an agent in this folder; in a terminal, `mainpath` alone does the same
    Chat(ChatArgs),
    /// Continue a trace after a crash, a stop, a limit or an approval
    Resume(ResumeArgs),
    /// List the traces, newest first
    Ls(LsArgs),
    /// Manage the index that `ls` and its search use
    #[command(subcommand)]
    Index(IndexCommand),
    /// Show a trace: its main path, its whole tree, or its events
    Show(ShowArgs),
    /// Show what each token of a request is used for, and what was left out and why
    Context(ContextArgs),
    /// Replace older messages with a summary, so that requests become smaller
    Compact(CompactArgs),
    /// Stop the run at the next checkpoint
    Stop(OneTrace),
    /// Redirect a run: waits for the running tool, skips the calls after it
    Steer(SayArgs),
    /// Queue a message for after the current run
    Next(SayArgs),
    /// Stop the running call; the agent continues
    Interrupt(InterruptArgs),
    /// Start the conversation over; the agent forgets what was said, the log keeps it
    Clear(OneTrace),
    /// Show or change the plan of a trace, also while another process runs it
    Goal(GoalArgs),
    /// Pin a sentence: the agent always sees it, word for word
    Pin(PinArgs),
    /// Approve a pending call
    Approve(ApproveArgs),
    /// Deny a pending call
    Deny(DenyArgs),
    /// Go back to a message and answer it again, or continue from there with another task
    Rewind(RewindArgs),
    /// Answer the last message again
    Regenerate(RegenerateArgs),
    /// Copy a trace up to a message and continue in the copy
    Fork(ForkArgs),
    /// Restore files as they were at a message; the conversation stays
    Restore(RestoreArgs),
    /// Recompute views and requests and compare them with the record
    Replay(ReplayArgs),
    /// Check that a log is complete and unchanged
    Verify(OneTrace),
    /// Watch a trace live, from any process
    Watch(WatchArgs),
    /// Export a trace for people or for other programs
    Export(ExportArgs),
    /// Import a conversation from another system as a new trace
    Import(Box<ImportArgs>),
    /// Named conversations
    #[command(subcommand)]
    Session(Box<SessionCommand>),
    /// Remove traces with all their files
    Rm(RmArgs),
    /// Remove old traces by age and number, and unreferenced blobs
    Purge(PurgeArgs),
    /// Erase the text of messages for good; the log still verifies and records the erasure
    Erase(EraseArgs),
    /// Show how runs ended, and calls, errors, time, tokens and cost by tool, model and day
    Stats(StatsArgs),
    /// List providers and models: what you can use now, what is missing, abilities and prices
    Models(ModelsArgs),
    /// Run a command in the sandbox
    Sandbox(SandboxArgs),
    /// List the tools: what they do, their limits and schemas, and how to enable the rest
    Tools(ToolsArgs),
    /// List, trust and test MCP servers, or serve Mainpath over MCP
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Print the JSON Schema of a public type, or of all
    Schema(SchemaArgs),
    /// List the rules, or check how they decide on a call
    Policy(PolicyArgs),
    /// Check your setup
    Doctor,
    /// Show every key of config.toml, its value, and where it comes from
    Config(ConfigArgs),
    /// Print shell completions, e.g. mainpath completions bash > ~/.local/share/bash-completion/completions/mainpath
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands
    Man(ManArgs),
}

/// `mainpath config`
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Keys, or the part before a dot [default: all]
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath completions`
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `mainpath man`
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `mainpath run`
#[derive(Args, Debug, Default)]
pub struct RunArgs {
    /// The task. Standard input is added as context; `-` reads the task from it
    pub task: Option<String>,
    /// Continue the last trace of this folder
    #[arg(short, long, conflicts_with = "trace")]
    pub r#continue: bool,
    /// Continue this trace (its id or a unique part of it)
    #[arg(long, value_name = "ID")]
    pub trace: Option<String>,
    /// Start from a conversation in a file, in any format that `import` reads (`-` is standard input), and answer its last message
    /// or the task. Its system messages become instructions of the trace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "continue"])]
    pub messages: Option<PathBuf>,
    /// Continue the session with this name; a new or expired session starts a new trace
    #[arg(long, value_name = "NAME", conflicts_with_all = ["trace", "continue"])]
    pub session: Option<String>,
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Whether it is the demonstration.
    #[arg(skip)]
    pub is_demo: bool,
}

/// `mainpath demo`
#[derive(Args, Debug)]
pub struct DemoArgs {
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath chat`
#[derive(Args, Debug)]
pub struct ChatArgs {
    /// Start a new conversation instead of continuing the last one of this folder
    #[arg(long)]
    pub new: bool,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// Where things are printed.
#[derive(Args, Debug, Default)]
pub struct OutputArgs {
    /// Print events as JSON lines on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Also write the final answer to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Whether the trace was named before.
    #[arg(skip)]
    pub is_named: bool,
}

/// `mainpath resume`
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A command about one trace.
#[derive(Args, Debug)]
pub struct OneTrace {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
}

/// `mainpath sandbox`
#[derive(Args, Debug)]
pub struct SandboxArgs {
    /// The folder that the command may change [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// What the command may do to files
    #[arg(long, value_enum, default_value_t)]
    pub mode: ModeArg,
    /// Whether the command may use the network
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub network: NetworkArg,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
