//! A trace: everything that can be done to an agent, whoever drives it.

use crate::run::{Outcome, Run};
use crate::{Error, Host};
use mainpath_core::{Log, State, apply};
use mainpath_runtime::import::{Extent, conversation};
use mainpath_runtime::replay::{Replayed, replay};
use mainpath_runtime::run_stats::{RunStats, runs};
use mainpath_runtime::{Mail, new_trace_id, verify, views};
use mainpath_store::{ReadLog, Report};
use mainpath_types::{CallId, Event, EventId, GoalOp, Message, MessageMode, Part, Seq, TraceId};

/// A handle on a trace. Cheap to clone. Words that are sent wait in its mailbox until whoever drives it, in this process or another,
/// reads them.
#[derive(Clone, Debug)]
pub struct Trace {
    host: Host,
    id: TraceId,
}

impl Trace {
    pub(crate) fn new(host: Host, id: TraceId) -> Trace {
        Trace { host, id }
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Its id.
    pub fn id(&self) -> &TraceId {
        &self.id
    }

    /// Says something and follows what comes of it: a new run, or the one that goes on, which reads it when it is done.
    pub async fn say(&self, text: impl Into<String>) -> Result<Run, Error> {
        self.go_on(Some(Mail::message(text))).await
    }

    /// Redirects a run: it waits for the running call and skips those after it.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send(Mail::say(MessageMode::Steer, text)).await
    }

    /// Queues a message for after the current run.
    pub async fn next(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send(Mail::say(MessageMode::FollowUp, text)).await
    }

    /// Ends the run at its next checkpoint.
    pub async fn stop(&self) -> Result<(), Error> {
        self.send(Mail::Stop).await
    }

    /// Ends one running call; the agent goes on.
    pub async fn interrupt(&self, call: CallId) -> Result<(), Error> {
        self.send(Mail::Interrupt { call }).await
    }

    /// Goes on after a crash, a stop, a limit or an approval, and follows that.
    pub async fn resume(&self) -> Result<Run, Error> {
        let (_, state, _) = self.read().await?;
        let goes_on = state.run.is_some() || !state.queues.is_empty();
        self.go_on((!goes_on && state.tree.head.is_some()).then_some(Mail::Continue)).await
    }

    /// Goes back to a message and says something else from there. 0 is before the first.
    pub async fn rewind(&self, after: Seq, text: impl Into<String>) -> Result<Run, Error> {
        self.go_on(Some(Mail::Rewind { after, parts: Some(vec![Part::text(text)]) })).await
    }

    /// Goes back to a message and has it answered again.
    pub async fn regenerate(&self, after: Seq) -> Result<Run, Error> {
        self.go_on(Some(Mail::Rewind { after, parts: None })).await
    }

    /// Copies the trace up to a message. The copy goes its own way.
    pub async fn fork(&self, at: Seq) -> Result<Trace, Error> {
        let (runtime, scope) = (self.host.runtime(), self.host.scope());
        let id = new_trace_id((runtime.config().clock)()).map_err(|error| Error::failed(error.to_string()))?;
        runtime.fork(scope, &self.id, at, &id).await?;
        Ok(Trace::new(self.host.clone(), id))
    }

    /// Approves a call as it stands.
    pub async fn approve(&self, call: CallId) -> Result<(), Error> {
        self.send(Mail::approve(call)).await
    }

    /// Approves a call with other arguments, as JSON text. Rules judge them afresh.
    pub async fn approve_with(&self, call: CallId, arguments: impl Into<String>) -> Result<(), Error> {
        self.send(Mail::Approve { call, arguments: Some(arguments.into()), rule: None }).await
    }

    /// Denies a call; the model is told why.
    pub async fn deny(&self, call: CallId, reason: Option<String>) -> Result<(), Error> {
        self.send(Mail::Deny { call, reason }).await
    }

    /// Answers what the agent asked.
    pub async fn answer(&self, call: CallId, text: impl Into<String>) -> Result<(), Error> {
        self.send(Mail::Answer { call, text: text.into() }).await
    }

