//! `test run --live`: tests against a model, several times, held to a baseline.

use crate::app::App;
use crate::exit::{Exit, Failure};
use crate::runs::signals::{stop_at_signals, stopped};
use crate::ui::junit::{JunitCase, write_junit};
use crate::ui::out::out;
use crate::ui::text::{count, money, number, one_line, plain, range, short};
use clap::Args;
use mainpath::intervals::MeasuredShare;
use mainpath::testing::{AT_ONCE, LiveOutcome, LiveReport, LiveTests, LiveVerdict, found_tests, tests_folder};
use mainpath::types::Micros;
use mainpath::what_if::StopWork;
use serde_json::json;
use std::path::{Path, PathBuf};

/// So many problems of a test are shown at most.
const MOST_PROBLEMS: usize = 5;

/// How tests are run against a model.
#[derive(Args, Clone, Debug, Default)]
pub struct LiveArgs {
    /// Run the tests against a model, in copies of the folder, instead of playing what was recorded
    #[arg(long)]
    pub live: bool,
    /// With --live: the model [default: that of each test]
    #[arg(long, requires = "live")]
    pub model: Option<String>,
    /// With --live: run each test so many times
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: Option<u32>,
    /// With --live: so many runs at a time [default: 4]
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub at_once: Option<u32>,
    /// With --live: approve what would be asked about; otherwise only what somebody approved in the recording is
    #[arg(short, long, requires = "live")]
    pub yes: bool,
    /// With --live: what the tests come to is the baseline of this model from now on (baseline.toml beside the tests)
    #[arg(long, requires = "live")]
    pub save_baseline: bool,
}

/// How what tests came to is told.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportArgs {
    /// Print what each test came to as JSON, one document
    #[arg(long)]
    pub json: bool,
    /// Also write a report in JUnit's format to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

impl LiveArgs {
    /// Which tests are run, and how.
    pub fn tests(self, project: PathBuf, names: Vec<String>) -> LiveTests {
        LiveTests {
            project,
            names,
            model: self.model,
            times: self.times.unwrap_or(1),
            at_once: self.at_once.map_or(AT_ONCE, |most| most as usize),
            yes: self.yes,
            save_baseline: self.save_baseline,
            stop: StopWork::default(),
        }
    }
}

/// That there is nothing to run. Errors: the folder of the tests cannot be used.
pub fn no_tests(project: &Path) -> Result<Failure, Failure> {
    let folder = tests_folder(project)?;
    Ok(Failure::usage(format!("there are no tests in {}; make one: mainpath test add TRACE", folder.display())))
}

/// Says what lies among the tests and is none. Errors: their folder cannot be read.
pub fn tell_passed_over(project: &Path) -> Result<(), Failure> {
    found_tests(project)?.passed_over.iter().for_each(|line| eprintln!("! {}", one_line(line)));
    Ok(())
}

/// `mainpath test run --live`
pub async fn run_live(app: &App, tests: &LiveTests, report: &ReportArgs) -> Result<Exit, Failure> {
    let ReportArgs { json, junit } = report;
    let mut problem = None;
    stop_at_signals(&tests.stop)?;
    let report = app.host.run_tests_live(tests, |outcome| {
        if !*json && let Err(failure) = tell(outcome) {
            problem.get_or_insert(failure);
        }
    });
    let report = report.await.map_err(|error| stopped(error, &tests.stop))?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    if let Some(file) = junit {
        write_junit(file, "mainpath test --live", &report.tests.iter().map(case).collect::<Vec<_>>())?;
    }
    if *json {
        let mut whole = json!(report);
        whole["well"] = report.is_well().into();
        out(&whole.to_string())?;
    } else if report.tests.is_empty() {
        return Err(no_tests(&tests.project)?);
    } else {
        tell_all(&report)?;
    }
    Ok(if report.is_well() { Exit::Ok } else { Exit::Error })
}

fn passed(MeasuredShare { share, interval, .. }: MeasuredShare) -> String {
    format!("{} of {} ({})", number(share.passed.into()), number(share.of.into()), range(interval))
}

