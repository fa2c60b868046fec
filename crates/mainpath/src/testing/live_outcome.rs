//! What tests came to against a model.

use super::outcome::TestProblem;
use crate::intervals::{MeasuredShare, Share};
use mainpath_types::{Micros, TraceId};
use serde::Serialize;
use std::path::PathBuf;

/// What tests came to against a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// How often each was run.
    pub times: u32,
    /// What each came to, in their order.
    pub tests: Vec<LiveOutcome>,
    /// All runs of all tests.
    pub runs: MeasuredShare,
    /// The tests that passed every time: pass^N, as in Yao et al., "τ-bench" (2024), arXiv 2406.12045.
    pub every_time: MeasuredShare,
    /// What all of it cost, in millionths; tokens of models without a price count nothing.
    pub cost: Micros,
    /// The tokens that all of it used, input and output.
    pub tokens: u64,
    /// Those of these tests that the baseline knows, together as they were there; `None`: it knows none of them, or was written now.
    pub baseline: Option<Share>,
    /// Whether all of these together pass less often than in the baseline, beyond what chance explains.
    pub dropped: bool,
    /// Where the baseline was written to, if it was.
    pub saved: Option<PathBuf>,
}

/// What a test came to against a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveOutcome {
    /// Its name.
    pub name: String,
    /// The model.
    pub model: String,
    /// How it is judged.
    pub verdict: LiveVerdict,
    /// How often it passed.
    pub runs: MeasuredShare,
    /// How often it passed in the baseline.
    pub baseline: Option<Share>,
    /// What its runs cost, in millionths.
    pub cost: Micros,
    /// The tokens that they used.
    pub tokens: u64,
    /// Its runs.
    pub trials: Vec<LiveTrial>,
}

/// How a test is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveVerdict {
    /// It passed every time.
    Passed,
    /// It did not pass every time, and there is no baseline for it.
    Failed,
    /// It did not pass every time, and about as often as in the baseline.
    Held,
    /// It passed less often than in the baseline, beyond what chance explains.
    Dropped,
    /// It never passed, and was run too seldom to say whether that is less often than in the baseline.
    TooFew,
    /// A run of it could not be made or judged.
    NotJudged,
}

impl LiveVerdict {
    /// Whether that is well.
    pub fn is_well(self) -> bool {
        matches!(self, LiveVerdict::Passed | LiveVerdict::Held)
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            LiveVerdict::Passed => "passed",
            LiveVerdict::Failed => "failed",
            LiveVerdict::Held => "as in the baseline",
            LiveVerdict::Dropped => "below the baseline",
            LiveVerdict::TooFew => "too few runs to compare with the baseline",
            LiveVerdict::NotJudged => "not judged",
        }
    }
}

/// One run of a test against a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveTrial {
    /// Whether everything that is expected holds.
    pub passed: bool,
    /// Why it could not be made or judged, if that is so.
    pub unjudged: Option<String>,
    /// What does not hold.
    pub problems: Vec<TestProblem>,
    /// Its trace.
    pub trace: Option<TraceId>,
    /// The copy of the folder that it worked in, which stays where it did not pass.
    pub folder: Option<PathBuf>,
    /// How many calls were refused because they reach out of the copy.
    pub refused: u32,
    /// How many answers the model gave.
    pub turns: u32,
    /// How many calls it made.
    pub calls: u32,
    /// The tokens that it used.
    pub tokens: u64,
    /// What it cost, in millionths.
    pub cost: Micros,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

impl LiveOutcome {
    /// Of its runs, held to a baseline.
    pub(super) fn of(name: &str, model: String, trials: Vec<LiveTrial>, baseline: Option<Share>) -> LiveOutcome {
        let share = Share::of(trials.iter().map(|trial| trial.passed));
        let verdict = if trials.iter().any(|trial| trial.unjudged.is_some()) {
            LiveVerdict::NotJudged
        } else if share.passed == share.of {
            LiveVerdict::Passed
        } else {
            match baseline {
                Some(before) if share.is_below(before) => LiveVerdict::Dropped,
                Some(before) if share.passed == 0 && before.passed > 0 => LiveVerdict::TooFew,
                Some(_) => LiveVerdict::Held,
                None => LiveVerdict::Failed,
            }
        };
        LiveOutcome {
            name: name.into(),
            model,
            verdict,
            runs: share.into(),
            baseline,
            cost: sum(trials.iter().map(|trial| trial.cost)),
            tokens: sum(trials.iter().map(|trial| trial.tokens)),
            trials,
        }
    }
}

