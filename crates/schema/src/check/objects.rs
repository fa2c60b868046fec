//! What a schema says of an object.

use serde_json::{Map, Value};

use super::walk::{At, Key, Part, Path, Property, Rule, Seen, TooMuch, Walk};
use crate::value::{cost_of_text, short, shown};

impl<'a> Walk<'a> {
    pub(super) fn object(
        &mut self,
        rule: Rule<'a>,
        at: &At<'a, '_>,
        map: &'a Map<String, Value>,
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let mut fits = true;
        match rule.keyword {
            "properties" => {
                for (name, schema) in rule.named() {
                    self.spend(cost_of_text(name))?;
                    if let Some((name, value)) = map.get_key_value(name) {
                        fits &= self.part(schema, at, Part { key: Key::Name(name), value }, seen)?;
                    }
                }
            }
            "patternProperties" => {
                for (pattern, schema) in rule.named() {
                    for (name, value) in map {
                        if self.matches(pattern, name)? {
                            fits &= self.part(schema, at, Part { key: Key::Name(name), value }, seen)?;
                        }
                    }
                }
            }
            "additionalProperties" => {
                self.spend(map.len())?;
                for (name, value) in map {
                    if self.is_named(rule.beside, name)? {
                        continue;
                    }
                    fits &= match rule.value {
                        Value::Bool(false) => self.unknown(at, rule.beside, name),
                        schema => self.part(schema, at, Part { key: Key::Name(name), value }, seen)?,
                    };
                }
            }
            "propertyNames" => {
                for name in map.keys() {
                    fits &= self.name(rule.value, at, name)?;
                }
            }
            "required" => {
                for name in rule.names().filter(|name| !map.contains_key(*name)) {
                    fits = self.missing(at, name);
                }
            }
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                for (_, then) in rule.named().filter(|(name, _)| map.contains_key(*name)) {
                    match then {
                        Value::Array(names) => {
                            self.spend(names.len())?;
                            let names = names.iter().filter_map(Value::as_str);
                            for name in names.filter(|name| !map.contains_key(*name)) {
                                fits = self.missing(at, name);
                            }
                        }
                        schema => fits &= self.within(schema, at, seen)?,
                    }
                }
            }
            "minProperties" => fits = self.at_least(rule, at, map.len(), "properties"),
            "maxProperties" => fits = self.at_most(rule, at, map.len(), "properties"),
            _ => {}
        }
        Ok(fits)
    }

    fn missing(&mut self, at: &At<'_, '_>, name: &str) -> bool {
        self.broken_by(at, Property::Missing(name), || format!("{} is missing", shown(&name.into())))
    }

    /// Whether the name of a property fits a schema. It is no part of the value, so it is walked by itself.
    fn name(&mut self, schema: &'a Value, at: &At<'a, '_>, name: &'a str) -> Result<bool, TooMuch> {
        self.spend(cost_of_text(name))?;
        let value = Value::from(name);
        let told = self.tells().then(Vec::new);
        let mut walk = Walk { document: self.document, left: self.left, broken: 0, told, most: self.most };
        let fits =
            walk.visit(schema, &At { value: &value, path: &Path::Whole, deep: at.deep + 1 }).map(|it| it.is_some());
        let told = walk.told.unwrap_or_default();
        self.left = walk.left;
        Ok(fits? || self.broken(at, || format!("the name {}: {}", shown(&value), super::in_words(&told))))
    }

    /// Whether `properties` or `patternProperties` name a property.
    pub(super) fn is_named(&mut self, keywords: &'a Map<String, Value>, name: &str) -> Result<bool, TooMuch> {
        let named = |keyword: &str| keywords.get(keyword).and_then(Value::as_object);
        if named("properties").is_some_and(|named| named.contains_key(name)) {
            return Ok(true);
        }
        for pattern in named("patternProperties").into_iter().flat_map(Map::keys) {
            if self.matches(pattern, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn unknown(&mut self, at: &At<'_, '_>, keywords: &Map<String, Value>, name: &str) -> bool {
        const MOST: usize = 50;
        self.broken_by(at, Property::TooMany(name), || {
            let known = keywords.get("properties").and_then(Value::as_object).filter(|known| !known.is_empty());
            let known = known.map_or(String::new(), |known| {
                let names: Vec<String> = known.keys().take(MOST).map(|name| shown(&name.as_str().into())).collect();
                format!("; there are {}", short(&names.join(", ")))
            });
            format!("there is no property {}{known}", shown(&name.into()))
        })
    }
}
