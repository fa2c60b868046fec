//! Runs that did not go straight: answered by people, stopped, interrupted, killed, failed, gone back on. With nothing changed they are
//! decided again as they were, from the log alone, and they are tests.

use crate::questions::{THREE_HOURS, age, asks};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer, Reply};
use serde_json::json;

/// A command that says that it runs, and ends when it is told to.
const WAITS: &str = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done";

/// With nothing changed nothing is asked, and nothing differs; so many steps are the log's.
#[track_caller]
fn is_the_same(place: &Place, steps: usize) {
    let trace = place.trace();
    let done = place.run(&["fork", &trace, "--what-if"]);
    let wanted = format!("no difference: {steps} step");
    assert!(done.code == 0 && done.out.starts_with(&wanted), "{done:#?}");
    assert_eq!(place.traces(), [trace]);
}

/// The same, and it is a test that passes, whose last run ends so.
#[track_caller]
fn is_a_test(place: &Place, steps: usize, finish: &str) {
    is_the_same(place, steps);
    let added = place.run(&["test", "add", &place.trace(), "--name", "t"]);
    assert_eq!(added.code, 0, "{added:#?}");
    let green = place.run(&["test", "run"]);
    assert!(green.code == 0 && !green.out.contains("differs"), "{green:#?}");
    let test: toml::Table = place.ok(&["test", "show", "t"]).parse().unwrap();
    assert_eq!(test["expect"]["finish"].as_str(), Some(finish), "{test:#?}");
}

fn resolutions(place: &Place) -> Vec<String> {
    let ends = place.events(&place.trace()).into_iter().filter(|event| event["type"] == "call_resolved");
    ends.map(|end| end["data"]["resolution"].as_str().unwrap().to_owned()).collect()
}

/// A run whose command waits, under way.
fn waiting(answers: Vec<Answer>) -> (Place, ModelServer, Process) {
    let (place, server) = (Place::new(), scripted(answers));
    let process = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the tool runs", || place.text("began") == "x\n");
    (place, server, process)
}

#[test]
fn questions_that_people_answered_or_left_are_answered_alike() {
    let place = Place::new();
    std::fs::write(place.work.join("door.txt"), "a door\n").unwrap();
    let late = json!({"expires_in": 7_200, "default": "red"});
    let server = scripted(vec![asks(&json!({})), asks(&late), asks(&json!({})), Answer::text("The end.")]);
    assert_eq!(place.run_on(&server, &["Paint the door."]).code, 5);
    let trace = place.trace();
    place.ok(&["answer", &trace, "2"]);
    assert_eq!(place.run(&["resume", &trace]).code, 5);
    age(&place, &trace, THREE_HOURS);
    assert_eq!(place.run(&["resume", &trace]).code, 5);
    place.ok(&["answer", &trace, "As you like,\nbut soon."]);
    assert_eq!(place.run(&["resume", &trace]).out, "The end.\n");
    is_a_test(&place, 5, "final");
}

#[test]
fn a_question_that_nobody_answered_before_the_run_was_stopped_is_left_again() {
    let place = Place::new();
    std::fs::write(place.work.join("door.txt"), "a door\n").unwrap();
    let server = scripted(vec![asks(&json!({})), Answer::text("Then not.")]);
    assert_eq!(place.run_on(&server, &["Paint the door."]).code, 5);
    is_the_same(&place, 2);
    place.ok(&["stop", &place.trace()]);
    is_a_test(&place, 2, "stopped");
    assert_eq!(place.run(&["resume"]).out, "Then not.\n");
    place.ok(&["test", "rm", "t"]);
    is_a_test(&place, 3, "final");
}

