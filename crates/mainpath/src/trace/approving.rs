//! Calls are approved: once, or with a rule that lasts.

use super::handle::Trace;
use super::read::Read;
use crate::{Error, ErrorKind, spec_of};
use mainpath_core::{Call, CallState};
use mainpath_runtime::Mail;
use mainpath_types::{CallId, Event, EventKind, MailId, RUN_SCRIPT};
use serde::{Deserialize, Serialize};

/// For which calls an approval holds beside the one that is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovedFor {
    /// Calls like this one in this trace.
    Trace,
    /// Calls like this one from now on, in every trace of this home.
    #[cfg(feature = "home")]
    Always,
}

/// The narrowest rule that would allow calls like this one, a pattern in each line, as it was offered when the call was judged.
pub fn offered_rule(events: &[Event], call: CallId) -> Option<String> {
    let recorded = events.iter().find_map(|event| match &event.kind {
        EventKind::ModelFinished(data) if data.seq == call.seq => data.call(call.index),
        _ => None,
    });
    recorded.and_then(|call| call.planned.offer.clone())
}

/// What is approved beside the call itself.
#[derive(Default)]
struct Approval {
    /// Other arguments than the model's.
    arguments: Option<String>,
    /// A rule for what comes later in the trace.
    rule: Option<String>,
    /// True if it also holds for a call that was denied.
    reopens: bool,
}

/// What is said to a model in several lines, as one for people.
fn in_a_line(text: &str) -> String {
    let line = text.replacen(":\n- ", ": ", 1).replace("\n- ", "; ").replace(['\r', '\n'], "; ");
    line.trim_end_matches('.').replacen("Wrong arguments", "wrong arguments", 1)
}

impl Trace {
    /// Approves a call as it stands. Returns when whoever drives the trace has read it. Errors: there is no such call, it waits for no
    /// approval, or it was decided on meanwhile. An approval never undoes a denial: [`Trace::approve_denied`] does.
    pub async fn approve(&self, call: CallId) -> Result<(), Error> {
        self.approve_as(call, Approval::default()).await
    }

    /// Approves a call that was denied, so that it is made after all; with other arguments, as JSON text, if there are any. Errors: as
    /// [`Trace::approve_with`]'s.
    pub async fn approve_denied(&self, call: CallId, arguments: Option<String>) -> Result<(), Error> {
        #[cfg(feature = "home")]
        if let Some(arguments) = &arguments {
            self.check_allowed(call, arguments).await?;
        }
        self.approve_as(call, Approval { arguments, rule: None, reopens: true }).await
    }

    /// Approves a call with other arguments, as JSON text. Rules judge them afresh. Errors: as [`Trace::approve`]'s, the tool does
    /// not take such arguments, or a rule denies them; then nothing is decided.
    pub async fn approve_with(&self, call: CallId, arguments: impl Into<String>) -> Result<(), Error> {
        let arguments = arguments.into();
        self.check_allowed(call, &arguments).await?;
        self.approve_as(call, Approval { arguments: Some(arguments), ..Approval::default() }).await
    }

    /// Errors: a rule denies a call with these arguments, as far as that is known before it is judged where it is driven.
    async fn check_allowed(&self, call: CallId, arguments: &str) -> Result<(), Error> {
        let read = self.look().await?;
        let waits = |row: &&Call| row.state == CallState::Asked || row.is_denied();
        let row = read.state.calls.get(call).filter(waits).filter(|_| self.id().elsewhere().is_none());
        let (Some(tool), Some(spec)) = (row.and_then(|row| row.tool.as_deref()), spec_of(&read.log)) else {
            return Ok(());
        };
        // Which skills are loaded is known where the trace is driven; what the tool does not take is told by who sends it.
        let tools = self.host().tools();
        if tool == RUN_SCRIPT || tools.doc(tool).is_none() || tools.arguments(tool, arguments).is_err() {
            return Ok(());
        }
        match self.host().denial(spec, tool, arguments)? {
            Some(why) => Err(Error::invalid(format!("{}; call {call} is still waiting", in_a_line(&why)))),
            None => Ok(()),
        }
    }

