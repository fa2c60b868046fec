//! JSON Schemas that values are held to: a tool's arguments, a final answer.
//!
//! A schema may come from anybody (an MCP server, a repository), so to hold a value to it takes a bounded number of steps,
//! nothing outside of the schema is ever loaded, and what is not understood is refused when the schema is read rather than
//! passed over. Of the validators that there are none bounds its work, which is why this is one of ours
//! (`docs/decisions/acting.md`).
//!
//! Understood are the drafts 4 to 2020-12 (<https://json-schema.org/specification>). Not understood, and refused:
//! references to other documents, `$dynamicRef` and `$recursiveRef`, and references by place (`#…`) beside an `$id` inside
//! of the schema. `format` and `content…` are notes and hold nobody to anything, as draft 2020-12 has it.

mod check;
mod document;
mod pattern;
mod value;

use serde_json::Value;

/// A JSON Schema (2020-12 where it names no other draft), read and checked.
#[derive(Debug)]
pub struct Schema(document::Document);

impl Schema {
    /// Reads a schema. Errors: what is wrong with it, one line for people.
    pub fn new(schema: &Value) -> Result<Schema, String> {
        let document = document::Document::new(schema);
        document.map(Schema).map_err(|problem| format!("it is not a valid JSON Schema: {}", value::short(&problem)))
    }

    /// Every violated rule with its place, as `at /path: what is wrong`; empty if the value matches.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        check::violations(&self.0, value)
    }
}
