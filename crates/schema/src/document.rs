//! A schema as it is read: every keyword has the form it must have, every pattern compiles, every reference leads to a
//! schema in the same document.

use std::collections::{BTreeMap, BTreeSet};

use fancy_regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::value::{TYPES, shown, whole};

/// Deeper than this no schema lies in another.
const DEEPEST: usize = 200;
/// Steps back that a pattern may make on one text.
const BACKTRACKS: usize = 100_000;
/// Bytes that a pattern may take when compiled.
const COMPILED: usize = 1 << 20;

/// A schema that has been read.
#[derive(Debug)]
pub(crate) struct Document {
    pub root: Value,
    /// Draft 7 or older, where what stands beside `$ref` counts for nothing.
    pub lone_references: bool,
    /// Whether some part of it asks for what others have looked at: `unevaluatedProperties`, `unevaluatedItems`.
    pub tracks: bool,
    patterns: BTreeMap<String, Regex>,
    /// Where a reference leads, as a JSON pointer, by its text.
    targets: BTreeMap<String, String>,
}

impl Document {
    /// Errors: what is wrong with it.
    pub fn new(root: &Value) -> Result<Document, String> {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let mut document = Document {
            root: root.clone(),
            lone_references: ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old)),
            tracks: false,
            patterns: BTreeMap::new(),
            targets: BTreeMap::new(),
        };
        let mut reading = Reading { id: root.get("$id").and_then(Value::as_str), ..Reading::default() };
        document.read(&mut reading, root, &Place { above: None, name: "" })?;
        document.resolve(reading)?;
        Ok(document)
    }

    /// What a pattern of the schema says of a text; `None` when it takes too many steps.
    pub fn matches(&self, pattern: &str, text: &str) -> Option<bool> {
        self.patterns.get(pattern)?.is_match(text).ok()
    }

    /// The schema that a reference leads to.
    pub fn target(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(self.targets.get(reference)?)
    }

    /// Finds what each reference leads to, and reads that too where it lies in no place of a schema.
    fn resolve(&mut self, mut reading: Reading<'_>) -> Result<(), String> {
        let root = self.root.clone();
        while let Some(reference) = reading.references.pop_first() {
            let own =
                reading.id.filter(|id| !id.is_empty()).and_then(|id| reference.strip_prefix(id.trim_end_matches('#')));
            let pointer = match (own.unwrap_or(&reference), reading.ids.get(&reference)) {
                ("", _) => Some(String::new()),
                (_, Some(named)) => named.clone(),
                (rest, None) => {
                    let Some(fragment) = rest.strip_prefix('#') else {
                        return Err(format!(
                            "it refers to {reference:?}, another document; only what is in it is read"
                        ));
                    };
                    // It would depend on which of them the reference stands in.
                    if !reading.ids.is_empty() {
                        return Err(format!(
                            "it refers to {reference:?}, and a schema in it has an $id: that is not supported"
                        ));
                    }
                    match percent_decoded(fragment) {
                        pointer if pointer.is_empty() || pointer.starts_with('/') => Some(pointer),
                        anchor => reading.anchors.get(&anchor).cloned(),
                    }
                }
            };
            let found = pointer.and_then(|pointer| root.pointer(&pointer).map(|schema| (pointer, schema)));
            let Some((pointer, schema)) = found else {
                return Err(format!("it refers to {reference:?}, which is not in it"));
            };
            self.targets.insert(reference, pointer.clone());
            if !reading.read.contains(&pointer) {
                self.read(&mut reading, schema, &Place { above: None, name: &pointer })?;
            }
            let known = &self.targets;
            reading.references.retain(|reference| !known.contains_key(reference));
        }
        Ok(())
    }

    fn read(&mut self, reading: &mut Reading<'_>, schema: &Value, place: &Place<'_>) -> Result<(), String> {
        let at = place.pointer();
        if place.depth() > DEEPEST {
            return Err(format!("its schemas are nested more than {DEEPEST} deep"));
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            other => {
                return Err(format!("{}a schema is an object, true or false, not {}", at_place(&at), shown(other)));
            }
        };
        if !reading.read.insert(at.clone()) {
            return Ok(());
        }
        reading.names(keywords, &at);
        for (keyword, value) in keywords {
            let place = Place { above: Some(place), name: keyword };
            match keyword_form(keyword) {
                Form::Note => {}
                Form::Schema => self.read(reading, value, &place)?,
                Form::Items => match value {
                    Value::Array(_) => self.read_list(reading, value, &place)?,
                    _ => self.read(reading, value, &place)?,
                },
                Form::Schemas => self.read_list(reading, value, &place)?,
                Form::Named | Form::Patterns | Form::Dependencies => {
                    let Value::Object(named) = value else { return Err(place.wants("an object", value)) };
                    for (name, value) in named {
                        let place = Place { above: Some(&place), name };
                        match value {
                            Value::Array(_) if keyword == "dependencies" => names_of(value, &place)?,
                            _ => self.read(reading, value, &place)?,
                        }
                        if keyword == "patternProperties" {
                            self.compile(name, &place)?;
                        }
                    }
                }
                Form::Pattern => match value {
                    Value::String(pattern) => self.compile(pattern, &place)?,
                    _ => return Err(place.wants("a text", value)),
                },
                Form::Reference => match value {
                    Value::String(reference) => drop(reading.references.insert(reference.clone())),
                    _ => return Err(place.wants("a text", value)),
                },
                Form::Unsupported => return Err(format!("at {}: it is not supported", place.pointer())),
                Form::Plain(form) => form.holds(value, &place)?,
            }
            self.tracks |= matches!(keyword.as_str(), "unevaluatedProperties" | "unevaluatedItems");
        }
        Ok(())
    }

    fn read_list(&mut self, reading: &mut Reading<'_>, value: &Value, place: &Place<'_>) -> Result<(), String> {
        let Value::Array(schemas) = value else { return Err(place.wants("a list of schemas", value)) };
        if schemas.is_empty() && place.name != "items" && place.name != "prefixItems" {
            return Err(place.wants("at least one schema", value));
        }
        for (index, schema) in schemas.iter().enumerate() {
            self.read(reading, schema, &Place { above: Some(place), name: &index.to_string() })?;
        }
        Ok(())
    }

    fn compile(&mut self, pattern: &str, place: &Place<'_>) -> Result<(), String> {
        if self.patterns.contains_key(pattern) {
            return Ok(());
        }
        // Schemas write patterns as ECMAScript does. What the translation does not know (look-around) means the same here.
        let ours = jsonschema_regex::to_rust_regex(pattern).unwrap_or(pattern.into());
        let made = RegexBuilder::new(&ours).backtrack_limit(BACKTRACKS).delegate_size_limit(COMPILED).build();
        let made = made.map_err(|error| format!("at {}: it is no pattern: {error}", place.pointer()))?;
        self.patterns.insert(pattern.into(), made);
        Ok(())
    }
}

