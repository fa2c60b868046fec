//! Tests that are made of runs: offline, without keys, red when something of the project makes a run go another way.

use crate::support::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A rule of the project by which nobody deploys unasked.
const NO_DEPLOY: &str = "[[rule]]\nid = \"no-deploy\"\ndecision = \"deny\"\nmatch = \"write_text_file(deploy*)\"\nreason = \"People deploy.\"\n";

/// A run of this script, whose model is gone afterwards.
fn ran(script: &str, task: &str, args: &[&str]) -> (Place, String) {
    let place = Place::new();
    std::fs::write(place.work.join("plan.md"), "Deploy on Friday.\n").unwrap();
    std::fs::write(place.work.join("AGENTS.md"), "Be brief.\n").unwrap();
    let file = place.root().join("script.toml");
    std::fs::write(&file, script).unwrap();
    let model = format!("scripted:{}", file.display());
    let done = place.run(&[&["run", "--model", &model, "--mode", "workspace-write"], args, &[task]].concat());
    assert_eq!(done.code, 0, "{done:#?}");
    std::fs::remove_file(file).unwrap();
    let trace = place.trace();
    (place, trace)
}

fn deployed() -> (Place, String) {
    let (place, trace) = ran(DEPLOYS, "Deploy it.", &[]);
    assert_eq!(place.text("deploy.txt"), "now");
    std::fs::remove_file(place.work.join("deploy.txt")).unwrap();
    (place, trace)
}

fn folder(place: &Place, name: &str) -> PathBuf {
    place.work.join(".mainpath/tests").join(name)
}

fn edit(file: &Path, change: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(file).unwrap();
    let new = change(&text);
    assert_ne!(text, new, "nothing to change in {}", file.display());
    std::fs::write(file, new).unwrap();
}

#[test]
fn a_run_that_went_wrong_is_red_until_a_rule_sets_it_right() {
    let (place, trace) = deployed();
    let added = place.run(&["test", "add", &trace, "--name", "no-deploy", "--wrong", "2"]);
    assert_eq!((added.code, added.out.trim()), (0, folder(&place, "no-deploy").to_str().unwrap()), "{added:#?}");
    assert!(added.err.contains("call 2: [allow] write_text_file"), "{added:#?}");
    assert!(added.err.contains("call 2 is expected to be asked about or denied"), "{added:#?}");

    let red = place.run(&["test", "run"]);
    assert_eq!(red.code, 1, "{red:#?}");
    assert!(red.out.contains("✗ no-deploy") && red.out.ends_with("0 passed, 1 failed\n"), "{red:#?}");
    assert!(red.out.contains("call 2: write_text_file: ask or deny is expected, and the rules say allow"), "{red:#?}");

    let rules = place.work.join(".mainpath/policy.toml");
    std::fs::write(&rules, NO_DEPLOY).unwrap();
    let green = place.run(&["test", "run"]);
    assert_eq!(green.code, 0, "{green:#?}");
    assert!(green.out.contains("✓ no-deploy  2 turns, 2 calls"), "{green:#?}");
    assert!(
        green.out.contains("played up to step 3, which differs: call 2: the verdict was allow, and is deny"),
        "{green:#?}"
    );

    std::fs::remove_file(rules).unwrap();
    assert_eq!(place.run(&["test", "run", "no-deploy"]).code, 1);
    // Nothing of it has run, and nothing was written to the log of the run or beside it.
    assert!(!place.work.join("deploy.txt").exists());
    assert_eq!(place.traces(), [trace]);
}

