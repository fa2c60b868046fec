//! Messages of other agents: they wait until the agent looks.

use mainpath_types::{CHECK_MESSAGES, EventId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What other agents have sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// The messages, oldest first.
    pub list: Vec<Arrival>,
    /// Whether one has come of which the model was not told.
    pub is_news: bool,
}

/// A message of another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// The event that holds it.
    pub event: EventId,
    /// Who sent it.
    pub from: Arc<str>,
    /// The sender's id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// The answer whose call has read it.
    pub read: Option<Seq>,
}

impl Inbox {
    /// Whether there was never a message.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Those that nobody has read, oldest first.
    pub fn unread(&self) -> impl DoubleEndedIterator<Item = &Arrival> {
        self.list.iter().filter(|arrival| arrival.read.is_none())
    }

    /// How many wait; nothing if none does. Their senders' names are words from outside, and told with them.
    pub(crate) fn told(&self) -> Option<String> {
        match self.unread().count() {
            0 => None,
            1 => Some(format!("1 message of another agent waits: read with {CHECK_MESSAGES}")),
            count => Some(format!("{count} messages of other agents wait: read with {CHECK_MESSAGES}")),
        }
    }
}
