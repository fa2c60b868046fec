//! The JSON Schema of a final answer.

use mainpath_tools::Schema;
use serde_json::Value;

/// Why a JSON Schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BadSchema(Box<dyn std::error::Error + Send + Sync>);

/// Whether a value is a JSON Schema that answers can be held to. Errors: what is wrong with it.
pub fn check_schema(schema: &Value) -> Result<(), BadSchema> {
    OutputSchema::new(schema).map(drop)
}

/// A schema that final answers are held to.
pub(crate) struct OutputSchema(Schema);

impl OutputSchema {
    /// Compiles a schema. Errors: what is wrong with it.
    pub fn new(schema: &Value) -> Result<OutputSchema, BadSchema> {
        Schema::new(schema).map(OutputSchema).map_err(|problem| BadSchema(problem.into()))
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
        let violations = self.0.violations(&value);
        (!violations.is_empty())
            .then(|| format!("the final answer does not match its schema: {}.", violations.join("; ")))
    }
}
