//! The fields that a schema has at a place, for who has written one that it does not have.

use crate::problem::FieldProblem;
use serde_json::Value;

/// That a field is too many, with the fields that there are. `root`: the schema of the whole, `pointer`: the field.
pub fn unknown(root: &Value, place: &str, pointer: &str) -> FieldProblem {
    let mut at = vec![root];
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        at = at.into_iter().flat_map(|schema| below(root, schema, part)).collect();
    }
    let mut names = Vec::new();
    for schema in at.into_iter().flat_map(|schema| forms(root, schema)) {
        let properties = schema.get("properties").and_then(Value::as_object);
        names.extend(properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)));
    }
    names.dedup();
    let instead = if names.is_empty() { String::new() } else { format!("; the fields are {}", names.join(", ")) };
    FieldProblem::unknown(place, pointer, &instead)
}

/// A schema with those that it refers to or chooses among.
fn forms<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut all = vec![schema];
    let mut next = 0;
    // Schemas may refer to themselves.
    while let Some(schema) = all.get(next).copied().filter(|_| all.len() < 64) {
        next += 1;
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(to.strip_prefix('#')?));
        let chosen = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
        all.extend(target.into_iter().chain(chosen));
    }
    all
}

/// The schemas of a field of an object, or of an item of a list.
fn below<'a>(root: &'a Value, schema: &'a Value, part: &str) -> Vec<&'a Value> {
    let part = part.replace("~1", "/").replace("~0", "~");
    let of = |schema: &'a Value| {
        let field = schema.get("properties").and_then(|properties| properties.get(&part));
        field.or_else(|| schema.get("items"))
    };
    forms(root, schema).into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_field_is_told_with_those_that_there_are_where_it_stands() {
        let root = json!({
            "properties": {"task": {}, "limits": {"$ref": "#/$defs/Limits"}, "list": {"items": {"$ref": "#/$defs/One"}}},
            "$defs": {
                "Limits": {"properties": {"time": {}, "calls": {}}},
                "One": {"anyOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/One"}]},
            },
        });
        let told = |pointer: &str| unknown(&root, "body", pointer).detail;
        assert_eq!(told("/x"), "is no field here; the fields are limits, list, task");
        assert_eq!(told("/limits/x"), "is no field here; the fields are calls, time");
        assert_eq!(told("/list/0/x"), "is no field here; the fields are a");
        assert_eq!(told("/task/x"), "is no field here");
    }
}
