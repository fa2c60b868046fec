//! Runs that are evaluated by a program: typed results, graders of its own, scores that it can read.

use crate::support::{COUNT, CountWords, Place};
use mainpath::evaluation::{
    EvalOptions, EvalReport, Grade, GradeError, GradedRun, Grader, ScoreOutcome, Suite, SuiteCheck, SuiteGrader,
};
use mainpath::prelude::*;
use mainpath::runtime::erase::What;
use mainpath::testing::{Expectations, ExpectedCall};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What a grader of a test does.
enum Does {
    /// Gives a score for short answers.
    Grade,
    Panic,
    Hang,
    /// A score that is none.
    Exceed,
}

struct Own {
    does: Does,
    version: &'static str,
    asked: AtomicU32,
}

impl Own {
    fn new(does: Does) -> Arc<Own> {
        Arc::new(Own { does, version: "1", asked: AtomicU32::new(0) })
    }
}

impl Grader for Own {
    fn version(&self) -> String {
        self.version.into()
    }

    fn grade<'a>(&'a self, run: &'a GradedRun) -> Fut<'a, Result<Grade, GradeError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match self.does {
                Does::Grade => {
                    let answer = run.answer.as_deref().ok_or_else(|| GradeError::own("there is no answer"))?;
                    Ok(Grade::new(if answer.len() < 200 { 0.8 } else { 0.0 }, format!("{} bytes", answer.len())))
                }
                Does::Panic => panic!("a defect of the grader"),
                Does::Hang => {
                    tokio::time::sleep(Duration::from_secs(600)).await;
                    Err(GradeError::own("too late"))
                }
                Does::Exceed => Ok(Grade::new(f64::NAN, "")),
            }
        })
    }
}

fn entry(name: &str) -> SuiteGrader {
    SuiteGrader { name: name.into(), host: Some(name.into()), timeout: Some("300ms".into()), ..SuiteGrader::default() }
}

fn suite(graders: Vec<SuiteGrader>) -> Suite {
    let counts = ExpectedCall {
        tool: "count_*".into(),
        verdict: vec![Decision::Allow],
        rule: None,
        result: Vec::new(),
        args: BTreeMap::new(),
    };
    let expect = Expectations { calls: vec![counts], finish: Some(FinishReason::Final), ..Expectations::default() };
    let checks = vec![SuiteCheck { name: "counts".into(), pass: None, expect }];
    Suite { name: "own".into(), checks, graders, ..Suite::default() }
}

fn options(graders: &[(&str, Arc<Own>)]) -> EvalOptions {
    let graders = graders.iter().map(|(name, grader)| ((*name).to_string(), Arc::clone(grader) as Arc<dyn Grader>));
    EvalOptions { graders: graders.collect(), ..EvalOptions::default() }
}

async fn counted(host: &Host, place: &Place) -> TraceId {
    let run = host.agent(place.model()).workspace(place.work()).start("Count the words.").await.unwrap();
    let trace = run.trace().id().clone();
    run.outcome().await.unwrap();
    trace
}

fn outcomes(report: &EvalReport) -> Vec<(&str, ScoreOutcome, &str)> {
    let results = report.runs.iter().flat_map(|run| &run.results);
    results.map(|result| (result.name.as_str(), result.outcome, result.reason.as_str())).collect()
}

#[tokio::test]
async fn graders_of_a_program_grade_and_one_that_panics_or_hangs_spoils_nothing_else() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    let trace = counted(&host, &place).await;
    let graders = [
        ("panics", Own::new(Does::Panic)),
        ("hangs", Own::new(Does::Hang)),
        ("exceeds", Own::new(Does::Exceed)),
        ("short", Own::new(Does::Grade)),
    ];
    let suite = suite(graders.iter().map(|(name, _)| entry(name)).collect());
    let mut told = Vec::new();
    let report = host.evaluate(&suite, options(&graders), |run| told.push(run.clone())).await.unwrap();
    assert_eq!(
        outcomes(&report),
        [
            ("counts", ScoreOutcome::Passed, ""),
            ("panics", ScoreOutcome::Error, "it crashed"),
            ("hangs", ScoreOutcome::Error, "it took longer than 0.3 s"),
            ("exceeds", ScoreOutcome::Error, "its score is NaN, and scores are from 0 to 1"),
            ("short", ScoreOutcome::Passed, "12 bytes"),
        ]
    );
    assert_eq!((told, report.passed, report.graded, report.known), (report.runs.clone(), false, 5, 0));
    let shares: Vec<Option<f64>> = report.criteria.iter().map(|one| one.share).collect();
    assert_eq!(shares, [Some(1.0), Some(0.0), Some(0.0), Some(0.0), Some(1.0)]);
    assert_eq!((report.criteria[4].mean, report.criteria[3].error_runs), (Some(0.8), 1));
    let kept = host.trace(&trace).await.unwrap().scores().await.unwrap();
    assert_eq!((kept.scores.len(), kept.faults), (5, Vec::<String>::new()));
    let short = kept.scores.last().unwrap();
    let head = host.trace(&trace).await.unwrap().log(1).await.unwrap();
    assert_eq!((short.score, short.event, short.head.clone()), (Some(0.8), head.head, head.hash.to_string()));
    assert_eq!((short.suite.as_str(), short.suite_hash.as_str()), ("own", report.suite_hash.as_str()));
}

