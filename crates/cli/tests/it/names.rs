//! What traces are called.

use crate::support::*;
use mainpath::types::Usage;
use mainpath_testkit::model_server::Answer;
use serde_json::Value;
use std::time::Duration;

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
    let server = scripted(vec![bash("sleep 1"), Answer::text("Done.")]);
    let mut run = place.start_run(&server, &["--yes", "--json", "Sleep a little"]);
    run.event("action_started");
    assert_eq!(place.ok(&["rename", &place.trace(), "Nap"]), "");
    assert_eq!(listed(&place)["name"], "Nap");
    assert_eq!(run.event("trace_named")["data"]["name"], "Nap");
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
    let slow = server(|request| match request.count("assistant") {
        0 => bash("sleep 1").into(),
        _ => Answer::text("Done.").into(),
    });
    let done = place.run_on(&slow, &["--yes", "Fix the parser with very-secret-4711-value"]);
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
    let done = place.run_on(&slow, &["--yes", "--name", "Mine", "Fix it"]);
    assert_eq!((done.code, small.count()), (0, 1));
    assert_eq!(listed(&place)["name"], "Mine");
}

#[test]
fn a_model_that_gives_no_name_or_does_not_answer_is_no_run_s_trouble() {
    let place = Place::new();
    let long = server(|_| Answer::text(&"a very long name ".repeat(20)).into());
    let hangs = server(|_| Answer { delay_ms: 60_000, ..Answer::text("late") }.into());
    let models =
        [long.model(), hangs.model(), "openai-compatible:http://127.0.0.1:1/v1#none".into(), "nonsense".into()];
    for model in models {
        place.config(&format!("[names]\nmodel = \"{model}\"\n"));
        let began = std::time::Instant::now();
        let done =
            place.run_on(&scripted(vec![bash("sleep 0.3"), Answer::text("Done.")]), &["--yes", "Fix the parser"]);
        assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{model}: {done:#?}");
        assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for it");
        assert_eq!(listed(&place)["name"], "Fix the parser");
        assert!(!place.log(&newest(&place)).windows(11).any(|bytes| bytes == b"trace_named"));
    }
}

#[test]
fn the_name_that_a_model_made_of_a_task_goes_with_it() {
    let place = Place::new();
    let small = server(|_| Answer::text("Parser repair").into());
    place.config(&format!("[names]\nmodel = \"{}\"\n", small.model()));
    place.run_on(&scripted(vec![bash("sleep 1"), Answer::text("Done.")]), &["--yes", "Fix the parser"]);
    let trace = place.trace();
    assert_eq!(listed(&place)["name"], "Parser repair");
    place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    assert!(!String::from_utf8(place.log(&trace)).unwrap().contains("Parser repair"));
    assert_eq!(place.run(&["verify", &trace]).code, 0);
}
