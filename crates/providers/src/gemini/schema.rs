//! JSON Schemas as the vendor takes them.

use serde_json::Value;

/// A schema as it is sent: itself, but a sub-schema with `$ref` has no other property than those that begin with `$`, as
/// the vendor demands (`google-genai` 3.4.0, `GenerateContentConfig.response_json_schema`). What falls away there is
/// mostly a description; the caller checks against the whole schema.
pub(super) fn sent(schema: &Value) -> Value {
    let mut schema = schema.clone();
    mend(&mut schema);
    schema
}

/// Goes as deep as the schema, which was parsed and so is not deep.
fn mend(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("$ref") {
                fields.retain(|key, _| key.starts_with('$'));
            }
            for (keyword, value) in fields {
                match (keyword.as_str(), value) {
                    // No schema.
                    ("const" | "default" | "enum" | "example" | "examples" | "required", _) => {}
                    // Schemas under names that anyone chose.
                    ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(named)) => {
                        named.values_mut().for_each(mend);
                    }
                    (_, value) => mend(value),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(mend),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_without_references_is_sent_as_it_is() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
            "properties": {"at": {"type": ["string", "null"], "pattern": "^a", "default": {"$ref": "x", "y": 1}}, "$ref": {"type": "string"}},
            "required": ["at"],
        });
        assert_eq!(sent(&schema), schema);
    }

    #[test]
    fn beside_a_reference_only_names_with_a_dollar_stay() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A", "description": "d", "default": null}, "b": {"anyOf": [{"$ref": "#/$defs/A", "title": "t"}]}},
            "$defs": {"A": {"type": "object", "properties": {"deep": {"items": {"$ref": "#/$defs/A", "$comment": "c", "minItems": 1}}}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"anyOf": [{"$ref": "#/$defs/A"}]}},
            "$defs": {"A": {"type": "object", "properties": {"deep": {"items": {"$ref": "#/$defs/A", "$comment": "c"}}}}},
        });
        assert_eq!(sent(&schema), expected);
    }
}
