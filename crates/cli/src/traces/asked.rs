//! The calls of a trace that wait for a person's decision, and what was decided on each that nobody has read yet.

use crate::exit::Failure;
use crate::traces::mail::unread;
use crate::traces::which::waiting_elsewhere;
use crate::ui::text::{gist, one_line};
use crate::ui::whole::whole;
use mainpath::core::{
    Bodies, Call, CallState, NodeKind, State, approval_due, arguments_in, lacking, places_in, tool_of,
};
use mainpath::runtime::Mail;
use mainpath::store::scheduler::system_clock;
use mainpath::types::{CallId, EventKind, Millis, Resolution, Seq, Spec, TraceId, Verdict, format_time};
use mainpath::{Logs, spec_of};
use std::path::{Path, PathBuf};

/// A call that has not started since somebody was to be asked, or was asked, about it.
pub struct Asked {
    /// Which.
    pub call: CallId,
    /// Its tool, and what it is about.
    pub what: String,
    /// All that it would do, line by line.
    pub whole: Vec<String>,
    /// What rules said of it.
    pub verdict: Option<Verdict>,
    /// Where its paths lead, if that is not where they are written.
    pub places: Vec<String>,
    /// Where it stands.
    pub standing: Standing,
}

/// Where such a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has decided.
    Open,
    /// Somebody has approved it, and it has not started.
    Approved,
    /// Somebody has denied it, which is still to be read.
    Denied,
    /// Nobody decided by this time.
    Expired(Millis),
    /// It was denied, and is over; it can still be approved, and is then made after all.
    Over {
        /// A person denied it.
        by_person: bool,
    },
}

/// The calls that were denied since somebody last said something, and can still be approved: of those that no approval waits for.
pub async fn denied(logs: &Logs, state: &State, bodies: &dyn Bodies) -> Result<Vec<Asked>, Failure> {
    let mail = unread(logs, &state.trace, state).await?;
    let calls = denied_lately(state, bodies);
    let calls =
        calls.filter(|call| call.tool.is_some() && lacking(call, bodies).is_none() && !is_reopened(&mail, call.id));
    Ok(calls.map(|call| over(call, bodies)).collect())
}

/// A call that is over: it was denied.
fn over(call: &Call, bodies: &dyn Bodies) -> Asked {
    let (what, whole) = (what(call, bodies), whole_of(call, bodies, None));
    let standing = Standing::Over { by_person: call.is_denied_by_person(bodies) };
    Asked { call: call.id, what, whole, verdict: None, places: Vec::new(), standing }
}

/// All that a call would do, in the folder in which it would work.
pub fn whole_of(call: &Call, bodies: &dyn Bodies, folder: Option<&Path>) -> Vec<String> {
    let arguments = bodies.get(call.arguments).and_then(|kind| arguments_in(kind, call.id));
    arguments.map(|arguments| whole(arguments, folder)).unwrap_or_default()
}

/// The folder that a trace works in.
pub fn folder_of(state: &State, bodies: &dyn Bodies) -> Option<PathBuf> {
    match bodies.get(state.coming_spec()?.event)? {
        EventKind::SpecChanged(data) => Some(data.spec.workspace.clone().into()),
        _ => None,
    }
}

/// The calls that were denied since somebody last said something. That a call is made after all is nothing that somebody said.
fn denied_lately<'a>(state: &'a State, bodies: &'a dyn Bodies) -> impl Iterator<Item = &'a Call> {
    let path: Vec<_> = state.tree.up(state.tree.head).collect();
    let is_said = |event| !matches!(bodies.get(event), Some(EventKind::CallReopened(_)));
    let said = path.iter().find(|(_, node)| node.kind == NodeKind::User && is_said(node.event));
    let said = said.map_or(Seq(0), |(seq, _)| *seq);
    let since = path.into_iter().rev().map(|(seq, _)| seq).filter(move |seq| *seq > said);
    since.flat_map(|seq| state.calls.of(seq)).filter(|call| call.is_denied())
}

/// Whether somebody has approved a denied call, which is still to be read.
fn is_reopened(mail: &[(Millis, Mail)], call: CallId) -> bool {
    mail.iter().any(|(_, mail)| matches!(mail, Mail::Reopen { call: of, .. } if *of == call))
}

