//! Facts about a conversation that goes on from elsewhere than its end: rewound, cleared, forked.

use crate::{EventId, Goal, Part, Principal, Seq, TextSpan, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `rewind_requested`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RewindRequested {
    /// The message to go back to, as asked; 0 is before the first one.
    pub after: Seq,
    /// What to say there; `None` to answer again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<Part>>,
    /// Its estimated size.
    #[serde(default)]
    pub tokens: u32,
    /// The size of what it demands or rules out: see [`MessageQueued`](crate::MessageQueued).
    #[serde(default, skip_serializing_if = "crate::facts::is_none_at_all")]
    pub demands: u32,
    /// Where in its text that stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demanded: Vec<TextSpan>,
    /// Who asked.
    pub by: Principal,
}

impl RewindRequested {
    /// To go back to a message (0 is before the first) and answer it again.
    pub fn again(after: Seq, by: Principal) -> RewindRequested {
        RewindRequested { after, parts: None, tokens: 0, demands: 0, demanded: Vec::new(), by }
    }
}

/// `rewound`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rewound {
    /// The message to go back to, as asked.
    pub asked: Seq,
    /// The new head: never between a call and its results. `None`: before the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Seq>,
    /// The plan as it was before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal_tree_snapshot: Vec<Goal>,
}

/// `clear_requested`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClearRequested {
    /// Who asked.
    pub by: Principal,
}

/// `session_cleared`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCleared {
    /// The last message that nothing shows any more.
    pub upto: Seq,
    /// The plan as it was before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal_tree_snapshot: Vec<Goal>,
}

/// `forked`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forked {
    /// The trace whose beginning this one has.
    pub from: TraceId,
    /// The last event that was taken over from there; it has the same number here.
    pub event: EventId,
    /// The message to fork at, as asked; 0 is before the first.
    pub at: Seq,
    /// Who asked.
    pub by: Principal,
}

/// `omitted`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Omitted {}
