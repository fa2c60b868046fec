//! What the requests to come show, and how their tokens are counted.

use mainpath_types::{CallId, EventId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the requests to come show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// How many messages beyond its limit the window may show, after somebody asked to see more.
    pub window_extra: u32,
    /// The event that asks for a summary, until one is begun.
    pub compaction: Option<EventId>,
    /// The size of the request after the last summary, also of one that came to nothing: no other is worth it before enough new
    /// was said. `None` where the path has changed since.
    pub summarised_to: Option<u64>,
    /// Whether messages of finished goals may be shown.
    pub unswept: bool,
    /// How many more messages the model wants to be shown.
    pub expand: Option<u32>,
    /// Past calls that the next request shows again.
    pub recalled: Vec<CallId>,
}

/// How models count tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counting {
    /// What is known of how models count, by their names: see [`crate::Scale`].
    pub learned: BTreeMap<Arc<str>, u32>,
    /// The vendor's last count of input tokens, and the message that it ended with.
    pub counted: Option<(Seq, u64)>,
}
