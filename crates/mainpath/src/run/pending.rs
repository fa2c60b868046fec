//! The calls of a run that wait for people, as its events tell of them.

use crate::event::{ActionPlanned, PendingCall, PendingQuestion, RunEvent, Stamped};
use crate::trace::Read;
use crate::{Error, Trace};
use mainpath_core::{State, pending};
use mainpath_runtime::Waiting;
use mainpath_runtime::wire::Projector;
use mainpath_types::{CallId, EventId, LOG_VERSION, TraceId, Verdict, format_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long an agent on another machine is asked what it waits for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What waits for people.
#[derive(Clone, Debug, Default)]
pub struct WaitingCalls {
    /// The calls that wait for an approval, in their order. Those of agents come last, each under the id of its own trace.
    pub approvals: Vec<Stamped<PendingCall>>,
    /// The calls that wait for an answer, in the same order.
    pub questions: Vec<Stamped<PendingQuestion>>,
    /// The agents that cannot be asked whether they wait.
    pub unasked: Vec<Unasked>,
}

/// An agent that cannot be asked whether it waits for a person: its machine does not answer, or its log is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unasked {
    /// Which.
    pub trace_id: TraceId,
    /// Why: one line for people.
    pub problem: String,
}

impl Trace {
    /// The calls that wait for an approval, in their order: what a person has to decide on. Those of agents that it has started come
    /// last, each under the id of its own trace; of agents that cannot be asked see [`Trace::waiting_calls`].
    pub async fn approvals(&self) -> Result<Vec<Stamped<PendingCall>>, Error> {
        Ok(self.waiting_calls().await?.approvals)
    }

    /// The calls that wait for a person's answer, in their order; those of agents that it has started come last, each under the id of its own
    /// trace; of agents that cannot be asked see [`Trace::waiting_calls`].
    pub async fn questions(&self) -> Result<Vec<Stamped<PendingQuestion>>, Error> {
        Ok(self.waiting_calls().await?.questions)
    }

    /// All that waits for people, here and in the agents that it has started. Errors: its own log cannot be read.
    pub async fn waiting_calls(&self) -> Result<WaitingCalls, Error> {
        let (mut found, mut silent) = (WaitingCalls::default(), BTreeSet::new());
        // Generations are few: an agent of the last starts none.
        Box::pin(self.waiting_below(&mut found, &mut silent)).await?;
        Ok(found)
    }

    /// `silent`: the machines that did not answer, which are not waited for again.
    async fn waiting_below(&self, found: &mut WaitingCalls, silent: &mut BTreeSet<String>) -> Result<(), Error> {
        let read = self.look().await?;
        let (calls, state) = (Known::of(&read, self)?, &read.state);
        let questions = Waiting::among(&pending(state)).into_iter().filter_map(|one| match one {
            Waiting::Answer(call) => calls.question(call, state, self),
            _ => None,
        });
        found.questions.extend(questions);
        found.approvals.extend(calls.asked.into_values());
        for child in state.children.open().filter_map(|child| child.trace.clone()) {
            let below = Trace::new(self.host().clone(), child.clone());
            let looked = match child.elsewhere() {
                None => Box::pin(below.waiting_below(found, silent)).await,
                Some(there) if silent.contains(there.host) => Err(no_answer(there.host)),
                Some(there) => {
                    let looked = Box::pin(below.waiting_below(found, silent));
                    let looked = tokio::time::timeout(PATIENCE, looked).await;
                    looked.unwrap_or_else(|_| {
                        silent.insert(there.host.to_string());
                        Err(no_answer(there.host))
                    })
                }
            };
            // One that is not there waits for nobody, and is in nobody's way.
            if let Err(error) = looked {
                found.unasked.push(Unasked { trace_id: child, problem: error.message().into() });
            }
        }
        Ok(())
    }
}

fn no_answer(host: &str) -> Error {
    Error::failed(format!("{host} does not answer"))
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
        // Since then it is asked.
        let asked = state.calls.get(call).map_or(state.log.now, |row| row.started);
        Some(Stamped {
            v: LOG_VERSION,
            ts: format_time(asked),
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
