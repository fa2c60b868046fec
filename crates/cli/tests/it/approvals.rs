//! Calls that wait for a person, decided on from another process.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

/// What the last result of a tool said, in the last request.
pub fn observed(server: &ModelServer) -> String {
    let request = server.requests().pop().unwrap();
    let messages = request.body()["messages"].as_array().unwrap().clone();
    messages.iter().rfind(|message| message["role"] == "tool").unwrap()["content"].to_string()
}

fn parked() -> (Place, ModelServer, String) {
    let (place, server) = (Place::new(), scripted(vec![bash("echo done >> effects"), Answer::text("The end.")]));
    let done = place.run_on(&server, &["--park", "Do it."]);
    let trace = place.trace();
    done.fails(5, &format!("needs approval: mainpath approve {trace} && mainpath resume {trace}"));
    assert_eq!((done.out.as_str(), place.text("effects").as_str()), ("", ""));
    assert!(
        place
            .ok(&["show"])
            .contains(&format!("call 2.0 (bash: echo done >> effects) needs approval: mainpath approve {trace}"))
    );
    (place, server, trace)
}

#[test]
fn a_parked_call_is_approved_by_another_process() {
    let (place, _server, trace) = parked();
    // Still waiting: nothing has changed.
    place.run(&["resume", &trace, "--park"]).fails(5, "needs approval");
    let told = place.ok(&["approve", &trace]);
    assert!(told.starts_with(&format!("approved call 2.0 of {trace}")), "{told}");
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "done\n");
    place.run(&["approve", &trace]).fails(1, "nothing to approve in");
}

#[test]
fn a_parked_call_is_denied_by_another_process_and_the_model_is_told_why() {
    let (place, server, trace) = parked();
    place.ok(&["deny", &trace, "--call", "2.0", "--reason", "Not on a Friday."]);
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "");
    assert!(observed(&server).contains("Not on a Friday."), "{}", observed(&server));
}

#[test]
fn a_parked_call_is_approved_with_other_arguments_and_the_model_is_told() {
    let (place, server, trace) = parked();
    place.run(&["approve", &trace, "--arguments", "{"]).fails(2, "--arguments is not a JSON object");
    place.run(&["approve", &trace, "--call", "7.0"]).fails(1, "call 7.0");
    place.ok(&["approve", &trace, "--arguments", r#"{"command": "echo other >> effects"}"#]);
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "other\n");
    assert!(observed(&server).contains("echo other"), "{}", observed(&server));
}

#[test]
fn a_word_to_a_trace_with_a_torn_log_leaves_the_tear_to_its_next_owner() {
    let (place, _server, trace) = parked();
    let path = place.file(&trace, "events.jsonl");
    let torn = [std::fs::read(&path).unwrap(), b"{\"v\":1,\"id\":99".to_vec()].concat();
    std::fs::write(&path, &torn).unwrap();
    place.ok(&["approve", &trace]);
    assert!(place.log(&trace) == torn);
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(place.events(&trace).iter().filter(|event| event["type"] == "tail_cut").count(), 1);
}

#[test]
fn a_denial_wins_over_an_approval_that_nobody_has_read() {
    let (place, server, trace) = parked();
    place.ok(&["approve", &trace]);
    assert!(
        place.ok(&["show"]).contains("call 2.0 (bash: echo done >> effects) has been approved and has not started")
    );
    let told = place.ok(&["deny", &trace, "no, wait"]);
    assert!(told.starts_with(&format!("denied call 2.0 of {trace}")), "{told}");
    for again in ["approve", "deny"] {
        place
            .run(&[again, &trace])
            .fails(1, "call 2.0 (bash: echo done >> effects) has been denied; continue with: mainpath resume");
    }
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str(), place.text("effects").as_str()), (0, "The end.\n", ""), "{done:#?}");
    assert!(observed(&server).contains("A person denied this call: no, wait"), "{}", observed(&server));
    place.ok(&["replay"]);
}

