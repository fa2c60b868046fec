//! Calls are approved: once, or with a rule that lasts.

use super::handle::Trace;
use super::read::Read;
use crate::{Error, ErrorKind, spec_of};
use mainpath_core::{Call, CallState};
use mainpath_runtime::Mail;
use mainpath_tools::Schema;
use mainpath_types::{CallId, MailId, RUN_SCRIPT, Spec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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

/// The rule that an approval made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingRule {
    /// The rule, a pattern per line.
    pub rule: String,
    /// The file that it was written to; `None` if it holds in the trace alone.
    pub file: Option<PathBuf>,
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
    line.trim_end_matches('.').into()
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
        if let Some(arguments) = &arguments {
            self.check_arguments(call, arguments).await?;
        }
        self.approve_as(call, Approval { arguments, rule: None, reopens: true }).await
    }

    /// Approves a call with other arguments, as JSON text. Rules judge them afresh. Errors: as [`Trace::approve`]'s, the tool does
    /// not take such arguments, or a rule denies them; then nothing is decided.
    pub async fn approve_with(&self, call: CallId, arguments: impl Into<String>) -> Result<(), Error> {
        let arguments = arguments.into();
        self.check_arguments(call, &arguments).await?;
        self.approve_as(call, Approval { arguments: Some(arguments), ..Approval::default() }).await
    }

    /// Checks arguments that a person wrote for a call that waits or was denied. Errors: its tool does not take them, or a rule denies
    /// them, as far as that is known in this process.
    pub async fn check_arguments(&self, call: CallId, arguments: &str) -> Result<(), Error> {
        let read = self.look().await?;
        let waits = |row: &&Call| row.state == CallState::Asked || row.is_denied();
        let Some(row) = read.state.calls.get(call).filter(waits) else { return Ok(()) };
        let Some(tool) = row.tool.as_deref() else { return Ok(()) };
        let spec = spec_of(&read.log);
        // Another machine has rules of its own, and the driver knows which skills are loaded.
        let judged = spec.filter(|_| tool != RUN_SCRIPT && self.id().elsewhere().is_none());
        let why = match (self.misfit(tool, arguments, spec), judged) {
            (None, Some(spec)) if self.host().tools().doc(tool).is_some() => {
                self.host().denial(spec, tool, arguments)?
            }
            (misfit, _) => misfit,
        };
        let stands = if row.is_denied() { "denied" } else { "waiting" };
        why.map_or(Ok(()), |why| Err(Error::invalid(format!("{}; call {call} is still {stands}", in_a_line(&why)))))
    }

    /// Returns why a tool does not take these arguments. A tool whose server is not connected is checked as the run describes it.
    fn misfit(&self, tool: &str, arguments: &str, spec: Option<&Spec>) -> Option<String> {
        let tools = self.host().tools();
        if tools.doc(tool).is_some() {
            return tools.arguments(tool, arguments).err().map(|problem| problem.text);
        }
        let Ok(value) = serde_json::from_str(arguments) else { return Some("the arguments are not JSON".into()) };
        let known = spec?.tools.iter().find(|known| known.name == tool)?;
        let violations = Schema::new(&known.input_schema).ok()?.violations(&value);
        (!violations.is_empty()).then(|| format!("Wrong arguments for {tool}: {}", violations.join("; ")))
    }

    /// Approves a call as it was approved in a recording: with these arguments, and by this rule for those like it.
    #[cfg(feature = "home")]
    pub(crate) async fn approve_again(
        &self,
        call: CallId,
        arguments: Option<String>,
        rule: Option<String>,
    ) -> Result<(), Error> {
        let read = self.look().await?;
        let tool = read.state.calls.get(call).and_then(|row| row.tool.as_deref());
        if let (Some(tool), Some(arguments)) = (tool, &arguments)
            && let Some(why) = self.misfit(tool, arguments, spec_of(&read.log))
        {
            return Err(Error::invalid(in_a_line(&why)));
        }
        self.approve_as(call, Approval { arguments, rule, reopens: true }).await
    }

    /// Approves a call and, by the rule that was offered with it ([`PendingCall::offer`](crate::PendingCall::offer)), those like it.
    /// Errors: as [`Trace::approve`]'s, no rule was offered, or the call was denied before; then nothing is decided. Also that the rule
    /// cannot be written: then the call is approved, and those like it in this trace.
    pub async fn approve_for(&self, call: CallId, lasting: ApprovedFor) -> Result<LastingRule, Error> {
        let read = self.look().await?;
        let refused = |why: &str| Error::new(ErrorKind::Refused, format!("{why}; approve it once"));
        if read.state.calls.get(call).is_some_and(Call::is_denied) {
            return Err(refused(&format!("call {call} of {} was denied", self.id())));
        }
        let none = || refused(&format!("no narrow rule can cover call {call} of {}", self.id()));
        let rule = self.of(&read).offer(call).ok_or_else(none)?;
        self.approve_as(call, Approval { rule: Some(rule.clone()), ..Approval::default() }).await?;
        let file = match lasting {
            ApprovedFor::Trace => None,
            #[cfg(feature = "home")]
            ApprovedFor::Always => Some(self.host().home().allow_always(&rule, self.id(), call)?),
        };
        Ok(LastingRule { rule, file })
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
                let why = format!("call {call} was {done} by {by} already; the run reads that when it continues");
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
        let Approval { arguments, rule, reopens } = approval;
        let reopens = reopens && row.is_denied();
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
