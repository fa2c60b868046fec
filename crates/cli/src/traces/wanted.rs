//! The calls that a run waits with for a person's decision: its own, and those of the agents that it has started.

use crate::exit::Failure;
use crate::traces::mail::unread;
use crate::traces::taking::taken;
use crate::ui::print::{Made, Printer};
use crate::ui::text::one_line;
use crate::ui::whole::whole;
use mainpath::Logs;
use mainpath::core::pending;
use mainpath::runtime::{Live, Mail, Waiting};
use mainpath::types::{CallId, EventId, Millis, TraceId};
use std::path::PathBuf;
use std::sync::Arc;

/// A call, whichever trace it is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallAt {
    /// The trace.
    pub trace: TraceId,
    /// The call.
    pub call: CallId,
}

/// A call that waits for a person's decision.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which.
    pub at: CallAt,
    /// As the model made it.
    pub made: Made,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// Whether the call itself asks, and wants an answer rather than leave.
    pub asks: bool,
    /// What it takes from an agent, line by line.
    pub takes: Vec<String>,
    /// Whether somebody has decided already, which is still to be read.
    pub is_settled: bool,
}

impl Wanted {
    /// All that it would do, line by line.
    pub fn whole(&self) -> Vec<String> {
        whole(&self.made.arguments, Some(&self.folder)).into_iter().chain(self.takes.iter().cloned()).collect()
    }
}

/// The calls that wait in what a trace waits for; `own` has read the trace's log.
pub async fn wanted(logs: &Logs, own: &Printer, trace: &TraceId, waiting: &[Waiting]) -> Result<Vec<Wanted>, Failure> {
    let mut found = calls_of(own, trace, waiting);
    if waiting.iter().any(|one| matches!(one, Waiting::Child(_))) {
        found.extend(below(logs, trace).await?);
    }
    for Wanted { at, made, takes, .. } in &mut found {
        *takes = taken(logs, &at.trace, &made.name, &made.arguments).await;
    }
    Ok(found)
}

/// The calls that wait in the agents that a trace has started, and in theirs.
pub async fn below(logs: &Logs, trace: &TraceId) -> Result<Vec<Wanted>, Failure> {
    let (mut found, mut above) = (Vec::new(), vec![trace.clone()]);
    while let Some(trace) = above.pop() {
        let (_, state, _) = logs.read(&trace).await?;
        for child in state.children.open().filter_map(|child| child.trace.as_ref()) {
            // One that was only just started has no log yet.
            let (log, state) = match logs.read(child).await {
                Ok((log, state, _)) => (log, state),
                Err(error) if child.elsewhere().is_some() => {
                    eprintln!("! {}", one_line(error.message()));
                    continue;
                }
                Err(_) => continue,
            };
            let mut reader = Printer::new(child, false, EventId::MAX);
            for event in log.events {
                reader.print(&Live::Event(Arc::new(event)))?;
            }
            let mail = unread(logs, child, &state).await?;
            let calls = calls_of(&reader, child, &Waiting::among(&pending(&state)));
            found.extend(calls.into_iter().map(|one| Wanted { is_settled: is_settled(&mail, one.at.call), ..one }));
            above.push(child.clone());
        }
    }
    Ok(found)
}

/// The agents below a trace whose calls wait for an answer, or else for a decision. Those that have one are left out where others have none.
pub async fn agents_that_wait(logs: &Logs, trace: &TraceId, asks: bool) -> Result<Vec<TraceId>, Failure> {
    let mut found = below(logs, trace).await?;
    found.retain(|wanted| wanted.asks == asks);
    if found.iter().any(|wanted| !wanted.is_settled) {
        found.retain(|wanted| !wanted.is_settled);
    }
    let mut agents: Vec<TraceId> = found.into_iter().map(|wanted| wanted.at.trace).collect();
    agents.dedup();
    Ok(agents)
}

/// Whether what waits in a mailbox decides on a call.
fn is_settled(mail: &[(Millis, Mail)], of: CallId) -> bool {
    let decides = |mail: &Mail| matches!(mail, Mail::Approve { call, .. } | Mail::Deny { call, .. } | Mail::Answer { call, .. } if *call == of);
    mail.iter().any(|(_, mail)| decides(mail))
}

fn calls_of(printer: &Printer, trace: &TraceId, waiting: &[Waiting]) -> Vec<Wanted> {
    let wanted = |call: CallId, asks| Wanted {
        at: CallAt { trace: trace.clone(), call },
        made: printer.call(call),
        folder: printer.folder.clone(),
        asks,
        takes: Vec::new(),
        is_settled: false,
    };
    let approvals = waiting.iter().filter_map(|one| match one {
        Waiting::Approval(call) => Some(wanted(*call, false)),
        Waiting::Answer(_) | Waiting::Child(_) | Waiting::Timer => None,
    });
    let answers = waiting.iter().filter_map(|one| match one {
        Waiting::Answer(call) => Some(wanted(*call, true)),
        Waiting::Approval(_) | Waiting::Child(_) | Waiting::Timer => None,
    });
    approvals.chain(answers).collect()
}
