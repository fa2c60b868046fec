//! What a predicate is asked about.

use mainpath_types::{Decision, Micros, Origin};
use serde_json::Value;

/// A call, or an answer without one. What is not known is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepFacts<'a> {
    /// The trace.
    pub trace: &'a str,
    /// The tool's own name; empty for an answer without a call.
    pub tool: &'a str,
    /// The arguments; a text where they are no JSON.
    pub arguments: Option<&'a Value>,
    /// What rules said.
    pub verdict: Option<Decision>,
    /// The rule that said so.
    pub rule: &'a str,
    /// How it ended.
    pub outcome: &'a str,
    /// The code of its error.
    pub error: &'a str,
    /// The text of its error.
    pub failure: &'a str,
    /// Where the arguments came from.
    pub origins: &'a [Origin],
    /// What the model said with it.
    pub text: &'a str,
    /// What the trace had cost by then.
    pub cost: Micros,
    /// The model.
    pub model: &'a str,
    /// The preset.
    pub agent: &'a str,
    /// The folder.
    pub folder: &'a str,
}

/// All values of arguments, a line each.
pub fn argument_values(arguments: &Value) -> String {
    fn add(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.values().for_each(|value| add(value, all)),
            Value::Array(items) => items.iter().for_each(|value| add(value, all)),
            value => all.push(text_of(value)),
        }
    }
    let mut all = Vec::new();
    add(arguments, &mut all);
    all.join("\n")
}

/// One argument by its names from the outside in, with dots between; `None` if there is none.
pub(crate) fn argument(arguments: &Value, name: &str) -> Option<String> {
    // A name may have a dot of its own.
    if let Some(value) = arguments.get(name) {
        return Some(text_of(value));
    }
    let mut at = arguments;
    for step in name.split('.') {
        at = match at {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            value => value.get(step)?,
        };
    }
    Some(text_of(at))
}

/// A value as people write it.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
