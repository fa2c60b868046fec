//! What it costs to hold a value to a schema. With references a short schema can describe work without end: a definition
//! that names the next one twice, forty times over. So the steps are counted beforehand, and given up at a limit.

use serde_json::{Map, Value};

/// As many steps are taken; each visits one part of the schema at one place of the value.
const STEPS: usize = 200_000;

/// Whether a schema can describe more work than its own size times the value's.
pub(crate) fn can_grow(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.keys().any(|key| is_reference(key)) || map.values().any(can_grow),
        Value::Array(items) => items.iter().any(can_grow),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether a value can be held to a schema in a bounded number of steps.
pub(crate) fn is_bounded(schema: &Value, value: &Value) -> bool {
    Walk { root: schema, left: STEPS }.visit(schema, value, 0).is_some()
}

/// Deeper than this no schema goes on at one place; it would end in itself.
const DEEPEST: usize = 500;

fn is_reference(key: &str) -> bool {
    matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef")
}

struct Walk<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Walk<'a> {
    /// Counts; `None` when it is too much or cannot be told.
    fn visit(&mut self, schema: &'a Value, value: &Value, deep: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let Value::Object(keywords) = schema else { return Some(()) };
        if deep > DEEPEST {
            return None;
        }
        // What these do not see as evaluated they have to find out by evaluating it once more.
        let again = keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems");
        for _ in 0..=usize::from(again) {
            for (keyword, inner) in keywords {
                self.keyword((keyword, inner), keywords, value, deep + 1)?;
            }
        }
        Some(())
    }

    fn keyword(
        &mut self,
        (keyword, inner): (&str, &'a Value),
        keywords: &'a Map<String, Value>,
        value: &Value,
        deep: usize,
    ) -> Option<()> {
        match keyword {
            "$ref" => {
                // Only what lies in the schema itself: nothing else is ever loaded.
                let pointer = inner.as_str()?.strip_prefix('#')?;
                let target = self.root.pointer(&pointer.replace("%25", "%"))?;
                self.visit(target, value, deep)
            }
            key if is_reference(key) => None,
            "allOf" | "anyOf" | "oneOf" => {
                inner.as_array().into_iter().flatten().try_for_each(|one| self.visit(one, value, deep))
            }
            "not" | "if" | "then" | "else" => self.visit(inner, value, deep),
            "dependentSchemas" | "dependencies" => {
                inner.as_object().into_iter().flatten().try_for_each(|(_, one)| self.visit(one, value, deep))
            }
            "properties" => inner.as_object().into_iter().flatten().try_for_each(|(name, one)| match value.get(name) {
                Some(child) => self.visit(one, child, deep),
                None => Some(()),
            }),
            "patternProperties" => {
                let patterns = inner.as_object().into_iter().flatten();
                patterns
                    .flat_map(|(_, one)| children(value).map(move |child| (one, child)))
                    .try_for_each(|(one, child)| self.visit(one, child, deep))
            }
            "additionalProperties" | "unevaluatedProperties" if value.is_object() => {
                let named = keywords.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                let others = others.filter(|(name, _)| !named.is_some_and(|named| named.contains_key(*name)));
                others.map(|(_, child)| child).try_for_each(|child| self.visit(inner, child, deep))
            }
            "items" | "contains" | "additionalItems" | "unevaluatedItems" if value.is_array() => {
                children(value).try_for_each(|child| self.visit(inner, child, deep))
            }
            "prefixItems" => {
                let pairs = inner.as_array().into_iter().flatten().zip(children(value));
                pairs.into_iter().try_for_each(|(one, child)| self.visit(one, child, deep))
            }
            _ => Some(()),
        }
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn doubling(levels: usize, at: &str) -> Value {
        let mut defs = Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            defs.insert(format!("d{level}"), json!({at: [next, next]}));
        }
        defs.insert(format!("d{levels}"), json!({"type": "integer"}));
        json!({"$defs": defs, "properties": {"a": {"$ref": "#/$defs/d0"}}})
    }

    #[test]
    fn ordinary_schemas_are_bounded_recursive_ones_too() {
        let tree = json!({
            "$defs": {"node": {"properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}}}},
            "$ref": "#/$defs/node",
        });
        let mut value = json!({});
        for _ in 0..60 {
            value = json!({"left": value, "right": {}});
        }
        assert!(can_grow(&tree) && is_bounded(&tree, &value));
        assert!(!can_grow(&json!({"properties": {"a": {"type": "string"}}})));
        assert!(is_bounded(&doubling(10, "anyOf"), &json!({"a": 1})));
    }

    #[test]
    fn work_that_doubles_with_every_step_is_not() {
        for at in ["allOf", "anyOf", "oneOf"] {
            assert!(!is_bounded(&doubling(40, at), &json!({"a": 1})), "{at}");
            // Where there is nothing to hold to it there is no work.
            assert!(is_bounded(&doubling(40, at), &json!({"b": 1})), "{at}");
        }
        let twice = json!({"$ref": "#/$defs/a"});
        let deeper = json!({"$defs": {"a": {"properties": {"a": {"allOf": [twice, twice]}}}}, "$ref": "#/$defs/a"});
        let mut value = json!({});
        for _ in 0..50 {
            value = json!({"a": value});
        }
        assert!(!is_bounded(&deeper, &value));
        assert!(!is_bounded(&json!({"$ref": "#"}), &json!({})));
        assert!(!is_bounded(&json!({"$dynamicRef": "#a"}), &json!({})));
        assert!(!is_bounded(&json!({"$ref": "http://h/s.json"}), &json!({})));
    }
}
