//! What Mainpath costs, measured: `cargo run --release -p mainpath-bench -- [--quick] [--json] [names…]`.
//!
//! **This program owns** a model server on this machine ([`server`]), a loop without a framework that does the same work
//! against it ([`floor`]), and the measures ([`measures`]). Each measure runs in a process of its own, so that peaks do not
//! mix, and the server in another, so that its work does not count as ours. **Its caller owns** the judgement: it measures
//! and always ends with 0 unless it cannot measure at all.

mod agent;
mod floor;
mod life;
mod measures;
mod process;
mod server;
mod stats;
mod table;

use std::process::ExitCode;

/// An error for people: a measurement that could not be made.
pub type Fail = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["__server"] => server::serve(),
        ["__measure", name, quick] => measures::child(name, *quick == "quick"),
        ["__floor", rest @ ..] => floor::child(rest),
        ["life", rest @ ..] => life::write(rest),
        words => measures::all(words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("mainpath-bench: {problem}");
            ExitCode::FAILURE
        }
    }
}
