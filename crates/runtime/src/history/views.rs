//! Views: files beside the log for people and other programs. Computed from the log alone, so they may be deleted and come
//! back byte for byte.

use crate::history::artifacts::{self, ArtifactFile};
use crate::history::telemetry::{ToolStats, by_tool};
pub use crate::history::untaken::untaken_in_words;
use crate::prompt::gone::Gone;
use crate::prompt::texts::{Events, Hydrated, load, parts, typed_in};
use crate::stream::wire::Projector;
pub use mainpath_core::status;
use mainpath_core::{
    Bodies, CallState, Ending, NodeKind, Queued, State, Summary, apply, cumulative_stats, earlier_summary, own_stats,
    summary_messages,
};
use mainpath_store::{ScopedStore, StoreError, TraceStore};
use mainpath_types::{
    Event, EventId, EventKind, FinishReason, Goal, GoalId, Micros, Millis, Spec, TraceId, format_time, text_of,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A view: its name and what it holds.
pub type View = (&'static str, Vec<u8>);

/// The views of a trace with this log, but for the artifacts themselves. Errors: a blob that a view quotes is missing.
pub async fn build(trace: TraceStore<'_>, events: &[Event]) -> Result<Vec<View>, StoreError> {
    Ok(make(trace, events, Gone::Fails).await?.0)
}

/// The same, with a line in the place of each text that is gone. Errors: the store cannot be read.
pub async fn build_with_lines(trace: TraceStore<'_>, events: &[Event]) -> Result<Vec<View>, StoreError> {
    Ok(make(trace, events, Gone::noted()).await?.0)
}

/// The views, and those of them that are nothing but a text of which a part is gone.
async fn make(
    trace: TraceStore<'_>,
    events: &[Event],
    mut gone: Gone,
) -> Result<(Vec<View>, Vec<&'static str>), StoreError> {
    let (state, made) = fold(trace.trace, events);
    let (log, store) = (Events(events), trace.scoped());
    let (task, spec) = (task_with(store, &state, events, &mut gone).await?, spec(events));
    let mut request = asked(&state, events).map_or(Vec::new(), |kind| parts(kind).to_vec());
    load(store, &mut request, &mut gone).await?;
    let mut gaps = if gone.take().is_empty() { Vec::new() } else { vec![REQUEST] };
    let end = ending_with(store, &state, &log, &mut gone).await?;
    gaps.extend((!gone.take().is_empty()).then_some(ANSWER));
    let about = meta(&state, events, spec, &task, end.as_ref().map(|end| end.answer.as_str()));
    let mut views = vec![
        ("goal.json", pretty(&plan(&state, events, &made, &task))),
        ("state.json", pretty(&open(&state))),
        ("wire.jsonl", wire(trace.trace, events)),
        (REQUEST, text_of(&request).into_bytes()),
    ];
    if let Some(end) = end {
        views.push((ANSWER, format!("{}\n", end.answer.trim_end()).into_bytes()));
    }
    views.push(("summary.md", summarised(store, &state, &log, &gone).await?.markdown().into_bytes()));
    let artifacts: Vec<Value> = artifacts::list(events)
        .into_iter()
        .map(|ArtifactFile { call, artifact, file }| json!({"call": call, "artifact": artifact, "file": file}))
        .collect();
    if !artifacts.is_empty() {
        views.push(("artifacts/index.json", pretty(&Value::Array(artifacts))));
    }
    // Last, as it says up to which event the others were written.
    views.push(("meta.json", pretty(&about)));
    Ok((views, gaps))
}

/// What a trace is about and its plan, as `meta.json` and `goal.json` have them.
#[derive(Clone, Debug)]
pub struct About {
    /// What it is about.
    pub meta: Value,
    /// Its plan.
    pub plan: Value,
}

/// What a trace with this log is about, by what [`fold`] makes of that; a line is in the place of each text that is gone. Errors: the
/// store cannot be read.
pub async fn about(
    store: ScopedStore<'_>,
    events: &[Event],
    state: &State,
    made: &BTreeMap<GoalId, Millis>,
) -> Result<About, StoreError> {
    let mut gone = Gone::noted();
    let task = task_with(store, state, events, &mut gone).await?;
    let end = ending_with(store, state, &Events(events), &mut gone).await?;
    let meta = meta(state, events, spec(events), &task, end.as_ref().map(|end| end.answer.as_str()));
    Ok(About { meta, plan: plan(state, events, made, &task) })
}

/// The events under their published names, a line each: what `--json` prints, but for what was in no log.
fn wire(trace: &TraceId, events: &[Event]) -> Vec<u8> {
    let mut projector = Projector::new(trace.clone());
    let lines = events.iter().flat_map(|event| projector.project(event));
    lines.flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// The state of a log, and when each goal of its plan was made.
pub fn fold(trace: &TraceId, events: &[Event]) -> (State, BTreeMap<GoalId, Millis>) {
    let (mut state, mut made) = (State::new(trace.clone()), BTreeMap::new());
    for event in events {
        fold_on(&mut state, &mut made, event);
    }
    (state, made)
}

/// The same with one event more.
pub fn fold_on(state: &mut State, made: &mut BTreeMap<GoalId, Millis>, event: &Event) {
    apply(state, event);
    if changes_plan(&event.kind) {
        for goal in state.goals.list() {
            made.entry(goal.id).or_insert(event.ts);
        }
    }
}

/// What rules find in what was said on the main path, left out of the context or not. A text that is not there any more is not in
/// it, where it may be gone. Errors: one cannot be read.
pub(crate) async fn summarised(
    store: ScopedStore<'_>,
    state: &State,
    log: &(dyn Bodies + Send + Sync),
    gone: &Gone,
) -> Result<Summary, StoreError> {
    let may_go = matches!(gone, Gone::Noted(_));
    let mut whole = Hydrated::new(log);
    if let Some(event) = state.tree.cut_at(state.tree.head).and_then(|cut| cut.by_model) {
        match whole.load(store, event).await {
            Ok(()) => {}
            Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) if may_go => {}
            Err(error) => return Err(error),
        }
    }
    let mut found = earlier_summary(state, &whole);
    for (seq, event) in summary_messages(state) {
        // One at a time: a long conversation is not held in memory.
        let mut whole = Hydrated::new(log);
        match whole.load(store, event).await {
            Ok(()) => found.take(state, &whole, seq),
            Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) if may_go => found.take(state, &whole, seq),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// How the last run ended, like [`mainpath_core::ending`], with an answer that lies in a blob in its place, and a line where that
/// is gone. A stand-in for an answer also names the changes of agents that nobody has taken. Errors: the store cannot be read.
pub async fn ending(
    store: ScopedStore<'_>,
    state: &State,
    log: &(dyn Bodies + Send + Sync),
) -> Result<Option<Ending>, StoreError> {
    ending_with(store, state, log, &mut Gone::noted()).await
}

async fn ending_with(
    store: ScopedStore<'_>,
    state: &State,
    log: &(dyn Bodies + Send + Sync),
    gone: &mut Gone,
) -> Result<Option<Ending>, StoreError> {
    let mut whole = Hydrated::with(log, std::mem::take(gone));
    // The last words of the model are all that an ending quotes.
    let assistants = state.tree.up(state.tree.head).filter(|(_, node)| matches!(node.kind, NodeKind::Assistant { .. }));
    for (_, node) in assistants {
        whole.load(store, node.event).await?;
        let parts = match whole.get(node.event) {
            Some(EventKind::ModelFinished(data)) => &data.parts,
            Some(EventKind::MessageImported(data)) => &data.parts,
            _ => continue,
        };
        if !text_of(parts).trim().is_empty() {
            break;
        }
    }
    let mut ending = mainpath_core::ending(state, &whole);
    if let Some(ending) = ending.as_mut().filter(|ending| !ending.is_said)
        && let Some(waiting) = untaken_in_words(state, log)
    {
        // What agents did is not lost with a run that did not come to its end.
        ending.answer = format!("{}\n{waiting}", ending.answer.trim_end());
    }
    *gone = whole.into_gone();
    Ok(ending)
}

/// The form of views. It changes whenever a view of the same log is written otherwise than before.
pub const VERSION: u64 = 8;

/// The form in which views were written, by their `meta.json`; 1 where it says nothing.
pub(crate) fn version(meta: &[u8]) -> u64 {
    let meta = serde_json::from_slice::<Value>(meta).unwrap_or_default();
    meta.get("views_version").and_then(Value::as_u64).unwrap_or(1)
}

/// The event up to which views were written, by their `meta.json`.
pub(crate) fn written_up_to(meta: &[u8]) -> Option<EventId> {
    serde_json::from_slice::<Value>(meta).ok()?.get("last_event_id")?.as_u64()
}

/// The view that is the request.
const REQUEST: &str = "inputs/request.txt";
/// The view that is the answer.
const ANSWER: &str = "final.md";
/// All views that [`build`] may make.
const NAMES: [&str; 8] =
    ["goal.json", "state.json", "wire.jsonl", REQUEST, ANSWER, "summary.md", "artifacts/index.json", "meta.json"];

/// Writes the views of a trace. Of a text that is gone the view that was written when it was there stays. Errors: the log cannot be
/// read, or a view cannot be written.
pub async fn write(trace: TraceStore<'_>) -> Result<(), StoreError> {
    let log = trace.read(1).await?;
    let (mut views, gaps) = make(trace, &log.events, Gone::noted()).await?;
    for gap in gaps {
        if let Some(before) = trace.get_view(gap).await? {
            views.iter_mut().filter(|(name, _)| *name == gap).for_each(|(_, bytes)| bytes.clone_from(&before));
        }
    }
    put(trace, &artifacts::list(&log.events), views).await
}

/// Writes these views and the artifacts' copies. What the log no longer makes, such as the answer of a conversation that was
/// cleared, goes, as it must not be taken for the log's; what others have put there stays.
pub(crate) async fn put(
    trace: TraceStore<'_>,
    artifacts: &[ArtifactFile<'_>],
    views: Vec<(&'static str, Vec<u8>)>,
) -> Result<(), StoreError> {
    for name in trace.views().await? {
        let is_stale = NAMES.contains(&&*name) && !views.iter().any(|(view, _)| *view == name);
        if is_stale {
            trace.delete_view(&name).await?;
        }
    }
    artifacts::copy(trace, artifacts).await?;
    for (name, bytes) in views {
        // One that is as it should be is left as it is, so that a folder that cannot be written needs no writing.
        if trace.get_view(name).await?.is_none_or(|known| known != bytes) {
            trace.put_view(name, bytes).await?;
        }
    }
    Ok(())
}

/// The last event that the views of a trace know of. They are written of what is durable, so a log that is read afterwards and
/// ends before it has lost its end. `None`: there are no views that say so. Errors: the store cannot be read.
pub async fn last_known(trace: TraceStore<'_>) -> Result<Option<EventId>, StoreError> {
    let mut known = None;
    for name in ["meta.json", "state.json"] {
        let view = trace.get_view(name).await?;
        known = known.max(view.and_then(|view| written_up_to(&view)));
    }
    Ok(known)
}

/// That a log has lost its end, in a sentence, where the views know of more.
pub fn missing_end(head: EventId, known: Option<EventId>) -> Option<String> {
    let known = known.filter(|known| *known > head)?;
    let lost = match known - head {
        1 => format!("event {known} is missing"),
        _ => format!("events {} to {known} are missing", head + 1),
    };
    Some(format!("{lost} at the end of the log: its views were written when it had them"))
}

/// What the agent was first asked to do on the main path, without what was piped in or attached; before anything is on it, what
/// was first said since the conversation was last cleared, or at all; a line where that is gone. Errors: the store cannot be read.
pub async fn task(store: ScopedStore<'_>, state: &State, events: &[Event]) -> Result<String, StoreError> {
    task_with(store, state, events, &mut Gone::noted()).await
}

async fn task_with(
    store: ScopedStore<'_>,
    state: &State,
    events: &[Event],
    gone: &mut Gone,
) -> Result<String, StoreError> {
    let mut said = asked(state, events).map_or(Vec::new(), |kind| typed_in(kind).to_vec());
    load(store, &mut said, gone).await?;
    Ok(text_of(&said))
}

/// The event in which it was asked.
fn asked<'a>(state: &State, events: &'a [Event]) -> Option<&'a EventKind> {
    let says = |kind: &EventKind| match kind {
        EventKind::MessageQueued(_) | EventKind::MessageImported(_) => true,
        EventKind::RewindRequested(data) => data.parts.is_some(),
        _ => false,
    };
    let first = |events: &'a [Event]| events.iter().map(|event| &event.kind).find(|kind| says(kind));
    let on_path = || {
        let id = state.tree.node(mainpath_core::task(state)?)?.event;
        let kind = &events.get(events.binary_search_by_key(&id, |event| event.id).ok()?)?.kind;
        says(kind).then_some(kind)
    };
    let cleared = events.iter().rposition(|event| matches!(event.kind, EventKind::ClearRequested(_))).unwrap_or(0);
    on_path().or_else(|| first(events.get(cleared..).unwrap_or_default())).or_else(|| first(events))
}

fn spec(events: &[Event]) -> Option<&Spec> {
    events.iter().rev().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&*data.spec),
        _ => None,
    })
}

fn changes_plan(kind: &EventKind) -> bool {
    matches!(kind, EventKind::GoalsChanged(_))
        || matches!(kind, EventKind::ModelFinished(data) if !data.goals.is_empty())
}

/// The plan with what was spent on it, as `goal.json` has it.
pub fn plan(state: &State, events: &[Event], made: &BTreeMap<GoalId, Millis>, task: &str) -> Value {
    let own = own_stats(state, events);
    let all = cumulative_stats(&state.goals, &own);
    let goal = |goal: &Goal| {
        json!({
            "id": goal.id,
            "description": goal.description,
            "reason": goal.reason,
            "parent_id": goal.parent,
            "type": "normal",
            "status": goal.status,
            "summary": goal.summary,
            "step": goal.step,
            "self_stats": own.get(&Some(goal.id)).copied().unwrap_or_default(),
            "cumulative_stats": all.get(&Some(goal.id)).copied().unwrap_or_default(),
            "created_at": made.get(&goal.id).copied().map(format_time),
        })
    };
    let terms = &state.goals.terms;
    json!({
        "mission": if terms.mission.is_empty() { task } else { &terms.mission },
        "assumptions": terms.assumptions,
        "constraints": terms.constraints,
        "current_id": state.goals.focus,
        "self_stats": own.get(&None).copied().unwrap_or_default(),
        "cumulative_stats": all.get(&None).copied().unwrap_or_default(),
        "goals": state.goals.list().iter().map(goal).collect::<Vec<_>>(),
    })
}

fn meta(state: &State, events: &[Event], spec: Option<&Spec>, task: &str, answer: Option<&str>) -> Value {
    let created = events.first().map_or(0, |event| event.ts);
    let finished = events.iter().rev().find(|event| matches!(event.kind, EventKind::RunFinished(_)));
    let completed = finished.filter(|_| state.run.is_none()).map(|event| event.ts);
    let forked = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::Forked(data) => Some(data),
        _ => None,
    });
    let relations = spec.map(|spec| spec.relations.clone()).unwrap_or_default();
    let failed = state.ended.reason.filter(|reason| *reason != FinishReason::Final && state.run.is_none());
    json!({
        "trace_id": state.trace,
        "forked_from": forked.map(|data| json!({"trace_id": data.from, "sequence": data.at})),
        "mode": spec.map(|spec| spec.run_mode),
        "name": state.name.as_deref().or(spec.and_then(|spec| spec.name.as_deref())),
        "uid": spec.and_then(|spec| spec.uid.as_deref()),
        "prompt_name": spec.and_then(|spec| spec.prompt_name.as_deref()),
        "agent_type": relations.agent_type,
        "session": relations.session,
        "parent_trace_id": relations.parent_trace,
        "parent_goal_id": relations.parent_goal,
        "context": relations.context,
        "task": task,
        "status": status(state),
        "total_messages": state.tree.iter().filter(|(_, node)| node.kind != NodeKind::Cut).count(),
        "total_tokens": state.spent.usage.total(),
        "total_prompt_tokens": state.spent.usage.input,
        "total_completion_tokens": state.spent.usage.output,
        "total_cost_micros": state.spent.cost,
        "totals_are_estimates": state.spent.about,
        "total_cost": dollars(state.spent.cost),
        "total_duration_ms": state.log.now.saturating_sub(created),
        "last_sequence": state.tree.len(),
        "head_sequence": state.tree.head,
        "last_event_id": state.log.last,
        "views_version": VERSION,
        "model": spec.map(|spec| spec.model.as_str()),
        "tools": spec.map(|spec| &spec.tools),
        "used_tools": used_tools(events),
        "llm_params": {"temperature": spec.and_then(|spec| spec.temperature)},
        "current_goal_id": state.goals.focus,
        "finish_reason": state.ended.reason,
        "result_summary": answer.filter(|_| failed.is_none()),
        "error_message": failed.map(|reason| why_it_ended(reason, events)),
        "created_at": format_time(created),
        "completed_at": completed.map(format_time),
    })
}

