//! The command line.

mod about;
mod attachments;
mod goal;
mod limits;
mod mcp;
mod policy;
mod relations;
mod removal;
mod rewind;
mod session;
mod stats;

pub use about::*;
pub use attachments::*;
pub use goal::*;
pub use limits::*;
pub use mcp::*;
pub use policy::*;
pub use relations::*;
pub use removal::*;
pub use rewind::*;
pub use session::*;
pub use stats::*;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mainpath_types::{Access, CallId, Effort, FileAccess, Micros, Profile, Protocol, TraceId};
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
    /// Sessions: names under which conversations go on
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
    /// MCP servers: list, trust and try those that agents use, or be one
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Print the JSON Schema of a public type, or of all
    Schema(SchemaArgs),
    /// Say which rules hold, and what they make of a call
    Policy(PolicyArgs),
    /// Say what works here and what does not
    Doctor,
}

/// `mainpath run`
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The task. What comes on standard input is added as context; `-` reads the task from there
    pub task: Option<String>,
    /// Continue the trace that changed last, in its folder; no demonstration once there is a model
    #[arg(short, long, conflicts_with = "trace")]
    pub r#continue: bool,
    /// Continue this trace (its id, or the beginning of it)
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

/// What the agent is.
#[derive(Args, Debug, Default)]
pub struct AgentArgs {
    #[command(flatten)]
    pub relations: RelationArgs,
    /// The model: PROVIDER:NAME (see mainpath models), openai-compatible:URL#NAME, scripted, scripted:FILE, playback:TRACE,
    /// playback:TRACE#FILE
    #[arg(short, long)]
    pub model: Option<String>,
    /// The folder to work in [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Allow without asking what would be asked, but for what a rule always asks about
    #[arg(short, long)]
    pub yes: bool,
    /// What may happen unasked, and what commands can reach [default: only reading happens unasked]
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Whether the agent's commands have a network [default: none, but in the mode full]
    #[arg(long, value_enum, value_name = "HOW")]
    pub network: Option<NetworkArg>,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Keep all files of the workspace that git would look at before every command, so that they can be put back
    #[arg(long)]
    pub snapshots: bool,
    /// Where nobody can be asked: wait for `mainpath approve` (exit code 5) instead of denying
    #[arg(long, conflicts_with = "yes")]
    pub park: bool,
    /// A named set of limits
    #[arg(long, value_enum)]
    pub profile: Option<ProfileArg>,
    /// How turns are written: by the vendor's own tool calls, or as JSON text [default: as profile and model have it]
    #[arg(long, value_enum)]
    pub protocol: Option<ProtocolArg>,
    /// Under the JSON protocol: put up with code fences and prose around the object
    #[arg(long)]
    pub tolerant: bool,
    /// A JSON Schema that the final answer must match
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// How much the model should think before it answers [default: the vendor's]
    #[arg(long, value_enum)]
    pub effort: Option<EffortArg>,
    /// A model to go on with when the first one fails for good; may be given several times
    #[arg(long, value_name = "MODEL")]
    pub fallback: Vec<String>,
    /// The most model turns of the run [0: no limit, as for every limit here]
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,
    /// The most tool calls of the run
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u32>,
    /// The most characters of one request, at four a token; older parts are left out or summarised to keep to it
    #[arg(long, value_name = "N")]
    pub max_context_chars: Option<u32>,
    /// The most tokens of the run, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// The most that the run may cost, in dollars, such as 0.50; checked before every model call with an estimate
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<Micros>,
    /// The longest the run may take, such as 90s or 10m; waiting for people is not counted
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub timeout: Option<Duration>,
    /// The longest one tool call may take
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub call_timeout: Option<Duration>,
    /// How long an approval is waited for; then the call is denied [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub approval_timeout: Option<Duration>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub about: AboutArgs,
    /// Instructions of your own, added to the system text [default: those of the configuration]
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Leave out what AGENTS.md files of the workspace say
    #[arg(long)]
    pub no_agents_md: bool,
    /// More MCP servers for this run, in a file like .mcp.json
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,
}

