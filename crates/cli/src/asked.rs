//! The calls of a trace that wait for a person's decision, and what was decided on each that nobody has read yet.

use crate::exit::Failure;
use crate::logs::Logs;
use crate::run::unread;
use crate::text::{gist, plain};
use mainpath_core::{Bodies, Call, CallState, NodeKind, State, approval_due, arguments_in, is_denied};
use mainpath_runtime::Mail;
use mainpath_store::scheduler::system_clock;
use mainpath_types::{CallId, Millis, Seq, TraceId, Verdict, format_time};

/// A call that has not started since somebody was to be asked, or was asked, about it.
pub struct Asked {
    /// Which.
    pub call: CallId,
    /// Its tool, and what it is about.
    pub what: String,
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
    Over,
}

/// The calls that were denied since somebody last said something, and can still be approved: of those that no approval waits for.
pub async fn denied(logs: &Logs, state: &State, bodies: &dyn Bodies) -> Result<Vec<Asked>, Failure> {
    let trace = &state.trace;
    let mail = unread(logs, trace, state).await?;
    let approved =
        |call: CallId| mail.iter().any(|(_, mail)| matches!(mail, Mail::Reopen { call: of, .. } if *of == call));
    let path: Vec<_> = state.tree.up(state.tree.head).collect();
    let said = path.iter().find(|(_, node)| node.kind == NodeKind::User).map_or(Seq(0), |(seq, _)| *seq);
    let calls = path.iter().rev().filter(|(seq, _)| *seq > said).flat_map(|(seq, _)| state.calls.of(*seq));
    let denied = calls.filter(|call| is_denied(call) && call.tool.is_some() && !approved(call.id));
    Ok(denied
        .map(|call| Asked {
            call: call.id,
            what: what(call, bodies),
            verdict: None,
            places: Vec::new(),
            standing: Standing::Over,
        })
        .collect())
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
    let asked = calls.map(|call| Asked {
        call: call.id,
        what: what(call, bodies),
        verdict: call.verdict().cloned(),
        places: call.judged.as_ref().map_or_else(Vec::new, |judged| judged.places.clone()),
        standing: standing(call.id, call.state == CallState::Asked),
    });
    Ok(asked.collect())
}

/// A call in a few words: its tool, and what it is about.
pub fn what(call: &Call, bodies: &dyn Bodies) -> String {
    let tool = call.tool.as_deref().unwrap_or("an unknown tool");
    match bodies.get(call.arguments).and_then(|kind| arguments_in(kind, call.id)) {
        Some(arguments) => format!("{}: {}", plain(tool), gist(arguments)),
        None => plain(tool),
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
        (self.standing == Standing::Open).then(|| format!("call {call} ({what}) waits for an approval: {how}"))
    }

    /// A line for people: what is to be done, or what has been.
    pub fn line(&self, trace: &TraceId) -> String {
        let Asked { call, what, standing, .. } = self;
        let then = format!("it goes on with: mainpath resume {trace}");
        match standing {
            Standing::Open => {
                let how = format!("mainpath approve {trace} --call {call} && mainpath resume {trace}");
                format!("call {call} ({what}) waits for an approval: {how}")
            }
            Standing::Approved => format!("call {call} ({what}) has been approved and has not started; {then}"),
            Standing::Denied => format!("call {call} ({what}) has been denied; {then}"),
            Standing::Over => {
                let how = format!("mainpath approve {trace} --call {call} && mainpath resume {trace}");
                format!("call {call} ({what}) was denied; to have it made after all: {how}")
            }
            Standing::Expired(due) => {
                let due = format_time(*due);
                format!("call {call} ({what}) has expired: nobody decided on it by {due}, so it is denied; {then}")
            }
        }
    }
}
