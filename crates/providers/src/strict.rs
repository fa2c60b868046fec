//! Whether OpenAI's `strict` can be asked for.

use serde_json::{Map, Value};

/// Deeper schemas are not strict; OpenAI's limit is near this.
const MAX_DEPTH: usize = 10;

/// Whether the vendor can hold an answer to this schema exactly. It can for a subset of JSON Schema only and refuses the
/// whole request if `strict` is set beside any other, so what is not surely in the subset is not strict: then the schema
/// is shown to the model, and the caller's validation decides.
///
/// Source: what `openai` 3.54.0 makes of a schema before it sets `strict` (`lib/_pydantic.py`): an object names all its
/// properties as required and allows no others, and nothing stands beside a `$ref`. The root is an object.
pub(crate) fn allows_strict(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object") && allowed(schema, 0)
}

fn allowed(schema: &Value, depth: usize) -> bool {
    let Some(fields) = schema.as_object().filter(|fields| depth <= MAX_DEPTH && !fields.is_empty()) else {
        return false;
    };
    if fields.contains_key("$ref") {
        return fields.len() == 1;
    }
    let each = |value: &Value| value.as_object().is_some_and(|map| map.values().all(|value| allowed(value, depth + 1)));
    let known = fields.iter().all(|(name, value)| match name.as_str() {
        "properties" | "$defs" | "definitions" => each(value),
        "items" => allowed(value, depth + 1),
        "anyOf" => depth > 0 && value.as_array().is_some_and(|all| all.iter().all(|one| allowed(one, depth + 1))),
        "type" | "required" | "additionalProperties" | "enum" | "const" | "title" | "description" | "$schema" => true,
        _ => false,
    });
    known && (!fields.contains_key("properties") && !is_object(fields) || is_closed(fields))
}

fn is_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    }
}

/// Every property is required, and there are no others.
fn is_closed(fields: &Map<String, Value>) -> bool {
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
    let properties = fields.get("properties").and_then(Value::as_object);
    fields.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_some_and(|properties| properties.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn closed(properties: Value) -> Value {
        let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "required": names, "properties": properties, "additionalProperties": false})
    }

    #[test]
    fn a_closed_object_of_known_keywords_is_strict() {
        assert!(allows_strict(&closed(json!({"a": {"type": "string"}}))));
        assert!(allows_strict(&closed(json!({}))));
        let mut nested = closed(json!({
            "list": {"type": "array", "items": {"$ref": "#/$defs/x"}},
            "one": {"anyOf": [closed(json!({"b": {"enum": [1, 2]}})), {"type": ["null", "integer"]}]},
        }));
        nested["$defs"] = json!({"x": {"type": "string", "description": "An x."}});
        assert!(allows_strict(&nested));
    }

    #[test]
    fn whatever_else_is_not() {
        for schema in [json!(true), json!({}), json!({"type": "string"}), json!({"anyOf": [closed(json!({}))]})] {
            assert!(!allows_strict(&schema), "{schema}");
        }
        let broken = |change: &dyn Fn(&mut Value)| {
            let mut schema = closed(json!({"a": {"type": "string"}, "b": closed(json!({"c": {"type": "null"}}))}));
            assert!(allows_strict(&schema));
            change(&mut schema);
            !allows_strict(&schema)
        };
        assert!(broken(&|schema| schema["required"] = json!(["a"])));
        assert!(broken(&|schema| schema["additionalProperties"] = json!(true)));
        assert!(broken(&|schema| drop(schema["properties"]["b"].as_object_mut().unwrap().remove("required"))));
        assert!(broken(&|schema| schema["properties"]["a"]["pattern"] = json!("^x")));
        assert!(broken(&|schema| schema["properties"]["a"] = json!({})));
        assert!(broken(&|schema| schema["properties"]["a"] = json!({"type": ["object", "null"]})));
        assert!(broken(&|schema| schema["properties"]["a"] = json!({"$ref": "#", "title": "beside"})));
        let deep = (0..40).fold(json!({"type": "string"}), |inner, _| closed(json!({"in": inner})));
        assert!(!allows_strict(&deep));
    }
}
