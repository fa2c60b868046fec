//! The effects of requests to a trace.

/// Whether a request to a trace has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It has, and took effect.
    Applied,
    /// It waits until the trace continues.
    Queued,
}

/// The effect of [`Trace::compact`](crate::Trace::compact).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// The summary is made before the next turn of the run that is under way or that is to follow.
    Later,
    /// The summary is made.
    Done {
        /// A model made it; otherwise rules did.
        by_model: bool,
        /// The estimated size of what was shown before, in tokens.
        before: u64,
        /// The estimated size of what is shown now, in tokens.
        after: u64,
    },
}

/// The effect of [`Trace::clear`](crate::Trace::clear).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clearing {
    /// The conversation is started over once the run that is under way has stopped.
    pub at_checkpoint: bool,
    /// How many pins went with it.
    pub pins: usize,
    /// Why sessions may still show what was said, a line for each.
    pub unforgotten: Vec<String>,
}

/// The effect of [`Trace::stop_run`](crate::Trace::stop_run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// The process that drives the trace ends the run at its next checkpoint.
    AtCheckpoint,
    /// The run had ended. The process that drives the trace ends the hooks at its end.
    EndHooks,
    /// The run has ended.
    Done,
    /// Messages wait, and no process reads them: the stop waits behind them, and ends the run that they start.
    Queued,
}
