//! The agents that a trace has started, and theirs, as a tree.

use crate::exit::Failure;
use crate::ui::text::{count, one_line, short, spent};
use crate::ui::told::child_name;
use mainpath::Logs;
use mainpath::types::{ChildOutcome, Event, EventKind, SubTraceCompleted, SubTraceStarted, TraceId};

/// A line for each, those of a child below it.
pub async fn children(logs: &Logs, trace: &TraceId, events: &[Event]) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    let mut next = of(trace, events, 0);
    next.reverse();
    while let Some(child) = next.pop() {
        lines.push(child.line());
        let id = &child.started.child;
        // What it had started is told where it began.
        if child.started.continued {
            continue;
        }
        if let Ok((log, ..)) = logs.read(id).await {
            let below = of(id, &log.events, child.level + 1);
            next.extend(below.into_iter().rev());
        }
    }
    Ok(lines)
}

/// A child in the tree.
struct Placed {
    parent: TraceId,
    level: usize,
    started: SubTraceStarted,
    ended: Option<SubTraceCompleted>,
}

fn of(parent: &TraceId, events: &[Event], level: usize) -> Vec<Placed> {
    let mut found: Vec<Placed> = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::SubTraceStarted(data) => {
                found.push(Placed { parent: parent.clone(), level, started: data.clone(), ended: None });
            }
            EventKind::SubTraceCompleted(data) => {
                let is_it = |one: &&mut Placed| one.started.call == data.call && one.started.nth == data.nth;
                if let Some(one) = found.iter_mut().find(is_it) {
                    one.ended = Some(data.clone());
                }
            }
            _ => {}
        }
    }
    found
}

impl Placed {
    fn line(&self) -> String {
        let SubTraceStarted { child, task, continued, .. } = &self.started;
        let again = if *continued { "continued: " } else { "" };
        let (mark, used) = match &self.ended {
            None => ("…", String::new()),
            Some(ended) => {
                let mark = if ended.outcome == ChildOutcome::Result { "✓" } else { "✗" };
                let turns = count(ended.handed.turns.into(), "turn");
                (mark, format!("  ({turns}, {})", spent(ended.handed.spent)))
            }
        };
        let indent = "  ".repeat(self.level);
        one_line(&format!("{indent}{mark} {}  {again}{}{used}", child_name(&self.parent, child), short(task, 80)))
    }
}