fn used(cost: Micros, tokens: u64) -> String {
    let cost = if cost > 0 { format!("{}, ", money(cost)) } else { String::new() };
    format!("{cost}{}", count(tokens, "token"))
}

fn tell(outcome: &LiveOutcome) -> Result<(), Failure> {
    let LiveOutcome { name, model, verdict, runs, baseline, cost, tokens, trials } = outcome;
    let mark = if verdict.is_well() { "✓" } else { "✗" };
    let before = baseline.filter(|_| *verdict != LiveVerdict::Passed);
    let before = before.map(|share| format!(": {} of {}", share.passed, share.of)).unwrap_or_default();
    let word = match verdict {
        LiveVerdict::Passed | LiveVerdict::Failed => String::new(),
        other => format!(", {}{before}", other.words()),
    };
    out(&format!("{mark} {name}  {} passed{word}  {}, {}", passed(*runs), used(*cost, *tokens), plain(model)))?;
    let mut found: Vec<Found> = Vec::new();
    for trial in trials {
        let problems = trial.problems.iter().map(|problem| format!("{}: {}", problem.at, problem.what));
        for what in trial.unjudged.iter().cloned().chain(problems) {
            match found.iter_mut().find(|known| known.what == what) {
                Some(known) => known.times += 1,
                None => {
                    let place = trial.trace.as_ref().zip(trial.folder.as_ref());
                    let place =
                        place.map(|(trace, folder)| format!("trace {trace}; it worked in {}", folder.display()));
                    found.push(Found { what, times: 1, place });
                }
            }
        }
    }
    found.sort_by_key(|found| std::cmp::Reverse(found.times));
    for Found { what, times, place } in found.iter().take(MOST_PROBLEMS) {
        let times = if trials.len() > 1 { format!("{times} times: ") } else { String::new() };
        out(&format!("  {times}{}", short(&plain(what), 300)))?;
        if let Some(place) = place {
            out(&format!("    {place}"))?;
        }
    }
    let more = found.len().saturating_sub(MOST_PROBLEMS);
    if more > 0 {
        out(&format!("  … {}", count(more as u64, "more problem")))?;
    }
    Ok(())
}

/// What did not hold, and in how many runs.
struct Found {
    what: String,
    times: u32,
    /// The first of these runs.
    place: Option<String>,
}

fn tell_all(report: &LiveReport) -> Result<(), Failure> {
    let LiveReport { times, runs, every_time, cost, tokens, baseline, dropped, saved, .. } = report;
    out(&format!("pass^{times}: {} tests passed every time", passed(*every_time)))?;
    let before =
        baseline.map(|share| format!("; in the baseline {} of {}", share.passed, share.of)).unwrap_or_default();
    out(&format!("{} runs passed{before}; {}", passed(*runs), used(*cost, *tokens)))?;
    if *dropped {
        out("all tests together are below the baseline")?;
    }
    if let Some(file) = saved {
        eprintln!("the baseline is saved: {}", file.display());
    }
    Ok(())
}

/// A test as a case of JUnit's.
fn case(outcome: &LiveOutcome) -> JunitCase {
    let LiveOutcome { name, verdict, runs, baseline, trials, .. } = outcome;
    let before =
        baseline.map(|share| format!("; in the baseline {} of {}", share.passed, share.of)).unwrap_or_default();
    let mut lines = vec![format!("{}: {} passed{before}", verdict.words(), passed(*runs))];
    for (trial, number) in trials.iter().zip(1..) {
        let problems = trial.problems.iter().map(|problem| format!("{}: {}", problem.at, problem.what));
        lines.extend(trial.unjudged.iter().cloned().chain(problems).map(|what| format!("run {number}: {what}")));
    }
    JunitCase {
        class: "mainpath.live".into(),
        name: name.clone(),
        elapsed_ms: Some(trials.iter().map(|trial| trial.elapsed_ms).fold(0, u64::saturating_add)),
        problem: (!verdict.is_well()).then(|| lines.join("\n")),
    }
}
