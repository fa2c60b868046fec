//! What a trace waits for, and the agents that it has started, for whoever only reads logs.

use super::decidable::{CallStanding, DecidableCall};
use super::open_questions::{QuestionStanding, UnansweredQuestion};
use super::read::{Read, ReadTrace};
use crate::run::Unasked;
use crate::{Error, Logs};
use mainpath_core::{Call, CallState};
use mainpath_types::{CallId, EffectClass, TraceId};

/// What a trace waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// The trace.
    pub trace: TraceId,
    /// The calls that wait for a decision, or for an approval to take effect.
    pub calls: Vec<DecidableCall>,
    /// The questions to people.
    pub questions: Vec<UnansweredQuestion>,
    /// The agents on other machines that its open run waits for.
    pub remote: Vec<TraceId>,
}

/// What the agents of a trace wait for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentWaits {
    /// An entry for each agent that has not ended, and for those that it has started.
    pub agents: Vec<Waits>,
    /// The agents on other machines that cannot be read.
    pub unasked: Vec<Unasked>,
}

impl AgentWaits {
    /// Returns the agents with calls that wait for a decision; if there are none, those whose decisions are not read yet.
    pub fn to_decide(&self) -> Vec<TraceId> {
        let stands = |one: &Waits| one.calls.iter().map(|call| call.standing == CallStanding::Open).max();
        self.agents_that(stands)
    }

    /// Returns the agents with questions that wait for an answer; if there are none, those whose answers are not read yet.
    pub fn to_answer(&self) -> Vec<TraceId> {
        let stands = |one: &Waits| one.questions.iter().map(|one| one.standing == QuestionStanding::Open).max();
        self.agents_that(stands)
    }

    /// Returns the agents for which this is true, or else those for which it is false.
    fn agents_that(&self, is: impl Fn(&Waits) -> Option<bool>) -> Vec<TraceId> {
        let of =
            |wanted| self.agents.iter().filter(|one| is(one) == Some(wanted)).map(|one| one.trace.clone()).collect();
        let found: Vec<TraceId> = of(true);
        if found.is_empty() { of(false) } else { found }
    }
}

/// A call that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCall {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
}

impl ReadTrace<'_> {
    /// Returns the calls that run and can be interrupted; a question to a person is not among them.
    pub fn running_calls(&self) -> Vec<RunningCall> {
        let runs = |call: &&Call| call.state == CallState::Started && call.effect != EffectClass::AskPerson;
        let running =
            |call: &Call| RunningCall { call: call.id, tool: call.tool.as_deref().unwrap_or_default().to_string() };
        self.state.turn_calls().iter().filter(runs).map(running).collect()
    }

    /// Returns what the trace itself waits for. Errors: its mail cannot be read.
    pub async fn waits(&self) -> Result<Waits, Error> {
        let children = self.state.children.open().filter_map(|child| child.trace.clone());
        let remote = children.filter(|child| self.state.run.is_some() && child.elsewhere().is_some()).collect();
        let (calls, questions) = (self.decidable_calls().await?, self.open_questions().await?);
        Ok(Waits { trace: self.trace.clone(), calls, questions, remote })
    }
}

impl Logs {
    /// Returns what the agents of a trace wait for that have not ended, and theirs; an agent comes before those that it has started.
    /// Errors: the log of the trace cannot be read.
    pub async fn agent_waits(&self, trace: &TraceId) -> Result<AgentWaits, Error> {
        let mut found = AgentWaits::default();
        let mut next = open_children(&Read::of(self.at(trace)).await?);
        while let Some(agent) = next.pop() {
            match self.waits_of(&agent).await {
                Ok((waits, children)) => {
                    found.agents.push(waits);
                    next.extend(children);
                }
                Err(error) if agent.elsewhere().is_some() => {
                    found.unasked.push(Unasked { trace_id: agent, problem: error.message().into() });
                }
                // One that was only just started has no log yet.
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Returns what a trace waits for, and its open agents, the last one first.
    async fn waits_of(&self, trace: &TraceId) -> Result<(Waits, Vec<TraceId>), Error> {
        let read = Read::of(self.at(trace)).await?;
        Ok((read.at(self.at(trace)).waits().await?, open_children(&read)))
    }
}

fn open_children(read: &Read) -> Vec<TraceId> {
    let mut children: Vec<TraceId> = read.state.children.open().filter_map(|child| child.trace.clone()).collect();
    children.reverse();
    children
}
