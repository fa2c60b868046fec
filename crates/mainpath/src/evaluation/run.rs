//! Evaluating runs by a suite.

use super::choose::choose;
use super::criteria::{Asked, Criterion, criteria, suite_hash};
use super::grader::{Grade, GradeError, Grader, LONGEST_REASON};
use super::judge::judge;
use super::model::ModelGrader;
use super::outside::OutsideGrader;
use super::report::{CriterionTally, EvalReport, EvaluatedRun, RunResult};
use super::scores::{Score, ScoreKind, ScoreOutcome, Scores};
use super::subject::GradedRun;
use super::suite::{Suite, SuiteGrader, SuiteRuns};
use crate::text::short;
use crate::trace::{Everywhere, Read};
use crate::{Error, ErrorKind, Host};
use futures_util::StreamExt;
use mainpath_store::TraceStore;
use mainpath_types::{EventId, EventKind, TraceId, format_time};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// So many runs are graded at the same time where nothing is said.
const AT_ONCE: usize = 4;
/// As much of a task is told, in characters.
const TASK: usize = 200;

/// How a suite is evaluated.
#[derive(Clone, Default)]
pub struct EvalOptions {
    /// These traces, ids or unique parts of them, in the place of those that the suite means.
    pub traces: Vec<String>,
    /// Grade again what the same has graded at the same head.
    pub again: bool,
    /// How many runs are graded at the same time; four where it is 0.
    pub at_once: usize,
    /// Graders of the program's own, by the names under which suites call them.
    pub graders: BTreeMap<String, Arc<dyn Grader>>,
    /// The folder of the project: commands run there. Without it, the current one.
    pub folder: Option<PathBuf>,
}

impl std::fmt::Debug for EvalOptions {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let graders: Vec<&String> = self.graders.keys().collect();
        to.debug_struct("EvalOptions").field("traces", &self.traces).field("graders", &graders).finish_non_exhaustive()
    }
}

/// An evaluation under way.
struct Evaluation<'a> {
    host: &'a Host,
    suite: &'a Suite,
    suite_hash: String,
    criteria: Vec<Criterion<'a>>,
    graders: BTreeMap<&'a str, Arc<dyn Grader>>,
    again: bool,
}

/// A run with what is kept of it.
struct Evaluated {
    run: EvaluatedRun,
    cost: u64,
}

impl Host {
    /// Holds the runs that a suite means against its checks, gives them to its graders, and keeps what they came to beside each log. What
    /// the same has graded at the same head is not graded again. `tell` gets each run as soon as it and those before it are done. A grader
    /// that fails is an error of that one result. Errors: the suite cannot be used or is not trusted, a grader of it is not there, or no
    /// run is meant.
    pub async fn evaluate(
        &self,
        suite: &Suite,
        options: EvalOptions,
        mut tell: impl FnMut(&EvaluatedRun),
    ) -> Result<EvalReport, Error> {
        suite.check()?;
        let folder = crate::agent::workspace(options.folder.as_deref())?;
        self.check_trust(suite, &folder)?;
        let evaluation = Evaluation::new(self, suite, &options, &folder).await?;
        let runs = match options.traces.as_slice() {
            [] => suite.runs.clone(),
            traces => SuiteRuns { traces: traces.to_vec(), ..SuiteRuns::default() },
        };
        let traces = choose(self, &runs, &folder).await?;
        if traces.is_empty() {
            return Err(Error::invalid(format!("the suite {} means no run that there is", suite.name)));
        }
        let at_once = if options.at_once == 0 { AT_ONCE } else { options.at_once };
        let mut under_way = futures_util::stream::iter(&traces).map(|trace| evaluation.run(trace)).buffered(at_once);
        let mut all = Vec::new();
        while let Some(one) = under_way.next().await {
            tell(&one.run);
            all.push(one);
        }
        drop(under_way);
        Ok(evaluation.report(all, format_time(self.now())))
    }

    fn now(&self) -> u64 {
        (self.runtime().config().clock)()
    }
}

