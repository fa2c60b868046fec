//! Holds a value to a schema, in a bounded number of steps: with references a short schema can describe work without end
//! (a definition that names the next one twice, forty times over), so every step counts.

mod arrays;
mod objects;
mod plain;
mod walk;

use serde_json::Value;

use crate::Violation;
use crate::document::Document;
use crate::value::{all_shown, shown};
use walk::{At, Fits, Key, Part, Path, Rule, Seen, TooMuch, Walk};

/// As many steps are taken; each looks at one part of the schema at one place of the value. They take some tenths of a
/// second.
const STEPS: usize = 5_000_000;
/// Deeper than this no schema goes on at one place; it would end in itself.
const DEEPEST: usize = 500;

/// The violated rules with their places, so many of them; empty if the value matches.
pub(crate) fn violations(document: &Document, value: &Value, most: usize) -> Vec<Violation> {
    let mut walk = Walk { document, left: STEPS, broken: 0, told: Some(Vec::new()), most };
    if walk.visit(&document.root, &At { value, path: &Path::Whole, deep: 0 }).is_err() {
        return vec![Violation::of_whole("the schema asks for more work than any check may take")];
    }
    walk.told.unwrap_or_default()
}

/// Violations in a line.
fn in_words(told: &[Violation]) -> String {
    told.iter().map(Violation::to_string).collect::<Vec<_>>().join("; ")
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
                self.broken(at, || "nothing may stand here".into());
                return Ok(None);
            }
            _ => return Ok(Some(Seen::default())),
        };
        let mut seen = Seen::default();
        let mut fits = true;
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            let pointer = self.document.target(reference).ok_or(TooMuch)?;
            self.spend(pointer.len() / 16)?;
            let target = self.document.root.pointer(pointer).ok_or(TooMuch)?;
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
            self.add(seen, inner)?;
        }
        Ok(fits)
    }

    /// The same without telling what is wrong. Where the value does not fit: how many rules it breaks.
    pub(super) fn tried(&mut self, schema: &'a Value, at: &At<'a, '_>) -> Result<Result<Seen<'a>, usize>, TooMuch> {
        let told = self.told.take();
        let before = std::mem::take(&mut self.broken);
        let fits = self.visit(schema, &at.same());
        self.told = told;
        let broken = std::mem::replace(&mut self.broken, before);
        Ok(fits?.ok_or(broken))
    }

    /// What is wrong with a value that does not fit.
    fn all_told(&mut self, schema: &'a Value, at: &At<'a, '_>) -> Result<Vec<Violation>, TooMuch> {
        let told = self.told.replace(Vec::new());
        let before = self.broken;
        let fits = self.visit(schema, &at.same());
        self.broken = before;
        let wrong = std::mem::replace(&mut self.told, told);
        fits.map(|_| wrong.unwrap_or_default())
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
                Ok(_) => Ok(self.broken(at, || format!("{} is what it may not be (not)", shown(at.value)))),
                Err(_) => Ok(true),
            },
            "if" => {
                let branch = match self.tried(rule.value, at)? {
                    Ok(inner) => {
                        self.add(seen, inner)?;
                        "then"
                    }
                    Err(_) => "else",
                };
                rule.beside.get(branch).map_or(Ok(true), |schema| self.within(schema, at, seen))
            }
            "type" | "enum" | "const" => self.kind(rule, at),
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
        let mut nearest: Option<(usize, &'a Value)> = None;
        for schema in rule.schemas() {
            match self.tried(schema, at)? {
                Ok(inner) => {
                    fitting += 1;
                    self.add(seen, inner)?;
                }
                Err(broken) => {
                    if nearest.is_none_or(|(least, _)| broken < least) {
                        nearest = Some((broken, schema));
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
                if let Some(allowed) = constants(rule) {
                    return Ok(self.broken(at, || format!("{} is not one of {}", shown(at.value), all_shown(allowed))));
                }
                let is_optional = nearest.is_some_and(|(_, schema)| is_one_or_null(rule, schema));
                let nearest = match nearest {
                    Some((_, schema)) if self.tells() => in_words(&self.all_told(schema, at)?),
                    _ => String::new(),
                };
                let forms = rule.schemas().len();
                Ok(self.broken(at, || match is_optional {
                    true => nearest,
                    false => format!(
                        "{} has none of the {forms} forms that it may have ({}). The nearest says: {nearest}",
                        shown(at.value),
                        rule.keyword
                    ),
                }))
            }
            2.. if rule.keyword == "oneOf" => {
                Ok(self.broken(at, || format!("{} has {fitting} forms where it may have one (oneOf)", shown(at.value))))
            }
            _ => Ok(true),
        }
    }

    /// What only looks at what nothing beside it has looked at.
    fn holds_for_the_rest(&mut self, rule: Rule<'a>, at: &At<'a, '_>, seen: &mut Seen<'a>) -> Result<bool, TooMuch> {
        match (rule.keyword, at.value) {
            ("unevaluatedProperties", Value::Object(map)) => {
                self.spend(map.len())?;
                let mut fits = true;
                for (name, value) in map {
                    let key = Key::Name(name);
                    fits &= match rule.value {
                        _ if seen.contains(&key) => true,
                        Value::Bool(false) => self.unknown(at, rule.beside, name),
                        schema => self.part(schema, at, Part { key, value }, seen)?,
                    };
                }
                Ok(fits)
            }
            ("unevaluatedItems", Value::Array(items)) => {
                self.spend(items.len())?;
                let mut fits = true;
                for (index, value) in items.iter().enumerate() {
                    let key = Key::Index(index);
                    fits &= seen.contains(&key) || self.part(rule.value, at, Part { key, value }, seen)?;
                }
                Ok(fits)
            }
            _ => Ok(true),
        }
    }

    /// Whether a part of the value fits a schema.
    pub(super) fn part(
        &mut self,
        schema: &'a Value,
        at: &At<'a, '_>,
        part: Part<'a>,
        seen: &mut Seen<'a>,
    ) -> Result<bool, TooMuch> {
        let path = Path::Part(at.path, part.key);
        let fits = self.visit(schema, &at.inner(part.value, &path))?.is_some();
        if self.document.tracks {
            self.spend(part.key.cost())?;
            seen.insert(part.key);
        }
        Ok(fits)
    }
}

/// What a value may be where every form is one value.
fn constants<'a>(rule: Rule<'a>) -> Option<impl Iterator<Item = &'a Value>> {
    let all = || rule.schemas().map(|schema| schema.get("const"));
    (all().len() > 0 && all().all(|value| value.is_some())).then(|| all().flatten())
}

/// Whether the forms are this one and null: a value that may be left out.
fn is_one_or_null(rule: Rule<'_>, one: &Value) -> bool {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|name| name == "null");
    rule.schemas().len() == 2 && !is_null(one) && rule.schemas().any(is_null)
}
