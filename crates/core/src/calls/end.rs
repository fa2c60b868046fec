//! The events that start and end a call.

use crate::run::progress::told;
use crate::{Call, estimate};
use mainpath_types::{ActionStarted, CallResolved, Millis, Resolution, ResolveCause, ToolOutput};

/// The next attempt of a call.
pub(crate) fn started(call: &Call) -> ActionStarted {
    let rule = call.verdict().map_or_else(String::new, |verdict| verdict.rule.clone());
    ActionStarted { call: call.id, attempt: call.attempt.saturating_add(1), rule }
}

pub(crate) fn resolved(call: &Call, at: Millis, resolution: Resolution, cause: ResolveCause) -> CallResolved {
    CallResolved {
        call: call.id,
        attempt: call.attempt,
        resolution,
        cause,
        output: None,
        reason: None,
        by: None,
        tokens: 24,
        memory: None,
        repeated: 0,
        elapsed_ms: at.saturating_sub(call.started),
    }
}

pub(crate) fn with_output(call: &Call, at: Millis, output: &ToolOutput, tokens: u32) -> CallResolved {
    let resolution = if output.error.is_some() { Resolution::Error } else { Resolution::Ok };
    let memory = output.long_term_memory.as_deref().map(estimate);
    CallResolved {
        output: Some(output.clone()),
        tokens,
        memory,
        ..resolved(call, at, resolution, ResolveCause::Result)
    }
}

/// A call that ends without having started.
pub(crate) fn unstarted(call: &Call, resolution: Resolution, cause: ResolveCause) -> CallResolved {
    resolved(call, 0, resolution, cause)
}

/// The size of what the model is told below a result that repeats.
pub(crate) fn note_tokens(repeated: u32) -> u32 {
    if repeated == 0 { 0 } else { estimate(&told(repeated)) }
}
