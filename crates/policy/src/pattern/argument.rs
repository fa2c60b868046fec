//! Patterns for any argument: `key=sessions:*`, several of them with commas between.

use super::fit::{Fit, Reading};
use crate::glob::{Glob, GlobError};
use serde_json::Value;

/// One argument, by its path: names with dots between.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentPattern {
    path: Vec<String>,
    value: Glob,
}

/// The patterns of `name=value, name=value`; `None` if the words have another shape.
pub(crate) fn parse(text: &str) -> Result<Option<Vec<ArgumentPattern>>, GlobError> {
    let mut pieces: Vec<(String, String)> = Vec::new();
    for piece in text.split(", ") {
        let named = piece.split_once('=').filter(|(name, _)| is_path(name.trim()));
        match (named, pieces.last_mut()) {
            (Some((name, value)), _) => pieces.push((name.trim().into(), value.into())),
            // A comma within a value.
            (None, Some((_, value))) => value.push_str(&format!(", {piece}")),
            (None, None) => return Ok(None),
        }
    }
    let one = |(name, value): (String, String)| -> Result<ArgumentPattern, GlobError> {
        Ok(ArgumentPattern { path: name.split('.').map(String::from).collect(), value: Glob::word(value.trim())? })
    };
    pieces.into_iter().map(one).collect::<Result<_, _>>().map(Some)
}

fn is_path(name: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
            && !part.starts_with('-')
    };
    name.split('.').all(is_name)
}

impl ArgumentPattern {
    /// How well it fits a call's arguments. In a list one element is enough for a wide reading; a strict one wants all.
    pub fn fit(&self, arguments: &Value, reading: Reading) -> Fit {
        Fit::from(matches(&self.path, &self.value, arguments, reading))
    }
}

impl ArgumentPattern {
    /// The argument, by its path.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Whether it is about this argument.
    pub fn is_of(&self, argument: &str) -> bool {
        self.path.iter().map(String::as_str).eq(argument.split('.'))
    }

    /// Whether it is about this value of this argument, rather than about any.
    pub fn names(&self, argument: &str, value: &str) -> bool {
        self.is_of(argument) && self.value.matches(value) && !self.value.matches(NOTHING_MEANT)
    }
}

/// What only a pattern for anything matches.
const NOTHING_MEANT: &str = "\u{e000}";

fn matches(path: &[String], wanted: &Glob, value: &Value, reading: Reading) -> bool {
    if let Value::Array(elements) = value {
        let mut found = elements.iter().map(|element| matches(path, wanted, element, reading));
        return match reading {
            Reading::Wide => found.any(|found| found),
            Reading::Strict => !elements.is_empty() && found.all(|found| found),
        };
    }
    match path.split_first() {
        Some((name, rest)) => value.get(name).is_some_and(|value| matches(rest, wanted, value, reading)),
        None => match value {
            Value::String(text) => wanted.matches(text),
            Value::Number(_) | Value::Bool(_) => wanted.matches(&value.to_string()),
            Value::Null | Value::Object(_) | Value::Array(_) => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_compared_by_name() {
        let arguments = json!({"op": "get", "key": "sessions:1", "n": 3, "to": ["a@x", "b@y"], "deep": {"er": true}});
        for (pattern, wide, strict) in [
            ("key=sessions:*", true, true),
            ("key=users:*", false, false),
            ("op=get, key=sessions:*", true, true),
            ("op=set, key=sessions:*", false, false),
            ("n=3", true, true),
            ("deep.er=true", true, true),
            ("to=*@x", true, false),
            ("to=*@?", true, true),
            ("absent=*", false, false),
            ("deep=*", false, false),
        ] {
            let patterns = parse(pattern).unwrap().unwrap();
            let fits = |reading| patterns.iter().all(|pattern| pattern.fit(&arguments, reading) == Fit::Yes);
            assert_eq!((fits(Reading::Wide), fits(Reading::Strict)), (wide, strict), "{pattern}");
        }
    }

    #[test]
    fn other_words_are_no_arguments() {
        for text in ["src/**", "GET https://h/?a=b", "git push", "-x=1 y"] {
            assert!(parse(text).unwrap().is_none(), "{text}");
        }
    }
}
