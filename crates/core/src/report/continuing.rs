//! Decides from the state how a trace can be continued.

use crate::State;
use mainpath_types::FinishReason;

/// The message that asks the model to finish an answer that the output limit cut off.
pub const FINISH_ANSWER: &str = "Your answer was cut off at the output limit. Go on exactly where it broke off.";

/// How a trace can be continued: see [`how_to_continue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// Drive it: a run is open, or messages wait to be read.
    Drive,
    /// Send a `Continue`: the model continues from its last message.
    Continue,
    /// Send [`FINISH_ANSWER`]: the output limit cut the last answer off.
    FinishAnswer,
    /// Nothing can be continued: the last message has its answer.
    Answered,
    /// Nothing can be continued: the trace has no messages, or they were cleared.
    Empty,
}

/// Returns how to continue a trace without a new message from the user. Unread mail is not part of the state: a trace that has some only
/// needs to be driven.
pub fn how_to_continue(state: &State) -> Continuation {
    let has_messages = state.tree.head.is_some();
    match state.ended.reason {
        _ if state.run.is_some() => Continuation::Drive,
        // Messages that were queued before a stop or a limit are held until the trace is continued.
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
