//! Commands that look at traces, and at what there is for agents.

use super::OneTrace;
use clap::{Args, Subcommand};
use mainpath_types::Micros;

/// `mainpath ls`
#[derive(Args, Debug)]
pub struct LsArgs {
    /// List all traces, not only the newest 20
    #[arg(short, long)]
    pub all: bool,
    /// Find messages that contain all these words, in any script
    #[arg(short, long, value_name = "WORDS")]
    pub search: Option<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath index`
#[derive(Subcommand, Debug)]
pub enum IndexCommand {
    /// Rebuild the index from the logs
    Rebuild,
}

/// `mainpath replay`
#[derive(Args, Debug)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub which: OneTrace,
    /// Only compare; write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `mainpath show`
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The whole tree, including branches left by rewinds
    #[arg(long, conflicts_with = "events")]
    pub all: bool,
    /// The events as JSON lines
    #[arg(long)]
    pub events: bool,
    /// Compare two traces: what they share, where they differ, what each used
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["trace", "all", "events"])]
    pub diff: Vec<String>,
}

/// `mainpath context`
#[derive(Args, Debug)]
pub struct ContextArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The request of this turn [default: the one in flight, or the next one]
    #[arg(long, value_name = "N")]
    pub turn: Option<u32>,
    /// Every message, not only the newest of each section
    #[arg(short, long)]
    pub all: bool,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `mainpath models`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,
    /// A provider, such as anthropic, or a model, such as ollama:qwen3 [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath models …`
#[derive(Subcommand, Debug)]
pub enum ModelsCommand {
    /// Describe a model that Mainpath does not know: its window, abilities and price
    Add(ModelsAddArgs),
}

/// `mainpath models add`
#[derive(Args, Debug)]
pub struct ModelsAddArgs {
    /// The model, as you name it with --model; a * at the end matches anything
    pub model: String,
    /// Its context window in tokens
    #[arg(long, value_name = "N")]
    pub context_window: u32,
    /// Its longest answer in tokens
    #[arg(long, value_name = "N")]
    pub output_limit: Option<u32>,
    /// Dollars per million input tokens, such as 1.25
    #[arg(long, value_name = "DOLLARS", value_parser = mainpath::values::dollars, requires = "price_out")]
    pub price_in: Option<Micros>,
    /// Dollars per million output tokens
    #[arg(long, value_name = "DOLLARS", value_parser = mainpath::values::dollars, requires = "price_in")]
    pub price_out: Option<Micros>,
}

/// `mainpath tools`
#[derive(Args, Debug)]
pub struct ToolsArgs {
    /// Show everything about this tool [default: a line for each tool]
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
