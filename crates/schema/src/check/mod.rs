//! Holds a value to a schema, in a bounded number of steps: with references a short schema can describe work without end
//! (a definition that names the next one twice, forty times over), so every step counts.

mod arrays;
mod objects;
mod plain;
mod walk;

use serde_json::Value;

use crate::document::Document;
use crate::value::shown;
use walk::{At, Fits, Path, Property, Rule, Seen, TooMuch, Walk};

/// As many steps are taken; each looks at one part of the schema at one place of the value. They take some tenths of a
/// second.
const STEPS: usize = 5_000_000;
/// Deeper than this no schema goes on at one place; it would end in itself.
const DEEPEST: usize = 500;

/// Every violated rule with its place; empty if the value matches.
pub(crate) fn violations(document: &Document, value: &Value) -> Vec<String> {
    let mut walk = Walk { document, left: STEPS, told: Vec::new() };
    if walk.visit(&document.root, &At { value, path: &Path::Whole, deep: 0 }).is_err() {
        return vec!["the schema asks for more work than any check may take".into()];
    }
    walk.told
}

impl<'a> Walk<'a> {
    /// Whether a value fits; what is wrong with it is told.
    pub(super) fn visit(&mut self, schema: &'a Value, at: &At<'a, '_>) -> Fits<'a> {
        self.spend(1)?;
        if at.deep > DEEPEST {
            return Err(TooMuch);
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                self.tell(at, "nothing may stand here");
                return Ok(None);
            }
            _ => return Ok(Some(Seen::default())),
        };
        let mut seen = Seen::default();
        let mut fits = true;
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            let target = self.document.target(reference).ok_or(TooMuch)?;
            fits &= self.within(target, at, &mut seen)?;
            if self.document.lone_references {
                return Ok(fits.then_some(seen));
            }
        }
        for (keyword, rule) in keywords {
            fits &= self.holds(Rule { keyword, value: rule, beside: keywords }, at, &mut seen)?;
        }
        for (keyword, rule) in keywords {
            fits &= self.holds_for_the_rest(Rule { keyword, value: rule, beside: keywords }, at, &mut seen)?;
        }
        Ok(fits.then_some(seen))
    }

    /// Whether a value fits a schema of the same place, adding what that has seen.
    pub(super) fn within(&mut self, schema: &'a Value, at: &At<'a, '_>, seen: &mut Seen<'a>) -> Result<bool, TooMuch> {
        let inner = self.visit(schema, &at.same())?;
        let fits = inner.is_some();
        if let Some(inner) = inner.filter(|_| self.document.tracks) {
            self.spend(inner.names.len() + inner.items.len())?;
            seen.add(inner);
        }
        Ok(fits)
    }

    /// The same without telling what is wrong; what would have been told.
    pub(super) fn tried(
        &mut self,
        schema: &'a Value,
        at: &At<'a, '_>,
    ) -> Result<Result<Seen<'a>, Vec<String>>, TooMuch> {
        let told = std::mem::take(&mut self.told);
        let fits = self.visit(schema, &at.same());
        let wrong = std::mem::replace(&mut self.told, told);
        Ok(fits?.ok_or(wrong))
    }

    fn holds(&mut self, rule: Rule<'a>, at: &At<'a, '_>, seen: &mut Seen<'a>) -> Result<bool, TooMuch> {
        self.spend(match rule.value {
            Value::Array(parts) => parts.len(),
            Value::Object(parts) => parts.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        })?;
        match rule.keyword {
            "allOf" => rule.schemas().try_fold(true, |fits, schema| Ok(self.within(schema, at, seen)? && fits)),
            "anyOf" | "oneOf" => self.alternatives(rule, at, seen),
            "not" => match self.tried(rule.value, at)? {
                Ok(_) => Ok(self.broken(at, &format!("{} is what it may not be (not)", shown(at.value)))),
                Err(_) => Ok(true),
            },
            "if" => {
                let branch = match self.tried(rule.value, at)? {
                    Ok(inner) => {
                        seen.add(inner);
                        "then"
                    }
                    Err(_) => "else",
                };
                rule.beside.get(branch).map_or(Ok(true), |schema| self.within(schema, at, seen))
            }
            "type" | "enum" | "const" => Ok(self.kind(rule, at)),
            _ => match at.value {
                Value::Object(map) => self.object(rule, at, map, seen),
                Value::Array(items) => self.array(rule, at, items, seen),
                Value::String(text) => self.text(rule, at, text),
                Value::Number(_) => Ok(self.number(rule, at)),
                Value::Null | Value::Bool(_) => Ok(true),
            },
        }
    }

    fn alternatives(&mut self, rule: Rule<'a>, at: &At<'a, '_>, seen: &mut Seen<'a>) -> Result<bool, TooMuch> {
        let mut fitting = 0;
        let mut nearest: Option<Vec<String>> = None;
        for schema in rule.schemas() {
            match self.tried(schema, at)? {
                Ok(inner) => {
                    fitting += 1;
                    seen.add(inner);
                }
                Err(wrong) => {
                    if nearest.as_ref().is_none_or(|nearest| wrong.len() < nearest.len()) {
                        nearest = Some(wrong);
                    }
                }
            }
            // The others count only for what they see.
            if fitting > 0 && rule.keyword == "anyOf" && !self.document.tracks {
                return Ok(true);
            }
        }
        match fitting {
            0 => {
                let nearest = nearest.unwrap_or_default().join("; ");
                let forms = rule.schemas().count();
                Ok(self.broken(
                    at,
                    &format!(
                        "{} has none of the {forms} forms that it may have ({}). The nearest says: {nearest}",
                        shown(at.value),
                        rule.keyword
                    ),
                ))
            }
            2.. if rule.keyword == "oneOf" => {
                Ok(self.broken(at, &format!("{} has {fitting} forms where it may have one (oneOf)", shown(at.value))))
            }
            _ => Ok(true),
        }
    }

    /// What only looks at what nothing beside it has looked at.
    fn holds_for_the_rest(&mut self, rule: Rule<'a>, at: &At<'a, '_>, seen: &mut Seen<'a>) -> Result<bool, TooMuch> {
        match (rule.keyword, at.value) {
            ("unevaluatedProperties", Value::Object(map)) => {
                let mut fits = true;
                for (name, value) in
                    map.iter().filter(|(name, _)| !seen.names.contains(name.as_str())).collect::<Vec<_>>()
                {
                    fits &= match rule.value {
                        Value::Bool(false) => self.unknown(at, rule.beside, name),
                        schema => self.property(schema, at, Property { name, value }, seen)?,
                    };
                }
                Ok(fits)
            }
            ("unevaluatedItems", Value::Array(items)) => {
                let rest: Vec<_> = items.iter().enumerate().filter(|(index, _)| !seen.items.contains(index)).collect();
                self.items(rule.value, at, rest.into_iter(), seen)
            }
            _ => Ok(true),
        }
    }
}
