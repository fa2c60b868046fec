//! What the index keeps of a trace.

use crate::Row;
use mainpath_runtime::run_stats::RunStats;
use mainpath_types::Seq;

/// A trace as the index keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub row: Row,
    pub stamp: Stamp,
    pub live: bool,
    pub said: Vec<Said>,
    pub runs: Vec<RunStats>,
}

/// A message that can be found.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub seq: Seq,
    pub role: &'static str,
    pub text: String,
}

/// What is known of a log's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub len: u64,
    /// Nanoseconds; only compared.
    pub at: i64,
}
