//! One run of a trace, as far as its log tells: what was said in it, and how it ended.

use super::bound::Bound;
use super::outcome::Outcome;
use crate::trace::{Read, long_answer};
use crate::{Error, ErrorKind, Run, Trace};
use mainpath_core::{State, apply};
use mainpath_types::{Event, EventId, EventKind, Millis, ModelRequested, Purpose, Seq, Spec, text_of};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One run of a trace.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// Its number in the trace, from 1.
    pub run: u32,
    /// When it began.
    pub began: Millis,
    /// When it ended; `None` while it has not.
    pub ended: Option<Millis>,
    /// What its agent is.
    pub spec: Arc<Spec>,
    /// What the model said in it, a turn each; turns without words are left out.
    pub said: Vec<SaidInTurn>,
    /// How it ended; `None` while it has not.
    pub outcome: Option<Outcome>,
}

/// What the model said in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidInTurn {
    /// The message.
    pub seq: Seq,
    /// Its words.
    pub text: String,
    /// Whether it wants tools to run.
    pub has_calls: bool,
}

/// The events of a run.
struct Extent {
    began: Millis,
    /// The event that holds its spec.
    spec: EventId,
    first: EventId,
    /// The event with which it ended, and when that was.
    finished: Option<Finished>,
}

#[derive(Clone, Copy)]
struct Finished {
    event: EventId,
    at: Millis,
}

impl Trace {
    /// A run of it. Errors: it has none of this number, or its log cannot be read.
    pub async fn run_record(&self, run: u32) -> Result<RunRecord, Error> {
        let read = self.look().await?;
        let extent = self.extent(&read.log.events, run)?;
        let last = extent.finished.map_or(EventId::MAX, |finished| finished.event);
        let within = |event: &&Event| (extent.first..=last).contains(&event.id);
        let (mut said, mut asides) = (Vec::new(), BTreeSet::new());
        for event in read.log.events.iter().filter(within) {
            match &event.kind {
                EventKind::ModelRequested(data) if !is_turn(data) => drop(asides.insert(data.request)),
                EventKind::ModelFinished(data) if !asides.contains(&data.request) => {
                    let long = long_answer(self.host().at(self.id()).scoped(), event).await;
                    let text = long.unwrap_or_else(|| text_of(&data.parts));
                    if !text.is_empty() {
                        said.push(SaidInTurn { seq: data.seq, text, has_calls: !data.calls.is_empty() });
                    }
                }
                _ => {}
            }
        }
        let spec = read.log.events.iter().find_map(|event| match &event.kind {
            EventKind::SpecChanged(data) if event.id == extent.spec => Some(data.spec.clone()),
            _ => None,
        });
        let outcome = match extent.finished {
            Some(finished) => Some(self.outcome_at(finished.event).await?),
            None => None,
        };
        Ok(RunRecord {
            run,
            began: extent.began,
            ended: extent.finished.map(|finished| finished.at),
            spec: spec.ok_or_else(|| Error::failed(format!("run {run} of trace {} has no spec", self.id())))?,
            said,
            outcome,
        })
    }

    /// Follows a run of it from its beginning, whatever of it has passed. Errors: as [`Trace::run_record`]'s.
    pub async fn follow_run(&self, run: u32) -> Result<Run, Error> {
        let extent = self.extent(&self.look().await?.log.events, run)?;
        Ok(Run::follow(self.clone(), extent.first, Bound::Run(run)))
    }

    /// The trace to say more in after a run that has ended: itself where nothing came after that run, else a copy up to its end, so that what
    /// came after stays as it is. Made again under the same key ([`Trace::once`]) it is the same one. Errors: there is no such run, or
    /// it has not ended.
    pub async fn after_run(&self, run: u32) -> Result<Trace, Error> {
        let read = self.look().await?;
        let Read { log, state, .. } = &*read;
        let extent = self.extent(&log.events, run)?;
        let Some(finished) = extent.finished else {
            return Err(Error::new(ErrorKind::Busy, format!("run {run} of trace {} has not ended", self.id())));
        };
        let is_last = state.counts.runs == run && state.run.is_none() && state.queues.is_empty();
        if is_last || self.sent().await?.is_some() {
            return Ok(self.clone());
        }
        let mut then = State::new(self.id().clone());
        log.events.iter().filter(|event| event.id <= finished.event).for_each(|event| apply(&mut then, event));
        let head = then.tree.head.ok_or_else(|| Error::failed("nothing was said in it"))?;
        self.fork(head).await
    }

    fn extent(&self, events: &[Event], run: u32) -> Result<Extent, Error> {
        let began = events.iter().find_map(|event| match &event.kind {
            EventKind::RunStarted(data) if data.run == run => {
                Some(Extent { began: event.ts, spec: data.spec, first: event.id, finished: None })
            }
            _ => None,
        });
        let mut extent =
            began.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("trace {} has no run {run}", self.id())))?;
        extent.finished = events.iter().find_map(|event| match &event.kind {
            EventKind::RunFinished(data) if data.run == run => Some(Finished { event: event.id, at: event.ts }),
            _ => None,
        });
        Ok(extent)
    }
}

/// Whether a request is for a turn of the conversation, and not for a summary or the like.
pub fn is_turn(request: &ModelRequested) -> bool {
    match request.purpose {
        Some(Purpose::Reflection | Purpose::Summary | Purpose::LookBack) => false,
        Some(Purpose::Repair) | None => true,
    }
}
