//! The calls of a trace that a person can decide on, with the decisions that its driver has not read yet.

use super::read::ReadTrace;
use super::taking::Taking;
use super::unread::UnreadMail;
use crate::Error;
use mainpath_core::{Call, CallState, NodeKind, approval_due, arguments_in, lacking, places_in, tool_of};
use mainpath_runtime::Mail;
use mainpath_store::scheduler::system_clock;
use mainpath_types::{CallId, EventKind, Millis, Origin, PlannedCall, Resolution, Seq, Verdict};
use std::path::PathBuf;

/// A call, and what a person needs to know to decide on it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidableCall {
    /// The call.
    pub call: CallId,
    /// The name of its tool. `None`: it names no known tool.
    pub tool: Option<String>,
    /// The arguments that it runs with: JSON text. `None`: they were erased.
    pub arguments: Option<String>,
    /// The folder that it works in.
    pub folder: Option<PathBuf>,
    /// The verdict of the rules; `None` once the call has ended.
    pub verdict: Option<Verdict>,
    /// Where its paths lead, if they are links, and the files that it runs.
    pub places: Vec<String>,
    /// The narrowest rule that would allow calls like it, a pattern per line.
    pub offer: Option<String>,
    /// The origins of its arguments other than the model.
    pub origins: Vec<Origin>,
    /// The changes of an agent that it takes into its folder, if it is a call that does so.
    pub takes: Option<Taking>,
    /// The decision so far.
    pub standing: CallStanding,
}

/// The decision on a call so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStanding {
    /// Undecided.
    Open,
    /// Approved, and not started.
    Approved,
    /// Denied, and the denial is not read yet.
    Denied,
    /// Undecided until this time, so that it counts as denied.
    Expired(Millis),
    /// Denied and ended. An approval makes the call again.
    Over {
        /// A person denied it; such a call is approved by [`Trace::approve_denied`](crate::Trace::approve_denied) alone.
        by_person: bool,
    },
    /// None of these: no decision is possible.
    Settled(SettledCall),
}

/// Why no decision on a call is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledCall {
    /// The call was denied because its run does not have the tool.
    ToolMissing,
    /// A rule denies the call, so that no approval can change that.
    Forbidden,
    /// The call was denied and then approved. `as_call` is the number under which it was made; `None`: that is still to come.
    Reopened {
        /// The number of the call that was made instead.
        as_call: Option<CallId>,
    },
    /// The call has run.
    Ran,
    /// The call was denied.
    Denied,
    /// The call ended without running.
    Ended,
    /// The call is running.
    Running,
    /// The call has not started, and needs no approval.
    NotAsked,
}

/// Whether a call is to be approved or denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is to be approved.
    Approve,
    /// It is to be denied.
    Deny,
}

impl DecidableCall {
    /// Returns true if this decision on it is possible. A denial also replaces an approval that has not taken effect; nothing else is
    /// decided twice.
    pub fn takes(&self, ruling: Ruling) -> bool {
        match self.standing {
            CallStanding::Open => true,
            CallStanding::Over { .. } => ruling == Ruling::Approve,
            CallStanding::Approved => ruling == Ruling::Deny,
            CallStanding::Denied | CallStanding::Expired(_) | CallStanding::Settled(_) => false,
        }
    }

    /// Returns true if the call was denied and has ended, so that an approval makes it again.
    pub fn is_over(&self) -> bool {
        matches!(self.standing, CallStanding::Over { .. })
    }
}

/// The calls among which a decision is made.
#[derive(Clone, Debug, PartialEq)]
pub enum CallChoice {
    /// The call that is decided on.
    One(Box<DecidableCall>),
    /// Several fit, and none was named.
    Several(Vec<DecidableCall>),
    /// No decision on this call is possible: on the one that was named, or on the only one that there is.
    Refused(Box<DecidableCall>),
    /// The trace has no call with the number that was given.
    Unknown(CallId),
    /// No call of the trace waits for a decision.
    Nothing,
}

