//! The calls of a run that wait for people, as its events tell of them.

use crate::event::{ActionPlanned, PendingCall, PendingQuestion, RunEvent, Stamped};
use crate::trace::Read;
use crate::{Error, Trace};
use mainpath_core::{State, pending};
use mainpath_runtime::Waiting;
use mainpath_runtime::wire::Projector;
use mainpath_types::{CallId, EventId, LOG_VERSION, Millis, Verdict, format_time};
use std::collections::BTreeMap;

impl Trace {
    /// The calls that wait for an approval, in their order: what a person has to decide on. Those of agents that it has started come
    /// last, each under the id of its own trace.
    pub async fn approvals(&self) -> Result<Vec<Stamped<PendingCall>>, Error> {
        // Generations are few: an agent of the last starts none.
        Box::pin(self.approvals_below()).await
    }

    /// The calls that wait for a person's answer, in their order; those of agents that it has started come last, each under the id of its own
    /// trace.
    pub async fn questions(&self) -> Result<Vec<Stamped<PendingQuestion>>, Error> {
        Box::pin(self.questions_below()).await
    }

    async fn questions_below(&self) -> Result<Vec<Stamped<PendingQuestion>>, Error> {
        let read = self.look().await?;
        let (calls, state) = (Known::of(&read, self)?, &read.state);
        let waiting = Waiting::among(&pending(state)).into_iter();
        let asked = waiting.filter_map(|one| match one {
            Waiting::Answer(call) => calls.question(call, state, self),
            _ => None,
        });
        let mut asked: Vec<_> = asked.collect();
        for child in state.children.open().filter_map(|child| child.trace.clone()) {
            asked.extend(Box::pin(Trace::new(self.host().clone(), child).questions_below()).await?);
        }
        Ok(asked)
    }

    async fn approvals_below(&self) -> Result<Vec<Stamped<PendingCall>>, Error> {
        let read = self.look().await?;
        let mut asked: Vec<_> = Known::of(&read, self)?.asked.into_values().collect();
        for child in read.state.children.open().filter_map(|child| child.trace.clone()) {
            asked.extend(Box::pin(Trace::new(self.host().clone(), child).approvals_below()).await?);
        }
        Ok(asked)
    }
}

/// The first event that tells of a call which has no result yet.
pub(super) fn first_open(state: &State) -> Option<EventId> {
    let open = state.calls.iter().filter(|call| !call.state.is_done());
    // A person may have given it other arguments later.
    open.map(|call| state.tree.node(call.id.seq).map_or(call.arguments, |node| node.event.min(call.arguments))).min()
}

/// What is known of calls.
#[derive(Default)]
pub(super) struct Known {
    planned: BTreeMap<CallId, ActionPlanned>,
    verdicts: BTreeMap<CallId, Verdict>,
    /// Calls that were asked about, as they will run.
    asked: BTreeMap<CallId, Stamped<PendingCall>>,
}

impl Known {
    /// What is known of the calls of a log that have no result yet.
    fn of(read: &Read, trace: &Trace) -> Result<Known, Error> {
        let mut calls = Known::default();
        let Some(first) = first_open(&read.state) else { return Ok(calls) };
        let mut projector = Projector::new(trace.id().clone());
        for event in &read.log.events {
            if event.id < first {
                projector.skip(event);
                continue;
            }
            for line in projector.project(event) {
                let _ = calls.note(&RunEvent::read(line)?, trace);
            }
        }
        Ok(calls)
    }

    /// Notes what an event tells. An approval that is asked for is given back with its verdict, and belongs to `trace` then.
    pub fn note(&mut self, event: &RunEvent, trace: &Trace) -> Option<CallId> {
        match event {
            RunEvent::ActionPlanned(planned) => {
                self.planned.insert(planned.call, (*planned.data).clone());
            }
            RunEvent::ActionValidated(validated) => {
                self.verdicts.insert(validated.call, validated.verdict.clone());
            }
            RunEvent::ApprovalRequired(pending) => {
                let call = pending.call;
                let mut pending = pending.clone();
                pending.data.verdict = self.verdicts.get(&call).cloned();
                pending.data.trace = Some(trace.clone());
                self.asked.insert(call, pending);
                return Some(call);
            }
            RunEvent::ApprovalGranted(granted) => drop(self.asked.remove(&granted.call)),
            RunEvent::ApprovalDenied(denied) => drop(self.asked.remove(&denied.call)),
            RunEvent::ObservationRecorded(observation) => drop(self.asked.remove(&observation.call())),
            _ => {}
        }
        None
    }

    /// A call that waits for an approval.
    pub fn approval(&self, call: CallId) -> Option<Stamped<PendingCall>> {
        self.asked.get(&call).cloned()
    }

    /// A call that waits for an answer.
    pub fn question(&self, call: CallId, state: &State, trace: &Trace) -> Option<Stamped<PendingQuestion>> {
        let ActionPlanned { tool, arguments, .. } = self.planned.get(&call)?.clone();
        let now: Millis = (trace.host().runtime().config().clock)();
        Some(Stamped {
            v: LOG_VERSION,
            ts: format_time(now),
            trace_id: state.trace.clone(),
            run_id: format!("{}/{}", state.trace, state.counts.runs),
            turn: state.counts.turns,
            id: None,
            mail: None,
            data: Box::new(PendingQuestion { call, tool, arguments, trace: Some(trace.clone()) }),
            more: false,
        })
    }
}
