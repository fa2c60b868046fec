//! JSON Schemas as the API accepts them.

use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A tool's input schema. The API wants `"type": "object"` and refuses alternatives at the top; without them the schema is
/// weaker, and arguments are checked against the whole one where the tool runs.
pub(super) fn input(schema: &Value) -> Cow<'_, Value> {
    const REFUSED: [&str; 3] = ["anyOf", "oneOf", "allOf"];
    let Value::Object(fields) = schema else { return Cow::Owned(json!({"type": "object"})) };
    if fields.get("type").is_some_and(|kind| kind == "object") && !REFUSED.iter().any(|key| fields.contains_key(*key)) {
        return Cow::Borrowed(schema);
    }
    let mut fields = fields.clone();
    fields.retain(|key, _| !REFUSED.contains(&key.as_str()));
    fields.insert("type".into(), "object".into());
    Cow::Owned(Value::Object(fields))
}

/// The schema of a final answer in the subset that the API holds answers to; `None` if it has no such form.
///
/// The rules are those of `anthropic` 2.12.0 (`anthropic/lib/_parse/_transform.py`): objects are closed, of the constraints
/// only a few are kept and the others are told in the description. Beyond them: a type list becomes alternatives, and objects
/// with names that are not in the schema, several schemas at once and recursion are not taken.
pub(super) fn output(schema: &Value) -> Option<Value> {
    let no_defs = Map::new();
    let defs = schema.get("$defs").and_then(Value::as_object).unwrap_or(&no_defs);
    if is_recursive(defs) {
        return None;
    }
    let mut strict = narrowed(schema, defs)?;
    if !defs.is_empty() {
        let defs = defs.iter().map(|(name, part)| Some((name.clone(), narrowed(part, defs)?.into())));
        strict.insert("$defs".into(), Value::Object(defs.collect::<Option<_>>()?));
    }
    Some(Value::Object(strict))
}

/// The definition that a reference names.
fn target<'a>(reference: &'a Value, defs: &Map<String, Value>) -> Option<&'a str> {
    reference.as_str()?.strip_prefix("#/$defs/").filter(|name| defs.contains_key(*name))
}

fn narrowed(schema: &Value, defs: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut rest = schema.as_object()?.clone();
    for words in ["$schema", "$id", "$comment", "$defs"] {
        rest.remove(words);
    }
    let mut strict = Map::new();
    if let Some(reference) = rest.remove("$ref") {
        target(&reference, defs)?;
        strict.insert("$ref".into(), reference);
        return Some(strict);
    }
    let is_primitive = |value: &Value| !value.is_array() && !value.is_object();
    let kind = rest.remove("type");
    let choices = ["anyOf", "oneOf"].iter().find_map(|key| rest.remove(*key));
    if let Some(all) = rest.remove("allOf") {
        let [only] = all.as_array()?.as_slice() else { return None };
        return narrowed(only, defs);
    }
    if let Some(Value::Array(choices)) = choices {
        strict.insert("anyOf".into(), alternatives(choices.iter().map(|choice| narrowed(choice, defs)))?);
    } else if let Some(Value::Array(values)) = rest.get("enum") {
        if values.is_empty() || !values.iter().all(is_primitive) {
            return None;
        }
        strict.extend(rest.remove("enum").map(|values| ("enum".into(), values)));
    } else if rest.get("const").is_some_and(is_primitive) {
        strict.extend(rest.remove("const").map(|value| ("const".into(), value)));
    } else if let Some(Value::Array(kinds)) = &kind {
        let of_kind = |kind: &Value| {
            let mut one = schema.clone();
            one["type"] = kind.clone();
            narrowed(&one, defs)
        };
        let strict = alternatives(kinds.iter().map(of_kind))?;
        return Some(Map::from_iter([("anyOf".into(), strict)]));
    } else {
        let kind = kind?;
        match kind.as_str()? {
            "object" => object(&mut rest, &mut strict, defs)?,
            "array" => array(&mut rest, &mut strict, defs)?,
            "string" => {
                const FORMATS: [&str; 10] =
                    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
                if rest.get("format").and_then(Value::as_str).is_some_and(|format| FORMATS.contains(&format)) {
                    strict.extend(rest.remove("format").map(|format| ("format".into(), format)));
                }
            }
            "integer" | "number" | "boolean" | "null" => {}
            _ => return None,
        }
        strict.insert("type".into(), kind);
    }
    strict.extend(rest.remove("title").map(|title| ("title".into(), title)));
    let mut words: Vec<String> =
        rest.remove("description").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if !rest.is_empty() {
        words.push(Value::Object(rest).to_string());
    }
    if !words.is_empty() {
        strict.insert("description".into(), words.join("\n\n").into());
    }
    Some(strict)
}

fn alternatives(choices: impl Iterator<Item = Option<Map<String, Value>>>) -> Option<Value> {
    let choices: Vec<Value> = choices.map(|choice| choice.map(Value::Object)).collect::<Option<_>>()?;
    (!choices.is_empty()).then_some(Value::Array(choices))
}

fn object(rest: &mut Map<String, Value>, strict: &mut Map<String, Value>, defs: &Map<String, Value>) -> Option<()> {
    let properties = match rest.remove("properties") {
        Some(Value::Object(properties)) => properties,
        Some(_) => return None,
        None => Map::new(),
    };
    let is_closed = rest.remove("additionalProperties").is_some_and(|more| more == false);
    if properties.is_empty() && !is_closed {
        return None;
    }
    if let Some(required) = rest.remove("required") {
        let is_known = |name: &Value| name.as_str().is_some_and(|name| properties.contains_key(name));
        if !required.as_array()?.iter().all(is_known) {
            return None;
        }
        strict.insert("required".into(), required);
    }
    let properties = properties.iter().map(|(name, part)| Some((name.clone(), narrowed(part, defs)?.into())));
    strict.insert("properties".into(), Value::Object(properties.collect::<Option<_>>()?));
    strict.insert("additionalProperties".into(), false.into());
    Some(())
}

fn array(rest: &mut Map<String, Value>, strict: &mut Map<String, Value>, defs: &Map<String, Value>) -> Option<()> {
    if let Some(items) = rest.remove("items") {
        strict.insert("items".into(), narrowed(&items, defs)?.into());
    }
    if rest.get("minItems").and_then(Value::as_u64).is_some_and(|least| least <= 1) {
        strict.extend(rest.remove("minItems").map(|least| ("minItems".into(), least)));
    }
    Some(())
}

/// Whether a definition needs itself. Definitions that need only known ones become known, until nothing changes.
fn is_recursive(defs: &Map<String, Value>) -> bool {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = known.len();
        for (name, part) in defs {
            if !known.contains(name.as_str()) && needs(part).iter().all(|needed| known.contains(needed)) {
                known.insert(name);
            }
        }
        if known.len() == before {
            return before < defs.len();
        }
    }
}

/// The definitions that a schema refers to, by name.
fn needs(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
            reference.into_iter().chain(fields.values().flat_map(needs)).collect()
        }
        Value::Array(parts) => parts.iter().flat_map(needs).collect(),
        _ => Vec::new(),
    }
}
