//! Erasing what was said, for good, from a log that still verifies.

use crate::error::{EraseError, RuntimeError};
use crate::history::views;
use mainpath_core::{NodeKind, State, apply, task};
use mainpath_store::{Appended, Collected, Opened, ReadLog, StoreError, Sweep, TraceEntry, TraceStore};
use mainpath_types::{
    BlobHash, CallRetried, ERASED, Erased, Event, EventId, EventKind, FilesKept, GoalOp, LateResult, Left, Millis, Seq,
    StandIns, TraceId, text_of,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// These messages, with the arguments of their calls; a call's result is a message of its own.
    Messages(Vec<Seq>),
    /// All words of the trace: what people, the model and tools said, the instructions, the plan.
    All,
}

/// An erasure as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// What.
    pub what: What,
    /// Why, where somebody said so: it is recorded.
    pub why: Option<String>,
    /// The time.
    pub now: Millis,
}

/// What was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// How many events lost their words.
    pub events: usize,
    /// What became of the blobs that held a part of them; another trace may still name one.
    pub blobs: Collected,
    /// Summaries that were made of what was erased and may quote it. They are messages like others.
    pub summaries: Vec<Seq>,
}

/// So long ago a blob must have been put for nobody to be about to name it.
const GRACE: Duration = Duration::from_secs(30);

/// Another trace that holds the same words: one that was forked off, the one that this was
/// forked off, or another fork of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Which.
    pub trace: TraceId,
    /// How the two belong together.
    pub kin: Kin,
    /// The events there that hold the words.
    events: BTreeSet<EventId>,
}

/// How another trace belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kin {
    /// It is a fork of it, or a fork of such a fork.
    Fork,
    /// The trace is a fork of it.
    Parent,
    /// Both are forks of a third.
    Sibling,
}

/// Takes the words out of a trace that nobody drives, and writes its views anew. The fact that it was done, who asked and
/// why are in the log; the state of the trace is what it was. Errors: the trace is being driven, its log cannot be written,
/// there is no such message, or nothing is left to erase.
pub async fn erase(trace: TraceStore<'_>, erasure: &Erasure) -> Result<Done, RuntimeError> {
    let opened = open(trace).await?;
    match take_out(trace, opened, erasure, None).await? {
        Some(done) => Ok(done),
        None => Err(EraseError::NothingLeft(trace.trace.clone()).into()),
    }
}

/// The same, also in these copies. All of them are taken before anything is erased, so that nothing is where one is being
/// driven or damaged. Gives what was erased where. Errors: as [`erase`]'s; one in the middle says what is done by then, and the
/// same erasure does the rest.
pub async fn erase_everywhere(
    trace: TraceStore<'_>,
    erasure: &Erasure,
    copies: &[Copy],
) -> Result<Vec<(TraceId, Done)>, RuntimeError> {
    let mut all = vec![(trace, None, open(trace).await?)];
    for copy in copies {
        let at = trace.scoped().of(&copy.trace);
        let opened = open(at).await;
        let opened = opened.map_err(|error| EraseError::Copy(Box::new(error)))?;
        all.push((at, Some(&copy.events), opened));
    }
    let mut done: Vec<(TraceId, Done)> = Vec::new();
    for (at, events, opened) in all {
        match take_out(at, opened, erasure, events).await {
            Ok(Some(erased)) => done.push((at.trace.clone(), erased)),
            Ok(None) => {}
            Err(error) => {
                let done = done.into_iter().map(|(trace, _)| trace).collect();
                return Err(EraseError::Partial { trace: at.trace.clone(), error: Box::new(error), done }.into());
            }
        }
    }
    if done.is_empty() { Err(EraseError::NothingLeft(trace.trace.clone()).into()) } else { Ok(done) }
}

/// The other traces in which words that are meant still are. Every log is read for it. Errors: a log cannot be read, or there
/// is no such message.
pub async fn copies(trace: TraceStore<'_>, what: &What) -> Result<Vec<Copy>, RuntimeError> {
    let own = trace.read(1).await?;
    let state = folded(trace.trace, &own.events);
    if let What::Messages(seqs) = what {
        holders(&state, &own.events, seqs)?;
    }
    let mut found = Vec::new();
    for TraceEntry { trace: other, .. } in trace.store.list(trace.scope).await? {
        let log = match trace.scoped().of(&other).read(1).await {
            _ if other == *trace.trace => continue,
            // Removed meanwhile.
            Err(StoreError::NotFound { .. }) => continue,
            log => log?,
        };
        let Some((last, kin)) = kinship(&own, &log) else { continue };
        let meant: BTreeSet<EventId> = match what {
            What::All => (1..=last).collect(),
            What::Messages(seqs) => {
                // Up to there the same messages have the same numbers.
                let is_shared = |seq: &&Seq| state.tree.node(**seq).is_some_and(|node| node.event <= last);
                let seqs: Vec<Seq> = seqs.iter().filter(is_shared).copied().collect();
                holders(&folded(&other, &log.events), &log.events, &seqs)?
            }
        };
        let is_there = |event: &&Event| meant.contains(&event.id) && has_words(event);
        let events: BTreeSet<EventId> = log.events.iter().filter(is_there).map(|event| event.id).collect();
        if !events.is_empty() {
            found.push(Copy { trace: other, kin, events });
        }
    }
    found.sort_by(|a, b| a.trace.cmp(&b.trace));
    Ok(found)
}

