//! One trace.

use clap::Args;

/// A command about one trace.
#[derive(Args, Debug)]
pub struct OneTrace {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
}
