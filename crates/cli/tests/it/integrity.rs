//! Logs and views that somebody removed, changed or tore.

use crate::commands::one_call;
use crate::support::{Place, bash, parsed, scripted};
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn views_come_back_byte_for_byte_and_a_changed_one_is_reported() {
    let (place, _server, trace) = one_call();
    let views = ["meta.json", "goal.json", "state.json", "final.md", "inputs/request.txt", "wire.jsonl"];
    let read = || views.map(|name| std::fs::read(place.file(&trace, name)).unwrap());
    let before = read();
    let written = || views.map(|name| std::fs::metadata(place.file(&trace, name)).unwrap().modified().unwrap());
    let when = written();
    assert!(place.ok(&["replay"]).contains("2 requests and 7 views rebuilt identically"));
    assert_eq!(written(), when, "what is right is not written");
    // What another version wrote in its form is no difference: it is written anew.
    let file = place.file(&trace, "meta.json");
    let mut old: Value = serde_json::from_slice(&before[0]).unwrap();
    old.as_object_mut().unwrap().remove("views_version");
    old.as_object_mut().unwrap().remove("total_cost");
    std::fs::write(&file, old.to_string()).unwrap();
    let told = place.ok(&["replay", "--dry-run"]);
    assert!(told.contains("7 views were written by another version of Mainpath, not compared"), "{told}");
    assert!(place.ok(&["replay"]).contains("rewritten"));
    assert_eq!(read(), before);
    views.iter().for_each(|name| std::fs::remove_file(place.file(&trace, name)).unwrap());
    // What is not there is not identical.
    let told = place.ok(&["replay", "--dry-run"]);
    let names = "6 views were missing (final.md, goal.json, inputs/request.txt, meta.json, state.json, wire.jsonl); replay without";
    assert!(told.contains("2 requests and 1 view rebuilt identically") && told.contains(names), "{told}");
    assert!(place.ok(&["replay"]).contains("rewritten"));
    assert_eq!(read(), before);
    std::fs::write(place.file(&trace, "final.md"), "Something better.\n").unwrap();
    let done = place.run(&["replay", "--dry-run"]);
    done.fails(1, "1 difference between the log and what was computed from it");
    let differs = "differs: the view final.md did not match the log; ";
    assert!(done.out.contains(&format!("{differs}replay without --dry-run rewrites it")), "{done:#?}");
    let done = place.run(&["replay"]);
    done.fails(1, "1 difference between the log and what was computed from it; now they agree");
    assert!(done.out.contains(&format!("{differs}rewritten")), "{done:#?}");
    assert_eq!(read(), before);
    place.ok(&["replay"]);
}

#[test]
fn views_are_as_new_as_the_log_whenever_nobody_works() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done")]);
    assert_eq!(place.run_on(&server, &["--park", "Do it."]).code, 5);
    let trace = place.trace();
    let view = |name: &str| parsed_whole(&std::fs::read(place.file(&trace, name)).unwrap());
    let is_new = || {
        let last = place.events(&trace).last().unwrap()["id"].clone();
        assert_eq!(view("meta.json")["last_event_id"], last);
    };
    is_new();
    assert_eq!(view("state.json")["open_calls"][0]["state"], "asked");
    place.ok(&["stop"]);
    is_new();
    assert_eq!(view("meta.json")["finish_reason"], "stopped");
    place.ok(&["goal", "add", "Buy milk"]);
    is_new();
    let goals = view("goal.json")["goals"].to_string();
    assert!(goals.contains("Buy milk"), "{goals}");
}

