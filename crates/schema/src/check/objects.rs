//! What a schema says of an object.

use serde_json::{Map, Value};

use super::walk::{At, Path, Property, Rule, Seen, TooMuch, Walk};
use crate::value::{short, shown};

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
                    if let Some((name, value)) = map.get_key_value(name) {
                        fits &= self.property(schema, at, Property { name, value }, seen)?;
                    }
                }
            }
            "patternProperties" => {
                for (pattern, schema) in rule.named() {
                    for (name, value) in map {
                        if self.matches(pattern, name)? {
                            fits &= self.property(schema, at, Property { name, value }, seen)?;
                        }
                    }
                }
            }
            "additionalProperties" => {
                for (name, value) in map {
                    if self.is_named(rule.beside, name)? {
                        continue;
                    }
                    fits &= match rule.value {
                        Value::Bool(false) => self.unknown(at, rule.beside, name),
                        schema => self.property(schema, at, Property { name, value }, seen)?,
                    };
                }
            }
            "propertyNames" => {
                for name in map.keys() {
                    let wrong = self.wrong_with_name(rule.value, name, at.deep)?;
                    if !wrong.is_empty() {
                        fits = self.broken(at, &format!("the name {name:?}: {}", wrong.join("; ")));
                    }
                }
            }
            "required" => {
                for name in rule.names().filter(|name| !map.contains_key(*name)) {
                    fits = self.broken(at, &format!("{name:?} is missing"));
                }
            }
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                for (_, then) in rule.named().filter(|(name, _)| map.contains_key(*name)) {
                    match then {
                        Value::Array(names) => {
                            let missing =
                                names.iter().filter_map(Value::as_str).filter(|name| !map.contains_key(*name));
                            for name in missing {
                                fits = self.broken(at, &format!("{name:?} is missing"));
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

    /// What is wrong with the name of a property. It is no part of the value, so it is walked by itself.
    pub(super) fn wrong_with_name(
        &mut self,
        schema: &'a Value,
        name: &str,
        deep: usize,
    ) -> Result<Vec<String>, TooMuch> {
        let name = Value::from(name);
        let mut walk = Walk { document: self.document, left: self.left, told: Vec::new() };
        let fits = walk.visit(schema, &At { value: &name, path: &Path::Whole, deep: deep + 1 }).map(drop);
        let (left, told) = (walk.left, walk.told);
        self.left = left;
        fits.map(|()| told)
    }

    pub(super) fn property(
        &mut self,
        schema: &'a Value,
        at: &At<'a, '_>,
        property: Property<'a>,
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let path = Path::Name(at.path, property.name);
        let fits = self.visit(schema, &at.inner(property.value, &path))?.is_some();
        if self.document.tracks {
            seen.names.insert(property.name);
        }
        Ok(fits)
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
        let known = keywords.get("properties").and_then(Value::as_object).filter(|known| !known.is_empty());
        let known = known.map_or(String::new(), |known| {
            let names: Vec<String> = known.keys().take(MOST).map(|name| format!("{name:?}")).collect();
            format!("; there are {}", short(&names.join(", ")))
        });
        self.broken(at, &format!("there is no property {}{known}", shown(&name.into())))
    }
}
