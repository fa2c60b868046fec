//! A side branch: where a summary is made, an answer repaired, or something looked up, while the main path is frozen.

use crate::{Call, CallState};
use mainpath_types::{BranchKind, EventId, Seq, SummaryMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A side branch: its messages hang below the frozen head and leave the main path again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// What it is for.
    pub kind: BranchKind,
    /// Who summarises, where it is for that.
    pub by: SummaryMode,
    /// The event that began it, where one did alone for that; else 0.
    pub opened: EventId,
    /// The size of the plan that this event holds.
    pub plan_tokens: u32,
    /// The request of a person's that it follows.
    pub asked: Option<EventId>,
    /// Whether the model has yet to be asked for the summary itself.
    pub reflects: bool,
    /// Whether it was opened in the middle of a turn, since the request does not fit.
    pub squeezes: bool,
    /// Which messages of the main path its requests do not show.
    pub hidden: Option<Hidden>,
    /// Its tip.
    pub head: Seq,
    /// Model calls on it.
    pub rounds: u32,
    /// The event that holds what it was for, once it is there.
    pub result: Option<(EventId, u32)>,
    /// Whether its aim is reached.
    pub done: bool,
    /// Whether it cannot be reached.
    pub failed: bool,
}

impl Branch {
    /// A branch that has just begun.
    pub(crate) fn new(kind: BranchKind, head: Seq) -> Branch {
        let by = SummaryMode::default();
        Branch {
            kind,
            by,
            opened: 0,
            plan_tokens: 0,
            asked: None,
            reflects: false,
            squeezes: false,
            hidden: None,
            head,
            rounds: 0,
            result: None,
            done: false,
            failed: false,
        }
    }

    /// Whether rules summarise on it, and no model.
    pub(crate) fn is_by_rules(&self) -> bool {
        self.kind == BranchKind::Compaction && self.by == SummaryMode::Rules
    }

    /// Whether no more than half of the conversation is to be left.
    pub(crate) fn keeps_less(&self) -> bool {
        self.squeezes || self.asked.is_some()
    }

    /// Whether a call may start on it. Nobody is asked to approve one for a summary.
    pub(crate) fn lets(&self, call: &Call) -> bool {
        match (self.kind, self.by) {
            (BranchKind::Repair | BranchKind::Aside, _) => true,
            (BranchKind::Compaction, SummaryMode::Agent) => {
                call.effect.is_read_only() && call.state != CallState::Asked
            }
            (BranchKind::Compaction, SummaryMode::Rules | SummaryMode::Single) => false,
        }
    }
}

/// The newest messages of the main path, where a request for a summary does not show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hidden {
    /// The first of them.
    pub from: Seq,
    /// The first message of the side branch.
    pub until: Seq,
    /// Their size in tokens, as they would be shown.
    pub tokens: u64,
}

impl Hidden {
    /// Whether a message is one of them.
    pub fn has(&self, seq: Seq) -> bool {
        (self.from..self.until).contains(&seq)
    }
}
