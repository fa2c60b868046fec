//! The plan of a trace and its pins: what is changed in them, whoever drives it.

use super::handle::Trace;
use super::read::ReadTrace;
use crate::{Error, ErrorKind};
use mainpath_core::Bodies;
use mainpath_runtime::{Hydrated, Mail};
use mainpath_store::ReadLog;
use mainpath_types::{EventKind, GoalOp, MailId, Seq, TraceId, text_of};

/// Whether what was sent to a trace has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It has, and holds.
    Applied,
    /// It waits until the trace goes on.
    Queued,
}

impl ReadTrace<'_> {
    /// That these operations fit the plan. Errors: what is wrong with one.
    pub fn check_goals(&self, ops: &[GoalOp]) -> Result<(), Error> {
        let changed = self.state.goals.clone().change_all(ops, self.state.tree.head);
        changed.map_err(|refusal| goals_refused(self.trace, ops, &refusal))?;
        Ok(())
    }

    /// What was said in a message, as text. Errors: there is none with this number, or it has no text.
    pub async fn words(&self, seq: Seq) -> Result<String, Error> {
        let none = || Error::invalid(format!("{} has no message {seq} with text", self.trace));
        let event = self.state.tree.node(seq).ok_or_else(none)?.event;
        let mut whole = Hydrated::new(self.bodies);
        whole.load(self.at().scoped(), event).await?;
        let text = match whole.get(event) {
            Some(EventKind::MessageQueued(data)) => text_of(data.typed()),
            Some(EventKind::RewindRequested(data)) => text_of(data.parts.as_deref().unwrap_or_default()),
            Some(EventKind::ModelFinished(data)) => text_of(&data.parts),
            Some(EventKind::MessageImported(data)) => text_of(&data.said()),
            _ => String::new(),
        };
        Some(text).filter(|text| !text.trim().is_empty()).ok_or_else(none)
    }
}

/// What became of operations on the plan that were sent, by the log as it is now. Errors: they were refused.
pub fn goals_sent(trace: &TraceId, log: &ReadLog, mail: MailId, ops: &[GoalOp]) -> Result<Sent, Error> {
    match log.events.iter().find(|event| event.mail == Some(mail)).map(|event| &event.kind) {
        Some(EventKind::MailRefused(data)) => Err(goals_refused(trace, ops, &data.problem)),
        Some(_) => Ok(Sent::Applied),
        None => Ok(Sent::Queued),
    }
}

fn goals_refused(trace: &TraceId, ops: &[GoalOp], why: &dyn std::fmt::Display) -> Error {
    let pins = ops.iter().all(|op| matches!(op, GoalOp::Pin { .. } | GoalOp::Unpin { .. }));
    let what = if pins { "the pins of" } else { "the plan of" };
    let are = if pins { "are unchanged" } else { "is unchanged" };
    Error::new(ErrorKind::Refused, format!("{what} {trace} {are}: {why}"))
}

impl Trace {
    /// Changes the plan: now where no run goes on, else at the run's next checkpoint. Errors: an operation does not fit the plan.
    pub async fn goal(&self, ops: Vec<GoalOp>) -> Result<Sent, Error> {
        if ops.is_empty() {
            return Err(Error::of_field("ops", " is empty: say what is to be changed in the plan"));
        }
        let read = self.look().await?;
        self.of(&read).check_goals(&ops)?;
        let mail = self.settle(Mail::Goals { ops: ops.clone() }).await?;
        goals_sent(self.id(), &self.look().await?.log, mail, &ops)
    }

    /// Keeps a sentence in sight of the agent in these very words, whatever else is left out of its requests.
    pub async fn pin(&self, text: impl Into<String>) -> Result<Sent, Error> {
        self.goal(vec![GoalOp::Pin { text: text.into() }]).await
    }

    /// The same with what was said in a message. Errors: there is none with this number, or it has no text.
    pub async fn pin_message(&self, seq: Seq) -> Result<Sent, Error> {
        let read = self.look().await?;
        let text = self.of(&read).words(seq).await?;
        self.pin(text).await
    }

    /// Takes away a pin by its number, from 1.
    pub async fn unpin(&self, number: u32) -> Result<Sent, Error> {
        self.goal(vec![GoalOp::Unpin { number }]).await
    }

    /// The pins, in their order.
    pub async fn pins(&self) -> Result<Vec<String>, Error> {
        Ok(self.look().await?.state.goals.terms.pinned.clone())
    }
}
