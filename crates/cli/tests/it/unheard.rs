//! Nobody hears what is said: closed, full and broken outputs, a dead terminal, few file descriptors. No run ends by that.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

const ANSWER: &str = "Answered.";

fn asks_once() -> (Place, ModelServer) {
    (Place::new(), scripted(vec![bash("echo hi"), Answer::text(ANSWER)]))
}

fn run(place: &Place, server: &ModelServer, flags: &[&str]) -> Command {
    let model = server.model();
    place.command(&[&["run", "--model", model.as_str(), "--yes"], flags, &["Do it."]].concat())
}

/// The run was made to its end, whatever became of its words.
fn is_whole(place: &Place) {
    let trace = place.trace();
    let last = place.events(&trace).pop().unwrap();
    assert_eq!((&last["type"], &last["data"]["reason"]), (&"run_finished".into(), &"final".into()), "{last}");
    assert_eq!(place.ok(&["export", "--format", "neutral"]).matches(ANSWER).count(), 1);
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// The end of a pipe that nobody reads.
fn broken() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_full_or_broken_standard_error_ends_no_run() {
    for (what, err) in [("full", full as fn() -> Stdio), ("broken", broken)] {
        for json in [&[][..], &["--json"]] {
            let (place, server) = asks_once();
            let done = run(&place, &server, json).stderr(err()).stdout(Stdio::piped()).output().unwrap();
            assert_eq!(done.status.code(), Some(0), "{what} {json:?}: {done:?}");
            is_whole(&place);
        }
    }
}

#[test]
fn a_full_standard_output_is_told_when_the_run_has_ended() {
    for json in [&[][..], &["--json"]] {
        let (place, server) = asks_once();
        let done = run(&place, &server, json).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{err}");
        assert!(err.contains("the run has ended, but standard output cannot be written"), "{err}");
        is_whole(&place);
    }
}

#[test]
fn a_reader_that_has_gone_or_was_never_there_ends_no_run() {
    for json in [&[][..], &["--json"]] {
        let (place, server) = asks_once();
        let done = run(&place, &server, json).stdout(broken()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        is_whole(&place);
        let (place, server) = asks_once();
        let command = run(&place, &server, json);
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap().to_string()).collect();
        let mut shell = Command::new("sh");
        place.surround(&mut shell);
        shell.args(["-c", "exec \"$0\" \"$@\" >&- 2>&-", env!("CARGO_BIN_EXE_mainpath")]).args(words);
        assert_eq!(shell.status().unwrap().code(), Some(0));
        is_whole(&place);
    }
}

#[test]
fn the_whole_streamed_answer_arrives_in_a_pipe() {
    // Many pieces at once, and more of them than a watcher may lag behind; long enough for a blob.
    let words: String = (0..4_000).map(|n| format!("word{n} ")).collect();
    for n in 0..12 {
        let place = Place::new();
        let text = if n % 2 == 0 { words.clone() } else { format!("short {n} {} end{n}", "x ".repeat(300)) };
        let server = scripted(vec![Answer::text(&text)]);
        let done = place.run_on(&server, &["--yes", "Say it."]);
        assert_eq!((done.code, done.out.trim()), (0, text.trim()), "{n}");
        let last = text.split_whitespace().last().unwrap();
        assert!(done.err.contains(&text.trim()[..20]) && done.err.contains(last), "run {n} lost its end: {}", done.err);
    }
}

#[test]
fn few_file_descriptors_give_a_line() {
    let (place, server) = asks_once();
    let model = server.model();
    for most in (4..64).step_by(3) {
        let mut shell = Command::new("sh");
        place.surround(&mut shell);
        shell.args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_mainpath")]);
        let done = shell.args(["run", "--yes", "--model", &model, "Do it."]).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(!err.contains("defect") && !err.contains("panicked"), "with {most}: {err}");
        let told = err.lines().any(|line| line.starts_with("mainpath: ") || line.contains("error while loading"));
        assert!(done.status.success() || told, "with {most}: {:?} {err}", done.status);
    }
}
