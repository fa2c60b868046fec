//! The plan of a trace and its pins: what is changed in them, whoever drives it.

use super::handle::Trace;
use super::outcomes::Sent;
use super::read::ReadTrace;
use crate::{Error, ErrorKind};
use mainpath_core::{Bodies, LEGEND};
use mainpath_runtime::{Hydrated, Mail, views};
use mainpath_store::ReadLog;
use mainpath_types::{EventKind, GoalOp, GoalStatus, MailId, ModelFinished, Seq, TraceId, text_of};
use serde_json::Value;

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

impl<'a> ReadTrace<'a> {
    /// Returns the plan as JSON, with the consumption of each goal. Errors: a blob cannot be read.
    pub async fn plan_json(&self) -> Result<Value, Error> {
        let (_, made) = views::fold(self.trace, &self.log.events);
        Ok(views::plan(self.state, &self.log.events, &made, &self.task().await?))
    }

    /// Returns the plan as text, and below it what its marks mean. `full`: with the reason and the result of each goal.
    pub fn plan_text(&self, full: bool) -> String {
        let view = if full { self.state.goals.full_view() } else { self.state.goals.short_view() };
        match self.state.goals.list() {
            [] => view,
            _ => format!("{}\n({LEGEND})", view.trim_end_matches('\n')),
        }
    }

    /// Returns the task of an agent that works without a plan: it is the only goal, and no caller made it.
    pub fn lone_task(&self) -> Option<&'a str> {
        let [only] = self.state.goals.list() else { return None };
        let is_alone = self.log.events.iter().all(|event| match &event.kind {
            EventKind::GoalsChanged(_) => false,
            EventKind::ModelFinished(data) => data.goals.is_empty() || starts_with_task(data),
            _ => true,
        });
        (is_alone && only.status == GoalStatus::InProgress).then_some(&*only.description)
    }
}

/// Returns true if the only change that an answer makes to the plan is that the task becomes its first goal.
pub fn starts_with_task(data: &ModelFinished) -> bool {
    let is_asked = data.calls.iter().any(|planned| planned.tool.as_deref() == Some("goal"));
    !is_asked && data.goals.iter().all(|op| matches!(op, GoalOp::Add { .. } | GoalOp::Focus { .. }))
}

/// What became of operations on the plan that were sent, by the log as it is now. Errors: they were refused.
fn goals_sent(trace: &TraceId, log: &ReadLog, mail: MailId, ops: &[GoalOp]) -> Result<Sent, Error> {
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
    /// Changes the plan: now, or when the process that drives the trace reads the request. Errors: an operation does not fit the plan.
    pub async fn goal(&self, ops: Vec<GoalOp>) -> Result<Sent, Error> {
        if ops.is_empty() {
            return Err(Error::of_field("ops", " is empty: say what is to be changed in the plan"));
        }
        let read = self.look().await?;
        self.of(&read).check_goals(&ops)?;
        let from = read.log.head + 1;
        let mail = self.settle(Mail::Goals { ops: ops.clone() }).await?;
        // A refusal is read from the log below.
        let _ = self.is_decided(mail, from).await;
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
