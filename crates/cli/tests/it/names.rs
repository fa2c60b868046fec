//! What traces are called.

use crate::serving::serve;
use crate::support::*;
use mainpath::types::Usage;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::{Value, json};
use std::process::Command;

/// A command that ends once the test has written this file.
const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.02; done";

/// Writes the file for which the command waits.
fn go(place: &Place) {
    std::fs::write(place.work.join("go"), "").unwrap();
}

/// Whether the log of a trace has an event of this type.
fn has_event(place: &Place, name: &str) -> bool {
    place.traces().iter().flat_map(|trace| place.events(trace)).any(|event| event["type"] == name)
}

/// Runs a task; its command ends once a model has named the trace.
fn run_until_named(place: &Place, server: &ModelServer, task: &str) -> Done {
    let mut run = place.start_run(server, &["--yes", task]);
    wait_until("the trace is named", || has_event(place, "trace_named"));
    go(place);
    run.end()
}

fn listed(place: &Place) -> Value {
    parsed(place.ok(&["ls", "--json"]).lines().next().unwrap())
}

#[test]
fn a_trace_goes_by_the_first_words_of_its_task_until_somebody_names_it() {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("Done.")]), &["Fix the parser. It fails on tabs in config.toml."]);
    let trace = place.trace();
    let log = place.log(&trace);
    assert_eq!(listed(&place)["name"], "Fix the parser");
    assert!(place.ok(&["show"]).contains("\nname    Fix the parser\n"));
    assert!(place.ok(&["ls"]).contains("Fix the parser. It fails"));
    assert_eq!(place.log(&trace), log, "that is no event");

    assert_eq!(place.ok(&["rename", &trace, "修复解析器"]), "");
    assert_eq!(listed(&place)["name"], "修复解析器");
    assert!(place.ok(&["show"]).contains("\nname    修复解析器\n"));
    let ls = place.ok(&["ls"]);
    assert!(ls.contains("修复解析器 · Fix the parser. It fails"), "{ls}");
    let found = place.ok(&["ls", "--search", "解析器"]);
    assert!(found.starts_with(&trace) && found.contains("name: 修复解析器"), "{found}");
    assert_eq!(parsed(&std::fs::read_to_string(place.file(&trace, "meta.json")).unwrap())["name"], "修复解析器");
    place.run(&["rename", &trace, "two\nlines"]).fails(2, "a name has 1 to 80 letters and is one line");
    assert_eq!(place.run(&["replay", &trace]).code, 0);
    assert_eq!(place.run(&["verify", &trace]).code, 0);
}

#[test]
fn a_running_trace_is_named_by_another_process() {
    let place = Place::new();
    let server = scripted(vec![bash(UNTIL_GO), Answer::text("Done.")]);
    let mut run = place.start_run(&server, &["--yes", "--json", "Sleep a little"]);
    run.event("action_started");
    assert_eq!(place.ok(&["rename", &place.trace(), "Nap"]), "");
    assert_eq!(listed(&place)["name"], "Nap");
    assert_eq!(run.event("trace_named")["data"]["name"], "Nap");
    go(&place);
    assert_eq!(run.end().code, 0);
}

