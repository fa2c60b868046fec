//! What came of a run, as whoever called it reads it. It is computed from the log, in which no secret stands.

use crate::run::{Ended, Whole};
use crate::{Error, Run, Trace};
use mainpath_core::{Bodies, Call, Item, Shown, State, arguments_in, message};
use mainpath_runtime::run_stats::runs;
use mainpath_runtime::{Events, Hydrated, views};
use mainpath_types::{CallId, Event, EventKind, FinishReason, Part, Resolution, TraceId, text_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A request that was executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Executed {
    /// The outputs, by the name of the tool.
    pub outputs: Outputs,
    /// The trace: everything that can be looked up of the run.
    pub trace_id: TraceId,
}

/// The outputs, by the name of the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outputs {
    /// Those of the agent core.
    pub agent_core: AgentCoreOutput,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCoreOutput {
    /// The primary output: the model's answer, or a stand-in that says what was done, what blocks and what to do next.
    pub final_answer: String,
    /// The calls, in their order.
    pub trace: Vec<Step>,
    /// The tools that ran.
    pub used_tools: BTreeMap<String, UsedTool>,
    /// Why the run ended.
    pub finish_reason: FinishReason,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentCoreStep")]
pub struct Step {
    /// Which answer of the model wanted it, from 1.
    pub step: u32,
    /// What was to be done.
    pub action: Action,
    /// What the model was shown of its result.
    pub observation: String,
    /// How long it ran, in milliseconds.
    pub elapsed_ms: u64,
    /// A code, where it did not go well: `denied`, `refused`, `timeout`, `skipped`, `interrupted`, or the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What was to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// The tool.
    pub tool: String,
    /// Its arguments: an object, or a text where they are no JSON.
    pub args: Value,
}

/// How much a tool was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsedTool {
    /// How often it ran.
    pub count: u32,
    /// For how long in all, in milliseconds.
    pub total_ms: u64,
}

impl Trace {
    /// What came of its last run, as whoever calls the agent core reads it. Errors: there was none, or it has not ended.
    pub async fn executed(&self) -> Result<Executed, Error> {
        let read = self.look().await?;
        let stats = runs(self.id(), &read.log.events).pop();
        let ended = Ended { state: &read.state, stats: stats.as_ref(), bodies: &*read };
        self.executed_in(ended, read.log.events.iter()).await
    }

    /// The same of a log whose last run has ended.
    pub(crate) async fn executed_in<'a>(
        &self,
        ended: Ended<'a>,
        events: impl DoubleEndedIterator<Item = &'a Event> + Clone,
    ) -> Result<Executed, Error> {
        let Ended { state, stats, bodies } = ended;
        let store = self.host().at(self.id());
        let ending = views::ending(store.scoped(), state, bodies).await?;
        let Some(ending) = ending else { return Err(self.unfinished().await?) };
        let mut whole = Hydrated::with_lines(bodies);
        let mut trace = Vec::new();
        for made in calls_of_last_run(events) {
            let Some(row) = state.calls.get(made.call).filter(|row| row.result > 0) else { continue };
            whole.load(store.scoped(), row.result).await?;
            trace.push(step(state, &whole, row, &made));
        }
        let used = stats.into_iter().flat_map(|stats| &stats.counts.tools).map(|(tool, stats)| {
            let count = stats.ran.saturating_add(stats.broken_off);
            (tool.clone(), UsedTool { count, total_ms: stats.total_ms.saturating_add(stats.broken_off_ms) })
        });
        let used_tools = used.filter(|(_, used)| used.count > 0).collect();
        let agent_core =
            AgentCoreOutput { final_answer: ending.answer, trace, used_tools, finish_reason: ending.reason };
        Ok(Executed { outputs: Outputs { agent_core }, trace_id: self.id().clone() })
    }
}

impl Run {
    /// Waits until it has ended, and gives what came of it as [`Trace::executed`] does. Errors: as [`Run::outcome`]'s.
    pub async fn executed(mut self) -> Result<Executed, Error> {
        let trace = self.trace().clone();
        let Some(Whole { state, stats, events }) = self.wait_for_end().await? else { return trace.executed().await };
        let ended = Ended { state, stats, bodies: &Events(events) };
        trace.executed_in(ended, events.iter().map(AsRef::as_ref)).await
    }
}

/// A call that the model wanted made.
struct Made {
    call: CallId,
    /// The answer, counted from 1 in its run.
    step: u32,
    /// The tool, as the model names it.
    named: String,
}

/// The calls of the last run, those that only look back into the conversation left out.
fn calls_of_last_run<'a>(events: impl DoubleEndedIterator<Item = &'a Event> + Clone) -> Vec<Made> {
    let begins = |event: &&Event| matches!(event.kind, EventKind::RunStarted(_));
    let began = events.clone().rev().find(begins).map_or(0, |event| event.id);
    let earlier = events.clone().take_while(|event| event.id < began).map(|event| event.turn).max().unwrap_or(0);
    let mut made = Vec::new();
    for event in events.skip_while(|event| event.id < began) {
        let step = event.turn.saturating_sub(earlier);
        match &event.kind {
            EventKind::ModelFinished(data) if !data.aside => {
                made.extend(data.calls().map(|call| Made { call: call.id, step, named: call.written.name.into() }))
            }
            EventKind::CallReopened(data) => made.push(Made { call: data.made(), step, named: String::new() }),
            _ => {}
        }
    }
    made
}

fn step(state: &State, bodies: &Hydrated<'_>, row: &Call, made: &Made) -> Step {
    let arguments = bodies.get(row.arguments).and_then(|kind| arguments_in(kind, row.id)).unwrap_or_default();
    let args = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
    let item = Item::Result { seq: row.id.seq, call: row.id, event: row.result, shown: Shown::Whole };
    let shown = message(state, bodies, &item).map(|message| message.parts).unwrap_or_default();
    let Took { elapsed_ms, error } = took(bodies, row);
    let tool = row.tool.as_deref().unwrap_or(&made.named).to_string();
    Step { step: made.step, action: Action { tool, args }, observation: words(&shown), elapsed_ms, error }
}

/// The words of a result.
fn words(parts: &[Part]) -> String {
    let of = |part: &Part| match part {
        Part::ToolResult { content, .. } => text_of(content),
        other => text_of(std::slice::from_ref(other)),
    };
    parts.iter().map(of).collect::<Vec<_>>().join("\n")
}

struct Took {
    elapsed_ms: u64,
    error: Option<String>,
}

/// How a call ended.
fn took(bodies: &Hydrated<'_>, row: &Call) -> Took {
    let at_once = |resolution| match resolution {
        Resolution::Ok => None,
        Resolution::Denied => Some("denied".to_string()),
        // It never ran: its tool or its arguments were wrong.
        _ => Some("refused".into()),
    };
    match bodies.get(row.result) {
        Some(EventKind::CallResolved(data)) => {
            let error = data.failure();
            Took { elapsed_ms: data.elapsed_ms, error }
        }
        Some(EventKind::ModelFinished(data)) => {
            let ended = data.call(row.id.index).and_then(|call| call.planned.ended());
            Took { elapsed_ms: 0, error: ended.and_then(|(resolution, _)| at_once(resolution)) }
        }
        _ => Took { elapsed_ms: 0, error: None },
    }
}
