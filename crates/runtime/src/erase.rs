//! Erasing what was said, for good, from a log that still verifies.

use crate::runtime::RuntimeError;
use crate::views;
use mainpath_core::{NodeKind, State, apply};
use mainpath_store::{Appended, Collected, Opened, Scope, Store, StoreError, Sweep};
use mainpath_types::*;
use std::collections::BTreeSet;
use std::time::Duration;

/// What is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// These messages, with the arguments of their calls; a call's result is a message of its own.
    Messages(Vec<Seq>),
    /// All words of the trace: what people, the model and tools said, the instructions, the plan.
    All,
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

/// Takes the words out of a trace that nobody drives, and writes its views anew. The fact that it was done, who asked and
/// why are in the log; the state of the trace is what it was. Errors: the trace is being driven, its log cannot be written,
/// there is no such message, or nothing is left to erase.
pub async fn erase(
    store: &dyn Store,
    (scope, now): (&Scope, Millis),
    trace: &TraceId,
    what: &What,
    why: Option<String>,
) -> Result<Done, RuntimeError> {
    let Opened { lease, log } = store.lease(scope, trace, false).await?;
    if let Some(damage) = &log.damage {
        return Err(RuntimeError::Trace(format!("the log is damaged and stays as it is: {damage}")));
    }
    if log.newer {
        return Err(RuntimeError::Trace("the log was written by a newer Mainpath, which can erase it".into()));
    }
    let mut state = State::new(trace.clone());
    log.events.iter().for_each(|event| apply(&mut state, event));
    let wanted = match what {
        What::All => log.events.iter().map(|event| event.id).collect(),
        What::Messages(seqs) => holders(&state, &log.events, seqs)?,
    };
    let gone: BTreeSet<EventId> = log.erased.iter().map(|erased| erased.id).collect();
    let is_meant = |event: &&Event| wanted.contains(&event.id) && !gone.contains(&event.id);
    let mut names = StandIns::after(&log.events);
    let meant: Vec<(&Event, EventKind)> = (log.events.iter().filter(is_meant))
        .map(|event| (event, event.kind.without_words_by(&mut names)))
        .filter(|(event, left)| event.kind != *left)
        .collect();
    if meant.is_empty() {
        return Err(RuntimeError::Trace(format!("nothing is left to erase there in trace {trace}")));
    }
    let blobs: Vec<BlobHash> = meant.iter().flat_map(|(event, _)| event.kind.blobs()).collect();
    let left = meant.iter().map(|(event, kind)| Left { event: event.id, kind: kind.clone() }).collect();
    let erased = Erased { left, by: scope.principal.clone(), why };
    let (id, ts, turn) = (log.head + 1, now.max(state.now), state.turn_number);
    let marker = Event { id, ts, turn, mail: None, kind: erased.into() };
    match store.erase(&lease, marker).await {
        Appended::Committed { .. } => {}
        Appended::Refused(refused) => return Err(RuntimeError::Trace(refused.to_string())),
        Appended::Unknown { problem } => {
            return Err(RuntimeError::Trace(format!("{problem}; erase again to be sure")));
        }
    }
    drop(lease);
    store.delete_views(scope, trace).await?;
    match views::write(store, scope, trace).await {
        // What a view quotes may be gone with another trace.
        Ok(()) | Err(StoreError::NoBlob { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let blobs = match blobs.is_empty() {
        true => Collected::default(),
        false => store.collect_blobs(scope, Sweep { grace: GRACE, only: Some(blobs), dry_run: false }).await?,
    };
    Ok(Done { events: meant.len(), blobs, summaries: summaries(&state, what) })
}

/// The events that hold the words of these messages.
fn holders(state: &State, events: &[Event], seqs: &[Seq]) -> Result<BTreeSet<EventId>, RuntimeError> {
    let mut held = BTreeSet::new();
    for seq in seqs {
        let node = state.tree.node(*seq).ok_or_else(|| {
            let last = state.tree.len();
            RuntimeError::Trace(format!("trace {} has no message {seq}; its last is {last}", state.trace))
        })?;
        held.insert(node.event);
        for event in events {
            let is_of = match (&event.kind, node.kind) {
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
