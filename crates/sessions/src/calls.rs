//! `prepare` and `persist`: for systems that call models themselves and keep their conversations here.

use crate::place::{Kept, Known, PlaceError, SessionPlace};
use crate::pointers::{Session, SessionError, Sessions};
use mainpath_core::Summary;
use mainpath_providers::history::{HistoryFormat, Loose, write};
use mainpath_runtime::import::{Intake, Origin, conversation_with, load_media, redact, summary_with, window};
use mainpath_runtime::{RuntimeError, Vault};
use mainpath_store::{Scope, ScopedStore, Store, StoreError, TraceStore};
use mainpath_types::{EventId, Message, Millis, Part, Role, Source, Spec, TraceId};
use std::time::{Duration, Instant};

/// How long another one who has the trace is waited for: he may be adding to it as well, under another name.
const PATIENCE: Duration = Duration::from_secs(3);
/// Where what waited comes from when a run begins before the results came.
const WAITED: &str = "session";
/// Where what another machine said comes from.
const MIRROR: &str = "mirror";

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

impl<'a> Around<'a> {
    /// The logs, as whoever asks uses them.
    pub fn scoped(&self) -> ScopedStore<'a> {
        ScopedStore::new(self.store, self.scope)
    }
}

/// A session's history, ready to be put before a new message.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The last messages, oldest first. Where they begin with an answer, a note stands before them in a person's place.
    pub messages: Vec<Message>,
    /// Whether the session's time was over, so that there are none.
    pub expired: bool,
    /// Whether they came from the mirror; otherwise they were read from the trace, and the mirror was written.
    pub mirrored: bool,
    /// Why the mirror could not be written, if it could not.
    pub unmirrored: Option<String>,
}

/// The history of a session: its last messages as far as its window goes, calls that wait for results with one that says so. None if it has no trace yet, if its trace was
/// removed, or if its time is over. A mirror that cannot be used costs time, nothing else.
///
/// Errors: the trace cannot be read.
pub async fn prepare(around: &Around<'_>, session: &Session) -> Result<Prepared, SessionError> {
    let expired = session.is_expired(around.now);
    let nothing = Prepared { messages: Vec::new(), expired, mirrored: false, unmirrored: None };
    let Some(trace) = session.trace.as_ref().filter(|_| !expired) else { return Ok(nothing) };
    let head = match head(around, trace) {
        Err(StoreError::NotFound { .. }) => return Ok(nothing),
        head => head?,
    };
    let most = session.window as usize;
    let mut kept = around.place.get(&session.name, most).await.ok().flatten();
    if most > 0 && kept.as_ref().is_some_and(|kept| kept.messages.iter().all(|message| message.role == Role::Tool)) {
        // Their calls are further back.
        kept = around.place.get(&session.name, 0).await.ok().flatten();
    }
    let waiting = around.sessions.waiting(trace)?;
    // What waits is in no log, so that the log does not say whether the mirror is new enough.
    let is_fresh = |kept: &Kept| kept.trace == *trace && kept.head == head && kept.lost == 0 && waiting.is_empty();
    let fresh = kept.filter(is_fresh);
    let mirrored = fresh.is_some();
    let (mut messages, unmirrored) = match fresh {
        Some(kept) => (kept.messages, None),
        None => {
            let (kept, unmirrored) = mirror(around, session, trace, waiting).await?;
            (kept.messages, unmirrored.map(|error| error.to_string()))
        }
    };
    messages = match most {
        0 => messages,
        most => window(&messages, most),
    };
    load_media(around.scoped(), &mut messages).await?;
    Ok(Prepared { messages, expired, mirrored, unmirrored })
}

/// What rules find in all that was said in a session, what waits for results too, as Markdown: what its trace's `summary.md` says,
/// where nothing waits. Errors: the trace cannot be read.
pub async fn summary(around: &Around<'_>, session: &Session) -> Result<String, SessionError> {
    let known = session.trace.as_ref().filter(|_| !session.is_expired(around.now));
    let is_there = |trace: &&TraceId| !matches!(head(around, trace), Err(StoreError::NotFound { .. }));
    let Some(trace) = known.filter(is_there) else { return Ok(Summary::default().markdown()) };
    let waiting = Some(around.sessions.waiting(trace)?).filter(|waiting| !waiting.is_empty());
    Ok(summary_with(around.scoped().of(trace), waiting).await?)
}

/// The number of the trace's last event, found without reading the log.
fn head(around: &Around<'_>, trace: &TraceId) -> Result<EventId, StoreError> {
    Ok(*around.store.subscribe(around.scope, trace)?.borrow())
}

