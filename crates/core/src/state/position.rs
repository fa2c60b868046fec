//! How far a log and a mailbox have been read.

use mainpath_types::{EventId, FinishReason, MailId, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How far a log and its mailbox have been read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The last event.
    pub last: EventId,
    /// The last event's time.
    pub now: Millis,
    /// Which mailbox entries have been consumed.
    pub mail: MailCursor,
}

/// Which mailbox entries have been consumed. Urgent ones overtake, so there may be gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailCursor {
    /// All entries up to this one.
    pub upto: MailId,
    /// Those beyond it.
    pub ahead: BTreeSet<MailId>,
}

impl MailCursor {
    /// Whether an entry has been consumed.
    pub fn has(&self, mail: MailId) -> bool {
        mail <= self.upto || self.ahead.contains(&mail)
    }
    /// Notes that an entry has been consumed.
    pub fn note(&mut self, mail: MailId) {
        if mail > self.upto {
            self.ahead.insert(mail);
        }
        while self.ahead.remove(&(self.upto + 1)) {
            self.upto += 1;
        }
    }
}

/// What is numbered in a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Runs so far.
    pub runs: u32,
    /// Model calls on the main path so far, retries and repairs not counted.
    pub turns: u32,
    /// Model requests so far.
    pub requests: u32,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Why the last run ended.
    pub reason: Option<FinishReason>,
    /// The event that says why the last run ended, where its reason alone does not.
    pub event: Option<EventId>,
}
