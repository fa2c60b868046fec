//! Several callers of one trace or session at once: a caller that is refused leaves nothing, and one that is accepted is answered once.

use crate::hardening::{long, tried};
use crate::serving::serve;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::json;
use std::process::Command;

/// A model that repeats the last message.
fn repeating() -> ModelServer {
    server(|request| Answer::text(&format!("Did {}", last_message(request.body()))).into())
}

fn last_message(body: &serde_json::Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    last["content"].as_str().unwrap().to_string()
}

/// How often a task is in the messages of a trace's log, and in its mailbox.
fn count(place: &Place, trace: &str, task: &str) -> (usize, usize) {
    let count = |bytes: &[u8]| bytes.windows(task.len()).filter(|at| *at == task.as_bytes()).count();
    let queued = place
        .events(trace)
        .iter()
        .filter(|event| event["type"] == "message_queued" && event.to_string().contains(task))
        .count();
    (queued, count(&std::fs::read(place.file(trace, "mailbox.jsonl")).unwrap_or_default()))
}

/// Starts all commands at once. Returns how each ended, with its task.
fn at_once(commands: Vec<(String, Command)>) -> Vec<(String, Done)> {
    let callers: Vec<_> =
        commands.into_iter().map(|(task, command)| std::thread::spawn(move || (task, finish(command, None)))).collect();
    callers.into_iter().map(|caller| caller.join().unwrap()).collect()
}

/// Starts a run whose standard error is read as its standard output is.
fn start_with_errors(place: &Place, server: &ModelServer, args: &[&str]) -> Process {
    let mut command = Command::new("sh");
    place.surround(&mut command);
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_mainpath"), "run", "--model", &server.model()]);
    command.args(args);
    Process::start(command)
}

fn tasks(round: usize, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |caller| format!("[task {round}-{caller}]"))
}

#[test]
fn of_callers_of_one_trace_a_refused_one_leaves_nothing() {
    let (place, server) = (Place::new(), repeating());
    let model = server.model();
    assert_eq!(place.run_on(&server, &["First."]).code, 0);
    let trace = place.trace();
    let (rounds, mut refused) = (if long() { 200 } else { 5 }, 0);
    for round in 0..rounds {
        let run = |task: String| {
            let command = place.command(&["run", "--trace", &trace, "--model", &model, &task]);
            (task, command)
        };
        for (task, done) in at_once(tasks(round, 4).map(run).collect()) {
            let found = count(&place, &trace, &task);
            if done.code == 0 {
                assert_eq!((done.out.as_str(), found.0), (format!("Did {task}\n").as_str(), 1), "{done:#?}");
            } else {
                assert!(done.code == 1 && found == (0, 0), "{task} {found:?} {done:#?}");
                assert!(done.err.contains("is being run by") || done.err.contains("in the meantime"), "{done:#?}");
                refused += 1;
            }
        }
    }
    place.ok(&["verify", &trace]);
    tried(
        "callers of one trace",
        rounds * 4,
        &format!("{refused} refused, without a word of them in the log or the mailbox"),
    );
}

#[test]
fn callers_of_one_session_take_turns_and_lose_nothing() {
    let server = repeating();
    let model = server.model();
    let rounds = if long() { 200 } else { 4 };
    for round in 0..rounds {
        // Each round begins without a trace.
        let place = Place::new();
        let run = |task: String| {
            let command = place.command(&["run", "--session", "chat", "--model", &model, &task]);
            (task, command)
        };
        let ended = at_once(tasks(round, 3).map(run).collect());
        let trace = place.trace();
        for (task, done) in &ended {
            assert_eq!((done.code, done.out.as_str()), (0, format!("Did {task}\n").as_str()), "{done:#?}");
            assert_eq!(count(&place, &trace, task).0, 1);
            assert!(done.err.matches("waiting until the current run").count() <= 1, "{done:#?}");
        }
    }
    tried("callers of one session", rounds * 3, "all answered once, in one trace");
}

#[test]
fn a_caller_of_a_busy_session_waits_with_one_line_or_refuses() {
    let (place, gate) = (Place::new(), Gate::default());
    let first = gate.clone();
    let server = server(move |request| match last_message(request.body()).as_str() {
        "First." => Answer::text("One.").behind(&first).into(),
        _ => Answer::text("Two.").into(),
    });
    let mut running = place.start_run(&server, &["--session", "chat", "--json", "First."]);
    running.event("model_request");
    let refused = place.run_on(&server, &["--session", "chat", "--no-wait", "Second."]);
    refused.fails(1, "another run of the session chat is under way");
    let mut waiting = start_with_errors(&place, &server, &["--session", "chat", "Third."]);
    waiting.find(|line| line.trim_end() == "mainpath: waiting until the current run of the session chat ends").unwrap();
    assert_eq!(count(&place, &place.trace(), "Third."), (0, 0));
    gate.open();
    assert_eq!((running.end().code, waiting.end().code), (0, 0));
    let trace = place.trace();
    assert_eq!((count(&place, &trace, "Second.").0, count(&place, &trace, "Third.").0), (0, 1));
    place.run(&["run", "--no-wait", "x"]).fails(2, "--session");
}

