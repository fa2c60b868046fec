//! The JSON Schema of a final answer.

use serde_json::Value;

/// A compiled schema. References to other documents are not followed.
pub(crate) struct OutputSchema(jsonschema::Validator);

/// Whether a value is a JSON Schema that answers can be held to. Errors: what is wrong with it, one line for people.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| format!("it is no valid JSON Schema: {error}"))
}

/// As many violations are told.
const MANY: usize = 8;

impl OutputSchema {
    /// Compiles a schema (2020-12 where it names no other draft). Errors: one line for people.
    pub fn new(schema: &Value) -> Result<OutputSchema, String> {
        let made = jsonschema::validator_for(schema);
        made.map(OutputSchema).map_err(|error| format!("the output schema is no valid JSON Schema: {error}"))
    }

    /// What is wrong with a final answer, for the model; `None` if it is JSON that matches.
    pub fn refuse(&self, answer: &str) -> Option<String> {
        let value: Value = match serde_json::from_str(answer.trim()) {
            Ok(value) => value,
            Err(error) => {
                return Some(format!(
                    "the final answer must be JSON that matches the schema, and nothing else: {error}."
                ));
            }
        };
        let all: Vec<String> = self.0.iter_errors(&value).map(|error| said(&error)).take(MANY + 1).collect();
        if all.is_empty() {
            return None;
        }
        let more = if all.len() > MANY { "; and more" } else { "" };
        let told = all.get(..MANY).unwrap_or(&all).join("; ");
        Some(format!("the final answer does not match its schema: {told}{more}."))
    }
}

fn said(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let what: String = error.to_string().chars().take(300).collect();
    if place.is_empty() { what } else { format!("at {place}: {what}") }
}
