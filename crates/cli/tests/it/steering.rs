//! A word to a run that goes on, from another process.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer, RecordedRequest};
use serde_json::{Value, json};

/// A command that runs until the file `go` is there.
const WAITS: &str = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done; echo done >> effects";

fn conversation(request: &RecordedRequest) -> String {
    request.body()["messages"].to_string()
}

fn resolutions(place: &Place) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let events = place.events(&place.trace()).into_iter().filter(|event| event["type"] == "call_resolved");
    events.map(|event| (text(&event["data"]["call"]), text(&event["data"]["resolution"]))).collect()
}

fn go(place: &Place) {
    std::fs::write(place.work.join("go"), "").unwrap();
}

/// Waits for the command of the first turn.
fn begun(place: &Place) {
    wait_until("the tool runs", || place.text("began") == "x\n");
}

fn sums_up(turns: Vec<Answer>) -> (Place, ModelServer) {
    (Place::new(), scripted(turns))
}

#[test]
fn a_steer_lets_the_running_tool_end_and_skips_what_has_not_started() {
    let calls = bash(WAITS).and_call("bash", json!({"command": "echo never >> effects"}));
    let (place, server) = sums_up(vec![calls, Answer::text("As you like.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    begun(&place);
    let trace = place.trace();
    let said = place.ok(&["steer", &trace[..12], "Do it otherwise."]);
    assert_eq!(
        said,
        format!("{trace} reads it when the running tool finishes and skips calls that have not started\n")
    );
    // The one that has not started is skipped at once, the running one is left alone.
    wait_until("the other is skipped", || !resolutions(&place).is_empty());
    assert!(!place.tools().is_empty());
    go(&place);
    let done = process.end();
    assert_eq!(
        (done.code, done.out.as_str(), place.text("effects").as_str()),
        (0, "As you like.\n", "done\n"),
        "{done:#?}"
    );
    let skipped = ("2.1".to_string(), "skipped".to_string());
    assert_eq!(resolutions(&place), [skipped, ("2.0".to_string(), "ok".to_string())]);
    let told = conversation(&server.requests()[1]);
    let order: Vec<usize> =
        ["Not started: a new message came in first.", "Do it otherwise."].map(|words| told.find(words).unwrap()).into();
    assert!(order[0] < order[1], "{told}");
}

#[test]
fn what_is_for_later_is_read_one_at_a_time_each_after_a_finished_run() {
    let answers = vec![bash(WAITS), Answer::text("One."), Answer::text("Two."), Answer::text("Three.")];
    let (place, server) = sums_up(answers);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    begun(&place);
    let trace = place.trace();
    for text in ["And this.", "And that."] {
        assert_eq!(place.ok(&["next", &trace, text]), format!("{trace} reads it after the current run\n"));
    }
    go(&place);
    let done = process.end();
    assert_eq!((done.code, done.out.as_str()), (0, "Three.\n"), "{done:#?}");
    let users: Vec<usize> = server.requests().iter().map(|request| request.count("user")).collect();
    assert_eq!(users, [1, 1, 2, 3]);
    let events = place.events(&trace);
    let kinds = ["run_started", "message_joined", "run_finished"];
    let order: Vec<&str> =
        events.iter().filter_map(|event| event["type"].as_str()).filter(|t| kinds.contains(t)).collect();
    assert_eq!(order, [kinds; 3].concat());
}

#[test]
fn a_steer_goes_before_what_is_for_later() {
    let (place, server) = sums_up(vec![bash(WAITS), Answer::text("One."), Answer::text("Two.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    begun(&place);
    let trace = place.trace();
    place.ok(&["next", &trace, "Later."]);
    place.ok(&["steer", &trace, "Now."]);
    let read = |event: &Value| event["data"]["mode"] == "steer";
    wait_until("the steer is read", || place.events(&trace).iter().any(read));
    go(&place);
    assert_eq!(process.end().code, 0);
    let told = conversation(server.requests().last().unwrap());
    assert!(told.find("Now.").unwrap() < told.find("One.").unwrap(), "{told}");
    assert!(told.find("One.").unwrap() < told.find("Later.").unwrap(), "{told}");
}

#[test]
fn a_steer_goes_before_what_is_for_later_also_when_all_was_said_while_nobody_listened() {
    let (place, server) = sums_up((0..5).map(|_| Answer::text("Yes.")).collect());
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    let trace = place.trace();
    for (command, text) in [("next", "LATER-A"), ("next", "LATER-B"), ("steer", "NOW-C")] {
        place.ok(&[command, &trace, text]);
    }
    assert_eq!(place.run(&["resume", &trace]).code, 0);
    let told = conversation(server.requests().last().unwrap());
    let order: Vec<usize> = ["NOW-C", "LATER-A", "LATER-B"].map(|words| told.find(words).unwrap()).into();
    assert!(order.is_sorted(), "{told}");
}

#[test]
fn an_interrupt_ends_the_running_call_alone_and_the_agent_goes_on() {
    let (place, server) = sums_up(vec![bash(WAITS), bash("echo other >> effects"), Answer::text("Done.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    begun(&place);
    let trace = place.trace();
    place.run(&["interrupt", &trace, "9.0"]).fails(1, "call 9.0 of");
    let said = place.ok(&["interrupt"]);
    assert_eq!(said, format!("stopping call 2.0 (bash) of {trace}; the agent continues\n"));
    let done = process.end();
    assert_eq!((done.code, done.out.as_str(), place.text("effects").as_str()), (0, "Done.\n", "other\n"), "{done:#?}");
    assert_eq!(resolutions(&place)[0], ("2.0".to_string(), "interrupted".to_string()));
    assert!(conversation(&server.requests()[1]).contains("Interrupted while it ran"));
    place.run(&["interrupt"]).fails(1, "is not running");
}

#[test]
fn words_outlive_the_process_that_was_to_read_them() {
    let answers = ["One.", "Two.", "Three."].map(Answer::text);
    let (place, server) = sums_up([bash(WAITS)].into_iter().chain(answers).collect());
    let process = place.start_run(&server, &["--yes", "Do it."]);
    begun(&place);
    let trace = place.trace();
    process.kill();
    place.quiet();
    let waits = format!("queued; {trace} is not running: mainpath resume {trace}\n");
    assert_eq!(place.ok(&["steer", &trace, "Now this."]), waits);
    assert_eq!(place.ok(&["next", &trace, "Then that."]), waits);
    let show = place.ok(&["show"]);
    assert!(show.contains("\nunread: steer, Now this.\n\nunread: next, Then that.\n"), "{show}");
    // The steer is read before the next request is made, what is for later after its answer.
    let done = place.run(&["resume", "--yes"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Two.\n"), "{done:#?}");
    assert!(!place.ok(&["show"]).contains("waits to be read"));
    let told: Vec<String> = server.requests().iter().map(conversation).collect();
    let said: Vec<(bool, bool)> =
        told.iter().map(|told| (told.contains("Now this."), told.contains("Then that."))).collect();
    assert_eq!(said, [(false, false), (true, false), (true, true)]);
    // After a final answer as well.
    assert_eq!(place.ok(&["next", &trace, "One more."]), waits);
    let done = place.run(&["resume", "--yes"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Three.\n"), "{done:#?}");
}

#[test]
fn a_cleared_conversation_is_shown_to_nobody_but_the_log() {
    let (place, server) = sums_up(vec![Answer::text("The secret is 42.")]);
    place.run_on(&server, &["What is the secret?"]);
    let trace = place.trace();
    let said = place.ok(&["clear", &trace]);
    assert!(said.starts_with(&format!("{trace} is cleared")), "{said}");
    assert!(!place.file(&trace, "final.md").exists(), "there is no answer any more");
    place.run(&["clear", &trace]).fails(1, "there is nothing to clear");
    place.run(&["resume", &trace]).fails(1, "");
    let done = place.run(&["run", "--trace", &trace, "Who are you?"]);
    assert_eq!(done.code, 0, "{done:#?}");
    let last = server.requests().pop().unwrap();
    assert_eq!((last.count("user"), last.count("assistant")), (1, 0));
    assert!(!conversation(&last).contains("secret"), "{}", conversation(&last));
    assert!(place.ok(&["show", "--all", &trace]).contains("The secret is 42."), "it stays in the log");
    assert!(place.ok(&["ls"]).contains("Who are you?"));
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
}

#[test]
fn a_clear_during_a_run_ends_it_first() {
    let (place, server) = sums_up(vec![bash(WAITS), Answer::text("Done.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    begun(&place);
    let trace = place.trace();
    place.ok(&["next", &trace, "Never read."]);
    assert_eq!(place.ok(&["clear"]), format!("{trace} stops its run and is then cleared\n"));
    let done = process.end();
    assert_eq!((done.code, done.out.as_str()), (130, ""), "{done:#?}");
    let told = "mainpath: the conversation was cleared, so there is no answer; to start over: mainpath run --trace";
    assert!(done.err.contains(told), "{done:#?}");
    assert_eq!((server.count(), place.text("effects").as_str(), place.tools()), (1, "", vec![]));
}

#[test]
fn nothing_is_said_to_a_trace_that_is_not_there_and_nothing_said_is_no_word() {
    let (place, server) = sums_up(vec![Answer::text("Done.")]);
    place.run(&["steer", "nowhere", "Hello."]).fails(1, "there is no trace \"nowhere\"");
    place.run_on(&server, &["Do it."]);
    let trace = place.trace();
    let before = place.log(&trace);
    place.run(&["steer", &trace, " "]).fails(2, "the message is empty");
    place.run(&["next", &trace]).fails(2, "required arguments were not provided");
    place.run_with(&["next", &trace, "-"], b"").fails(2, "the message is empty");
    assert_eq!(place.log(&trace), before);
    place.run_with(&["next", &trace, "-"], b"From a pipe.");
    assert_eq!(place.run(&["resume"]).code, 0);
    assert!(conversation(server.requests().last().unwrap()).contains("From a pipe."));
}
