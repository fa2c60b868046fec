//! `watch`: from another process, by number, to the end.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate};
use serde_json::{Value, json};

/// Waits for the file `go`.
const WAITS: &str = "until [ -e go ]; do sleep 0.02; done";

fn go(place: &Place) {
    std::fs::write(place.work.join("go"), "").unwrap();
}

#[test]
fn a_run_is_watched_from_another_process_to_its_end() {
    let place = Place::new();
    let server = scripted(vec![bash(&format!("{WAITS}; echo heron")), Answer::text("It printed heron.")]);
    let mut running = place.start_run(&server, &["--yes", "work"]);
    wait_until("the trace is there", || !place.traces().is_empty() && !place.log(&place.trace()).is_empty());
    let trace = place.trace();
    let mut watching = place.start(&["watch", &trace, "--json"]);
    assert_eq!(watching.event("message_queued")["id"], 2);
    let started = watching.event("action_started")["id"].as_u64().unwrap();
    go(&place);
    let end = watching.find(|line| parsed(line)["type"] == "run_finished");
    let (watched, ran) = (watching.end(), running.end());
    assert_eq!((watched.code, ran.code), (0, 0), "{watched:#?} {ran:#?}");
    let end = parsed(&end.unwrap())["id"].as_u64().unwrap();
    // What was seen is not shown again.
    let rest = place.ok(&["watch", &trace, "--json", "--from", &(started + 1).to_string()]);
    let ids: Vec<u64> = rest.lines().map(|line| parsed(line)["id"].as_u64().unwrap()).collect();
    assert_eq!((ids.first(), ids.last()), (Some(&(started + 1)), Some(&end)));
    let beyond = place.run(&["watch", &trace, "--from", "99999"]);
    let told = format!("there is no event 99999 yet: the log of {trace} ends at event {end}\n");
    assert_eq!((beyond.code, beyond.err), (0, told));
    let next = place.run(&["watch", &trace, "--from", &(end + 1).to_string()]);
    assert_eq!((next.code, next.err.as_str()), (0, ""), "that is where one goes on");
    let done = place.run(&["watch", &trace]);
    assert!(done.code == 0 && done.out.is_empty(), "{done:#?}");
    assert!(done.err.contains(&format!("→ bash: {WAITS}")) && done.err.contains("It printed heron."), "{}", done.err);
    // What the command printed stands there as it did then, once.
    assert_eq!(done.err.matches("\nheron\n✓ bash").count(), 1, "{}", done.err);
    assert_eq!(place.run(&["play", &trace, "--speed", "max"]).err, done.err);
}

#[test]
fn only_the_last_run_is_shown_unless_all_is_asked_for_and_a_follower_stays() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("The first."), Answer::text("The second."), Answer::text("The third.")]);
    place.run_on(&server, &["one"]);
    let trace = place.trace();
    place.run_on(&server, &["--trace", &trace, "two"]);
    let seen = place.run(&["watch"]).err;
    assert!(seen.starts_with("· said: two\n"), "{seen}");
    assert!(seen.contains("The second.") && !seen.contains("The first."), "{seen}");
    assert!(place.run(&["watch", "--from", "1"]).err.contains("The first."));
    let mut following = place.start(&["watch", &trace, "--follow", "--json"]);
    assert_eq!(following.event("run_finished")["data"]["run"], 2);
    place.run_on(&server, &["--trace", &trace, "three"]);
    assert_eq!(following.event("run_finished")["data"]["run"], 3);
    following.kill();
}

#[test]
fn a_watcher_sees_what_people_say() {
    let place = Place::new();
    let server = scripted(["One.", "Two.", "Three.", "Four."].map(Answer::text).into());
    let ran = place.run_on(&server, &["Count the herons."]);
    assert!(!ran.err.contains("Count the herons."), "who gave the task knows it: {ran:#?}");
    let trace = place.trace();
    place.ok(&["next", &trace, "And the cranes."]);
    place.ok(&["resume"]);
    place.ok(&["rewind", &trace, "--to", "2", "And the storks."]);
    place.ok(&["run", "-c", &"heron ".repeat(3_000)]);
    let seen = place.run(&["watch", "--from", "1"]).err;
    let said = |line: &&str| line.starts_with("· ") && line.contains(": ");
    let said: Vec<&str> = seen.lines().filter(said).collect();
    let expected = [
        "· said: Count the herons.",
        "· queued: And the cranes.",
        "· said after #2: And the storks.",
        "· said: (18,000 bytes)",
    ];
    assert_eq!(said, expected, "{seen}");
}

#[test]
fn a_trace_that_nobody_drives_is_said_to_wait() {
    let place = Place::new();
    let server =
        scripted(vec![Answer::call("write_text_file", json!({"path": "a", "content": "x"})), Answer::text("ok")]);
    place.run_on(&server, &["--park", "write"]).fails(5, "needs approval");
    let waits = place.run(&["watch"]);
    assert!(
        waits.code == 5 && waits.err.contains("call 2.0 (write_text_file: a) needs approval: mainpath approve"),
        "{waits:#?}"
    );
    let server = scripted(vec![Answer { delay_ms: 50_000, ..Answer::text("late") }]);
    let running = place.start_run(&server, &["work"]);
    wait_until("it asks", || server.count() == 1);
    running.kill();
    let left = place.run(&["watch", &newest(&place)]);
    assert!(left.code == 130 && left.err.contains("is not running; continue with: "), "{left:#?}");
}