impl<'a> ReadTrace<'a> {
    /// Returns the calls that wait for a decision or for an approval to take effect, in their order. Errors: the mail cannot be read.
    pub async fn decidable_calls(&self) -> Result<Vec<DecidableCall>, Error> {
        let calls = self.state.turn_calls().iter();
        let calls: Vec<&Call> =
            calls.filter(|call| call.state == CallState::Asked || call.is_approved_only()).collect();
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let mail = self.unread_mail().await?;
        let mut found = Vec::new();
        for call in calls {
            found.push(self.decidable(call, self.open_standing(call, &mail)).await);
        }
        Ok(found)
    }

    /// Returns the call that a decision is about: the one with this number, or else the only one that waits. If none waits, an approval is
    /// about the only one that was denied since the last message. Errors: the log or the mail cannot be read.
    pub async fn choose_call(&self, call: Option<CallId>, ruling: Ruling) -> Result<CallChoice, Error> {
        let open = self.decidable_calls().await?;
        if let Some(id) = call {
            if let Some(found) = open.into_iter().find(|one| one.call == id) {
                return Ok(CallChoice::of(found, ruling));
            }
            let Some(row) = self.state.calls.get(id) else { return Ok(CallChoice::Unknown(id)) };
            let standing = match ruling {
                Ruling::Approve => self.settled(row, &self.unread_mail().await?),
                Ruling::Deny => CallStanding::Settled(SettledCall::NotAsked),
            };
            return Ok(CallChoice::of(self.decidable(row, standing).await, ruling));
        }
        let first = open.first().cloned();
        let mut found: Vec<DecidableCall> = open.into_iter().filter(|one| one.takes(ruling)).collect();
        let mut settled = Vec::new();
        if found.is_empty() {
            (found, settled) = self.denied_calls().await?.into_iter().partition(|one| one.takes(ruling));
        }
        let is = |one: &&DecidableCall, why| one.standing == CallStanding::Settled(why);
        let reopened = settled.iter().find(|one| is(one, SettledCall::Reopened { as_call: None }));
        let refused = reopened.or_else(|| settled.iter().rfind(|one| is(one, SettledCall::ToolMissing)));
        let refused = first.or_else(|| refused.cloned());
        Ok(match (found.len(), refused) {
            (1, _) => CallChoice::One(Box::new(found.swap_remove(0))),
            (0, Some(refused)) => CallChoice::Refused(Box::new(refused)),
            (0, None) => CallChoice::Nothing,
            _ => CallChoice::Several(found),
        })
    }

    /// Returns a call with other arguments than its own, to show it before it is approved with them.
    pub async fn with_arguments(&self, call: DecidableCall, arguments: &str) -> DecidableCall {
        let takes = self.taken_by(call.tool.as_deref().unwrap_or_default(), arguments).await;
        DecidableCall { arguments: Some(arguments.into()), takes, ..call }
    }

    /// Returns the calls that were denied since the last message of a person, in their order. An approval of such a call is no message.
    async fn denied_calls(&self) -> Result<Vec<DecidableCall>, Error> {
        let path: Vec<_> = self.state.tree.up(self.state.tree.head).collect();
        let is_message = |event| !matches!(self.bodies.get(event), Some(EventKind::CallReopened(_)));
        let last = path.iter().find(|(_, node)| node.kind == NodeKind::User && is_message(node.event));
        let last = last.map_or(Seq(0), |(seq, _)| *seq);
        let since = path.into_iter().rev().map(|(seq, _)| seq).filter(|seq| *seq > last);
        let denied = since.flat_map(|seq| self.state.calls.of(seq)).filter(|call| call.is_denied());
        let mail = self.unread_mail().await?;
        let mut found = Vec::new();
        for call in denied {
            found.push(self.decidable(call, self.settled(call, &mail)).await);
        }
        Ok(found)
    }

