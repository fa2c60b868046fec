//! What an agent is: its model, what it may do, its limits.

use super::{AboutArgs, LimitArgs, RelationArgs, RuleArgs, dollars, time_limit};
use clap::{Args, ValueEnum};
use mainpath_types::{Access, Effort, FileAccess, Micros, Profile, Protocol};
use std::path::PathBuf;
use std::time::Duration;

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
    /// What may happen unasked, and what commands can reach [default: ask before changes]
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