fn parsed_whole(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn one_changed_byte_is_found_and_named_by_file_and_line() {
    let (place, _server, trace) = one_call();
    assert!(place.ok(&["verify"]).lines().any(|line| line == "the chain verifies"));
    let path = place.file(&trace, "events.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    // Inside a text, so that the line stays JSON.
    let changed = log.replacen("content of a", "content of b", 1);
    assert_ne!(log, changed);
    let line = 1 + log.lines().position(|line| line.contains("content of a")).unwrap();
    assert!(place.ok(&["ls"]).starts_with(&format!("{trace}  completed ")));
    std::fs::write(&path, &changed).unwrap();
    assert!(place.ok(&["ls"]).starts_with(&format!("{trace}  damaged ")), "{}", place.ok(&["ls"]));
    let done = place.run(&["verify"]);
    assert!(done.code == 1 && done.own_lines().len() == 1, "{done:#?}");
    let said = done.own_lines()[0];
    let found = (line..=line + 1).any(|line| said.contains(&format!("line {line}")));
    assert!(said.contains(path.to_str().unwrap()) && found, "line {line}: {said}");
    let answer = std::fs::read(place.file(&trace, "final.md")).unwrap();
    let replayed = place.run(&["replay"]);
    replayed.fails(1, "1 difference between");
    assert!(replayed.out.contains("was not replayed") && replayed.out.contains("line "), "{replayed:#?}");
    assert_eq!(std::fs::read(place.file(&trace, "final.md")).unwrap(), answer);
    // Nothing is written to it any more, and what is before the damage can be read.
    let resumed = place.run(&["run", "-c", "More."]);
    assert!(resumed.code == 1 && resumed.err.contains("damaged"), "{resumed:#?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), changed);
    let shown = place.run(&["show"]);
    assert!(shown.code == 1 && shown.out.contains("Read a."), "{shown:#?}");
    let stands = format!("status  damaged; to continue in a copy of what can be read: mainpath fork {trace}\n");
    assert!(shown.out.contains(&stands) && !shown.out.contains("interrupted"), "{shown:#?}");
}

#[test]
fn a_torn_last_line_is_cut_and_kept_and_the_trace_goes_on() {
    let (place, _server, trace) = one_call();
    let path = place.file(&trace, "events.jsonl");
    let log = std::fs::read(&path).unwrap();
    let last = log[..log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(&path, &log[..log.len() - 9]).unwrap();
    let done = place.run(&["resume"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 2.\n"), "{done:#?}");
    let cut: Vec<Value> = place.events(&trace).into_iter().filter(|event| event["type"] == "tail_cut").collect();
    let bytes = log.len() - 9 - last;
    assert_eq!(
        cut.iter().map(|event| &event["data"]).collect::<Vec<_>>(),
        [&json!({"bytes": bytes, "kept": "events.torn"})]
    );
    assert_eq!(std::fs::read(place.file(&trace, "events.torn")).unwrap(), [&log[last..log.len() - 9], b"\n"].concat());
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

#[test]
fn a_log_that_lost_its_end_is_not_gone_on_with_and_a_fork_goes_on_from_what_is_left() {
    let server = scripted(vec![
        bash("echo paid >> ledger.txt"),
        Answer::text("Paid."),
        bash("echo paid >> ledger.txt"),
        Answer::text("Paid again."),
    ]);
    let place = Place::new();
    assert_eq!(place.run_on(&server, &["--yes", "Pay."]).code, 0);
    let trace = place.trace();
    place.ok(&["run", "--yes", "--trace", &trace, "Pay once more."]);
    assert_eq!(place.text("ledger.txt"), "paid\npaid\n");
    let path = place.file(&trace, "events.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let begins = whole.lines().position(|line| line.contains("Pay once more.")).unwrap();
    std::fs::write(&path, whole.split_inclusive('\n').take(begins).collect::<String>()).unwrap();
    let problem = "lines are missing at the end";
    for args in [&["resume", trace.as_str(), "--yes"][..], &["run", "--yes", "--trace", &trace, "More."]] {
        let done = place.run(args);
        assert!(done.code == 1 && done.err.contains(problem), "{args:?}: {done:#?}");
    }
    assert_eq!(place.text("ledger.txt"), "paid\npaid\n", "nothing is done twice");
    let verify = place.run(&["verify", &trace]);
    assert!(verify.code == 1 && format!("{}{}", verify.out, verify.err).contains(problem), "{verify:#?}");
    let show = place.run(&["show", &trace]);
    assert!(show.code == 1 && show.out.contains("Paid.") && show.err.contains(problem), "{show:#?}");
    assert!(place.ok(&["ls"]).starts_with(&format!("{trace}  damaged ")), "{}", place.ok(&["ls"]));
    place.ok(&["fork", &trace, "--no-run"]);
}

#[test]
fn a_log_that_was_deleted_is_missed_by_whoever_looks_and_nothing_begins_in_its_place() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("One."), Answer::text("Two.")]);
    let model = server.model();
    assert_eq!(place.run(&["run", "-m", &model, "--session", "work", "Do it."]).code, 0);
    let trace = place.trace();
    assert!(place.ok(&["ls"]).starts_with(&format!("{trace}  completed")));
    let folder = place.file(&trace, "meta.json").parent().unwrap().to_owned();
    let before =
        || std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>();
    std::fs::remove_file(place.file(&trace, "events.jsonl")).unwrap();
    let (files, missing) =
        (before(), format!("the log of {trace} (events.jsonl) is missing; its views are in {}", folder.display()));
    let what_to_do = format!("{missing}: restore the file from a copy, or mainpath rm {trace}");
    for args in [
        &["verify", &trace] as &[&str],
        &["verify"],
        &["show", &trace],
        &["replay", &trace],
        &["export", &trace],
        &["context", &trace],
        &["resume", &trace],
        &["steer", &trace, "Do more."],
        &["session", "show", "work"],
        &["run", "-m", &model, "--session", "work", "Go on."],
        &["run", "-m", &model, "--trace", &trace, "Go on."],
    ] {
        place.run(args).fails(1, &what_to_do);
    }
    let line = format!("{trace}  log missing      {missing}\n");
    assert_eq!(place.ok(&["ls"]), line);
    place.ok(&["index", "rebuild"]);
    assert_eq!(place.ok(&["ls"]), line, "nor does an index that never knew it hide it");
    let json = parsed(&place.ok(&["ls", "--json"]));
    assert_eq!(json, json!({"trace_id": trace, "status": "log_missing", "problem": missing}));
    assert!(place.ok(&["session", "list"]).contains(&missing), "{}", place.ok(&["session", "list"]));
    assert_eq!((before(), server.requests().len()), (files, 1), "nothing was written, nobody was asked");
    place.ok(&["rm", "--yes", &trace]);
    assert_eq!((folder.exists(), place.ok(&["ls"])), (false, String::new()));
    assert!(place.ok(&["session", "list"]).contains(&format!("{trace} (removed)")));
    place.run(&["verify", &trace]).fails(1, "there is no trace");
}

#[test]
fn what_a_deleted_log_may_have_named_stays_until_the_rest_of_its_trace_is_removed() {
    let place = Place::new();
    let server = scripted(vec![bash("seq 1 20000"), Answer::text("Counted.")]);
    for _ in 0..2 {
        assert_eq!(place.run_on(&server, &["--yes", "Count."]).code, 0);
    }
    let [lost, other] = [0, 1].map(|at| place.traces()[at].clone());
    std::fs::remove_file(place.file(&lost, "events.jsonl")).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    let blobs = || -> Vec<std::path::PathBuf> {
        let folders = std::fs::read_dir(place.home.join("blobs")).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|path| std::fs::read_dir(path).unwrap());
        files.map(|entry| entry.unwrap().path()).collect()
    };
    blobs().iter().for_each(|blob| std::fs::File::open(blob).unwrap().set_modified(old).unwrap());
    let before = blobs();
    let why =
        format!("no blobs were removed, because a log cannot be read: the log of {lost} (events.jsonl) is missing");
    place.run(&["rm", "--yes", &other]).fails(1, &why);
    assert_eq!((blobs(), place.traces().len(), before.is_empty()), (before, 1, false));
    place.ok(&["rm", "--yes", &lost]);
    assert_eq!(blobs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn replay_leaves_a_summary_whose_texts_are_gone_as_it_was_written() {
    let long = format!("The heron counts {} and the last word is plover.", "reeds ".repeat(4_000));
    let (place, server) =
        (Place::new(), scripted(vec![bash(&format!("printf '%s' '{long}'; exit 3")), Answer::text("Done.")]));
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = place.trace();
    let summary = std::fs::read_to_string(place.file(&trace, "summary.md")).unwrap();
    std::fs::remove_dir_all(place.home.join("blobs")).unwrap();
    let replayed = place.run(&["replay", &trace]);
    assert!(
        replayed.code == 1 && replayed.out.contains("the views cannot be built again and stay as they are"),
        "{replayed:#?}"
    );
    assert_eq!(std::fs::read_to_string(place.file(&trace, "summary.md")).unwrap(), summary);
}