#[test]
fn a_run_that_was_stopped_while_a_command_ran_and_gone_on_with_is_the_same() {
    let calls = bash(WAITS).and_call("bash", json!({"command": "echo never"}));
    let (place, _server, mut process) = waiting(vec![calls, bash("echo other"), Answer::text("Done after all.")]);
    place.ok(&["stop"]);
    assert_eq!(process.end().code, 130);
    assert_eq!(resolutions(&place), ["interrupted", "interrupted"]);
    is_a_test(&place, 2, "stopped");
    assert_eq!(place.run(&["resume", "--yes"]).out, "Done after all.\n");
    place.ok(&["test", "rm", "t"]);
    is_a_test(&place, 4, "final");
    // From a message on as well.
    for at in ["1", "2"] {
        let again = place.ok(&["fork", &place.trace(), "--what-if", "--at", at]);
        assert!(again.starts_with("no difference: 4 steps"), "{at}: {again}");
    }
    assert!(!place.text("began").contains("x\nx"), "something ran again");
}

#[test]
fn a_command_that_was_interrupted_while_its_run_went_on_is_the_same() {
    let (place, _server, mut process) = waiting(vec![bash(WAITS), bash("echo other"), Answer::text("Otherwise.")]);
    place.ok(&["interrupt"]);
    assert_eq!(process.end().code, 0);
    assert_eq!(resolutions(&place), ["interrupted", "ok"]);
    is_a_test(&place, 4, "final");
}

#[test]
fn a_run_that_was_steered_and_whose_command_was_interrupted_is_the_same() {
    let calls = bash(WAITS).and_call("bash", json!({"command": "echo never"}));
    let (place, _server, mut process) = waiting(vec![calls, Answer::text("Otherwise.")]);
    place.ok(&["steer", &place.trace(), "Otherwise, please."]);
    wait_until("it is heard", || String::from_utf8(place.log(&place.trace())).unwrap().contains("\"mode\":\"steer\""));
    place.ok(&["interrupt"]);
    assert_eq!(process.end().code, 0);
    assert_eq!(resolutions(&place), ["skipped", "interrupted"]);
    is_a_test(&place, 4, "final");
}

#[test]
fn a_call_of_which_nobody_knows_whether_it_was_done_is_the_same() {
    let (place, _server, process) = waiting(vec![bash(WAITS), Answer::text("I do not know.")]);
    assert!(process.kill().1);
    std::fs::write(place.work.join("go"), "").unwrap();
    place.quiet();
    is_the_same(&place, 2);
    assert_eq!(place.run(&["resume", "--yes"]).out, "I do not know.\n");
    assert_eq!(resolutions(&place), ["unknown"]);
    is_a_test(&place, 3, "final");
}

#[test]
fn a_run_that_was_stopped_while_the_model_answered_or_somebody_was_asked_is_the_same() {
    let place = Place::new();
    let late = |request: usize| if request == 1 { 60_000 } else { 0 };
    let server = server(move |request| Answer { delay_ms: late(request.n), ..Answer::text("Done.") }.into());
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("it asks", || server.count() == 1);
    place.ok(&["stop", &place.trace()]);
    assert_eq!(process.end().code, 130);
    is_the_same(&place, 1);
    assert_eq!(place.run(&["resume"]).out, "Done.\n");
    is_a_test(&place, 2, "final");

    let place = Place::new();
    let write = Answer::call("write_text_file", json!({"path": "a", "content": "x"}));
    let server = scripted(vec![write, Answer::text("Then not.")]);
    assert_eq!(place.run_on(&server, &["--park", "Write."]).code, 5);
    // It still waits.
    is_the_same(&place, 2);
    place.ok(&["stop", &place.trace()]);
    is_the_same(&place, 2);
    assert_eq!(place.run(&["run", "-c", "--park", "And now?"]).out, "Then not.\n");
    assert_eq!(resolutions(&place), ["interrupted"]);
    is_a_test(&place, 4, "final");
}

