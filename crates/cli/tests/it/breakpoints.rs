//! Runs that stop before a call, and calls found by the same language.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

#[test]
fn a_run_stops_before_a_call_whatever_rules_allow_and_goes_on_as_from_an_approval() {
    let (place, server) =
        (Place::new(), scripted(vec![bash("echo a >> log"), bash("echo deploy >> log"), Answer::text("Done.")]));
    let stop = ["--yes", "--break", "tool=bash and args~deploy", "Do it."];
    let done = place.run_on(&server, &stop);
    assert_eq!((done.code, place.text("log")), (5, "a\n".into()), "{done:#?}");
    assert!(done.err.contains("asked by run.breakpoint: Breakpoint \"tool=bash and args~deploy\"; "), "{done:#?}");
    assert!(!done.err.contains("becomes a rule"), "a rule would not help: {done:#?}");
    // It is in the log: whoever goes on stops there as well.
    let model = server.model();
    assert_eq!((place.run(&["resume", "-m", &model, "--yes"]).code, place.text("log")), (5, "a\n".into()));
    let verdict = place.events(&place.trace()).iter().rfind(|event| event["type"] == "model_finished").unwrap()["data"]
        ["calls"][0]["verdict"]
        .clone();
    assert_eq!((&verdict["decision"], &verdict["rule"]), (&json!("ask"), &json!("run.breakpoint")));
    // Edited, it runs with that; no breakpoint stops what a person wrote.
    place.ok(&["approve", "--arguments", &json!({"command": "echo deploy safely >> log"}).to_string()]);
    assert_eq!(place.run(&["resume", "-m", &model]).code, 0);
    assert_eq!(place.text("log"), "a\ndeploy safely\n");
}

#[test]
fn a_breakpoint_holds_in_the_runs_to_come_of_a_trace_until_it_is_removed() {
    let answers = ["echo one >> log", "echo two >> log", "echo three >> log"]
        .into_iter()
        .flat_map(|command| [bash(command), Answer::text("Done.")]);
    let (place, server) = (Place::new(), scripted(answers.collect()));
    let model = server.model();
    let denied = || {
        place.ok(&["deny", "--reason", "not now"]);
        assert_eq!((place.run(&["resume", "-m", &model]).code, place.text("log")), (0, String::new()));
    };
    assert_eq!(place.run_on(&server, &["--yes", "--break", "args~echo", "Do it."]).code, 5);
    denied();
    assert_eq!(place.run_on(&server, &["-c", "--yes", "Again."]).code, 5, "it is the trace's");
    denied();
    assert_eq!(place.run_on(&server, &["-c", "--yes", "--no-break", "Again."]).code, 0);
    assert_eq!(place.text("log"), "three\n");
}

#[test]
fn what_a_rule_denies_stays_denied_and_other_calls_run() {
    let (place, server) =
        (Place::new(), scripted(vec![bash("rm -rf build"), bash("echo b >> log"), Answer::text("Done.")]));
    let flags = ["--yes", "--deny", "bash(rm *)", "--break", "args~'^rm'", "--break", "cost>5", "Do it."];
    let done = place.run_on(&server, &flags);
    assert_eq!((done.code, place.text("log")), (0, "b\n".into()), "{done:#?}");
    let first = place.events(&place.trace()).into_iter().find(|event| event["type"] == "model_finished").unwrap();
    assert_eq!(first["data"]["calls"][0]["verdict"]["rule"], "run.deny.1");
}

#[test]
fn a_breakpoint_that_cannot_be_read_is_refused_with_its_place() {
    let place = Place::new();
    let run = |predicate: &str| place.run(&["run", "-m", "scripted", "--break", predicate, "Do it."]);
    run("tool=bash and agrs~x")
        .fails(2, "--break \"tool=bash and agrs~x\", character 15: there is no field \"agrs\"; did you mean args?");
    run("outcome=error").fails(2, "outcome is known only after a call; a breakpoint stops before it");
    run("tool=bsh and args~x").fails(2, "there is no tool \"bsh\"; did you mean \"bash\"?");
    assert!(place.traces().is_empty());
}

