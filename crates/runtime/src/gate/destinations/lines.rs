//! A result in lines of text: records of `Name: value`, or a list of names.
//!
//! Whoever writes a text in such a record can write lines that look like fields. So fields count only before the first text of a record. After
//! a text in the same result, and if they hold an address or a number, they count only in a record at which a person's words point.

use super::forms::{addresses, is_address, is_field, is_id, is_text};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Words of a value at most; a longer one is a text.
const LONGEST: usize = 8;

/// The records of a result, its doubtful part as texts. `is_said`: whether a person said a word. `None`: it is a text as a whole.
pub(super) fn parse(text: &str, is_said: &dyn Fn(&str) -> bool) -> Option<Value> {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let (first, _) = split_name(lines.first()?)?;
    let starts =
        |at: usize| at == 0 || lines[at - 1].is_empty() && split_name(lines[at]).is_some_and(|(name, _)| name == first);
    let starts: Vec<usize> = (0..lines.len()).filter(|at| starts(*at)).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut records: Vec<Value> = Vec::new();
    let mut shape: Option<Vec<String>> = None;
    let mut after_text = false;
    for (from, to) in starts.iter().copied().zip(ends) {
        let lines = &lines[from..to];
        let record = Record::of(lines);
        let names = || record.fields.iter().map(|(name, _)| (*name).to_string()).collect::<Vec<_>>();
        let same = *shape.get_or_insert_with(names) == names();
        let pointed_at = || record.fields.iter().any(|(_, value)| words(value).any(is_said));
        let is_pointed_at = pointed_at();
        if record.is_doubtful || after_text && !same {
            records.push(Value::String(lines.join("\n")));
        } else if after_text && !is_pointed_at {
            records.push(Value::String(record.doubted()));
        } else {
            records.push(record.value(is_pointed_at));
        }
        after_text |= record.is_doubtful || !record.text.is_empty();
    }
    let found = records.iter().filter_map(Value::as_object).any(|record| record.keys().any(|name| name != "text"));
    let one_line = lines.len() < 2;
    (found && !one_line).then_some(Value::Array(records))
}

/// The lines of a record.
struct Record<'a> {
    fields: Vec<(&'a str, &'a str)>,
    /// From the first line on that is a text.
    text: Vec<&'a str>,
    /// A name comes twice.
    is_doubtful: bool,
}

impl<'a> Record<'a> {
    fn of(lines: &[&'a str]) -> Record<'a> {
        let is_value = |line: &&&'a str| {
            split_name(line).is_some_and(|(name, value)| !is_text(name) && value.split_whitespace().count() <= LONGEST)
        };
        let count = lines.iter().take_while(is_value).count();
        let fields: Vec<_> = lines[..count].iter().filter_map(|line| split_name(line)).collect();
        let names: HashSet<&str> = fields.iter().map(|(name, _)| *name).collect();
        let is_doubtful = names.len() < fields.len();
        let text = lines[count..].iter().copied().skip_while(|line| line.is_empty()).collect();
        Record { fields, text, is_doubtful }
    }

    /// The text of a record of unknown origin: all fields except people and places, and the free text.
    fn doubted(&self) -> String {
        let counts = |(name, _): &&(&str, &str)| !is_field(name) || is_id(name);
        let fields = self.fields.iter().filter(counts).map(|(name, value)| format!("{name}: {value}"));
        fields.chain(self.text.iter().map(|line| (*line).to_string())).collect::<Vec<_>>().join("\n")
    }

    /// The record. Its addresses and numbers count only if a person's words point at it.
    fn value(&self, is_pointed_at: bool) -> Value {
        let counts = |(name, value): &&(&str, &str)| {
            let digits = value.chars().filter(char::is_ascii_digit).count();
            let says_where = is_field(name) && (digits >= 7 || !addresses(value).is_empty() || is_address(value));
            is_pointed_at || !says_where
        };
        let fields = self.fields.iter().filter(counts).map(|(name, value)| ((*name).to_string(), listed(name, value)));
        let mut map: Map<String, Value> = fields.collect();
        if !self.text.is_empty() {
            map.insert("text".into(), Value::String(self.text.join("\n")));
        }
        Value::Object(map)
    }
}

/// The names that a list of lines has, if it is nothing else: `Hotels: Aare`, then a name in each line.
pub(super) fn names(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    let Some((first, rest)) = lines.split_first() else { return Vec::new() };
    let (title, first) = first.split_once(": ").map_or((None, *first), |(title, first)| (Some(title), first));
    let names: Vec<&str> = [first].into_iter().chain(rest.iter().copied()).collect();
    let fits = |name: &str| {
        let words = name.split_whitespace().count();
        (1..=6).contains(&words)
            && name.chars().count() <= 60
            && !name.contains([':', ';', '!', '?', '|', '{', '['])
            && !name.ends_with(['.', ','])
            && !is_address(name)
    };
    let titled = title.is_none_or(|title| title.split_whitespace().count() <= LONGEST);
    if titled && names.iter().all(|name| fits(name)) { names } else { Vec::new() }
}

/// A value; those of a field that has several are apart.
fn listed(name: &str, value: &str) -> Value {
    let several = is_field(name) && value.contains(", ") && value.split(", ").all(|item| !item.contains(' '));
    match several {
        true => value.split(", ").map(Value::from).collect(),
        false => value.into(),
    }
}

/// The words of a value that can point at a record: of three letters, only names of people.
pub(super) fn words(value: &str) -> impl Iterator<Item = &str> {
    const COMMON: [&str; 8] = ["All", "And", "For", "New", "Not", "Our", "The", "You"];
    value.split_whitespace().flat_map(|token| {
        let local = token.find('@').unwrap_or_default();
        let fits = move |word: &&str| match word.chars().count() {
            0..3 => false,
            3 => {
                let is_local = (word.as_ptr() as usize) < token.as_ptr() as usize + local;
                is_local || word.starts_with(char::is_uppercase) && !COMMON.contains(word)
            }
            _ => true,
        };
        token.split(|letter: char| !letter.is_alphanumeric()).filter(fits)
    })
}

/// The name before a colon, and the value behind it.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let fits = |letter: char| letter.is_alphanumeric() || " _-".contains(letter);
    let named = name.starts_with(char::is_alphabetic) && name.chars().all(fits) && name.split_whitespace().count() <= 3;
    (named && (value.is_empty() || value.starts_with(' '))).then(|| (name, value.trim()))
}
