//! A call's arguments: the schema that the model sees, and the way from its JSON text to a tool's own type.

use crate::unique::unique_json;
use crate::{Problem, Schema};
use mainpath_schema::SchemaError;
use mainpath_types::{ToolSchema, json_kind};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What a tool's arguments must look like.
pub(crate) struct Arguments {
    schema: ToolSchema,
    compiled: Result<Schema, SchemaError>,
}

/// Why a schema from outside cannot be that of arguments.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentsError {
    #[error("it is {0}, not an object")]
    NotAnObject(&'static str),
    #[error("it describes something else than an object")]
    OfAnotherType,
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Arguments {
    /// Those of a type.
    pub fn of<T: JsonSchema>() -> Arguments {
        let schema = schema_of::<T>();
        let compiled = Schema::new(&schema);
        Arguments { schema: schema.into(), compiled }
    }

    /// Those that a schema from outside describes. Errors: why it cannot be used.
    pub fn from_schema(mut schema: Value) -> Result<Arguments, ArgumentsError> {
        let Value::Object(root) = &mut schema else { return Err(ArgumentsError::NotAnObject(json_kind(&schema))) };
        root.remove("$schema");
        match root.entry("type").or_insert_with(|| "object".into()) {
            Value::String(name) if name == "object" => {}
            _ => return Err(ArgumentsError::OfAnotherType),
        }
        let compiled = Ok(Schema::new(&schema)?);
        Ok(Arguments { schema: schema.into(), compiled })
    }

    /// As models see it.
    pub fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    /// A call's arguments, which match the schema. No text at all stands for no arguments, as some models write it, and a
    /// `null` for an optional field that was left out. Errors: every violated rule with its place.
    pub fn parse(&self, tool: &str, text: &str) -> Result<Value, Problem> {
        let value = match text.trim().is_empty() {
            true => Value::Object(Map::new()),
            false => unique_json(text).map_err(|error| {
                invalid(format!("The arguments of {tool} are not valid JSON: {error}. Send one JSON object."))
            })?,
        };
        self.check(tool, value)
    }

    /// The same for arguments that were read already.
    pub fn check(&self, tool: &str, mut value: Value) -> Result<Value, Problem> {
        self.drop_nulls(&mut value);
        let violations = match &self.compiled {
            Ok(schema) => schema.violations(&value),
            Err(why) => vec![format!("the tool's own schema cannot be used: {why}")],
        };
        match violations.as_slice() {
            [] => Ok(value),
            [one] => Err(invalid(format!("Wrong arguments for {tool}: {one}. Expected: {}.", expected(&self.schema)))),
            many => {
                let list: String = many.iter().map(|violation| format!("\n- {violation}")).collect();
                let expected = expected(&self.schema);
                Err(invalid(format!("Wrong arguments for {tool}:{list}\nExpected: {expected}.")))
            }
        }
    }

    fn drop_nulls(&self, value: &mut Value) {
        let (Value::Object(map), Some(fields)) = (value, self.schema.get("properties")) else { return };
        let needed = self.schema.get("required").and_then(Value::as_array);
        map.retain(|name, value| {
            let has_type = |field: &Value| matches!(field.get("type"), Some(Value::String(kind)) if kind != "null");
            let optional = !needed.is_some_and(|list| list.iter().any(|item| item == name.as_str()));
            !(value.is_null() && optional && fields.get(name).is_some_and(has_type))
        });
    }
}

/// The JSON Schema (2020-12) of a tool's arguments, without what only makes a request longer.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    clean(&mut schema);
    if let Value::Object(root) = &mut schema {
        root.remove("description");
        // What says itself which further fields it takes, as a map does, and what takes anything: nothing is closed to them.
        let is_closed = root.contains_key("type") && !OPEN.iter().any(|word| root.contains_key(*word));
        if is_closed {
            root.insert("additionalProperties".into(), Value::Bool(false));
        }
        root.entry("type").or_insert_with(|| "object".into());
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// The words of a schema that choose between shapes. Vendors take none of them at the root of a tool's arguments.
const CHOICES: [&str; 3] = ["oneOf", "anyOf", "allOf"];
/// The words of a schema that say more of its fields than `properties` does.
const OPEN: [&str; 6] =
    ["oneOf", "anyOf", "allOf", "additionalProperties", "patternProperties", "unevaluatedProperties"];

/// Whether a type can be a tool's arguments. Errors: it chooses between shapes.
pub(crate) fn check_fields(tool: &str, schema: &Value) -> Result<(), Problem> {
    let found = CHOICES.iter().find(|word| schema.get(**word).is_some());
    found.map_or(Ok(()), |word| {
        let why = format!(
            "The arguments of the tool {tool:?} are a choice between shapes ({word}), as an enum is, and vendors take only an object with fields there: make them a \
             struct, and the enum one of its fields."
        );
        Err(Problem::new("bad_tool", why))
    })
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
                if let Some(Value::Array(values)) = map.get_mut("enum") {
                    values.retain(|value| !value.is_null());
                }
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            map.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The arguments as the tool's own type, which may be narrower than its schema says.
pub(crate) fn typed<T: DeserializeOwned>(tool: &str, value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let what: String = error.into_inner().to_string().chars().take(300).collect();
        let what = if path == "." { what } else { format!("`{path}`: {what}") };
        invalid(format!("Wrong arguments for {tool}: {what}."))
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
        (None, _) => {
            let shapes: Vec<String> =
                field.get("anyOf").and_then(Value::as_array).into_iter().flatten().map(shape).collect();
            if shapes.is_empty() { "any".into() } else { shapes.join(" or ") }
        }
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
