//! Scores: what runs came to, a line each in a file beside the log.

use crate::{Error, Trace};
use mainpath_store::TraceStore;
use mainpath_types::{EventId, Micros, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the lines that this code writes.
const VERSION: u32 = 1;

/// What graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreKind {
    /// A check of a suite.
    Check,
    /// A grader.
    Grader,
}

/// What it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreOutcome {
    /// The run passed.
    Passed,
    /// It did not.
    Failed,
    /// Nobody can know: what it takes was erased, or never recorded.
    Unjudged,
    /// The grader failed, or the log cannot be read.
    Error,
}

impl ScoreOutcome {
    /// It in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            ScoreOutcome::Passed => "passed",
            ScoreOutcome::Failed => "failed",
            ScoreOutcome::Unjudged => "unjudged",
            ScoreOutcome::Error => "error",
        }
    }
}

/// What a run came to by one check or grader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// The version of the line.
    pub v: u32,
    /// When it was graded, as RFC 3339 in UTC.
    pub at: String,
    /// The suite.
    pub suite: String,
    /// The hash of the suite then.
    pub suite_hash: String,
    /// What graded.
    pub kind: ScoreKind,
    /// Its name.
    pub name: String,
    /// The hash of what it was: of the check; of the grader with the files that its command names.
    pub hash: String,
    /// The last event of the log that was graded,
    pub event: EventId,
    /// and the hash of its head.
    pub head: String,
    /// What it came to.
    pub outcome: ScoreOutcome,
    /// The score, from 0 to 1, if a grader gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Whether the grader itself said that this is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<bool>,
    /// Why, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The trace in which a model graded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// What grading cost, in millionths.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: Micros,
}

fn is_zero(cost: &Micros) -> bool {
    *cost == 0
}

/// The scores of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// They, oldest first.
    pub scores: Vec<Score>,
    /// What of the file is none, a line for people each. It stands in nobody's way.
    pub faults: Vec<String>,
}

impl Scores {
    /// Reads the file of a trace. What cannot be read of it is told as a fault.
    pub(super) async fn of(at: TraceStore<'_>) -> Scores {
        match at.scores().await {
            Ok(bytes) => Scores::read(&bytes),
            Err(error) => Scores { scores: Vec::new(), faults: vec![format!("its scores are not known: {error}")] },
        }
    }

    fn read(bytes: &[u8]) -> Scores {
        let mut read = Scores::default();
        let (mut bad, mut first) = (0_usize, 0);
        for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Score>(line) {
                Ok(score) if score.v == VERSION && score.is_in_range() => read.scores.push(score),
                _ => {
                    first = if bad == 0 { number } else { first };
                    bad += 1;
                }
            }
        }
        if bad > 0 {
            let more = if bad == 1 { String::new() } else { format!(" and {} more", bad - 1) };
            read.faults.push(format!("scores.jsonl, line {first}{more}: it is no score, and is passed over"));
        }
        read
    }

    /// What is known of a run at this head by what had this hash; an error is no knowledge.
    pub(super) fn known(&self, hash: &str, event: EventId, head: &str) -> Option<&Score> {
        let is_it = |score: &&Score| {
            score.hash == hash && score.event == event && score.head == head && score.outcome != ScoreOutcome::Error
        };
        self.scores.iter().rev().find(is_it)
    }
}

impl Score {
    /// The version of lines.
    pub(super) const VERSION: u32 = VERSION;

    fn is_in_range(&self) -> bool {
        self.score.is_none_or(|score| (0.0..=1.0).contains(&score))
    }

    /// Keeps it beside the log. Errors: it cannot be written.
    pub(super) async fn keep(&self, at: TraceStore<'_>) -> Result<(), Error> {
        let line = serde_json::to_string(self).map_err(|error| Error::failed(error.to_string()))?;
        Ok(at.add_score(line).await?)
    }
}

impl Trace {
    /// What its runs were graded, oldest first. Errors: there is no such trace.
    pub async fn scores(&self) -> Result<Scores, Error> {
        self.here()?;
        let at = self.host().at(self.id());
        at.read(u64::MAX).await?;
        Ok(Scores::of(at).await)
    }
}
