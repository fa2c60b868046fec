//! What a schema says of a value, what is refused as a schema, and what it may cost.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod hostile;
mod oracle;
mod patterns;
mod rules;

use mainpath_schema::Schema;
use serde_json::Value;

/// What is wrong with a value.
fn told(schema: &Value, value: &Value) -> Vec<String> {
    Schema::new(schema).unwrap().violations(value)
}

/// What is wrong with a schema.
fn refused(schema: &Value) -> String {
    let problem = Schema::new(schema).unwrap_err().to_string();
    problem.strip_prefix("it is not a valid JSON Schema: ").unwrap().to_owned()
}
