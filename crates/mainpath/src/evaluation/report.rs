//! What an evaluation came to.

use super::scores::{ScoreKind, ScoreOutcome};
use mainpath_types::{FinishReason, Micros, Millis, TraceId};
use schemars::JsonSchema;
use serde::Serialize;

/// What a suite came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EvalReport {
    /// The suite.
    pub suite: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its hash.
    pub suite_hash: String,
    /// When it was evaluated, as RFC 3339 in UTC.
    pub at: String,
    /// Whether every check and grader was passed in as many runs as the suite says.
    pub passed: bool,
    /// The checks, then the graders, in the order of the suite.
    pub criteria: Vec<CriterionTally>,
    /// The runs, newest first.
    pub runs: Vec<EvaluatedRun>,
    /// How many results are new,
    pub graded: usize,
    /// and how many were known.
    pub known: usize,
    /// What the new grades cost, in millionths.
    pub cost_micros: Micros,
    /// What else is to be known, a line each.
    pub notes: Vec<String>,
}

/// What a check or a grader came to in all runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CriterionTally {
    /// Which of the two it is.
    pub kind: ScoreKind,
    /// Its name.
    pub name: String,
    /// The hash of what it is.
    pub hash: String,
    /// How many runs passed,
    pub passed_runs: usize,
    /// did not,
    pub failed_runs: usize,
    /// could not be judged,
    pub unjudged_runs: usize,
    /// and met an error.
    pub error_runs: usize,
    /// The share of runs that passed, of those that could be judged; errors count as not passed. `None`: there is none.
    pub share: Option<f64>,
    /// The share that is wanted.
    pub wanted: f64,
    /// The mean of the scores, if there are any.
    pub mean: Option<f64>,
    /// The mean that is wanted.
    pub wanted_mean: Option<f64>,
    /// Whether that is enough.
    pub passed: bool,
}

impl CriterionTally {
    /// Counts one more result.
    pub(super) fn count(&mut self, outcome: ScoreOutcome) {
        *match outcome {
            ScoreOutcome::Passed => &mut self.passed_runs,
            ScoreOutcome::Failed => &mut self.failed_runs,
            ScoreOutcome::Unjudged => &mut self.unjudged_runs,
            ScoreOutcome::Error => &mut self.error_runs,
        } += 1;
    }

    /// How many runs the share is of.
    pub fn judged_runs(&self) -> usize {
        self.passed_runs + self.failed_runs + self.error_runs
    }

    /// Says whether that is enough. `scores`: those that graders gave.
    pub(super) fn settle(&mut self, scores: &[f64]) {
        let judged = self.judged_runs();
        self.share = (judged > 0).then(|| self.passed_runs as f64 / judged as f64);
        self.mean = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
        // What no run could be judged by shows nothing.
        let has_share = self.share.is_some_and(|share| share >= self.wanted);
        self.passed = has_share && self.wanted_mean.is_none_or(|wanted| self.mean.is_some_and(|mean| mean >= wanted));
    }
}

/// A run with what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EvaluatedRun {
    /// The trace.
    pub trace_id: TraceId,
    /// What it was first asked to do, in short.
    pub task: String,
    /// Where it stands, in a word; `unread` where its log cannot be read.
    pub status: String,
    /// Why it ended.
    pub finish: Option<FinishReason>,
    /// The model.
    pub model: String,
    /// When it began, as RFC 3339 in UTC.
    pub created: String,
    /// Answers of the model.
    pub turns: u32,
    /// Calls.
    pub calls: u32,
    /// Tokens.
    pub tokens: u64,
    /// What it cost, in millionths.
    pub cost_micros: Micros,
    /// How long it worked.
    pub elapsed_ms: Option<Millis>,
    /// The results, in the order of [`EvalReport::criteria`].
    pub results: Vec<RunResult>,
    /// What else is to be known, a line each.
    pub notes: Vec<String>,
}

impl EvaluatedRun {
    /// Whether it passed all by which it could be judged.
    pub fn passed(&self) -> bool {
        self.results.iter().all(|result| matches!(result.outcome, ScoreOutcome::Passed | ScoreOutcome::Unjudged))
    }
}

/// What a run came to by one check or grader.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunResult {
    /// Its name.
    pub name: String,
    /// What it came to.
    pub outcome: ScoreOutcome,
    /// The score, if a grader gave one.
    pub score: Option<f64>,
    /// Why, in a few words.
    pub reason: String,
    /// The trace in which a model graded it.
    pub trace: Option<TraceId>,
    /// Whether it was graded before.
    pub known: bool,
}