impl<'a> Evaluation<'a> {
    async fn new(
        host: &'a Host,
        suite: &'a Suite,
        options: &EvalOptions,
        folder: &std::path::Path,
    ) -> Result<Evaluation<'a>, Error> {
        let mut graders: BTreeMap<&str, Arc<dyn Grader>> = BTreeMap::new();
        for entry in &suite.graders {
            let grader: Arc<dyn Grader> = match (&entry.host, &entry.model) {
                (Some(name), _) => {
                    let none = || {
                        let problem = format!("the grader {:?}: this program has no grader {name:?}", entry.name);
                        Error::invalid(problem)
                    };
                    Arc::clone(options.graders.get(name).ok_or_else(none)?)
                }
                (None, Some(_)) => Arc::new(ModelGrader::new(host, suite, entry, folder.into()).await?),
                (None, None) => Arc::new(OutsideGrader::new(host, suite, entry, folder)?),
            };
            graders.insert(&entry.name, grader);
        }
        let version = |name: &str| options.graders.get(name).map(|grader| grader.version()).unwrap_or_default();
        Ok(Evaluation {
            host,
            suite,
            suite_hash: suite_hash(suite, folder),
            criteria: criteria(suite, folder, &version),
            graders,
            again: options.again,
        })
    }

    /// A run. What is wrong with it is a result, too.
    async fn run(&self, trace: &TraceId) -> Evaluated {
        self.evaluated(trace).await.unwrap_or_else(|error| self.unread(trace, error.message()))
    }

    async fn evaluated(&self, trace: &TraceId) -> Result<Evaluated, Error> {
        let at = self.host.at(trace);
        let read = Read::of(at).await?;
        if let Some(damage) = &read.log.damage {
            return Err(Error::new(ErrorKind::Damaged, format!("its log is damaged: {damage}")));
        }
        if read.log.newer {
            return Err(Error::new(ErrorKind::Damaged, "its log is of a newer Mainpath"));
        }
        let subject = Arc::new(GradedRun::of(at, &read).await?);
        let scores = Scores::of(at).await;
        let mut faults = scores.faults.clone();
        let (mut results, mut cost, mut has_kept) = (Vec::new(), 0_u64, false);
        for criterion in &self.criteria {
            let (event, head) = (subject.head.event, &subject.head.hash);
            let known = scores.known(&criterion.hash, event, head).filter(|_| !self.again);
            let is_known = known.is_some();
            let score = match known {
                Some(known) => known.clone(),
                None => self.graded(criterion, &subject).await,
            };
            if !is_known {
                cost = cost.saturating_add(score.cost_micros);
                match score.keep(at).await {
                    Ok(()) => has_kept = true,
                    Err(error) => faults.push(format!("{} is not kept: {}", criterion.name, error.message())),
                }
            }
            results.push(result(criterion, score, is_known));
        }
        if has_kept && self.was_erased(at, subject.head.event).await? {
            self.forget(trace).await?;
            return Err(Error::failed("words of it were erased while it was graded; what was found is not kept"));
        }
        // The same fault twice says nothing more.
        faults.dedup();
        Ok(Evaluated { run: self.told(&subject, results, faults), cost })
    }

    /// What a check or a grader says of a run.
    async fn graded(&self, criterion: &Criterion<'_>, run: &Arc<GradedRun>) -> Score {
        let mut score = Score {
            v: Score::VERSION,
            at: format_time(self.host.now()),
            suite: self.suite.name.clone(),
            suite_hash: self.suite_hash.clone(),
            kind: criterion.kind,
            name: criterion.name.into(),
            hash: criterion.hash.clone(),
            event: run.head.event,
            head: run.head.hash.clone(),
            outcome: ScoreOutcome::Error,
            score: None,
            pass: None,
            reason: String::new(),
            trace: None,
            cost_micros: 0,
        };
        match criterion.what {
            Asked::Check(check) => {
                let judged = judge(&check.expect, run);
                (score.outcome, score.reason) = (judged.outcome, judged.reason);
            }
            Asked::Grader(entry) => match self.grade(entry, run).await {
                Ok(None) => {
                    let seq = run.erased.map(|seq| seq.to_string()).unwrap_or_default();
                    (score.outcome, score.reason) = (ScoreOutcome::Unjudged, format!("message {seq} was erased"));
                }
                Ok(Some(grade)) => {
                    let Grade { score: given, pass, reason, trace, cost } = grade;
                    (score.score, score.pass, score.reason) = (Some(given), pass, reason);
                    (score.trace, score.cost_micros) = (trace, cost);
                    score.outcome = passed(pass, given, entry);
                }
                Err(error) => score.reason = error.to_string(),
            },
        }
        // What graders say is kept, and may quote what is in no log.
        let reason = self.host.runtime().config().vault.redact(&score.reason);
        score.reason = short(&reason, LONGEST_REASON);
        score
    }

    /// A grade; `None` where a part of the run was erased. Errors: the grader failed.
    async fn grade(&self, entry: &SuiteGrader, run: &Arc<GradedRun>) -> Result<Option<Grade>, GradeError> {
        if run.erased.is_some() {
            return Ok(None);
        }
        let Some(grader) = self.graders.get(entry.name.as_str()).map(Arc::clone) else {
            return Err(GradeError::Missing);
        };
        let limit = entry.limit()?;
        // A model's run is ended by its own limit, so that its trace says so.
        let waits = if entry.model.is_some() { limit + Duration::from_secs(30) } else { limit };
        let run = Arc::clone(run);
        let mut grading = tokio::spawn(async move { grader.grade(&run).await });
        let done = tokio::time::timeout(waits, &mut grading).await;
        grading.abort();
        match done {
            Err(_) => Err(GradeError::Timeout(limit)),
            Ok(Err(_)) => Err(GradeError::Panicked),
            Ok(Ok(grade)) => grade.and_then(Grade::checked).map(Some),
        }
    }

    /// Whether words of a log were erased after this event.
    async fn was_erased(&self, at: TraceStore<'_>, since: EventId) -> Result<bool, Error> {
        let later = at.read(since + 1).await?;
        Ok(later.events.iter().any(|event| matches!(event.kind, EventKind::Erased(_))))
    }

    /// Takes away what quotes an erased run.
    async fn forget(&self, trace: &TraceId) -> Result<(), Error> {
        let config = self.host.runtime().config();
        self.host.at(trace).remove_scores().await?;
        let everywhere = Everywhere {
            store: self.host.store(),
            scope: self.host.scope(),
            vault: &config.vault,
            logs: self.host.logs(),
            now: self.host.now(),
        };
        everywhere.erase_grades(trace).await.map(drop)
    }

    fn told(&self, run: &GradedRun, results: Vec<RunResult>, notes: Vec<String>) -> EvaluatedRun {
        EvaluatedRun {
            trace_id: run.trace_id.clone(),
            task: short(&run.task, TASK),
            status: run.status.clone(),
            finish: run.finish,
            model: run.model.clone(),
            created: run.created.clone(),
            turns: run.turns,
            calls: run.calls,
            tokens: run.tokens,
            cost_micros: run.cost_micros,
            elapsed_ms: run.elapsed_ms,
            results,
            notes,
        }
    }

    /// A run that cannot be read: an error of everything that is asked of it.
    fn unread(&self, trace: &TraceId, why: &str) -> Evaluated {
        let results = self.criteria.iter().map(|criterion| RunResult {
            name: criterion.name.into(),
            outcome: ScoreOutcome::Error,
            score: None,
            reason: short(why, LONGEST_REASON),
            trace: None,
            known: false,
        });
        let run = EvaluatedRun {
            trace_id: trace.clone(),
            task: String::new(),
            status: "unread".into(),
            finish: None,
            model: String::new(),
            created: String::new(),
            turns: 0,
            calls: 0,
            tokens: 0,
            cost_micros: 0,
            elapsed_ms: None,
            results: results.collect(),
            notes: vec![why.to_owned()],
        };
        Evaluated { run, cost: 0 }
    }

    fn report(&self, all: Vec<Evaluated>, at: String) -> EvalReport {
        let tally = |(index, criterion): (usize, &Criterion<'_>)| {
            let entry = match criterion.what {
                Asked::Check(_) => None,
                Asked::Grader(entry) => Some(entry),
            };
            let mut tally = CriterionTally {
                kind: criterion.kind,
                name: criterion.name.into(),
                hash: criterion.hash.clone(),
                passed_runs: 0,
                failed_runs: 0,
                unjudged_runs: 0,
                error_runs: 0,
                share: None,
                wanted: criterion.wanted,
                mean: None,
                wanted_mean: entry.and_then(|entry| entry.mean),
                passed: false,
            };
            let results: Vec<&RunResult> = all.iter().filter_map(|one| one.run.results.get(index)).collect();
            results.iter().for_each(|result| tally.count(result.outcome));
            let scores: Vec<f64> = results.iter().filter_map(|result| result.score).collect();
            tally.settle(&scores);
            tally
        };
        let criteria: Vec<CriterionTally> = self.criteria.iter().enumerate().map(tally).collect();
        let results = || all.iter().flat_map(|one| &one.run.results);
        let known = results().filter(|result| result.known).count();
        let notes = all.iter().flat_map(|one| one.run.notes.iter().map(|note| format!("{}: {note}", one.run.trace_id)));
        EvalReport {
            suite: self.suite.name.clone(),
            description: self.suite.description.clone(),
            suite_hash: self.suite_hash.clone(),
            at,
            passed: criteria.iter().all(|criterion| criterion.passed),
            criteria,
            graded: results().count() - known,
            known,
            cost_micros: all.iter().map(|one| one.cost).fold(0, u64::saturating_add),
            notes: notes.collect(),
            runs: all.into_iter().map(|one| one.run).collect(),
        }
    }
}

/// Whether a score passes: as the grader says, else by what the suite wants at least.
fn passed(said: Option<bool>, score: f64, entry: &SuiteGrader) -> ScoreOutcome {
    match said.unwrap_or(score >= entry.least()) {
        true => ScoreOutcome::Passed,
        false => ScoreOutcome::Failed,
    }
}

fn result(criterion: &Criterion<'_>, score: Score, known: bool) -> RunResult {
    let outcome = match (criterion.what, score.score) {
        // What is enough is no part of a grade: it may have changed since.
        (Asked::Grader(entry), Some(given)) if criterion.kind == ScoreKind::Grader => passed(score.pass, given, entry),
        _ => score.outcome,
    };
    RunResult { name: score.name, outcome, score: score.score, reason: score.reason, trace: score.trace, known }
}
