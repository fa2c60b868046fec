//! What a run is given.

use crate::args::agent::AgentArgs;
use crate::args::attachments::AttachArgs;
use crate::args::output::OutputArgs;
use clap::Args;
use std::path::PathBuf;

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
    /// Refuse, instead of waiting, if another run of the session is under way
    #[arg(long, requires = "session")]
    pub no_wait: bool,
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
