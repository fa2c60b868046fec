//! The command lines of `session`, `import`, `export` and `watch`.

use super::{AgentArgs, duration};
use clap::{Args, Subcommand, ValueEnum};
use mainpath_providers::history::HistoryFormat;
use mainpath_types::EventId;
use std::path::PathBuf;
use std::time::Duration;

/// `mainpath session`
#[derive(Subcommand, Debug)]
pub enum SessionCommand {
    /// Make a session: a name under which a conversation goes on
    New(SessionNewArgs),
    /// List the sessions
    List(SessionListArgs),
    /// Show a session: its trace, its window, its time
    Show(SessionShowArgs),
    /// Point a session to another trace
    Switch(SessionSwitchArgs),
    /// Remove a session; its trace stays
    Rm(SessionName),
    /// Print the last messages of a session, for a system that calls its model itself
    Prepare(SessionPrepareArgs),
    /// Add messages to a session, from a file or standard input
    Persist(Box<SessionPersistArgs>),
    /// Print what rules find in a session's conversation: goal, constraints, decisions, open items, tool facts
    Summary(SessionName),
}

/// `mainpath session new`
#[derive(Args, Debug)]
pub struct SessionNewArgs {
    /// Its name: letters, digits, '-', '_', '.' and '@'
    pub name: String,
    /// How many messages are prepared; 0 is all [default: sessions.window of the configuration, else 20]
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
    /// How long after its last use it begins anew, such as 7d [default: sessions.ttl, else never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ttl: Option<Duration>,
    /// A trace that is there already (its id, or a part that no other id has)
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
    /// The trace (its id, or a part that no other id has)
    #[arg(required_unless_present = "mirror", conflicts_with = "mirror")]
    pub trace: Option<String>,
    /// Go on with what the mirror holds, which another machine has said, as a new trace
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
    /// In whose form
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
    /// The file: a list of messages, a request body, or a message a line [default: standard input]
    pub file: Option<PathBuf>,
    /// Their form
    #[arg(long, value_enum, default_value_t = FormatArg::Auto)]
    pub format: FormatArg,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// `mainpath import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The file: a list of messages, a request body, or a message a line; `-` is standard input
    pub file: PathBuf,
    /// Its form
    #[arg(long, value_enum, default_value_t = FormatArg::Auto)]
    pub format: FormatArg,
    /// A session that is to point to the new trace
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// The form of messages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Each message's is told by its fields
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
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
    pub trace: Option<String>,
    /// What is written
    #[arg(long, value_enum, default_value_t = ExportArg::Markdown)]
    pub format: ExportArg,
    /// The conversation as the model would be shown it next, with what stands for what is left out, instead of all that was said
    #[arg(long)]
    pub shown: bool,
    /// Where: a file, or for the layouts the folder that holds one for each trace [default: standard output; .agent/runs;
    /// .trace]
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportArg {
    /// All that was said on the main path, for people
    Markdown,
    /// Everything in one object: what the trace is, its plan, all that was said on its main path, its events
    Json,
    /// The conversation as Mainpath's own messages
    Neutral,
    /// The conversation as OpenAI's Chat Completions has it
    Openai,
    /// The conversation as Anthropic's Messages has it
    Anthropic,
    /// The conversation as Gemini has it
    Gemini,
    /// A folder .agent/runs/ID: events, state, answer, request, artifacts, observations
    AgentRun,
    /// A folder .trace/ID: what the trace is, its goals, its events, a file for each message
    TraceDir,
}

/// `mainpath watch`
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
    pub trace: Option<String>,
    /// The first event to show; go on after the last one seen [default: where the last run began]
    #[arg(long, value_name = "EVENT")]
    pub from: Option<EventId>,
    /// Stay when the run ends, for the next one
    #[arg(short, long)]
    pub follow: bool,
    /// The events, one JSON line each
    #[arg(long)]
    pub json: bool,
}
