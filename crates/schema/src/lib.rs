//! JSON Schemas that values are held to: a tool's arguments, a final answer.
//!
//! A crate of its own for the sake of builds: `jsonschema` is generic over the JSON that it reads, so whoever calls it compiles it.

mod cost;

use jsonschema::PatternOptions;
use serde_json::Value;

/// A compiled JSON Schema (2020-12 where it names no other draft). References to other documents are not followed, and
/// what a pattern and what references may cost is
/// bounded, so a schema may come from anybody.
#[derive(Debug)]
pub struct Schema {
    validator: jsonschema::Validator,
    /// The schema itself, where it could describe work without end.
    growing: Option<Value>,
}

/// As many violations are told.
const MANY: usize = 16;
/// Steps back that a pattern may make on one text, and bytes that it may take when compiled.
const PATTERN: (usize, usize) = (100_000, 1 << 20);

impl Schema {
    /// Compiles a schema. Errors: what is wrong with it, one line for people.
    pub fn new(schema: &Value) -> Result<Schema, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(PATTERN.0).size_limit(PATTERN.1);
        let made = jsonschema::options().with_pattern_options(patterns).offline().build(schema);
        let validator =
            made.map_err(|error| format!("it is not a valid JSON Schema: {}", short(&error.to_string())))?;
        Ok(Schema { validator, growing: cost::can_grow(schema).then(|| schema.clone()) })
    }

    /// Every violated rule with its place, as `/path: what is wrong`; empty if the value matches.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        if self.growing.as_ref().is_some_and(|schema| !cost::is_bounded(schema, value)) {
            return vec!["the schema asks for more work than any check may take".into()];
        }
        let mut told: Vec<String> =
            self.validator.iter_errors(value).map(|error| said(&error)).take(MANY + 1).collect();
        if told.len() > MANY {
            told[MANY] = "and more".into();
        }
        told
    }
}

fn said(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let what = match error.kind() {
        // All that it may be: whoever reads this writes it again.
        jsonschema::error::ValidationErrorKind::Enum { options } => {
            let all: Vec<String> = options.as_array().into_iter().flatten().map(ToString::to_string).collect();
            format!("{} is not one of {}", short(&error.instance().to_string()), short(&all.join(", ")))
        }
        _ => short(&error.to_string()),
    };
    if place.is_empty() { what } else { format!("at {}: {what}", short(&place)) }
}

fn short(text: &str) -> String {
    const MOST: usize = 300;
    match text.char_indices().nth(MOST) {
        None => text.into(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