#[test]
fn a_run_whose_model_failed_is_the_same_also_where_it_ended_for_that() {
    let place = Place::new();
    let fails = |status: u16| Reply::Error { status, headers: Vec::new(), body: "not now".into() };
    let server = server(move |request| match request.n {
        1 => fails(503),
        2 => bash("echo one").into(),
        3..=6 => fails(400),
        _ => Answer::text("Done.").into(),
    });
    let done = place.run_on(&server, &["--yes", "Do it."]);
    assert_eq!((done.code, server.count()), (1, 3), "{done:#?}");
    is_a_test(&place, 2, "model_error");
    while place.run(&["resume", "--yes"]).code != 0 {}
    assert_eq!(server.count(), 7);
    place.ok(&["test", "rm", "t"]);
    is_a_test(&place, 3, "final");
}

#[test]
fn a_run_that_somebody_went_back_in_is_the_same_whatever_became_of_its_files() {
    let write = |text: &str| Answer::call("write_text_file", json!({"path": "a.txt", "content": text}));
    let place = Place::new();
    let answers = [write("one"), Answer::text("One."), write("two"), Answer::text("Two.")];
    let server = server(move |request| answers[(request.n - 1).min(3)].clone().into());
    assert_eq!(place.run_on(&server, &["--yes", "Write."]).out, "One.\n");
    let trace = place.trace();
    let done = place.run(&["rewind", &trace, "1", "Write otherwise.", "--no-files", "--yes"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Two.\n"), "{done:#?}");
    is_a_test(&place, 4, "final");
    place.ok(&["restore", &trace, "--to", "1", "--force"]);
    place.ok(&["test", "run"]);
    is_the_same(&place, 4);
    // Between a call and what came after it, and before everything.
    assert_eq!(place.run(&["rewind", &trace, "6", "Stop there.", "--no-files", "--yes"]).code, 0);
    is_the_same(&place, 5);
    assert_eq!(place.run(&["rewind", &trace, "0", "All anew.", "--no-files", "--yes"]).code, 0);
    is_the_same(&place, 2);
}

#[test]
fn a_run_that_reached_its_limit_goes_on_only_where_the_limit_is_another() {
    let place = Place::new();
    let server = scripted(vec![bash("echo one >> ran"), bash("echo two >> ran"), Answer::text("Done.")]);
    let done = place.run_on(&server, &["--yes", "--max-turns", "1", "Do it."]);
    assert_ne!(done.code, 0, "{done:#?}");
    is_a_test(&place, 2, "max_turns");
    let trace = place.trace();
    assert_ne!(place.run(&["resume", "--yes"]).code, 0);
    place.ok(&["test", "rm", "t"]);
    is_a_test(&place, 3, "max_turns");
    let done = place.run(&["fork", &trace, "--what-if", "--max-turns", "9", "--yes", "--json"]);
    let outcome = parsed(&done.out);
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!((&outcome["served"], &outcome["again"]["answer"]), (&2.into(), &"Done.".into()), "{outcome:#}");
    assert_eq!(place.text("ran"), "one\ntwo\n");
}

#[test]
fn what_a_run_has_used_of_its_limits_counts_where_it_is_decided_again() {
    let place = Place::new();
    let answers =
        || vec![bash("echo one >> ran"), bash("echo two >> ran"), bash("echo three >> ran"), Answer::text("Done.")];
    let server = scripted([answers(), answers()].concat());
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let (trace, asked) = (place.trace(), server.count());
    let fork = |args: &[&str]| place.run(&[&["fork", &trace, "--what-if", "--yes"], args].concat());
    fork(&["--max-turns", "2"]).fails(1, "with these limits nothing is left of its turns at message 4");
    fork(&["--max-calls", "1"]).fails(1, "with these limits nothing is left of its calls at message 2");
    assert_eq!((server.count(), place.traces().len()), (asked, 1));
    // Limits that it does not come to change nothing.
    assert!(fork(&["--max-turns", "20"]).out.contains("no difference"));
    assert_eq!(place.text("ran"), "one\ntwo\nthree\n");
}

#[test]
fn a_run_that_was_resumed_after_its_limit_has_the_whole_limit_again_where_it_is_decided_again() {
    let place = Place::new();
    let answers = vec![bash("echo one >> ran"), bash("echo two >> ran"), Answer::text("I may not.")];
    let server = scripted(answers);
    assert_ne!(place.run_on(&server, &["--yes", "--max-turns", "1", "Do it."]).code, 0);
    assert_ne!(place.run(&["resume", "--yes"]).code, 0);
    let done = place.run(&["fork", &place.trace(), "--what-if", "--deny", "bash(echo two*)", "--json"]);
    let outcome = parsed(&done.out);
    assert_eq!(outcome["difference"]["step"], 3, "{done:#?}");
    assert_eq!(place.text("ran"), "one\ntwo\n");
}

/// A run that has agents greet; gives its trace.
fn greeted(place: &Place, server: &ModelServer) -> String {
    let done = place.run_on(server, &["--yes", "Have me greeted."]);
    assert_eq!(done.code, 0, "{done:#?}");
    place.traces().into_iter().find(|trace| !trace.contains('@')).unwrap()
}

#[test]
fn a_run_that_started_agents_equals_itself_and_starts_none() {
    let place = Place::new();
    place.config("context_window = 64000\n");
    let server = server(|request| {
        let text = request.body().to_string();
        let answer = match (text.contains("Greet me."), request.count("assistant")) {
            (true, _) => Answer::text("Hello."),
            (false, 0) => Answer::call("agent", json!({"task": "Greet me."})),
            (false, _) => Answer::text("Greeted."),
        };
        answer.into()
    });
    let trace = greeted(&place, &server);
    let (asked, traces) = (server.count(), place.traces());
    let done = place.run(&["fork", &trace, "--what-if"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!((server.count(), place.traces()), (asked, traces));
}

#[test]
fn what_the_log_does_not_suffice_for_is_said_and_nothing_is_asked() {
    let place = Place::new();
    place.config("context_window = 64000\n");
    let server = server(|request| {
        let text = request.body().to_string();
        let is_id = |word: &&str| word.contains("@delegate");
        let id = text.split(|c: char| !(c.is_ascii_alphanumeric() || "@-.".contains(c))).find(is_id);
        let answer = match (text.contains("Have me greeted."), request.count("assistant"), id) {
            (false, ..) => Answer::text("Hello."),
            (true, 0, _) => Answer::call("agent", json!({"task": "Greet me."})),
            (true, 1, Some(id)) => Answer::call("agent", json!({"task": "Greet me again.", "continue_from": id})),
            (true, ..) => Answer::text("Greeted."),
        };
        answer.into()
    });
    let trace = greeted(&place, &server);
    let (asked, traces) = (server.count(), place.traces());
    let done = place.run(&["fork", &trace, "--what-if"]);
    done.fails(1, "the log does not suffice to play step 3 as it was");
    let done = place.run(&["fork", &trace, "--what-if", "--max-turns", "50"]);
    done.fails(1, "the log does not suffice to play step 3 as it was");
    assert_eq!((server.count(), place.traces()), (asked, traces));
}

#[test]
fn who_goes_on_with_what_was_decided_again_is_asked_as_long_as_it_takes() {
    let place = Place::new();
    let script = |name: &str, text: &str| {
        let file = place.root().join(name);
        std::fs::write(&file, text).unwrap();
        format!("scripted:{}", file.display())
    };
    let first = script("a.toml", "[[turn]]\nfinal = \"A.\"\n");
    let other = script("b.toml", "[[turn]]\nfinal = \"B.\"\n");
    let writes = "[[turn]]\nfinal = \"B.\"\n[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"a\", content = \"x\" } }]\n\
                  [[turn]]\nfinal = \"Written.\"\n";
    let writes = script("c.toml", writes);
    place.ok(&["run", "--model", &first, "Say a letter."]);
    let trace = place.trace();
    let done = place.run(&["fork", &trace, "--what-if", "--model", &other]);
    assert_eq!(done.code, 0, "{done:#?}");
    let again = place.traces().into_iter().find(|other| *other != trace).unwrap();
    let done = place.run(&["run", "--trace", &again, "--model", &writes, "--park", "Write it."]);
    assert_eq!(done.code, 5, "it waits: {done:#?}");
    // A log that is damaged is not decided again as far as it goes.
    let log = String::from_utf8(place.log(&trace)).unwrap();
    std::fs::write(place.file(&trace, "events.jsonl"), log.replacen("letter", "number", 1)).unwrap();
    place.run(&["fork", &trace, "--what-if"]).fails(1, "its log is damaged");
    place.run(&["test", "add", &trace]).fails(1, "its log is damaged");
}

/// Two commands in one answer, and what is said of them.
const TWO: &str = r#"
[[turn]]
calls = [{ tool = "bash", args = { command = "touch one" } }, { tool = "bash", args = { command = "touch two" } }]
[[turn]]
final = "Both."
"#;

#[test]
fn what_was_approved_then_is_approved_again_and_the_difference_is_what_was_changed() {
    for how in ["--yes", "--park"] {
        let place = Place::new();
        let script = place.root().join("two.toml");
        std::fs::write(&script, TWO).unwrap();
        let model = format!("scripted:{}", script.display());
        place.run(&["run", "--model", &model, how, "Touch them."]);
        let trace = place.trace();
        if how == "--park" {
            ["2.0", "2.1"].iter().for_each(|call| drop(place.ok(&["approve", &trace, "--call", call])));
            place.ok(&["resume", &trace]);
        }
        assert!(place.work.join("one").exists() && place.work.join("two").exists(), "{how}");
        let rules = place.root().join("no-two.toml");
        std::fs::write(&rules, "[[rule]]\nid = \"no-two\"\ndecision = \"deny\"\nmatch = \"bash(touch two)\"\n")
            .unwrap();
        let done = place.ok(&["fork", &trace, "--what-if", "--json", "--policy", rules.to_str().unwrap()]);
        let done = parsed(&done);
        let what = done["difference"]["what"].as_str().unwrap();
        assert!(what.starts_with("call 2: the verdict was ") && what.ends_with(", and is deny"), "{how}: {done:#}");
        // Where calls reach others, nothing is done again unasked.
        let live = place.ok(&["fork", &trace, "--what-if", "--live", "--json", "--policy", rules.to_str().unwrap()]);
        let live = parsed(&live)["difference"]["played"].to_string();
        assert!(live.contains("touch one") && !live.contains("approved"), "{how}: {live}");
        let played = done["difference"]["played"].as_array().unwrap();
        let ends: Vec<&str> =
            played.iter().filter_map(|line| line.as_str().filter(|line| line.starts_with(' '))).collect();
        assert!(ends[0].ends_with(", approved"), "{how}: {done:#}");
        assert_eq!(ends[1..], ["  ok: [no output]", "  deny (no-two)"], "{how}: {done:#}");
    }
}

#[test]
fn a_model_that_fails_when_a_run_is_decided_again_is_told_with_its_own_exit_code() {
    let place = Place::new();
    let script = place.root().join("a.toml");
    std::fs::write(&script, "[[turn]]\nfinal = \"A.\"\n").unwrap();
    place.ok(&["run", "--model", &format!("scripted:{}", script.display()), "Say a letter."]);
    std::fs::write(&script, "[[turn]]\nerror = { kind = \"bad_request\", message = \"no such letter\" }\n").unwrap();
    let other = format!("scripted:{}", script.display());
    let done = place.run(&["fork", &place.trace(), "--what-if", "--model", &other, "--temperature", "0.5"]);
    assert!(done.code == 1 && done.err.contains("the model failed: scripted model: no such letter"), "{done:#?}");
}
