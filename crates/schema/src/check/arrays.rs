//! What a schema says of an array.

use std::collections::BTreeMap;

use serde_json::Value;

use super::walk::{At, Key, Part, Path, Rule, Seen, TooMuch, Walk};
use crate::document::count;
use crate::value::{cost_of, key, shown};

impl<'a> Walk<'a> {
    pub(super) fn array(
        &mut self,
        rule: Rule<'a>,
        at: &At<'a, '_>,
        items: &'a [Value],
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let first = match (rule.beside.get("prefixItems"), rule.beside.get("items")) {
            (Some(Value::Array(first)), _) | (None, Some(Value::Array(first))) => first.as_slice(),
            _ => &[],
        };
        match rule.keyword {
            "prefixItems" | "items" if rule.value.is_array() => {
                let mut fits = true;
                for (index, (schema, value)) in rule.schemas().zip(items).enumerate() {
                    fits &= self.part(schema, at, Part { key: Key::Index(index), value }, seen)?;
                }
                Ok(fits)
            }
            "items" => self.items(rule.value, at, items.iter().enumerate().skip(first.len()), seen),
            "additionalItems" if rule.beside.get("items").is_some_and(Value::is_array) => {
                self.items(rule.value, at, items.iter().enumerate().skip(first.len()), seen)
            }
            "contains" => self.contains(rule, at, items, seen),
            "uniqueItems" if rule.value == &Value::Bool(true) => {
                self.spend(items.iter().map(cost_of).sum())?;
                let mut known = BTreeMap::new();
                for (index, item) in items.iter().enumerate() {
                    if let Some(before) = known.insert(key(item), index) {
                        let what = || format!("items {before} and {index} are the same, {}", shown(item));
                        return Ok(self.broken(at, what));
                    }
                }
                Ok(true)
            }
            "minItems" => Ok(self.at_least(rule, at, items.len(), "items")),
            "maxItems" => Ok(self.at_most(rule, at, items.len(), "items")),
            _ => Ok(true),
        }
    }

    fn items(
        &mut self,
        schema: &'a Value,
        at: &At<'a, '_>,
        items: impl Iterator<Item = (usize, &'a Value)>,
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let mut fits = true;
        for (index, value) in items {
            fits &= self.part(schema, at, Part { key: Key::Index(index), value }, seen)?;
        }
        Ok(fits)
    }

    fn contains(
        &mut self,
        rule: Rule<'a>,
        at: &At<'a, '_>,
        items: &'a [Value],
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let mut fitting = 0;
        for (index, item) in items.iter().enumerate() {
            let key = Key::Index(index);
            if self.tried(rule.value, &at.inner(item, &Path::Part(at.path, key)))?.is_ok() {
                fitting += 1;
                self.spend(key.cost())?;
                seen.insert(key);
            }
        }
        let limit = |keyword: &str| rule.beside.get(keyword).and_then(count);
        let least = limit("minContains").unwrap_or(1);
        if fitting < least {
            return Ok(self.broken(at, || format!("{fitting} of its items are as {least} must be (contains)")));
        }
        match limit("maxContains") {
            Some(most) if fitting > most => {
                Ok(self.broken(at, || format!("{fitting} of its items are as at most {most} may be (contains)")))
            }
            _ => Ok(true),
        }
    }
}
