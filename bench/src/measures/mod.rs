//! The measures. Each is a function that gives rows, and runs in a process of its own.

mod children;
mod crowd;
mod experience;
mod gate;
mod latency;
mod long;
mod models;
mod open;
mod packing;
mod past;
mod played;
mod sandbox;
mod served;
mod skills;
mod start;
mod traces;
mod waiting;
mod window;

use crate::Fail;
use crate::table::{Row, render};
use std::process::{Command, Stdio};

type Measure = fn(bool) -> Result<Vec<Row>, Fail>;

/// By name, in the order of the table.
const MEASURES: [(&str, Measure); 25] = [
    ("latency", latency::latency),
    ("growth", latency::growth),
    ("crowd", crowd::crowd),
    ("children", children::children),
    ("waiting", waiting::waiting),
    ("parked", waiting::parked),
    ("open", open::open),
    ("long", long::long),
    ("window", window::window),
    ("verify", window::verify),
    ("runs", window::runs),
    ("gate", gate::gate),
    ("packing", packing::packing),
    ("encoding", models::encoding),
    ("deltas", models::deltas),
    ("sandbox", sandbox::sandbox),
    ("list", traces::list),
    ("backtest", past::backtest),
    ("played", played::played),
    ("session", traces::session),
    ("experience", experience::retrieval),
    ("skills", skills::skills),
    ("start", start::start),
    ("served", served::served),
    ("build", build),
];

fn build(_: bool) -> Result<Vec<Row>, Fail> {
    let what = "clean build by `make run`";
    Ok(vec![Row { reach: "< 6 min".into(), ..Row::note(what, "see docs/figures.md".into()) }])
}

/// The program as people call it.
pub fn all(words: &[&str]) -> Result<(), Fail> {
    let known = |word: &str| MEASURES.iter().any(|(name, _)| *name == word);
    if let Some(wrong) = words.iter().find(|word| !known(word) && !["--quick", "--json"].contains(word)) {
        let names = MEASURES.map(|(name, _)| name).join(", ");
        return Err(format!("unknown word {wrong:?}; known are --quick, --json, {names}").into());
    }
    let (quick, json) = (words.contains(&"--quick"), words.contains(&"--json"));
    let chosen = |name: &str| words.iter().all(|word| word.starts_with("--")) || words.contains(&name);
    let mut rows = Vec::new();
    for (name, _) in MEASURES.iter().filter(|(name, _)| chosen(name)) {
        eprintln!("measuring {name}");
        match elsewhere(name, quick) {
            Ok(measured) => rows.extend(measured),
            Err(problem) => rows.push(Row::note(name, format!("could not be measured: {problem}"))),
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", render(&rows));
    }
    Ok(())
}

fn elsewhere(name: &str, quick: bool) -> Result<Vec<Row>, Fail> {
    let words = ["__measure", name, if quick { "quick" } else { "full" }];
    Ok(serde_json::from_str(&this_program(&words)?)?)
}

/// Runs this program again with other words, and gives what it prints.
fn this_program(words: &[&str]) -> Result<String, Fail> {
    let output =
        Command::new(std::env::current_exe()?).args(words).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", words.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// One measure, in its own process.
pub fn child(name: &str, quick: bool) -> Result<(), Fail> {
    let (_, measure) = MEASURES.iter().find(|(known, _)| *known == name).ok_or("no such measure")?;
    println!("{}", serde_json::to_string(&measure(quick)?)?);
    Ok(())
}

/// What one agent runs on, as `mainpath run` does.
fn alone() -> Result<tokio::runtime::Runtime, Fail> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// What many agents run on together.
fn runtime() -> Result<tokio::runtime::Runtime, Fail> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

fn ms(nanos: f64) -> String {
    let ms = nanos / 1e6;
    if ms < 10.0 { format!("{ms:.3} ms") } else { format!("{ms:.1} ms") }
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
