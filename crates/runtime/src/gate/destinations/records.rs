//! A structured result, divided into fields of the server and free text.

use super::forms::{addresses, holds_addresses, is_address, is_field, is_id, is_text, normal};
use super::{flow, lines, yaml};
use crate::gate::fold::folded;
use serde_json::Value;
use std::collections::HashSet;

/// A text in a result, and what the server says of the record that it stands in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    pub text: String,
    /// The ids, addresses and numbers of its record, of those around it and of those within it, in their normal form: whoever wrote the text may
    /// name them. Names are not among them, as people choose those.
    pub fields: HashSet<String>,
}

/// The parts of a result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// What the server filled in, in its normal form.
    pub fields: HashSet<String>,
    /// Whole values of any other field, and the names of the fields: they name a thing, but no address.
    pub names: HashSet<String>,
    /// What somebody wrote.
    pub passages: Vec<Passage>,
}

/// Letters of a name at most.
const LONGEST_NAME: usize = 80;

impl Records {
    /// Takes a result apart: JSON, YAML, a literal of Python or lines of text. `is_said`: whether a person said a word. What has no structure is a text.
    pub fn of_result(text: &str, is_said: &dyn Fn(&str) -> bool) -> Records {
        if let Some(value) = value(text).or_else(|| yaml::parse(text).filter(Value::is_array)) {
            return Records::of(&value);
        }
        if let Some(value) = yaml::parse(text) {
            let mut records = Records::of(&value);
            // The author of a text can write a YAML map too: its addresses count only if a person's words point at it.
            let counts = points(&value, is_said);
            records.fields.retain(|field| counts || !is_address(field) && !is_number(field));
            return records;
        }
        let names = lines::names(text);
        if names.is_empty()
            && let Some(value) = lines::parse(text, is_said)
        {
            return Records::of(&value);
        }
        if names.len() > 1 && names.iter().all(|name| is_plain_word(name)) {
            return Records::of(&names.into_iter().map(Value::from).collect());
        }
        let whole = Passage { text: text.into(), fields: HashSet::new() };
        Records { names: names.into_iter().map(String::from).collect(), passages: vec![whole], ..Records::default() }
    }

    /// The free text of a structured text, such as a JSON file. `None`: the text has no structure.
    pub fn prose(text: &str) -> Option<String> {
        let value = value(text).or_else(|| yaml::parse(text))?;
        let texts: Vec<String> = Records::of(&value).passages.into_iter().map(|passage| passage.text).collect();
        Some(folded(&texts.join("\n")))
    }

    pub fn of(value: &Value) -> Records {
        let mut records = Records::default();
        let is_word = |item: &Value| item.as_str().is_some_and(is_plain_word);
        match value.as_array().filter(|items| items.iter().all(is_word)) {
            // A list of names and nothing else, such as channels.
            Some(items) => records.fields.extend(items.iter().filter_map(Value::as_str).map(normal)),
            None => {
                records.look(value, &HashSet::new());
                records.fields = all_fields(value, is_vouched);
            }
        }
        name_all(value, &mut records.names);
        records
    }

    fn look(&mut self, value: &Value, around: &HashSet<String>) {
        match value {
            Value::String(text) => self.passages.push(Passage { text: text.clone(), fields: around.clone() }),
            Value::Array(items) => items.iter().for_each(|item| self.look(item, around)),
            Value::Object(map) => {
                let mut own = HashSet::new();
                map.iter().for_each(|(name, value)| fields_of(name, value, is_own, &mut own));
                let within = all_fields(value, is_own);
                let mut outer = around.clone();
                outer.extend(own);
                for (name, value) in map {
                    match value {
                        // A field of one word is the server's; in a longer one there may be anything.
                        Value::String(text) if is_field(name) && !text.trim().contains(char::is_whitespace) => {}
                        Value::String(text) => {
                            let fields = outer.union(&within).cloned().collect();
                            self.passages.push(Passage { text: text.clone(), fields });
                        }
                        Value::Array(items) if is_field(name) => {
                            let is_field =
                                |item: &&Value| item.as_str().is_some_and(|text| !text.contains(char::is_whitespace));
                            items.iter().filter(|item| !is_field(item)).for_each(|item| self.look(item, &outer));
                        }
                        other => self.look(other, &outer),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The value that a text holds in JSON or as a literal of Python.
fn value(text: &str) -> Option<Value> {
    let json = serde_json::from_str::<Value>(text).ok().filter(|value| value.is_object() || value.is_array());
    json.or_else(|| flow::parse(text))
}

/// Returns true if a value of a map, free text excluded, has a word that a person used.
fn points(value: &Value, is_said: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => lines::words(text).any(is_said),
        Value::Array(items) => items.iter().any(|item| points(item, is_said)),
        Value::Object(map) => map.iter().any(|(name, value)| !is_text(name) && points(value, is_said)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true for one word that is neither an address nor a number.
fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && !is_address(text) && !is_number(text)
}

/// Collects the names of a value's fields and their one-line values, free text excluded.
fn name_all(value: &Value, names: &mut HashSet<String>) {
    let is_name = |text: &str| text.chars().count() <= LONGEST_NAME && !text.contains('\n') && !is_address(text);
    match value {
        Value::String(text) if is_name(text) => drop(names.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| name_all(item, names)),
        Value::Object(map) => {
            for (name, value) in map.iter().filter(|(name, _)| !is_text(name)) {
                if is_name(name) {
                    names.insert(name.clone());
                }
                name_all(value, names);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a value counts under a field's name.
type Counts = fn(&str, &str) -> bool;

/// Whether a field's value is the server's word.
fn is_vouched(name: &str, value: &str) -> bool {
    holds_addresses(name) || !is_address(value) && !is_number(value)
}

/// Whether a field's value tells the record itself, or its people.
fn is_own(name: &str, value: &str) -> bool {
    is_id(name) || holds_addresses(name) && (is_address(value) || is_number(value))
}

/// The fields of a value at any depth.
fn all_fields(value: &Value, counts: Counts) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                map.iter().for_each(|(name, value)| fields_of(name, value, counts, &mut found));
                todo.extend(map.values());
            }
            _ => {}
        }
    }
    found
}

/// The values of a field, if it is one that the server fills.
fn fields_of(name: &str, value: &Value, counts: Counts, found: &mut HashSet<String>) {
    if !is_field(name) {
        return;
    }
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for item in items {
        match item {
            Value::String(text) => found.extend(values(text).into_iter().filter(|value| counts(name, value))),
            Value::Number(number) => found.extend(Some(number.to_string()).filter(|value| counts(name, value))),
            _ => {}
        }
    }
}

/// Whether a value is the number of an account or a phone.
fn is_number(value: &str) -> bool {
    value.chars().filter(char::is_ascii_digit).count() >= 7
}

/// The values of a field's text: itself, the address behind a name (`Anna <anna@corp.example>`), and each of a list of addresses.
fn values(text: &str) -> Vec<String> {
    let mut values = vec![normal(text)];
    let text = text.trim();
    if let Some((_, address)) = text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        values.push(normal(address));
    }
    let pieces: Vec<&str> = text.split([',', ';']).map(str::trim).collect();
    let is_address = |piece: &&str| addresses(piece).iter().any(|address| address == piece);
    if pieces.len() > 1 && pieces.iter().all(is_address) {
        values.extend(pieces.into_iter().map(normal));
    }
    values
}
