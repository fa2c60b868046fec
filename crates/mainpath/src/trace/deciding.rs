//! Decisions on calls. The caller of each learns whether the decision took effect.

use super::handle::{LOOK, PATIENCE, Trace, stands};
use crate::values::not_empty;
use crate::{Error, ErrorKind};
use mainpath_core::{Bodies, Call, CallState, arguments_in};
use mainpath_runtime::Mail;
use mainpath_tools::AskHumanArgs;
use mainpath_types::{CallId, EventId, EventKind, MailId};
use std::time::Instant;

impl Trace {
    /// Denies a call; the model is told why. A denial wins over an approval as long as the call has not started. Errors: there is no
    /// such call, or it has started or ended.
    pub async fn deny(&self, call: CallId, reason: Option<String>) -> Result<(), Error> {
        let waits = |call: &Call| call.state == CallState::Asked || call.is_approved_only();
        self.decide(call, "cannot be denied any more", waits, Mail::Deny { call, reason }).await
    }

    /// Answers a call of a tool that asks a person ([`EffectClass::AskPerson`](mainpath_types::EffectClass::AskPerson)). Errors:
    /// there is no such call, it has its answer, the text is empty, or it is the number of no choice where there are choices.
    pub async fn answer(&self, call: CallId, text: impl Into<String>) -> Result<(), Error> {
        self.answer_via(call, text, None).await
    }

    /// The same; `via` is the way by which the answer came, for the log.
    pub async fn answer_via(&self, call: CallId, text: impl Into<String>, via: Option<String>) -> Result<(), Error> {
        if let Some(sent) = self.sent().await? {
            return self.decided(sent, 1).await;
        }
        let (read, text) = (self.look().await?, not_empty("text", text)?);
        let waits = |call: &Call| !matches!(call.state, CallState::Done(_));
        let row = Some(self.call(&read, call)?).filter(|row| waits(row));
        let arguments = row.and_then(|row| read.get(row.arguments)).and_then(|kind| arguments_in(kind, call));
        if let Some(why) = arguments.and_then(AskHumanArgs::read).and_then(|args| args.no_choice(&text)) {
            return Err(Error::invalid(format!("{why}; call {call} is still open")));
        }
        self.decide(call, "waits for no answer", waits, Mail::Answer { call, text, via }).await
    }

    /// Sends a decision on a call that stands as it must, and waits until whoever drives the trace has read it. Errors: what `not` says
    /// of the call, or the decision was refused.
    pub(super) async fn decide(
        &self,
        call: CallId,
        not: &str,
        fits: impl Fn(&Call) -> bool,
        mail: Mail,
    ) -> Result<(), Error> {
        if let Some(sent) = self.sent().await? {
            return self.decided(sent, 1).await;
        }
        let read = self.look().await?;
        let row = self.call(&read, call)?;
        if !fits(row) {
            let stands = if row.is_denied() { "it was denied" } else { stands(&row.state) };
            return Err(Error::new(ErrorKind::Refused, format!("call {call} {not}: {stands}")));
        }
        self.check_ready(&read).await?;
        // A denial wins over an approval that nobody has read.
        let is_first = !matches!(mail, Mail::Deny { .. });
        if is_first {
            self.check_undecided(&read, call, None).await?;
        }
        let id = self.put(&mail).await?;
        if self.is_decided(id, read.log.head + 1).await? || !is_first {
            return Ok(());
        }
        // No process has read it yet. Of several decisions that wait, the first counts.
        self.check_undecided(&read, call, Some(id)).await
    }

    /// Waits until a decision that was sent was read, which is in the log from this event on. Errors: it was refused.
    pub(super) async fn decided(&self, id: MailId, from: EventId) -> Result<(), Error> {
        self.is_decided(id, from).await.map(drop)
    }

    /// The same, and whether it was read. `false`: no process drives the trace, or the one that does takes too long.
    pub(super) async fn is_decided(&self, id: MailId, from: EventId) -> Result<bool, Error> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            for event in self.events(from).await? {
                match event.kind {
                    EventKind::MailRefused(refused) if event.mail == Some(id) => {
                        return Err(Error::new(ErrorKind::Refused, refused.problem));
                    }
                    _ if event.mail == Some(id) => return Ok(true),
                    _ => {}
                }
            }
            // One that waits here is woken by what was sent. A trace that this process does not know stays unknown: else it would be driven here.
            if !self.goes_on_here() && self.host().at(self.id()).driver().await?.is_none() {
                // It waits for whoever goes on with the trace.
                return Ok(false);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(false)
    }
}