/// A sum that stays at the largest figure there is.
pub(super) fn sum(figures: impl Iterator<Item = u64>) -> u64 {
    figures.fold(0, u64::saturating_add)
}

impl LiveReport {
    /// Of what tests came to.
    pub(super) fn of(times: u32, tests: Vec<LiveOutcome>) -> LiveReport {
        let total = |shares: &mut dyn Iterator<Item = Share>| shares.fold(Share::default(), |sum, share| sum + share);
        let runs = total(&mut tests.iter().map(|test| test.runs.share));
        let every_time = Share::of(tests.iter().map(|test| test.verdict == LiveVerdict::Passed));
        let known = || tests.iter().filter(|test| test.baseline.is_some());
        let before = total(&mut known().filter_map(|test| test.baseline));
        let now = total(&mut known().map(|test| test.runs.share));
        LiveReport {
            times,
            runs: runs.into(),
            every_time: every_time.into(),
            cost: sum(tests.iter().map(|test| test.cost)),
            tokens: sum(tests.iter().map(|test| test.tokens)),
            baseline: (before.of > 0).then_some(before),
            dropped: now.is_below(before),
            saved: None,
            tests,
        }
    }

    /// Whether it is well: every test is, and all together are not below the baseline. One that was written now is not held to itself:
    /// then it is well where all could be judged.
    pub fn is_well(&self) -> bool {
        match self.saved {
            Some(_) => self.tests.iter().all(|test| test.verdict != LiveVerdict::NotJudged),
            None => !self.dropped && self.tests.iter().all(|test| test.verdict.is_well()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(passed: u32, of: u32, baseline: Option<Share>) -> LiveOutcome {
        let trial = |n| LiveTrial { passed: n < passed, cost: 3, tokens: 10, ..LiveTrial::default() };
        LiveOutcome::of("a", "m".into(), (0..of).map(trial).collect(), baseline)
    }

    #[test]
    fn a_test_is_held_to_its_baseline_and_without_one_to_passing_every_time() {
        let ten = Some(Share { passed: 10, of: 10 });
        let cases = [
            (outcome(10, 10, None), LiveVerdict::Passed),
            (outcome(9, 10, None), LiveVerdict::Failed),
            (outcome(8, 10, ten), LiveVerdict::Held),
            (outcome(4, 10, ten), LiveVerdict::Dropped),
            (outcome(0, 1, Some(Share { passed: 2, of: 2 })), LiveVerdict::TooFew),
            (outcome(0, 3, Some(Share { passed: 0, of: 3 })), LiveVerdict::Held),
            (outcome(0, 0, ten), LiveVerdict::Passed),
        ];
        for (outcome, verdict) in cases {
            assert_eq!(outcome.verdict, verdict, "{outcome:?}");
        }
        let broken = LiveTrial { unjudged: Some("the model failed".into()), ..LiveTrial::default() };
        assert_eq!(LiveOutcome::of("a", "m".into(), vec![broken], ten).verdict, LiveVerdict::NotJudged);
    }

    #[test]
    fn many_small_drops_are_one_drop_of_all() {
        let ten = Some(Share { passed: 10, of: 10 });
        let tests: Vec<LiveOutcome> = (0..6).map(|_| outcome(8, 10, ten)).collect();
        assert!(tests.iter().all(|test| test.verdict == LiveVerdict::Held));
        let report = LiveReport::of(10, tests);
        assert!(report.dropped && !report.is_well(), "{report:?}");
        assert_eq!(
            (report.runs.share, report.every_time.share),
            (Share { passed: 48, of: 60 }, Share { passed: 0, of: 6 })
        );
        assert_eq!((report.cost, report.tokens, report.baseline), (180, 600, Some(Share { passed: 60, of: 60 })));
        // One that is written now is not held to itself.
        assert!(LiveReport { saved: Some("baseline.toml".into()), ..report }.is_well());
    }
}
