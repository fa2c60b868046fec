//! Continuing a trace: what it takes, by its state.

use crate::State;
use mainpath_types::FinishReason;

/// What the model is told if its answer was cut off at the output limit.
pub const FINISH_ANSWER: &str = "Your answer was cut off at the output limit. Go on exactly where it broke off.";

/// What continues a trace: see [`how_to_continue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// It only has to be driven: a run is open, or messages wait to be read.
    Drive,
    /// The model continues from where it was: the trace is told to continue.
    Continue,
    /// The last answer was cut off: the model is sent [`FINISH_ANSWER`].
    FinishAnswer,
    /// Nothing can be continued: the last message has its answer.
    Answered,
    /// Nothing can be continued: the trace has no messages, or they were cleared.
    Empty,
}

/// Returns what continues a trace from where it is, without a new message. Mail that nobody has read is not in the state: a trace
/// that has some only has to be driven.
pub fn how_to_continue(state: &State) -> Continuation {
    let has_messages = state.tree.head.is_some();
    match state.ended.reason {
        _ if state.run.is_some() => Continuation::Drive,
        // What was sent before a stop or a limit waits until somebody continues.
        _ if !state.queues.is_empty() => match state.queues.held && has_messages {
            true => Continuation::Continue,
            false => Continuation::Drive,
        },
        _ if !has_messages => Continuation::Empty,
        Some(FinishReason::MaxOutput) => Continuation::FinishAnswer,
        _ if state.tree.is_answered() => Continuation::Answered,
        _ => Continuation::Continue,
    }
}
