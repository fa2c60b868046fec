//! What the index keeps of a trace.

use crate::Row;
use mainpath_runtime::run_stats::RunStats;
use mainpath_types::{Micros, Origin, Seq};

/// A trace as the index keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub row: Row,
    pub stamp: Stamp,
    pub live: bool,
    pub said: Vec<Said>,
    pub runs: Vec<RunStats>,
    pub steps: Vec<Step>,
}

/// A call, or an answer without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub seq: Seq,
    /// The call's place in the answer.
    pub call: Option<u16>,
    pub tool: String,
    /// Long texts cut.
    pub arguments: String,
    pub verdict: &'static str,
    pub rule: String,
    pub outcome: &'static str,
    pub code: String,
    pub failure: String,
    pub origins: Vec<Origin>,
    pub said: String,
    pub cost: Micros,
    pub model: String,
}

/// A message that can be found.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub seq: Seq,
    pub role: &'static str,
    pub text: String,
}

/// What is known of a log's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub len: u64,
    /// Nanoseconds; only compared.
    pub at: i64,
}
