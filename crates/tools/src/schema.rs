//! JSON Schemas that values are held to: a tool's arguments, a final answer.

use jsonschema::PatternOptions;
use serde_json::Value;

/// A compiled JSON Schema (2020-12 where it names no other draft). References to other documents are not followed, and
/// what a pattern may cost is bounded, so a schema may come from anybody.
#[derive(Debug)]
pub struct Schema(jsonschema::Validator);

/// As many violations are told.
const MANY: usize = 16;
/// Steps back that a pattern may make on one text, and bytes that it may take when compiled.
const PATTERN: (usize, usize) = (100_000, 1 << 20);

impl Schema {
    /// Compiles a schema. Errors: what is wrong with it, one line for people.
    pub fn new(schema: &Value) -> Result<Schema, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(PATTERN.0).size_limit(PATTERN.1);
        let made = jsonschema::options().with_pattern_options(patterns).offline().build(schema);
        made.map(Schema).map_err(|error| format!("it is no valid JSON Schema: {}", short(&error.to_string())))
    }

    /// Every violated rule with its place, as `/path: what is wrong`; empty if the value matches.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let mut told: Vec<String> = self.0.iter_errors(value).map(|error| said(&error)).take(MANY + 1).collect();
        if told.len() > MANY {
            told[MANY] = "and more".into();
        }
        told
    }
}

fn said(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let what = short(&error.to_string());
    if place.is_empty() { what } else { format!("at {}: {what}", short(&place)) }
}

fn short(text: &str) -> String {
    const MOST: usize = 300;
    match text.char_indices().nth(MOST) {
        None => text.into(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
