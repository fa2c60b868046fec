//! A schema as it is read: every keyword has the form it must have, every pattern compiles, every reference leads to a
//! schema in the same document.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::pattern::{Pattern, PatternError};
use crate::value::{TYPES, short, shown, whole};

/// Deeper than this no schema lies in another.
const DEEPEST: usize = 200;
/// Bytes that a reference may have, and the place that one leads to: to follow it takes as long as it is.
const LONGEST_PLACE: usize = 1_000;
/// As much all patterns may weigh: each takes time to read, and memory.
const MOST_OF_PATTERNS: usize = 64_000;

/// Why a value is not a JSON Schema that can be used: one line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a valid JSON Schema: {}", short(&.0.to_string()))]
pub struct SchemaError(pub(crate) Problem);

impl SchemaError {
    /// The error of the pattern, if a pattern in the schema is why.
    pub fn pattern(&self) -> Option<&PatternError> {
        if let Problem::Pattern { source, .. } = &self.0 { Some(source) } else { None }
    }
}

/// What is wrong with a schema. `at` is a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("its schemas are nested more than {DEEPEST} deep")]
    TooDeep,
    #[error("{}a schema is an object, true or false, not {found}", placed(at))]
    NotASchema { at: String, found: String },
    #[error("at {at}: {wanted} belongs here, not {found}")]
    Form { at: String, wanted: &'static str, found: String },
    #[error("at {at}: it is not supported")]
    Unsupported { at: String },
    #[error("at {at}: it is no pattern: {source}")]
    Pattern { at: String, source: PatternError },
    #[error("its patterns are more, or longer, than those of a schema may be")]
    TooManyPatterns,
    #[error("a reference in it has more than {LONGEST_PLACE} bytes")]
    LongReference,
    #[error("it refers to {0:?}, which is not in it")]
    Unresolved(String),
    #[error("it refers to {0:?}, another document; only what is in it is read")]
    OtherDocument(String),
    #[error("it refers to {0:?}, and a schema in it has an $id: that is not supported")]
    ReferenceAndId(String),
    #[error("what it names with $anchor or $id lies at a place of more than {LONGEST_PLACE} bytes")]
    LongPlace,
}

fn placed(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("at {at}: ") }
}

/// A schema that has been read.
#[derive(Debug)]
pub(crate) struct Document {
    pub root: Value,
    /// Draft 7 or older, where what stands beside `$ref` counts for nothing.
    pub lone_references: bool,
    /// Whether some part of it asks for what others have looked at: `unevaluatedProperties`, `unevaluatedItems`.
    pub tracks: bool,
    patterns: BTreeMap<String, Pattern>,
    /// Where a reference leads, as a JSON pointer, by its text.
    targets: BTreeMap<String, String>,
}

impl Document {
    /// Errors: what is wrong with it.
    pub fn new(root: &Value) -> Result<Document, Problem> {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let mut reader = Reader { id: root.get("$id").and_then(Value::as_str), ..Reader::default() };
        reader.read(root, &Place { above: None, name: "", deep: 0 })?;
        let targets = reader.resolve(root)?;
        Ok(Document {
            root: root.clone(),
            lone_references: ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old)),
            tracks: reader.tracks,
            patterns: reader.patterns,
            targets,
        })
    }

    pub fn pattern(&self, pattern: &str) -> Option<&Pattern> {
        self.patterns.get(pattern)
    }

    /// The place that a reference leads to, as a JSON pointer.
    pub fn target(&self, reference: &str) -> Option<&str> {
        self.targets.get(reference).map(String::as_str)
    }
}

/// Reads a schema, and keeps what is found on the way.
#[derive(Default)]
struct Reader<'a> {
    id: Option<&'a str>,
    tracks: bool,
    patterns: BTreeMap<String, Pattern>,
    weight_of_patterns: usize,
    /// Where in memory the schemas lie that have been read.
    known: HashSet<usize>,
    /// Pointers by anchor.
    anchors: BTreeMap<&'a str, String>,
    references: BTreeSet<&'a str>,
    /// Pointers by `$id`, of schemas inside; none where two have the same.
    ids: BTreeMap<&'a str, Option<String>>,
}

impl<'a> Reader<'a> {
    /// Finds what each reference leads to, and reads that too where it lies in no place of a schema.
    fn resolve(&mut self, root: &'a Value) -> Result<BTreeMap<String, String>, Problem> {
        let mut targets = BTreeMap::new();
        while let Some(reference) = self.references.pop_first() {
            if targets.contains_key(reference) {
                continue;
            }
            let pointer = self.pointer_of(reference)?;
            let found = pointer.and_then(|pointer| root.pointer(&pointer).map(|schema| (pointer, schema)));
            let Some((pointer, schema)) = found else {
                return Err(Problem::Unresolved(reference.into()));
            };
            self.read(schema, &Place { above: None, name: &pointer, deep: 0 })?;
            targets.insert(reference.into(), pointer);
        }
        Ok(targets)
    }

    fn pointer_of(&self, reference: &str) -> Result<Option<String>, Problem> {
        if reference.len() > LONGEST_PLACE {
            return Err(Problem::LongReference);
        }
        let own = self.id.filter(|id| !id.is_empty()).and_then(|id| reference.strip_prefix(id.trim_end_matches('#')));
        let rest = match (own.unwrap_or(reference), self.ids.get(reference)) {
            ("", _) => return Ok(Some(String::new())),
            (_, Some(named)) => return Ok(named.clone()),
            (rest, None) => rest,
        };
        let Some(fragment) = rest.strip_prefix('#') else {
            return Err(Problem::OtherDocument(reference.into()));
        };
        // It would depend on which of them the reference stands in.
        if !self.ids.is_empty() {
            return Err(Problem::ReferenceAndId(reference.into()));
        }
        Ok(match percent_decoded(fragment) {
            pointer if pointer.is_empty() || pointer.starts_with('/') => Some(pointer),
            anchor => self.anchors.get(anchor.as_str()).cloned(),
        })
    }

