//! Rules from files and flags, in runs and in what `mainpath policy` says.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};
use std::path::Path;

/// A run in which the model calls bash with this, then answers; with these flags.
fn run(place: &Place, command: &'static str, flags: &[&str]) -> (Done, Vec<Value>) {
    let server = scripted(vec![bash(command), Answer::text("Done.")]);
    let done = place.run_on(&server, &[flags, &["Do it."]].concat());
    let events = place.traces().pop().map(|trace| place.events(&trace)).unwrap_or_default();
    (done, events)
}

/// The verdict on the first call.
fn verdict(events: &[Value]) -> Value {
    let found = events.iter().find(|event| event["type"] == "model_finished").expect("the model has answered");
    found["data"]["calls"][0]["verdict"].clone()
}

fn write(file: impl AsRef<Path>, text: &str) {
    std::fs::create_dir_all(file.as_ref().parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[test]
fn a_trace_is_held_to_checks_of_order_number_and_budget() {
    let (place, server) =
        (Place::new(), scripted(vec![bash("echo test"), bash("echo push"), bash("echo push"), Answer::text("Done.")]));
    assert_eq!(place.run(&["run", "--yes", "-m", &server.model(), "Do it."]).code, 0);
    let replay = |args: &[&str]| place.run(&[&["policy", "replay"], args].concat());
    let good = replay(&["--order", "bash(echo push)", "bash(echo test)", "--most", "bash", "3", "--max-turns", "4"]);
    assert!(good.code == 0 && good.out.ends_with("all checks passed\n"), "{good:#?}");
    let file = "[[order]]\ncall = \"bash(echo test)\"\nafter = \"bash(echo push)\"\n[[most]]\ncall = \"bash(echo push)\"\ncalls = 1\n[budget]\ntokens = 10\n";
    std::fs::write(place.work.join("checks.toml"), file).unwrap();
    let bad = replay(&["--checks", "checks.toml"]);
    assert_eq!(bad.code, 6, "{bad:#?}");
    let told: Vec<&str> = bad.out.lines().filter(|line| line.starts_with('✗')).collect();
    let expected = [
        "✗ call 2.0: bash(echo test) was called, and no bash(echo push) had succeeded before it",
        "✗ call 6.0: bash(echo push) was called 2 times, 1 are allowed in a run",
        "✗ run 1: the run took 60 tokens, 10 are allowed",
    ];
    assert_eq!(told, expected);
    let line: Value =
        serde_json::from_str(replay(&["--json", "--max-calls", "2"]).out.lines().last().unwrap()).unwrap();
    assert_eq!(line["breach"]["problem"], "the run took 3 calls, 2 are allowed");
    replay(&["--max-cost", "0.10"]).fails(2, "which is unknown");
    replay(&["--checks", "none.toml"]).fails(2, "the checks none.toml cannot be used");
    replay(&["--most", "bash", "few"]).fails(2, "\"few\" is not a number");
    replay(&["--order", "bsah", "bash"]).fails(2, "did you mean \"bash\"?");
    // A check of no tool at all would always hold.
    replay(&["--most", "nosuch_tool", "1"]).fails(2, "there is no tool \"nosuch_tool\"");
    replay(&["--order", "nosuch_tool(a b)", "bash"]).fails(2, "there is no tool \"nosuch_tool\"");
    replay(&["--order", "bash", "nosuch_tool"]).fails(2, "there is no tool \"nosuch_tool\"");
    std::fs::write(place.work.join("checks.toml"), "[[most]]\ncall = \"nosuch_tool\"\ncalls = 1\n").unwrap();
    replay(&["--checks", "checks.toml"]).fails(2, "there is no tool \"nosuch_tool\"");
    assert_eq!(replay(&["--most", "mcp__git__push", "1"]).code, 0, "a server may bring it");
}

#[test]
fn calls_that_only_plan_do_not_count_after_the_fact_as_they_do_not_in_a_run() {
    let plan = Answer::call("goal", json!({"op": "add", "description": "one step"}));
    let (place, server) = (Place::new(), scripted(vec![plan, bash("echo one"), Answer::text("Done.")]));
    let done = place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert!(done.code == 0 && done.err.contains(" · calls 1 · "), "{done:#?}");
    assert_eq!(place.run(&["policy", "replay", "--max-calls", "1"]).code, 0);
    assert_eq!(place.run(&["policy", "replay", "--max-calls", "0"]).code, 6);
}

#[test]
fn a_rule_of_the_command_line_allows_what_nobody_can_be_asked_about() {
    let place = Place::new();
    let (done, events) = run(&place, "echo a > out.txt", &[]);
    assert_eq!((done.code, verdict(&events)["rule"].as_str()), (0, Some("builtin.headless")), "{done:#?}");
    assert_eq!(place.text("out.txt"), "");
    let place = Place::new();
    let flags = ["--allow", "bash(echo *)", "--allow", "write(out.txt)"];
    let (done, events) = run(&place, "echo a > out.txt", &flags);
    assert_eq!((done.code, verdict(&events)["decision"].as_str()), (0, Some("allow")), "{done:#?}");
    assert_eq!(place.text("out.txt"), "a\n");
}

#[test]
fn a_denial_holds_under_yes_and_tells_the_model_its_rule() {
    let place = Place::new();
    write(
        place.home.join("policy.toml"),
        "[[rule]]\nid = \"no-touch\"\ndecision = \"deny\"\nmatch = \"bash(touch *)\"\nreason = \"Not here.\"\n",
    );
    let (_, events) = run(&place, "true && touch a", &["--yes"]);
    let expected = "The command \"touch a\" is denied by the rule no-touch: Not here.";
    let verdict = verdict(&events);
    assert_eq!((verdict["decision"].as_str(), verdict["reason"].as_str()), (Some("deny"), Some(expected)));
    assert!(!place.work.join("a").exists());
}

#[test]
fn a_project_allows_nothing_until_it_is_trusted_and_nothing_once_it_has_changed() {
    let place = Place::new();
    let file = place.work.join(".mainpath/policy.toml");
    let rules = "[[rule]]\ndecision = \"allow\"\nmatch = \"bash(touch *)\"\n[[rule]]\ndecision = \"deny\"\nmatch = \"bash(rm *)\"\n";
    write(&file, rules);
    let check = |call: &str| place.run(&["policy", "check", call]).code;
    assert_eq!([check("bash(touch a)"), check("bash(rm a)")], [5, 6]);
    let (done, events) = run(&place, "touch a", &[]);
    assert!(done.err.contains("mainpath policy trust"), "{done:#?}");
    assert_eq!(verdict(&events)["decision"], "deny");
    let said = place.ok(&["policy", "trust"]);
    assert!(said.starts_with("allow project.1: bash(touch *)\n"), "{said}");
    assert_eq!([check("bash(touch a)"), check("bash(rm a)")], [0, 6]);
    write(&file, &format!("{rules}[[rule]]\ndecision = \"allow\"\nmatch = \"bash\"\n"));
    assert_eq!([check("bash(touch a)"), check("bash(ls)")], [5, 5]);
    write(&file, rules);
    assert_eq!(check("bash(touch a)"), 0);
    place.ok(&["policy", "trust", "--revoke"]);
    assert_eq!(check("bash(touch a)"), 5);
    std::fs::remove_file(&file).unwrap();
    place.run(&["policy", "trust"]).fails(1, "there is nothing to trust");
}

#[test]
fn the_organisation_is_loosened_by_nobody() {
    let place = Place::new();
    let file = place.root().join("organisation.toml");
    write(&file, "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(git push *)\"\n");
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("MAINPATH_ORG_POLICY", &file);
        finish(command, None)
    };
    let done = run(&["policy", "check", "bash(git push)", "--allow", "bash", "--yes"]);
    assert_eq!(done.code, 6, "{done:#?}");
    assert!(done.out.contains("by organisation.1"), "{done:#?}");
    write(place.home.join("policy.toml"), "off = [\"organisation.1\"]\n");
    run(&["policy", "check", "bash(git push)"]).fails(1, "none that can be switched off");
}

#[test]
fn a_check_explains_its_verdict() {
    let place = Place::new();
    let flags = ["--allow", "bash(git *)", "--deny", "bash(git push * --force *)"];
    let check = |call: &str| place.run(&[&["policy", "check", call], &flags[..]].concat());
    let done = check("bash(git status && git push --force)");
    let expected = [
        "deny: bash(git status && git push --force)",
        "  by run.deny.1: The command \"git push --force\" is denied by the rule run.deny.1.",
        "parts:",
        "  allow: the command \"git status\", by run.allow.1",
        "  deny: the command \"git push --force\", by run.deny.1",
        "matching rules, by layer:",
        "  builtin: ask by builtin.force-push, for the command \"git push --force\"",
        "  run: allow by run.allow.1, for the command \"git status\"",
        "  run: allow by run.allow.1, for the command \"git push --force\"",
        "  run: deny by run.deny.1, for the command \"git push --force\"",
    ];
    assert_eq!((done.code, done.out.lines().collect::<Vec<_>>()), (6, expected.to_vec()));
    assert_eq!([check("bash(git log)").code, check("bash(make)").code], [0, 5]);
    let json = place.run(&["policy", "check", "--json", "write(a.txt)", "--mode", "workspace-write"]);
    let json = parsed(json.out.trim());
    assert_eq!(json["explanation"]["verdict"]["rule"], "access.workspace-write");
    assert_eq!(json["policy"].as_str().map(str::len), Some(64));
}

#[test]
fn a_check_takes_arguments_and_origins_and_knows_where_paths_lead() {
    let place = Place::new();
    std::os::unix::fs::symlink("/etc", place.work.join("link")).unwrap();
    let code = |args: &[&str]| place.run(&[&["policy", "check"], args].concat()).code;
    assert_eq!(code(&["read(a.txt)"]), 0);
    assert_eq!(code(&["read(link/passwd)"]), 6);
    assert_eq!(code(&["read_text_file", r#"{"path": "link/passwd"}"#]), 6);
    assert_eq!(code(&["bash", r#"{"command": "ls"}"#, "--allow", "bash(ls)"]), 0);
    assert_eq!(code(&["bash(ls)", "--allow", "bash(ls)", "--origin", "web", "--yes"]), 5);
    let own = format!("read({})", place.home.join("config.toml").display());
    assert_eq!(code(&[&own, "--mode", "full"]), 6);
    place.run(&["policy", "check", "bash", r#"{"comand": "ls"}"#]).fails(2, "comand");
    place.run(&["policy", "check", "bash(ls"]).fails(2, "lacks its closing )");
}

#[test]
fn a_list_shows_every_rule_with_its_layer() {
    let place = Place::new();
    write(
        place.home.join("policy.toml"),
        "off = [\"builtin.force-push\"]\n[[rule]]\ndecision = \"ask\"\nmatch = \"web_fetch\"\n",
    );
    write(place.work.join(".mainpath/policy.toml"), "[[rule]]\ndecision = \"allow\"\nmatch = \"bash\"\n");
    let listed = place.ok(&["policy", "list", "--deny", "bash(rm *) if origin = web"]);
    let lines: Vec<&str> = listed.lines().filter(|line| !line.starts_with("builtin") || line.contains("[")).collect();
    let force = lines.iter().find(|line| line.starts_with("builtin: ask builtin.force-push: "));
    assert!(force.is_some_and(|line| line.ends_with("[ignored: switched off]")), "{listed}");
    for expected in [
        "user: ask user.1: web_fetch",
        "project: allow project.1: bash [ignored: the project's policy is not trusted]",
        "run: deny run.deny.1: bash(rm *) if origin = web",
    ] {
        assert!(lines.contains(&expected), "{expected}: {listed}");
    }
    let json = place.ok(&["policy", "list", "--json"]);
    let user = json.lines().map(parsed).find(|rule| rule["id"] == "user.1").unwrap();
    assert_eq!(user["place"]["line"], 2);
}

#[test]
fn a_rule_for_a_tool_that_there_is_not_is_refused_as_a_flag_and_told_of_a_file() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Done.")]));
    let program = |name: &str| format!("there is no tool {name:?}; for the program write bash({name} *)");
    for (flag, rule, told) in [
        ("--deny", "wc", program("wc")),
        ("--deny", "rm if origin = web", program("rm")),
        ("--deny", "wc(*)", program("wc")),
        ("--ask", "ssh", program("ssh")),
        ("--allow", "nosuch(x)", program("nosuch")),
        (
            "--deny",
            "mcp__note",
            "there is no tool \"mcp__note\"; for all tools of the MCP server \"note\" write".into(),
        ),
        ("--deny", "delete_file", "there is no tool \"delete_file\"; those of MCP servers".into()),
    ] {
        place.run_on(&server, &[flag, rule, "Do it."]).fails(2, &format!("{flag}: {told}"));
        place.run(&["policy", "check", flag, rule, "bash(ls)"]).fails(2, &format!("{flag}: {told}"));
    }
    assert_eq!((place.traces(), server.count()), (vec![], 0));
    // All that there is, could be switched on, or may come with a server.
    place.config(
        "[[tools.external]]\nname = \"count_words\"\ndescription = \"Counts.\"\ninput_schema = { type = \"object\" }\n\
         effect = \"read-only\"\ncommand = [\"true\"]\n[mcp.servers.notes]\ncommand = \"none\"\nprefix = \"notes_\"\n",
    );
    let known =
        ["execute_bash(rm *)", "process_*", "web_fetch", "count_words", "mcp__github__*", "notes_read", "use_tool"];
    let rules: Vec<&str> = known.iter().flat_map(|rule| ["--deny", rule]).collect();
    assert_eq!(place.run(&[&["policy", "check"], &rules[..], &["bash(ls)"]].concat()).code, 5);
    // A file may be for another machine, on which there are more tools.
    let file = place.home.join("policy.toml");
    write(&file, "\n[[rule]]\ndecision = \"deny\"\nmatch = [\"ssh\", \"bash(x *)\", \"count_words\"]\n");
    let told = format!("! {}, line 2: {}", file.display(), program("ssh"));
    for args in [&["run", "-m", &server.model(), "Do it."][..], &["policy", "check", "bash(ls)"], &["policy", "list"]] {
        let done = place.run(args);
        let lines: Vec<&str> = done.err.lines().filter(|line| line.contains("there is no tool")).collect();
        assert_eq!(lines, [told.as_str()], "{done:#?}");
    }
}

#[test]
fn in_a_folder_below_the_project_the_files_are_trusted_from_which_its_rules_come() {
    let place = Place::new();
    std::fs::create_dir_all(place.work.join(".git")).unwrap();
    std::fs::create_dir_all(place.work.join("crates/one")).unwrap();
    std::fs::create_dir_all(place.work.join("crates/two")).unwrap();
    let allow = |what: &str| format!("[[rule]]\ndecision = \"allow\"\nmatch = \"bash({what})\"\n");
    write(place.work.join(".mainpath/policy.toml"), &allow("make top"));
    let code = |folder: &str, call: &str| place.run(&["policy", "check", "-C", folder, call]).code;
    assert_eq!((code("crates/one", "bash(make top)"), code(".", "bash(make top)")), (5, 5));
    let trusted = |folder: &str| {
        format!("{} is trusted in its present text", place.work.join(folder).join(".mainpath/policy.toml").display())
    };
    let said = place.ok(&["policy", "trust", "crates/one"]);
    assert!(said.contains(&trusted("")) && said.matches("is trusted").count() == 1, "{said}");
    assert_eq!((code("crates/one", "bash(make top)"), code(".", "bash(make top)")), (0, 0));
    // Both files.
    write(place.work.join("crates/two/.mainpath/policy.toml"), &allow("make two"));
    let said = place.ok(&["policy", "trust", "crates/two"]);
    assert!(said.contains(&trusted("")) && said.contains(&trusted("crates/two")), "{said}");
    assert_eq!((code("crates/two", "bash(make two)"), code("crates/two", "bash(make top)")), (0, 0));
    let said = place.ok(&["policy", "trust", "crates/one", "--revoke"]);
    assert_eq!(said, format!("{} is no longer trusted\n", place.work.display()));
    assert_eq!((code("crates/one", "bash(make top)"), code("crates/two", "bash(make two)")), (5, 0));
    let said = place.ok(&["policy", "trust", "crates/one", "--revoke"]);
    assert_eq!(said, format!("{} was not trusted\n", place.work.join("crates/one").display()));
}

#[test]
fn a_rule_of_which_less_holds_than_it_looks_like_is_pointed_out() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Done.")]));
    for (rule, code) in [("bash(git push:*)", 2), ("bash(git push*)", 0)] {
        let done = place.run_on(&server, &["--deny", rule, "Do it."]);
        let reported = done.err.matches("with any arguments write bash(git push *)").count();
        assert_eq!((done.code, reported), (code, 1), "{rule}: {done:#?}");
    }
    place.run_on(&server, &["--deny", "bash(git:*)", "Do it."]).fails(2, "write bash(git *)");
}

#[test]
fn a_rule_in_the_spelling_of_another_program_is_refused_on_the_command_line_and_in_files() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Never asked.")]));
    let file = place.home.join("policy.toml");
    for (rule, own) in [
        ("bash(git push:*, rm:*)", "write bash(git push *) and bash(rm *), one rule for each"),
        ("Bash(npm run test:*)", "write bash(npm run test *)"),
        ("Bash(git *)", "write bash(git *)"),
        ("Read(./.env)", "write read(./.env)"),
        ("WebFetch(domain:example.com)", "write web_fetch(*://example.com)"),
    ] {
        place.run_on(&server, &["--deny", rule, "Do it."]).fails(2, own);
        write(&file, &format!("[[rule]]\ndecision = \"deny\"\nmatch = {rule:?}\n"));
        let done = place.run_on(&server, &["Do it."]);
        done.fails(1, own);
        assert!(done.err.contains(&format!("{}, line 3: ", file.display())), "{done:#?}");
        std::fs::remove_file(&file).unwrap();
    }
    assert_eq!((place.traces(), server.count()), (Vec::new(), 0));
    let done = place.run_on(&server, &["--deny", "mcp__server__tool", "Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
}

#[test]
fn a_rule_that_is_wrong_is_named_before_anything_is_begun() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Never asked.")]);
    place
        .run_on(&server, &["--allow", "bsh(git *)", "x"])
        .fails(2, "--allow: there is no tool \"bsh\"; did you mean \"bash\"?");
    place.run_on(&server, &["--policy", "none.toml", "x"]).fails(2, "--policy: there is no file none.toml");
    let file = place.home.join("policy.toml");
    write(&file, "[[rule]]\ndecision = \"alow\"\nmatch = \"bash\"\n");
    let expected = format!("{}, line 2: unknown variant `alow`", file.display());
    place.run_on(&server, &["x"]).fails(1, &expected);
    assert_eq!(place.traces(), Vec::<String>::new());
    std::fs::remove_file(&file).unwrap();
    // What a strange repository may put in the place of a rule file.
    let project = place.work.join(".mainpath/policy.toml");
    std::fs::create_dir_all(&project).unwrap();
    place.run_on(&server, &["x"]).fails(1, "it is not a file");
    std::fs::remove_dir(&project).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &project, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    place.run_on(&server, &["x"]).fails(1, "it is not a file");
    std::fs::remove_file(&project).unwrap();
    std::fs::write(&project, vec![b'#'; 1_100_000]).unwrap();
    place.run_on(&server, &["x"]).fails(1, "larger than 1 MiB");
}

#[test]
fn an_asked_call_offers_the_narrowest_rule_that_would_allow_it() {
    let place = Place::new();
    let (done, events) = run(&place, "cargo test -p x", &["--park"]);
    assert_eq!(done.code, 5, "{done:#?}");
    let found = events.iter().find(|event| event["type"] == "model_finished").unwrap();
    assert_eq!(found["data"]["calls"][0]["offer"], "bash(cargo test *)");
    // Who asks, why, and what an approval for more than once would allow is said wherever the call waits.
    let show = place.ok(&["show"]);
    for words in ["asked by builtin.ask: ", "with --for trace or --for always this becomes a rule: bash(cargo test *)"]
    {
        assert!(done.err.contains(words) && show.contains(words), "{done:#?} {show}");
    }
    let approved = place.ok(&["approve", "--for", "always"]);
    assert!(
        approved.starts_with("rule: bash(cargo test *)\nbash(cargo test *) is allowed in every trace from now on"),
        "{approved}"
    );
}

#[test]
fn a_trace_is_judged_again_by_the_rules_of_today() {
    let place = Place::new();
    let server = scripted(vec![bash("echo one"), bash("git push origin main"), Answer::text("Done.")]);
    place.run(&["run", "-m", &server.model(), "--allow", "bash(echo *)", "Do it."]);
    let told = |args: &[&str]| place.run(&[&["policy", "replay"], args].concat()).out;
    // The rules that the run was given hold: they are part of it.
    let same = told(&[]);
    assert!(
        same.lines().count() == 1 && same.ends_with(": 2 calls were checked; 0 would be decided differently now\n"),
        "{same}"
    );
    let before = told(&["--deny", "bash(echo *)"]);
    let lines: Vec<&str> = before.lines().collect();
    assert_eq!(lines.len(), 3, "{before}");
    assert_eq!(lines[0], "2.0 bash: echo one");
    assert!(lines[1].starts_with("    then allow by ") && lines[1].ends_with(", now deny by run.deny.1"), "{before}");
    assert!(lines[2].ends_with(": 2 calls were checked; 1 would be decided differently now"), "{before}");
    assert!(
        told(&["--allow", "bash(*)"]).contains("4.0 bash: git push origin main\n    then deny by "),
        "{}",
        told(&[])
    );
    let all: Vec<Value> = told(&["--all", "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((all.len(), &all[1]["tool"], &all[1]["then"]["decision"]), (2, &json!("bash"), &json!("deny")));
}

#[test]
fn a_command_that_can_change_nothing_needs_no_permission_but_keeps_to_the_rules() {
    let place = Place::new();
    std::fs::write(place.work.join(".env"), "A=b").unwrap();
    let call = |command: &str| Answer::call("sandbox", json!({"command": command}));
    let answers = vec![call("ls -a; echo x > new"), call("cat .env"), call("rm -rf x"), Answer::text("Done.")];
    let server = scripted(answers);
    let done = place.run(&["run", "-m", &server.model(), "--deny", "bash(rm *)", "Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let request = server.requests().pop().unwrap();
    let told: Vec<String> = request.body()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(told[0].contains(".env") && told[0].contains("Read-only file system"), "{told:?}");
    assert!(told[1].contains("Denied") && told[2].contains("Denied"), "{told:?}");
}

#[test]
fn calls_of_mcp_servers_can_be_checked_without_the_server() {
    let place = Place::new();
    let allow = ["--allow", "mcp__tracker__add(title=x*)"];
    for call in [&["mcp__tracker__add(title=x1, body=b)"][..], &["mcp__tracker__add", "{\"title\": \"x1\"}"]] {
        let done = place.run(&[&["policy", "check"], call, &allow[..]].concat());
        assert!(done.code == 0 && done.out.starts_with("allow: mcp__tracker__add"), "{done:#?}");
    }
    let done = place.run(&[&["policy", "check", "mcp__tracker__add(...)"], &allow[..]].concat());
    assert!(done.code == 5 && !done.out.contains("its parts"), "{done:#?}");
    let place = Place::new();
    place
        .run(&["policy", "check", "mcp__tracker__add(x)"])
        .fails(2, "are written as name=value, name=value or as a JSON object");
}

#[test]
fn a_folder_further_down_takes_no_rule_of_the_project_away() {
    let place = Place::new();
    write(
        place.work.join(".mainpath/policy.toml"),
        "[[rule]]\ndecision = \"deny\"\nmatch = \"read(secrets/**)\"\n[[rule]]\ndecision = \"deny\"\nmatch = \"bash(touch *)\"\n",
    );
    write(place.work.join("secrets/.mainpath/policy.toml"), "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(rm *)\"\n");
    write(place.work.join("secrets/k.txt"), "TOPSECRET\n");
    let check = |call: &str| {
        let mut command = place.command(&["policy", "check", call]);
        command.current_dir(place.work.join("secrets"));
        finish(command, None)
    };
    for denied in ["read(k.txt)", "bash(cat k.txt)", "bash(touch a)", "bash(rm a)"] {
        let done = check(denied);
        assert_eq!(done.code, 6, "{denied}: {done:#?}");
    }
    // In such a folder no file would count as guarded.
    for folder in [".git/hooks", ".mainpath", ".vscode", ".github/workflows"] {
        std::fs::create_dir_all(place.work.join(folder)).unwrap();
        let name = folder.split('/').next().unwrap();
        place
            .run(&["run", "-C", folder, "--model", "scripted", "x"])
            .fails(2, &format!("it lies in {name}, which other programs run or obey"));
    }
    assert_eq!(place.traces(), Vec::<String>::new());
}
