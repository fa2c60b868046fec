//! Recorded runs that are played: shown in a terminal, and as tests.

use super::past::denied;
use super::start::{mainpath, spawn};
use crate::Fail;
use crate::life::write_log;
use crate::process::folder;
use crate::table::Row;
use mainpath_types::TraceId;
use std::path::Path;

/// So many turns of each run.
const TURNS: usize = 20;

/// 1,000 recorded runs of 20 turns shown, the same played as tests, and 200 tests.
pub fn played(quick: bool) -> Result<Vec<Row>, Fail> {
    let (runs, tests) = if quick { (100, 20) } else { (1_000, 200) };
    let (place, mainpath) = (folder()?, mainpath()?);
    let place = place.path().canonicalize()?;
    let work = place.join("work");
    std::fs::create_dir(&work)?;
    std::fs::write(work.join("a.txt"), "A line of text.\n".repeat(20))?;
    let mut rows = shown(&mainpath, &place, runs)?;
    rows.extend(graded(&mainpath, &place, runs)?);
    make_test(&mainpath, &place)?;
    for (count, most) in [(runs, 10.0), (tests, 5.0)] {
        copies(&work, count)?;
        let took = spawn_in(&mainpath, &["test", "run"], &place)?;
        let (whole, seconds) = (if count == runs { 1_000 } else { 200 }, took as f64 / 1e9);
        rows.push(Row::goal(
            &format!("`mainpath test run`, {count} recorded runs of {TURNS} turns"),
            &format!("< {most} s for {whole}"),
            format!("{seconds:.2} s"),
            seconds * whole as f64 / (count as f64) < most,
        ));
    }
    Ok(rows)
}

/// `mainpath play`: all runs by one process, and one process for each run.
fn shown(mainpath: &Path, place: &Path, runs: usize) -> Result<Vec<Row>, Fail> {
    // Four calls in each turn.
    let calls = vec![("read_text_file", r#"{"path":"a.txt"}"#); 4 * TURNS];
    let home = place.join("home");
    let mut traces = Vec::new();
    super::runtime()?.block_on(async {
        for n in 0..runs {
            let trace: TraceId = format!("20260101-{n:06}").parse()?;
            write_log(&home, &trace, denied(&trace, place, &calls)?).await?;
            traces.push(trace);
        }
        Ok::<_, Fail>(())
    })?;
    let fast = ["play", "--speed", "max"];
    let words: Vec<&str> = fast.into_iter().chain(traces.iter().map(TraceId::as_str)).collect();
    let together = spawn(mainpath, &words, place)? as f64 / 1e9;
    let mut took = 0;
    for trace in &traces {
        took += spawn(mainpath, &["play", trace.as_str(), "--speed", "max"], place)?;
    }
    Ok(vec![
        Row::goal(
            &format!("`mainpath play --speed max` of {runs} runs of {TURNS} turns"),
            "< 10 s for 1,000",
            format!("{together:.2} s"),
            together * 1_000.0 / (runs as f64) < 10.0,
        ),
        Row::note("the same, a process for each", format!("{:.2} s", took as f64 / 1e9)),
    ])
}

/// `mainpath eval`: all runs held against two checks, and once more when all are known.
fn graded(mainpath: &Path, place: &Path, runs: usize) -> Result<Vec<Row>, Fail> {
    let suites = place.join("work/.mainpath/evals");
    std::fs::create_dir_all(&suites)?;
    let small = "[[check]]\nname = \"small\"\nexpect = { max_turns = 100, max_cost = 100.0 }\n";
    let reads =
        "[[check]]\nname = \"reads\"\n[[check.expect.call]]\ntool = \"read_text_file\"\nargs = { path = \"a*\" }\n";
    std::fs::write(suites.join("all.toml"), [small, reads].concat())?;
    let took = |what: &str| -> Result<Row, Fail> {
        let seconds = spawn_in(mainpath, &["eval", "all"], place)? as f64 / 1e9;
        Ok(Row::note(&format!("`mainpath eval`, {runs} runs of {TURNS} turns, {what}"), format!("{seconds:.2} s")))
    };
    Ok(vec![took("graded")?, took("known")?])
}

/// Runs once, by a script, and makes a test of that.
fn make_test(mainpath: &Path, place: &Path) -> Result<(), Fail> {
    // Each another one: the same again and again is stopped.
    let turn = |n: usize| {
        format!(
            "[[turn]]\ncalls = [{{ tool = \"read_text_file\", args = {{ path = \"a.txt\", offset = {n} }} }}]\nusage = {{ input = 900, output = 20 }}\n"
        )
    };
    let turns: String = (1..TURNS).map(turn).collect();
    let script = place.join("script.toml");
    std::fs::write(&script, format!("{turns}[[turn]]\nfinal = \"Read.\"\n"))?;
    let model = format!("scripted:{}", script.display());
    spawn_in(mainpath, &["run", "--model", &model, "--max-turns", "0", "Read it."], place)?;
    spawn_in(mainpath, &["test", "add", "--name", "t"], place)?;
    Ok(())
}

/// So many tests, all alike.
fn copies(work: &Path, count: usize) -> Result<(), Fail> {
    let tests = work.join(".mainpath/tests");
    let (one, all) = (work.join("t"), std::fs::read_dir(&tests)?.collect::<Result<Vec<_>, _>>()?);
    for (nth, test) in all.into_iter().enumerate() {
        match nth == 0 && !one.exists() {
            true => std::fs::rename(test.path(), &one)?,
            false => std::fs::remove_dir_all(test.path())?,
        }
    }
    for n in 0..count {
        let new = tests.join(format!("t{n}"));
        std::fs::create_dir(&new)?;
        for file in std::fs::read_dir(&one)? {
            let file = file?;
            if file.file_type()?.is_file() {
                std::fs::copy(file.path(), new.join(file.file_name()))?;
            }
        }
    }
    Ok(())
}

/// The same as [`spawn`], in the folder of the project.
fn spawn_in(mainpath: &Path, words: &[&str], place: &Path) -> Result<u64, Fail> {
    let began = crate::process::now();
    let output = std::process::Command::new(mainpath)
        .args(words)
        .env("MAINPATH_HOME", place.join("home"))
        .current_dir(place.join("work"))
        .stdin(std::process::Stdio::null())
        .output()?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        return Err(format!("{words:?}: {}", said.lines().last().unwrap_or_default()).into());
    }
    Ok(crate::process::now() - began)
}
