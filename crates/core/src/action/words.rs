//! The words for what is wrong with a value in an answer, for the model that is to repair it.

use mainpath_types::json_kind;
use serde_json::{Map, Value};

/// An object's fields, taken out one by one; what is left at the end was not expected.
pub(super) struct Fields {
    /// Where it stands, such as `action`; empty at the top.
    place: String,
    fields: Map<String, Value>,
}

impl Fields {
    pub fn new(place: &str, value: Value) -> Result<Fields, String> {
        match value {
            Value::Object(fields) => Ok(Fields { place: place.into(), fields }),
            other if place.is_empty() => Err(format!("it is {}, not a JSON object.", json_kind(&other))),
            other => Err(format!("\"{place}\" is {}, not an object.", json_kind(&other))),
        }
    }

    fn named(&self, field: &str) -> String {
        if self.place.is_empty() { format!("\"{field}\"") } else { format!("\"{}.{field}\"", self.place) }
    }

    /// A field; `null` counts as left out.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.remove(field).filter(|value| !value.is_null())
    }

    pub fn needed(&mut self, field: &str) -> Result<Value, String> {
        self.take(field).ok_or_else(|| format!("{} is missing.", self.named(field)))
    }

    pub fn text(&mut self, field: &str) -> Result<String, String> {
        match self.needed(field)? {
            Value::String(text) => Ok(text),
            other => Err(format!("{} is {}, not a string.", self.named(field), json_kind(&other))),
        }
    }

    pub fn optional_text(&mut self, field: &str) -> Result<Option<String>, String> {
        if self.fields.get(field).is_none_or(Value::is_null) {
            return Ok(None);
        }
        self.text(field).map(Some)
    }

    /// An object, as JSON text; the empty one if it is left out.
    pub fn object(&mut self, field: &str) -> Result<String, String> {
        match self.take(field) {
            None => Ok("{}".into()),
            Some(value @ Value::Object(_)) => Ok(value.to_string()),
            Some(other) => Err(format!("{} is {}, not an object.", self.named(field), json_kind(&other))),
        }
    }

    /// What was not expected, unless it is put up with.
    pub fn end(self, tolerant: bool) -> Result<(), String> {
        match self.fields.keys().next() {
            Some(field) if !tolerant => Err(format!("the field {} does not belong there.", self.named(field))),
            _ => Ok(()),
        }
    }

    /// All that is left, as JSON text, with this field if there is a text for it.
    pub fn rest_with(mut self, field: &str, text: Option<String>) -> String {
        self.fields.extend(text.map(|text| (field.to_string(), Value::String(text))));
        Value::Object(self.fields).to_string()
    }
}
