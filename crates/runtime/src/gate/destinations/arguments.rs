//! The values of a call's arguments that say where it goes, to whom, and what it is about.

use super::days::days;
use super::forms::{addresses, is_file, is_place, is_text, is_title, words};
use serde_json::Value;
use std::collections::HashSet;

/// The meaning of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Where to or to whom: the value of an argument with such a name, or an address in any.
    Place,
    /// A file.
    File,
    /// The name of a thing, in an argument of any name: a hotel.
    Name,
    /// The same in an argument for free text: a title.
    Text,
    /// A day.
    Day,
}

/// A value of a call's arguments.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The argument's path, with dots.
    pub argument: String,
    pub value: String,
    pub kind: Kind,
}

impl Candidate {
    /// The last name of the path.
    pub fn name(&self) -> &str {
        self.argument.rsplit('.').next().unwrap_or_default()
    }
}

/// Letters of the name of a thing, at least and at most.
const NAME: std::ops::RangeInclusive<usize> = 4..=80;
/// Letters of a name of one word in small letters at least: shorter ones are in most texts.
const PLAIN_WORD: usize = 6;
/// Letters of a day at most.
const DAY: usize = 40;

/// The values of arguments: places, addresses wherever they are, names of things and days. `parameters`: the names of arguments that tools
/// have. Any other key of a map is a value too, unless it looks like the name of an argument.
pub(super) fn collect(
    value: &Value,
    argument: &str,
    name: &str,
    parameters: &HashSet<String>,
    found: &mut Vec<Candidate>,
) {
    let mut put = |value: &str, kind: Kind| {
        found.push(Candidate { argument: argument.into(), value: value.trim().into(), kind });
    };
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                return collect(&inner, argument, name, parameters, found);
            }
            let is_file = is_file(name) && !text.contains("://");
            if is_file {
                return put(text, Kind::File);
            }
            let is_name = is_place(name);
            let is_url = text.contains("://") && !text.trim().contains(char::is_whitespace);
            if !is_name || is_url {
                let inner = addresses(text);
                inner.iter().for_each(|address| put(address, Kind::Place));
                if let Some(kind) = kind(text, name).filter(|_| inner.is_empty() && !is_name) {
                    put(text, kind);
                }
                return;
            }
            for piece in text.split([',', ';', '\n', '\r']) {
                let inner = addresses(piece);
                inner.iter().for_each(|address| put(address, Kind::Place));
                if inner.is_empty() {
                    put(piece, Kind::Place);
                }
            }
        }
        Value::Number(number) if is_place(name) => put(&number.to_string(), Kind::Place),
        Value::Array(items) => items.iter().for_each(|item| collect(item, argument, name, parameters, found)),
        Value::Object(map) => map.iter().for_each(|(inner, value)| {
            let dot = if argument.is_empty() { "" } else { "." };
            if parameters.contains(inner) || looks_like_parameter(inner) || has_headers(name) {
                addresses(inner).into_iter().for_each(|value| {
                    found.push(Candidate { argument: argument.into(), value, kind: Kind::Place });
                });
            } else {
                collect(&Value::from(inner.as_str()), argument, name, parameters, found);
            }
            collect(value, &format!("{argument}{dot}{inner}"), inner, parameters, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns true for one word in small letters (`eventId`, `start_time`), without a hyphen before digits as ids have it.
fn looks_like_parameter(key: &str) -> bool {
    let starts = key.starts_with(|first: char| first.is_ascii_lowercase() || "_$".contains(first));
    let is_id = key.contains('-') && key.contains(|letter: char| letter.is_ascii_digit());
    starts && !is_id && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.$".contains(letter))
}

/// Returns true for a map of HTTP headers.
fn has_headers(name: &str) -> bool {
    words(name).any(|word| matches!(word.as_str(), "header" | "headers"))
}

/// The kind of a value that is not a place. `None`: it is too short or too long for a name.
fn kind(text: &str, name: &str) -> Option<Kind> {
    let text = text.trim();
    let count = text.chars().count();
    let is_day = count <= DAY && text.split_whitespace().count() <= 4 && !days(text).is_empty();
    if is_day {
        return Some(Kind::Day);
    }
    let is_plain = text.chars().all(char::is_lowercase) && count < PLAIN_WORD;
    let fits = NAME.contains(&count) && !is_plain && !text.contains('\n') && text.contains(char::is_alphabetic);
    let is_text = is_text(name) || is_title(name);
    // A text of one word says nothing by itself.
    let is_phrase = text.contains(char::is_whitespace);
    (fits && (is_phrase || !is_text)).then_some(if is_text { Kind::Text } else { Kind::Name })
}
