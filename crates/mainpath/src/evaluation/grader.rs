//! Who grades: what is asked of a grader, and what it answers.

use super::subject::GradedRun;
use mainpath_tools::{Fut, unique_json};
use mainpath_types::{Micros, TraceId};
use serde_json::Value;

/// The longest reason that is kept, in characters.
pub(super) const LONGEST_REASON: usize = 4_000;

/// A grader of a program's own: a suite calls it by its name (`host = "NAME"`).
pub trait Grader: Send + Sync + 'static {
    /// What it is now: a run is graded again when this changes.
    fn version(&self) -> String;

    /// Grades a run. It does not block its thread. Errors: why it cannot, in a line; the other graders go on. So they do when it panics or
    /// takes too long.
    fn grade<'a>(&'a self, run: &'a GradedRun) -> Fut<'a, Result<Grade, String>>;
}

/// What a grader says of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grade {
    /// From 0 (bad) to 1 (good).
    pub score: f64,
    /// Whether that is enough; `None`: the suite says from which score it is.
    pub pass: Option<bool>,
    /// Why, in a few words.
    pub reason: String,
    /// The trace in which it was found, if there is one.
    pub trace: Option<TraceId>,
    /// What it cost, in millionths.
    pub cost: Micros,
}

impl Grade {
    /// With this score.
    pub fn new(score: f64, reason: impl Into<String>) -> Grade {
        Grade { score, reason: reason.into(), ..Grade::default() }
    }

    /// What an answer says: `{"score": 0.8, "pass": true, "reason": "…"}`, of which a score or a pass is enough. Errors: why it is none.
    pub(super) fn read(answer: &[u8]) -> Result<Grade, String> {
        let text = str::from_utf8(answer).map_err(|_| "its answer is not UTF-8 text".to_string())?;
        if text.trim().is_empty() {
            return Err("it answered nothing".into());
        }
        let value = unique_json(text.trim()).map_err(|error| format!("its answer is not JSON: {error}"))?;
        let Value::Object(fields) = value else { return Err("its answer is not a JSON object".into()) };
        let pass = match fields.get("pass") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(pass)) => Some(*pass),
            Some(_) => return Err("the \"pass\" of its answer is neither true nor false".into()),
        };
        let score = match (fields.get("score"), pass) {
            (None | Some(Value::Null), Some(pass)) => f64::from(u8::from(pass)),
            (None | Some(Value::Null), None) => return Err("its answer has no \"score\"".into()),
            (Some(score), _) => score.as_f64().ok_or("the \"score\" of its answer is not a number")?,
        };
        let reason = match fields.get("reason") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(reason)) => reason.clone(),
            Some(_) => return Err("the \"reason\" of its answer is not a text".into()),
        };
        Grade { pass, ..Grade::new(score, reason) }.checked()
    }

    /// The same if it can be one. Errors: its score is out of range.
    pub(super) fn checked(mut self) -> Result<Grade, String> {
        if !(0.0..=1.0).contains(&self.score) {
            return Err(format!("its score is {}, and scores are from 0 to 1", self.score));
        }
        if let Some((at, _)) = self.reason.char_indices().nth(LONGEST_REASON) {
            self.reason.truncate(at);
            self.reason.push('…');
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Grade;

    #[test]
    fn an_answer_is_a_grade_or_what_is_wrong_with_it() {
        let of = |score: f64, pass, reason: &str| Ok(Grade { pass, ..Grade::new(score, reason) });
        let wrong = |why: &str| Err(why.to_owned());
        for (answer, wanted) in [
            (r#"{"score": 0.75, "reason": "Nearly."}"#, of(0.75, None, "Nearly.")),
            (r#" {"score": 1, "pass": false, "more": [1]} "#, of(1.0, Some(false), "")),
            (r#"{"pass": true, "reason": null}"#, of(1.0, Some(true), "")),
            (r#"{"pass": false}"#, of(0.0, Some(false), "")),
            ("", wrong("it answered nothing")),
            ("[1]", wrong("its answer is not a JSON object")),
            ("{}", wrong("its answer has no \"score\"")),
            (r#"{"score": "1"}"#, wrong("the \"score\" of its answer is not a number")),
            (r#"{"score": 1.5}"#, wrong("its score is 1.5, and scores are from 0 to 1")),
            (r#"{"score": -0.1}"#, wrong("its score is -0.1, and scores are from 0 to 1")),
            (r#"{"pass": 1}"#, wrong("the \"pass\" of its answer is neither true nor false")),
            (r#"{"score": 1, "reason": 3}"#, wrong("the \"reason\" of its answer is not a text")),
        ] {
            assert_eq!(Grade::read(answer.as_bytes()), wanted, "{answer}");
        }
        for nonsense in
            ["nonsense", "{\"score\": 1} {\"score\": 0}", "{\"score\": 1, \"score\": 0}", "{\"score\": 1e999}"]
        {
            let why = Grade::read(nonsense.as_bytes()).unwrap_err();
            assert!(why.starts_with("its answer is not JSON: "), "{nonsense}: {why}");
        }
        assert_eq!(Grade::read(b"\xff"), wrong("its answer is not UTF-8 text"));
        let long = format!("{{\"score\": 1, \"reason\": \"{}\"}}", "ä".repeat(5_000));
        assert_eq!(Grade::read(long.as_bytes()).unwrap().reason.chars().count(), 4_001);
    }
}
