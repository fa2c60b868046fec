//! Tests against a model: several times, in copies of the folder, held to a baseline.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer, Reply};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A test of a run that looked and then answered.
fn tested() -> Place {
    let place = Place::new();
    std::fs::write(place.work.join("plan.md"), "Deploy on Friday.\n").unwrap();
    let server = scripted(vec![Answer::call("read_text_file", json!({"path": "plan.md"})), Answer::text("On Friday.")]);
    assert_eq!(place.run_on(&server, &["--mode", "workspace-write", "When do we deploy?"]).code, 0);
    place.ok(&["test", "add", "--name", "when"]);
    let file = place.work.join(".mainpath/tests/when/test.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let head = text.split("[expect]").next().unwrap();
    let expect = "[expect]\nfinish = \"final\"\nother_calls = \"any\"\n[expect.answer]\ncontains = \"Friday\"\n";
    std::fs::write(&file, format!("{head}{expect}")).unwrap();
    place.ok(&["test", "run"]);
    place
}

/// A model that answers wrongly each time that this says so; it writes a file each time.
fn model(is_wrong: impl Fn(u32) -> bool + Send + Sync + 'static) -> ModelServer {
    let runs = Arc::new(AtomicU32::new(0));
    server(move |request| {
        let answer = match request.count("assistant") {
            0 => Answer::call("write_text_file", json!({"path": "mine.txt", "content": "mine"})),
            _ if is_wrong(runs.fetch_add(1, Ordering::SeqCst)) => Answer::text("I do not know."),
            _ => Answer::text("It is Friday."),
        };
        answer.into()
    })
}

fn live(place: &Place, server: &ModelServer, args: &[&str]) -> Done {
    let model = server.model();
    place.run(&[&["test", "run", "--live", "--model", &model], args].concat())
}

fn reported(done: &Done) -> Value {
    assert_eq!(done.err, "", "{done:#?}");
    parsed(&done.out)
}

#[test]
fn a_test_is_run_several_times_in_copies_and_told_with_its_interval() {
    let place = tested();
    let before = place.traces();
    let server = model(|n| n % 4 == 3);
    let done = live(&place, &server, &["--times", "8", "--yes", "--json", "--junit", "live.xml"]);
    assert_eq!(done.code, 1, "{done:#?}");
    let report = reported(&done);
    let test = &report["tests"][0];
    assert_eq!(
        (&test["name"], &test["verdict"], &test["model"]),
        (&json!("when"), &json!("failed"), &json!(server.model()))
    );
    assert_eq!(
        (&test["runs"]["passed"], &test["runs"]["of"], &test["runs"]["rate"]),
        (&json!(6), &json!(8), &json!(0.75))
    );
    let (low, high) =
        (test["runs"]["interval"]["low"].as_f64().unwrap(), test["runs"]["interval"]["high"].as_f64().unwrap());
    assert!((low - 0.4093).abs() < 0.0005 && (high - 0.9285).abs() < 0.0005, "{low} to {high}");
    assert_eq!(
        (&report["times"], &report["every_time"]["passed"], &report["every_time"]["of"]),
        (&json!(8), &json!(0), &json!(1))
    );
    assert_eq!(
        (&report["well"], &report["dropped"], &report["baseline"]),
        (&json!(false), &json!(false), &Value::Null)
    );
    assert!(report["tokens"].as_u64().unwrap() > 0 && report["tokens"] == test["tokens"], "{report:#}");
    // Nothing real was changed; the copies of those that did not pass stay to be looked at, and hold no test.
    assert!(!place.work.join("mine.txt").exists());
    let trials = test["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 8);
    for trial in trials {
        assert_eq!((&trial["turns"], &trial["calls"]), (&json!(2), &json!(1)), "{trial:#}");
        let folder = trial["folder"].as_str().map(PathBuf::from);
        assert_eq!(folder.is_none(), trial["passed"] == true, "{trial:#}");
        let Some(folder) = folder else { continue };
        assert_eq!(std::fs::read_to_string(folder.join("mine.txt")).unwrap(), "mine");
        assert!(folder.join("plan.md").exists() && !folder.join(".mainpath/tests").exists());
        assert!(trial["problems"][0]["what"].as_str().unwrap().contains("\"Friday\" is expected in it"), "{trial:#}");
        let trace = trial["trace"].as_str().unwrap();
        place.ok(&["verify", trace]);
        let spec = place.events(trace).into_iter().find(|event| event["type"] == "spec_changed").unwrap();
        assert_eq!(spec["data"]["spec"]["relations"]["context"], json!({"live_test": "when"}));
    }
    assert_eq!(place.traces().len(), before.len() + 8);
    let copies = std::fs::read_dir(folder_of_copies(&place)).unwrap().count();
    assert_eq!(copies, 2, "those that passed leave no copy");
    let xml = place.text("live.xml");
    assert!(
        xml.contains("tests=\"1\" failures=\"1\"") && xml.contains("failed: 6 of 8 (41 % to 93 %) passed"),
        "{xml}"
    );
    // For people, and where all passes.
    let done = live(&place, &model(|_| false), &["--times", "3", "--yes"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.out.starts_with("✓ when  3 of 3 (44 % to 100 %) passed  "), "{done:#?}");
    assert!(done.out.contains("\npass^3: 1 of 1 (21 % to 100 %) tests passed every time\n"), "{done:#?}");
    let done = live(&place, &server, &["--times", "4", "--yes"]);
    assert!(done.code == 1 && done.out.contains("\n  1 times: answer: \"Friday\" is expected in it"), "{done:#?}");
    assert!(done.out.contains("\n    trace 2") && done.out.contains("; it worked in /"), "{done:#?}");
}

fn folder_of_copies(place: &Place) -> PathBuf {
    let below = place.root().join(".cache/mainpath/what-if");
    std::fs::read_dir(below).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_baseline_is_kept_in_a_file_and_a_drop_below_it_fails() {
    let place = tested();
    let file = place.work.join(".mainpath/tests/baseline.toml");
    let well = model(|_| false);
    let saved = live(&place, &well, &["--times", "10", "--yes", "--save-baseline"]);
    assert_eq!(saved.code, 0, "{saved:#?}");
    assert_eq!(saved.err, format!("the baseline is saved: {}\n", file.display()));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# How often tests passed") && text.contains("[model.tests.when]\npassed = 10\nof = 10\n"),
        "{text}"
    );
    // It is no test.
    assert_eq!(place.ok(&["test", "list"]).lines().count(), 1);
    place.run(&["test", "add", "--name", "baseline.toml"]).fails(2, "that is the file of the baseline");
    // The file names the model by its address, and each server here has another: the others take its place.
    let as_other = |server: &ModelServer| {
        let new = text.replace(&well.model(), &server.model());
        assert_ne!(new, text);
        std::fs::write(&file, new).unwrap();
    };
    // Two of ten fail: that is chance. Six of ten: that is not.
    let little = model(|n| n % 5 == 4);
    as_other(&little);
    let held = live(&place, &little, &["--times", "10", "--yes"]);
    assert_eq!(held.code, 0, "{held:#?}");
    assert!(held.out.starts_with("✓ when  8 of 10 (49 % to 94 %) passed, as in the baseline: 10 of 10  "), "{held:#?}");
    let much = model(|n| n % 5 < 3);
    as_other(&much);
    let dropped = live(&place, &much, &["--times", "10", "--yes", "--json"]);
    assert_eq!(dropped.code, 1, "{dropped:#?}");
    let report = reported(&dropped);
    assert_eq!((&report["tests"][0]["verdict"], &report["dropped"]), (&json!("dropped"), &json!(true)));
    assert_eq!(report["tests"][0]["baseline"], json!({"passed": 10, "of": 10}));
    // Of one run that fails nobody can say whether that is worse.
    let never = model(|_| true);
    let two = text.replace("passed = 10\nof = 10", "passed = 2\nof = 2").replace(&well.model(), &never.model());
    assert!(two.contains("of = 2\n"), "{two}");
    std::fs::write(&file, two).unwrap();
    let few = live(&place, &never, &["--times", "1", "--yes"]);
    assert_eq!(few.code, 1, "{few:#?}");
    assert!(
        few.out.contains("✗ when  0 of 1") && few.out.contains("too few runs to compare with the baseline: 2 of 2"),
        "{few:#?}"
    );
    // A test that the baseline of this model does not know has to pass every time.
    std::fs::write(&file, &text).unwrap();
    assert_eq!(live(&place, &little, &["--times", "10", "--yes"]).code, 1);

    for (harm, wanted) in [
        (text.replace("format = 1", "format = 7"), "baseline.toml: it has the format 7"),
        (text.replace("passed = 10", "passed = 11"), "cannot have passed 11 times of 10"),
        (text.replace("of = 10", "of = [10"), "baseline.toml:"),
        (text.replace("of = 10", "off = 10"), "unknown field `off`"),
        (text.replace("passed = 10", "passed = 0").replace("of = 10", "of = 0"), "was run 0 times: remove it"),
        (format!("{text}\n{}", &text[text.find("[[model]]").unwrap()..]), "it has the model"),
    ] {
        assert_ne!(harm, text);
        std::fs::write(&file, harm).unwrap();
        live(&place, &well, &["--yes"]).fails(1, wanted);
    }
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(place.root().join("elsewhere"), &file).unwrap();
    live(&place, &well, &["--yes"]).fails(1, "baseline.toml cannot be used: it is a link");
}

#[test]
fn what_a_live_test_may_do_is_what_a_copy_allows() {
    let place = tested();
    let evil = place.work.join("evil.txt");
    let calls = json!([
        {"path": evil.to_str().unwrap(), "content": "x"},
        {"path": "../out.txt", "content": "x"},
    ]);
    let at = evil.display().to_string();
    let server = server(move |request| {
        let answer = match request.count("assistant") {
            0 => Answer::call("write_text_file", calls[0].clone()),
            1 => Answer::call("write_text_file", calls[1].clone()),
            2 => bash(&format!("echo x > {at}")),
            _ => Answer::text("Friday."),
        };
        answer.into()
    });
    // An agent of a repository that would have everything allowed.
    let agent = place.work.join(".mainpath/tests/when/agent.json");
    let text = std::fs::read_to_string(&agent).unwrap();
    let mut spec = parsed(&text);
    spec["access"] = "full".into();
    spec["mode"] = "yes".into();
    spec["network"] = true.into();
    spec["rules"]["allow"] = json!(["write(/**)", "bash(**)"]);
    std::fs::write(&agent, spec.to_string()).unwrap();
    let done = live(&place, &server, &["--yes", "--json"]);
    let report = reported(&done);
    assert_eq!(report["tests"][0]["trials"][0]["calls"], 3, "{report:#}");
    assert!(!evil.exists() && !place.root().join("out.txt").exists(), "{report:#}");
    assert!(report["tests"][0]["trials"][0]["refused"].as_u64().unwrap() >= 2, "{report:#}");
    // Without --yes nobody approves what nobody approved in the recording.
    spec["access"] = "workspace-write".into();
    spec["rules"] = json!({});
    std::fs::write(&agent, spec.to_string()).unwrap();
    let asks = scripted(vec![bash("touch asked"), Answer::text("Friday.")]);
    std::fs::write(
        place.work.join(".mainpath/policy.toml"),
        "[[rule]]\nid = \"ask\"\ndecision = \"ask\"\nmatch = \"bash\"\n",
    )
    .unwrap();
    let expect = place.work.join(".mainpath/tests/when/test.toml");
    let text = std::fs::read_to_string(&expect).unwrap();
    std::fs::write(
        &expect,
        format!("{text}\n[[expect.call]]\ntool = \"bash\"\nverdict = \"ask\"\nresult = \"denied\"\n"),
    )
    .unwrap();
    let done = live(&place, &asks, &[]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(live(&place, &asks, &["--yes"]).code, 1, "then it is not denied");
    // Where its words go is not for a folder of a repository to say.
    spec["model"] = "openai-compatible:http://127.0.0.1:9/v1#x".into();
    std::fs::write(&agent, spec.to_string()).unwrap();
    let done = place.run(&["test", "run", "--live"]);
    assert!(done.code == 1 && done.out.contains("by its address; say that you mean it: --model"), "{done:#?}");
    // Nothing is copied and run for a model that has no key.
    spec["model"] = "anthropic:claude-sonnet-4-5".into();
    std::fs::write(&agent, spec.to_string()).unwrap();
    let done = place.run(&["test", "run", "--live"]);
    assert_eq!(done.out, "", "{done:#?}");
    done.fails(3, "when: ");
}

#[test]
fn what_cannot_be_run_is_told_and_is_no_baseline() {
    let place = tested();
    place.run(&["test", "run", "--times", "3"]).fails(2, "--live");
    place.run(&["test", "run", "--live", "--model", "nonsense"]).fails(2, "nonsense");
    place.run(&["test", "run", "--live", "none"]).fails(1, "there is no test \"none\"");
    let model = server(|_| Reply::Error { status: 401, headers: Vec::new(), body: "{}".into() });
    let done = live(&place, &model, &["--yes"]);
    assert!(
        done.code == 1 && done.out.contains(", not judged") && done.out.contains("  the model failed: "),
        "{done:#?}"
    );
    let done = live(&place, &model, &["--yes", "--save-baseline"]);
    assert!(done.code == 1 && done.err.contains("the baseline stays as it was"), "{done:#?}");
    assert!(!place.work.join(".mainpath/tests/baseline.toml").exists());
    place.ok(&["test", "rm", "when"]);
    live(&place, &model, &["--yes"]).fails(2, "there are no tests in");
}

#[test]
fn who_stops_it_leaves_no_copy_behind_and_no_baseline() {
    let place = Place::new();
    let command = "echo x > began; while [ ! -e go ]; do sleep 0.02; done";
    std::fs::write(place.work.join("go"), "").unwrap();
    let server = scripted(vec![bash(command), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    place.ok(&["test", "add", &place.trace(), "--name", "waits"]);
    std::fs::remove_file(place.work.join("go")).unwrap();
    std::fs::remove_file(place.work.join("began")).unwrap();
    let args = ["test", "run", "--live", "--model", &server.model(), "--yes", "--times", "3", "--save-baseline"];
    let mut process = place.start(&args);
    let all = place.root().join(".cache/mainpath/what-if");
    let copies = || -> Vec<std::path::PathBuf> {
        let homes = std::fs::read_dir(&all).map(|homes| homes.flatten().collect::<Vec<_>>()).unwrap_or_default();
        homes
            .iter()
            .flat_map(|home| std::fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.path()))
            .collect()
    };
    wait_until("three work", || copies().iter().filter(|copy| copy.join("began").is_file()).count() == 3);
    process.signal(rustix::process::Signal::TERM);
    let done = process.end();
    assert_eq!((done.code, done.out.as_str()), (130, ""), "{done:#?}");
    assert!(
        done.err.ends_with("mainpath: stopped; the copies of the runs that had not ended are removed\n"),
        "{done:#?}"
    );
    assert_eq!(copies(), Vec::<std::path::PathBuf>::new());
    assert!(!place.work.join(".mainpath/tests/baseline.toml").exists() && !place.work.join("began").exists());
}
