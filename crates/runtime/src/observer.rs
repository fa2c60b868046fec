//! Who is told of every event that this process appends: for counts and traces of what it does. It can change nothing.

use mainpath_core::State;
use mainpath_store::Scope;
use mainpath_types::{Event, TraceId};

/// Is told of every trace that is taken up in this process.
pub trait Observer: Send + Sync {
    /// A trace is taken up: what its log has by now, and the state that this makes. What is given back is told of all that follows, and is
    /// dropped when the trace is let go of.
    fn open(&self, scope: &Scope, trace: &TraceId, taken: Taken<'_>) -> Box<dyn TraceObserver>;
}

/// Is told of what is appended to one trace.
pub trait TraceObserver: Send + Sync {
    /// Events are durable; the state is the one after them. What is told is in no hurry: whoever appends waits for it, so it must be
    /// short. An event may be told again.
    fn committed(&mut self, appended: Taken<'_>);
}

/// Events of a trace, and the state after them.
#[derive(Clone, Copy)]
pub struct Taken<'a> {
    /// The events.
    pub events: &'a [Event],
    /// The state after them.
    pub state: &'a State,
}