/// Why a run came to no answer, with what the model's server said last where it ended for that.
fn why_it_ended(reason: FinishReason, events: &[Event]) -> String {
    let said = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::ModelFailed(data) => Some(data.error.message.as_str()),
        _ => None,
    });
    match said.filter(|_| reason == FinishReason::ModelError) {
        Some(said) => format!("{}: {said}", reason.words()),
        None => reason.words().into(),
    }
}

/// Micro-units as a number: the double nearest to it, which is written with just the digits that it has.
pub fn dollars(cost: Micros) -> f64 {
    cost as f64 / 1e6
}

/// The tools that ran: how often, calls that were ended included, and for how many milliseconds in all.
fn used_tools(events: &[Event]) -> Value {
    let times = |stats: &ToolStats| stats.ran.saturating_add(stats.broken_off);
    let used = by_tool(events).into_iter().filter(|(_, stats)| times(stats) > 0);
    used.map(|(tool, stats)| {
        (tool, json!({"count": times(&stats), "total_ms": stats.total_ms.saturating_add(stats.broken_off_ms)}))
    })
    .collect()
}

fn open(state: &State) -> Value {
    let queue = |queue: &std::collections::VecDeque<Queued>| queue.iter().map(|one| one.event).collect::<Vec<_>>();
    let calls: Vec<Value> = state
        .calls
        .iter()
        .filter(|call| !call.state.is_done())
        .map(|call| {
            let at = match call.state {
                CallState::Asked => "asked",
                CallState::Ready => "ready",
                CallState::Started => "started",
                CallState::Cancelling(_) => "cancelling",
                CallState::Probing => "probing",
                CallState::Done(_) => "done",
            };
            json!({"call": call.id, "tool": call.tool.as_deref(), "state": at, "attempt": call.attempt})
        })
        .collect();
    json!({
        "trace_id": state.trace,
        "last_event_id": state.log.last,
        "run": state.counts.runs,
        "turn": state.counts.turns,
        "head": state.tree.head,
        "model_request": state.model.map(|model| model.request),
        "open_calls": calls,
        "steers": queue(&state.queues.steers),
        "follow_ups": queue(&state.queues.follow_ups),
        "held": state.queues.held,
        "plan": state.goals.short_view(),
        "current_goal_id": state.goals.focus,
        "limits": state.limits(),
        "usage": state.spent.usage,
        "cost_micros": state.spent.cost,
    })
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text.into_bytes()
}
