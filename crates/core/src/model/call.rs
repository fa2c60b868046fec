//! The model call that is in flight.

use mainpath_types::{EventId, Millis, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model call that is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCall {
    /// The request's number.
    pub request: u32,
    /// When it was decided.
    pub since: Millis,
    /// The tip of the packed path.
    pub head: Option<Seq>,
    /// Estimated input tokens, on the safe side.
    pub input: u32,
    /// The estimate without what is added for safety.
    pub estimate: u64,
    /// What the vendor will likely count.
    pub likely: u64,
    /// Tokens set aside.
    pub reserve: u64,
    /// Whether it asks for a last answer.
    pub last: bool,
    /// Whether it shows the least there is.
    pub minimal: bool,
    /// The event that holds where things stood, if it ends with that.
    pub standing: Option<EventId>,
}
