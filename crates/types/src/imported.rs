//! Messages from elsewhere, and what was recorded of them there.

use crate::{Millis, Part, Principal, Role, Seq, Spent, TextSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `message_imported`. Nothing of it was asked, judged, run or paid for here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageImported {
    /// Its number in the tree; the results of its calls follow in call order.
    pub seq: Seq,
    /// Who said it: [`Role::User`] or [`Role::Assistant`].
    pub role: Role,
    /// What was said, then for each call its result.
    pub parts: Vec<Part>,
    /// Its estimated size without the results.
    pub tokens: u32,
    /// The estimated size of each result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub result_tokens: Vec<u32>,
    /// The size of what it demands or rules out: see [`MessageQueued`](crate::MessageQueued).
    #[serde(default, skip_serializing_if = "crate::facts::is_none_at_all")]
    pub demands: u32,
    /// Where in its text that stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demanded: Vec<TextSpan>,
    /// Where it came from: a file's name, or what a program calls itself.
    pub source: String,
    /// Who brought it.
    pub by: Principal,
    /// What was recorded of it where it was said, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
}

/// What another program recorded of a message. Nothing of it was measured here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// When it was said there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
    /// By which model, in that program's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it used and cost there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

impl MessageImported {
    /// What was said.
    pub fn said(&self) -> Vec<Part> {
        self.parts.iter().filter(|part| !matches!(part, Part::ToolResult { .. })).cloned().collect()
    }

    /// The result of a call by its place: what it says, and whether the call failed.
    pub fn result(&self, index: u16) -> Option<(&[Part], bool)> {
        self.results().nth(index.into())
    }

    /// The results, in call order.
    pub fn results(&self) -> impl Iterator<Item = (&[Part], bool)> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult { content, is_error, .. } => Some((content.as_slice(), *is_error)),
            _ => None,
        })
    }
}
