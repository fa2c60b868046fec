//! What is seen of a trace and of the agents that it has started: each line says whose it is.

use crate::ui::print::Printer;
use crate::ui::told::child_name;
use mainpath::runtime::Live;
use mainpath::types::{EventId, TraceId};
use mainpath::{Logs, Seen};
use std::collections::BTreeMap;

/// A printer for each trace that is watched.
pub struct Printers {
    root: TraceId,
    json: bool,
    all: BTreeMap<TraceId, Printer>,
}

impl Printers {
    /// None yet, of a trace that is watched with its agents.
    pub fn new(root: &TraceId, json: bool) -> Printers {
        Printers { root: root.clone(), json, all: BTreeMap::new() }
    }

    /// Shows what was seen. Errors: standard output cannot be written.
    pub async fn see(&mut self, logs: &Logs, seen: Seen) -> std::io::Result<()> {
        match seen {
            Seen::Opened { trace, from } => self.open(trace, from),
            Seen::Closed(trace) => self.close(&trace),
            Seen::Damaged { trace, problem } => {
                if let Some(printer) = self.of(&trace) {
                    printer.line("!", &problem);
                }
            }
            Seen::Event { trace, event } => {
                let json = self.json;
                let Some(printer) = self.of(&trace) else { return Ok(()) };
                if !json && printer.shows(event.id) {
                    printer.long = logs.long_answer(&event).await;
                }
                return printer.print(&Live::Event(event));
            }
            Seen::Quiet { .. } => {}
        }
        Ok(())
    }

    /// Begins with a trace: its events are printed from one on.
    fn open(&mut self, trace: TraceId, from: EventId) {
        let printer = Printer::new(&trace, self.json, from).with_words();
        let printer = if trace == self.root { printer } else { printer.of_agent(child_name(&self.root, &trace)) };
        self.all.insert(trace, printer);
        self.arrange();
    }

    /// Ends with an agent.
    fn close(&mut self, trace: &TraceId) {
        if let Some(mut printer) = self.all.remove(trace) {
            printer.end_line();
        }
        self.arrange();
    }

    /// Where agents work, no line of the trace itself is begun before it is complete.
    fn arrange(&mut self) {
        let others = self.all.len() > 1;
        if let Some(printer) = self.all.get_mut(&self.root) {
            printer.stand_between(others);
        }
    }

    /// The printer of a trace.
    pub fn of(&mut self, trace: &TraceId) -> Option<&mut Printer> {
        self.all.get_mut(trace)
    }

    /// The printers of all traces.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Printer> {
        self.all.values_mut()
    }
}
