//! Child agents: the table of them, what each is given of its parent's budgets, and how their work comes back.
//!
//! A call that starts agents asks for one or several. Each gets its own row, its own trace and a share of what is left of the run's
//! budgets; the share is taken from the budgets until the child has ended, and then what it used. Once all have ended their results
//! are handed back together, as the result of the call.

pub(crate) mod apply;
pub(crate) mod decide;
pub(crate) mod pending;
pub(crate) mod share;

use mainpath_types::{CallId, ChildMode, ChildOutcome, ChildPatch, ChildPlace, Millis, Share, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// So many collaborators a reminder names.
const MOST_LATELY: usize = 8;

/// All children of a trace, in the order in which they were started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Children {
    /// Their rows.
    pub list: Vec<Child>,
    /// The time in the newest id: ids of children never repeat.
    pub latest: Millis,
    /// What those that worked in copies have changed, the newest of each.
    pub patches: Vec<ChildPatch>,
}

/// One child, for one call: a trace that several calls go on with has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Child {
    /// The call that started it.
    pub call: CallId,
    /// Which of the call's children, from 0.
    pub nth: u16,
    /// How many the call asks for.
    pub of: u16,
    /// Its trace; `None` where none could be started.
    pub trace: Option<TraceId>,
    /// The time at which its work for the call started; 0 where none could be started.
    #[serde(default)]
    pub started: Millis,
    /// What it is for.
    pub mode: ChildMode,
    /// Its task in short.
    pub task: Arc<str>,
    /// Where it works.
    pub place: ChildPlace,
    /// The event of its log after which this work begins.
    pub after: u64,
    /// What it holds of its parent's budgets; nothing once it has ended.
    pub share: Share,
    /// How it ended; `None` while it has not.
    pub outcome: Option<ChildOutcome>,
    /// For how long it has worked, once it has ended.
    pub active_ms: Millis,
}

impl Child {
    /// Whether it has not ended.
    pub fn is_open(&self) -> bool {
        self.outcome.is_none()
    }
}

impl Children {
    /// The children of a call, in order.
    pub fn of(&self, call: CallId) -> impl Iterator<Item = &Child> {
        // The newest turn is asked about; its calls start children side by side.
        let from = self.list.iter().rposition(|child| child.call.seq < call.seq).map_or(0, |at| at + 1);
        self.list.iter().skip(from).filter(move |child| child.call == call)
    }

    /// A child of a call.
    pub fn get(&self, call: CallId, nth: u16) -> Option<&Child> {
        self.of(call).find(|child| child.nth == nth)
    }

    /// The newest work of each of the traces that worked last, oldest first: who there is to go on with.
    pub(crate) fn lately(&self) -> Vec<&Child> {
        let mut found: Vec<&Child> = Vec::new();
        for child in self.list.iter().rev().filter(|child| child.trace.is_some()) {
            if found.len() < MOST_LATELY && !found.iter().any(|known| known.trace == child.trace) {
                found.push(child);
            }
        }
        found.reverse();
        found
    }

    /// Those that have not ended.
    pub fn open(&self) -> impl Iterator<Item = &Child> {
        self.list.iter().filter(|child| child.is_open())
    }
}