/// `--mode`
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModeArg {
    /// Reading, and commands that can change nothing
    ReadOnly,
    #[default]
    /// Changes in the workspace, and commands that can change nothing else
    WorkspaceWrite,
    /// Everything that no rule forbids; commands are not confined to the workspace
    Full,
}

impl From<ModeArg> for Access {
    fn from(arg: ModeArg) -> Access {
        match arg {
            ModeArg::ReadOnly => Access::ReadOnly,
            ModeArg::WorkspaceWrite => Access::WorkspaceWrite,
            ModeArg::Full => Access::Full,
        }
    }
}

impl From<ModeArg> for FileAccess {
    fn from(arg: ModeArg) -> FileAccess {
        match arg {
            ModeArg::ReadOnly => FileAccess::ReadOnly,
            ModeArg::WorkspaceWrite => FileAccess::WorkspaceWrite,
            ModeArg::Full => FileAccess::Full,
        }
    }
}

/// `--network`
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkArg {
    #[default]
    /// Nothing but a loopback of their own
    None,
    /// The network of this machine
    Allow,
}

/// `--protocol`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolArg {
    /// The vendor's own tool calls
    Native,
    /// One JSON object of text a turn
    Json,
}

impl From<ProtocolArg> for Protocol {
    fn from(arg: ProtocolArg) -> Protocol {
        match arg {
            ProtocolArg::Native => Protocol::Native,
            ProtocolArg::Json => Protocol::Json,
        }
    }
}

/// `--effort`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortArg {
    /// Little
    Low,
    /// Some
    Medium,
    /// Much
    High,
}

impl From<EffortArg> for Effort {
    fn from(arg: EffortArg) -> Effort {
        match arg {
            EffortArg::Low => Effort::Low,
            EffortArg::Medium => Effort::Medium,
            EffortArg::High => Effort::High,
        }
    }
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
}

/// `mainpath resume`
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The trace (its id, or the beginning of it) [default: the one that changed last]
    pub trace: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath ls`
#[derive(Args, Debug)]
pub struct LsArgs {
    /// All of them, not the newest 20
    #[arg(short, long)]
    pub all: bool,
    /// Those in which these words were said, and where: all of them in one message, in any script
    #[arg(short, long, value_name = "WORDS")]
    pub search: Option<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath index`
#[derive(Subcommand, Debug)]
pub enum IndexCommand {
    /// Make it anew from the logs
    Rebuild,
}

/// `mainpath replay`
#[derive(Args, Debug)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub which: OneTrace,
    /// Compare only, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// A command about one trace.
#[derive(Args, Debug)]
pub struct OneTrace {
    /// The trace (its id, or the beginning of it) [default: the one that changed last]
    pub trace: Option<String>,
}

/// `mainpath steer` and `mainpath next`
#[derive(Args, Debug)]
pub struct SayArgs {
    /// The trace (its id, or the beginning of it)
    pub trace: String,
    /// What to say; `-` reads it from standard input
    pub text: String,
}

/// `mainpath pin`
#[derive(Args, Debug)]
pub struct PinArgs {
    /// The trace (its id, or the beginning of it)
    pub trace: String,
    /// What to keep in sight; without it the pins are listed
    #[arg(conflicts_with_all = ["message", "remove"])]
    pub text: Option<String>,
    /// Pin the text of this message
    #[arg(long, value_name = "N")]
    pub message: Option<u32>,
    /// Take off the pin with this number
    #[arg(long, value_name = "N", conflicts_with = "message")]
    pub remove: Option<u32>,
}

/// `mainpath interrupt`
#[derive(Args, Debug)]
pub struct InterruptArgs {
    /// The trace (its id, or the beginning of it) [default: the one that changed last]
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only one that runs]
    pub call: Option<CallId>,
}