/// Up to which event two logs are one, if that is because one is a fork of the other or both are of a third, which may be gone.
/// What was erased in one of them since is still the same event.
fn kinship(own: &ReadLog, other: &ReadLog) -> Option<(EventId, Kin)> {
    let is_same = |(a, b): &(&Event, &Event)| {
        let erased = |log: &ReadLog, id| log.erased.iter().any(|erased| erased.id == id);
        let omitted = |event: &Event| matches!(event.kind, EventKind::Omitted(_));
        let unsure = || erased(own, a.id) || erased(other, b.id);
        let alike = a.kind == b.kind || omitted(a) || omitted(b) || (a.kind.name() == b.kind.name() && unsure());
        (a.id, a.ts, a.turn) == (b.id, b.ts, b.turn) && alike
    };
    let shared = own.events.iter().zip(&other.events).take_while(is_same).count();
    let last = own.events.get(shared.checked_sub(1)?)?.id;
    let is_fork =
        |log: &ReadLog| log.events.get(shared).is_some_and(|event| matches!(event.kind, EventKind::Forked(_)));
    match (is_fork(own), is_fork(other)) {
        (false, true) => Some((last, Kin::Fork)),
        (true, false) => Some((last, Kin::Parent)),
        (true, true) => Some((last, Kin::Sibling)),
        (false, false) => None,
    }
}

fn folded(trace: &TraceId, events: &[Event]) -> State {
    let mut state = State::new(trace.clone());
    events.iter().for_each(|event| apply(&mut state, event));
    state
}

/// A trace that can be erased. Errors: it is being driven, damaged, or newer than this.
async fn open(at: TraceStore<'_>) -> Result<Opened, RuntimeError> {
    let trace = at.trace;
    let opened = at.store.lease(at.scope, trace, false).await?;
    if let Some(damage) = &opened.log.damage {
        return Err(EraseError::Damaged { trace: trace.clone(), damage: damage.clone() }.into());
    }
    if opened.log.newer {
        return Err(EraseError::Newer(trace.clone()).into());
    }
    Ok(opened)
}

