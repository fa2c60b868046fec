//! What the log of a child says of its work, and what it came to by that.

use crate::children::ChildError;
use crate::effects::context::EffectContext;
use crate::gate::origins::foreign_in;
use crate::stream::hub::Waiting;
use mainpath_core::{Child, ChildEnded, Effect, EffectKey, InputKind, Run, State, TimerKey, apply, pending};
use mainpath_store::{StoreError, TraceStore};
use mainpath_types::{
    BlobHash, ChildOutcome, Decision, Event, EventKind, FinishReason, HandedBack, Millis, Origin, Part, Resolution,
    TraceId, text_of,
};
use std::collections::{BTreeMap, BTreeSet};

/// So many characters of an answer are handed back; the child's trace has the rest.
const MOST_ANSWERED: usize = 30_000;

/// What the log of a child says of its work for a call.
#[derive(Default)]
pub(super) struct Seen {
    /// Whether there is no log.
    pub is_empty: bool,
    /// The run that began after it was asked, as it stood last.
    pub run: Option<Box<Run>>,
    /// Why that ended.
    pub ended: Option<FinishReason>,
    /// When that was, or when the last event came.
    at: u64,
    answer: String,
    /// Texts of the answer that are kept by themselves, as they are long.
    long: Vec<BlobHash>,
    /// Whether it waits for a person.
    pub asks: bool,
    /// Its agents, if it waits for nothing but them and for times.
    pub agents: Vec<Child>,
    /// When it continues by itself, if it only waits for a time.
    pub continues_at: Option<Millis>,
    files: BTreeSet<String>,
    /// How its model failed last.
    failure: Option<String>,
    /// Its calls that were denied.
    denied: u32,
    /// Its calls of which nobody knows whether they were done.
    unknown: u32,
    /// Where what it has read came from, if from outside.
    pub origins: BTreeSet<Origin>,
}

impl Seen {
    /// Returns for how long it has waited for people, in milliseconds. Its agents worked in the rest of what it waited.
    pub fn waited_for_people(&self) -> Millis {
        self.run.as_ref().map_or(0, |run| run.waited.saturating_sub(run.children_ms))
    }

    /// Returns for how long it had worked, with its agents that have ended, when it last wrote to its log, in milliseconds.
    pub fn worked(&self) -> Millis {
        self.run.as_ref().map_or(0, |run| run.worked(self.at).saturating_add(run.children_ms))
    }
}