/// `mainpath show`
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The trace (its id, or the beginning of it) [default: the one that changed last]
    pub trace: Option<String>,
    /// The whole tree, with what was left by rewinds
    #[arg(long, conflicts_with = "events")]
    pub all: bool,
    /// The events, one JSON line each
    #[arg(long)]
    pub events: bool,
    /// Two traces beside each other: what they have in common, where they part, what each used
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["trace", "all", "events"])]
    pub diff: Vec<String>,
}

/// `mainpath context`
#[derive(Args, Debug)]
pub struct ContextArgs {
    /// The trace (its id, or the beginning of it) [default: the one that changed last]
    pub trace: Option<String>,
    /// The request of this turn [default: the one in flight, or the one that would be made now]
    #[arg(long, value_name = "N")]
    pub turn: Option<u32>,
    /// Every message, not the newest of each section
    #[arg(short, long)]
    pub all: bool,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `mainpath compact`
#[derive(Args, Debug)]
pub struct CompactArgs {
    /// The trace (its id, or the beginning of it)
    pub trace: Option<String>,
    /// What the summary should keep in mind
    pub hint: Option<String>,
}

/// `mainpath approve`
#[derive(Args, Debug)]
pub struct ApproveArgs {
    /// The trace (its id, or the beginning of it)
    pub trace: Option<String>,
    /// The call, such as 4.0; also one that was denied, which is then made after all [default: the only one that waits, or that was
    /// denied]
    #[arg(long)]
    pub call: Option<CallId>,
    /// Other arguments than the model's, as a JSON object; rules judge them afresh
    #[arg(long, value_name = "JSON")]
    pub arguments: Option<String>,
    /// How far the approval reaches: for more than once it becomes the narrowest rule that allows such calls
    #[arg(long = "for", value_enum, value_name = "REACH", default_value_t, conflicts_with = "arguments")]
    pub reach: Reach,
}

/// How far an approval reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    /// This call
    #[default]
    Once,
    /// Calls like this one in this trace
    Trace,
    /// Calls like this one from now on, in every trace
    Always,
}

/// `mainpath deny`
#[derive(Args, Debug)]
pub struct DenyArgs {
    /// The trace (its id, or the beginning of it)
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only one that waits]
    #[arg(long)]
    pub call: Option<CallId>,
    /// Why; the model is told
    #[arg(long)]
    pub reason: Option<String>,
}

/// `mainpath models`
#[derive(Args, Debug)]
pub struct ModelsArgs {
    /// A provider, such as anthropic, or a model, such as ollama:qwen3 [default: all that are known]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
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

/// `mainpath tools`
#[derive(Args, Debug)]
pub struct ToolsArgs {
    /// A tool, of which all is told [default: a line for each]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As JSON lines, with schemas
    #[arg(long)]
    pub json: bool,
}

/// `mainpath schema`
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// The type, such as Event [default: all]
    pub name: Option<String>,
}

/// The names of the profiles.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProfileArg {
    /// The controlled tool for workflows
    #[value(name = "agent_core")]
    AgentCore,
    /// The skills agent
    Skills,
    /// The trace platform (the default)
    Trace,
    /// The minimal kernel
    Kernel,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Profile {
        match profile {
            ProfileArg::AgentCore => Profile::AgentCore,
            ProfileArg::Skills => Profile::Skills,
            ProfileArg::Trace => Profile::Trace,
            ProfileArg::Kernel => Profile::Kernel,
        }
    }
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
    let parsed = if text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().map(Duration::from_secs).map_err(|error| error.to_string())
    } else {
        humantime::parse_duration(text).map_err(|_| "write a time such as 90s, 10m, 24h or 7d".into())
    };
    parsed.and_then(|time| if time.is_zero() { Err("it must be longer than nothing".into()) } else { Ok(time) })
}

/// The beginning of an id, or a whole one.
pub fn matches(trace: &TraceId, wanted: &str) -> bool {
    trace.as_str().starts_with(wanted)
}