/// Why no call of a trace needs approval: it was given, its tool is missing, or nothing was asked.
pub async fn none_waits(logs: &Logs, state: &State, bodies: &dyn Bodies) -> Result<String, Failure> {
    let trace = &state.trace;
    let mail = unread(logs, trace, state).await?;
    if let Some(call) = denied_lately(state, bodies).find(|call| is_reopened(&mail, call.id)) {
        return Ok(Asked { standing: Standing::Approved, ..over(call, bodies) }.line(trace));
    }
    let of = denied_lately(state, bodies).last();
    match of.and_then(|call| Some((call, lacking(call, bodies)?))) {
        Some((call, tool)) => lacks(logs, trace, call, tool).await,
        None => Ok(format!("nothing to approve in {trace}{}", waiting_elsewhere(logs, trace).await?)),
    }
}

/// That a call was denied for its tool, which the run was not given, and how it is given.
async fn lacks(logs: &Logs, trace: &TraceId, call: &Call, tool: &str) -> Result<String, Failure> {
    let (log, ..) = logs.read(trace).await?;
    let id = call.id;
    let how = with_tool(trace, spec_of(&log), tool);
    Ok(format!("call {id} was denied because {} is not among the tools of this run; to add it: {how}", one_line(tool)))
}

/// Why a call that is there does not wait for an approval; `None` if it was denied and can be approved.
pub async fn why_not(logs: &Logs, state: &State, bodies: &dyn Bodies, call: &Call) -> Result<Option<String>, Failure> {
    let (trace, id, what) = (&state.trace, call.id, what(call, bodies));
    let then = format!("continue with: mainpath resume {}", trace.root());
    if call.is_denied() {
        if let Some(tool) = lacking(call, bodies) {
            return lacks(logs, trace, call, tool).await.map(Some);
        }
        if call.tool.is_none() {
            return Ok(Some(format!(
                "call {id} ({what}) is denied by a rule, and approving cannot change that; see mainpath policy list"
            )));
        }
        let is_read = !is_reopened(&unread(logs, trace, state).await?, id);
        return Ok((!is_read).then(|| format!("call {id} ({what}) has been approved already; {then}")));
    }
    let made = if call.reopened { made_as(logs, trace, id).await? } else { None };
    let why = match call.state {
        _ if made.is_some() => "has been approved already".to_string(),
        CallState::Done(_) if call.attempt > 0 => "has already run".into(),
        CallState::Done(_) if call.reopened => format!("has been approved already; {then}"),
        CallState::Done(Resolution::Denied) => "has been denied already".into(),
        CallState::Done(_) => "has ended already".into(),
        CallState::Started | CallState::Cancelling(_) | CallState::Probing => "is running already".into(),
        CallState::Asked | CallState::Ready => "is not waiting for approval".into(),
    };
    let made = made.map(|made| format!(", and ran as call {made}")).unwrap_or_default();
    Ok(Some(format!("call {id} ({what}) {why}{made}")))
}

/// Under which number a call was made that had been denied.
async fn made_as(logs: &Logs, trace: &TraceId, call: CallId) -> Result<Option<CallId>, Failure> {
    let (log, ..) = logs.read(trace).await?;
    Ok(log.events.iter().find_map(|event| match &event.kind {
        EventKind::CallReopened(data) if data.of == call => Some(data.made()),
        _ => None,
    }))
}

/// The calls of a trace that a decision can still be about, in order.
pub async fn asked(logs: &Logs, state: &State, bodies: &dyn Bodies) -> Result<Vec<Asked>, Failure> {
    let trace = &state.trace;
    let mail = unread(logs, trace, state).await?;
    let now = system_clock();
    let standing = |call: CallId, is_open: bool| {
        let due = approval_due(state, call);
        // As it will be read: a denial overtakes an approval, and one that came too late is none.
        let denied = mail.iter().any(|(_, mail)| matches!(mail, Mail::Deny { call: of, .. } if *of == call));
        let approved = mail.iter().any(|(at, mail)| {
            matches!(mail, Mail::Approve { call: of, .. } if *of == call) && due.is_none_or(|due| *at < due)
        });
        match due {
            _ if denied => Standing::Denied,
            _ if approved || !is_open => Standing::Approved,
            Some(due) if due <= now => Standing::Expired(due),
            _ => Standing::Open,
        }
    };
    let calls = state.turn_calls().iter().filter(|call| call.state == CallState::Asked || call.is_approved_only());
    let folder = folder_of(state, bodies);
    let asked = calls.map(|call| Asked {
        call: call.id,
        what: what(call, bodies),
        whole: whole_of(call, bodies, folder.as_deref()),
        verdict: call.verdict().cloned(),
        places: places_of(call, bodies),
        standing: standing(call.id, call.state == CallState::Asked),
    });
    Ok(asked.collect())
}