/// Reads the trace and writes the mirror; says why it could not be written.
async fn mirror(
    around: &Around<'_>,
    session: &Session,
    trace: &TraceId,
    waiting: Loose,
) -> Result<(Kept, Option<PlaceError>), SessionError> {
    let waiting = Some(waiting).filter(|waiting| !waiting.is_empty());
    let (messages, head) = conversation_with(around.scoped().of(trace), waiting, false).await?;
    let kept = Kept { trace: trace.clone(), head, messages, lost: 0 };
    let unwritten = write_mirror(around, session, &kept).await.err();
    Ok((kept, unwritten))
}

/// Writes the mirror, but for one that another machine has gone on with. Errors: that, or it cannot be written.
async fn write_mirror(around: &Around<'_>, session: &Session, kept: &Kept) -> Result<(), PlaceError> {
    let (name, ttl) = (&session.name, session.ttl_ms);
    let known = session.mirrored.clone().map(|trace| Known { trace, head: session.taken_at });
    if let Some(other) = around.place.replace(name, kept, ttl, known.as_slice()).await? {
        // A trace of this machine's own: the session began anew, or points elsewhere by now.
        let is_ours = !matches!(head(around, &other), Err(StoreError::NotFound { .. }));
        let held = if is_ours {
            around.place.replace(name, kept, ttl, &[Known { trace: other, head: None }]).await?
        } else {
            Some(other)
        };
        if let Some(other) = held {
            let problem = format!(
                "another machine has continued it, as trace {other}; nothing there was overwritten, and the messages from here are \
                 only in trace {}; to continue with the other messages: mainpath session switch {name} --mirror",
                kept.trace
            );
            return Err(PlaceError::new(format!("the mirror of session {name}"), problem));
        }
    }
    // Told to the pointer, so that what comes to stand there later is known for another's. It is a note: without it one look more is needed.
    if session.mirrored.as_ref() != Some(&kept.trace)
        && let Ok(known) = around.sessions.get(name)
    {
        let _ = around.sessions.put(&Session { mirrored: Some(kept.trace.clone()), taken_at: None, ..known });
    }
    Ok(())
}

/// What was added to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The trace.
    pub trace: TraceId,
    /// Whether it was begun for this.
    pub is_new: bool,
    /// How many messages joined the trace, results not counted.
    pub messages: usize,
    /// How many messages, results counted as such, are kept until the results of calls come.
    pub kept: usize,
    /// How many calls wait for their results.
    pub waiting: usize,
    /// What was mended or left out, a line for people each.
    pub healed: Vec<String>,
    /// Why the mirror could not be written, if it could not. The messages are safe.
    pub unmirrored: Option<String>,
}

/// Adds messages that were said elsewhere to a session's trace, as the next ones of its conversation. A session without a
/// trace, whose trace was removed, or whose time is over, gets a new one: `begin` names it and says what its agent is.
///
/// Calls whose results are not there yet wait beside the session, and what follows them, until the results come or the model
/// has given an answer without calls; then they join the trace, each with its result. Others who add to the session at the
/// same time are waited for.
///
/// Errors: the trace is being driven or in a run, or cannot be written; there is nothing in it to begin a trace with.
pub async fn persist(
    around: &Around<'_>,
    session: &mut Session,
    mut next: Loose,
    source: &str,
    begin: impl FnOnce() -> Result<(TraceId, Spec), SessionError>,
) -> Result<Added, SessionError> {
    let _held = around.sessions.hold(&session.name).await?;
    // Somebody else may have begun its trace meanwhile.
    match around.sessions.get(&session.name) {
        Err(SessionError::Unknown(_)) => {}
        now => *session = now?,
    }
    let expired = session.is_expired(around.now);
    let known = session.trace.clone().filter(|_| !expired);
    let is_there = known.filter(|trace| !matches!(head(around, trace), Err(StoreError::NotFound { .. })));
    let (trace, spec) = match is_there {
        Some(trace) => (trace, None),
        None if next.clone().heal(false).messages.is_empty() => return Err(SessionError::Nothing),
        None => {
            let (trace, spec) = begin()?;
            (trace, Some(spec))
        }
    };
    let is_new = spec.is_some();
    let mut intake = take(around, &trace, spec).await?;
    next.for_each(|parts| redact(around.vault, parts));
    let mut all = around.sessions.waiting(&trace)?;
    let waited = all.clone();
    all.push(next);
    let waiting = all.split_open();
    let healed = all.heal(intake.has_begun());
    if healed.messages.is_empty() && waiting == waited {
        return Err(SessionError::Nothing);
    }
    let messages = intake.add(healed.messages, Origin { source, now: around.now }).await?;
    // A crash before this repeats what has joined by now, and loses nothing.
    around.sessions.keep_waiting(&trace, &waiting)?;
    session.trace = Some(trace.clone());
    session.used = around.now;
    around.sessions.put(session)?;
    drop(intake);
    let (kept, lacking) = (waiting.len(), waiting.unanswered());
    let (_, unmirrored) = mirror(around, session, &trace, waiting).await?;
    let unmirrored = unmirrored.map(|error| error.to_string());
    Ok(Added { trace, is_new, messages, kept, waiting: lacking, healed: healed.healed, unmirrored })
}