    /// Approves a call as it was approved in a recording: with these arguments, and by this rule for those like it.
    #[cfg(feature = "home")]
    pub(crate) async fn approve_again(
        &self,
        call: CallId,
        arguments: Option<String>,
        rule: Option<String>,
    ) -> Result<(), Error> {
        self.approve_as(call, Approval { arguments, rule, reopens: true }).await
    }

    /// Approves a call and, by the rule that was offered with it ([`PendingCall::offer`](crate::PendingCall::offer)), those like it; gives
    /// the rule. Errors: as [`Trace::approve`]'s, no rule was offered, or the call was denied before; then nothing is decided. Also that the
    /// rule cannot be kept: then the call is approved, and those like it in this trace.
    pub async fn approve_for(&self, call: CallId, lasting: ApprovedFor) -> Result<String, Error> {
        let read = self.look().await?;
        let refused = |why: &str| Error::new(ErrorKind::Refused, format!("call {call}: {why}; approve it once"));
        let rule = offered_rule(&read.log.events, call).ok_or_else(|| refused("no narrow rule can cover it"))?;
        self.approve_as(call, Approval { rule: Some(rule.clone()), ..Approval::default() }).await?;
        match lasting {
            ApprovedFor::Trace => {}
            #[cfg(feature = "home")]
            ApprovedFor::Always => drop(self.host().home().allow_always(&rule, self.id(), call)?),
        }
        Ok(rule)
    }

    /// Errors: somebody has decided on a call, before `sent` if that is something, and nobody has read it yet.
    pub(super) async fn check_undecided(&self, read: &Read, call: CallId, sent: Option<MailId>) -> Result<(), Error> {
        let mail = &read.state.log.mail;
        let said = self.host().at(self.id()).mail(mail.upto).await?;
        for entry in said.into_iter().filter(|entry| sent.is_none_or(|sent| entry.id < sent)) {
            let Ok(said) = serde_json::from_str::<Mail>(&entry.body) else { continue };
            let done = match said {
                Mail::Approve { call: of, .. } | Mail::Reopen { call: of, .. } if of == call => "approved",
                Mail::Deny { call: of, .. } if of == call => "denied",
                Mail::Answer { call: of, .. } if of == call => "answered",
                _ => continue,
            };
            if !mail.has(entry.id) {
                let by = entry.from.as_str();
                let why = format!("call {call} was {done} by {by} already; that is read when its run goes on");
                return Err(Error::new(ErrorKind::Refused, why));
            }
        }
        Ok(())
    }

    async fn approve_as(&self, call: CallId, approval: Approval) -> Result<(), Error> {
        if let Some(sent) = self.sent().await? {
            return self.decided(sent, 1).await;
        }
        let read = self.look().await?;
        let row = self.call(&read, call)?;
        let tool = row.tool.as_deref();
        let Approval { arguments, rule, reopens } = approval;
        let reopens = reopens && row.is_denied();
        if let (Some(arguments), Some(tool)) = (&arguments, tool) {
            let tools = self.host().tools();
            let taken = if tools.resolve(tool).is_some() { tools.arguments(tool, arguments).map(drop) } else { Ok(()) };
            taken.map_err(|problem| Error::invalid(in_a_line(&problem.text)))?;
        }
        let mail = match reopens {
            true => Mail::Reopen { call, arguments },
            false => Mail::Approve { call, arguments, rule },
        };
        let not = match row.is_denied() {
            true => "waits for no approval (only a decision to reopen it undoes a denial)",
            false => "waits for no approval",
        };
        let waits = |call: &Call| call.state == CallState::Asked || reopens && call.is_denied();
        self.decide(call, not, waits, mail).await
    }
}
