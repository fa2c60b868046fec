//! The calls of a run that wait for people, as its events tell of them.

use crate::event::{ActionPlanned, PendingCall, PendingQuestion, RunEvent, Stamped};
use crate::{Error, Trace};
use mainpath_core::{State, pending};
use mainpath_runtime::Waiting;
use mainpath_runtime::wire::Projector;
use mainpath_types::{CallId, LOG_VERSION, Millis, Verdict, format_time};
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
        let (mut projector, mut calls) = (Projector::new(self.id().clone()), Known::default());
        for event in self.events(1).await? {
            for line in projector.project(&event) {
                let _ = calls.note(&RunEvent::read(line)?, self);
            }
        }
        let state = projector.state();
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
        let (mut projector, mut calls) = (Projector::new(self.id().clone()), Known::default());
        for event in self.events(1).await? {
            for line in projector.project(&event) {
                let _ = calls.note(&RunEvent::read(line)?, self);
            }
        }
        let mut asked: Vec<_> = calls.asked.into_values().collect();
        for child in projector.state().children.open().filter_map(|child| child.trace.clone()) {
            asked.extend(Box::pin(Trace::new(self.host().clone(), child).approvals_below()).await?);
        }
        Ok(asked)
    }
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