/// What is found while a schema is read.
#[derive(Default)]
struct Reading<'a> {
    id: Option<&'a str>,
    /// Pointers of what has been read.
    read: BTreeSet<String>,
    /// Pointers by anchor.
    anchors: BTreeMap<String, String>,
    references: BTreeSet<String>,
    /// Pointers by `$id`, of schemas inside; none where two have the same.
    ids: BTreeMap<String, Option<String>>,
}

impl Reading<'_> {
    /// The names that a schema gives itself. Draft 7 and older wrote an anchor as an `$id`, and draft 4 that as `id`.
    fn names(&mut self, keywords: &Map<String, Value>, at: &str) {
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        let anchor = text("$anchor").or(text("$id").and_then(|id| id.strip_prefix('#')));
        if let Some(anchor) = anchor.filter(|anchor| !anchor.is_empty()) {
            self.anchors.insert(anchor.into(), at.into());
        }
        if let Some(id) = text("$id").filter(|id| !at.is_empty() && !id.starts_with('#')) {
            let again = self.ids.contains_key(id);
            self.ids.insert(id.into(), (!again).then(|| at.into()));
        }
    }
}

/// Where in the schema something stands.
struct Place<'a> {
    above: Option<&'a Place<'a>>,
    /// A keyword, name or index; of the first place, a pointer.
    name: &'a str,
}

