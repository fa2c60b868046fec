//! What is expected of a run: in the `test.toml` of a test, and in the checks of a suite that evaluates runs.

use crate::Error;
use mainpath_schema::Schema;
use mainpath_types::{Decision, FinishReason, Millis, Resolution};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The version of test folders that this code writes and reads.
pub(super) const FORMAT: u32 = 1;

/// What a test expects: its `test.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestFile {
    /// The version of the folder's format.
    pub format: u32,
    /// The trace that it was made of.
    pub from: String,
    /// When it was made.
    pub made: String,
    /// What the agent is told first.
    pub task: String,
    /// What should hold.
    #[serde(default)]
    pub expect: Expectations,
}

/// What should hold. What is left out is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectations {
    /// Whether the agent must be told what it was told when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<ExpectedText>,
    /// Why the last run ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// How many answers the model may give at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How many calls it may make at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// How many tokens it may use at most, input and output together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What it may cost at most, in dollars. A play costs nothing, so it is for suites alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// How long it may work at most, in milliseconds, written as `10m`; waiting for people is not counted. For suites alone, too.
    #[serde(skip_serializing_if = "Option::is_none", with = "time")]
    pub max_time: Option<Millis>,
    /// Whether there may be calls that are not listed. Nothing: in a test there may not, in a suite there may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_calls: Option<OtherCalls>,
    /// How many calls may be judged so at most, by verdict.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_verdicts: BTreeMap<Decision, u32>,
    /// The last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<ExpectedAnswer>,
    /// The calls, in their order.
    #[serde(rename = "call", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ExpectedCall>,
    /// Calls that are not made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<ExpectedCall>,
}

/// How a text should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedText {
    /// As it was recorded.
    Same,
}

/// Calls that are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherCalls {
    /// There are none.
    None,
    /// There may be any, between those that are listed too.
    Any,
}

/// How the last answer should be. All of it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedAnswer {
    /// These very words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// These words are among it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// A regular expression that matches somewhere in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// A JSON Schema that it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// A call that should be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCall {
    /// The tool. `*` stands for any letters.
    pub tool: String,
    /// What the rules say: one of these. Empty: anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub verdict: Vec<Decision>,
    /// The rule that says it. `*` stands for any letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How it ends: one of these. Empty: anyhow.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub result: Vec<Resolution>,
    /// Arguments. In a text `*` stands for any letters, `\*` for a star. Those that are left out are not looked at.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, Value>,
}

/// A word, or a list of words, each read as `T`.
pub(crate) fn one_or_many<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a word, or a list of words")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    let words = match OneOrMany::deserialize(from)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    };
    words.into_iter().map(|word| T::deserialize(word.into_deserializer())).collect()
}

impl ExpectedAnswer {
    /// That it can be held against an answer. Errors: it says nothing, or something of it cannot be used.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if *self == ExpectedAnswer::default() {
            return Err(Error::invalid("answer expects nothing: set is, contains, matches or schema"));
        }
        let pattern = self.matches.as_ref().map(|pattern| json!({"type": "string", "pattern": pattern}));
        if let Some(Err(error)) = pattern.as_ref().map(Schema::new) {
            // Whoever wrote it wrote no schema.
            let why = error.pattern().map_or_else(|| error.to_string(), ToString::to_string);
            return Err(Error::invalid(format!("answer.matches is no regular expression that can be used: {why}")));
        }
        match self.schema.as_ref().map(Schema::new) {
            Some(Err(why)) => Err(Error::invalid(format!("answer.schema cannot be used: {why}"))),
            _ => Ok(()),
        }
    }
}

/// A time as `10m`, in milliseconds.
mod time {
    use crate::values::duration;
    use mainpath_types::Millis;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(time: &Option<Millis>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(ms) => to.serialize_str(&format!("{ms}ms")),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Millis>, D::Error> {
        let text = String::deserialize(from)?;
        let time = duration(&text).map_err(|why| D::Error::custom(format!("{text:?} is not a time: {why}")))?;
        Ok(Some(Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let read: Result<Expectations, toml::de::Error> = toml::from_str(text);
        match read {
            Err(error) => error.message().into(),
            Ok(expect) => expect.answer.unwrap().check().unwrap_err().message().into(),
        }
    }

    #[test]
    fn what_cannot_be_expected_is_said_in_words() {
        let cases = [
            (
                "[[call]]\ntool = \"bash\"\nverdict = \"maybe\"",
                "unknown variant `maybe`, expected one of `allow`, `ask`, `deny`",
            ),
            ("[[call]]\ntool = \"bash\"\nverdict = 1", "expected a word, or a list of words"),
            (
                "answer = { matches = \"(\" }",
                "answer.matches is no regular expression that can be used: at character 1: a parenthesis is not closed",
            ),
            ("answer = {}", "answer expects nothing: set is, contains, matches or schema"),
        ];
        for (text, wanted) in cases {
            assert_eq!(problem(text), wanted, "{text}");
        }
        let good: Expectations = toml::from_str("[[call]]\ntool = \"bash\"\nverdict = [\"ask\", \"deny\"]").unwrap();
        assert_eq!(good.calls[0].verdict, [Decision::Ask, Decision::Deny]);
    }
}
