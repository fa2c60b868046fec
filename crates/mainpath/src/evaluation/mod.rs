//! Evaluation: recorded runs are held against the checks of a suite and given to its graders; what they came to is kept beside each log.
//!
//! **This module owns** which runs a suite means ([`Suite`]), what is asked of each, and the scores ([`Score`]): a line each in
//! `scores.jsonl` beside the log, never in it, with what graded and which head of the log was graded, so that the same is not graded
//! again. **Its caller owns** where suites are, and graders of its own ([`Grader`]).

mod choose;
mod criteria;
mod grader;
mod judge;
mod model;
mod outside;
mod page;
mod plots;
mod report;
mod run;
mod scores;
mod subject;
mod suite;
mod suites;
mod trust;

pub use grader::{Grade, GradeError, Grader};
pub use report::{CriterionTally, EvalReport, EvaluatedRun, RunResult};
pub use run::EvalOptions;
pub use scores::{Score, ScoreKind, ScoreOutcome, Scores};
pub use subject::{GradedHead, GradedRun};
pub use suite::{Suite, SuiteCheck, SuiteGrader, SuiteRuns};
pub use suites::{find_suite, suite_names, suites_folder};
