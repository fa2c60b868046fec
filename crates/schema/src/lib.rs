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

pub use document::SchemaError;
pub use pattern::PatternError;
use serde_json::Value;
use std::fmt;

/// A JSON Schema (2020-12 where it names no other draft), read and checked.
#[derive(Debug)]
pub struct Schema(document::Document);

impl Schema {
    /// Reads a schema. Errors: what is wrong with it, one line for people.
    pub fn new(schema: &Value) -> Result<Schema, SchemaError> {
        document::Document::new(schema).map(Schema).map_err(SchemaError)
    }

    /// The violated rules with their places, as `at /path: what is wrong`, the first 16; empty if the value matches.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        const MANY: usize = 16;
        check::violations(&self.0, value, MANY).iter().map(Violation::to_string).collect()
    }

    /// The same, each with its field, for who shows them at their fields; the first 256.
    pub fn wrong_fields(&self, value: &Value) -> Vec<Violation> {
        const MANY: usize = 256;
        check::violations(&self.0, value, MANY)
    }
}

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The field that is wrong, as a JSON pointer: where a property is too many or missing, that property. Empty for the whole.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// Where that was found: the field, or the object that has a property too many or too few.
    place: String,
    is_missing: bool,
}

impl Violation {
    /// Whether it is a property too many.
    pub fn is_unknown(&self) -> bool {
        self.field != self.place && !self.is_missing
    }

    /// Whether it is a property that is missing.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    fn of_whole(problem: &str) -> Violation {
        Violation { field: String::new(), problem: problem.into(), place: String::new(), is_missing: false }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.is_empty() {
            true => self.problem.fmt(to),
            false => write!(to, "at {}: {}", value::short(&self.place), self.problem),
        }
    }
}
