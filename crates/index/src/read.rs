//! What the index keeps of a trace, read from its log.

use crate::Row;
use crate::found::{Found, Said, Stamp};
use crate::steps::Steps;
use crate::tables::DAMAGED;
use mainpath_core::{NodeKind, State, apply, result_text, status, task};
use mainpath_runtime::run_stats::runs;
use mainpath_store::{FilesStore, Scope};
use mainpath_types::{Event, EventKind, Millis, Part, Seq, TraceId};
use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// As much of one message is searched, in bytes.
const SEARCHED: usize = 256 * 1024;
/// As much of the messages of one trace that are longer than [`SHORT`], in bytes; after that, as much as that of each. So a trace with
/// a great many long results takes neither long nor much room.
const LONG: usize = 4 * 1024 * 1024;
/// As much of one message is searched in any case, in bytes.
const SHORT: usize = 16 * 1024;
/// As much of a task is kept, in bytes.
const TASK: usize = 64 * 1024;

pub(crate) fn stamp(meta: &Metadata) -> Stamp {
    let at = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Stamp { len: meta.len(), at: i64::try_from(at.as_nanos()).unwrap_or(i64::MAX) }
}

/// Reads a trace; `None` if it is gone or cannot be read. Its stamp is older than what was read, never newer.
pub(crate) fn read(store: &FilesStore, scope: &Scope, trace: &TraceId) -> Option<Found> {
    // Who owns it is asked first: what is written by then is read.
    let live = store.owner(scope, trace).ok()?.is_some();
    let path = store.trace_dir(&scope.tenant, trace).join("events.jsonl");
    let stamp = stamp(&std::fs::metadata(&path).ok().filter(Metadata::is_file)?);
    let log = store.read_now(scope, trace).ok()?;
    let mut state = State::new(trace.clone());
    let mut spec = None;
    let reader = Reader { store, scope };
    let mut steps = Steps::default();
    for event in &log.events {
        apply(&mut state, event);
        steps.take(event, state.spent.cost, &|parts| reader.spoken(parts));
        if let EventKind::SpecChanged(data) = &event.kind {
            spec = Some(&data.spec);
        }
    }
    let said = reader.said(&state, &log.events);
    // On the main path; before anything is, since the conversation was last begun anew, if something was said since.
    let cleared = log.events.iter().rposition(|event| matches!(event.kind, EventKind::ClearRequested(_))).unwrap_or(0);
    let since = log.events.get(cleared..).unwrap_or_default();
    let task = reader
        .task_of(&state, &log.events)
        .or_else(|| since.iter().find_map(|event| reader.asked(event)))
        .or_else(|| log.events.iter().find_map(|event| reader.asked(event)));
    let status = if log.damage.is_some() { DAMAGED } else { status(&state) };
    let row = Row {
        trace: trace.clone(),
        created: log.events.first().map_or(0, |event| event.ts),
        modified: Millis::try_from(stamp.at / 1_000_000).unwrap_or(0),
        status: status.into(),
        reason: state.ended.reason,
        turns: state.counts.turns,
        tokens: state.spent.usage.total(),
        cost: state.spent.cost,
        about: state.spent.about,
        model: spec.map(|spec| spec.model.clone()).unwrap_or_default(),
        workspace: spec.map(|spec| spec.workspace.clone()).unwrap_or_default(),
        task: task.unwrap_or_default(),
        agent: spec.and_then(|spec| spec.preset.as_ref()).map(|preset| preset.name.clone()),
        name: state.name.clone().or_else(|| spec.and_then(|spec| spec.name.clone())),
        below: None,
    };
    let called = row.name.as_ref().map(|name| Said { seq: Seq(0), role: "name", text: name.clone() });
    let said = called.into_iter().chain(said).collect();
    Some(Found { row, stamp, live, said, runs: runs(trace, &log.events), steps: steps.done() })
}

/// Reads a trace; of one whose log is missing or is not a file, that it is damaged.
pub(crate) fn read_or_lost(store: &FilesStore, scope: &Scope, trace: &TraceId) -> Option<Found> {
    read(store, scope, trace).or_else(|| store.lost(scope, trace).map(|_| lost(store, scope, trace)))
}

