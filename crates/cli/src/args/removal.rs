//! The command lines of `rm`, `purge` and `erase`.

use super::{duration, seq};
use clap::Args;
use mainpath_types::Seq;
use std::time::Duration;

/// `mainpath rm`
#[derive(Args, Debug)]
pub struct RmArgs {
    /// The traces (their ids, or the beginnings of them)
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `mainpath purge`
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Remove traces that did not change for so long, such as 30d [default: retention.older_than of the configuration]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub older_than: Option<Duration>,
    /// Remove all but so many of the newest; with --older-than, of those only the old ones [default: retention.keep]
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Only say what would be removed
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask; by the rule of [retention] alone, nobody is asked where there is no terminal
    #[arg(short, long)]
    pub yes: bool,
}

/// `mainpath erase`
#[derive(Args, Debug)]
pub struct EraseArgs {
    /// The trace (its id, or a part that no other id has)
    pub trace: String,
    /// A message by its number, as `mainpath show` prints it; may be given several times
    #[arg(long, value_name = "SEQ", value_parser = seq, required_unless_present = "all")]
    pub message: Vec<Seq>,
    /// Everything that was said in the trace, and its instructions
    #[arg(long, conflicts_with = "message")]
    pub all: bool,
    /// Also in the traces that hold the same words: forks of it, and what it is a fork of
    #[arg(long)]
    pub forks: bool,
    /// Why; it stays in the log
    #[arg(long)]
    pub reason: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}