#[test]
fn calls_are_found_in_all_traces_by_what_is_true_of_them() {
    let place = Place::new();
    let first = scripted(vec![bash("echo deploy to prod"), bash("exit 3"), Answer::text("All is deployed.")]);
    assert_eq!(place.run_on(&first, &["--yes", "Do it."]).code, 0);
    let second = scripted(vec![bash("echo deploy"), Answer::text("I may not.")]);
    assert_eq!(place.run_on(&second, &["--deny", "bash(echo *)", "Do it."]).code, 0);
    let found = |predicate: &str| -> Vec<String> {
        let done = place.run(&["query", "--json", predicate]);
        assert!(done.code <= 1, "{done:#?}");
        let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines
            .iter()
            .map(|line| format!("{} {}", line["tool"].as_str().unwrap(), line["outcome"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(found("tool=bash and args~deploy"), ["bash denied", "bash ok"], "the newest first");
    assert_eq!(found("verdict=deny"), ["bash denied"]);
    assert_eq!(found("rule=run.deny.1 and error=denied"), ["bash denied"]);
    assert_eq!(found("outcome=error"), ["bash error"]);
    assert_eq!(found("args.command='exit 3'"), ["bash error"]);
    assert_eq!(found("text~'deployed'"), [" "]);
    assert_eq!(found("tool=bash and not args~deploy"), ["bash error"]);
    assert_eq!(found("args~nothing"), [""; 0]);
    assert_eq!(place.run(&["query", "args~nothing"]).code, 1);
    let told = place.ok(&["query", "verdict=deny"]);
    assert!(told.contains(" 2.0 bash: echo deploy [deny by run.deny.1] denied "), "{told}");
    assert_eq!(place.ok(&["query", "--traces", "tool=bash"]).lines().count(), 2);
    assert_eq!(place.ok(&["query", "--most", "1", "tool=bash"]).lines().count(), 1);
    place
        .run(&["query", "tool=bash or"])
        .fails(2, "the predicate, character 13: expected a condition, such as tool=bash");
}

#[test]
fn a_call_that_was_stopped_waits_also_without_breakpoints_and_that_is_said() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo deploy >> log"), Answer::text("Done.")]));
    assert_eq!(place.run_on(&server, &["--yes", "--break", "args~deploy", "Do it."]).code, 5);
    let model = server.model();
    let line = "· call 2.0 (bash: echo deploy >> log) was stopped by a breakpoint before and waits for you: --no-break holds for the calls to come";
    let done = place.run(&["resume", "-m", &model, "--yes", "--no-break"]);
    assert!(done.code == 5 && done.err.lines().any(|told| told == line), "{done:#?}");
    place.ok(&["approve"]);
    let done = place.run(&["resume", "-m", &model, "--yes", "--no-break"]);
    assert_eq!((done.code, place.text("log").as_str()), (0, "deploy\n"), "{done:#?}");
    assert!(!done.err.contains("was stopped"), "{done:#?}");
}

#[test]
fn a_query_says_which_logs_it_could_not_read() {
    let place = Place::new();
    let server = scripted(vec![bash("echo deploy"), bash("echo more"), Answer::text("Done.")]);
    for _ in 0..3 {
        assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    }
    let done = place.run(&["query", "--json", "args~deploy"]);
    assert_eq!((done.out.lines().count(), done.err.as_str()), (3, ""), "{done:#?}");
    let traces = place.traces();
    // One is damaged in its middle, the log of another is gone.
    let log = place.file(&traces[0], "events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let middle = text.match_indices('\n').nth(8).unwrap().0;
    std::fs::write(&log, format!("{}{{nonsense\n{}", &text[..=middle], &text[middle + 1..])).unwrap();
    std::fs::remove_file(place.file(&traces[1], "events.jsonl")).unwrap();
    // The index knows what they said; one that is made anew does not.
    for entry in std::fs::read_dir(&place.home).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_name().to_string_lossy().starts_with("index.sqlite") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    for args in [&["query", "--json", "args~deploy"][..], &["query", "args~deploy"]] {
        let done = place.run(args);
        let told: Vec<&str> = done.err.lines().filter(|line| line.starts_with("! ")).collect();
        let line = format!(
            "! 2 logs could not be read whole, such as that of {0}: what is missing there is not found (mainpath verify {0})",
            traces[0]
        );
        assert_eq!((done.code, done.out.lines().count(), told), (0, 2, vec![line.as_str()]), "{done:#?}");
    }
}