fn lost(store: &FilesStore, scope: &Scope, trace: &TraceId) -> Found {
    let changed = std::fs::metadata(store.trace_dir(&scope.tenant, trace)).map_or(0, |meta| stamp(&meta).at);
    let at = Millis::try_from(changed / 1_000_000).unwrap_or(0);
    let row = Row {
        trace: trace.clone(),
        created: at,
        modified: at,
        status: DAMAGED.into(),
        reason: None,
        turns: 0,
        tokens: 0,
        cost: 0,
        about: false,
        model: String::new(),
        workspace: String::new(),
        task: String::new(),
        agent: None,
        name: None,
        below: None,
    };
    Found { row, stamp: Stamp::default(), live: true, said: Vec::new(), runs: Vec::new(), steps: Vec::new() }
}

/// Reads what was said; long texts lie in blobs.
struct Reader<'a> {
    store: &'a FilesStore,
    scope: &'a Scope,
}

impl Reader<'_> {
    /// The first thing that was asked for on the main path.
    fn task_of(&self, state: &State, events: &[Event]) -> Option<String> {
        let id = state.tree.node(task(state)?)?.event;
        self.asked(events.get(events.binary_search_by_key(&id, |event| event.id).ok()?)?)
    }

    /// What an event asks for.
    fn asked(&self, event: &Event) -> Option<String> {
        match &event.kind {
            EventKind::MessageQueued(data) => Some(self.text(data.typed(), TASK)),
            EventKind::RewindRequested(data) => data.parts.as_ref().map(|parts| self.text(parts, TASK)),
            EventKind::MessageImported(data) => Some(self.text(&data.said(), TASK)),
            _ => None,
        }
    }

    /// What people, the model and tools said, by the numbers of the messages.
    fn said(&self, state: &State, events: &[Event]) -> Vec<Said> {
        let mut said = Vec::new();
        let mut long = LONG;
        for (seq, node) in state.tree.iter() {
            let Ok(at) = events.binary_search_by_key(&node.event, |event| event.id) else { continue };
            let Some(kind) = events.get(at).map(|event| &event.kind) else { continue };
            let parts = match (node.kind, kind) {
                (NodeKind::User, EventKind::MessageQueued(data)) => &data.parts,
                (NodeKind::User, EventKind::RewindRequested(data)) => data.parts.as_deref().unwrap_or_default(),
                (NodeKind::User | NodeKind::Assistant { .. }, EventKind::MessageImported(data)) => &data.parts,
                (NodeKind::Assistant { .. }, EventKind::ModelFinished(data)) => &data.parts,
                (NodeKind::Result(_), EventKind::CallResolved(data)) => &result_text(data),
                (NodeKind::Result(call), EventKind::MessageImported(data)) => {
                    data.result(call.index).map(|(content, _)| content).unwrap_or_default()
                }
                _ => continue,
            };
            let role = match node.kind {
                NodeKind::Result(_) => "tool",
                NodeKind::Assistant { .. } => "assistant",
                _ => "user",
            };
            let text = self.text(parts, SEARCHED.min(SHORT + long));
            long = long.saturating_sub(text.len().saturating_sub(SHORT));
            if !text.trim().is_empty() {
                said.push(Said { seq, role, text });
            }
        }
        said
    }

    /// What a model said, without what it called.
    fn spoken(&self, parts: &[Part]) -> String {
        let spoken: Vec<Part> = parts.iter().filter(|part| !matches!(part, Part::ToolCall { .. })).cloned().collect();
        self.text(&spoken, SHORT)
    }

    /// Texts and what is called, up to a size in bytes.
    fn text(&self, parts: &[Part], most: usize) -> String {
        let mut all = String::new();
        let mut add = |piece: &str| {
            if !all.is_empty() && !piece.is_empty() {
                all.push('\n');
            }
            let room = piece.floor_char_boundary(most.saturating_sub(all.len()));
            all.push_str(piece.get(..room).unwrap_or_default());
            room < piece.len()
        };
        for part in parts {
            let full = match part {
                Part::Text { text } => add(text),
                Part::ToolCall { name, arguments, .. } => add(name) || add(arguments),
                // One that is gone is not found.
                Part::StoredText { hash, .. } => {
                    self.store.read_blob(self.scope, hash).is_ok_and(|bytes| add(&String::from_utf8_lossy(&bytes)))
                }
                _ => false,
            };
            if full {
                break;
            }
        }
        all
    }
}
