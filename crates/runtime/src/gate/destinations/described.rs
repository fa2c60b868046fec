//! What a server says of a tool's arguments.

use super::forms::addresses;
use serde_json::Value;

/// What the schema of a tool says.
#[derive(Debug, Default)]
pub(super) struct Described {
    /// The addresses in its words.
    pub addresses: Vec<String>,
    /// The values that it offers for arguments.
    pub offered: Vec<String>,
}

impl Described {
    /// Reads a schema, with those within it.
    pub fn look(&mut self, schema: &Value) {
        match schema {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match (name.as_str(), value) {
                ("description" | "title", Value::String(text)) => self.addresses.extend(addresses(text)),
                ("enum" | "const" | "default", value) => self.offer(value),
                (_, value) => self.look(value),
            }),
            Value::Array(items) => items.iter().for_each(|item| self.look(item)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn offer(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.offered.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.offer(item)),
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
