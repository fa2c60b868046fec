//! How a run ended, and how a trace stands.

use super::following::Finished;
use super::seen::Whole;
use crate::trace::Read;
use crate::{Error, ErrorKind, Trace};
use mainpath_core::{Bodies, State, pending};
use mainpath_runtime::run_stats::{RunStats, runs};
use mainpath_runtime::{Events, Waiting, views};
use mainpath_types::{Event, EventId, EventKind, FinishReason, Micros, ModelError, Usage};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// Its number in the trace, from 1.
    pub run: u32,
    /// Why.
    pub reason: FinishReason,
    /// The model's answer, or a stand-in that says what was done, what blocks and what to do next.
    pub answer: String,
    /// Whether the model said it.
    pub is_said: bool,
    /// How the model's server failed, where the run ended for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ModelError>,
    /// Model turns.
    pub turns: u64,
    /// What its model calls used, and those of the agents that it started.
    pub usage: Usage,
    /// What they cost, in millionths.
    pub cost: Micros,
    /// Whether some of both was estimated, as no vendor has counted it.
    pub about: bool,
    /// How often each tool was called, also where the call was denied; one that was denied and then made after all is two.
    pub tools: BTreeMap<String, u32>,
}

/// How a trace stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing goes on, and no run has ended: it was imported, cleared, or has no task yet.
    Idle,
    /// A run goes on; somebody drives it, here or in another program.
    Running,
    /// A run waits for people, children or a time, and for nothing else.
    Waiting(Vec<Waiting>),
    /// A run is open and nobody drives it: whoever did was killed. [`Trace::resume`] goes on with it.
    Interrupted,
    /// The last run has ended.
    Ended(FinishReason),
}

impl Trace {
    /// How the last run ended. Errors: there was none, or one goes on; the line says which.
    pub async fn outcome(&self) -> Result<Outcome, Error> {
        let read = self.look().await?;
        match self.ended(&read).await? {
            Some(outcome) => Ok(outcome),
            None => Err(self.unfinished().await?),
        }
    }

    /// Whether this process goes on with it, now or at its next time: it may wait for the next try of a request, say.
    pub fn goes_on_here(&self) -> bool {
        self.host().runtime().goes_on(self.host().scope(), self.id())
    }

    /// How it stands.
    pub async fn status(&self) -> Result<Status, Error> {
        // Asked first: what its driver wrote before it ended is then read.
        let is_driven = self.host().at(self.id()).driver().await?.is_some();
        let read = self.look().await?;
        let state = &read.state;
        if state.run.is_none() {
            // What was cleared has no run any more that answers anything.
            let ended = state.ended.reason.filter(|_| state.tree.head.is_some());
            return Ok(ended.map_or(Status::Idle, Status::Ended));
        }
        let pending = pending(state);
        let waiting = Waiting::among(&pending);
        if !waiting.is_empty() && waiting.len() == pending.len() {
            return Ok(Status::Waiting(waiting));
        }
        Ok(if is_driven { Status::Running } else { Status::Interrupted })
    }

    /// How the run ended that this event ends.
    pub(super) async fn outcome_at(&self, finished: EventId) -> Result<Outcome, Error> {
        self.ended(&self.look().await?.up_to(finished)).await?.ok_or_else(|| ends_none(finished))
    }

    /// The same for one that was followed to its end.
    pub(super) async fn outcome_of(&self, finished: &Finished) -> Result<Outcome, Error> {
        let Some(Whole { state, stats, events }) = finished.whole() else {
            return self.outcome_at(finished.event).await;
        };
        let ended = Ended { state, stats, bodies: &Events(events) };
        let outcome = self.ended_in(ended, events.iter().map(AsRef::as_ref)).await?;
        outcome.ok_or_else(|| ends_none(finished.event))
    }

    /// Why there is no outcome.
    pub(crate) async fn unfinished(&self) -> Result<Error, Error> {
        let id = self.id();
        Ok(match self.status().await? {
            Status::Running => Error::new(ErrorKind::Busy, format!("a run of trace {id} goes on")),
            Status::Waiting(_) => {
                Error::new(ErrorKind::Refused, format!("trace {id} waits for a decision or an answer"))
            }
            Status::Interrupted => {
                Error::new(ErrorKind::Refused, format!("trace {id} was interrupted in a run: resume it"))
            }
            Status::Idle => Error::new(ErrorKind::Refused, format!("trace {id} has no run that ended")),
            Status::Ended(reason) => Error::new(
                ErrorKind::Refused,
                format!(
                    "no run answered that yet: the last run of trace {id} ended for {}, and what was said waits",
                    reason.as_str()
                ),
            ),
        })
    }

    async fn ended(&self, read: &Read) -> Result<Option<Outcome>, Error> {
        let stats = runs(self.id(), &read.log.events).pop();
        let ended = Ended { state: &read.state, stats: stats.as_ref(), bodies: read };
        self.ended_in(ended, read.log.events.iter()).await
    }

    /// How the last run of these events ended.
    async fn ended_in<'a>(
        &self,
        ended: Ended<'a>,
        events: impl DoubleEndedIterator<Item = &'a Event> + Clone,
    ) -> Result<Option<Outcome>, Error> {
        let Ended { state, stats, bodies } = ended;
        let ending = views::ending(self.host().at(self.id()).scoped(), state, bodies).await?;
        let Some(ending) = ending else { return Ok(None) };
        let none = RunStats::default();
        let RunStats { run, counts, .. } = stats.unwrap_or(&none);
        let finished = events.clone().rev().find_map(|event| match &event.kind {
            EventKind::RunFinished(data) => Some(data),
            _ => None,
        });
        let Some(finished) = finished else { return Ok(None) };
        Ok(Some(Outcome {
            run: *run,
            reason: ending.reason,
            answer: ending.answer,
            is_said: ending.is_said,
            error: (ending.reason == FinishReason::ModelError).then(|| last_failure(events)).flatten(),
            turns: counts.turns.count,
            usage: finished.usage,
            cost: finished.cost,
            about: finished.about,
            tools: counts.tools.iter().map(|(name, tool)| (name.clone(), tool.calls)).collect(),
        }))
    }
}

/// A log whose last run has ended.
pub(crate) struct Ended<'a> {
    /// The state that its events make.
    pub state: &'a State,
    /// What is counted of its last run.
    pub stats: Option<&'a RunStats>,
    /// The bodies of its events.
    pub bodies: &'a (dyn Bodies + Send + Sync),
}

fn ends_none(event: EventId) -> Error {
    Error::failed(format!("event {event} ends no run"))
}

fn last_failure<'a>(events: impl DoubleEndedIterator<Item = &'a Event>) -> Option<ModelError> {
    events.rev().find_map(|event| match &event.kind {
        EventKind::ModelFailed(data) => Some(data.error.clone()),
        _ => None,
    })
}
