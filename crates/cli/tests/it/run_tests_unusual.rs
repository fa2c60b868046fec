//! Runs that are tests although something out of the ordinary happened: they were steered, something was attached, somebody changed what a
//! call was approved with.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate};
use serde_json::json;

/// Makes a test of the one trace, plays it, and gives what it expects.
fn tested(place: &Place) -> toml::Table {
    let added = place.run(&["test", "add", &place.trace(), "--name", "t"]);
    assert_eq!(added.code, 0, "{added:#?}");
    let green = place.run(&["test", "run"]);
    assert_eq!((green.code, green.out.contains("differs")), (0, false), "{green:#?}");
    place.ok(&["test", "show", "t"]).parse().unwrap()
}

/// The results that are expected of the calls.
fn results(test: &toml::Table) -> Vec<String> {
    let calls = test["expect"]["call"].as_array().unwrap();
    calls.iter().map(|call| call["result"][0].as_str().unwrap().to_owned()).collect()
}

/// How many messages that steer the run the log of the one trace has.
fn steers(place: &Place) -> usize {
    String::from_utf8(place.log(&place.trace())).unwrap().matches("\"mode\":\"steer\"").count()
}

#[test]
fn a_run_that_was_steered_while_a_call_ran_is_a_test() {
    let place = Place::new();
    let waits = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done";
    let calls = bash(waits).and_call("bash", json!({"command": "echo never"}));
    let server = scripted(vec![calls, bash("echo otherwise"), Answer::text("As you like.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the tool runs", || place.text("began") == "x\n");
    place.ok(&["steer", &place.trace(), "Do it otherwise."]);
    place.ok(&["steer", &place.trace(), "And fast."]);
    wait_until("it is heard", || steers(&place) == 2);
    std::fs::write(place.work.join("go"), "").unwrap();
    assert_eq!(process.end().code, 0);
    let test = tested(&place);
    assert_eq!(results(&test), ["ok", "skipped", "ok"]);
    assert_eq!(test["expect"]["max_turns"].as_integer(), Some(3));
    let recording = std::fs::read_to_string(place.work.join(".mainpath/tests/t/recording.jsonl")).unwrap();
    assert_eq!(recording.matches("\"steer\":true").count(), 2, "{recording}");
}

#[test]
fn a_run_that_was_steered_while_the_model_answered_or_somebody_was_asked_is_a_test() {
    // The answer comes late, and none of its calls is made.
    let (place, gate) = (Place::new(), Gate::default());
    let server = scripted(vec![bash("echo never").behind(&gate), Answer::text("As you like.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("it asks", || server.count() == 1);
    place.ok(&["steer", &place.trace(), "Do it otherwise."]);
    wait_until("it is heard", || steers(&place) == 1);
    gate.open();
    assert_eq!(process.end().code, 0);
    assert_eq!(results(&tested(&place)), ["skipped"]);
    // A question is withdrawn.
    let place = Place::new();
    let asks = Answer::call("write_text_file", json!({"path": "a", "content": "x"}));
    let server = scripted(vec![asks, Answer::text("Then not.")]);
    assert_eq!(place.run_on(&server, &["--park", "Write."]).code, 5);
    place.ok(&["steer", &place.trace(), "Do not."]);
    assert_eq!(place.run(&["resume", "--park"]).code, 0);
    assert_eq!(results(&tested(&place)), ["skipped"]);
}

#[test]
fn a_run_with_attachments_is_a_test_that_brings_them_along() {
    let place = Place::new();
    let mut bytes = Vec::new();
    let picture = image::RgbImage::from_fn(40, 30, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
    picture.write_to(&mut std::io::Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    std::fs::write(place.work.join("bird.png"), &bytes).unwrap();
    let server = scripted(vec![Answer::text("A heron.")]);
    assert_eq!(place.run_on(&server, &["--image", "bird.png", "Which bird?"]).code, 0);
    let test = tested(&place);
    assert_eq!(test["task"].as_str().map(|task| task.contains("Which bird?")), Some(true), "{test:?}");
    // It is whole: also where the run is not.
    let other = Place::new();
    let (from, to) = (place.work.join(".mainpath/tests/t"), other.work.join(".mainpath/tests/t"));
    std::fs::create_dir_all(to.join("texts")).unwrap();
    for folder in ["", "texts"] {
        for entry in std::fs::read_dir(from.join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                std::fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
    assert!(other.ok(&["test", "run"]).contains("1 passed"));
    // And a model gets them.
    let server = scripted(vec![Answer::text("A heron.")]);
    let done = other.run(&["test", "run", "--live", "--model", &server.model()]);
    assert!(done.out.starts_with("✓ t  1 of 1"), "{done:#?}");
    assert!(server.requests()[0].body()["messages"].to_string().contains("data:image/png;base64,"));
    // In a copy of the folder that is decided again as well.
    let again = place.ok(&["fork", &place.trace(), "--what-if"]);
    assert!(again.starts_with("no difference: 2 steps"), "{again}");
}

#[test]
fn what_somebody_changed_and_allowed_for_later_is_played_so() {
    let place = Place::new();
    let write = |path: &str| Answer::call("write_text_file", json!({"path": path, "content": "x"}));
    let server = scripted(vec![write("a"), write("docs/b"), write("docs/b"), Answer::text("Written.")]);
    assert_eq!(place.run_on(&server, &["--park", "Write."]).code, 5);
    let trace = place.trace();
    place.ok(&["approve", &trace, "--arguments", r#"{"path": "safe", "content": "y"}"#]);
    assert_eq!(place.run(&["resume", &trace, "--park"]).code, 5);
    place.ok(&["approve", &trace, "--for", "trace"]);
    assert_eq!(place.run(&["resume", &trace, "--park"]).code, 0);
    assert_eq!((place.text("safe").as_str(), place.text("a").as_str()), ("y", ""));
    let test = tested(&place);
    assert_eq!(results(&test), ["ok", "ok", "ok"]);
    let calls = test["expect"]["call"].as_array().unwrap();
    let paths: Vec<&str> = calls.iter().map(|call| call["args"]["path"].as_str().unwrap()).collect();
    let verdicts: Vec<&str> = calls.iter().map(|call| call["verdict"][0].as_str().unwrap()).collect();
    assert_eq!((paths, verdicts), (vec!["safe", "docs/b", "docs/b"], vec!["ask", "ask", "allow"]));
}

#[test]
fn what_a_hook_changed_is_played_as_it_was_changed() {
    let place = Place::new();
    let file = place.root().join("hook.sh");
    std::fs::write(&file, r#"echo '{"arguments": {"path": "hooked", "content": "h"}}'"#).unwrap();
    place.config(&format!("[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", {file:?}]\non = [\"before_tool\"]\n"));
    let write = Answer::call("write_text_file", json!({"path": "a", "content": "x"}));
    let server = scripted(vec![write, Answer::text("Written.")]);
    assert_eq!(place.run_on(&server, &["--mode", "workspace-write", "Write."]).code, 0);
    assert_eq!(place.text("hooked"), "h");
    let test = tested(&place);
    assert_eq!(test["expect"]["call"][0]["args"]["path"].as_str(), Some("hooked"));
}

#[test]
fn what_a_hook_denied_is_denied_again_though_the_hook_is_gone() {
    let place = Place::new();
    let file = place.root().join("hook.sh");
    std::fs::write(&file, r#"grep -q secret && echo '{"decision": "deny", "reason": "Not this."}'; exit 0"#).unwrap();
    place.config(&format!("[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", {file:?}]\non = [\"before_tool\"]\n"));
    let read = |path: &str| Answer::call("read_text_file", json!({ "path": path }));
    std::fs::write(place.work.join("plain"), "p").unwrap();
    let server = scripted(vec![read("plain"), read("secret"), Answer::text("One of two.")]);
    assert_eq!(place.run_on(&server, &["Read both."]).code, 0);
    let asked = server.count();
    place.config("");
    let done = place.ok(&["fork", &place.trace(), "--what-if"]);
    assert!(done.starts_with("no difference: 4 steps"), "{done}");
    let test = tested(&place);
    assert_eq!(test["expect"]["call"][1]["verdict"][0].as_str(), Some("deny"), "{test:#?}");
    assert_eq!(server.count(), asked);
}

#[test]
fn a_run_that_started_agents_is_a_test_in_which_none_is_started() {
    let place = Place::new();
    place.config("context_window = 128000\n");
    let model = server(|request| {
        let body = request.body().to_string();
        let said = request.count("user") + request.count("tool");
        let is_child = |task: &str| said == 1 && body.contains(task) && !body.contains("Have it looked at");
        if is_child("Look at one.") || is_child("Look at two.") || is_child("Write it.") {
            return Answer::text("It is fine.").into();
        }
        match said {
            1 => Answer::call("agent", json!({"task": ["Look at one.", "Look at two."]})),
            2 => Answer::call("agent", json!({"task": "Write it."})),
            _ => Answer::text("All is fine."),
        }
        .into()
    });
    let done = place.run_on(&model, &["--yes", "Have it looked at."]);
    assert_eq!((done.code, place.traces().len()), (0, 4), "{done:#?}");
    let root = place.traces().into_iter().find(|trace| !trace.contains('@')).unwrap();
    let asked = model.count();
    let added = place.run(&["test", "add", &root, "--name", "t"]);
    assert_eq!(added.code, 0, "{added:#?}");
    let green = place.run(&["test", "run"]);
    assert_eq!((green.code, green.out.contains("differs")), (0, false), "{green:#?}");
    assert_eq!((model.count(), place.traces().len()), (asked, 4), "none was started again");
    let test: toml::Table = place.ok(&["test", "show", "t"]).parse().unwrap();
    assert_eq!(results(&test), ["ok", "ok"]);
    let file = place.work.join(".mainpath/tests/t/recording.jsonl");
    let recording = std::fs::read_to_string(&file).unwrap();
    assert_eq!(recording.matches("\"outcome\":\"result\"").count(), 3, "what each came to: {recording}");
    // What the model does with it is held against the recording.
    std::fs::write(
        &file,
        recording.replace("\"Write it.\"", "\"Write all.\"").replace("Write it.\\\"", "Write all.\\\""),
    )
    .unwrap();
    let red = place.run(&["test", "run"]);
    assert_eq!(red.code, 1, "{red:#?}");
    assert_eq!((model.count(), place.traces().len()), (asked, 4));
}

#[test]
fn a_run_that_was_summarised_is_a_test_which_summarises_nothing() {
    let place = Place::new();
    place.config("summary = \"single\"\ncontext_window = 14000\n");
    for n in 0..12 {
        std::fs::write(place.work.join(format!("{n}.txt")), format!("line {n} of text, and more of it\n").repeat(200))
            .unwrap();
    }
    let reads = std::sync::atomic::AtomicUsize::new(0);
    let model = server(move |request| {
        let body = request.body().to_string();
        if body.contains("is about to outgrow the context window") {
            return Answer::text("Goal: read it often. Tool Facts: it has lines.").into();
        }
        match reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            n @ 0..12 => Answer::call("read_text_file", json!({"path": format!("{n}.txt")})).into(),
            _ => Answer::text("Read.").into(),
        }
    });
    let done = place.run_on(&model, &["Read all twelve."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let log = String::from_utf8(place.log(&place.trace())).unwrap();
    assert!(log.contains("is about to outgrow") || log.matches("\"type\":\"context_cut\"").count() > 0, "{log}");
    let asked = model.count();
    let test = tested(&place);
    assert_eq!((results(&test).len(), model.count()), (12, asked));
}

#[test]
fn rules_of_a_person_are_kept_with_a_test_without_secrets_and_comments() {
    let place = Place::new();
    place.config("[secrets]\nLATER = \"lateSecretValue9876\"\n");
    let rules = "# private: the word is Hunter-7\n[[rule]]\ndecision = \"deny\"\nmatch = [\"bash(curl -H lateSecretValue9876*)\"]\n";
    std::fs::write(place.home.join("policy.toml"), rules).unwrap();
    let server = scripted(vec![bash("echo one"), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    tested(&place);
    let kept = std::fs::read_to_string(place.work.join(".mainpath/tests/t/rules/person.toml")).unwrap();
    assert!(kept.starts_with("\n[[rule]]\n") && kept.contains("deny"), "{kept}");
    assert!(!kept.contains("Hunter") && !kept.contains("lateSecretValue"), "{kept}");
}