#[test]
fn a_small_model_names_traces_beside_the_run_and_is_paid_for() {
    let place = Place::new();
    let small = server(|_| {
        Answer { usage: Usage { input: 50, output: 4, ..Usage::default() }, ..Answer::text("\"Parser repair\"\n") }
            .into()
    });
    place.config(&format!("[names]\nmodel = \"{}\"\n[secrets]\nTOKEN = \"very-secret-4711-value\"\n", small.model()));
    let held = scripted(vec![bash(UNTIL_GO), Answer::text("Done.")]);
    let done = run_until_named(&place, &held, "Fix the parser with very-secret-4711-value");
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(listed(&place)["name"], "Parser repair");
    let asked = small.requests();
    let body = asked[0].body().to_string();
    assert!(
        asked.len() == 1 && body.contains("Fix the parser with {{secret:TOKEN}}") && !body.contains("4711"),
        "{body}"
    );
    let named = place.events(&place.trace()).into_iter().find(|event| event["type"] == "trace_named").unwrap();
    assert_eq!(named["data"]["made"]["usage"]["input"], 50);
    let spent = place.events(&place.trace()).into_iter().find(|event| event["type"] == "run_finished").unwrap();
    // Two requests of the run, which say that they used nothing of note, and the name.
    assert!(spent["data"]["usage"]["input"].as_u64().unwrap() >= 50, "{spent}");
    assert!(place.ok(&["stats"]).contains(&small.model()), "{}", place.ok(&["stats"]));
    // A name of one's own is not asked for, nor changed.
    let slow = scripted(vec![bash("sleep 0.3"), Answer::text("Done.")]);
    let done = place.run_on(&slow, &["--yes", "--name", "Mine", "Fix it"]);
    assert_eq!((done.code, small.count()), (0, 1));
    assert_eq!(listed(&place)["name"], "Mine");
}

#[test]
fn a_small_model_also_names_a_trace_that_was_started_over_http() {
    let place = Place::new();
    let small = server(|_| Answer::text("Parser repair").into());
    let worker = scripted(vec![Answer::text("Done.")]);
    place.config(&format!("model = {:?}\n[names]\nmodel = {:?}\n", worker.model(), small.model()));
    let served = serve(&place);
    let mut command = Command::new("curl");
    command.args(["-sS", &format!("http://{}/api/traces", served.address), "-H", "content-type: application/json"]);
    command.args(["-H", &format!("authorization: Bearer {}", served.key)]);
    command.args(["-d", &json!({"task": "Fix the parser"}).to_string()]);
    assert!(command.output().unwrap().status.success());
    wait_until("the trace is named", || has_event(&place, "trace_named"));
    assert_eq!(listed(&place)["name"], "Parser repair");
}

#[test]
fn a_model_that_gives_no_name_or_does_not_answer_is_no_run_s_trouble() {
    let long = server(|_| Answer::text(&"a very long name ".repeat(20)).into());
    let never = Gate::default();
    let hangs = server(move |_| Answer::text("late").behind(&never).into());
    let models = [
        (long.model(), Some(&long)),
        (hangs.model(), Some(&hangs)),
        ("openai-compatible:http://127.0.0.1:1/v1#none".into(), None),
        ("nonsense".into(), None),
    ];
    for (model, small) in models {
        let place = Place::new();
        place.config(&format!("[names]\nmodel = \"{model}\"\n"));
        // What the model answers has a moment to come.
        let held = scripted(vec![bash(&format!("{UNTIL_GO}; sleep 0.3")), Answer::text("Done.")]);
        let mut run = place.start_run(&held, &["--yes", "Fix the parser"]);
        wait_until("the small model is asked", || small.is_none_or(|small| small.count() == 1));
        go(&place);
        // Nobody waits for the name: the answer of one of these models never comes.
        let done = run.end();
        assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{model}: {done:#?}");
        assert_eq!(listed(&place)["name"], "Fix the parser");
        assert!(!place.log(&newest(&place)).windows(11).any(|bytes| bytes == b"trace_named"));
    }
}

#[test]
fn the_name_that_a_model_made_of_a_task_goes_with_it() {
    let place = Place::new();
    let small = server(|_| Answer::text("Parser repair").into());
    place.config(&format!("[names]\nmodel = \"{}\"\n", small.model()));
    run_until_named(&place, &scripted(vec![bash(UNTIL_GO), Answer::text("Done.")]), "Fix the parser");
    let trace = place.trace();
    assert_eq!(listed(&place)["name"], "Parser repair");
    place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    assert!(!String::from_utf8(place.log(&trace)).unwrap().contains("Parser repair"));
    assert_eq!(place.run(&["verify", &trace]).code, 0);
}
