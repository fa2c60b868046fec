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
use mainpath_types::Micros;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Runs LLM agents that can be watched, stopped, rewound, resumed and replayed.
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
    /// Talk with an agent in this folder; in a terminal, `mainpath` alone does the same
    Chat(ChatArgs),
    /// Carry on with a trace: after a crash, a stop, a limit or an approval
    Resume(ResumeArgs),
    /// List the traces, newest first
    Ls(LsArgs),
    /// The index that `ls` and its search use
    #[command(subcommand)]
    Index(IndexCommand),
    /// Show a trace: its main path, all of its tree, or its events
    Show(ShowArgs),
    /// Say where every token of a request goes, and what was left out and why
    Context(ContextArgs),
    /// Summarise the older part of a trace, so that its requests become smaller
    Compact(CompactArgs),
    /// End the run of a trace at the next checkpoint
    Stop(OneTrace),
    /// Say something to a run now: after the running tool, in place of what it had planned
    Steer(SayArgs),
    /// Say something to a trace after the present run
    Next(SayArgs),
    /// End the running call; the agent goes on
    Interrupt(InterruptArgs),
    /// Begin the conversation anew; the agent knows nothing of what was said before
    Clear(OneTrace),
    /// Show the plan of a trace, or change it, whoever drives it
    Goal(GoalArgs),
    /// Keep a sentence in sight of the agent, in these words, however much else is left out
    Pin(PinArgs),
    /// Approve a call that waits
    Approve(ApproveArgs),
    /// Deny a call that waits
    Deny(DenyArgs),
    /// Go back to a message and answer it again, or go on from there with another task
    Rewind(RewindArgs),
    /// Answer the last message again
    Regenerate(RegenerateArgs),
    /// Go on from a message in another trace, which begins as this one did
    Fork(ForkArgs),
    /// Put files back to what they were at a message, and leave the conversation as it is
    Restore(RestoreArgs),
    /// Compute views and requests again and compare them with what was recorded
    Replay(ReplayArgs),
    /// Check that a log is whole and unchanged
    Verify(OneTrace),
    /// Watch a trace live, whichever process runs it
    Watch(WatchArgs),
    /// Write a trace for people or for other programs
    Export(ExportArgs),
    /// Take in a conversation that was held elsewhere, as a new trace
    Import(Box<ImportArgs>),
    /// Named conversations
    #[command(subcommand)]
    Session(Box<SessionCommand>),
    /// Remove a trace with all its files
    Rm(RmArgs),
    /// Remove old traces by age and number, and the blobs that nothing names any more
    Purge(PurgeArgs),
    /// Erase what was said for good; the log still verifies, and says that it was done
    Erase(EraseArgs),
    /// Count what each tool did: calls, successes, errors, denials, time
    Stats(StatsArgs),
    /// List providers and models: what is usable now, what is missing, what they can do and cost
    Models(ModelsArgs),
    /// Run a command within bounds: its files, its network, its processes
    Sandbox(SandboxArgs),
    /// List the tools of agents: what they can do, their limits and schemas, and what switches on the rest
    Tools(ToolsArgs),
    /// MCP servers: list, trust and try those that agents use, or serve Mainpath over MCP
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Print the JSON Schema of a public type, or of all
    Schema(SchemaArgs),
    /// Say which rules hold, and what they make of a call
    Policy(PolicyArgs),
    /// Check your setup
    Doctor,
    /// Every key of config.toml, its value, and where that comes from
    Config(ConfigArgs),
    /// Print completions for a shell, such as: mainpath completions bash > ~/.local/share/bash-completion/completions/mainpath
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
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
    /// For which shell
    pub shell: clap_complete::Shell,
}

/// `mainpath man`
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `mainpath run`
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The task. What comes on standard input is added as context; `-` reads the task from there
    pub task: Option<String>,
    /// Continue the last trace of this folder; skips demo runs once you have set up a model
    #[arg(short, long, conflicts_with = "trace")]
    pub r#continue: bool,
    /// Continue this trace (its id, or a part that no other id has)
    #[arg(long, value_name = "ID")]
    pub trace: Option<String>,
    /// A conversation that was held elsewhere, as `import` reads it (`-` is standard input), begins the trace: its last message is
    /// answered, or the task is. What it says to the system becomes instructions of the trace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "continue"])]
    pub messages: Option<PathBuf>,
    /// Continue this session; a new one, and one whose time is over, begins with a new trace
    #[arg(long, value_name = "NAME", conflicts_with_all = ["trace", "continue"])]
    pub session: Option<String>,
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath chat`
#[derive(Args, Debug)]
pub struct ChatArgs {
    /// Begin another conversation instead of continuing the last one of this folder
    #[arg(long)]
    pub new: bool,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// Where things are printed.
#[derive(Args, Debug, Default)]
pub struct OutputArgs {
    /// Print the events, one JSON line each, and nothing else on standard output
    #[arg(long)]
    pub json: bool,
    /// Write the final answer to this file as well
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Whether the trace was named before.
    #[arg(skip)]
    pub is_named: bool,
}

/// `mainpath resume`
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
    pub trace: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A command about one trace.
#[derive(Args, Debug)]
pub struct OneTrace {
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
    pub trace: Option<String>,
}

/// `mainpath sandbox`
#[derive(Args, Debug)]
pub struct SandboxArgs {
    /// The folder that the command may change [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// What the command may do with files
    #[arg(long, value_enum, default_value_t)]
    pub mode: ModeArg,
    /// Whether the command may use the network
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub network: NetworkArg,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Dollars with up to six digits after the point, as millionths.
pub fn dollars(text: &str) -> Result<Micros, String> {
    let (whole, rest) =
        text.trim().trim_start_matches('$').split_once('.').unwrap_or((text.trim().trim_start_matches('$'), ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let wrong = || "an amount in dollars such as 2 or 0.50 is wanted".to_string();
    if (whole.is_empty() && rest.is_empty()) || !digits(whole) || !digits(rest) || rest.len() > 6 {
        return Err(wrong());
    }
    format!("{whole}{rest:0<6}").parse().map_err(|_| wrong())
}

/// A time such as `90s`, `10m` or `90` for seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let time = any_duration(text)?;
    if time.is_zero() { Err("it must be longer than nothing".into()) } else { Ok(time) }
}

/// The same, also of no length.
fn any_duration(text: &str) -> Result<Duration, String> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().map(Duration::from_secs).map_err(|error| error.to_string())
    } else {
        humantime::parse_duration(text).map_err(|_| "write a time such as 90s, 10m, 24h or 7d".into())
    }
}
