//! What was used counts: entries that were shown to a run and named by its agent helped where the run came to its answer, and did harm
//! where it got stuck.

use super::reflected::reflected_trace;
use super::shown::{BEGIN, named};
use super::tools::{GET_EXPERIENCE, KNOWLEDGE_SEARCH};
use mainpath_experience::{Change, ExperienceError, Experiences};
use mainpath_runtime::{Hook, HookError, HookPoint, HookRunner, OnFailure};
use mainpath_store::{Scope, ScopedStore, Store};
use mainpath_tools::Fut;
use mainpath_types::{CallId, Event, EventKind, FinishReason, Part, TraceId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long counting may take.
const LONGEST: Duration = Duration::from_secs(10);

/// The hook that counts, after every run.
pub(crate) fn scoring(known: &Arc<Experiences>, store: Arc<dyn Store>, scope: Scope) -> Hook {
    Hook {
        name: "experience".into(),
        points: vec![HookPoint::RunEnd],
        tools: Vec::new(),
        timeout: LONGEST,
        on_failure: OnFailure::Open,
        runner: Arc::new(Scoring { known: Arc::clone(known), store, scope }),
    }
}

struct Scoring {
    known: Arc<Experiences>,
    store: Arc<dyn Store>,
    scope: Scope,
}

impl HookRunner for Scoring {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        Box::pin(async move {
            let reason = event.get("data").and_then(|data| data.get("reason")).cloned().unwrap_or_default();
            let reason: FinishReason = serde_json::from_value(reason).map_err(HookError::failed)?;
            let trace = event.get("trace_id").and_then(Value::as_str).unwrap_or_default();
            let trace: TraceId = trace.parse().map_err(|_| HookError::failed("no trace"))?;
            // Who reflects names what it reflects on.
            let Some(change) = change(reason).filter(|_| reflected_trace(&trace) == trace) else {
                return Ok(Value::Null);
            };
            if self.known.is_empty() {
                return Ok(Value::Null);
            }
            let log = self.store.read(&self.scope, &trace, 1).await.map_err(HookError::failed)?;
            let used = used(ScopedStore::new(&*self.store, &self.scope), &log.events).await;
            let known = Arc::clone(&self.known);
            let counted = tokio::task::spawn_blocking(move || count(&known, &used, change)).await;
            counted.map_err(HookError::failed)?.map_err(HookError::failed)?;
            Ok(Value::Null)
        })
    }
}

/// What an ending says of what was followed; nothing where somebody or a limit ended the run, or a model or its server failed.
fn change(reason: FinishReason) -> Option<Change> {
    match reason {
        FinishReason::Final => Some(Change::Helped),
        FinishReason::RepeatedFailure
        | FinishReason::ProtocolError
        | FinishReason::SchemaError
        | FinishReason::ToolError => Some(Change::Harmed),
        _ => None,
    }
}

fn count(known: &Experiences, used: &BTreeSet<String>, change: Change) -> Result<(), ExperienceError> {
    for id in used {
        match known.change(id, change) {
            // Removed since, or written by hand in a way of its own: no reason not to count the others.
            Ok(_) | Err(ExperienceError::Unknown(_) | ExperienceError::ByHand { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// The entries that the trace was shown and that the agent named in its last run.
async fn used(store: ScopedStore<'_>, events: &[Event]) -> BTreeSet<String> {
    let begun = events.iter().rposition(|event| matches!(event.kind, EventKind::RunStarted(_))).unwrap_or(0);
    let (mut shown, mut says, mut looks): (BTreeSet<String>, BTreeSet<String>, BTreeSet<CallId>) = Default::default();
    for (at, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::MessageQueued(data) => {
                for (place, part) in data.parts.iter().enumerate() {
                    let is_typed = data.typed.is_none_or(|typed| usize::from(typed) == place);
                    let text = if is_typed { String::new() } else { words(store, part).await };
                    if text.trim_start().starts_with(BEGIN) {
                        shown.extend(named(&text));
                    }
                }
            }
            EventKind::ModelFinished(data) => {
                let is_look = |tool: &str| tool == GET_EXPERIENCE || tool == KNOWLEDGE_SEARCH;
                let calls = data.calls().filter(|call| call.planned.tool.as_deref().is_some_and(is_look));
                looks.extend(calls.map(|call| call.id));
                if at >= begun {
                    for part in &data.parts {
                        says.extend(named(&words(store, part).await));
                    }
                }
            }
            EventKind::CallResolved(data) if looks.contains(&data.call) => {
                for part in data.output.iter().flat_map(|output| &output.content) {
                    shown.extend(named(&words(store, part).await));
                }
            }
            _ => {}
        }
    }
    says.retain(|id| shown.contains(id));
    says
}

/// The words of a part; none of one that is not at hand.
async fn words(store: ScopedStore<'_>, part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        Part::StoredText { hash, .. } => match store.get_blob(hash).await {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => String::new(),
        },
        _ => String::new(),
    }
}
