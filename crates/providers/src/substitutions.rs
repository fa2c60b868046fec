//! What is played otherwise than it was recorded, as data.

use crate::script::{BadScript, ScriptTurn, parse, read};
use mainpath_types::Part;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use std::path::Path;

/// What is played otherwise than it was recorded. In TOML:
///
/// ```toml
/// [[turn]]            # played instead of the second recorded turn
/// at = 2
/// text = "I look elsewhere."
/// calls = [{ tool = "bash", args = { command = "ls" } }]
///
/// [[replace]]         # in all recorded turns that remain
/// from = "/old/folder"
/// to = "/new/folder"
/// ```
///
/// In JSON the same fields stand in `{"turn": [{…}, …], "replace": [{…}, …]}`. A text is replaced in what was said and
/// thought and in the arguments of calls: there inside the strings that are values, so that what was JSON stays JSON.
/// Replacements are made in order, each in what the one before has left. A part that one of them changes loses its signature, as
/// that was given for other words.
#[derive(Clone, Debug, PartialEq)]
pub struct Substitutions {
    file: String,
    pub(crate) turns: Vec<ScriptTurn>,
    replace: Vec<Replacement>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replacement {
    #[serde(deserialize_with = "not_empty")]
    from: String,
    to: String,
}

fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(D::Error::custom("`from` is empty; write the text to replace")) } else { Ok(text) }
}

impl Substitutions {
    /// Reads a file of substitutions.
    ///
    /// # Errors
    /// [`BadScript`], with the file's name.
    pub fn read(path: &Path) -> Result<Substitutions, BadScript> {
        read(path, Substitutions::parse)
    }

    /// Reads substitutions: JSON if the file's name ends in `.json`, else TOML.
    ///
    /// # Errors
    /// [`BadScript`], with the file, and with the line or the turn.
    pub fn parse(file: &str, text: &str) -> Result<Substitutions, BadScript> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            #[serde(rename = "turn", alias = "turns", default)]
            turns: Vec<ScriptTurn>,
            #[serde(default)]
            replace: Vec<Replacement>,
        }
        let Written { turns, replace } = parse(file, text)?;
        if turns.is_empty() && replace.is_empty() {
            let what = "there is no [[turn]] and no [[replace]]".into();
            return Err(BadScript::Syntax { file: file.into(), line: 1, what });
        }
        for (index, turn) in turns.iter().enumerate() {
            let before = turns.get(..index).unwrap_or_default();
            let what = if turn.at.is_none() {
                Some("`at` is missing: the number of the recorded turn that it replaces, from 1")
            } else if before.iter().any(|other| other.at == turn.at) {
                Some("an earlier turn has the same `at`")
            } else if turn.when.is_some() {
                Some("it is played at its place, so there can be no `when`")
            } else {
                turn.what_is_wrong()
            };
            if let Some(what) = what {
                return Err(BadScript::Turn { file: file.into(), turn: index + 1, what });
            }
        }
        Ok(Substitutions { file: file.into(), turns, replace })
    }

    /// Refuses turns for which a recording of this length has no place.
    pub(crate) fn check(&self, recorded: usize) -> Result<(), BadScript> {
        for (turn, number) in self.turns.iter().zip(1..) {
            let at = turn.place().map_or(0, |place| place + 1);
            if at > recorded {
                return Err(BadScript::BeyondRecording { file: self.file.clone(), turn: number, at, recorded });
            }
        }
        Ok(())
    }

    /// Makes the replacements in a recorded turn.
    pub(crate) fn replace_in(&self, parts: &mut [Part]) {
        for part in parts {
            match part {
                Part::Text { text } => *text = self.replaced(text),
                Part::Thinking { text, signature } => {
                    let new = self.replaced(text);
                    if new != *text {
                        (*text, *signature) = (new, None);
                    }
                }
                Part::ToolCall { arguments, signature, .. } => {
                    let new = if serde_json::from_str::<IgnoredAny>(arguments).is_ok() {
                        replaced_in_json(arguments, &|text| self.replaced(text))
                    } else {
                        self.replaced(arguments)
                    };
                    if new != *arguments {
                        (*arguments, *signature) = (new, None);
                    }
                }
                Part::Image { .. }
                | Part::Audio { .. }
                | Part::Document { .. }
                | Part::StoredText { .. }
                | Part::ToolResult { .. } => {}
            }
        }
    }

    fn replaced(&self, text: &str) -> String {
        self.replace.iter().fold(text.to_owned(), |text, Replacement { from, to }| text.replace(from, to))
    }
}

/// Valid JSON with its string values changed; every other byte stays, numbers and the order of fields too.
fn replaced_in_json(json: &str, change: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let (before, from_quote) = rest.split_at(start);
        let (literal, after) = from_quote.split_at(literal_length(from_quote));
        out.push_str(before);
        let is_name = after.trim_start().starts_with(':');
        let old: Option<String> = serde_json::from_str(literal).ok().filter(|_| !is_name);
        match old.map(|old| (change(&old), old)) {
            Some((new, old)) if new != old => out.push_str(&serde_json::Value::String(new).to_string()),
            _ => out.push_str(literal),
        }
        rest = after;
    }
    out + rest
}

/// How many bytes the string literal takes with which this JSON begins.
fn literal_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_replaced_in_json_and_nothing_else_of_it() {
        let json = r#"{ "a": ["a", "\u0061 \"a\\", {"b" : 1.50e3}], "a":"é", "n": 12345678901234567890123 }"#;
        let expected = r#"{ "a": ["\"\n", "\"\n \"\"\n\\", {"b" : 1.50e3}], "a":"é", "n": 12345678901234567890123 }"#;
        let new = replaced_in_json(json, &|text| text.replace('a', "\"\n"));
        assert_eq!(new, expected);
        assert!(serde_json::from_str::<IgnoredAny>(&new).is_ok());
        assert_eq!(replaced_in_json("\"a\"", &|_| "b".into()), "\"b\"");
        assert_eq!(replaced_in_json("[1, \", \"]", &|text| text.replace(", ", ";")), "[1, \";\"]");
        assert_eq!(replaced_in_json("", &|_| "b".into()), "");
    }
}