    fn read(&mut self, schema: &'a Value, place: &Place<'_>) -> Result<(), Problem> {
        if place.deep > DEEPEST {
            return Err(Problem::TooDeep);
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            other => return Err(Problem::NotASchema { at: place.pointer(), found: shown(other) }),
        };
        if !self.known.insert(std::ptr::from_ref(schema).addr()) {
            return Ok(());
        }
        self.names(keywords, place)?;
        for (keyword, value) in keywords {
            let place = place.inner(keyword);
            match keyword_form(keyword) {
                Form::Note => {}
                Form::Schema => self.read(value, &place)?,
                Form::Items => match value {
                    Value::Array(_) => self.read_list(value, &place)?,
                    _ => self.read(value, &place)?,
                },
                Form::Schemas => self.read_list(value, &place)?,
                Form::Named | Form::Patterns | Form::Dependencies => {
                    let Value::Object(named) = value else { return Err(place.wants("an object", value)) };
                    for (name, value) in named {
                        let place = place.inner(name);
                        match value {
                            Value::Array(_) if keyword == "dependencies" => names_of(value, &place)?,
                            _ => self.read(value, &place)?,
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
                    Value::String(reference) => drop(self.references.insert(reference)),
                    _ => return Err(place.wants("a text", value)),
                },
                Form::Unsupported => return Err(Problem::Unsupported { at: place.pointer() }),
                Form::Plain(form) => form.holds(value, &place)?,
            }
            self.tracks |= matches!(keyword.as_str(), "unevaluatedProperties" | "unevaluatedItems");
        }
        Ok(())
    }

    fn read_list(&mut self, value: &'a Value, place: &Place<'_>) -> Result<(), Problem> {
        let Value::Array(schemas) = value else { return Err(place.wants("a list of schemas", value)) };
        if schemas.is_empty() && place.name != "items" && place.name != "prefixItems" {
            return Err(place.wants("at least one schema", value));
        }
        for (index, schema) in schemas.iter().enumerate() {
            self.read(schema, &place.inner(&index.to_string()))?;
        }
        Ok(())
    }

    fn compile(&mut self, pattern: &str, place: &Place<'_>) -> Result<(), Problem> {
        if self.patterns.contains_key(pattern) {
            return Ok(());
        }
        let made = Pattern::new(pattern).map_err(|source| Problem::Pattern { at: place.pointer(), source })?;
        self.weight_of_patterns += pattern.len() + made.weight();
        if self.weight_of_patterns > MOST_OF_PATTERNS {
            return Err(Problem::TooManyPatterns);
        }
        self.patterns.insert(pattern.into(), made);
        Ok(())
    }

    /// The names that a schema gives itself. Draft 7 and older wrote an anchor as an `$id`, and draft 4 that as `id`.
    fn names(&mut self, keywords: &'a Map<String, Value>, place: &Place<'_>) -> Result<(), Problem> {
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        let anchor = text("$anchor").or(text("$id").and_then(|id| id.strip_prefix('#')));
        if let Some(anchor) = anchor.filter(|anchor| !anchor.is_empty()) {
            self.anchors.insert(anchor, place.pointer_to_follow()?);
        }
        if let Some(id) = text("$id").filter(|id| !place.is_whole() && !id.starts_with('#')) {
            let pointer = place.pointer_to_follow()?;
            self.ids.entry(id).and_modify(|pointer| *pointer = None).or_insert(Some(pointer));
        }
        Ok(())
    }
}

/// Where in the schema something stands.
struct Place<'a> {
    above: Option<&'a Place<'a>>,
    /// A keyword, name or index; of the first place, a pointer.
    name: &'a str,
    deep: usize,
}

impl<'a> Place<'a> {
    fn inner<'b>(&'b self, name: &'b str) -> Place<'b>
    where
        'a: 'b,
    {
        Place { above: Some(self), name, deep: self.deep + 1 }
    }

    fn is_whole(&self) -> bool {
        self.above.is_none() && self.name.is_empty()
    }

    fn pointer(&self) -> String {
        match self.above {
            None => self.name.into(),
            Some(above) => format!("{}/{}", above.pointer(), self.name.replace('~', "~0").replace('/', "~1")),
        }
    }

    /// The pointer of a place that a reference may lead to. Errors: it is too long.
    fn pointer_to_follow(&self) -> Result<String, Problem> {
        let length: usize = std::iter::successors(Some(self), |place| place.above).map(|place| place.name.len()).sum();
        match length > LONGEST_PLACE {
            true => Err(Problem::LongPlace),
            false => Ok(self.pointer()),
        }
    }

    fn wants(&self, wanted: &'static str, found: &Value) -> Problem {
        Problem::Form { at: self.pointer(), wanted, found: shown(found) }
    }
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
    fn holds(&self, value: &Value, place: &Place<'_>) -> Result<(), Problem> {
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
                return named.iter().try_for_each(|(name, value)| names_of(value, &place.inner(name)));
            }
        };
        if fits { Ok(()) } else { Err(place.wants(what, value)) }
    }
}

fn names_of(value: &Value, place: &Place<'_>) -> Result<(), Problem> {
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
