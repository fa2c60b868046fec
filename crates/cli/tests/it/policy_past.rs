//! Recorded calls, judged by other rules; rules suggested from answers; examples of rule files.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

/// A run in which the model calls bash with these, under these flags.
fn run(place: &Place, commands: &[&'static str], flags: &[&str]) {
    let answers = commands.iter().map(|command| bash(command)).chain([Answer::text("Done.")]).collect();
    let server = scripted(answers);
    let done = place.run_on(&server, &[flags, &["Do it."]].concat());
    assert_eq!(done.code, 0, "{done:#?}");
}

fn write(place: &Place, name: &str, text: &str) {
    std::fs::write(place.work.join(name), text).unwrap();
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn other_rules_are_tried_on_all_recorded_calls_in_both_directions() {
    let place = Place::new();
    run(&place, &["echo one", "git push origin main"], &["--yes"]);
    run(&place, &["touch a", "echo two"], &["--allow", "bash(echo *)"]);
    let new = "[[rule]]\nid = \"no-push\"\ndecision = \"deny\"\nmatch = \"bash(git push *)\"\n[[rule]]\nid = \"touching\"\ndecision = \"allow\"\nmatch = \"bash(touch *)\"\n";
    write(&place, "new.toml", new);
    let found = parsed(&place.ok(&["policy", "backtest", "new.toml", "--json"]));
    assert_eq!((&found["traces"], &found["calls"], &found["judged"]), (&json!(2), &json!(4), &json!(4)));
    let stricter = &found["stricter"];
    assert_eq!(stricter.as_array().unwrap().len(), 1, "{found:#}");
    assert_eq!(
        (&stricter[0]["then_rule"], &stricter[0]["now"], &stricter[0]["now_rule"], &stricter[0]["calls"]),
        (&json!("flag.yes"), &json!("deny"), &json!("no-push"), &json!(1))
    );
    assert_eq!(stricter[0]["examples"][0]["arguments"], "{\"command\":\"git push origin main\"}");
    let looser = &found["looser"];
    assert_eq!(
        (&looser[0]["then_rule"], &looser[0]["now_rule"], &looser[0]["calls"], &looser[0]["today"]),
        (&json!("builtin.headless"), &json!("touching"), &json!(1), &json!(0))
    );
    let told = place.ok(&["policy", "backtest", "new.toml"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "was allowed and would not be: 1 call");
    assert_eq!(lines[1], "  allow by flag.yes → deny by no-push: 1 call in 1 trace");
    assert!(lines[2].ends_with(" bash: git push origin main"), "{told}");
    assert_eq!(lines.last(), Some(&"4 calls in 2 traces; 4 judged, 2 the same"));
    // Held to in CI.
    let code =
        |what: &str| place.run(&["policy", "backtest", "new.toml", "--fail-on", what, "--junit", "junit.xml"]).code;
    assert_eq!([code("stricter"), code("looser"), code("any")], [6, 6, 6]);
    assert_eq!([code("unjudged"), code("against-people")], [0, 0]);
    assert!(place.text("junit.xml").contains("tests=\"2\" failures=\"0\""), "{}", place.text("junit.xml"));
    assert_eq!(code("stricter,looser"), 6);
    assert!(place.text("junit.xml").contains("failures=\"2\""), "{}", place.text("junit.xml"));
    // Only some of it.
    let of = |flags: &[&str]| parsed(&place.ok(&[&["policy", "backtest", "new.toml", "--json"], flags].concat()));
    assert_eq!(of(&["--traces", &place.traces()[0]])["calls"], 2);
    assert_eq!(of(&["--calls", "args~push or args~touch"])["calls"], 2);
    assert_eq!(of(&["--since", "1h"])["calls"], 4);
    // The rules of a run beside all others leave its own rules as they are.
    assert_eq!(of(&["--as", "run"])["stricter"][0]["now_rule"], "no-push");
}

#[test]
fn what_cannot_be_judged_is_named_and_what_is_wrong_is_one_line() {
    let place = Place::new();
    run(&place, &["echo one"], &["--yes"]);
    let backtest = |args: &[&str]| place.run(&[&["policy", "backtest"], args].concat());
    backtest(&["none.toml"]).fails(2, "there is no file none.toml");
    write(&place, "bad.toml", "[[rule]]\ndecision = \"deni\"\nmatch = \"bash\"\n");
    backtest(&["bad.toml"]).fails(2, "bad.toml, line 2: unknown variant `deni`");
    write(&place, "new.toml", "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(echo *)\"\n");
    backtest(&["new.toml", "--calls", "verdikt=ask"]).fails(2, "--calls, character 1: there is no field \"verdikt\"");
    backtest(&["new.toml", "--traces", "nosuch"]).fails(1, "there is no trace \"nosuch\"");
    let elsewhere = place.root().join("elsewhere");
    std::fs::rename(&place.work, &elsewhere).unwrap();
    let mut command = place.command(&["policy", "backtest", elsewhere.join("new.toml").to_str().unwrap(), "--json"]);
    command.current_dir(&elsewhere);
    let found = parsed(&finish(command, None).out);
    assert_eq!((&found["judged"], &found["unjudged"][0]["why"]), (&json!(0), &json!("folder_gone")), "{found:#}");
    assert_eq!((&found["unjudged"][0]["tool"], &found["unjudged"][0]["calls"]), (&json!("bash"), &json!(1)));
    // A log that is damaged is read as far as it goes.
    std::fs::rename(&elsewhere, &place.work).unwrap();
    let log = place.file(&place.trace(), "events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace("\"type\":\"run_finished\"", "\"type\":\"run_finisht\"")).unwrap();
    let found = parsed(&backtest(&["new.toml", "--json", "--fail-on", "unjudged"]).out);
    assert_eq!(
        (&found["stricter"][0]["calls"], found["unread"].as_array().unwrap().len()),
        (&json!(1), 1),
        "{found:#}"
    );
}

#[test]
fn rules_are_suggested_for_what_was_answered_alike_and_none_that_a_denial_contradicts() {
    let place = Place::new();
    let ask = |commands: &[&'static str], decisions: &[&[&str]]| {
        let answers = commands.iter().map(|command| bash(command)).chain([Answer::text("Done.")]).collect();
        let server = scripted(answers);
        assert_eq!(place.run_on(&server, &["--park", "Do it."]).code, 5);
        for (at, decision) in decisions.iter().enumerate() {
            place.ok(decision);
            let model = server.model();
            let done = place.run(&["resume", "-m", &model, "--park"]);
            assert_eq!(done.code, if at + 1 == decisions.len() { 0 } else { 5 }, "{done:#?}");
        }
    };
    let (yes, no): (&[&str], &[&str]) = (&["approve"], &["deny", "--reason", "no"]);
    ask(&["cargo test --lib", "cargo test --doc", "rm -rf x"], &[yes, yes, no]);
    ask(&["rm -rf x", "touch a", "touch a"], &[no, yes, no]);
    // Nobody was asked about this one.
    run(&place, &["cargo test -q"], &[]);
    let found = parsed(&place.ok(&["policy", "suggest", "--json"]));
    assert_eq!((&found["traces"], &found["answers"]), (&json!(3), &json!(6)), "{found:#}");
    let folder = place.work.display().to_string();
    let rules: Vec<String> = found["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| format!("{} {} {} also {}", rule["decision"], rule["match"], rule["answers"], rule["also"]))
        .collect();
    assert_eq!(
        rules,
        ["\"deny\" [\"bash(rm -rf x)\"] 2 also 0", "\"allow\" [\"bash(cargo test *)\"] 2 also 1"],
        "{found:#}"
    );
    assert_eq!(found["rules"][1]["folder"], folder.as_str());
    assert_eq!(found["rules"][1]["also_calls"][0]["arguments"], "{\"command\":\"cargo test -q\"}");
    // What a fork has of the trace that it came from is counted once.
    let forked = place.traces();
    forked.iter().for_each(|trace| drop(place.ok(&["fork", trace, "--no-run"])));
    let again = parsed(&place.ok(&["policy", "suggest", "--json"]));
    assert_eq!((&again["answers"], &again["rules"]), (&found["answers"], &found["rules"]));
    place
        .traces()
        .iter()
        .filter(|trace| !forked.contains(trace))
        .for_each(|trace| drop(place.ok(&["rm", trace, "--yes"])));
    let once = parsed(&place.ok(&["policy", "suggest", "--json", "--least", "1"]));
    let against: Vec<&Value> = once["contradicted"].as_array().unwrap().iter().map(|rule| &rule["match"][0]).collect();
    assert_eq!(against, ["bash(touch a)", "bash(touch a)"], "in both directions: {once:#}");
    // What is printed can be pasted, and answers the questions then.
    let told = place.ok(&["policy", "suggest"]);
    assert!(told.starts_with(&format!("# for {folder}/.mainpath/policy.toml\n")), "{told}");
    assert!(told.contains("# approved 2 times in 1 trace; would also have allowed 1 other recorded call\n"), "{told}");
    std::fs::write(place.home.join("policy.toml"), &told).unwrap();
    assert_eq!(place.run(&["policy", "check", "bash(cargo test --all)"]).code, 0);
    assert_eq!(place.run(&["policy", "check", "bash(rm -rf x)"]).code, 6);
    let now = parsed(&place.ok(&["policy", "suggest", "--json"]));
    assert_eq!((&now["already"], &now["rules"]), (&json!(4), &json!([])));
}

#[test]
fn examples_of_rule_files_are_held_to_what_all_rules_say() {
    let place = Place::new();
    assert_eq!(place.run(&["policy", "test"]).code, 0);
    let rules = "[[rule]]\nid = \"no-push\"\ndecision = \"deny\"\nmatch = \"bash(git push *)\"\n";
    let good = "[[example]]\ncall = \"bash(git push)\"\nexpect = \"deny\"\nrule = \"no-push\"\n[[example]]\ncall = \"write_text_file\"\narguments = { path = \"a\", content = \"b\" }\nexpect = \"ask\"\n[[example]]\ncall = \"write(a)\"\nexpect = \"deny\"\nrule = \"builtin.headless\"\ninteractive = false\n";
    std::fs::create_dir_all(&place.home).unwrap();
    std::fs::write(place.home.join("policy.toml"), format!("{rules}{good}")).unwrap();
    let done = place.run(&["policy", "test"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "3 examples were checked; 0 decided otherwise than expected\n"),
        "{done:#?}"
    );
    write(
        &place,
        "more.toml",
        "[[example]]\nname = \"status\"\ncall = \"bash(git push)\"\nexpect = \"allow\"\n[[example]]\ncall = \"bash(git push)\"\nexpect = \"deny\"\nrule = \"other\"\n[[example]]\ncall = \"nothing at all\"\nexpect = \"deny\"\n",
    );
    let done = place.run(&["policy", "test", "more.toml", "--junit", "junit.xml"]);
    assert_eq!(done.code, 6, "{done:#?}");
    let lines: Vec<&str> = done.out.lines().collect();
    let denied = "The command \"git push\" is denied by the rule no-push.";
    assert_eq!(lines[0], format!("✗ more.toml, line 1: status: deny by no-push, expected allow: {denied}"));
    assert_eq!(
        lines[1],
        format!("✗ more.toml, line 5: bash(git push): deny by no-push, expected deny by other: {denied}")
    );
    assert!(lines[2].starts_with("✗ more.toml, line 9: nothing at all: cannot be judged: "), "{done:#?}");
    assert_eq!(lines[3], "3 examples were checked; 3 decided otherwise than expected");
    let junit = place.text("junit.xml");
    assert!(
        junit.contains("tests=\"3\" failures=\"3\"") && junit.contains("classname=\"more.toml\" name=\"status\""),
        "{junit}"
    );
    let json: Vec<Value> = place.run(&["policy", "test", "--json"]).out.lines().map(parsed).collect();
    assert_eq!((json.len(), &json[0]["passed"], &json[0]["rule"]), (3, &json!(true), &json!("no-push")));
    // A run is not held up by an example that fails.
    write(&place, "x", "");
    assert_eq!(place.run(&["policy", "check", "read(x)", "--policy", "more.toml"]).code, 0);
    write(&place, "more.toml", "[[example]]\ncall = \"bash\"\nexpect = \"no\"\n");
    place.run(&["policy", "test", "more.toml"]).fails(1, "more.toml, line 3: unknown variant `no`");
}

#[test]
fn a_folder_with_lines_in_its_name_writes_no_rules_and_a_call_of_no_tool_is_none() {
    let place = Place::new();
    let evil = place.root().join("sug\n[[rule]]\ndecision = \"allow\"\nmatch = [\"bash(*)\"]\n#");
    std::fs::create_dir(&evil).unwrap();
    let server = scripted(vec![bash("cargo test"), Answer::text("Done.")]);
    let done = place.run_on(&server, &["--park", "-C", evil.to_str().unwrap(), "Do it."]);
    assert_eq!(done.code, 5, "{done:#?}");
    place.ok(&["approve"]);
    place.run(&["resume", "-m", &server.model(), "--park"]);
    let told = place.ok(&["policy", "suggest", "--least", "1"]);
    assert_eq!(told.matches("\n[[rule]]").count(), 1, "{told}");
    let rules: toml::Table = told.parse().unwrap();
    assert_eq!(rules["rule"].as_array().unwrap().len(), 1, "{told}");

    write(&place, "more.toml", "[[example]]\ncall = \"bsh(git push)\"\nexpect = \"ask\"\n");
    let done = place.run(&["policy", "test", "more.toml"]);
    assert!(done.code == 6 && done.out.contains("cannot be judged: there is no tool \"bsh\""), "{done:#?}");
    place.run(&["policy", "check", "bsh(git push)"]).fails(2, "there is no tool \"bsh\"");
    let done = place.run(&["query", "outcome=\"\" and tool=bash"]);
    assert!(done.err.starts_with("nothing found of which"), "{done:#?}");
}

#[test]
fn a_file_that_holds_here_anyway_is_trusted_no_more_when_it_is_named() {
    let place = Place::new();
    let rules = "[[rule]]\nid = \"build\"\ndecision = \"allow\"\nmatch = \"bash(make *)\"\n[[example]]\ncall = \"bash(make all)\"\nexpect = \"allow\"\n";
    std::fs::create_dir(place.work.join(".mainpath")).unwrap();
    std::fs::write(place.work.join(".mainpath/policy.toml"), rules).unwrap();
    let named: [&[&str]; 3] = [
        &["policy", "test"],
        &["policy", "test", ".mainpath/policy.toml"],
        &["policy", "test", "../work/.mainpath/policy.toml"],
    ];
    for args in named {
        let done = place.run(args);
        assert!(
            done.code == 6 && done.out.ends_with("1 example was checked; 1 decided otherwise than expected\n"),
            "{args:?}: {done:#?}"
        );
        assert!(done.err.contains("but you have not trusted it") && done.err.lines().count() == 1, "{done:#?}");
    }
    place.ok(&["policy", "trust"]);
    for args in named {
        assert_eq!((place.run(args).code, place.run(args).err.as_str()), (0, ""), "{args:?}");
    }
    // Another holds beside all, as who names it for a run says.
    std::fs::write(place.work.join("more.toml"), rules.replace("make", "ninja").replace("build", "more")).unwrap();
    place.ok(&["policy", "test", "more.toml"]);
}

#[test]
fn a_file_that_is_not_there_is_named_as_it_was_typed() {
    let place = Place::new();
    for args in [["policy", "backtest", "no.toml"], ["policy", "test", "no.toml"]] {
        let done = place.run(&args);
        assert_eq!((done.code, done.err.as_str()), (2, "mainpath: there is no file no.toml\n"), "{args:?}");
    }
}
