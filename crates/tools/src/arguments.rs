//! A call's arguments: the schema that the model sees, and the way from its JSON text to a tool's own type.

use crate::Problem;
use mainpath_types::json_kind;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The JSON Schema (2020-12) of a tool's arguments, without what only makes a request longer.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    clean(&mut schema);
    if let Value::Object(root) = &mut schema {
        root.remove("description");
        root.insert("additionalProperties".into(), Value::Bool(false));
        root.entry("type").or_insert_with(|| "object".into());
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Takes out titles, Rust's integer formats, and `null` where a field may as well be left out.
fn clean(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("title").is_some_and(Value::is_string) {
                map.remove("title");
            }
            if map.get("format").and_then(Value::as_str).is_some_and(|f| f.starts_with("uint") || f.starts_with("int"))
            {
                map.remove("format");
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            map.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The arguments as JSON. No text at all stands for no arguments, as some models write it.
pub(crate) fn parse(tool: &str, text: &str) -> Result<Value, Problem> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text)
        .map_err(|error| invalid(format!("The arguments of {tool} are no valid JSON: {error}. Send one JSON object.")))
}

/// The arguments as the tool's own type. Unknown fields are refused.
pub(crate) fn typed<T: DeserializeOwned>(tool: &str, schema: &Value, value: Value) -> Result<T, Problem> {
    let wrong = |what: String| invalid(format!("Wrong arguments for {tool}: {what}. Expected: {}.", expected(schema)));
    let Value::Object(map) = &value else {
        return Err(wrong(format!("they are {}, not an object", json_kind(&value))));
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(key) = map.keys().find(|key| properties.is_some_and(|known| !known.contains_key(*key))) {
        return Err(wrong(format!("there is no field `{}`", key.chars().take(80).collect::<String>())));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let what: String = error.into_inner().to_string().chars().take(300).collect();
        wrong(if path == "." { what } else { format!("`{path}`: {what}") })
    })
}

fn invalid(text: String) -> Problem {
    Problem::new("invalid_arguments", text)
}

/// The fields in a line: `path (string), limit (integer, optional)`.
fn expected(schema: &Value) -> String {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == name))
    };
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut fields: Vec<(bool, String)> = fields
        .map(|(name, field)| {
            let shape = shape(field);
            match required(name) {
                true => (false, format!("{name} ({shape})")),
                false => (true, format!("{name} ({shape}, optional)")),
            }
        })
        .collect();
    fields.sort_by_key(|(optional, _)| *optional);
    match fields.is_empty() {
        true => "no fields".into(),
        false => fields.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", "),
    }
}

fn shape(field: &Value) -> String {
    match (field.get("type").and_then(Value::as_str), field.get("items")) {
        (Some("array"), Some(items)) => match items.get("properties").and_then(Value::as_object) {
            Some(known) => format!("array of {{{}}}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
            None => format!("array of {}", shape(items)),
        },
        (Some(name), _) => name.into(),
        (None, _) => "any".into(),
    }
}

/// The value with `change` applied to every string in it, keys excepted.
pub(crate) fn map_strings(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| map_strings(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| map_strings(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