#[test]
fn a_trace_whose_process_was_killed_is_not_said_to_run() {
    let place = Place::new();
    let late = || Answer { delay_ms: 50_000, ..Answer::text("late") };
    let server = scripted(vec![late()]);
    let running = place.start_run(&server, &["work"]);
    wait_until("it asks", || server.count() == 1);
    let trace = place.trace();
    let status = |place: &Place| parsed(&place.ok(&["ls", "--json"]))["status"].as_str().unwrap().to_string();
    assert!(place.ok(&["show"]).contains("\nstatus  running\n"));
    assert_eq!(status(&place), "running");
    running.kill();
    let told = format!("\nstatus  interrupted: its process ended; mainpath resume {trace}\n");
    assert!(place.ok(&["show"]).contains(&told), "{}", place.ok(&["show"]));
    assert_eq!(status(&place), "interrupted");
    assert!(place.ok(&["ls"]).contains("  interrupted "), "{}", place.ok(&["ls"]));
    // Without an index as well.
    std::fs::remove_file(place.home.join("index.sqlite")).unwrap();
    std::fs::create_dir(place.home.join("index.sqlite")).unwrap();
    assert_eq!(status(&place), "interrupted");
}

#[test]
fn a_summary_whose_process_was_killed_leaves_a_trace_that_is_not_said_to_be_done() {
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "a line of text\n".repeat(60)).unwrap();
    let server = server(|request| match request.n {
        ..3 => Answer::call("read_text_file", json!({"path": "a.txt"})).into(),
        3 => Answer::text("Read.").into(),
        _ => Answer { delay_ms: 50_000, ..Answer::text("late") }.into(),
    });
    assert_eq!(place.run_on(&server, &["work"]).code, 0);
    let trace = place.trace();
    let compacting = place.start(&["compact", &trace]);
    wait_until("it asks", || server.count() == 4);
    compacting.kill();
    let show = place.ok(&["show"]);
    assert!(show.contains("\nstatus  interrupted: its process ended;") && !show.contains("(final)"), "{show}");
    place.run(&["watch", "nothing"]).fails(1, "there is no trace");
}

#[test]
fn who_watches_from_another_process_sees_an_answer_while_it_comes() {
    let words: String = (0..40).map(|n| format!("word{n} and more of it, ")).collect();
    let (place, gate) = (Place::new(), Gate::default());
    let command = format!("echo one > began; {WAITS}; echo two");
    let server = scripted(vec![bash(&command), Answer::text(&words).ends_behind(&gate)]);
    let mut run = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the command runs", || place.text("began") == "one\n");
    let trace = place.trace();
    let watchers = || {
        let entries = std::fs::read_dir(place.file(&trace, "")).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("watch-")).count()
    };
    let mut json = place.start(&["watch", &trace, "--json"]);
    let mut people = place.start(&["watch", &trace]);
    json.event("action_started");
    wait_until("both can be told of the answer", || watchers() == 2);
    go(&place);
    // The answer ends only when the beginning of it was seen.
    json.event("assistant_delta");
    gate.open();
    assert_eq!(run.end().code, 0);
    let (json, people) = (json.end(), people.end());
    let lines: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let first = types.iter().position(|name| *name == "assistant_delta").expect("pieces of the answer");
    let last = types.iter().rposition(|name| *name == "assistant_delta").unwrap();
    let response = types.iter().rposition(|name| *name == "model_response").unwrap();
    assert!(last > first && last < response, "{types:?}");
    let asked = types.iter().rposition(|name| *name == "model_request").unwrap();
    assert!(asked < first, "{types:?}");
    let told: String = lines
        .iter()
        .filter(|line| line["type"] == "assistant_delta")
        .filter_map(|line| line["data"]["text"].as_str())
        .collect();
    assert!(words.contains(told.trim()) && !told.is_empty(), "{told}");
    assert_eq!(people.err.matches("word39 and more of it").count(), 1, "{}", people.err);
    // Nothing of it stays, and a watcher that was killed is no hindrance.
    assert_eq!(watchers(), 0);
    place.ok(&["verify"]);
}

#[test]
fn what_commands_of_one_turn_print_is_heard_below_the_command_that_prints_it() {
    let prints = |name: &str, pause: &str| {
        format!("sleep {pause}; for i in 1 2 3; do printf {name}$i; sleep {pause}; done; echo")
    };
    let also = |answer: Answer, command: String| answer.and_call("bash", json!({"command": command}));
    let four =
        ["b", "c", "d"].iter().fold(bash(&prints("a", "0.4")), |answer, name| also(answer, prints(name, "0.02")));
    let (place, server) = (Place::new(), scripted(vec![four, Answer::text("Done.")]));
    let mut run = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the first command runs", || !place.traces().is_empty() && place.log(&place.trace()).len() > 2_000);
    let trace = place.trace();
    let mut watching = place.start(&["watch", &trace]);
    assert_eq!(run.end().code, 0);
    let seen = watching.end().err;
    assert_eq!(seen, place.run(&["play", &trace, "--speed", "max"]).err);
}
