//! The command lines of `rm`, `purge` and `erase`.

use super::seq;
use clap::Args;
use mainpath::values::duration;
use mainpath_types::Seq;
use std::time::Duration;

/// `mainpath rm`
#[derive(Args, Debug)]
pub struct RmArgs {
    /// The traces (their ids or unique parts of them)
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `mainpath purge`
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Remove traces unchanged for this long, such as 30d [default: retention.older_than of the configuration]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub older_than: Option<Duration>,
    /// Always keep the N newest; without --older-than, remove all others [default: retention.keep]
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Only show what would be removed
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask. Without a terminal, purging by [retention] alone never asks
    #[arg(short, long)]
    pub yes: bool,
}

/// `mainpath erase`
#[derive(Args, Debug)]
pub struct EraseArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The number of a message, as `mainpath show` prints it. May be repeated
    #[arg(long, value_name = "SEQ", value_parser = seq, required_unless_present = "all")]
    pub message: Vec<Seq>,
    /// All messages of the trace, and its instructions
    #[arg(long, conflicts_with = "message")]
    pub all: bool,
    /// Also in its forks and in the trace that it was forked from
    #[arg(long)]
    pub forks: bool,
    /// The reason; it stays in the log
    #[arg(long)]
    pub reason: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}
