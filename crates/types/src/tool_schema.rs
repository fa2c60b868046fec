//! The schema of a tool's arguments, which every run of an agent has and none changes.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A JSON Schema (2020-12) of a tool's arguments: an object schema. A copy of it is the same value, so that it costs nothing.
#[derive(Clone, Debug, Default)]
pub struct ToolSchema(Arc<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    value: Value,
    /// As JSON, once it was written.
    text: OnceLock<Option<Box<RawValue>>>,
    tokens: OnceLock<u32>,
}

impl ToolSchema {
    /// The value, to change it: copied first where another has it too.
    pub fn make_mut(&mut self) -> &mut Value {
        let known = Arc::make_mut(&mut self.0);
        (known.text, known.tokens) = (OnceLock::new(), OnceLock::new());
        &mut known.value
    }

    /// Its estimated size in tokens: what `estimate` says when it is first asked for, of all copies.
    pub fn tokens(&self, estimate: fn(&Value) -> u32) -> u32 {
        *self.0.tokens.get_or_init(|| estimate(&self.0.value))
    }
}

impl Deref for ToolSchema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

impl From<Value> for ToolSchema {
    fn from(schema: Value) -> ToolSchema {
        ToolSchema(Arc::new(Known { value: schema, ..Known::default() }))
    }
}

impl PartialEq for ToolSchema {
    fn eq(&self, other: &ToolSchema) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl PartialEq<Value> for ToolSchema {
    fn eq(&self, other: &Value) -> bool {
        self.0.value == *other
    }
}

impl Serialize for ToolSchema {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Every run of an agent writes it.
        match self.0.text.get_or_init(|| to_raw_value(&self.0.value).ok()) {
            Some(text) => text.serialize(to),
            None => self.0.value.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ToolSchema {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ToolSchema, D::Error> {
        Value::deserialize(from).map(ToolSchema::from)
    }
}

impl JsonSchema for ToolSchema {
    fn inline_schema() -> bool {
        Value::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_copy_is_the_same_value_until_one_of_them_is_changed() {
        let one = ToolSchema::from(json!({"type": "object"}));
        let mut other = one.clone();
        assert!(std::ptr::eq(&*one, &*other));
        other.make_mut()["title"] = json!("x");
        assert_eq!(*one, json!({"type": "object"}));
        assert_eq!(*other, json!({"type": "object", "title": "x"}));
        assert!(one != other);
    }

    #[test]
    fn its_size_is_estimated_once_for_all_copies_and_anew_after_a_change() {
        let size = |value: &Value| u32::try_from(value.to_string().len()).unwrap();
        let one = ToolSchema::from(json!({}));
        let mut other = one.clone();
        assert_eq!((one.tokens(size), other.tokens(|_| 99)), (2, 2));
        *other.make_mut() = json!([1]);
        assert_eq!((one.tokens(size), other.tokens(size)), (2, 3));
    }

    #[test]
    fn it_is_written_and_described_as_the_value_that_it_is() {
        let schema = ToolSchema::from(json!({"type": "object"}));
        assert_eq!(serde_json::to_string(&schema).unwrap(), r#"{"type":"object"}"#);
        assert_eq!(serde_json::to_value(&schema).unwrap(), *schema);
        let mut other = schema.clone();
        other.make_mut()["type"] = json!("string");
        assert_eq!(serde_json::to_string(&other).unwrap(), r#"{"type":"string"}"#);
        assert_eq!(serde_json::from_str::<ToolSchema>(r#"{"type":"object"}"#).unwrap(), schema);
        assert_eq!(schemars::schema_for!(ToolSchema), schemars::schema_for!(Value));
    }
}
