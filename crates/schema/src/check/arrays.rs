//! What a schema says of an array.

use std::collections::BTreeMap;

use serde_json::Value;

use super::walk::{At, Item, Path, Rule, Seen, TooMuch, Walk};
use crate::document::count;
use crate::value::{key, shown, size};

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
                let pairs = rule.schemas().zip(items).enumerate();
                let mut fits = true;
                for (index, (schema, value)) in pairs {
                    fits &= self.item(schema, at, Item { index, value }, seen)?;
                }
                Ok(fits)
            }
            "items" => self.items(rule.value, at, items.iter().enumerate().skip(first.len()), seen),
            "additionalItems" if rule.beside.get("items").is_some_and(Value::is_array) => {
                self.items(rule.value, at, items.iter().enumerate().skip(first.len()), seen)
            }
            "contains" => self.contains(rule, at, items, seen),
            "uniqueItems" if rule.value == &Value::Bool(true) => {
                self.spend(items.iter().map(size).sum())?;
                let mut known = BTreeMap::new();
                for (index, item) in items.iter().enumerate() {
                    if let Some(before) = known.insert(key(item), index) {
                        let what = format!("items {before} and {index} are the same, {}", shown(item));
                        return Ok(self.broken(at, &what));
                    }
                }
                Ok(true)
            }
            "minItems" => Ok(self.at_least(rule, at, items.len(), "items")),
            "maxItems" => Ok(self.at_most(rule, at, items.len(), "items")),
            _ => Ok(true),
        }
    }

    pub(super) fn items(
        &mut self,
        schema: &'a Value,
        at: &At<'a, '_>,
        mut items: impl Iterator<Item = (usize, &'a Value)>,
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        items.try_fold(true, |fits, (index, value)| Ok(self.item(schema, at, Item { index, value }, seen)? && fits))
    }

    pub(super) fn item(
        &mut self,
        schema: &'a Value,
        at: &At<'a, '_>,
        item: Item<'a>,
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let path = Path::Item(at.path, item.index);
        let fits = self.visit(schema, &at.inner(item.value, &path))?.is_some();
        if self.document.tracks {
            seen.items.insert(item.index);
        }
        Ok(fits)
    }

    pub(super) fn contains(
        &mut self,
        rule: Rule<'a>,
        at: &At<'a, '_>,
        items: &'a [Value],
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let mut fitting = 0;
        for (index, item) in items.iter().enumerate() {
            if self.tried(rule.value, &at.inner(item, &Path::Item(at.path, index)))?.is_ok() {
                fitting += 1;
                seen.items.insert(index);
            }
        }
        let limit = |keyword: &str| rule.beside.get(keyword).and_then(count);
        let least = limit("minContains").unwrap_or(1);
        if fitting < least {
            return Ok(self.broken(at, &format!("{fitting} of its items are as {least} must be (contains)")));
        }
        match limit("maxContains") {
            Some(most) if fitting > most => {
                Ok(self.broken(at, &format!("{fitting} of its items are as at most {most} may be (contains)")))
            }
            _ => Ok(true),
        }
    }
}