#[test]
fn a_caller_of_a_session_waits_for_whoever_drives_its_trace() {
    let (place, gate) = (Place::new(), Gate::default());
    let second = gate.clone();
    let server = server(move |request| match last_message(request.body()).as_str() {
        "Second." => Answer::text("Two.").behind(&second).into(),
        other => Answer::text(&format!("Did {other}")).into(),
    });
    assert_eq!(place.run_on(&server, &["--session", "chat", "First."]).code, 0);
    let trace = place.trace();
    let mut running = place.start_run(&server, &["--trace", &trace, "--json", "Second."]);
    running.event("model_request");
    let mut waiting = start_with_errors(&place, &server, &["--session", "chat", "Third."]);
    waiting
        .find(|line| line.trim_end() == format!("mainpath: waiting until the current run of trace {trace} ends"))
        .unwrap();
    gate.open();
    assert_eq!(running.end().code, 0);
    let done = waiting.end();
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(count(&place, &trace, "Third.").0, 1);
}

#[test]
fn a_trace_that_another_process_drives_refuses_every_verb_without_a_trace_of_it() {
    let (place, gate) = (Place::new(), Gate::default());
    let second = gate.clone();
    let server = server(move |request| match last_message(request.body()).as_str() {
        "Second." => Answer::text("Two.").behind(&second).into(),
        _ => Answer::text("One.").into(),
    });
    assert_eq!(place.run_on(&server, &["First."]).code, 0);
    let trace = place.trace();
    let served = serve(&place);
    let mut running = place.start_run(&server, &["--trace", &trace, "--json", "Second."]);
    running.event("model_request");
    let kept = || (place.log(&trace), std::fs::read(place.file(&trace, "mailbox.jsonl")).unwrap_or_default());
    let before = kept();
    let verbs: [&[&str]; 7] = [
        &["run", "--trace", &trace, "Third."],
        &["run", "-c", "Third."],
        &["run", "--trace", &trace, "--skill", "none", "Third."],
        &["resume", &trace],
        &["rewind", &trace, "2", "Third."],
        &["rewind", &trace, "2"],
        &["regenerate", &trace],
    ];
    for verb in verbs {
        let done = place.run(verb);
        assert!(matches!(done.code, 1 | 2), "{verb:?}: {done:#?}");
        assert_eq!(kept(), before, "{verb:?}");
    }
    let path = |verb: &str| format!("/api/traces/{trace}/{verb}");
    // Over HTTP what is said is read by the process that drives; these requests are refused.
    let said = json!([{"role": "user", "content": "Third."}]);
    let requests = [
        ("run", json!({"task": "Third."})),
        ("run", json!({"messages": said, "after_sequence": 99})),
        ("rewind", json!({"after_sequence": 99, "message": "Third."})),
        ("regenerate", json!({"after_sequence": 99})),
        ("next", json!({"text": ""})),
        ("steer", json!({"text": ""})),
        ("approvals/7", json!({"decision": "approve"})),
        ("questions/7", json!({"answer": "Third."})),
        ("compact", json!({"hint": 7})),
        ("interrupt", json!({"call": "9.0"})),
    ];
    for (verb, body) in requests {
        let (status, answer) = served.ask("POST", &path(verb), "", &body.to_string());
        assert!(status >= 400, "{verb} {body}: {status} {answer}");
        assert_eq!(kept(), before, "{verb} {body}: {status} {answer}");
    }
    gate.open();
    assert_eq!(running.end().code, 0);
}

#[test]
fn of_commands_that_decide_on_a_call_at_once_each_is_told_what_came_of_it() {
    let (rounds, mut ran) = (if long() { 200 } else { 4 }, 0);
    for round in 0..rounds {
        let (place, server) = (Place::new(), scripted(vec![bash("echo done >> effects"), Answer::text("The end.")]));
        let own = serve(&place);
        let trace = own.run(&server.model());
        let decide = |verb: &str| (verb.to_string(), place.command(&[verb, &trace, "--call", "2.0"]));
        let deciders = match round % 2 {
            0 => vec![decide("approve"), decide("deny"), decide("deny")],
            _ => vec![decide("deny"), decide("approve"), decide("approve")],
        };
        let done = at_once(deciders);
        let ended = || own.ask("GET", &format!("/api/traces/{trace}"), "", "").1["status"] == "completed";
        wait_until("the run ends", ended);
        let accepted = |verb: &str| done.iter().filter(|(of, done)| of == verb && done.code == 0).count();
        let events = place.events(&trace);
        let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        let has_run = place.text("effects") == "done\n";
        ran += u32::from(has_run);
        assert_eq!((accepted("deny") > 0, count("call_reopened")), (!has_run, 0), "{done:#?}");
        // A denial wins over an approval that was accepted before, until the call starts.
        let is_granted = count("approval_granted") > 0;
        assert!(accepted("approve") > 0 || !is_granted, "{done:#?}");
        assert!(accepted("approve") == 0 || is_granted || accepted("deny") > 0, "{done:#?}");
    }
    tried("commands that decide at once", rounds * 3, &format!("{ran} calls of {rounds} ran"));
}
