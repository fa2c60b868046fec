//! Runs that an earlier process of the server left: continued, set aside, or reported.

use crate::serving::{Served, finished, serve, slow};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn killed_in_the_middle_of_a_hundred_runs_it_finishes_each_of_them_once() {
    let place = Place::new();
    let model = slow(&place, 60);
    let served = serve(&place);
    let body = |n: usize| json!({"task": format!("Read it, {n}."), "model": model}).to_string();
    let start = |served: &Served, n: usize| {
        served.try_ask("POST", "/api/traces", &format!("idempotency-key: run-{n}\r\n"), &body(n))
    };
    for n in 0..70 {
        start(&served, n).unwrap();
    }
    served.process.kill();
    let served = serve(&place);
    // Whoever got no answer asks again, under the same keys.
    let mut traces: Vec<String> = Vec::new();
    for n in 0..100 {
        let (status, begun) = start(&served, n).unwrap();
        assert_eq!(status, 202, "{begun}");
        traces.push(begun["trace_id"].as_str().unwrap().into());
    }
    // Only those that still run are read, and seldom: else the test takes the time that the runs need.
    let (mut open, mut until) = (traces.clone(), Instant::now() + LONG);
    while !open.is_empty() {
        let before = open.len();
        open.retain(|trace| finished(&place, trace) == 0);
        if open.len() < before {
            until = Instant::now() + LONG;
        }
        assert!(Instant::now() < until, "these runs do not end: {open:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(traces.iter().all(|trace| finished(&place, trace) == 1));
    let mut all = place.traces();
    all.retain(|trace| !trace.contains('@'));
    traces.sort();
    assert_eq!(all, traces);
    for trace in traces.iter().step_by(9) {
        let (_, report) = served.ask("GET", &format!("/api/traces/{trace}/verify"), "", "");
        assert_eq!(report["holds"], true, "{report}");
        let began = place.events(trace).iter().filter(|event| event["type"] == "run_started").count();
        assert_eq!(began, 1, "{trace}");
    }
    // Each that was marked has ended.
    let marks = std::fs::read_to_string(place.home.join("server/running.log")).unwrap();
    let ended = |line: &str| line.split(' ').nth(2).is_some_and(|trace| marks.contains(&format!("- {trace}\n")));
    let open: Vec<&str> = marks.lines().filter(|line| line.starts_with('+') && !ended(line)).collect();
    assert!(marks.contains("+ ") && open.is_empty(), "{open:?}");
}

/// Starts a run and stops its server while the model answers: the trace, and the end of the server.
fn stopped_under_way(place: &Place, model: &ModelServer, gate: &Gate, body: &str) -> (String, Done) {
    let mut served = serve(place);
    let (_, begun) = served.ask("POST", "/api/traces", "", body);
    let trace = begun["trace_id"].as_str().unwrap().to_string();
    wait_until("it asks its model", || model.count() == 1);
    served.process.signal(Signal::TERM);
    served.is_closed();
    gate.open();
    (trace, served.process.end())
}

#[test]
fn stopped_in_order_it_lets_turns_come_to_a_checkpoint_and_a_later_start_goes_on() {
    let (place, gate) = (Place::new(), Gate::default());
    std::fs::write(place.work.join("a.txt"), "here\n").unwrap();
    let read = || Answer::call("read_text_file", json!({"path": "a.txt"}));
    let server = scripted(vec![read().behind(&gate), read(), Answer::text("Read.")]);
    let body = json!({"task": "Read it.", "model": server.model()}).to_string();
    let (trace, done) = stopped_under_way(&place, &server, &gate, &body);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.err.contains("letting 1 run come to a checkpoint"), "{}", done.err);
    let events = place.events(&trace);
    let last = events.last().unwrap()["type"].as_str().unwrap().to_string();
    assert_eq!(finished(&place, &trace), 0);
    // The answer that was under way is in the log with the calls that it made, and no model is asked after it.
    assert!(events.iter().any(|event| event["type"] == "model_finished"), "{last}");
    let served = serve(&place);
    wait_until("it has ended", || finished(&place, &trace) == 1);
    let lost = place.events(&trace).iter().any(|event| event["data"]["resolution"] == "unknown");
    assert!(!lost);
    drop(served);
}

#[test]
fn stopped_in_order_while_an_answer_comes_the_calls_in_it_are_made_and_none_is_lost() {
    let (place, gate) = (Place::new(), Gate::default());
    let command = "echo hi >> b.txt";
    let writes = bash(command).and_call("bash", json!({"command": command}));
    let server = scripted(vec![writes.behind(&gate), Answer::text("Written.")]);
    let body = json!({"task": "Write it.", "model": server.model(), "approvals": "yes"}).to_string();
    let (trace, done) = stopped_under_way(&place, &server, &gate, &body);
    assert_eq!(done.code, 0, "{done:#?}");
    // What is on record as begun was done; the next turn is left to the next start.
    assert_eq!((place.text("b.txt").as_str(), finished(&place, &trace)), ("hi\nhi\n", 0));
    let served = serve(&place);
    wait_until("it has ended", || finished(&place, &trace) == 1);
    let resolved: Vec<Value> = place.events(&trace).into_iter().filter(|one| one["type"] == "call_resolved").collect();
    assert_eq!(resolved.len(), 2);
    assert!(resolved.iter().all(|one| one["data"]["resolution"] != "unknown"), "{resolved:?}");
    assert_eq!(place.text("b.txt"), "hi\nhi\n");
    drop(served);
}

#[test]
fn a_run_that_was_driven_at_three_deaths_is_set_aside_and_says_what_to_do() {
    let place = Place::new();
    let model = slow(&place, 60_000);
    let served = serve(&place);
    let (_, begun) = served.ask("POST", "/api/traces", "", &json!({"task": "Read it.", "model": model}).to_string());
    let trace = begun["trace_id"].as_str().unwrap().to_string();
    wait_until("it asks its model", || place.events(&trace).iter().any(|event| event["type"] == "model_requested"));
    // Two may be quick restarts that have nothing to do with it.
    let mut served = served;
    for _ in 0..2 {
        served.process.kill();
        served = serve(&place);
        wait_until("it continues", || {
            let (_, detail) = served.ask("GET", &format!("/api/traces/{trace}"), "", "");
            detail["status"] == "running"
        });
    }
    served.process.kill();
    let mut served = serve(&place);
    let audit = place.home.join("server/audit.jsonl");
    wait_until("it is set aside", || std::fs::read_to_string(&audit).unwrap().contains("trace_set_aside"));
    let (_, detail) = served.ask("GET", &format!("/api/traces/{trace}"), "", "");
    assert_eq!(detail["status"], "set_aside", "{detail}");
    assert!(place.ok(&["ls"]).starts_with(&format!("{trace}  set aside ")), "{}", place.ok(&["ls"]));
    let shown = place.ok(&["show"]);
    assert!(shown.contains(&format!("while it was under way; mainpath resume {trace}\n")), "{shown}");
    served.process.signal(Signal::TERM);
    let done = served.process.end();
    assert!(done.err.contains(&format!("{trace} was under way each time")), "{}", done.err);
}

#[test]
fn of_what_broke_off_each_log_that_cannot_be_read_is_said_and_keeps_no_other_from_going_on() {
    let place = Place::new();
    let model = slow(&place, 60_000);
    let served = serve(&place);
    let begin = || {
        let (_, begun) =
            served.ask("POST", "/api/traces", "", &json!({"task": "Read it.", "model": model}).to_string());
        let trace = begun["trace_id"].as_str().unwrap().to_string();
        wait_until("it asks its model", || place.events(&trace).iter().any(|one| one["type"] == "model_requested"));
        trace
    };
    let [folder, missing, spoiled, gone, whole] = [(); 5].map(|()| begin());
    // What is in a journal still would be given back to the logs.
    let journals = || std::fs::read_dir(place.home.join("journal")).unwrap();
    let is_journal = |name: &std::path::Path| name.extension().is_some_and(|end| end == "wal");
    wait_until("the logs hold all", || !journals().any(|file| is_journal(&file.unwrap().path())));
    served.process.kill();
    let log = |trace: &str| place.file(trace, "events.jsonl");
    for trace in [&folder, &missing] {
        std::fs::remove_file(log(trace)).unwrap();
    }
    // Views are written where a run rests; of one that had none nothing is known without its log.
    std::fs::write(place.file(&missing, "meta.json"), "{}").unwrap();
    std::fs::create_dir(log(&folder)).unwrap();
    std::fs::remove_dir_all(place.file(&gone, "")).unwrap();
    let lines = std::fs::read_to_string(log(&spoiled)).unwrap();
    std::fs::write(log(&spoiled), lines.replacen("Read it.", "Write it", 1)).unwrap();
    let mut served = serve(&place);
    wait_until("the run with a whole log continues", || {
        let (_, detail) = served.ask("GET", &format!("/api/traces/{whole}"), "", "");
        detail["status"] == "running"
    });
    served.process.signal(Signal::TERM);
    let said = served.process.end().err;
    let why = |trace: &str| {
        let begin = format!("{trace} was under way and cannot go on: ");
        said.lines().find_map(|line| line.split_once(&begin).map(|(_, why)| why.to_string())).unwrap_or_default()
    };
    assert!(why(&folder).contains("is not a file but a folder"), "{said}");
    assert!(why(&missing).contains("events.jsonl) is missing"), "{said}");
    assert!(why(&spoiled).starts_with("its log is damaged: "), "{said}");
    assert_eq!(why(&gone), format!("there is no trace {gone}"), "{said}");
    assert!(said.contains(&format!("{whole} goes on")), "{said}");
    // What may be restored from a copy is tried again, what is gone is not.
    let marks = std::fs::read_to_string(place.home.join("server/running.log")).unwrap();
    let ended = [&folder, &missing, &spoiled, &gone, &whole].map(|trace| marks.contains(&format!("- {trace}\n")));
    assert_eq!(ended, [false, false, false, true, false], "{marks}");
}

#[test]
fn where_runs_cannot_be_marked_that_is_said_and_they_run() {
    let place = Place::new();
    let marks = place.home.join("server/running.log");
    std::fs::create_dir_all(&marks).unwrap();
    let mut served = serve(&place);
    let body = json!({"task": "Read it.", "model": slow(&place, 1)}).to_string();
    let (status, _) = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body);
    assert_eq!(status, 200);
    served.process.signal(Signal::TERM);
    let said = served.process.end().err;
    let line = format!("would not be after a crash: {}: this is not a file; move it aside", marks.display());
    assert!(said.contains(&line), "{said}");
}
