//! The calls that a run waits with for a person's decision: its own, and those of the agents that it has started.

use crate::exit::Failure;
use crate::traces::taking::taken;
use crate::ui::print::{Made, Printer};
use crate::ui::text::one_line;
use crate::ui::whole::whole;
use mainpath::Logs;
use mainpath::core::pending;
use mainpath::runtime::{Live, Waiting};
use mainpath::types::{CallId, EventId, TraceId};
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
            found.extend(calls_of(&reader, child, &Waiting::among(&pending(&state))));
            above.push(child.clone());
        }
    }
    Ok(found)
}

fn calls_of(printer: &Printer, trace: &TraceId, waiting: &[Waiting]) -> Vec<Wanted> {
    let wanted = |call: CallId, asks| Wanted {
        at: CallAt { trace: trace.clone(), call },
        made: printer.call(call),
        folder: printer.folder.clone(),
        asks,
        takes: Vec::new(),
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
