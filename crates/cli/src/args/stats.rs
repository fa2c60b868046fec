//! The command line of `mainpath stats`.

use clap::Args;
use mainpath::values::duration;
use std::time::Duration;

/// `mainpath stats`
#[derive(Args, Debug)]
pub struct StatsArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// All traces together
    #[arg(short, long, conflicts_with = "trace")]
    pub all: bool,
    /// Only runs started in this time, such as 24h or 7d; without a trace: of all traces
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub since: Option<Duration>,
    /// As JSON lines: by tool, model, finish reason and day, then totals
    #[arg(long)]
    pub json: bool,
}