impl Place<'_> {
    fn pointer(&self) -> String {
        match self.above {
            None => self.name.into(),
            Some(above) => format!("{}/{}", above.pointer(), self.name.replace('~', "~0").replace('/', "~1")),
        }
    }

    fn depth(&self) -> usize {
        std::iter::successors(self.above, |place| place.above).count()
    }

    fn wants(&self, what: &str, found: &Value) -> String {
        format!("at {}: {what} belongs here, not {}", self.pointer(), shown(found))
    }
}

fn at_place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("at {at}: ") }
}

/// What stands under a keyword.
enum Form {
    Schema,
    Items,
    Schemas,
    Named,
    Patterns,
    Dependencies,
    Pattern,
    Reference,
    Unsupported,
    Plain(Plain),
    /// Nothing that a value could break.
    Note,
}

fn keyword_form(keyword: &str) -> Form {
    match keyword {
        "additionalProperties"
        | "additionalItems"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames" => Form::Schema,
        "items" => Form::Items,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Form::Schemas,
        "properties" | "dependentSchemas" | "$defs" | "definitions" => Form::Named,
        "patternProperties" => Form::Patterns,
        "dependencies" => Form::Dependencies,
        "pattern" => Form::Pattern,
        "$ref" => Form::Reference,
        "$dynamicRef" | "$recursiveRef" => Form::Unsupported,
        "type" => Form::Plain(Plain::Types),
        "enum" => Form::Plain(Plain::List),
        "minimum" | "maximum" => Form::Plain(Plain::Number),
        "exclusiveMinimum" | "exclusiveMaximum" => Form::Plain(Plain::NumberOrSwitch),
        "multipleOf" => Form::Plain(Plain::Positive),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => Form::Plain(Plain::Count),
        "uniqueItems" => Form::Plain(Plain::Switch),
        "required" => Form::Plain(Plain::Names),
        "dependentRequired" => Form::Plain(Plain::NamesByName),
        _ => Form::Note,
    }
}

enum Plain {
    Types,
    List,
    Number,
    NumberOrSwitch,
    Positive,
    Count,
    Switch,
    Names,
    NamesByName,
}

impl Plain {
    fn holds(&self, value: &Value, place: &Place<'_>) -> Result<(), String> {
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        let (fits, what) = match self {
            Plain::Types => {
                let fits = match value {
                    Value::Array(types) => !types.is_empty() && types.iter().all(is_type),
                    one => is_type(one),
                };
                (fits, "the name of a type, or a list of them,")
            }
            Plain::List => (value.is_array(), "a list"),
            Plain::Number => (value.is_number(), "a number"),
            Plain::NumberOrSwitch => (value.is_number() || value.is_boolean(), "a number"),
            Plain::Positive => (value.as_f64().is_some_and(|number| number > 0.0), "a number above 0"),
            Plain::Count => (count(value).is_some(), "a whole number of 0 or more"),
            Plain::Switch => (value.is_boolean(), "true or false"),
            Plain::Names => return names_of(value, place),
            Plain::NamesByName => {
                let Value::Object(named) = value else { return Err(place.wants("an object", value)) };
                return named.iter().try_for_each(|(name, value)| names_of(value, &Place { above: Some(place), name }));
            }
        };
        if fits { Ok(()) } else { Err(place.wants(what, value)) }
    }
}

fn names_of(value: &Value, place: &Place<'_>) -> Result<(), String> {
    match value.as_array().is_some_and(|names| names.iter().all(Value::is_string)) {
        true => Ok(()),
        false => Err(place.wants("a list of names", value)),
    }
}

/// A limit on how many there may be. One beyond what can be counted is none.
pub(crate) fn count(value: &Value) -> Option<usize> {
    let whole = whole(value.as_number()?)?;
    (whole >= 0).then(|| usize::try_from(whole).unwrap_or(usize::MAX))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code =
            code.and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
