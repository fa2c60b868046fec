//! In what form an answer is wanted: text, or JSON that matches a schema.

use crate::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A form in which an answer is wanted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedForm {
    /// `text`, `json_object` (an object) or `json_schema` (what the schema allows).
    #[serde(rename = "type")]
    pub kind: FormKind,
    /// Of Chat Completions: the schema, with its name.
    pub json_schema: Option<NamedSchema>,
    /// Of Responses: the name of the schema.
    pub name: Option<String>,
    /// Of Responses: what the answer is for.
    pub description: Option<String>,
    /// Of Responses: the schema.
    pub schema: Option<Map<String, Value>>,
    /// Of Responses: the answer is held to the schema in any case.
    #[expect(dead_code, reason = "either way the answer is held to the schema")]
    pub strict: Option<bool>,
}

/// The kinds of forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FormKind {
    /// Text.
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that matches a schema.
    JsonSchema,
}

/// A schema with its name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedSchema {
    /// Its name.
    pub name: String,
    /// What the answer is for.
    pub description: Option<String>,
    /// The schema; without it, any object.
    pub schema: Option<Map<String, Value>>,
    /// The answer is held to the schema in any case.
    #[expect(dead_code, reason = "either way the answer is held to the schema")]
    pub strict: Option<bool>,
}

/// The schema that an answer must match; `None`: it is text. `pointer` is where the form stands. Errors: the form has no schema.
pub fn schema(form: Option<&WantedForm>, pointer: &str) -> Result<Option<Map<String, Value>>, Problem> {
    let Some(form) = form else { return Ok(None) };
    let has_schema = form.schema.is_some() || form.json_schema.is_some();
    if has_schema && form.kind != FormKind::JsonSchema {
        return Err(Problem::field(format!("{pointer}/type"), "must be json_schema where there is a schema"));
    }
    match form.kind {
        FormKind::Text => Ok(None),
        FormKind::JsonObject => Ok(Some(any_object())),
        FormKind::JsonSchema => {
            let (name, description, schema) = match &form.json_schema {
                Some(named) => (Some(&named.name), &named.description, named.schema.clone().unwrap_or_else(any_object)),
                None => {
                    let missing = || Problem::field(format!("{pointer}/schema"), "is missing");
                    (form.name.as_ref(), &form.description, form.schema.clone().ok_or_else(missing)?)
                }
            };
            let (mut schema, titles) = (schema, [("title", name), ("description", description.as_ref())]);
            for (key, said) in titles {
                if let Some(said) = said {
                    schema.entry(key).or_insert_with(|| json!(said));
                }
            }
            Ok(Some(schema))
        }
    }
}

fn any_object() -> Map<String, Value> {
    Map::from_iter([("type".to_string(), json!("object"))])
}
