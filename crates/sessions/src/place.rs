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
}

/// A place where the neutral messages of sessions are kept. They are a mirror: what is lost is written again.
pub trait SessionPlace: Send + Sync {
    /// What is kept of a session, of its messages the last `window` (0: all); `None` if nothing is.
    fn get<'a>(&'a self, session: &'a str, window: usize) -> Fut<'a, Result<Option<Kept>, PlaceError>>;

    /// Puts this in the place of what was kept. `ttl_ms`: for how long.
    fn put<'a>(&'a self, session: &'a str, kept: &'a Kept, ttl_ms: Option<Millis>) -> Fut<'a, Result<(), PlaceError>>;

    /// The same, unless what was kept is of another trace than this one and those in `over`: then nothing is written, and that trace
    /// is given. Nobody comes in between the look and the writing.
    fn replace<'a>(
        &'a self,
        session: &'a str,
        kept: &'a Kept,
        ttl_ms: Option<Millis>,
        over: &'a [TraceId],
    ) -> Fut<'a, Result<Option<TraceId>, PlaceError>>;

    /// The sessions of which something is kept, by name. A place that no other machine can see names none.
    fn list(&self) -> Fut<'_, Result<Vec<Listed>, PlaceError>>;

    /// Removes what is kept of a session.
    fn remove<'a>(&'a self, session: &'a str) -> Fut<'a, Result<(), PlaceError>>;

    /// Removes for good what is kept of these traces, of whichever sessions. Errors: some of it may still be there.
    fn forget<'a>(&'a self, traces: &'a [TraceId]) -> Fut<'a, Result<(), PlaceError>>;
}
