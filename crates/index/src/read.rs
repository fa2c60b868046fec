//! What the index keeps of a trace, read from its log.

use crate::Row;
use crate::tables::Stamp;
use mainpath_core::{State, apply, result_text, status};
use mainpath_store::{FilesStore, Scope, read_file};
use mainpath_types::*;
use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// As much of one message is searched, in bytes.
const SEARCHED: usize = 16 * 1024;
/// As much of a task is kept, in characters.
const TASK: usize = 300;

/// A trace as the index keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub row: Row,
    pub stamp: Stamp,
    pub live: bool,
    pub said: Vec<Said>,
}

/// A message that can be found.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub seq: Seq,
    pub role: &'static str,
    pub text: String,
}

pub(crate) fn stamp(meta: &Metadata) -> Stamp {
    let at = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Stamp { len: meta.len(), at: i64::try_from(at.as_nanos()).unwrap_or(i64::MAX) }
}

/// Reads a trace; `None` if it is gone or cannot be read. Its stamp is older than what was read, never newer.
pub(crate) fn read(store: &FilesStore, scope: &Scope, trace: &TraceId) -> Option<Found> {
    // Who owns it is asked first: what is written by then is read.
    let live = store.owner(scope, trace).ok()?.is_some();
    let path = store.trace_dir(&scope.tenant, trace).join("events.jsonl");
    let stamp = stamp(&std::fs::metadata(&path).ok()?);
    let log = read_file(&path, &scope.tenant, trace).ok()?;
    let mut state = State::new(trace.clone());
    let mut spec = None;
    for event in &log.events {
        apply(&mut state, event);
        if let EventKind::SpecChanged(data) = &event.kind {
            spec = Some(&data.spec);
        }
    }
    let said = said(&state, &log.events);
    let first = |events: &[Event]| {
        events.iter().find_map(|event| match &event.kind {
            EventKind::MessageQueued(data) => Some(text(&data.parts)),
            EventKind::MessageImported(data) => Some(text(&data.parts)),
            _ => None,
        })
    };
    // Of a conversation that was cleared, what was asked since; as long as nothing was, what was asked before.
    let cleared = log.events.iter().rposition(|event| matches!(event.kind, EventKind::ClearRequested(_))).unwrap_or(0);
    let task = log.events.get(cleared..).and_then(first).or_else(|| first(&log.events));
    let status = if log.damage.is_some() { "damaged" } else { status(&state) };
    let row = Row {
        trace: trace.clone(),
        created: log.events.first().map_or(0, |event| event.ts),
        modified: Millis::try_from(stamp.at / 1_000_000).unwrap_or(0),
        status: status.into(),
        reason: state.finished,
        turns: state.turn_number,
        tokens: state.usage.total(),
        cost: state.cost,
        model: spec.map(|spec| spec.model.clone()).unwrap_or_default(),
        workspace: spec.map(|spec| spec.workspace.clone()).unwrap_or_default(),
        task: task.unwrap_or_default().chars().take(TASK).collect(),
    };
    Some(Found { row, stamp, live, said })
}

/// What people, the model and tools said, by the numbers of the messages. Long texts lie in blobs and are not searched.
fn said(state: &State, events: &[Event]) -> Vec<Said> {
    let mut said = Vec::new();
    for (seq, node) in state.tree.iter() {
        let Some(at) = events.binary_search_by_key(&node.event, |event| event.id).ok() else { continue };
        let Some(kind) = events.get(at).map(|event| &event.kind) else { continue };
        use mainpath_core::NodeKind;
        let (role, text) = match (node.kind, kind) {
            (NodeKind::User, EventKind::MessageQueued(data)) => ("user", text(&data.parts)),
            (NodeKind::User, EventKind::RewindRequested(data)) => {
                ("user", text(data.parts.as_deref().unwrap_or_default()))
            }
            (NodeKind::User, EventKind::MessageImported(data)) => ("user", text(&data.parts)),
            (NodeKind::Assistant { .. }, EventKind::ModelFinished(data)) => ("assistant", text(&data.parts)),
            (NodeKind::Assistant { .. }, EventKind::MessageImported(data)) => ("assistant", text(&data.parts)),
            (NodeKind::Result(_), EventKind::CallResolved(data)) => ("tool", text(&result_text(data))),
            (NodeKind::Result(call), EventKind::MessageImported(data)) => {
                ("tool", data.result(call.index).map(|(content, _)| text(content)).unwrap_or_default())
            }
            _ => continue,
        };
        if !text.trim().is_empty() {
            said.push(Said { seq, role, text });
        }
    }
    said
}

/// Texts and what is called, up to a size.
fn text(parts: &[Part]) -> String {
    let mut all = String::new();
    for part in parts {
        let pieces: [&str; 2] = match part {
            Part::Text { text } => [text, ""],
            Part::ToolCall { name, arguments, .. } => [name, arguments],
            _ => continue,
        };
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            if !all.is_empty() {
                all.push('\n');
            }
            all.push_str(piece.get(..piece.floor_char_boundary(SEARCHED)).unwrap_or(piece));
        }
        if all.len() > SEARCHED {
            break;
        }
    }
    all
}
