//! A result in JSON, taken apart: what its server filled in, and what somebody wrote.

use super::forms::{addresses, holds_addresses, is_address, is_field, is_id, normal};
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

/// What a result in JSON says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// What the server filled in, in its normal form.
    pub fields: HashSet<String>,
    /// What somebody wrote.
    pub passages: Vec<Passage>,
}

impl Records {
    pub fn of(value: &Value) -> Records {
        let mut records = Records::default();
        records.look(value, &HashSet::new());
        records.fields = all_fields(value, is_vouched);
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