#[test]
fn an_approval_with_other_arguments_makes_no_rule_of_the_old_ones() {
    let (place, _server, trace) = parked();
    place.ok(&["approve", &trace, "--arguments", r#"{"command": "echo other >> effects"}"#]);
    place
        .run(&["approve", &trace, "--for", "always"])
        .fails(1, "call 2.0 (bash: echo done >> effects) has been approved");
    assert!(!place.home.join("policy.toml").exists());
    assert_eq!(place.run(&["resume", &trace, "--park"]).code, 0);
    assert_eq!(place.text("effects"), "other\n");
}

#[test]
fn arguments_that_the_tool_would_not_take_are_refused_and_the_call_goes_on_waiting() {
    let (place, server, trace) = parked();
    let done = place.run(&["approve", &trace, "--arguments", r#"{"comand": "ls"}"#]);
    done.fails(1, "Wrong arguments for bash:");
    assert!(done.err.contains("is still waiting"), "{done:#?}");
    assert!(place.ok(&["show"]).contains("call 2.0 (bash: echo done >> effects) needs approval"));
    let done = place.run(&["approve", &trace, "--arguments", r#"{"command": "sudo rm -rf /"}"#]);
    done.fails(1, "is denied by the rule");
    assert!(done.err.contains("is still waiting"), "{done:#?}");
    // What rules deny by the time the approval is read stays on record, and the rule is named.
    place.ok(&["approve", &trace, "--arguments", r#"{"command": "touch made"}"#]);
    let rule = "[[rule]]\nid = \"rule.touch\"\ndecision = \"deny\"\nmatch = \"bash(touch *)\"\n";
    std::fs::write(place.home.join("policy.toml"), rule).unwrap();
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    let events = place.events(&trace);
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap()["data"].clone();
    let (granted, resolved) = (of("approval_granted"), of("call_resolved"));
    assert_eq!((&granted["by"], &resolved["cause"]), (&json!("user"), &json!("denied_by_rule")), "{resolved}");
    assert!(resolved["by"].as_str().unwrap().starts_with("rule."), "{resolved}");
    assert!(observed(&server).contains("Denied with these arguments: "), "{}", observed(&server));
}

#[test]
fn every_call_that_waits_is_named_in_a_command_that_works() {
    let two = bash("echo one >> effects").and_call("bash", json!({"command": "echo two >> effects"}));
    let (place, server) = (Place::new(), scripted(vec![two, Answer::text("The end.")]));
    let done = place.run_on(&server, &["--park", "Do it."]);
    let trace = place.trace();
    for (call, word) in [("2.0", "one"), ("2.1", "two")] {
        let how = format!(
            "call {call} (bash: echo {word} >> effects) needs approval: mainpath approve {trace} --call {call} && mainpath \
             resume {trace}"
        );
        assert!(done.code == 5 && done.err.contains(&how), "{how}: {done:#?}");
    }
    // Who has to choose sees between what.
    let both = "wait: 2.0 (bash: echo one >> effects), 2.1 (bash: echo two >> effects); choose one with --call";
    place.run(&["approve", &trace]).fails(2, both);
    place.ok(&["approve", &trace, "--call", "2.0"]);
    // The one that is left needs no name.
    place.ok(&["approve", &trace]);
    assert_eq!(place.run(&["resume", &trace, "--park"]).code, 0);
    assert_eq!(place.text("effects"), "one\ntwo\n");
}

#[test]
fn approving_twice_is_as_once() {
    let (place, _server, trace) = parked();
    place.ok(&["approve", &trace]);
    place
        .run(&["approve", &trace])
        .fails(1, "call 2.0 (bash: echo done >> effects) has been approved and has not started; continue with");
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(place.text("effects"), "done\n");
}

#[test]
fn without_a_person_a_change_is_denied_and_the_model_goes_on() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo done > effects"), Answer::text("Then not.")]));
    let done = place.run_on(&server, &["Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Then not.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "");
    assert!(observed(&server).contains("--yes"), "{}", observed(&server));
    let trace = place.trace();
    let how = format!(
        "or approve this call later. To approve it: mainpath approve {trace} --call 2.0 && mainpath resume {trace}\n"
    );
    assert!(done.err.contains("✗ denied by ") && done.err.contains(&how), "{}", done.err);
    assert!(!observed(&server).contains("mainpath approve"), "{}", observed(&server));
}

#[test]
fn a_denied_call_can_be_approved_later_and_is_then_made_just_as_it_was() {
    let server = scripted(vec![
        bash("echo done >> effects; echo oops >&2"),
        Answer::text("I may not."),
        Answer::text("Done after all."),
    ]);
    let place = Place::new();
    let model = server.model();
    // Nobody can be asked.
    let first = place.run(&["run", "-m", &model, "Do it."]);
    assert_eq!((first.code, first.out.as_str(), place.text("effects").as_str()), (0, "I may not.\n", ""), "{first:#?}");
    let said = place.ok(&["approve"]);
    assert!(said.starts_with("approved call 2.0 of "), "{said}");
    place.run(&["approve", "--call", "3.0"]).fails(1, "there is no call 3.0 in ");
    let already = "call 2.0 (bash: echo done >> effects; echo oops >&2) has been approved";
    place.run(&["approve"]).fails(1, &format!("{already} and has not started; continue with: mainpath resume "));
    place.run(&["approve", "--call", "2.0"]).fails(1, &format!("{already} already; continue with: mainpath resume "));
    assert!(said.contains("(bash: echo done >> effects; echo oops >&2)"), "{said}");
    let done = place.run(&["resume"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done after all.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "done\n", "once");
    // It has a number of its own by now, and is told by its name all the same.
    let made = "→ bash: echo done >> effects; echo oops >&2 (approved after the denial of call 2.0)";
    assert!(done.err.contains(made) && done.err.contains("✓ bash ("), "{}", done.err);
    let messages = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(messages.contains("has approved the call 2.0 of bash, which was denied."), "{messages}");
    assert!(messages.contains("[stderr]\\noops\\n[exit code 0]"), "{messages}");
    // Who approved what is on record, and it cannot be had twice.
    let trace = place.trace();
    let of = |name: &str| -> Vec<Value> {
        place.events(&trace).iter().filter(|event| event["type"] == name).map(|event| event["data"].clone()).collect()
    };
    assert_eq!(
        (of("approval_granted")[0]["call"].clone(), of("call_reopened")[0]["of"].clone()),
        (json!("2.0"), json!("2.0"))
    );
    let output = of("call_resolved").pop().unwrap()["output"].clone();
    assert_eq!(output["command"], json!({"exit_code": 0, "stdout_bytes": 0, "stderr_bytes": 5}));
    place.run(&["approve"]).fails(1, "nothing to approve in ");
    place.run(&["approve", "--call", "2.0"]).fails(1, &format!("{already} already, and ran as call 5.0"));
    let made = "call 5.0 (bash: echo done >> effects; echo oops >&2) has already run";
    place.run(&["approve", "--call", "5.0"]).fails(1, made);
    place.ok(&["verify"]);
    place.ok(&["replay"]);
    assert!(place.ok(&["show"]).contains("has approved the call 2.0"), "{}", place.ok(&["show"]));
    exports_say_so(&place, &trace);
}

#[test]
fn after_a_person_denied_a_call_the_command_that_approves_it_is_offered() {
    let answers = vec![bash("echo one >> effects"), bash("echo two >> effects"), Answer::text("Done.")];
    let (place, server) = (Place::new(), scripted(answers));
    let done = place.run_on(&server, &["--park", "--repeated-failure-limit", "2", "Do it."]);
    assert_eq!(done.code, 5, "{done:#?}");
    let trace = place.trace();
    place.ok(&["deny", &trace, "Not now."]);
    // The run is parked and has not read the denial yet.
    let then = format!(
        "has been denied; continue with: mainpath resume {trace}; to run it after all, after that: \
         mainpath approve {trace} --call 2.0 --reopen && mainpath resume {trace}"
    );
    for args in [vec!["approve", &trace], vec!["approve", &trace, "--call", "2.0", "--reopen"]] {
        place.run(&args).fails(1, &then);
    }
    assert!(place.ok(&["export", &trace]).contains(&then));
    assert_eq!(place.run(&["resume", &trace, "--park"]).code, 5);
    place.ok(&["deny", &trace, "Not now."]);
    let how = format!("mainpath approve {trace} --call 4.0 --reopen && mainpath resume {trace}");
    let done = place.run(&["resume", &trace, "--park"]);
    done.fails(4, &format!("the run ended: repeated failure; approve call 4.0: {how}"));
    // The command without it says the same.
    place.run(&["approve", &trace, "--call", "4.0"]).fails(1, &how);
    place.ok(&["approve", &trace, "--call", "4.0", "--reopen"]);
    assert_eq!((place.run(&["resume", &trace]).code, place.text("effects").as_str()), (0, "two\n"));
}

#[test]
fn of_several_calls_that_a_person_denied_the_option_that_undoes_that_is_named() {
    let both = bash("echo one").and_call("bash", json!({"command": "echo two"}));
    let (place, server) = (Place::new(), scripted(vec![both, Answer::text("Done.")]));
    assert_eq!(place.run_on(&server, &["--park", "Do it."]).code, 5);
    for call in ["2.0", "2.1"] {
        place.ok(&["deny", "--call", call]);
    }
    assert_eq!(place.run(&["resume"]).code, 0);
    let how = "choose one with --call, and with --reopen if a person denied it";
    place.run(&["approve"]).fails(2, how);
}

#[test]
fn of_several_denied_calls_those_are_named_that_nobody_has_approved_yet() {
    let three = ["one", "two", "three"].map(|word| bash(&format!("echo {word} >> effects")));
    let mut answers = three.to_vec();
    answers.extend(["I may not.", "One.", "All."].map(Answer::text));
    let (place, server) = (Place::new(), scripted(answers));
    let model = server.model();
    assert_eq!(place.run(&["run", "-m", &model, "Do it."]).code, 0);
    place.ok(&["approve", "--call", "2.0"]);
    let two = "were denied: 4.0 (bash: echo two >> effects), 6.0 (bash: echo three >> effects); choose one with --call";
    place.run(&["approve"]).fails(2, two);
    assert_eq!(place.run(&["resume"]).code, 0);
    // It was made, and nobody has said anything since the others were denied.
    place.run(&["approve"]).fails(2, two);
    place.ok(&["approve", "--call", "4.0"]);
    place.ok(&["approve"]);
    assert_eq!(place.run(&["resume"]).code, 0);
    assert_eq!(place.text("effects"), "one\ntwo\nthree\n");
    place.run(&["approve"]).fails(1, "nothing to approve in ");
    place
        .run(&["deny", "--call", "6.0"])
        .fails(1, "call 6.0 (bash: echo three >> effects) is not waiting for approval");
}

#[test]
fn a_tool_that_a_run_was_not_given_is_named_and_so_is_the_flag_that_gives_it() {
    let (place, server) = (
        Place::new(),
        scripted(vec![
            bash("echo a >> effects"),
            bash("echo b >> effects"),
            bash("echo c >> effects"),
            Answer::text("Done."),
        ]),
    );
    let flags = ["--tools", "read_text_file", "--repeated-failure-limit", "2", "Do it."];
    let done = place.run_on(&server, &flags);
    let trace = place.trace();
    let not_given = "The tool \"bash\" is not among the tools of this run.";
    assert!(done.err.contains(not_given) && observed(&server).contains("not among the tools of this run"), "{done:#?}");
    let with = format!("mainpath resume {trace} --tools read_text_file,bash");
    done.fails(
        4,
        &format!("the run ended: repeated failure; bash is not among the tools of this run; to add it: {with}"),
    );
    assert!(
        done.report().contains("tools that this run does not have were called in 2 turns in a row."),
        "{}",
        done.err
    );
    let told = "Denied: bash × 2 (not among the tools of this run).";
    let report = done.report();
    assert!(report.contains(told) && !report.contains("Approve") && !report.contains("unknown"), "{}", done.err);
    assert!(
        done.report().contains("Give the run the tools that it called and does not have (--tools): bash."),
        "{}",
        done.out
    );
    // An approval does not help, and says what does.
    let why = |call: &str| {
        format!("call {call} was denied because bash is not among the tools of this run; to add it: {with}")
    };
    place.run(&["approve"]).fails(1, &why("4.0"));
    place.run(&["approve", "--call", "2.0"]).fails(1, &why("2.0"));
    let again = place.run(&["resume", &trace, "--tools", "read_text_file,bash", "--yes"]);
    assert_eq!((again.code, place.text("effects").as_str()), (0, "c\n"), "{again:#?}");
}

#[test]
fn a_call_that_is_made_after_its_denial_counts_in_checks_statistics_and_restores() {
    let server =
        scripted(vec![bash("echo done >> effects"), Answer::text("I may not."), Answer::text("Done after all.")]);
    let place = Place::new();
    let model = server.model();
    assert_eq!(place.run(&["run", "-m", &model, "Do it."]).code, 0);
    let replay = |args: &[&str]| place.run(&[&["policy", "replay"], args].concat());
    let order = ["--order", "bash(echo other *)", "bash(cargo test *)"];
    assert_eq!([replay(&["--most", "bash", "0"]).code, replay(&order).code], [0, 0], "it was denied, and not made");
    let other = json!({"command": "echo other >> effects"}).to_string();
    place.ok(&["approve", "--arguments", &other]);
    assert_eq!(place.run(&["resume"]).code, 0);
    assert_eq!(place.text("effects"), "other\n");
    let broken = |args: &[&str]| {
        let done = replay(args);
        (done.code, done.out.lines().find(|line| line.starts_with('✗')).map(String::from))
    };
    let told = |problem: &str| (6, Some(format!("✗ call 5.0: {problem}")));
    assert_eq!(
        broken(&["--most", "bash", "0"]),
        told("bash was called 1 times, 0 are allowed in a run"),
        "in the run that made it"
    );
    let problem = "bash(echo other *) was called, and no bash(cargo test *) had succeeded before it";
    assert_eq!(broken(&order), told(problem));
    assert_eq!(broken(&["--max-calls", "0"]).1.unwrap(), "✗ run 2: the run took 1 calls, 0 are allowed");
    // What a person had it made with is judged as well.
    let judged = replay(&["--deny", "bash(echo other *)"]).out;
    assert!(judged.contains("2.0 bash: echo other >> effects\n    then "), "{judged}");
    assert!(judged.contains(", now deny by run.deny.1\n") && judged.contains(": 2 calls were checked; "), "{judged}");
    let counted: Vec<Value> = place.ok(&["stats", "--json"]).lines().map(parsed).collect();
    let bash = &counted.iter().find(|line| line["tool"] == "bash").unwrap()["stats"];
    let counts = ["calls", "denied", "ok", "ran"].map(|name| bash[name].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 1, 1], "{bash}");
    assert_eq!(
        parsed(&std::fs::read_to_string(place.file(&place.trace(), "meta.json")).unwrap())["used_tools"]["bash"]["count"],
        1
    );
    let restored = place.ok(&["restore", &place.trace(), "--to", "4"]);
    assert!(restored.contains("1 command has run since without --snapshots"), "{restored}");
}

/// Every form of an export says that the call was approved, and what came of it; and no call in it lacks its result or the reverse.
fn exports_say_so(place: &Place, trace: &str) {
    let (approved, oops) = ("has approved the call 2.0 of bash, which was denied.", "oops");
    for format in ["markdown", "json", "neutral", "openai", "anthropic", "gemini"] {
        let text = place.ok(&["export", "--format", format]);
        assert!(text.contains(approved) && text.contains(oops), "{format}: {text}");
    }
    for format in ["agent-run", "trace-dir"] {
        let folder = place.work.join(place.ok(&["export", "--format", format, "--out", format]).trim());
        let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
        assert_eq!(events.contains("call_reopened"), format == "agent-run", "{events}");
    }
    let messages = place.work.join("trace-dir").join(trace).join("messages");
    let read = |n: u32| -> Option<Value> {
        let text = std::fs::read(messages.join(format!("{trace}-{n:04}.json"))).ok()?;
        serde_json::from_slice(&text).ok()
    };
    let all: Vec<Value> = (1..).map_while(read).collect();
    let of = |message: &Value| (message["role"].as_str().unwrap().to_string(), message["content"].to_string());
    let (said, result) = (of(&all[4]), of(&all[5]));
    assert!(said.0 == "user" && said.1.contains(approved), "{said:?}");
    assert!(result.0 == "user" && result.1.contains("[The result of the approved call of bash:]"), "{result:?}");
    assert!(result.1.contains(oops) && all[5]["duration_ms"].is_u64(), "{result:?}");
    let made = all.iter().flat_map(|message| message["content"]["tool_calls"].as_array().cloned().unwrap_or_default());
    let made: Vec<Value> = made.map(|call| call["id"].clone()).collect();
    let answered: Vec<Value> =
        all.iter().map(|message| message["tool_call_id"].clone()).filter(|id| !id.is_null()).collect();
    assert_eq!(made, answered);
}

#[test]
fn a_tool_message_has_its_duration_in_every_form_of_ours() {
    let place = Place::new();
    let server = scripted(vec![bash("sleep 0.3"), Answer::call("goal", json!({"op": "show"})), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let took = |messages: &Value| -> Vec<(String, Option<u64>)> {
        let messages = messages.as_array().unwrap().iter();
        messages.map(|one| (one["role"].as_str().unwrap().into(), one["duration_ms"].as_u64())).collect()
    };
    let neutral = place.ok(&["export", "--format", "neutral"]);
    let whole = parsed(&place.ok(&["export", "--format", "json"]));
    for messages in [parsed(&neutral), whole["messages"].clone()] {
        let took = took(&messages);
        let roles: Vec<&str> = took.iter().map(|(role, _)| role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool", "assistant"]);
        assert_eq!((took[0].1, took[4].1), (None, Some(0)), "{took:?}");
        assert!(took[2].1.is_some_and(|ms| (300..60_000).contains(&ms)) && took[1].1.is_some(), "{took:?}");
    }
    let shown = place.ok(&["export"]);
    let took = shown.split_once("\n## Result #3 (").and_then(|(_, rest)| rest.split_once(" s)")?.0.parse::<f64>().ok());
    assert!(took.is_some_and(|seconds| seconds >= 0.3), "{shown}");
    // Vendors refuse what they do not know.
    for format in ["openai", "anthropic", "gemini"] {
        let text = place.ok(&["export", "--format", format]);
        assert!(!text.contains("duration_ms"), "{format}: {text}");
    }
    // What is read back is the same conversation.
    std::fs::write(place.work.join("held.json"), neutral).unwrap();
    place.ok(&["import", "held.json"]);
    let imported = parsed(&place.ok(&["export", "--format", "neutral"]));
    assert_eq!(imported[2]["parts"][0]["content"], whole["messages"][2]["parts"][0]["content"]);
}

#[test]
fn a_call_that_a_rule_denies_stays_denied_whoever_approves_it() {
    let server = scripted(vec![
        bash("git push"),
        bash("echo x >> effects"),
        Answer::text("I may not."),
        Answer::text("Still not."),
    ]);
    let place = Place::new();
    let model = server.model();
    assert_eq!(place.run(&["run", "-m", &model, "--deny", "bash(git push *)", "Do it."]).code, 0);
    place.run(&["approve"]).fails(2, "several calls of ");
    place.ok(&["approve", "--call", "2.0"]);
    let done = place.run(&["resume", "--deny", "bash(git push *)"]);
    assert!(done.code != 0 || done.out == "I may not.\n", "{done:#?}");
    let refused = place.events(&place.trace()).into_iter().rfind(|event| event["type"] == "mail_refused").unwrap();
    assert!(refused["data"]["problem"].as_str().unwrap().contains("is now denied by the rule run.deny.1"), "{refused}");
    assert_eq!(place.text("effects"), "");
}

#[test]
fn a_run_that_ended_for_its_denials_says_to_approve_and_not_to_resume() {
    let again = "echo done >> effects";
    let server = scripted(vec![bash(again), bash(again), bash(again), bash(again), bash(again), bash(again)]);
    let place = Place::new();
    let done = place.run_on(&server, &["--repeated-failure-limit", "2", "Do it."]);
    let trace = place.trace();
    let last = "4.0";
    done.fails(
        4,
        &format!(
            "the run ended: repeated failure; approve call {last}: mainpath approve {trace} --call {last} && mainpath resume {trace}"
        ),
    );
    // What a rule denies, no approval overcomes.
    let done = place.run_on(&server, &["--repeated-failure-limit", "2", "--deny", "bash(echo *)", "Do it."]);
    done.fails(4, "a rule denies call 4.0; change the rules (mainpath policy list), then mainpath resume ");
}

#[test]
fn whoever_decides_sees_all_of_a_call_wherever_it_is_shown() {
    let command = format!("echo harmless{} && rm -rf target # \u{202e}\u{200b}", " ".repeat(300));
    let shown = format!("$ echo harmless{} && rm -rf target # <U+202E><U+200B>", " ".repeat(300));
    let (place, server) = (Place::new(), scripted(vec![bash(&command), Answer::text("The end.")]));
    let parked = place.run_on(&server, &["--park", "Do it."]);
    let trace = place.trace();
    assert!(parked.err.contains(&format!("│ {shown}\n")), "{parked:#?}");
    for args in [&["show"][..], &["export", "--format", "markdown"], &["watch"]] {
        let done = place.run(args);
        assert!(format!("{}{}", done.out, done.err).contains(&shown), "{args:?}: {done:#?}");
    }
    let approved = place.run(&["approve", &trace]);
    assert!(approved.code == 0 && approved.err.contains(&shown), "{approved:#?}");
}

#[test]
fn a_file_that_would_be_overwritten_is_shown_as_what_changes() {
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let write = json!({"path": "a.txt", "content": "one\n2\nthree\n"});
    let server = scripted(vec![Answer::call("write_text_file", write), Answer::text("The end.")]);
    let parked = place.run_on(&server, &["--park", "Do it."]);
    let change = "  │ path: a.txt\n  │   one\n  │ - two\n  │ + 2\n  │   three\n";
    assert!(parked.code == 5 && parked.err.contains(change), "{parked:#?}");
    assert!(place.ok(&["show"]).contains("│ - two\n   │ + 2\n"));
}

#[test]
fn a_yes_that_is_given_later_covers_what_waits_and_nothing_that_always_asks() {
    let (place, server, trace) = parked();
    let done = place.run(&["resume", &trace, "--yes"]);
    assert!(done.code == 0 && done.err.contains("is approved by --yes"), "{done:#?}");
    assert_eq!((place.text("effects").as_str(), server.count()), ("done\n", 2));

    let (place, server) = (Place::new(), scripted(vec![bash("echo x >> effects"), Answer::text("Done.")]));
    std::fs::write(
        place.root().join("always.toml"),
        "[[rule]]\nid = \"look\"\ndecision = \"ask\"\nalways = true\nmatch = [\"bash(echo *)\"]\n",
    )
    .unwrap();
    let rules = place.root().join("always.toml").display().to_string();
    assert_eq!(place.run_on(&server, &["--park", "--policy", &rules, "Do it."]).code, 5);
    place.run(&["resume", &place.trace(), "--yes"]).fails(5, "needs approval");
    assert!(!place.work.join("effects").exists());
}

#[test]
fn where_calls_waited_for_a_person_they_wait_again_after_a_resume() {
    let answers = vec![bash("echo one >> effects"), bash("echo two >> effects"), Answer::text("The end.")];
    let (place, server) = (Place::new(), scripted(answers));
    assert_eq!(place.run(&["run", "-m", &server.model(), "--park", "Do it twice."]).code, 5);
    place.ok(&["approve"]);
    let done = place.run(&["resume"]);
    assert_eq!(done.code, 5, "{done:#?}");
    place.ok(&["approve"]);
    assert_eq!((place.run(&["resume"]).code, place.text("effects").as_str()), (0, "one\ntwo\n"));
}