/// Where the paths of a call lead and what it runs, as rules saw it: of one that was denied, then.
pub fn places_of(call: &Call, bodies: &dyn Bodies) -> Vec<String> {
    match &call.judged {
        Some(judged) => judged.places.clone(),
        None => bodies.get(call.arguments).map_or_else(Vec::new, |kind| places_in(kind, call.id).to_vec()),
    }
}

/// A call in a few words: its tool, and what it is about.
pub fn what(call: &Call, bodies: &dyn Bodies) -> String {
    let tool = tool_of(call, bodies).unwrap_or("an unknown tool");
    match bodies.get(call.arguments).and_then(|kind| arguments_in(kind, call.id)) {
        Some(arguments) => format!("{}: {}", one_line(tool), gist(arguments)),
        None => one_line(tool),
    }
}

impl Asked {
    /// Which call it is, in a few words.
    pub fn named(&self) -> String {
        format!("{} ({})", self.call, self.what)
    }

    /// The same for who watches a run whose process goes on: somebody may be asked there.
    pub fn question(&self, trace: &TraceId) -> Option<String> {
        let Asked { call, what, .. } = self;
        let how = format!("at its terminal, or mainpath approve {trace} --call {call}");
        (self.standing == Standing::Open).then(|| format!("call {call} ({what}) needs approval: {how}"))
    }

    /// Where it stands, in a few words.
    pub fn standing_in_words(&self) -> String {
        let Asked { call, what, standing, .. } = self;
        match standing {
            Standing::Open => format!("call {call} ({what}) waits for your answer"),
            Standing::Approved => format!("call {call} ({what}) has been approved and has not started"),
            Standing::Denied | Standing::Over { .. } => format!("call {call} ({what}) has been denied"),
            Standing::Expired(_) => format!("call {call} ({what}) expired: nobody answered in time"),
        }
    }

    /// A line for people: what is to be done, or what has been.
    pub fn line(&self, trace: &TraceId) -> String {
        let Asked { call, what, standing, .. } = self;
        let then = format!("continue with: mainpath resume {}", trace.root());
        match standing {
            Standing::Open => {
                let how = approve_command(trace, *call, false);
                format!("call {call} ({what}) needs approval: {how}")
            }
            Standing::Approved => format!("call {call} ({what}) has been approved and has not started; {then}"),
            Standing::Denied => format!("call {call} ({what}) has been denied; {then}"),
            Standing::Over { by_person } => {
                let how = approve_command(trace, *call, *by_person);
                format!("call {call} ({what}) was denied; to run it after all: {how}")
            }
            Standing::Expired(due) => {
                let due = format_time(*due);
                format!("call {call} ({what}) expired: nobody answered by {due}, so it is denied; {then}")
            }
        }
    }
}

/// The command that approves a call, and what continues the trace then. `by_person`: a person has denied the call.
pub fn approve_command(trace: &TraceId, call: CallId, by_person: bool) -> String {
    let reopen = if by_person { " --reopen" } else { "" };
    format!("mainpath approve {trace} --call {call}{reopen}{}", and_resume(trace))
}

/// What goes on with a trace after a decision. One of another machine goes on there by itself.
pub fn and_resume(trace: &TraceId) -> String {
    match trace.elsewhere() {
        Some(_) => String::new(),
        None => format!(" && mainpath resume {}", trace.root()),
    }
}

/// The command that gives a trace one more tool.
pub fn with_tool(trace: &TraceId, spec: Option<&Spec>, tool: &str) -> String {
    let given = spec.map(|spec| spec.allowed_tools.as_slice()).unwrap_or_default();
    let tools: Vec<&str> = given.iter().map(String::as_str).chain([tool]).collect();
    format!("mainpath resume {trace} --tools {}", one_line(&tools.join(",")))
}
