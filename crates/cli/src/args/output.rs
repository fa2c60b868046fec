//! Where things are printed.

use clap::Args;
use std::path::PathBuf;

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
    /// Whether a person stays and says more.
    #[arg(skip)]
    pub is_chat: bool,
}
