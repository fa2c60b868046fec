//! Who grades: what is asked of a grader, and what it answers.

use super::subject::GradedRun;
use crate::Error;
use crate::home::CallError;
use mainpath_tools::{Fut, unique_json};
use mainpath_types::{FinishReason, Micros, TraceId};
use serde_json::Value;
use std::time::Duration;

/// The longest reason that is kept, in characters.
pub(super) const LONGEST_REASON: usize = 4_000;

/// A grader of a program's own: a suite calls it by its name (`host = "NAME"`).
pub trait Grader: Send + Sync + 'static {
    /// What it is now: a run is graded again when this changes.
    fn version(&self) -> String;

    /// Grades a run. It does not block its thread.
    ///
    /// # Errors
    /// The grader cannot grade the run. The other graders continue, also if it panics or takes too long.
    fn grade<'a>(&'a self, run: &'a GradedRun) -> Fut<'a, Result<Grade, GradeError>>;
}

/// Why a grader gave no grade: words that follow its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GradeError {
    /// The suite names a grader that the caller does not have.
    #[error("it is not there")]
    Missing,
    /// The grader panicked.
    #[error("it crashed")]
    Panicked,
    /// The grader took longer than this.
    #[error("it took longer than {}", span(.0))]
    Timeout(Duration),
    /// The answer is not UTF-8 text.
    #[error("its answer is not UTF-8 text")]
    NotText,
    /// The answer is empty.
    #[error("it answered nothing")]
    Empty,
    /// The answer is not JSON, or an object in it has a name twice.
    #[error("its answer is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The answer is JSON of another type.
    #[error("its answer is not a JSON object")]
    NotAnObject,
    /// The answer has neither a score nor a pass.
    #[error("its answer has no \"score\"")]
    NoScore,
    /// A field of the answer has another type.
    #[error("the {field:?} of its answer is {problem}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// What it is instead.
        problem: &'static str,
    },
    /// The score is not from 0 to 1.
    #[error("its score is {0}, and scores are from 0 to 1")]
    OutOfRange(f64),
    /// The run has more than this number of characters, also with its texts cut.
    #[error("the run is too long for a model: more than {0} characters, its texts left out")]
    TooLong(usize),
    /// The run of the grading model ended without an answer.
    #[error("the model gave no grade: {}{problem}", .reason.as_str())]
    NoAnswer {
        /// Why it ended.
        reason: FinishReason,
        /// The error of the model after a colon, or nothing.
        problem: String,
    },
    /// A model failed as a grader in this trace.
    #[error("{source} ({trace})")]
    InTrace {
        /// The trace of the grade.
        trace: TraceId,
        /// The cause.
        source: Box<GradeError>,
    },
    /// The program or the address gave no answer.
    #[error(transparent)]
    Call(Box<dyn std::error::Error + Send + Sync>),
    /// The host failed.
    #[error(transparent)]
    Host(#[from] Error),
    /// An error of a grader of the caller's own.
    #[error(transparent)]
    Own(Box<dyn std::error::Error + Send + Sync>),
}

impl GradeError {
    /// An error of a grader of the caller's own.
    pub fn own(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> GradeError {
        GradeError::Own(source.into())
    }

    /// The same error, about the trace in which a model graded.
    pub(super) fn in_trace(self, trace: &TraceId) -> GradeError {
        GradeError::InTrace { trace: trace.clone(), source: Box::new(self) }
    }
}

impl From<CallError> for GradeError {
    fn from(error: CallError) -> GradeError {
        GradeError::Call(error.into())
    }
}

fn span(time: &Duration) -> String {
    crate::text::span(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
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
    pub(super) fn read(answer: &[u8]) -> Result<Grade, GradeError> {
        let wrong = |field, problem| GradeError::Field { field, problem };
        let text = str::from_utf8(answer).map_err(|_| GradeError::NotText)?;
        if text.trim().is_empty() {
            return Err(GradeError::Empty);
        }
        let value = unique_json(text.trim()).map_err(GradeError::NotJson)?;
        let Value::Object(fields) = value else { return Err(GradeError::NotAnObject) };
        let pass = match fields.get("pass") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(pass)) => Some(*pass),
            Some(_) => return Err(wrong("pass", "neither true nor false")),
        };
        let score = match (fields.get("score"), pass) {
            (None | Some(Value::Null), Some(pass)) => f64::from(u8::from(pass)),
            (None | Some(Value::Null), None) => return Err(GradeError::NoScore),
            (Some(score), _) => score.as_f64().ok_or_else(|| wrong("score", "not a number"))?,
        };
        let reason = match fields.get("reason") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(reason)) => reason.clone(),
            Some(_) => return Err(wrong("reason", "not a text")),
        };
        Grade { pass, ..Grade::new(score, reason) }.checked()
    }

    /// The same if it can be one. Errors: its score is out of range.
    pub(super) fn checked(mut self) -> Result<Grade, GradeError> {
        if !(0.0..=1.0).contains(&self.score) {
            return Err(GradeError::OutOfRange(self.score));
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
        let read = |answer: &[u8]| Grade::read(answer).map_err(|error| error.to_string());
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
            assert_eq!(read(answer.as_bytes()), wanted, "{answer}");
        }
        for nonsense in
            ["nonsense", "{\"score\": 1} {\"score\": 0}", "{\"score\": 1, \"score\": 0}", "{\"score\": 1e999}"]
        {
            let why = read(nonsense.as_bytes()).unwrap_err();
            assert!(why.starts_with("its answer is not JSON: "), "{nonsense}: {why}");
        }
        assert_eq!(read(b"\xff"), wrong("its answer is not UTF-8 text"));
        let long = format!("{{\"score\": 1, \"reason\": \"{}\"}}", "ä".repeat(5_000));
        assert_eq!(Grade::read(long.as_bytes()).unwrap().reason.chars().count(), 4_001);
    }
}
