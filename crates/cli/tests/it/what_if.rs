//! A run decided again with something changed: from the log up to the first difference, then in a copy of the folder.

use crate::support::*;
use serde_json::Value;
use std::path::PathBuf;

/// Changes a file; told that it may not, it says so.
const CHANGES: &str = r#"
[[turn]]
text = "First a look."
calls = [{ tool = "read_text_file", args = { path = "plan.md" } }]
usage = { input = 100, output = 10 }
[[turn]]
when = "People plan."
final = "I may not."
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "plan.md", content = "Now!" } }]
usage = { input = 150, output = 12 }
[[turn]]
final = "Changed."
usage = { input = 200, output = 5 }
"#;

struct Ran {
    place: Place,
    trace: String,
    script: PathBuf,
}

fn changed() -> Ran {
    let place = Place::new();
    std::fs::write(place.work.join("plan.md"), "Deploy on Friday.\n").unwrap();
    let script = place.root().join("script.toml");
    std::fs::write(&script, CHANGES).unwrap();
    let model = format!("scripted:{}", script.display());
    let done = place.run(&["run", "--model", &model, "--mode", "workspace-write", "Change the plan."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Changed.\n"), "{done:#?}");
    assert_eq!(place.text("plan.md"), "Now!");
    let trace = place.trace();
    Ran { place, trace, script }
}

fn again(ran: &Ran, args: &[&str]) -> (Value, String) {
    let done = ran.place.run(&[&["fork", &ran.trace, "--what-if", "--json"], args].concat());
    assert_eq!(done.code, 0, "{args:?}: {done:#?}");
    (parsed(&done.out), done.err)
}

#[test]
fn with_nothing_changed_it_is_the_original_and_needs_no_model() {
    let ran = changed();
    std::fs::remove_file(&ran.script).unwrap();
    let before = ran.place.log(&ran.trace);
    for at in ["0", "1", "3"] {
        let done = ran.place.run(&["fork", &ran.trace, "--what-if", "--at", at]);
        assert_eq!(done.code, 0, "{done:#?}");
        let hash = done.out.split("hash ").nth(1).unwrap().split(';').next().unwrap().to_owned();
        assert_eq!(
            done.out,
            format!("no difference: 4 steps from the log, hash {hash}; nothing was asked and nothing ran\n"),
            "{done:#?}"
        );
        assert_eq!(hash.len(), 32);
    }
    let (outcome, _) = again(&ran, &["--times", "3"]);
    let outcomes = outcome["outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), 1);
    assert_eq!((outcomes[0]["difference"].clone(), &outcomes[0]["again"]), (Value::Null, &outcomes[0]["original"]));
    assert_eq!((ran.place.traces(), ran.place.log(&ran.trace)), (vec![ran.trace.clone()], before));
}

#[test]
fn under_other_rules_it_parts_where_they_decide_otherwise() {
    let ran = changed();
    let rules = ran.place.root().join("strict.toml");
    std::fs::write(
        &rules,
        "[[rule]]\nid = \"no-plan\"\ndecision = \"deny\"\nmatch = \"write_text_file(plan*)\"\nreason = \"People plan.\"\n",
    )
    .unwrap();
    let (outcome, _) = again(&ran, &["--policy", rules.to_str().unwrap()]);
    assert_eq!((outcome["served"].as_u64(), outcome["difference"]["step"].as_u64()), (Some(2), Some(3)));
    assert_eq!(outcome["difference"]["what"], "call 2: the verdict was allow, and is deny");
    assert_eq!(
        (&outcome["original"]["answer"], &outcome["again"]["answer"]),
        (&"Changed.".into(), &"I may not.".into())
    );
    assert_eq!(
        (&outcome["original"]["files"], &outcome["again"]["files"]),
        (&serde_json::json!(["plan.md"]), &serde_json::json!([]))
    );
    assert_eq!(outcome["again"]["verdicts"], serde_json::json!({"allow": 1, "deny": 1}));
    // The copy is as it was then, and the folder as it is.
    let copy = PathBuf::from(outcome["folder"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(copy.join("plan.md")).unwrap(), "Deploy on Friday.\n");
    assert_eq!(ran.place.text("plan.md"), "Now!");
    // It is a trace like any other, and its copy goes with it.
    let made = outcome["trace"].as_str().unwrap();
    ran.place.ok(&["verify", made]);
    ran.place.ok(&["replay", made]);
    let shown = ran.place.ok(&["fork", &ran.trace, "--what-if", "--policy", rules.to_str().unwrap(), "--times", "2"]);
    assert!(
        shown.contains("2 steps in common, from the log, hash") && shown.contains("first difference: step 3"),
        "{shown}"
    );
    assert!(shown.contains("\n2 times: final 2 (34 % to 100 %)\n"), "{shown}");
    assert!(shown.contains("\nturns       3 to 3, 3 on average (95 %: 3 to 3)\n"), "{shown}");
    let (outcome, _) = again(&ran, &["--policy", rules.to_str().unwrap(), "--times", "3"]);
    assert_eq!((&outcome["ends"]["final"]["passed"], &outcome["ends"]["final"]["of"]), (&3.into(), &3.into()));
    assert_eq!(outcome["turns"]["interval"], serde_json::json!({"low": 3.0, "high": 3.0}));
    ran.place.ok(&["rm", made, "--yes"]);
    assert!(!copy.exists());
}

#[test]
fn another_model_works_in_a_copy_and_reaches_nothing_else() {
    let ran = changed();
    let evil = ran.place.work.join("evil.txt");
    let other = ran.place.root().join("other.toml");
    std::fs::write(
        &other,
        format!(
            "[[turn]]\ncalls = [{{ tool = \"read_text_file\", args = {{ path = \"plan.md\" }} }}, \
             {{ tool = \"write_text_file\", args = {{ path = \"mine.txt\", content = \"mine\" }} }}, \
             {{ tool = \"write_text_file\", args = {{ path = {evil:?}, content = \"x\" }} }}, \
             {{ tool = \"bash\", args = {{ command = \"echo x > {}\" }} }}]\n[[turn]]\nfinal = \"By the other.\"\n",
            evil.display()
        ),
    )
    .unwrap();
    std::fs::remove_file(&ran.script).unwrap();
    let model = format!("scripted:{}", other.display());
    let (outcome, _) =
        again(&ran, &["--at", "1", "--model", &model, "--mode", "full", "--yes", "--allow", "write(/**)"]);
    assert_eq!((outcome["served"].as_u64(), outcome["difference"]["step"].as_u64()), (Some(1), Some(2)));
    assert_eq!(outcome["again"]["answer"], "By the other.");
    // From the beginning on the task is what both have in common.
    let (whole, _) = again(&ran, &["--model", &model]);
    assert_eq!((whole["served"].as_u64(), whole["difference"]["step"].as_u64()), (Some(1), Some(2)));
    assert_eq!(whole["common"], whole["difference"]["common"]);
    let copy = PathBuf::from(outcome["folder"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(copy.join("mine.txt")).unwrap(), "mine");
    assert!(!evil.exists() && !ran.place.work.join("mine.txt").exists());
    let events = ran.place.events(outcome["trace"].as_str().unwrap());
    let results: Vec<(String, String)> = events
        .iter()
        .filter(|event| event["type"] == "call_resolved")
        .map(|event| {
            let output = &event["data"]["output"];
            let text = output["content"][0]["text"].as_str().unwrap_or_default().to_owned();
            (output["error"].as_str().unwrap_or_default().to_owned(), text)
        })
        .collect();
    assert!(results[0].1.contains("Deploy on Friday."), "{results:?}");
    assert!(results[2].0 == "refused" && results[2].1.contains("outside the copy"), "{results:?}");
    assert_ne!(results[3].0, "", "{results:?}");
    assert_eq!(outcome["refused"], 1);
}

#[test]
fn a_call_that_is_asked_about_all_the_same_is_denied_by_nobody() {
    let ran = changed();
    let rules = ran.place.root().join("ask.toml");
    std::fs::write(&rules, "[[rule]]\nid = \"ask\"\ndecision = \"ask\"\nalways = true\nmatch = \"write(*)\"\n")
        .unwrap();
    let (outcome, _) = again(&ran, &["--policy", rules.to_str().unwrap(), "--yes"]);
    let log = String::from_utf8(ran.place.log(outcome["trace"].as_str().unwrap())).unwrap();
    assert!(log.contains("nobody is there to ask"), "{log}");
    let suggested = parsed(&ran.place.ok(&["policy", "suggest", "--least", "1", "--json"]));
    assert_eq!((&suggested["answers"], &suggested["rules"]), (&0.into(), &serde_json::json!([])), "{suggested}");
    // Both sides count the same steps.
    assert_eq!(outcome["original"]["files"], serde_json::json!(["plan.md"]));
    assert_eq!(outcome["again"]["verdicts"], serde_json::json!({"allow": 1, "ask": 1}));
}

#[test]
fn the_copy_has_nothing_of_mainpaths_own_and_a_home_is_not_copied() {
    let ran = changed();
    let (place, own) = (&ran.place, ran.place.work.join("data"));
    let model = format!("scripted:{}", ran.script.display());
    let inside = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("MAINPATH_HOME", &own);
        finish(command, None)
    };
    let done = inside(&["run", "--model", &model, "--mode", "workspace-write", "Change the plan."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let trace = std::fs::read_dir(own.join("traces")).unwrap().next().unwrap().unwrap().file_name();
    let done = inside(&["fork", trace.to_str().unwrap(), "--what-if", "--instructions", "Be short.", "--json"]);
    assert_eq!(done.code, 0, "{done:#?}");
    let outcome = parsed(&done.out);
    let copy = PathBuf::from(outcome["folder"].as_str().unwrap());
    assert!(copy.join("plan.md").is_file() && !copy.join("data").exists());
    let told = format!("{} is Mainpath's own and not copied", own.display());
    assert_eq!(outcome["not_restored"][0], told.as_str());

    let root = place.root().display().to_string();
    std::fs::write(place.root().join("plan.md"), "Rest.").unwrap();
    let done = place.run(&["run", "-C", &root, "--model", &model, "--mode", "workspace-write", "Change the plan."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let there = place.traces().into_iter().find(|trace| *trace != ran.trace).unwrap();
    let done = place.run(&["fork", &there, "--what-if", "--instructions", "Be short."]);
    done.fails(1, "holds your home: nothing can be tried in a copy of it");
}

#[test]
fn what_cannot_be_decided_again_is_said_in_one_line() {
    let ran = changed();
    let fails = |args: &[&str], code: i32, what: &str| {
        let done = ran.place.run(&[&["fork"], args].concat());
        assert!(done.code == code && done.err.contains(what), "{args:?}: {done:#?}");
        if code == 1 {
            assert_eq!(done.err.trim().lines().count(), 1, "{done:#?}");
        }
    };
    fails(&[&ran.trace, "--live"], 2, "--what-if");
    fails(&[&ran.trace, "--what-if", "--at", "99"], 2, "has no message 99");
    fails(&[&ran.trace, "--what-if", "--model", "nonsense"], 2, "nonsense");
    let said = r#"[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]"#;
    std::fs::write(ran.place.root().join("said.json"), said).unwrap();
    ran.place.ok(&["import", ran.place.root().join("said.json").to_str().unwrap()]);
    let imported = ran.place.traces().into_iter().find(|other| *other != ran.trace).unwrap();
    fails(&[&imported, "--what-if"], 1, "was imported");
    // What came before the message is the log's, whatever it is.
    let script = ran.place.root().join("more.toml");
    std::fs::write(&script, "[[turn]]\nfinal = \"Hello.\"\n[[turn]]\nfinal = \"More.\"\n").unwrap();
    let model = format!("scripted:{}", script.display());
    assert_eq!(ran.place.ok(&["run", "--trace", &imported, "--model", &model, "And?"]), "More.\n");
    let same = ran.place.ok(&["fork", &imported, "--what-if", "--at", "3"]);
    assert!(same.starts_with("no difference: 4 steps from the log"), "{same}");
    fails(&[&imported, "--what-if", "--at", "1"], 1, "message 2 of");
    std::fs::rename(&ran.place.work, ran.place.root().join("away")).unwrap();
    std::fs::create_dir(&ran.place.work).unwrap();
    ran.place.ok(&["erase", &ran.trace, "--message", "1", "--yes"]);
    fails(&[&ran.trace, "--what-if"], 1, "was erased");
    assert_eq!(ran.place.traces().len(), 2);
}

/// Another model that has a command wait in its copy.
fn other(ran: &Ran) -> String {
    let other = ran.place.root().join("waits.toml");
    let command = "echo x > began; while [ ! -e go ]; do sleep 0.02; done";
    std::fs::write(
        &other,
        format!("[[turn]]\ncalls = [{{ tool = \"bash\", args = {{ command = {command:?} }} }}]\n[[turn]]\nfinal = \"By the other.\"\n"),
    )
    .unwrap();
    format!("scripted:{}", other.display())
}

/// The folder of the copies, once there is one.
fn copies(place: &Place) -> PathBuf {
    let all = place.root().join(".cache/mainpath/what-if");
    let homes = || std::fs::read_dir(&all).map(|homes| homes.flatten().collect::<Vec<_>>()).unwrap_or_default();
    wait_until("there are copies", || !homes().is_empty());
    homes()[0].path()
}

/// What lies in it.
fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Starts deciding again with such a model, until its command runs. Gives the process and its copy.
fn under_way(ran: &Ran, before: &[String]) -> (Process, PathBuf) {
    let process = ran.place.start(&["fork", &ran.trace, "--what-if", "--at", "1", "--model", &other(ran), "--yes"]);
    let copies = copies(&ran.place);
    let new = || names(&copies).into_iter().find(|name| !name.ends_with(".held") && !before.contains(name));
    wait_until("it works in its copy", || new().is_some_and(|name| copies.join(name).join("began").is_file()));
    let copy = copies.join(new().unwrap());
    (process, copy)
}

#[test]
fn who_stops_it_leaves_no_copy_behind() {
    let ran = changed();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let (mut process, copy) = under_way(&ran, &[]);
        process.signal(signal);
        let done = process.end();
        assert_eq!(done.code, 130, "{done:#?}");
        assert!(done.err.contains("mainpath: stopped; what was done by then is in trace "), "{done:#?}");
        assert_eq!((copy.exists(), names(copy.parent().unwrap())), (false, Vec::<String>::new()));
        assert_eq!((ran.place.text("began"), ran.place.text("plan.md")), (String::new(), "Now!".into()));
    }
}

#[test]
fn a_copy_whose_process_was_killed_is_removed_by_the_next_and_no_other() {
    let ran = changed();
    let (killed, left) = under_way(&ran, &[]);
    let name = |copy: &std::path::Path| copy.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(killed.kill().1);
    assert!(left.is_dir());
    let (mut process, copy) = under_way(&ran, &[name(&left)]);
    assert_eq!((left.exists(), names(copy.parent().unwrap()).len()), (false, 2), "its own and its mark");
    // A third leaves the copy of the second, which goes on.
    let (outcome, _) = again(&ran, &["--instructions", "Be short."]);
    let kept = PathBuf::from(outcome["folder"].as_str().unwrap());
    assert!(copy.is_dir() && kept.is_dir());
    std::fs::write(copy.join("go"), "").unwrap();
    let done = process.end();
    assert_eq!(done.code, 0, "{done:#?}");
    let mut there = names(copy.parent().unwrap());
    there.sort();
    let mut wanted = vec![name(&copy), name(&kept)];
    wanted.sort();
    assert_eq!(there, wanted, "what was kept belongs to its trace");
}