    /// Changes the plan.
    pub async fn change_goals(&self, ops: Vec<GoalOp>) -> Result<(), Error> {
        self.settle(Mail::Goals { ops }).await
    }

    /// Replaces older messages with a summary.
    pub async fn compact(&self, hint: Option<String>) -> Result<(), Error> {
        self.settle(Mail::Compact { hint }).await
    }

    /// Starts the conversation over; the log keeps what was said.
    pub async fn clear(&self) -> Result<(), Error> {
        self.settle(Mail::Clear).await
    }

    /// Follows the trace from an event on, 1 being the first, whoever drives it in this process.
    pub fn watch(&self, from: EventId) -> Run {
        Run::follow(self.clone(), from)
    }

    /// All events from one on. Errors: the log cannot be read.
    pub async fn events(&self, from: EventId) -> Result<Vec<Event>, Error> {
        Ok(self.host.store().read(self.host.scope(), &self.id, from).await?.events)
    }

    /// What was said on the main path, whole.
    pub async fn messages(&self) -> Result<Vec<Message>, Error> {
        let (messages, _) = conversation(self.host.store(), self.host.scope(), &self.id, (Extent::Said, false)).await?;
        Ok(messages)
    }

    /// The state that the log makes.
    pub async fn state(&self) -> Result<State, Error> {
        Ok(self.read().await?.1)
    }

    /// What each run took.
    pub async fn stats(&self) -> Result<Vec<RunStats>, Error> {
        Ok(runs(&self.id, &self.events(1).await?))
    }

    /// How the last run ended. Errors: there was none, or one goes on.
    pub async fn outcome(&self) -> Result<Outcome, Error> {
        let (log, state, bodies) = self.read().await?;
        let ending = views::ending(self.host.store(), self.host.scope(), &state, &bodies).await?;
        let ending = ending.ok_or_else(|| Error::failed(format!("trace {} has no run that ended", self.id)))?;
        let stats = runs(&self.id, &log.events).pop().unwrap_or_default();
        let spent = stats.counts.spent();
        Ok(Outcome {
            reason: ending.reason,
            answer: ending.answer,
            is_said: ending.is_said,
            turns: stats.counts.turns.count,
            usage: spent.usage,
            cost: spent.cost,
            tools: stats.counts.tools.iter().map(|(name, tool)| (name.clone(), tool.calls)).collect(),
        })
    }

    /// Checks that the log is complete and unchanged.
    pub async fn verify(&self) -> Result<Report, Error> {
        Ok(verify(self.host.store(), self.host.scope(), &self.id).await?)
    }

    /// Computes views and requests anew and compares them with the record. Nothing is written.
    pub async fn replay(&self) -> Result<Replayed, Error> {
        Ok(replay(self.host.store(), self.host.models(), self.host.scope(), &self.id, true).await?)
    }

    async fn send(&self, mail: Mail) -> Result<(), Error> {
        self.host.runtime().send(self.host.scope(), &self.id, &mail).await?;
        Ok(())
    }

    /// Sends what takes effect also while no run goes on.
    async fn settle(&self, mail: Mail) -> Result<(), Error> {
        let (_, state, _) = self.read().await?;
        let (runtime, scope) = (self.host.runtime(), self.host.scope());
        let id = runtime.send(scope, &self.id, &mail).await?;
        if state.run.is_none() {
            runtime.settle(scope, &self.id, id).await?;
        }
        Ok(())
    }

    async fn go_on(&self, mail: Option<Mail>) -> Result<Run, Error> {
        let (log, ..) = self.read().await?;
        let (runtime, scope) = (self.host.runtime(), self.host.scope());
        if let Some(mail) = mail {
            runtime.send(scope, &self.id, &mail).await?;
        }
        runtime.resume(scope, &self.id);
        Ok(Run::follow(self.clone(), log.head + 1))
    }

    async fn read(&self) -> Result<(ReadLog, State, Log), Error> {
        let log = self.host.store().read(self.host.scope(), &self.id, 1).await?;
        let mut state = State::new(self.id.clone());
        log.events.iter().for_each(|event| apply(&mut state, event));
        let mut bodies = Log::default();
        bodies.extend(&log.events);
        Ok((log, state, bodies))
    }
}