#[tokio::test]
async fn a_grader_is_asked_again_when_it_is_another_version() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    counted(&host, &place).await;
    let suite = suite(vec![entry("short")]);
    let first = Own::new(Does::Grade);
    for _ in 0..2 {
        assert!(host.evaluate(&suite, options(&[("short", Arc::clone(&first))]), |_| {}).await.unwrap().passed);
    }
    assert_eq!(first.asked.load(Ordering::Relaxed), 1);
    let second = Arc::new(Own { does: Does::Grade, version: "2", asked: AtomicU32::new(0) });
    let report = host.evaluate(&suite, options(&[("short", Arc::clone(&second))]), |_| {}).await.unwrap();
    assert_eq!((report.graded, report.known, second.asked.load(Ordering::Relaxed)), (1, 1, 1));
    let again = EvalOptions { again: true, ..options(&[("short", Arc::clone(&second))]) };
    assert_eq!(host.evaluate(&suite, again, |_| {}).await.unwrap().graded, 2);
}

#[tokio::test]
async fn many_runs_are_graded_side_by_side_and_come_in_their_order() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    let mut traces = Vec::new();
    for _ in 0..9 {
        traces.push(counted(&host, &place).await);
    }
    let own = Own::new(Does::Grade);
    let suite = suite(vec![entry("short")]);
    let all = EvalOptions { at_once: 3, ..options(&[("short", Arc::clone(&own))]) };
    let mut told = Vec::new();
    let report = host.evaluate(&suite, all, |run| told.push(run.trace_id.clone())).await.unwrap();
    assert_eq!((report.runs.len(), report.graded, own.asked.load(Ordering::Relaxed)), (9, 18, 9));
    assert_eq!(told, report.runs.iter().map(|run| run.trace_id.clone()).collect::<Vec<_>>());
    told.sort();
    traces.sort();
    assert_eq!(told, traces);
}

/// Erases the run while it is graded.
struct Erases(Host);

impl Grader for Erases {
    fn version(&self) -> String {
        String::new()
    }

    fn grade<'a>(&'a self, run: &'a GradedRun) -> Fut<'a, Result<Grade, GradeError>> {
        Box::pin(async move {
            let trace = self.0.trace(&run.trace_id).await?;
            trace.erase(What::All, None).await?;
            Ok(Grade::new(1.0, format!("It said: {}", run.task)))
        })
    }
}

#[tokio::test]
async fn what_is_erased_while_it_is_graded_is_not_kept() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    let trace = counted(&host, &place).await;
    let mut options = EvalOptions::default();
    options.graders.insert("erases".into(), Arc::new(Erases(host.clone())));
    let eraser = SuiteGrader { timeout: None, ..entry("erases") };
    let report = host.evaluate(&suite(vec![eraser]), options, |_| {}).await.unwrap();
    let why = "words of it were erased while it was graded; what was found is not kept";
    assert_eq!(outcomes(&report), [("counts", ScoreOutcome::Error, why), ("erases", ScoreOutcome::Error, why)]);
    let kept = host.trace(&trace).await.unwrap().scores().await.unwrap();
    assert_eq!(kept.scores, []);
}

#[tokio::test]
async fn what_a_program_cannot_evaluate_is_an_error_of_a_kind() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    let evaluate = async |suite: &Suite| host.evaluate(suite, EvalOptions::default(), |_| {}).await.unwrap_err();
    assert_eq!(evaluate(&Suite::default()).await.kind(), ErrorKind::Invalid);
    let none = evaluate(&suite(vec![entry("mine")])).await;
    let problem = "the grader \"mine\": this program has no grader \"mine\"";
    assert_eq!((none.kind(), none.message()), (ErrorKind::Invalid, problem));
    let empty = evaluate(&suite(Vec::new())).await;
    assert_eq!((empty.kind(), empty.message()), (ErrorKind::Invalid, "the suite own means no run that there is"));
    let memory = Host::builder().in_memory().tool(CountWords).build().await.unwrap();
    let nowhere = memory.evaluate(&suite(Vec::new()), EvalOptions::default(), |_| {}).await.unwrap_err();
    assert_eq!(nowhere.message(), "traces that are kept in no files are not listed: name them by their ids");
    let trace = counted(&memory, &place).await;
    let named = EvalOptions { traces: vec![trace.to_string()], ..EvalOptions::default() };
    let report = memory.evaluate(&suite(Vec::new()), named.clone(), |_| {}).await.unwrap();
    assert_eq!((report.runs[0].trace_id.clone(), report.graded), (trace, 1));
    assert_eq!(memory.evaluate(&suite(Vec::new()), named, |_| {}).await.unwrap().known, 1);
    let other = EvalOptions { traces: vec!["nowhere".into()], ..EvalOptions::default() };
    assert_eq!(memory.evaluate(&suite(Vec::new()), other, |_| {}).await.unwrap_err().kind(), ErrorKind::NotFound);
}
