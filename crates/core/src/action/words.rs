//! The fields of an object in an answer, and what is wrong with them.

use super::error::TurnError;
use mainpath_types::json_kind;
use serde_json::{Map, Value};

/// An object's fields, taken out one by one; what is left at the end was not expected.
pub(super) struct Fields {
    /// Where it stands, such as `action`; empty at the top.
    place: String,
    fields: Map<String, Value>,
}

impl Fields {
    pub fn new(place: &str, value: Value) -> Result<Fields, TurnError> {
        match value {
            Value::Object(fields) => Ok(Fields { place: place.into(), fields }),
            other if place.is_empty() => Err(TurnError::NotAnObject(json_kind(&other))),
            other => Err(TurnError::kind(place, &other, "an object")),
        }
    }

    fn named(&self, field: &str) -> String {
        if self.place.is_empty() { field.into() } else { format!("{}.{field}", self.place) }
    }

    /// A field; `null` counts as left out.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.remove(field).filter(|value| !value.is_null())
    }

    pub fn needed(&mut self, field: &str) -> Result<Value, TurnError> {
        self.take(field).ok_or_else(|| TurnError::Missing(self.named(field)))
    }

    pub fn text(&mut self, field: &str) -> Result<String, TurnError> {
        match self.needed(field)? {
            Value::String(text) => Ok(text),
            other => Err(TurnError::kind(self.named(field), &other, "a string")),
        }
    }

    pub fn optional_text(&mut self, field: &str) -> Result<Option<String>, TurnError> {
        if self.fields.get(field).is_none_or(Value::is_null) {
            return Ok(None);
        }
        self.text(field).map(Some)
    }

    /// An object, as JSON text; the empty one if it is left out.
    pub fn object(&mut self, field: &str) -> Result<String, TurnError> {
        match self.take(field) {
            None => Ok("{}".into()),
            Some(value @ Value::Object(_)) => Ok(value.to_string()),
            Some(other) => Err(TurnError::kind(self.named(field), &other, "an object")),
        }
    }

    /// What was not expected, unless it is put up with.
    pub fn end(self, tolerant: bool) -> Result<(), TurnError> {
        match self.fields.keys().next() {
            Some(field) if !tolerant => Err(TurnError::UnknownField(self.named(field))),
            _ => Ok(()),
        }
    }

    /// All that is left, as JSON text, with this field if there is a text for it.
    pub fn rest_with(mut self, field: &str, text: Option<String>) -> String {
        self.fields.extend(text.map(|text| (field.to_string(), Value::String(text))));
        Value::Object(self.fields).to_string()
    }
}