#[test]
fn a_run_that_went_well_is_held_to_all_that_it_did() {
    let (place, trace) = deployed();
    place.ok(&["test", "add", &trace]);
    assert_eq!(place.ok(&["test", "list"]).split_whitespace().next(), Some("deploy-it"));
    let shown = place.ok(&["test", "show", "deploy-it"]);
    let file: toml::Table = shown.parse().unwrap();
    let expect = &file["expect"];
    assert_eq!(expect["finish"].as_str(), Some("final"));
    assert_eq!(expect["answer"]["is"].as_str(), Some("Deployed."));
    let budgets = ["max_turns", "max_calls", "max_tokens"].map(|name| expect[name].as_integer().unwrap());
    assert_eq!(budgets, [3, 2, 477]);
    let calls = expect["call"].as_array().unwrap();
    let of = |call: &toml::Value| {
        (call["tool"].as_str().unwrap().to_owned(), call["args"]["path"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        calls.iter().map(of).collect::<Vec<_>>(),
        [("read_text_file".into(), "plan.md".into()), ("write_text_file".into(), "deploy.txt".into())]
    );
    let green = place.ok(&["test", "run"]);
    assert!(green.ends_with("1 passed, 0 failed\n") && !green.contains("differs"), "{green}");

    // Another rule: two steps side by side.
    let rules = place.work.join(".mainpath/policy.toml");
    std::fs::write(&rules, NO_DEPLOY.replace("deny", "ask")).unwrap();
    let red = place.run(&["test", "run"]);
    assert_eq!(red.code, 1, "{red:#?}");
    let (recorded, played) = red.out.lines().find_map(|line| line.split_once(" | ")).unwrap();
    assert!(recorded.trim().starts_with("allow") && played.starts_with("deny (no-deploy)"), "{red:#?}");
    assert!(
        red.out.contains("finish: final is expected, and it was: the recording has no answer any more"),
        "{red:#?}"
    );
    std::fs::remove_file(rules).unwrap();

    // Other words of the project.
    edit(&place.work.join("AGENTS.md"), |_| "Be thorough.\n".into());
    let red = place.run(&["test", "run"]);
    assert_eq!(red.code, 1, "{red:#?}");
    assert!(red.out.contains("instructions: the agent is told something else from line"), "{red:#?}");
    assert!(red.out.contains("Be brief.") && red.out.contains("Be thorough."), "{red:#?}");
    // Where it says more than it did, the first of that is shown.
    edit(&place.work.join("AGENTS.md"), |_| "Be brief.\n\nAnd kind.\n".into());
    let red = place.run(&["test", "run"]);
    assert!(red.code == 1 && red.out.contains("And kind."), "{red:#?}");
    edit(&place.work.join("AGENTS.md"), |_| "Be brief.\n".into());
    assert_eq!(place.run(&["test", "run"]).code, 0);

    place.ok(&["test", "rm", "deploy-it"]);
    place.run(&["test", "run"]).fails(2, "there are no tests in");
    let done = place.run(&["test", "run", "--json"]);
    assert_eq!((done.code, done.out.trim()), (2, "{\"failed\":0,\"passed\":0,\"tests\":[]}"), "{done:#?}");
}

#[test]
fn expectations_can_be_edited() {
    let (place, trace) = deployed();
    place.ok(&["test", "add", &trace, "--name", "edited"]);
    let file = folder(&place, "edited").join("test.toml");
    let whole = std::fs::read_to_string(&file).unwrap();
    let with = |expect: &str| {
        let head = whole.split("[expect]").next().unwrap();
        std::fs::write(&file, format!("{head}[expect]\n{expect}")).unwrap();
        let done = place.run(&["test", "run"]);
        (done.code, done.out)
    };
    let green = [
        "",
        "other_calls = \"any\"",
        "other_calls = \"any\"\nmax_calls = 2\nfinish = \"final\"\n[[expect.call]]\ntool = \"write_*\"\nargs = { path = \"dep*.txt\" }",
        "other_calls = \"any\"\n[expect.answer]\ncontains = \"ploy\"\nmatches = \"^Dep.*d[.]$\"",
        "[[expect.call]]\ntool = \"read_text_file\"\nverdict = \"allow\"\nresult = \"ok\"\n[[expect.call]]\ntool = \"*\"\nverdict = [\"ask\", \"allow\"]",
        "other_calls = \"any\"\nmax_verdicts = { allow = 2, deny = 0 }\n[[expect.call]]\ntool = \"write_*\"\nrule = \"access.*\"\n[[expect.never]]\ntool = \"write_*\"\nargs = { path = \"src/*\" }",
    ];
    for expect in green.into_iter().skip(1) {
        let (code, out) = with(expect);
        assert_eq!(code, 0, "{expect}: {out}");
    }
    let red = [
        (green[0], "call 1: read_text_file {\"path\":\"plan.md\"} is not expected"),
        ("other_calls = \"any\"\nmax_turns = 2", "max_turns: at most 2 is expected, and it was 3"),
        ("other_calls = \"any\"\nmax_tokens = 400", "max_tokens: at most 400 is expected, and it was 477"),
        ("other_calls = \"any\"\nfinish = \"max_turns\"", "finish: max_turns is expected, and it was: final"),
        ("other_calls = \"any\"\n[[expect.call]]\ntool = \"bash\"", "call 1: bash is expected, and was not called"),
        (
            "other_calls = \"any\"\n[[expect.call]]\ntool = \"write_text_file\"\n[[expect.call]]\ntool = \"read_text_file\"",
            "call 2: read_text_file is expected, and was not called",
        ),
        (
            "[[expect.call]]\ntool = \"read_text_file\"\nargs = { path = \"*.txt\" }",
            "path is expected to be \"*.txt\", and was \"plan.md\"",
        ),
        ("other_calls = \"any\"\n[expect.answer]\nmatches = \"^no\"", "answer: it does not match \"^no\""),
        (
            "other_calls = \"any\"\n[expect.answer]\nmatches = \"(\"",
            "test.toml: answer.matches is no regular expression that can be used: at character 1",
        ),
        ("other_calls = \"any\"\n[expect.answer.schema]\ntype = \"object\"", "answer: JSON is expected"),
        (
            "other_calls = \"any\"\nmax_verdicts = { allow = 1 }",
            "max_verdicts: at most 1 allow is expected, and it was 2",
        ),
        ("other_calls = \"any\"\n[[expect.never]]\ntool = \"write_*\"", "call 2: write_text_file {"),
        (
            "other_calls = \"any\"\n[[expect.call]]\ntool = \"write_*\"\nrule = \"no-*\"",
            "the rule no-* is expected to decide, and it was access.workspace-write",
        ),
        ("max_cost = 1.0", "test.toml: max_cost is for suites (mainpath eval)"),
        ("max_time = \"1m\"", "test.toml: max_time is for suites (mainpath eval)"),
    ];
    for (expect, wanted) in red {
        let (code, out) = with(expect);
        assert!(code == 1 && out.contains(wanted), "{expect}: {out}");
    }
    with("max_verdicts = { ask = 1 }\n[[expect.never]]\ntool = \"bash\"\nrule = \"x\"");
    let name = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let shown = place.ok(&["test", "show", name]);
    assert!(
        shown.contains("[expect.max_verdicts]\nask = 1") && shown.contains("[[expect.never]]\ntool = \"bash\""),
        "{shown}"
    );
}

#[test]
fn a_test_is_played_elsewhere_and_names_no_folder_of_the_machine_it_was_made_on() {
    let (place, trace) = deployed();
    place.ok(&["test", "add", &trace, "--name", "moved"]);
    let other = Place::new();
    copy(&place.work.join(".mainpath"), &other.work.join(".mainpath"));
    std::fs::write(other.work.join("AGENTS.md"), "Be brief.\n").unwrap();
    let root = place.root().canonicalize().unwrap();
    for file in files(&folder(&other, "moved")) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(root.to_str().unwrap()), "{}", file.display());
    }
    drop(place);
    let done = other.run(&["test", "run", "--json", "--junit", "report.xml"]);
    assert_eq!(done.code, 0, "{done:#?}");
    let report = parsed(&done.out);
    assert_eq!((report["passed"].as_u64(), report["failed"].as_u64()), (Some(1), Some(0)));
    let one: &Value = &report["tests"][0];
    assert_eq!(
        (one["name"].as_str(), one["passed"].as_bool(), one["turns"].as_u64()),
        (Some("moved"), Some(true), Some(3))
    );
    let xml = other.text("report.xml");
    assert!(xml.contains("tests=\"1\" failures=\"0\"") && xml.contains("name=\"moved\""), "{xml}");
    assert_eq!(other.traces(), Vec::<String>::new(), "nothing is kept of a play");
}