/// The log of a trace; nothing where there is none yet.
pub(super) async fn events_of(at: TraceStore<'_>) -> Result<Vec<Event>, StoreError> {
    match at.read(1).await {
        Ok(log) => Ok(log.events),
        Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Reads what the log says of the work after an event. Errors: it cannot be read.
pub(super) async fn look(context: &EffectContext, trace: &TraceId, after: u64) -> Result<Seen, StoreError> {
    look_in(TraceStore::new(&*context.shared.config.store, &context.scope, trace), after).await
}

/// The same of a child in a store.
pub(super) async fn look_in(at: TraceStore<'_>, after: u64) -> Result<Seen, StoreError> {
    look_at(at, &events_of(at).await?, after).await
}

/// The same of a child whose events were heard from its first on. `None`: that is not all until its run has ended.
pub(super) async fn look_at_heard(context: &EffectContext, trace: &TraceId, heard: &[Event]) -> Option<Seen> {
    let is_whole = (1..).zip(heard).all(|(id, event)| event.id == id);
    let has_ended = heard.iter().any(|event| matches!(event.kind, EventKind::RunFinished(_)));
    if !is_whole || !has_ended {
        return None;
    }
    let at = TraceStore::new(&*context.shared.config.store, &context.scope, trace);
    look_at(at, heard, 0).await.ok()
}

async fn look_at(at: TraceStore<'_>, events: &[Event], after: u64) -> Result<Seen, StoreError> {
    let trace = at.trace;
    let mut state = State::new(trace.clone());
    let mut seen = Seen { is_empty: events.is_empty(), ..Seen::default() };
    for event in events {
        // Also what it read for an earlier call: it may still be in its sight.
        match &event.kind {
            EventKind::SubTraceCompleted(data) => seen.origins.extend(&data.handed.origins),
            EventKind::CallResolved(_) | EventKind::Injected(_) | EventKind::ModelFinished(_) => {
                seen.origins.extend(foreign_in(&event.kind));
            }
            _ => {}
        }
        if event.id > after && seen.ended.is_none() {
            note(&mut seen, &state, event);
        }
        apply(&mut state, event);
        if event.id > after && seen.ended.is_none() && state.run.is_some() {
            seen.run = state.run.clone().map(Box::new);
        }
    }
    let pending = pending(&state);
    let waits = Waiting::among(&pending);
    seen.continues_at = next_time(&pending);
    seen.asks = waits.iter().any(|one| matches!(one, Waiting::Approval(_) | Waiting::Answer(_)));
    if !seen.asks && pending.keys().all(|key| key.is_waiting()) {
        seen.agents = state.children.open().cloned().collect();
    }
    for hash in std::mem::take(&mut seen.long) {
        let text = at.scoped().get_blob(&hash).await?;
        seen.answer.push_str(&String::from_utf8_lossy(&text));
    }
    Ok(seen)
}

/// Returns the next time that a trace waits for, if it waits for nothing that has to be driven.
fn next_time(pending: &BTreeMap<EffectKey, Effect>) -> Option<Millis> {
    let times = pending.iter().filter_map(|(key, effect)| match (key, effect) {
        (EffectKey::Timer(TimerKey::Retry | TimerKey::Call(_)), Effect::Timer { at }) => Some(*at),
        _ => None,
    });
    times.min().filter(|_| pending.keys().all(|key| key.is_waiting()))
}

fn note(seen: &mut Seen, state: &State, event: &Event) {
    seen.at = event.ts;
    match &event.kind {
        EventKind::ModelFinished(data) if state.branch.is_none() => {
            // By a rule: such a call is over with the answer that makes it.
            let verdicts = data.calls().filter_map(|made| made.planned.verdict.as_ref());
            let denied = verdicts.filter(|verdict| verdict.decision == Decision::Deny).count();
            seen.denied = seen.denied.saturating_add(u32::try_from(denied).unwrap_or(u32::MAX));
            let text = text_of(&data.parts);
            let long = data.parts.iter().filter_map(|part| match part {
                Part::StoredText { hash, .. } => Some(hash.clone()),
                _ => None,
            });
            let long: Vec<BlobHash> = long.collect();
            if !text.trim().is_empty() || !long.is_empty() {
                (seen.answer, seen.long) = (text, long);
            }
        }
        EventKind::ModelFailed(data) => seen.failure = Some(data.error.message.clone()),
        EventKind::CallResolved(data) if data.resolution == Resolution::Denied => seen.denied += 1,
        EventKind::CallResolved(data) if data.resolution == Resolution::Unknown => seen.unknown += 1,
        EventKind::FilesKept(data) => seen.files.extend(data.changes.iter().map(|change| change.path.clone())),
        // What is in a patch has to be taken first.
        EventKind::SubTraceCompleted(data) if data.handed.patch.is_none() => {
            seen.files.extend(data.handed.files.iter().cloned());
        }
        EventKind::RunFinished(data) => seen.ended = Some(data.reason),
        _ => {}
    }
}

fn handed(child: &Child, seen: Seen) -> HandedBack {
    let run = seen.run.unwrap_or_else(|| Box::new(Run::new(0, mainpath_types::RunCause::New, seen.at, None)));
    let left_out = seen.answer.chars().count().saturating_sub(MOST_ANSWERED);
    HandedBack {
        child: child.trace.clone(),
        reason: seen.ended,
        answer: seen.answer.chars().take(MOST_ANSWERED).collect(),
        left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
        problem: seen.failure.filter(|_| seen.ended == Some(FinishReason::ModelError)),
        files: seen.files.into_iter().collect(),
        patch: None,
        origins: seen.origins.into_iter().collect(),
        usage: run.usage,
        cost: run.cost,
        spent: run.spent,
        turns: run.turns,
        calls: run.calls,
        denied: seen.denied,
        unknown: seen.unknown,
        children: run.children,
        // Its own children worked while its clock stood.
        active_ms: run.worked(seen.at).saturating_add(run.children_ms),
    }
}

/// What a child whose run has ended came to.
pub(super) fn ended(child: &Child, seen: Seen) -> InputKind {
    use FinishReason::*;
    let outcome = match seen.ended {
        Some(Final) => ChildOutcome::Result,
        Some(Stopped) | None => ChildOutcome::Stopped,
        Some(Denied | ModelError | ToolError | InternalError | ProtocolError | SchemaError | ApprovalNeeded) => {
            ChildOutcome::Failed
        }
        Some(_) => ChildOutcome::Partial,
    };
    input(child, outcome, handed(child, seen))
}

/// Returns that a child was stopped, and what is not certain about it.
pub(super) fn stopped(child: &Child, seen: Seen, problem: Option<String>) -> InputKind {
    let handed = handed(child, seen);
    input(child, ChildOutcome::Stopped, HandedBack { problem: problem.or(handed.problem), ..handed })
}

/// That a child came to no end.
pub(super) fn failed(child: &Child, seen: Seen, problem: String) -> InputKind {
    input(child, ChildOutcome::Failed, HandedBack { problem: Some(problem), ..handed(child, seen) })
}

/// That there is no child.
pub(super) fn unstarted(child: &Child, problem: &ChildError) -> InputKind {
    let problem = Some(problem.to_string());
    let handed = HandedBack { child: child.trace.clone(), problem, ..HandedBack::default() };
    input(child, ChildOutcome::Failed, handed)
}

fn input(child: &Child, outcome: ChildOutcome, handed: HandedBack) -> InputKind {
    let Child { call, nth, of, .. } = *child;
    InputKind::ChildEnded(ChildEnded { call, nth, of, outcome, handed })
}
