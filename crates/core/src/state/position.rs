//! How far a log and a mailbox have been read.

use mainpath_types::MailId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
