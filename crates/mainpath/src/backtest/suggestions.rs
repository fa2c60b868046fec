//! Rules that would have answered what people were asked.

use super::findings::UnreadTrace;
use mainpath_types::{CallId, Decision, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Rules that would have answered what people were asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestions {
    /// Traces whose logs were read.
    pub traces: usize,
    /// Calls that a person approved or denied, with arguments as the model wrote them.
    pub answers: usize,
    /// Those of them that the rules of now give by themselves.
    pub already: usize,
    /// The rules, those that answer the most first.
    pub rules: Vec<RuleSuggestion>,
    /// Rules that are no suggestion: people answered calls that they cover in both ways.
    pub contradicted: Vec<RuleSuggestion>,
    /// Answers for which there is no rule: no narrow one fits such a call, or other rules ask about it all the same.
    pub without_rule: usize,
    /// Traces whose logs cannot be read, or only in part.
    pub unread: Vec<UnreadTrace>,
}

/// A rule that would have answered what people were asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSuggestion {
    /// What it says.
    pub decision: Decision,
    /// What it is about, a pattern each.
    pub r#match: Vec<String>,
    /// The folder for whose own rules it is; `None`: people answered so in several folders.
    pub folder: Option<String>,
    /// How many answers of people it would have given.
    pub answers: usize,
    /// In how many traces.
    pub traces: usize,
    /// How many other recorded calls it would have allowed, or denied, that are not now.
    pub also: usize,
    /// Some of those.
    pub also_calls: Vec<CoveredCall>,
    /// A call that it covers and on which a person decided otherwise.
    pub against: Option<CoveredCall>,
}

/// A recorded call that a rule covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoveredCall {
    /// The trace.
    pub trace: TraceId,
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// The beginning of its arguments.
    pub arguments: String,
}

impl RuleSuggestion {
    /// The file that it is for; `None`: the user's own, beside the configuration.
    pub fn file(&self) -> Option<String> {
        let folder = self.folder.as_ref()?;
        Some(Path::new(folder).join(".mainpath/policy.toml").display().to_string())
    }

    /// As a rule file has it, with what is known of it in a comment.
    pub fn toml(&self) -> String {
        let times = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let does = if self.decision == Decision::Allow { "approved" } else { "denied" };
        let also = if self.decision == Decision::Allow { "allowed" } else { "denied" };
        let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
        let matches: Vec<String> = self.r#match.iter().map(quoted).collect();
        format!(
            "# {does} {} in {}; would also have {also} {}\n[[rule]]\ndecision = \"{}\"\nmatch = [{}]\n",
            times(self.answers, "time"),
            times(self.traces, "trace"),
            times(self.also, "other recorded call"),
            self.decision.as_str(),
            matches.join(", ")
        )
    }
}
