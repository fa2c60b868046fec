//! A run: from what started it to its finish reason, with everything that its limits count.

pub(crate) mod apply;
pub(crate) mod decide;
pub(crate) mod progress;

use crate::Opening;
use mainpath_types::{FinishReason, Limits, Micros, Millis, Remedy, RunCause, Seq, Spent, SummaryMode, Usage};
use progress::Progress;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The run that is going on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its number, from 1.
    pub number: u32,
    /// Why it began.
    pub cause: RunCause,
    /// When it began.
    pub started: Millis,
    /// For how long it has waited for nothing but people.
    pub waited: Millis,
    /// Since when it has, if it does.
    pub waiting_since: Option<Millis>,
    /// What has to enter the tree before the first request.
    pub opening: Option<Opening>,
    /// The message that opened it.
    pub first: Option<Seq>,
    /// Model calls on the main path; a retry or a repair is none.
    pub turns: u32,
    /// Whether the latest of them has not been answered validly.
    pub asking: bool,
    /// Tool calls that were started.
    pub calls: u32,
    /// Agents that were started, those of its children included.
    pub children: u16,
    /// For how long they have worked, while the run's own clock stood: of those side by side the longest.
    pub children_ms: Millis,
    /// Tool calls by tool.
    pub tool_calls: BTreeMap<Arc<str>, u32>,
    /// Whether a call had to be skipped for the run's limit.
    pub calls_spent: bool,
    /// Whether a script of a skill had to be skipped for the run's limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scripts_spent: bool,
    /// What its budgets are charged for its model calls: of lost ones all that was set aside.
    pub usage: Usage,
    /// What that costs.
    pub cost: Micros,
    /// What they really used, as far as it is known.
    pub spent: Spent,
    /// Whether it gets anywhere.
    pub progress: Progress,
    /// Model requests that failed in a row.
    pub model_failures: u32,
    /// When to ask again after a failure.
    pub retry_at: Option<Millis>,
    /// What the next request does differently after a failure.
    pub remedy: Option<Remedy>,
    /// Set by the model's final answer, until something else is said: what the run ends with.
    pub answered: Option<FinishReason>,
    /// Set by a soft budget: one last answer has been asked for, and this is what the run will end with.
    pub last_answer: Option<FinishReason>,
    /// The number of turns at the last compaction.
    pub compacted_at: Option<u32>,
    /// Whether it was made.
    pub compacted: bool,
    /// How often in this turn the model has looked into what is no longer shown.
    pub asides: u32,
    /// The same in the whole run.
    pub all_asides: u32,
    /// Who is to summarise next, where a summary came to nothing.
    pub summary_next: Option<SummaryMode>,
    /// What the run will end with once nothing is open.
    pub closing: Option<FinishReason>,
}

impl Run {
    /// For how long it has worked by then, in milliseconds: waiting for nothing but people and children is no work of its own.
    pub fn worked(&self, at: Millis) -> Millis {
        let waits = self.waiting_since.map_or(0, |since| at.saturating_sub(since));
        at.saturating_sub(self.started).saturating_sub(self.waited).saturating_sub(waits)
    }

    /// Returns the time that its limit leaves by then, in milliseconds; `None` without a limit.
    pub fn time_left(&self, limits: &Limits, at: Millis) -> Option<Millis> {
        let used = self.worked(at).saturating_add(self.children_ms);
        limits.run_timeout_ms.map(|most| most.saturating_sub(used))
    }

    /// A run that has just begun.
    pub fn new(number: u32, cause: RunCause, started: Millis, opening: Option<Opening>) -> Run {
        Run {
            number,
            cause,
            started,
            waited: 0,
            waiting_since: None,
            opening,
            first: None,
            turns: 0,
            asking: false,
            calls: 0,
            children: 0,
            children_ms: 0,
            tool_calls: BTreeMap::new(),
            calls_spent: false,
            scripts_spent: false,
            usage: Usage::default(),
            cost: 0,
            spent: Spent::default(),
            progress: Progress::default(),
            model_failures: 0,
            retry_at: None,
            remedy: None,
            answered: None,
            last_answer: None,
            compacted_at: None,
            compacted: false,
            asides: 0,
            all_asides: 0,
            summary_next: None,
            closing: None,
        }
    }

    /// Books what a model call is charged, and what it really used.
    pub fn settle(&mut self, usage: Usage, cost: Micros, spent: Spent) {
        self.usage += usage;
        self.cost = self.cost.saturating_add(cost);
        self.spent += spent;
    }

    /// When its time is up; `None` while it waits for people, or without a limit.
    pub fn deadline(&self, limits: &Limits) -> Option<Millis> {
        let running = self.waiting_since.is_none() && self.closing.is_none();
        let timeout = limits.run_timeout_ms.filter(|_| running)?;
        let until = self.started.saturating_add(timeout).saturating_add(self.waited);
        Some(until.saturating_sub(self.children_ms))
    }

    /// Starts or ends the time that is not counted because only people are waited for.
    pub fn note_waiting(&mut self, waits: bool, now: Millis) {
        match (self.waiting_since, waits) {
            (None, true) => self.waiting_since = Some(now),
            (Some(since), false) => {
                self.waited = self.waited.saturating_add(now.saturating_sub(since));
                self.waiting_since = None;
            }
            _ => {}
        }
    }
}
