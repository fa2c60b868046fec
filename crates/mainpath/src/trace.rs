//! A trace: everything that can be done to an agent, whoever drives it.

use crate::{Error, ErrorKind, Host, logs};
use mainpath_core::{Log, State};
use mainpath_runtime::import::{Extent, conversation};
use mainpath_runtime::replay::{Replayed, replay};
use mainpath_runtime::run_stats::{RunStats, runs};
use mainpath_runtime::{Mail, new_trace_id, verify};
use mainpath_store::{ReadLog, Report};
use mainpath_types::{CallId, Event, EventId, GoalOp, Message, MessageMode, Seq, TraceId};

/// A handle on a trace. Cheap to clone. Words that are sent wait in its mailbox until whoever drives it, in this process or another,
/// reads them.
#[derive(Clone, Debug)]
pub struct Trace {
    host: Host,
    id: TraceId,
}

impl Host {
    /// A trace that there is. Errors: there is none of this id.
    pub async fn trace(&self, id: &TraceId) -> Result<Trace, Error> {
        let log = self.store().read(self.scope(), id, 1).await?;
        match log.events.is_empty() {
            true => Err(Error::new(ErrorKind::NotFound, format!("there is no trace {id}"))),
            false => Ok(Trace::new(self.clone(), id.clone())),
        }
    }

    /// The ids of all traces, those that changed last first.
    pub async fn traces(&self) -> Result<Vec<TraceId>, Error> {
        Ok(self.store().list(self.scope()).await?.into_iter().map(|entry| entry.trace).collect())
    }
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

    pub(crate) async fn read(&self) -> Result<(ReadLog, State, Log), Error> {
        logs::read(self.host.store(), self.host.scope(), &self.id).await
    }
}
