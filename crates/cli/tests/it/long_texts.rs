//! Texts that lie in blobs, since they are too long for the log: wherever they are asked for, they are there whole.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

/// Numbered lines, so that no piece of it looks like another: more than 16 KiB of them.
fn long(what: &str) -> String {
    let lines: Vec<String> = (0..1_000).map(|n| format!("{what}, line {n} of 1000: ü")).collect();
    lines.join("\n")
}

/// How many of these events have a text in a blob.
fn stored(place: &Place, trace: &str) -> Vec<Value> {
    let events = place.events(trace).into_iter();
    events.filter(|event| event.to_string().contains("stored_text")).map(|event| event["type"].clone()).collect()
}

/// The lines of a message as `show` prints them.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("   {line}\n")).collect()
}

#[test]
fn a_long_answer_is_printed_shown_viewed_and_written_whole() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text(&long("answer"))]));
    let (file, whole) = (place.root().join("answer.md"), format!("{}\n", long("answer")));
    let done = place.run_on(&server, &["-o", file.to_str().unwrap(), "Say much."]);
    let trace = place.trace();
    assert_eq!(stored(&place, &trace), ["model_finished"]);
    assert!(done.code == 0 && done.out == whole, "{} bytes on standard output", done.out.len());
    assert!(std::fs::read_to_string(file).unwrap() == whole);
    assert!(std::fs::read_to_string(place.file(&trace, "final.md")).unwrap() == whole);
    let shown = place.ok(&["show", &trace]);
    assert!(shown.ends_with(&format!("#2 assistant  (10 in, 5 out)\n{}", indented(&whole))), "{shown}");
    let tree = place.ok(&["show", "--all", &trace]);
    assert!(tree.contains("● #2 assistant  answer, line 0 of 1000"), "{tree}");
    let meta: Value = serde_json::from_slice(&std::fs::read(place.file(&trace, "meta.json")).unwrap()).unwrap();
    assert!(meta["result_summary"] == long("answer").as_str(), "{}", meta["result_summary"]);
    assert!(place.ok(&["replay", &trace]).contains("1 request and 7 views rebuilt identically"));
}

#[test]
fn a_long_task_is_listed_shown_and_sent_whole() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Understood.")]));
    place.config("context_window = 32768\n");
    let model = server.model();
    let done = place.run_with(&["run", "-m", &model, "-"], long("task").as_bytes());
    assert_eq!((done.code, done.out.as_str()), (0, "Understood.\n"), "{done:#?}");
    let trace = place.trace();
    assert_eq!(stored(&place, &trace), ["message_queued"]);
    assert!(place.ok(&["ls"]).contains("task, line 0 of 1000"), "{}", place.ok(&["ls"]));
    assert!(parsed(&place.ok(&["ls", "--json"]))["task"] == long("task").as_str());
    assert!(
        place.ok(&["show"]).contains(&format!("#1 user\n{}\n#2 assistant  (10 in, 5 out)\n", indented(&long("task"))))
    );
    assert!(server.requests()[0].body()["messages"].to_string().contains(&json!(long("task")).to_string()));
    // A blob that is gone is no reason to list nothing.
    std::fs::remove_dir_all(place.home.join("blobs")).unwrap();
    assert!(place.ok(&["ls"]).starts_with(&trace));
}

#[test]
fn the_last_words_of_a_run_that_was_ended_are_quoted_whole() {
    let answer = Answer { text: long("words"), ..bash("true") };
    let (place, server) = (Place::new(), scripted(vec![answer]));
    let done = place.run_on(&server, &["--yes", "--max-turns", "1", "Do it."]);
    assert_eq!(done.code, 4, "{}", done.err);
    let quoted = format!("Last message: {}\nNext: ", long("words"));
    assert!(done.report().contains(&quoted), "{}", done.err);
    assert!(place.ok(&["show"]).contains(&quoted));
    // Without its blob it is named, and the rest is shown.
    std::fs::remove_dir_all(place.home.join("blobs")).unwrap();
    let shown = place.ok(&["show"]);
    assert!(shown.contains("Do it.") && shown.contains(" bytes in blob "), "{shown}");
}

/// A long result stays a reference for people, and reaches the model whole.
#[test]
fn a_long_result_reaches_the_model_whole() {
    let (place, server) = (Place::new(), long_result());
    std::fs::write(place.work.join("long.txt"), long("file")).unwrap();
    let done = place.run_on(&server, &["Read it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Read.\n"), "{done:#?}");
    assert_eq!(stored(&place, &place.trace()), ["call_resolved"]);
    let messages = server.requests()[1].body()["messages"].as_array().unwrap().clone();
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap()["content"].to_string();
    assert!(long("file").lines().all(|line| result.contains(line)), "{result}");
    assert!(place.ok(&["show"]).contains(" bytes in blob "));
}

fn long_result() -> ModelServer {
    scripted(vec![Answer::call("read_text_file", json!({"path": "long.txt"})), Answer::text("Read.")])
}

#[test]
fn what_calls_have_kept_lies_under_its_name_comes_back_and_goes_with_an_erasure() {
    let (place, server) = (Place::new(), scripted(vec![bash("seq 1 40000"), Answer::text("Counted.")]));
    assert_eq!(place.run_on(&server, &["--yes", "Count."]).code, 0);
    let trace = place.trace();
    let whole: String = (1..=40_000).map(|n| format!("{n}\n")).collect();
    let file = place.file(&trace, "artifacts/2.0/output");
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(read() == whole, "{} bytes", read().len());
    let index: Value =
        serde_json::from_slice(&std::fs::read(place.file(&trace, "artifacts/index.json")).unwrap()).unwrap();
    assert_eq!((&index[0]["file"], &index[0]["artifact"]["name"]), (&json!("artifacts/2.0/output"), &json!("output")));
    std::fs::remove_dir_all(place.file(&trace, "artifacts")).unwrap();
    let told = place.ok(&["replay", &trace]);
    assert!(told.contains("2 views were missing (artifacts/2.0/output, artifacts/index.json); rewritten"), "{told}");
    assert!(read() == whole);
    // A copy: who changes it changes nothing but the copy, and a replay says so and brings it back.
    std::fs::write(&file, "changed").unwrap();
    let told = place.run(&["replay", &trace]);
    let words = "the view artifacts/2.0/output did not match the log";
    assert!(told.code != 0 && format!("{}{}", told.out, told.err).contains(words), "{told:#?}");
    assert!(read() == whole);
    // It is there for who exports a run as well.
    let out = place.root().join("runs");
    place.ok(&["export", &trace, "--format", "agent-run", "--out", out.to_str().unwrap()]);
    assert!(std::fs::read_to_string(out.join(&trace).join("artifacts/2.0/output")).unwrap() == whole);
    place.ok(&["erase", &trace, "--message", "3", "--yes"]);
    assert!(!place.file(&trace, "artifacts").join("2.0").exists());
    assert!(place.ok(&["replay", &trace]).contains("rebuilt identically"));
}