#[test]
fn what_people_decided_is_decided_so_again_and_later_tasks_follow() {
    let place = Place::new();
    std::fs::write(
        place.root().join("script.toml"),
        "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"a\", content = \"1\" } }, \
         { tool = \"write_text_file\", args = { path = \"b\", content = \"2\" } }]\n[[turn]]\nfinal = \"One.\"\n\
         [[turn]]\ncalls = [{ tool = \"read_text_file\", args = { path = \"none\" } }]\n[[turn]]\nfinal = \"Two.\"\n\
         [[turn]]\nfinal = \"Three.\"\n",
    )
    .unwrap();
    let model = format!("scripted:{}", place.root().join("script.toml").display());
    assert_eq!(place.run(&["run", "--model", &model, "--park", "Write."]).code, 5);
    let trace = place.trace();
    place.ok(&["deny", &trace, "--call", "2.1", "--reason", "Not b."]);
    place.ok(&["approve", &trace]);
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!(done.code, 0, "{done:#?}");
    let done = place.run(&["run", "--trace", &trace, "--park", "Now fail."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Two.\n"), "{done:#?}");
    place.ok(&["test", "add", &trace, "--name", "decided"]);
    let shown = place.ok(&["test", "show", "decided"]);
    let results: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("result = ")).collect();
    assert_eq!(results, ["[\"ok\"]", "[\"denied\"]", "[\"error\"]"], "{shown}");
    let green = place.ok(&["test", "run"]);
    assert!(green.contains("✓ decided  4 turns, 3 calls"), "{green}");
    place.ok(&["run", "--trace", &trace, "--mode", "full", "--park", "More."]);
    place.run(&["test", "add", &trace, "--name", "x"]).fails(1, "its agent was changed before message 10");
}

#[test]
fn long_texts_have_files_of_their_own() {
    let (place, trace) = {
        let place = Place::new();
        std::fs::write(place.work.join("plan.md"), "word ".repeat(4_000)).unwrap();
        let file = place.root().join("script.toml");
        std::fs::write(&file, "[[turn]]\ncalls = [{ tool = \"read_text_file\", args = { path = \"plan.md\" } }]\n[[turn]]\nfinal = \"Read.\"\n").unwrap();
        place.ok(&["run", "--model", &format!("scripted:{}", file.display()), "Read it."]);
        let trace = place.trace();
        (place, trace)
    };
    place.ok(&["test", "add", &trace, "--name", "long"]);
    let folder = folder(&place, "long");
    let recording = std::fs::read_to_string(folder.join("recording.jsonl")).unwrap();
    assert!(recording.len() < 3_000 && recording.contains("{{file:texts/1.txt}}"), "{recording}");
    assert!(std::fs::read_to_string(folder.join("texts/1.txt")).unwrap().contains("word word"));
    place.ok(&["test", "run"]);
    edit(&folder.join("texts/1.txt"), |text| text.replacen("word", "ward", 1));
    place.ok(&["test", "run"]);
}

#[test]
fn what_cannot_be_a_test_is_said_in_one_line_and_nothing_is_written() {
    let (place, trace) = deployed();
    place.ok(&["test", "add", &trace, "--name", "taken"]);
    let before = files(&place.work.join(".mainpath"));
    let fails = |args: &[&str], code: i32, what: &str| {
        let done = place.run(&[&["test", "add"], args].concat());
        assert!(
            done.code == code && done.err.contains(what) && done.err.trim().lines().count() == 1,
            "{args:?}: {done:#?}"
        );
    };
    fails(&[&trace, "--name", "taken"], 1, "there is a test \"taken\" already");
    fails(&[&trace, "--name", "../x"], 2, "a test cannot be called \"../x\"");
    fails(&[&trace, "--name", "x", "--wrong", "3"], 1, "it has no call 3; its calls are numbered from 1 to 2");
    fails(&["nowhere"], 1, "there is no trace \"nowhere\"");
    place.ok(&["test", "add", &trace, "--name", "taken", "--replace"]);

    let conversation = r#"[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]"#;
    std::fs::write(place.root().join("said.json"), conversation).unwrap();
    place.ok(&["import", place.root().join("said.json").to_str().unwrap()]);
    let imported = place.traces().into_iter().find(|other| *other != trace).unwrap();
    fails(&[&imported, "--name", "x"], 1, "was imported: nobody recorded");
    place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    fails(&[&trace, "--name", "x"], 1, "message 1 of");
    assert_eq!(files(&place.work.join(".mainpath")), before);
}

#[test]
fn a_folder_that_was_edited_into_nonsense_fails_with_its_place_and_the_others_are_played() {
    let (place, trace) = deployed();
    place.ok(&["test", "add", &trace, "--name", "good"]);
    let bad = folder(&place, "bad");
    let secret = place.root().join("secret.txt");
    std::fs::write(&secret, "SECRET").unwrap();
    type Harm = Box<dyn Fn(&Path)>;
    let edited = |name: &'static str, from: &'static str, to: &'static str| -> Harm {
        Box::new(move |folder| edit(&folder.join(name), |text| text.replacen(from, to, 1)))
    };
    let linked = {
        let secret = secret.clone();
        Box::new(move |folder: &Path| {
            std::fs::remove_file(folder.join("instructions.md")).unwrap();
            std::os::unix::fs::symlink(&secret, folder.join("instructions.md")).unwrap();
        })
    };
    let huge = |folder: &Path| std::fs::File::create(folder.join("agent.json")).unwrap().set_len(40 << 20).unwrap();
    let gone = |folder: &Path| std::fs::remove_file(folder.join("recording.jsonl")).unwrap();
    let empty = |folder: &Path| std::fs::write(folder.join("recording.jsonl"), "").unwrap();
    let texts = |folder: &Path| std::os::unix::fs::symlink("/etc", folder.join("texts")).unwrap();
    let cases: Vec<(Harm, &str)> = vec![
        (edited("test.toml", "[expect]", "[expect"), "test.toml:"),
        (edited("test.toml", "finish = \"final\"", "finish = \"happy\""), "test.toml:"),
        (edited("test.toml", "finish =", "finnish ="), "unknown field `finnish`"),
        (edited("test.toml", "format = 1", "format = 9"), "it has the format 9, and this Mainpath reads 1"),
        (
            edited("test.toml", "task = \"Deploy it.\"", "task = \"Do not.\""),
            "task: the recording was made of another task",
        ),
        (edited("agent.json", "{", "["), "agent.json:"),
        (
            edited("recording.jsonl", "\"step\":\"answered\"", "\"step\":\"sung\""),
            "recording.jsonl:2: unknown variant `sung`",
        ),
        (
            edited("recording.jsonl", "First a look.", "{{file:../../../../secret.txt}}"),
            "is not a file of the test's texts",
        ),
        (
            Box::new(move |folder: &Path| {
                texts(folder);
                edit(&folder.join("recording.jsonl"), |text| text.replacen("First a look.", "{{file:texts/1.txt}}", 1));
            }),
            "cannot be used",
        ),
        (linked, "instructions.md cannot be used: it is a link"),
        (Box::new(huge), "agent.json cannot be used: it is larger than 32 MiB"),
        (Box::new(gone), "recording.jsonl cannot be used"),
        (Box::new(empty), "the recording does not begin with what was said"),
        (
            edited("recording.jsonl", "plan.md", "other.md"),
            "call 1: read_text_file: ok is expected as its result, and it was error",
        ),
    ];
    copy(&folder(&place, "good"), &bad);
    edited("agent.json", "\"context_window\": ", "\"context_window\": -")(&bad);
    let agent = std::fs::read_to_string(bad.join("agent.json")).unwrap();
    let line = agent.lines().position(|line| line.contains("context_window")).unwrap() + 1;
    let done = place.run(&["test", "run", "bad", "bad"]);
    assert!(done.out.contains(&format!("agent.json:{line}: ")) && done.out.contains("0 passed, 1 failed"), "{done:#?}");
    std::fs::remove_dir_all(&bad).unwrap();
    for (harm, wanted) in cases {
        copy(&folder(&place, "good"), &bad);
        harm(&bad);
        let done = place.run(&["test", "run"]);
        assert_eq!((done.code, done.err.as_str()), (1, ""), "{wanted}: {done:#?}");
        assert!(
            done.out.contains("✓ good") && done.out.contains("✗ bad") && done.out.contains("1 passed, 1 failed"),
            "{wanted}: {done:#?}"
        );
        assert!(done.out.contains(wanted) && !done.out.contains("SECRET"), "{wanted}: {done:#?}");
        std::fs::remove_dir_all(&bad).unwrap();
    }
    place.run(&["test", "run", "nowhere"]).fails(1, "there is no test \"nowhere\"");
    std::os::unix::fs::symlink(folder(&place, "good"), &bad).unwrap();
    place.run(&["test", "run", "bad"]).fails(1, "the test bad is not a folder");
    std::fs::write(place.work.join(".mainpath/policy.toml"), "[[rule").unwrap();
    std::fs::remove_file(&bad).unwrap();
    let done = place.run(&["test", "run"]);
    assert!(done.code == 1 && done.out.contains("policy.toml"), "{done:#?}");
}

#[test]
fn what_lies_among_the_tests_and_is_none_is_told_and_passed_over() {
    let (place, trace) = deployed();
    place.ok(&["test", "add", &trace, "--name", "good"]);
    let tests = folder(&place, "");
    copy(&folder(&place, "good"), &tests.join("an odd name"));
    std::fs::write(tests.join("README.md"), "Our tests.").unwrap();
    std::fs::write(tests.join(".gitignore"), "").unwrap();
    std::fs::write(tests.join("baseline.toml"), "format = 1\n").unwrap();
    std::os::unix::fs::symlink("good", tests.join("linked")).unwrap();
    let told = |name: &str, why: &str| {
        format!("! {name:?} in {} is no test: {why}\n", tests.to_str().unwrap().trim_end_matches('/'))
    };
    let odd = "a test cannot be called \"an odd name\": a name is 1 to 64 letters of ASCII, digits, -, _ and ., and does not begin with - or .";
    let lines = [
        told("README.md", "it is not a folder"),
        told("an odd name", odd),
        told("linked", "it is a link, which may lead out of the project"),
    ];
    let done = place.run(&["test", "run"]);
    assert_eq!((done.code, done.err.as_str()), (0, lines.concat().as_str()), "{done:#?}");
    assert!(done.out.ends_with("1 passed, 0 failed\n"), "{done:#?}");
    let done = place.run(&["test", "list"]);
    assert_eq!((done.out.lines().count(), done.err.as_str()), (1, lines.concat().as_str()), "{done:#?}");
    // Who names a test is told nothing of others.
    assert_eq!(place.run(&["test", "run", "good"]).err, "");
    place.run(&["test", "run", "README.md"]).fails(1, "the test README.md is not a folder");
}

#[test]
fn what_a_run_says_in_the_words_of_a_test_and_null_in_lists_are_kept() {
    let place = Place::new();
    std::fs::write(place.work.join("AGENTS.md"), "Write {{workspace}} and {{home}} as they are.\n").unwrap();
    let file = place.root().join("script.toml");
    let call = r#"{"path": "{{file:texts/1.txt}}", "lines": [1, null, {"a": null}], "of": "{{workspace}}"}"#;
    std::fs::write(
        &file,
        format!("[[turn]]\ncalls = [{{ tool = \"read_text_file\", args = '{call}' }}]\n[[turn]]\nfinal = \"{{{{braces}}}} in {}\"\n", place.work.display()),
    )
    .unwrap();
    let model = format!("scripted:{}", file.display());
    for (task, name) in [("{{file:texts/1.txt}}", "one"), ("Use {{workspace}} and {{braces}}", "two")] {
        place.ok(&["run", "--model", &model, task]);
        place.ok(&["test", "add", &newest(&place), "--name", name]);
        let shown = place.ok(&["test", "show", name]);
        assert!(shown.contains("[1, { null = true }, {  }]") || shown.contains("null = true"), "{shown}");
        let green = place.run(&["test", "run", name]);
        assert_eq!((green.code, green.out.contains("differs")), (0, false), "{green:#?}");
    }
    // It is so elsewhere too: the folder is another, and the words are what they were.
    let other = Place::new();
    std::fs::copy(place.work.join("AGENTS.md"), other.work.join("AGENTS.md")).unwrap();
    copy(&place.work.join(".mainpath"), &other.work.join(".mainpath"));
    let green = other.run(&["test", "run"]);
    assert!(green.code == 0 && green.out.ends_with("2 passed, 0 failed\n"), "{green:#?}");
}

#[test]
fn tokens_beyond_all_counting_are_counted_as_the_most_there_are() {
    let huge = "{ input = 9223372036854775807, output = 9223372036854775807 }";
    let (place, trace) = ran(&DEPLOYS.replace("{ input = 200, output = 5 }", huge), "Deploy it.", &[]);
    let added = place.run(&["test", "add", &trace, "--name", "huge"]);
    assert_eq!(added.code, 0, "{added:#?}");
    let shown: toml::Table = place.ok(&["test", "show", "huge"]).parse().unwrap();
    assert_eq!(shown["expect"].get("max_tokens"), None, "TOML has no number that large");
    place.ok(&["test", "run"]);
    place.ok(&["fork", &trace, "--what-if"]);
    let shown = place.ok(&["show", "--diff", &trace, &trace]);
    assert!(shown.contains("18,446,744,073,709,551,615 tokens"), "{shown}");
}

/// All files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let new = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(new.parent().unwrap()).unwrap();
        std::fs::copy(&file, new).unwrap();
    }
}

#[test]
fn a_wrong_call_that_rules_hold_already_is_kept_so_and_one_that_none_can_judge_is_no_test() {
    let script = "[[turn]]\ncalls = [{ tool = \"bash\", args = { command = \"make deploy\" } }, { tool = \"no_such_tool\", args = {} }]\n[[turn]]\nfinal = \"I may not.\"\n";
    let (place, trace) = ran(script, "Deploy it.", &["--deny", "bash(make *)"]);
    let added = place.run(&["test", "add", &trace, "--name", "held", "--wrong", "1"]);
    assert!(added.code == 0 && added.err.contains("the rules do not allow call 1 as it is"), "{added:#?}");
    assert_eq!(place.run(&["test", "run", "held"]).code, 0);
    place.run(&["test", "add", &trace, "--name", "none", "--wrong", "2"]).fails(1, "no rule judges its call 2");
}