    /// Returns the standing of a call that waits, or was approved and has not started, once its mail is read: a denial overtakes an
    /// approval, and an approval that came too late does not count.
    fn open_standing(&self, call: &Call, mail: &[UnreadMail]) -> CallStanding {
        let due = approval_due(self.state, call.id);
        let is_denied = mail.iter().any(|one| matches!(one.mail, Mail::Deny { call: of, .. } if of == call.id));
        let is_approved = mail.iter().any(|one| {
            matches!(one.mail, Mail::Approve { call: of, .. } if of == call.id) && due.is_none_or(|due| one.at < due)
        });
        match due {
            _ if is_denied => CallStanding::Denied,
            _ if is_approved || call.state != CallState::Asked => CallStanding::Approved,
            Some(due) if due <= system_clock() => CallStanding::Expired(due),
            _ => CallStanding::Open,
        }
    }

    /// Returns the standing of a call that does not wait.
    fn settled(&self, call: &Call, mail: &[UnreadMail]) -> CallStanding {
        let is_reopened = || mail.iter().any(|one| matches!(one.mail, Mail::Reopen { call: of, .. } if of == call.id));
        CallStanding::Settled(match call.state {
            _ if call.is_denied() && lacking(call, self.bodies).is_some() => SettledCall::ToolMissing,
            _ if call.is_denied() && call.tool.is_none() => SettledCall::Forbidden,
            _ if call.is_denied() && is_reopened() => SettledCall::Reopened { as_call: None },
            _ if call.is_denied() => return CallStanding::Over { by_person: call.is_denied_by_person(self.bodies) },
            _ if call.reopened => SettledCall::Reopened { as_call: self.made_as(call.id) },
            CallState::Done(_) if call.attempt > 0 => SettledCall::Ran,
            CallState::Done(Resolution::Denied) => SettledCall::Denied,
            CallState::Done(_) => SettledCall::Ended,
            CallState::Started | CallState::Cancelling(_) | CallState::Probing => SettledCall::Running,
            CallState::Asked | CallState::Ready => SettledCall::NotAsked,
        })
    }

    /// Returns the number under which a denied call was made after its approval.
    fn made_as(&self, call: CallId) -> Option<CallId> {
        self.log.events.iter().find_map(|event| match &event.kind {
            EventKind::CallReopened(data) if data.of == call => Some(data.made()),
            _ => None,
        })
    }

    pub(super) async fn decidable(&self, call: &Call, standing: CallStanding) -> DecidableCall {
        let (body, planned, tool) =
            (self.bodies.get(call.arguments), self.planned(call.id), tool_of(call, self.bodies));
        let arguments = body.and_then(|kind| arguments_in(kind, call.id));
        DecidableCall {
            call: call.id,
            tool: tool.map(String::from),
            arguments: arguments.map(String::from),
            takes: self.taken_by(tool.unwrap_or_default(), arguments.unwrap_or_default()).await,
            folder: self.folder(),
            verdict: call.verdict().cloned(),
            places: match &call.judged {
                Some(judged) => judged.places.clone(),
                None => body.map_or_else(Vec::new, |kind| places_in(kind, call.id).to_vec()),
            },
            offer: planned.and_then(|planned| planned.offer.clone()),
            origins: planned.map(|planned| planned.origins.clone()).unwrap_or_default(),
            standing,
        }
    }

    /// Returns the narrowest rule that would allow calls like this one, a pattern per line, as it was offered when the call was judged.
    pub(super) fn offer(&self, call: CallId) -> Option<String> {
        self.planned(call)?.offer.clone()
    }

    /// Returns a call as it was judged when the model made it.
    fn planned(&self, call: CallId) -> Option<&'a PlannedCall> {
        match self.bodies.get(self.state.tree.node(call.seq)?.event)? {
            EventKind::ModelFinished(data) => data.call(call.index).map(|call| call.planned),
            _ => None,
        }
    }

    /// Returns the folder that the trace works in.
    fn folder(&self) -> Option<PathBuf> {
        match self.bodies.get(self.state.coming_spec()?.event)? {
            EventKind::SpecChanged(data) => Some(data.spec.workspace.clone().into()),
            _ => None,
        }
    }
}

impl CallChoice {
    fn of(call: DecidableCall, ruling: Ruling) -> CallChoice {
        match call.takes(ruling) {
            true => CallChoice::One(Box::new(call)),
            false => CallChoice::Refused(Box::new(call)),
        }
    }
}
