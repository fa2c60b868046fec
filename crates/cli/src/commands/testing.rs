//! `test`: runs as tests, played offline.

use crate::app::App;
use crate::commands::testing_live::{LiveArgs, ReportArgs, no_tests, run_live, tell_passed_over};
use crate::exit::{Exit, Failure, logs};
use crate::ui::beside::side_by_side;
use crate::ui::junit::{JunitCase, write_junit};
use crate::ui::out::out;
use crate::ui::text::{count, one_line, short};
use clap::{Args, Subcommand};
use mainpath::agent::workspace;
use mainpath::testing::{NewTest, TestOutcome, TestProblem, remove_test, test_file, test_names, tests_folder};
use mainpath::types::Decision;
use serde_json::json;
use std::path::PathBuf;

/// `mainpath test`
#[derive(Subcommand, Debug)]
pub enum TestCommand {
    /// Make a test of a run: its recording, and expectations to edit, in .mainpath/tests/NAME
    Add(AddArgs),
    /// Play tests offline under the rules of now, and say what differs; with --live run them against a model
    Run(RunTestsArgs),
    /// List the tests of this project
    List(ListTestsArgs),
    /// Show what a test expects
    Show(OneTestArgs),
    /// Remove a test
    Rm(OneTestArgs),
}

/// `mainpath test add`
#[derive(Args, Debug)]
pub struct AddArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The name of the test [default: the first words of the task]
    #[arg(long)]
    pub name: Option<String>,
    /// The call that should not have been made, from 1: it is expected to be asked about or denied
    #[arg(long, value_name = "CALL")]
    pub wrong: Option<u32>,
    /// Replace a test of this name
    #[arg(long)]
    pub replace: bool,
    /// The project whose test it is [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath test run`
