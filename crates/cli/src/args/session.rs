//! The command lines of `session`, `import`, `export` and `watch`.

use super::AgentArgs;
use clap::{Args, Subcommand, ValueEnum};
use mainpath::values::duration;
use mainpath_providers::history::HistoryFormat;
use mainpath_types::EventId;
use std::path::PathBuf;
use std::time::Duration;

/// `mainpath session`
#[derive(Subcommand, Debug)]
pub enum SessionCommand {
    /// Create a session: a conversation with a name
    New(SessionNewArgs),
    /// List the sessions
    List(SessionListArgs),
    /// Show a session: its trace, its window, its expiry
    Show(SessionShowArgs),
    /// Switch a session to another trace
    Switch(SessionSwitchArgs),
    /// Remove a session; its trace stays
    Rm(SessionName),
    /// Print the last messages of a session, for a system that makes its own model calls
    Prepare(SessionPrepareArgs),
    /// Add messages to a session, from a file or standard input
    Persist(Box<SessionPersistArgs>),
    /// Summarise a session by rules: goal, constraints, decisions, open items, tool facts
    Summary(SessionName),
}

/// `mainpath session new`
#[derive(Args, Debug)]
pub struct SessionNewArgs {
    /// Its name: letters, digits, '-', '_', '.' and '@'
    pub name: String,
    /// How many messages `prepare` prints; 0 is all [default: sessions.window of the configuration, else 20]
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
    /// How long after its last use it expires and starts over, such as 7d [default: sessions.ttl, else never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ttl: Option<Duration>,
    /// An existing trace (its id or a unique part of it)
    #[arg(long, value_name = "TRACE")]
    pub trace: Option<String>,
}

/// `mainpath session list`
#[derive(Args, Debug)]
pub struct SessionListArgs {
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath session show`
#[derive(Args, Debug)]
pub struct SessionShowArgs {
    /// The session
    pub name: String,
    /// As a JSON line
    #[arg(long)]
    pub json: bool,
}

/// `mainpath session switch`
#[derive(Args, Debug)]
pub struct SessionSwitchArgs {
    /// The session
    pub name: String,
    /// The trace (its id or a unique part of it)
    #[arg(required_unless_present = "mirror", conflicts_with = "mirror")]
    pub trace: Option<String>,
    /// Continue with the messages of another machine in the mirror, as a new trace
    #[arg(long)]
    pub mirror: bool,
}

/// A command about one session.
#[derive(Args, Debug)]
pub struct SessionName {
    /// The session
    pub name: String,
}

/// `mainpath session prepare`
#[derive(Args, Debug)]
pub struct SessionPrepareArgs {
    /// The session
    pub name: String,
    /// The format
    #[arg(long, value_enum, default_value_t = MessagesArg::Neutral)]
    pub format: MessagesArg,
    /// How many messages; 0 is all [default: the session's window]
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
}

/// `mainpath session persist`
#[derive(Args, Debug)]
pub struct SessionPersistArgs {
    /// The session
    pub name: String,
    /// The file: a list of messages, a request body, or one message per line [default: standard input]
    pub file: Option<PathBuf>,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Auto)]
    pub format: FormatArg,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// `mainpath import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The file: a list of messages, a request body, or one message per line; `-` is standard input
    pub file: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Auto)]
    pub format: FormatArg,
    /// Point this session to the new trace
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// The form of messages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Detected from the fields of each message
    Auto,
    /// Mainpath's own
    Neutral,
    /// OpenAI's Chat Completions
    Openai,
    /// Anthropic's Messages
    Anthropic,
    /// Gemini's contents
    Gemini,
}

impl From<FormatArg> for Option<HistoryFormat> {
    fn from(arg: FormatArg) -> Option<HistoryFormat> {
        match arg {
            FormatArg::Auto => None,
            FormatArg::Neutral => Some(HistoryFormat::Neutral),
            FormatArg::Openai => Some(HistoryFormat::OpenAi),
            FormatArg::Anthropic => Some(HistoryFormat::Anthropic),
            FormatArg::Gemini => Some(HistoryFormat::Gemini),
        }
    }
}

/// The form of messages that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessagesArg {
    /// Mainpath's own
    Neutral,
    /// OpenAI's Chat Completions
    Openai,
    /// Anthropic's Messages
    Anthropic,
    /// Gemini's contents
    Gemini,
}

impl From<MessagesArg> for HistoryFormat {
    fn from(arg: MessagesArg) -> HistoryFormat {
        match arg {
            MessagesArg::Neutral => HistoryFormat::Neutral,
            MessagesArg::Openai => HistoryFormat::OpenAi,
            MessagesArg::Anthropic => HistoryFormat::Anthropic,
            MessagesArg::Gemini => HistoryFormat::Gemini,
        }
    }
}

/// `mainpath export`
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The format
    #[arg(long, value_enum, default_value_t = ExportArg::Markdown)]
    pub format: ExportArg,
    /// The conversation as the next request would show it, with summaries in place of what is left out
    #[arg(long)]
    pub shown: bool,
    /// A file; for agent-run and trace-dir a folder, which gets a folder for each trace [default: standard output; .agent/runs;
    /// .trace]
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportArg {
    /// The main path, for people
    Markdown,
    /// Everything in one JSON object: metadata, plan, main path, events
    Json,
    /// The conversation as Mainpath's own messages
    Neutral,
    /// The conversation in OpenAI's Chat Completions format
    Openai,
    /// The conversation in Anthropic's Messages format
    Anthropic,
    /// The conversation in Gemini's format
    Gemini,
    /// A folder .agent/runs/ID: events, state, answer, request, artifacts, observations
    AgentRun,
    /// A folder .trace/ID: metadata, goals, events, a file for each message
    TraceDir,
}

/// `mainpath watch`
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The first event to show; give the last one you saw plus 1 to continue [default: the start of the last run]
    #[arg(long, value_name = "EVENT")]
    pub from: Option<EventId>,
    /// Keep watching when the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// The events as JSON lines
    #[arg(long)]
    pub json: bool,
}
