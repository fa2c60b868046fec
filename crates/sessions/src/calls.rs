//! `prepare` and `persist`: for systems that call models themselves and keep their conversations here.

use crate::place::{Kept, SessionPlace};
use crate::pointers::{Session, SessionError, Sessions};
use mainpath_providers::history::History;
use mainpath_runtime::Vault;
use mainpath_runtime::import::{Origin, conversation, import, load_media, window};
use mainpath_store::{Scope, Store, StoreError};
use mainpath_types::{EventId, Message, Millis, Spec, TraceId};

/// What the calls work with.
pub struct Around<'a> {
    /// The logs.
    pub store: &'a dyn Store,
    /// Whose, and who asks.
    pub scope: &'a Scope,
    /// The secrets that are kept out of them.
    pub vault: &'a Vault,
    /// The pointers.
    pub sessions: &'a Sessions,
    /// The mirror.
    pub place: &'a dyn SessionPlace,
    /// The time.
    pub now: Millis,
}

/// A session's history, ready to be put before a new message.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The last messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether the session's time was over, so that there are none.
    pub expired: bool,
    /// Whether they came from the mirror; otherwise they were read from the trace, and the mirror was written.
    pub mirrored: bool,
}

/// The history of a session: its last messages as far as its window goes. None if it has no trace yet, if its trace was
/// removed, or if its time is over. A mirror that cannot be used costs time, nothing else.
///
/// Errors: the trace cannot be read.
pub async fn prepare(around: &Around<'_>, session: &Session) -> Result<Prepared, SessionError> {
    let expired = session.is_expired(around.now);
    let nothing = Prepared { messages: Vec::new(), expired, mirrored: false };
    let Some(trace) = session.trace.as_ref().filter(|_| !expired) else { return Ok(nothing) };
    let head = match head(around, trace) {
        Err(StoreError::NotFound { .. }) => return Ok(nothing),
        head => head?,
    };
    let most = session.window as usize;
    let kept = around.place.get(&session.name, most).await.ok().flatten();
    let fresh = kept.filter(|kept| kept.trace == *trace && kept.head == head);
    let mirrored = fresh.is_some();
    let mut messages = match fresh {
        Some(kept) => kept.messages,
        None => mirror(around, session, trace).await?.messages,
    };
    messages = match most {
        0 => messages,
        most => window(&messages, most).to_vec(),
    };
    load_media(around.store, around.scope, &mut messages).await?;
    Ok(Prepared { messages, expired, mirrored })
}

/// The number of the trace's last event, found without reading the log.
fn head(around: &Around<'_>, trace: &TraceId) -> Result<EventId, StoreError> {
    Ok(*around.store.subscribe(around.scope, trace)?.borrow())
}

/// Reads the trace and writes the mirror; one that cannot be written is done without.
async fn mirror(around: &Around<'_>, session: &Session, trace: &TraceId) -> Result<Kept, SessionError> {
    let (messages, head) = conversation(around.store, around.scope, trace, false).await?;
    let kept = Kept { trace: trace.clone(), head, messages };
    let _ = around.place.put(&session.name, &kept, session.ttl_ms).await;
    Ok(kept)
}

/// What was added to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The trace.
    pub trace: TraceId,
    /// Whether it was begun for this.
    pub is_new: bool,
    /// How many messages, results not counted.
    pub messages: usize,
    /// Why the mirror could not be written, if it could not. The messages are safe.
    pub unmirrored: Option<String>,
}

/// Adds messages that were said elsewhere to a session's trace. A session without a trace, whose trace was removed, or whose
/// time is over, gets a new one: `begin` names it and says what its agent is.
///
/// Errors: the trace is being driven or in a run, or cannot be written.
pub async fn persist(
    around: &Around<'_>,
    session: &mut Session,
    (history, source): (History, &str),
    begin: impl FnOnce() -> Result<(TraceId, Spec), SessionError>,
) -> Result<Added, SessionError> {
    let expired = session.is_expired(around.now);
    let known = session.trace.clone().filter(|_| !expired);
    let is_there = known.filter(|trace| !matches!(head(around, trace), Err(StoreError::NotFound { .. })));
    let (trace, spec) = match is_there {
        Some(trace) => (trace, None),
        None => {
            let (trace, spec) = begin()?;
            (trace, Some(spec))
        }
    };
    let is_new = spec.is_some();
    let origin = Origin { source, now: around.now };
    let from = (history.messages, origin);
    let messages = import(around.store, (around.scope, around.vault), &trace, spec, from).await?;
    session.trace = Some(trace.clone());
    session.used = around.now;
    around.sessions.put(session)?;
    let (said, head) = conversation(around.store, around.scope, &trace, false).await?;
    let kept = Kept { trace: trace.clone(), head, messages: said };
    let unmirrored = around.place.put(&session.name, &kept, session.ttl_ms).await.err();
    Ok(Added { trace, is_new, messages, unmirrored: unmirrored.map(|error| error.to_string()) })
}
