//! What each tool did, counted from a log: how often it was called, how often that went well, how long it took.

use crate::internal::registry::is_look_back;
use mainpath_types::{CallId, CallResolved, CallRetried, Event, EventKind, RecordedCall, Resolution, ResolveCause};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The calls of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStats {
    /// How often it was asked for.
    pub calls: u32,
    /// How often it succeeded.
    pub ok: u32,
    /// How often it failed, by error code. `refused`: the arguments were wrong, so it never ran.
    pub errors: BTreeMap<String, u32>,
    /// How often a rule, a hook or a person said no.
    pub denied: u32,
    /// Calls that a limit or a new message kept from starting.
    pub skipped: u32,
    /// Calls that were ended, and those of which nobody knows how they ended.
    pub interrupted: u32,
    /// Attempts that failed for the moment and were made again.
    pub retries: u32,
    /// Milliseconds of all calls that ran together.
    pub total_ms: u64,
    /// Milliseconds of the longest.
    pub longest_ms: u64,
    /// How often it really ran to an end, good or bad.
    pub ran: u32,
    /// How often it ran and was ended, or nobody knows how it ended.
    #[serde(default)]
    pub broken_off: u32,
    /// Milliseconds of those.
    #[serde(default)]
    pub broken_off_ms: u64,
}

impl ToolStats {
    /// How many of the calls that ran to an end went well, from 0 to 1; `None` if none did.
    pub fn success_rate(&self) -> Option<f64> {
        (self.ran > 0).then(|| f64::from(self.ok) / f64::from(self.ran))
    }

    /// How long a call takes on average, in milliseconds.
    pub fn mean_ms(&self) -> Option<u64> {
        self.total_ms.checked_div(self.ran.into())
    }

    /// Takes in the counts of another trace.
    pub fn add(&mut self, other: &ToolStats) {
        let ToolStats {
            calls,
            ok,
            errors,
            denied,
            skipped,
            interrupted,
            retries,
            total_ms,
            longest_ms,
            ran,
            broken_off,
            broken_off_ms,
        } = other;
        for (mine, more) in [
            (&mut self.calls, calls),
            (&mut self.ok, ok),
            (&mut self.denied, denied),
            (&mut self.skipped, skipped),
            (&mut self.interrupted, interrupted),
            (&mut self.retries, retries),
            (&mut self.ran, ran),
            (&mut self.broken_off, broken_off),
        ] {
            *mine = mine.saturating_add(*more);
        }
        self.total_ms = self.total_ms.saturating_add(*total_ms);
        self.broken_off_ms = self.broken_off_ms.saturating_add(*broken_off_ms);
        self.longest_ms = self.longest_ms.max(*longest_ms);
        for (code, times) in errors {
            *self.errors.entry(code.clone()).or_default() += times;
        }
    }
}

/// The calls of a log by tool. Names that no tool has are counted together as `(unknown)`: they are the model's words.
pub fn by_tool(events: &[Event]) -> BTreeMap<String, ToolStats> {
    let mut tools = Tools::default();
    for event in events {
        match &event.kind {
            // What another trace did is counted there.
            EventKind::Forked(_) => tools.begin(),
            kind => tools.count(kind),
        }
    }
    tools.stats
}

/// Counts calls as they come.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub stats: BTreeMap<String, ToolStats>,
    /// The tools of all calls so far: one that was denied may be made in a later run.
    names: HashMap<CallId, String>,
}

impl Tools {
    /// Counts from here on.
    pub fn begin(&mut self) {
        self.stats.clear();
    }

    /// Takes in what an event says of calls, and counts it.
    pub fn count(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ModelFinished(data) => {
                for RecordedCall { id, planned, .. } in data.calls() {
                    // To look into what is no longer shown is no work.
                    if data.aside || planned.tool.as_deref().is_some_and(is_look_back) {
                        continue;
                    }
                    let tool = planned.tool.clone().unwrap_or_else(|| "(unknown)".into());
                    let entry = self.stats.entry(tool.clone()).or_default();
                    entry.calls += 1;
                    match planned.ended() {
                        Some((Resolution::Ok, _)) => entry.ok += 1,
                        Some((Resolution::Denied, _)) => entry.denied += 1,
                        Some(_) => *entry.errors.entry("refused".into()).or_default() += 1,
                        None => {}
                    }
                    self.names.insert(id, tool);
                }
            }
            EventKind::CallReopened(data) => {
                if let Some(tool) = self.names.get(&data.of).cloned() {
                    self.stats.entry(tool.clone()).or_default().calls += 1;
                    self.names.insert(data.made(), tool);
                }
            }
            EventKind::CallRetried(CallRetried { call, .. }) => {
                if let Some(entry) = self.names.get(call).and_then(|tool| self.stats.get_mut(tool)) {
                    entry.retries += 1;
                }
            }
            EventKind::CallResolved(data) => {
                if let Some(entry) = self.names.get(&data.call).and_then(|tool| self.stats.get_mut(tool)) {
                    resolved(entry, data);
                }
            }
            _ => {}
        }
    }
}

fn resolved(entry: &mut ToolStats, data: &CallResolved) {
    match data.resolution {
        Resolution::Ok => entry.ok += 1,
        Resolution::Error => {
            let code = data.output.as_ref().and_then(|output| output.error.clone());
            let late = (data.cause == ResolveCause::Timeout).then(|| "timeout".to_string());
            *entry.errors.entry(late.or(code).unwrap_or_else(|| "error".into())).or_default() += 1;
        }
        Resolution::Denied => entry.denied += 1,
        Resolution::Skipped => entry.skipped += 1,
        Resolution::Interrupted | Resolution::Unknown => {
            entry.interrupted += 1;
            if data.attempt > 0 {
                entry.broken_off += 1;
                entry.broken_off_ms = entry.broken_off_ms.saturating_add(data.elapsed_ms);
            }
        }
    }
    if data.attempt > 0 && matches!(data.resolution, Resolution::Ok | Resolution::Error) {
        entry.ran += 1;
        entry.total_ms = entry.total_ms.saturating_add(data.elapsed_ms);
        entry.longest_ms = entry.longest_ms.max(data.elapsed_ms);
    }
}
