//! `eval`: recorded runs held against a suite of checks and graders.

use crate::exit::{Exit, Failure};
use crate::ui::junit::{JunitCase, write_junit};
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, money, number, plain, short};
use clap::Args;
use mainpath::Host;
use mainpath::agent::workspace;
use mainpath::evaluation::{
    CriterionTally, EvalOptions, EvalReport, EvaluatedRun, ScoreKind, ScoreOutcome, find_suite, suite_names,
    suites_folder,
};
use mainpath::store::put_private;
use serde_json::json;
use std::path::{Path, PathBuf};

/// So many runs that did not pass are named for each check or grader.
const NAMED: usize = 5;
/// The widest name of a check or grader.
const NAME: usize = 28;

/// `mainpath eval`
#[derive(Args, Debug)]
pub struct EvalArgs {
    /// The suite: its name in .mainpath/evals, or the path of its file [default: list the suites]
    pub suite: Option<String>,
    /// Only these traces (ids or unique parts of them), in place of those that the suite means
    #[arg(value_name = "TRACE")]
    pub traces: Vec<String>,
    /// Grade again what has been graded already
    #[arg(long, requires = "suite")]
    pub again: bool,
    /// Trust this suite as it is now: it may start programs, and give runs to addresses and models
    #[arg(long, requires = "suite")]
    pub trust: bool,
    /// How many runs are graded at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    pub jobs: u8,
    /// Print the report as JSON, one document
    #[arg(long)]
    pub json: bool,
    /// Also write a report in JUnit's format to this file: a case for each check and grader
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub junit: Option<PathBuf>,
    /// Also write a report with plots to this file, as one page that opens without a server
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub html: Option<PathBuf>,
    /// The project [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath eval`
pub async fn eval(args: EvalArgs) -> Result<Exit, Failure> {
    let project = workspace(args.workspace.as_deref())?;
    let Some(wanted) = &args.suite else { return list(&project, args.json) };
    let suite = find_suite(&project, wanted)?;
    let host = Host::from_home().await?;
    if args.trust {
        person_only("trust suites")?;
        host.trust_suite(&suite, &project)?;
    }
    let options = EvalOptions {
        traces: args.traces,
        again: args.again,
        at_once: args.jobs.into(),
        folder: Some(project),
        ..EvalOptions::default()
    };
    let quiet = args.json;
    let report = host.evaluate(&suite, options, |run| {
        if !quiet {
            progress(run);
        }
    });
    let report = report.await?;
    match args.json {
        true => out(&json!(report).to_string())?,
        false => tell(&report)?,
    }
    if let Some(file) = &args.junit {
        write_junit(file, &format!("mainpath eval {}", report.suite), &cases(&report))?;
    }
    if let Some(file) = &args.html {
        let bad = |error: std::io::Error| Failure::error(format!("--html {}: {error}", file.display()));
        put_private(file, report.page().as_bytes()).map_err(bad)?;
    }
    Ok(if report.passed { Exit::Ok } else { Exit::Error })
}

fn list(project: &Path, as_json: bool) -> Result<Exit, Failure> {
    let names = suite_names(project)?;
    let suites = names.iter().map(|name| (name, find_suite(project, name)));
    if as_json {
        let suites = suites.map(|(name, suite)| match suite {
            Ok(suite) => json!({
                "name": name, "description": suite.description, "checks": suite.checks.len(), "graders": suite.graders.len(),
            }),
            Err(error) => json!({"name": name, "error": error.message()}),
        });
        out(&json!(suites.collect::<Vec<_>>()).to_string())?;
        return Ok(Exit::Ok);
    }
    for (name, suite) in suites {
        let what = match suite {
            Ok(suite) => {
                let (checks, graders) = (suite.checks.len() as u64, suite.graders.len() as u64);
                let what = suite.description.unwrap_or_default();
                format!("{}, {}  {what}", count(checks, "check"), count(graders, "grader"))
            }
            Err(error) => format!("! {}", error.message()),
        };
        out(&format!("{:24}  {}", plain(name), short(&plain(&what), 100)))?;
    }
    if names.is_empty() {
        eprintln!("there are no suites in {}; see docs/evaluation.md", suites_folder(project).display());
    }
    Ok(Exit::Ok)
}

/// What is told while runs are graded: only what a person has to know.
fn progress(run: &EvaluatedRun) {
    for note in &run.notes {
        eprintln!("! {}: {}", run.trace_id, short(&plain(note), 300));
    }
}

fn tell(report: &EvalReport) -> Result<(), Failure> {
    let EvalReport { suite, passed, criteria, runs, graded, known, cost_micros, .. } = report;
    for (at, one) in criteria.iter().enumerate() {
        out(&line(one))?;
        let results = runs.iter().filter_map(|run| Some((run, run.results.get(at)?)));
        let bad: Vec<_> = results
            .filter(|(run, result)| {
                // What is wrong with a whole run was told once.
                run.status != "unread" && !matches!(result.outcome, ScoreOutcome::Passed | ScoreOutcome::Unjudged)
            })
            .collect();
        for (run, result) in bad.iter().take(NAMED) {
            let score = result.score.map(|score| format!(" {score:.2}")).unwrap_or_default();
            let mark = if result.outcome == ScoreOutcome::Error { "!" } else { " " };
            let place = result.trace.as_ref().map(|trace| format!(" ({trace})")).unwrap_or_default();
            out(&format!("  {mark} {}{score}: {}{place}", run.trace_id, short(&plain(&result.reason), 200)))?;
        }
        if bad.len() > NAMED {
            out(&format!("    and {} more", number((bad.len() - NAMED) as u64)))?;
        }
    }
    let cost = if *cost_micros == 0 { String::new() } else { format!(", grading cost {}", money(*cost_micros)) };
    let verdict = if *passed { "passed" } else { "failed" };
    let all = count(runs.len() as u64, "run");
    out(&format!("{}: {verdict}; {all}, {graded} graded now, {known} known{cost}", plain(suite)))
}

fn line(one: &CriterionTally) -> String {
    let mark = if one.passed { "✓" } else { "✗" };
    let share = one.share.map_or("  - ".into(), |share| format!("{:3.0} %", share * 100.0));
    let mut line = format!(
        "{mark} {:NAME$}  {:>9}  {share} (wanted {:.0} %)",
        short(&plain(&one.name), NAME),
        format!("{}/{}", one.passed_runs, one.judged_runs()),
        one.wanted * 100.0
    );
    if let Some(mean) = one.mean {
        // What is rounded to nothing has no sign.
        let mean = (mean * 100.0).round() / 100.0 + 0.0;
        line.push_str(&format!("  mean {mean:.2}"));
    }
    if let Some(wanted) = one.wanted_mean {
        line.push_str(&format!(" (wanted {wanted:.2})"));
    }
    if one.error_runs > 0 {
        line.push_str(&format!("  {}", count(one.error_runs as u64, "error")));
    }
    if one.unjudged_runs > 0 {
        line.push_str(&format!("  {} not judged", one.unjudged_runs));
    }
    line
}

/// The checks and graders as cases of JUnit's.
fn cases(report: &EvalReport) -> Vec<JunitCase> {
    let case = |(at, one): (usize, &CriterionTally)| {
        let mut lines = vec![line(one)];
        let results = report.runs.iter().filter_map(|run| Some((run, run.results.get(at)?)));
        for (run, result) in results.filter(|(_, result)| result.outcome != ScoreOutcome::Passed) {
            lines.push(format!("{} {}: {}", run.trace_id, result.outcome.as_str(), result.reason));
        }
        JunitCase {
            class: match one.kind {
                ScoreKind::Check => "check".into(),
                ScoreKind::Grader => "grader".into(),
            },
            name: one.name.clone(),
            elapsed_ms: None,
            problem: (!one.passed).then(|| lines.join("\n")),
        }
    };
    report.criteria.iter().enumerate().map(case).collect()
}
