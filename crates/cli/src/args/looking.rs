//! Commands that look at traces, and at what there is for agents.

use super::OneTrace;
use clap::{Args, Subcommand};
use mainpath_types::Micros;

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

/// `mainpath show`
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
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
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
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

/// `mainpath models`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,
    /// A provider, such as anthropic, or a model, such as ollama:qwen3 [default: all that are known]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath models …`
#[derive(Subcommand, Debug)]
pub enum ModelsCommand {
    /// Say what a model can do and costs that no table knows
    Add(ModelsAddArgs),
}

/// `mainpath models add`
#[derive(Args, Debug)]
pub struct ModelsAddArgs {
    /// The model as it is named with --model; a * at its end stands for anything
    pub model: String,
    /// Its window, in tokens
    #[arg(long, value_name = "N")]
    pub context_window: u32,
    /// The longest answer, in tokens
    #[arg(long, value_name = "N")]
    pub output_limit: Option<u32>,
    /// What a million input tokens cost, such as 1.25
    #[arg(long, value_name = "DOLLARS", value_parser = super::dollars, requires = "price_out")]
    pub price_in: Option<Micros>,
    /// What a million output tokens cost
    #[arg(long, value_name = "DOLLARS", value_parser = super::dollars, requires = "price_in")]
    pub price_out: Option<Micros>,
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