/// A session that was taken over from a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The session, which points to the new trace; to none where the mirror has no messages, as it was cleared.
    pub session: Session,
    /// The trace that the mirror was of, on the other machine.
    pub from: TraceId,
    /// How many messages were taken in, results not counted.
    pub messages: usize,
    /// How many more are missing in the mirror or cannot be read there.
    pub lost: u64,
    /// Pictures, sounds and documents that lie on the other machine alone; a line stands for each.
    pub left_behind: usize,
    /// What was mended, a line for people each.
    pub healed: Vec<String>,
}

/// What stands for bytes that are on another machine.
const LEFT_BEHIND: &str = "(an attachment that lies on another machine)";

/// Goes on with what a mirror holds of a session, as a new trace: another machine began it. `None` if it holds nothing, or something of a
/// trace of this machine. Where it has no messages, the session begins anew. Errors: the mirror cannot be read, or the trace cannot be written.
pub async fn adopt(
    around: &Around<'_>,
    session: Session,
    begin: impl FnOnce() -> Result<(TraceId, Spec), SessionError>,
) -> Result<Option<Adopted>, SessionError> {
    let Some(mut kept) = around.place.get(&session.name, 0).await? else { return Ok(None) };
    if !matches!(head(around, &kept.trace), Err(StoreError::NotFound { .. })) {
        return Ok(None);
    }
    let taken = Session { mirrored: Some(kept.trace.clone()), taken_at: Some(kept.head), used: around.now, ..session };
    if kept.is_empty() {
        let session = Session { trace: None, ..taken };
        around.sessions.put(&session)?;
        let (from, healed) = (kept.trace, Vec::new());
        return Ok(Some(Adopted { session, from, messages: 0, lost: 0, left_behind: 0, healed }));
    }
    let mut left_behind = 0;
    for part in kept.messages.iter_mut().flat_map(|message| &mut message.parts) {
        leave_behind(part, &mut left_behind);
    }
    let text = String::from_utf8_lossy(&write(HistoryFormat::Neutral, &kept.messages)).into_owned();
    let read = Loose::read(Some(HistoryFormat::Neutral), &text);
    let source = || format!("the mirror of session {}", taken.name);
    let mut next = read.map_err(|problem| RuntimeError::History { source_name: source(), problem })?;
    next.for_each(|parts| redact(around.vault, parts));
    let (trace, spec) = begin()?;
    let history = next.heal(false);
    let mut intake = take(around, &trace, Some(spec)).await?;
    let messages = intake.add(history.messages, Origin { source: MIRROR, now: around.now }).await?;
    drop(intake);
    let session = Session { trace: Some(trace), ..taken };
    around.sessions.put(&session)?;
    let (from, lost) = (kept.trace, kept.lost);
    Ok(Some(Adopted { session, from, messages, lost, left_behind, healed: history.healed }))
}

fn leave_behind(part: &mut Part, count: &mut usize) {
    match part {
        Part::Image { source: Source::Blob { .. } }
        | Part::Audio { source: Source::Blob { .. } }
        | Part::Document { source: Source::Blob { .. }, .. }
        | Part::StoredText { .. } => {
            *count += 1;
            *part = Part::text(LEFT_BEHIND);
        }
        Part::ToolResult { content, .. } => content.iter_mut().for_each(|part| leave_behind(part, count)),
        _ => {}
    }
}

/// Takes hold of a trace; waits for another who adds to it under another name.
async fn take<'a>(around: &Around<'a>, trace: &'a TraceId, spec: Option<Spec>) -> Result<Intake<'a>, RuntimeError> {
    let begun = Instant::now();
    loop {
        match Intake::open(around.scoped().of(trace), around.vault, spec.clone(), around.now).await {
            Err(RuntimeError::Store(StoreError::Held { .. })) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            taken => return taken,
        }
    }
}

/// Before a run goes on with a trace: what waits for the results of calls joins it, healed. Says what was mended; nothing is
/// done while the trace is in a run. Errors: the trace is being driven, or cannot be written.
pub async fn settle(
    at: TraceStore<'_>,
    vault: &Vault,
    sessions: &Sessions,
    now: Millis,
) -> Result<Vec<String>, SessionError> {
    let trace = at.trace;
    if sessions.waiting(trace)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut intake = Intake::open(at, vault, None, now).await?;
    if !intake.is_free() {
        return Ok(Vec::new());
    }
    let healed = sessions.waiting(trace)?.heal(intake.has_begun());
    intake.add(healed.messages, Origin { source: WAITED, now }).await?;
    sessions.forget_waiting(trace)?;
    Ok(healed.healed)
}
