//! A summary by rules that grows with the conversation.

use mainpath_core::Summary;
use mainpath_types::{EventId, Seq};

/// The summary by rules of the main path, as far as it was read. What is said next goes on from there, so that a summary costs
/// what is new and not what is long past.
#[derive(Default)]
pub(super) struct RunningSummary {
    /// The last message that was read.
    pub upto: Option<Seq>,
    pub found: Summary,
    /// The model's summary that it begins with, and the event that holds it.
    pub earlier: Option<(EventId, Option<String>)>,
}