#[derive(Args, Debug)]
pub struct RunTestsArgs {
    /// The tests [default: all of the project]
    pub names: Vec<String>,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    /// The project [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath test list`
#[derive(Args, Debug)]
pub struct ListTestsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The project [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath test show` and `rm`
#[derive(Args, Debug)]
pub struct OneTestArgs {
    /// The test
    pub name: String,
    /// The project [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath test`
pub async fn test(command: TestCommand) -> Result<Exit, Failure> {
    match command {
        TestCommand::Add(args) => add(args).await,
        TestCommand::Run(args) => run(args).await,
        TestCommand::List(args) => list(&args),
        TestCommand::Show(args) => show(&args),
        TestCommand::Rm(args) => {
            remove_test(&workspace(args.workspace.as_deref())?, &args.name)?;
            Ok(Exit::Ok)
        }
    }
}

async fn add(args: AddArgs) -> Result<Exit, Failure> {
    let project = workspace(args.workspace.as_deref())?;
    let trace = logs()?.find(args.trace.as_deref()).await?;
    let new = NewTest { name: args.name, project, wrong: args.wrong, replace: args.replace };
    let added = App::open()?.host.add_test(&trace, new).await?;
    out(&added.folder.display().to_string())?;
    for (call, number) in added.calls.iter().zip(1..) {
        let verdict = call.verdict.map_or("not judged", |verdict| verdict.as_str());
        let what = one_line(&format!("{} {}", call.tool, call.arguments));
        eprintln!("  call {number}: [{verdict}] {}", short(&what, 100));
    }
    let wrong = args.wrong.and_then(|wrong| Some((wrong, added.calls.get(wrong.checked_sub(1)? as usize)?)));
    match wrong {
        Some((wrong, call)) if call.verdict == Some(Decision::Allow) => {
            eprintln!("call {wrong} is expected to be asked about or denied: mainpath test run {}", added.name)
        }
        Some((wrong, _)) => {
            eprintln!(
                "the rules do not allow call {wrong} as it is; this test keeps it so: mainpath test run {}",
                added.name
            )
        }
        None => eprintln!("everything is expected as it was; edit test.toml, then: mainpath test run {}", added.name),
    }
    Ok(Exit::Ok)
}

async fn run(args: RunTestsArgs) -> Result<Exit, Failure> {
    let project = workspace(args.workspace.as_deref())?;
    if args.names.is_empty() {
        tell_passed_over(&project)?;
    }
    let app = App::open()?;
    if args.live.live {
        let tests = args.live.tests(project, args.names);
        return run_live(&app, &tests, &args.report).await;
    }
    let mut problem = None;
    let quiet = args.report.json;
    let outcomes = app.host.run_tests(&project, &args.names, |outcome| {
        if !quiet && let Err(failure) = tell(outcome) {
            problem.get_or_insert(failure);
        }
    });
    let outcomes = outcomes.await?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    if let Some(file) = &args.report.junit {
        write_junit(file, "mainpath test", &outcomes.iter().map(case).collect::<Vec<_>>())?;
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    let passed = outcomes.len() - failed;
    if args.report.json {
        out(&json!({"passed": passed, "failed": failed, "tests": outcomes}).to_string())?;
    }
    if outcomes.is_empty() {
        return Err(no_tests(&project)?);
    }
    if !args.report.json {
        out(&format!("{passed} passed, {failed} failed"))?;
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Error })
}

fn tell(outcome: &TestOutcome) -> Result<(), Failure> {
    let TestOutcome { name, passed, problems, notes, turns, calls, elapsed_ms } = outcome;
    let (turns, calls) = (count(u64::from(*turns), "turn"), count(u64::from(*calls), "call"));
    let mark = if *passed { "✓" } else { "✗" };
    out(&format!("{mark} {name}  {turns}, {calls}, {elapsed_ms} ms"))?;
    notes.iter().try_for_each(|note| out(&format!("  {}", one_line(note))))?;
    for problem in problems {
        let TestProblem { at, what, recorded, played } = problem;
        out(&format!("  {at}: {}", short(&one_line(what), 300)))?;
        if !recorded.is_empty() || !played.is_empty() {
            side_by_side(["recorded", "played"], recorded, played)?;
        }
    }
    Ok(())
}

fn list(args: &ListTestsArgs) -> Result<Exit, Failure> {
    let project = workspace(args.workspace.as_deref())?;
    tell_passed_over(&project)?;
    let names = test_names(&project)?;
    if args.json {
        let tests = names.iter().map(|name| match test_file(&project, name) {
            Ok(file) => json!({"name": name, "from": file.from, "made": file.made, "task": file.task}),
            Err(error) => json!({"name": name, "error": error.message()}),
        });
        out(&json!(tests.collect::<Vec<_>>()).to_string())?;
        return Ok(Exit::Ok);
    }
    for name in &names {
        let what = test_file(&project, name).map_or_else(|error| format!("! {}", error.message()), |file| file.task);
        out(&format!("{name:32}  {}", short(&one_line(&what).replace('\n', " "), 80)))?;
    }
    if names.is_empty() {
        eprintln!("there are no tests in {}; make one: mainpath test add TRACE", tests_folder(&project)?.display());
    }
    Ok(Exit::Ok)
}

fn show(args: &OneTestArgs) -> Result<Exit, Failure> {
    let project = workspace(args.workspace.as_deref())?;
    let file = test_file(&project, &args.name)?;
    out(&format!("# {}", tests_folder(&project)?.join(&args.name).display()))?;
    let text = toml::to_string_pretty(&file).map_err(|error| Failure::error(error.to_string()))?;
    out(text.trim_end())?;
    Ok(Exit::Ok)
}

/// A test as a case of JUnit's.
fn case(outcome: &TestOutcome) -> JunitCase {
    let mut lines: Vec<String> =
        outcome.problems.iter().map(|problem| format!("{}: {}", problem.at, problem.what)).collect();
    let parts = outcome.problems.first().map(|first| [("recorded:", &first.recorded), ("played:", &first.played)]);
    for (title, step) in parts.into_iter().flatten().filter(|(_, step)| !step.is_empty()) {
        lines.push(title.into());
        lines.extend(step.iter().map(|line| format!("  {line}")));
    }
    JunitCase {
        class: "mainpath".into(),
        name: outcome.name.clone(),
        elapsed_ms: Some(outcome.elapsed_ms),
        problem: (!outcome.passed).then(|| lines.join("\n")),
    }
}
