//! A check, held against a run.

use super::scores::ScoreOutcome;
use super::subject::GradedRun;
use crate::testing::{Expectations, Happened, OtherCalls, calls, problems};
use mainpath_types::FinishReason;

/// What came of a check, and why in a line.
pub(super) struct Judged {
    pub outcome: ScoreOutcome,
    pub reason: String,
}

/// Whether all that is expected holds. What nobody can know of this run is not guessed.
pub(super) fn judge(expect: &Expectations, run: &GradedRun) -> Judged {
    if let Some(why) = unknown(expect, run) {
        return Judged { outcome: ScoreOutcome::Unjudged, reason: why };
    }
    let found = problems(
        expect,
        &Happened {
            calls: calls(&run.steps),
            others: OtherCalls::Any,
            turns: run.turns,
            tokens: run.tokens,
            cost: Some(run.cost_micros),
            elapsed_ms: run.elapsed_ms,
            finish: run.finish,
            finish_was: run.finish.map_or("not ended", FinishReason::as_str),
            answer: run.answer.as_deref(),
        },
    );
    let reason: Vec<String> = found.iter().map(|problem| format!("{}: {}", problem.at, problem.what)).collect();
    let outcome = if found.is_empty() { ScoreOutcome::Passed } else { ScoreOutcome::Failed };
    Judged { outcome, reason: reason.join("; ") }
}

/// Why a check cannot be held against a run, if so.
fn unknown(expect: &Expectations, run: &GradedRun) -> Option<String> {
    let called = expect.calls.iter().chain(&expect.never);
    let of_rules =
        !expect.max_verdicts.is_empty() || called.clone().any(|call| !call.verdict.is_empty() || call.rule.is_some());
    let of_words = called.count() > 0 || expect.answer.is_some() || expect.other_calls.is_some();
    if let Some(seq) = run.erased.filter(|_| of_words) {
        return Some(format!("message {seq} was erased"));
    }
    if expect.max_cost.is_some() && !run.is_priced {
        return Some("nobody knows what it cost: a model that answered had no price".into());
    }
    if !run.imported {
        return None;
    }
    let has_figures = run.tokens > 0 || run.cost_micros > 0;
    match () {
        () if of_rules => Some("it was imported: nobody recorded what rules said of its calls".into()),
        () if expect.finish.is_some() && run.finish.is_none() => {
            Some("it was imported: nobody recorded why it ended".into())
        }
        () if (expect.max_tokens.is_some() || expect.max_cost.is_some()) && !has_figures => {
            Some("it was imported: nobody recorded what it used".into())
        }
        () if expect.max_time.is_some() && run.elapsed_ms.is_none() => {
            Some("it was imported: nobody recorded how long it worked".into())
        }
        () => None,
    }
}