/// Takes the words out: of these events, or of what is meant. `None`: there are none left.
async fn take_out(
    trace: TraceStore<'_>,
    Opened { lease, log }: Opened,
    Erasure { what, why, now }: &Erasure,
    events: Option<&BTreeSet<EventId>>,
) -> Result<Option<Done>, RuntimeError> {
    let state = folded(trace.trace, &log.events);
    let wanted = match (events, what) {
        (Some(events), _) => events.clone(),
        (None, What::All) => log.events.iter().map(|event| event.id).collect(),
        (None, What::Messages(seqs)) => holders(&state, &log.events, seqs)?,
    };
    let said = said(&log.events, &wanted, what);
    let mut names = StandIns::after(&log.events);
    // Also of events that were erased before: an erasure that took out quotes has left the other words.
    let meant: Vec<(&Event, EventKind)> = (log.events.iter())
        .map(|event| match wanted.contains(&event.id) {
            true => (event, event.kind.without_words_by(&mut names)),
            false => (event, event.kind.without_quotes(&said, &mut names)),
        })
        .filter(|(event, left)| event.kind != *left)
        .collect();
    if meant.is_empty() {
        return Ok(None);
    }
    let blobs: Vec<BlobHash> = meant.iter().flat_map(|(event, _)| event.kind.blobs()).collect();
    let left = left_of(&log, &meant);
    let erased = Erased { left, by: trace.scope.principal.clone(), why: why.clone() };
    let (id, ts, turn) = (log.head + 1, (*now).max(state.log.now), state.counts.turns);
    let marker = Event { id, ts, turn, mail: None, kind: erased.into() };
    match trace.store.erase(&lease, marker).await {
        Appended::Committed { .. } => {}
        Appended::Refused(refused) => return Err(refused.into()),
        Appended::Unknown { problem, cause } => {
            let problem = format!("{problem}; erase again to be sure");
            return Err(RuntimeError::Unwritable { problem, cause });
        }
    }
    drop(lease);
    for name in trace.views().await? {
        trace.delete_view(&name).await?;
    }
    match views::write(trace).await {
        // What a view quotes may be gone with another trace.
        Ok(()) | Err(StoreError::NoBlob { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let blobs = match blobs.is_empty() {
        true => Collected::default(),
        false => {
            trace.store.collect_blobs(trace.scope, Sweep { grace: GRACE, only: Some(blobs), dry_run: false }).await?
        }
    };
    Ok(Some(Done { events: meant.len(), blobs, summaries: summaries(&state, what) }))
}

/// What is left of these events, and of the earlier erasures that still have words of them: what else those say is said anew.
fn left_of(log: &ReadLog, meant: &[(&Event, EventKind)]) -> Vec<Left> {
    let mut left: BTreeMap<EventId, EventKind> = meant.iter().map(|(event, kind)| (event.id, kind.clone())).collect();
    let erasures = log.events.iter().filter_map(|event| match &event.kind {
        EventKind::Erased(data) => Some((event.id, data)),
        _ => None,
    });
    let stale = |data: &Erased| data.left.iter().any(|left| meant.iter().any(|(event, _)| event.id == left.event));
    for (id, data) in erasures.filter(|(_, data)| stale(data)) {
        // What stands in the place of an event now is what the last erasure of it says.
        let is_told = |event: &&Event| {
            data.left.iter().any(|left| left.event == event.id) && log.erased.iter().any(|gone| gone.id == event.id)
        };
        for event in log.events.iter().filter(is_told) {
            left.entry(event.id).or_insert_with(|| event.kind.clone());
        }
        left.insert(id, Erased { left: Vec::new(), ..data.clone() }.into());
    }
    left.into_iter().map(|(event, kind)| Left { event, kind }).collect()
}

/// Whether something of what is said can still be taken out.
fn has_words(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Erased(_)) && event.kind.has_words()
}

/// What people said in the messages that are erased one by one: what Mainpath wrote of it goes with it.
fn said(events: &[Event], wanted: &BTreeSet<EventId>, what: &What) -> Vec<String> {
    if matches!(what, What::All) {
        return Vec::new();
    }
    let said = events.iter().filter(|event| wanted.contains(&event.id)).filter_map(|event| match &event.kind {
        EventKind::MessageQueued(data) => Some(text_of(&data.parts)),
        EventKind::RewindRequested(data) => data.parts.as_deref().map(text_of),
        EventKind::MessageImported(data) => Some(text_of(&data.parts)),
        _ => None,
    });
    said.filter(|said| !said.trim().is_empty() && said != ERASED).collect()
}

/// The events that hold the words of these messages.
fn holders(state: &State, events: &[Event], seqs: &[Seq]) -> Result<BTreeSet<EventId>, RuntimeError> {
    let mut held = BTreeSet::new();
    for seq in seqs {
        let node = state.tree.node(*seq).ok_or_else(|| EraseError::NoMessage {
            trace: state.trace.clone(),
            seq: *seq,
            last: state.tree.len(),
        })?;
        held.insert(node.event);
        let said = events.iter().find(|event| event.id == node.event).and_then(|event| match &event.kind {
            EventKind::MessageQueued(data) => Some(text_of(&data.parts)),
            _ => None,
        });
        for event in events {
            let is_of = match (&event.kind, node.kind) {
                // What was pinned of it.
                (EventKind::GoalsChanged(data), NodeKind::User) => data.ops.iter().all(|op| match op {
                    GoalOp::Pin { text } => said.as_ref().is_some_and(|said| said.contains(text.trim())),
                    _ => false,
                }),
                // What a model made of the task.
                (EventKind::TraceNamed(data), NodeKind::User) => data.made.is_some() && task(state) == Some(*seq),
                // Its first result is in its node's event, or was refused there.
                (EventKind::CallRetried(CallRetried { call, .. }), NodeKind::Result(of))
                | (EventKind::LateResult(LateResult { call, .. }), NodeKind::Result(of))
                | (EventKind::FilesKept(FilesKept { call, .. }), NodeKind::Result(of)) => *call == of,
                (EventKind::ApprovalGranted(data), NodeKind::Assistant { .. }) => data.call.seq == *seq,
                _ => false,
            };
            if is_of {
                held.insert(event.id);
            }
        }
    }
    // What other agents wrote goes with the answer that shows it.
    let shows = |event: &&Event| held.contains(&event.id);
    let shown: Vec<EventId> = events
        .iter()
        .filter(shows)
        .filter_map(|event| if let EventKind::ModelFinished(data) = &event.kind { Some(data) } else { None })
        .flat_map(|data| data.calls.iter().flat_map(|call| call.messages.clone()))
        .collect();
    held.extend(shown);
    Ok(held)
}

/// The answers that are shown as a summary of what came before them.
fn summaries(state: &State, what: &What) -> Vec<Seq> {
    let What::Messages(seqs) = what else { return Vec::new() };
    let Some(first) = seqs.iter().min() else { return Vec::new() };
    let events: BTreeSet<EventId> =
        state.tree.iter().filter_map(|(seq, _)| state.tree.cut_at(Some(seq))?.summary).collect();
    let of = state.tree.iter().filter(|(seq, node)| events.contains(&node.event) && seq > first);
    of.map(|(seq, _)| seq).filter(|seq| !seqs.contains(seq)).collect()
}
