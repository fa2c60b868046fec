//! Where a session's messages are mirrored for other systems.

use mainpath_types::{EventId, Message, Millis, TraceId};
use std::future::Future;
use std::pin::Pin;

/// A future that can be sent and needs no name.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a place holds of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The trace that it came from.
    pub trace: TraceId,
    /// The trace's last event then. If it is not the last one now, what is kept is old.
    pub head: EventId,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// How many of those that were written are missing or cannot be read.
    pub lost: u64,
}

impl Kept {
    /// Whether nothing was said in it, or all of it was cleared, erased or removed.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.lost == 0
    }
}

/// What may be replaced in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What is of this trace.
    pub trace: TraceId,
    /// And was written up to this event; `None`: up to any.
    pub head: Option<EventId>,
}

/// A session that a place holds something of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The trace that it came from.
    pub trace: TraceId,
}

/// Why a place cannot be used. One line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PlaceError {
    /// Which: its address without a password.
    pub place: String,
    /// What is wrong.
    pub problem: String,
    /// Whether it holds the session, but in a form that cannot be read; otherwise nobody knows what it holds.
    pub is_damage: bool,
}

impl PlaceError {
    pub(crate) fn new(place: impl ToString, problem: impl ToString) -> PlaceError {
        PlaceError { place: place.to_string(), problem: problem.to_string(), is_damage: false }
    }

    /// What is kept of a session cannot be read.
    #[cfg(feature = "mirrors")]
    pub(crate) fn damage(place: impl ToString, session: &str, problem: impl std::fmt::Display) -> PlaceError {
        let problem = format!(
            "the session {session} is damaged: {problem}; mainpath session prepare {session} on the machine that holds its trace rewrites it, \
             mainpath session rm {session} removes it from the mirror"
        );
        PlaceError { place: place.to_string(), problem, is_damage: true }
    }
}

/// What is wrong where no message can be read.
#[cfg(feature = "mirrors")]
pub(crate) const UNREADABLE: &str = "its messages cannot be read";

/// A place where the neutral messages of sessions are kept. They are a mirror: what is lost is written again.
pub trait SessionPlace: Send + Sync {
    /// What is kept of a session, of its messages the last `window` (0: all); `None` if nothing is. Errors: also if none of these
    /// messages can be read, where other machines can see the place.
    fn get<'a>(&'a self, session: &'a str, window: usize) -> Fut<'a, Result<Option<Kept>, PlaceError>>;

    /// Puts this in the place of what was kept. `ttl_ms`: for how long.
    fn put<'a>(&'a self, session: &'a str, kept: &'a Kept, ttl_ms: Option<Millis>) -> Fut<'a, Result<(), PlaceError>>;

    /// The same, unless what was kept is neither of this trace nor among `over`: then nothing is written, and the trace that it is of
    /// is given. Nobody comes in between the look and the writing.
    fn replace<'a>(
        &'a self,
        session: &'a str,
        kept: &'a Kept,
        ttl_ms: Option<Millis>,
        over: &'a [Known],
    ) -> Fut<'a, Result<Option<TraceId>, PlaceError>>;

    /// The sessions of which something is kept, by name. A place that no other machine can see names none.
    fn list(&self) -> Fut<'_, Result<Vec<Listed>, PlaceError>>;

    /// Removes what is kept of a session.
    fn remove<'a>(&'a self, session: &'a str) -> Fut<'a, Result<(), PlaceError>>;

    /// Removes for good what was said in these traces, of whichever sessions. Where other machines can see the place, it still says of which
    /// trace it is, with no messages up to event 0: who goes on with what was said earlier does not bring it back. Errors: some
    /// of it may still be there.
    fn forget<'a>(&'a self, traces: &'a [TraceId]) -> Fut<'a, Result<(), PlaceError>>;
}
