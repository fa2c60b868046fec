//! What a model answers.

use mainpath_types::Usage;
use serde_json::Value;

/// A model's answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its reasoning; none if empty.
    pub thinking: String,
    /// What the vendor wants back with its reasoning: an opaque value; none if empty.
    pub signature: String,
    /// Its text; none if empty.
    pub text: String,
    /// Its calls: tool and arguments.
    pub calls: Vec<(String, String)>,
    /// What it reports to have used.
    pub usage: Usage,
    /// How long it takes, in milliseconds.
    pub delay_ms: u64,
    /// How long it stops before its last three events, in milliseconds: what came before is seen as a piece.
    pub pause_ms: u64,
    /// Its finish reason, if not what follows from the calls.
    pub finish_reason: Option<String>,
}

impl Answer {
    /// An answer that is one text.
    pub fn text(text: &str) -> Answer {
        Answer { text: text.into(), usage: Usage { input: 10, output: 5, ..Usage::default() }, ..Answer::default() }
    }

    /// An answer that is one call.
    pub fn call(tool: &str, arguments: Value) -> Answer {
        Answer { text: String::new(), ..Answer::text("") }.and_call(tool, arguments)
    }

    /// The same with one call more.
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Answer {
        self.calls.push((tool.into(), arguments.to_string()));
        self
    }
}
