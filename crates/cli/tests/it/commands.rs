//! What each command does, prints and exits with.

use crate::approvals::observed;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer, RecordedRequest, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

/// What the last message of the person said, in a request.
fn said(request: &RecordedRequest) -> String {
    let messages = request.body()["messages"].as_array().unwrap().clone();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    match &last["content"] {
        Value::String(text) => text.clone(),
        parts => parts.as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect(),
    }
}

fn simple() -> ModelServer {
    scripted(vec![Answer::text("The answer.")])
}

#[test]
fn the_task_comes_from_the_argument_from_standard_input_or_from_both() {
    let (place, server) = (Place::new(), simple());
    let model = server.model();
    let cases: [(&[&str], Option<&str>, &str); 5] = [
        (&["Argument."], None, "Argument."),
        (&["Argument."], Some(""), "Argument."),
        (&[], Some("From a pipe."), "From a pipe."),
        (&["-"], Some("From a pipe."), "From a pipe."),
        (&["Instruction."], Some("Context."), "Context.\n\nInstruction."),
    ];
    for (args, stdin, expected) in cases {
        let args = [&["run", "-m", &model], args].concat();
        let done = match stdin {
            Some(stdin) => place.run_with(&args, stdin.as_bytes()),
            None => place.run(&args),
        };
        assert_eq!((done.code, done.out.as_str()), (0, "The answer.\n"), "{args:?}: {done:#?}");
        assert_eq!(said(&server.requests().pop().unwrap()), expected, "{args:?}");
    }
    assert_eq!(server.count(), 5);
}

#[test]
fn without_a_task_nothing_is_begun() {
    let (place, server) = (Place::new(), simple());
    for (args, stdin) in [(vec!["run"], ""), (vec!["run", "-"], " \n"), (vec!["run", " "], "")] {
        let args = [args, vec!["-m", "scripted"]].concat();
        place.run_with(&args, stdin.as_bytes()).fails(2, "no task given");
    }
    assert_eq!((place.traces().len(), server.count()), (0, 0));
}

#[test]
fn exec_is_another_name_of_run() {
    let (place, server) = (Place::new(), simple());
    assert_eq!(place.ok(&["exec", "--model", &server.model(), "Do it."]), "The answer.\n");
}

#[test]
fn a_trace_is_continued_by_being_the_newest_or_by_the_beginning_of_its_id() {
    let (place, server) = (Place::new(), simple());
    let newest =
        || parsed(place.ok(&["ls", "--json"]).lines().next().unwrap())["trace_id"].as_str().unwrap().to_string();
    place.run_on(&server, &["First."]);
    let first = newest();
    // The list goes by when a log was written, to the millisecond.
    wait_until("the clock goes on", || {
        let age = std::fs::metadata(place.file(&first, "events.jsonl")).unwrap().modified().unwrap().elapsed();
        age.is_ok_and(|age| age.as_millis() > 20)
    });
    place.run_on(&server, &["Second."]);
    let second = newest();
    assert_ne!(first, second);
    assert_eq!(place.ok(&["run", "-c", "More."]), "The answer.\n");
    let prefix = &first[..first.len() - 1];
    assert_eq!(place.ok(&["run", "--trace", prefix, "Still more."]), "The answer.\n");
    let runs = |trace: &str| place.events(trace).iter().filter(|event| event["type"] == "run_started").count();
    assert_eq!((runs(&first), runs(&second)), (2, 2));
    let requests: Vec<(usize, String)> = server.requests().iter().map(|r| (r.count("user"), said(r))).collect();
    let expected = [(1, "First."), (1, "Second."), (2, "More."), (2, "Still more.")];
    assert_eq!(requests, expected.map(|(n, text)| (n, text.to_string())));
}

#[test]
fn with_json_standard_output_holds_event_lines_and_nothing_else() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo hello"), Answer::text("The answer.")]));
    let done = place.run_on(&server, &["--json", "--yes", "Do it."]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:#?}");
    let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trace = place.trace();
    assert!(lines.iter().all(|line| line["trace_id"] == trace.as_str() && line["v"] == 1), "{done:#?}");
    let (durable, pieces): (Vec<&Value>, Vec<&Value>) = lines.iter().partition(|line| line["id"].is_u64());
    let kept = place.ok(&["show", "--events", &trace]);
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(durable, kept.iter().collect::<Vec<_>>());
    let is_piece =
        |line: &&&Value| line["type"].as_str().is_some_and(|name| name.ends_with("_delta") || name == "action_partial");
    assert_eq!(pieces.iter().filter(is_piece).count(), pieces.len(), "{pieces:#?}");
    let lines: Vec<Value> = durable.into_iter().cloned().collect();
    let names: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected = [
        "spec_changed",
        "message_queued",
        "run_started",
        "message_joined",
        "turn_started",
        "model_request",
        "model_response",
        "goal_added",
        "goal_updated",
        "action_planned",
        "action_validated",
        "action_started",
        "action_executed",
        "observation_recorded",
        "turn_finished",
        "turn_started",
        "model_request",
        "model_response",
        "run_finished",
    ];
    assert_eq!(names, expected);
}

#[test]
fn to_continue_means_the_last_trace_of_this_folder_and_never_the_demonstration() {
    let (place, server) = (Place::new(), simple());
    // The list goes by when a log was written, to the millisecond.
    let moment = || std::thread::sleep(std::time::Duration::from_millis(5));
    let demo = place.run(&["demo"]);
    assert!(demo.code == 0 && demo.err.contains("a SCRIPTED model plays"), "{demo:#?}");
    let model = server.model();
    let go_on = |place: &Place, more: &[&str]| place.run(&[&["run", "-c", "More."], more].concat());
    go_on(&place, &["--model", &model]).fails(1, "yet; start one with mainpath run \"TASK\"");
    go_on(&place, &[]).fails(1, "yet; start one with mainpath run \"TASK\"");
    // Its script answers no questions.
    let script = place.run(&["run", "--trace", &place.trace(), "More."]);
    script
        .fails(2, "is the demonstration, whose script answers no questions; to ask a real model: mainpath run --trace");
    moment();
    place.run_on(&server, &["First."]);
    let real = crate::support::newest(&place);
    let other = place.root().join("other");
    std::fs::create_dir(&other).unwrap();
    moment();
    let there = place.run(&["run", "-m", &model, "-C", other.to_str().unwrap(), "Elsewhere."]);
    assert_eq!(there.code, 0, "{there:#?}");
    let elsewhere = newest(&place);
    moment();
    let here = go_on(&place, &[]);
    assert!(here.code == 0 && here.err.contains(&format!("trace {real}\n")), "{here:#?}");
    let there = go_on(&place, &["-C", other.to_str().unwrap()]);
    assert!(there.code == 0 && there.err.contains(&format!("trace {elsewhere}\n")), "{there:#?}");
    let third = place.root().join("third");
    std::fs::create_dir(&third).unwrap();
    let mut command = place.command(&["run", "-c", "More."]);
    command.env("MAINPATH_MODEL", &model).current_dir(&third);
    let nowhere = finish(command, None);
    nowhere.fails(1, "no trace in ");
    assert!(nowhere.err.contains(&format!("mainpath run --trace {elsewhere} \"TASK\"")), "{nowhere:#?}");
}

#[test]
fn a_trace_is_found_by_any_part_of_its_id_that_no_other_has() {
    let (place, server) = (Place::new(), simple());
    place.run_on(&server, &["First."]);
    let first = newest(&place);
    place.run_on(&server, &["Second."]);
    let end = first.rsplit('-').next().unwrap();
    assert!(place.ok(&["show", end]).starts_with(&format!("trace   {first}\n")));
    place.run(&["show", &first[..4]]).fails(1, &format!("2 traces have {:?} in their id (", &first[..4]));
    place.run(&["show", "nothing-like-it"]).fails(1, "there is no trace \"nothing-like-it\"");
    // What cannot be taken back is not done to whichever changed last.
    place.run(&["clear"]).fails(2, "there are several traces; choose the one to clear: ");
}

#[test]
fn approve_finds_the_trace_that_waits() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done >> effects"), Answer::text("The end.")]);
    assert_eq!(place.run_on(&server, &["--park", "Do it."]).code, 5);
    let waits = newest(&place);
    let other = simple();
    std::thread::sleep(std::time::Duration::from_millis(5));
    place.run_on(&other, &["Something else."]);
    place.run(&["approve", &newest(&place)]).fails(1, &format!("; waiting elsewhere: {waits} "));
    assert!(place.ok(&["approve"]).starts_with(&format!("approved call 2.0 of {waits} ")));
}

#[test]
fn without_json_standard_output_holds_the_answer_alone_and_a_file_too_if_asked() {
    let answers = vec![Answer { text: "I look first.".into(), ..bash("echo hello") }, Answer::text("The\nanswer.")];
    let (place, server) = (Place::new(), scripted(answers));
    let file = place.root().join("answer.md");
    let done = place.run_on(&server, &["--yes", "-o", file.to_str().unwrap(), "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "The\nanswer.\n"), "{done:#?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "The\nanswer.\n");
    for words in [&format!("trace {}\n", place.trace()), "I look first.", "→ bash: echo hello\n", "hello\n", "✓ bash"]
    {
        assert!(done.err.contains(words), "{words:?} is not in {}", done.err);
    }
}

#[test]
fn the_list_names_every_trace_with_its_state_and_task() {
    let (place, server) = (Place::new(), simple());
    let nothing = place.run(&["ls"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""));
    assert!(nothing.err.contains("no traces yet"), "{nothing:#?}");
    assert_eq!(place.run(&["ls", "--json"]).err, "");
    place.run_on(&server, &["Count the\nfiles."]);
    let trace = place.trace();
    let list = place.ok(&["ls"]);
    assert!(list.starts_with(&format!("{trace}  completed")) && list.ends_with("Count the files.\n"), "{list}");
    let line = parsed(&place.ok(&["ls", "--json"]));
    let expected = [
        ("trace_id", json!(trace)),
        ("status", json!("completed")),
        ("finish_reason", json!("final")),
        ("turns", json!(1)),
        ("tokens", json!(15)),
        ("cost_micros", json!(0)),
        ("task", json!("Count the\nfiles.")),
    ];
    for (name, value) in expected {
        assert_eq!(line[name], value, "{name} in {line}");
    }
}

/// A run with one call; its messages are 1 to 4.
pub fn one_call() -> (Place, ModelServer, String) {
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "content of a\n").unwrap();
    let server = server(|request| match request.count("tool") {
        0 if request.n < 3 => Answer::call("read_text_file", json!({"path": "a.txt"})).into(),
        _ => Answer::text(&format!("Answer {}.", request.n)).into(),
    });
    let done = place.run_on(&server, &["Read a."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 2.\n"), "{done:#?}");
    let trace = place.trace();
    (place, server, trace)
}

#[test]
fn the_main_path_is_shown_with_calls_and_results() {
    let (place, server, trace) = one_call();
    let shown = place.ok(&["show"]);
    let (head, path) = shown.split_once("\n\n").unwrap();
    let head: Vec<&str> = head.lines().collect();
    let (work, model) = (place.work.display().to_string(), server.model());
    assert_eq!(
        head[..5],
        [
            &format!("trace   {trace}"),
            "name    Read a",
            "status  completed (final)",
            &format!("model   {model}"),
            &format!("folder  {work}"),
        ]
    );
    let expected = "#1 user\n   Read a.\n\n#2 assistant  (10 in, 5 out)\n   → read_text_file: a.txt\n\n#3 result\n   2.0 read_text_file Ok\n   \
                    content of a\n\n#4 assistant  (10 in, 5 out)\n   Answer 2.\n";
    let took = path.lines().find_map(|line| line.strip_prefix("#3 result")).unwrap();
    assert!(took.starts_with("  (") && took.ends_with(" s)"), "how long a call took: {took:?}");
    assert_eq!(path.replace(took, ""), expected);
}

#[test]
fn a_rewind_answers_again_and_the_tree_keeps_what_was_left() {
    let (place, server, trace) = one_call();
    let again = place.run(&["rewind", &trace, "1"]);
    assert_eq!((again.code, again.out.as_str()), (0, "Answer 3.\n"), "{again:#?}");
    let last = server.requests().pop().unwrap();
    assert_eq!((last.count("user"), last.count("assistant"), last.count("tool")), (1, 0, 0));
    let tree = place.ok(&["show", "--all", &trace]);
    let expected = "● #1 user  Read a.\n├╴○ #2 assistant  → read_text_file: a.txt\n│ ○ #3 result  2.0 read_text_file Ok \
                    content of a\n│ ○ #4 assistant  Answer 2.\n● #5 assistant  Answer 3.\n";
    assert_eq!(tree, expected);
    assert!(!place.ok(&["show", &trace]).contains("Answer 2."));
}

#[test]
fn a_rewind_with_a_task_goes_on_from_there() {
    let (place, server, trace) = one_call();
    let done = place.run(&["rewind", &trace, "#1", "Do something else."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 3.\n"), "{done:#?}");
    assert_eq!(said(&server.requests().pop().unwrap()), "Do something else.");
    let done = place.run(&["rewind", &trace, "0", "Begin anew."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 4.\n"), "{done:#?}");
    let last = server.requests().pop().unwrap();
    assert_eq!((last.count("user"), said(&last)), (1, "Begin anew.".to_string()));
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
}

#[test]
fn a_rewind_to_nowhere_changes_nothing() {
    let (place, server, trace) = one_call();
    place.run(&["rewind", &trace, "1"]);
    let (before, requests) = (place.log(&trace), server.count());
    place.run(&["rewind", &trace, "99"]).fails(2, "has no message 99");
    place.run(&["rewind", &trace, "4"]).fails(2, &format!("in a fork: mainpath fork {trace} --at 4"));
    place.run(&["rewind", &trace, "0"]).fails(2, "needs a new task");
    place.run(&["rewind", &trace, "one"]).fails(2, "expected the number of a message");
    assert!(place.log(&trace) == before && server.count() == requests);
}

#[test]
fn a_run_is_stopped_from_another_process_and_can_be_resumed() {
    let server = server(|request| match request.n {
        1 => bash("echo $$ > pid; sleep 30; echo late > late").into(),
        _ => Answer::text("Done after all.").into(),
    });
    let place = Place::new();
    let mut running = place.start_run(&server, &["--yes", "Sleep."]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n'));
    let trace = place.trace();
    assert_eq!(place.ok(&["stop", &trace]), format!("{trace} stops at the next checkpoint\n"));
    let done = running.end();
    assert_eq!(done.code, 130, "{done:#?}");
    assert!(done.report().starts_with("The run ended before a final answer (stopped)."), "{done:#?}");
    assert_eq!(place.tools(), Vec::<u32>::new());
    place.run(&["stop", &trace]).fails(1, "is not running");
    let resumed = place.run(&["resume", &trace, "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "Done after all.\n"), "{resumed:#?}");
    assert_eq!(place.text("late"), "");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

#[test]
fn a_run_that_nobody_drives_is_stopped_on_the_spot() {
    let (place, server) = (Place::new(), scripted(vec![bash("sleep 30"), Answer::text("Done.")]));
    let mut running = place.start_run(&server, &["--yes", "--json", "Sleep."]);
    running.event("action_started");
    running.kill();
    let trace = place.trace();
    assert_eq!(place.ok(&["stop"]), format!("{trace} has stopped\n"));
    assert!(place.ok(&["show"]).contains("status  stopped (stopped)"));
    assert_eq!(server.count(), 1);
}

/// A run that waits for an approval of `bash`.
#[test]
fn the_model_that_a_resume_names_answers_at_once_after_a_crash() {
    let place = Place::new();
    let (silent, other) = (server(|_| Reply::Stall(Answer::text("never"), 0)), scripted(vec![Answer::text("Here.")]));
    let running = place.start_run(&silent, &["--json", "Do it."]);
    wait_until("the request is made", || silent.count() == 1);
    running.kill();
    let model = other.model();
    let done = place.run(&["resume", "-m", &model]);
    assert_eq!((done.code, done.out.as_str()), (0, "Here.\n"), "{done:#?}");
    assert_eq!((silent.count(), other.count()), (1, 1));
    place.ok(&["replay"]);
}

#[test]
fn what_nobody_reads_any_more_is_no_defect() {
    let place = Place::new();
    for args in ["doctor", "mcp list", "mcp trust"] {
        let mut command = std::process::Command::new("bash");
        place.surround(&mut command);
        let line = format!("set -o pipefail; {} {args} | true", env!("CARGO_BIN_EXE_mainpath"));
        let done = command.args(["-c", &line]).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!err.contains("defect"), "{args}: {err}");
    }
}

#[test]
fn a_limit_ends_the_run_with_an_answer_that_says_where_it_stands() {
    let endless = || server(|request| bash(&format!("echo {} >> effects", request.n)).into());
    let cases: [(&[&str], &str); 3] = [
        (&["--max-turns", "2"], "turn limit"),
        (&["--max-calls", "2"], "call limit"),
        (&["--max-tokens", "4000"], "tokens used up"),
    ];
    for (limit, reason) in cases {
        let (place, server) = (Place::new(), endless());
        let done = place.run_on(&server, &[limit, &["--yes", "Do it."]].concat());
        assert_eq!(done.code, 4, "{done:#?}");
        let begin = format!("The run ended before a final answer ({reason}).\n\nDone: ");
        assert!(done.report().starts_with(&begin) && done.report().contains("\nNext: "), "{done:#?}");
        assert_eq!(done.own_lines().len(), 1, "{done:#?}");
        assert!(done.own_lines()[0].contains(reason), "{done:#?}");
        if reason != "tokens used up" {
            assert_eq!(place.text("effects"), "1\n2\n");
        }
        place.ok(&["verify"]);
    }
}

#[test]
fn a_time_limit_ends_tool_and_run() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo $$ > pid; sleep 30"), Answer::text("Never.")]));
    let done = place.run_on(&server, &["--timeout", "1s", "--yes", "Do it."]);
    assert_eq!(done.code, 4, "{done:#?}");
    assert!(done.report().starts_with("The run ended before a final answer (time limit)."), "{done:#?}");
    assert_eq!(place.tools(), Vec::<u32>::new());
}

#[test]
fn a_time_limit_of_calls_ends_the_call_and_the_run_goes_on() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo $$ > pid; sleep 30"), Answer::text("It hung.")]));
    let done = place.run_on(&server, &["--call-timeout", "500ms", "--yes", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "It hung.\n"), "{done:#?}");
    assert!(observed(&server).contains("its time was up"), "{}", observed(&server));
}

#[test]
fn after_a_limit_the_trace_goes_on() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo 1 >> effects"), Answer::text("The end.")]));
    assert_eq!(place.run_on(&server, &["--max-turns", "1", "--yes", "Do it."]).code, 4);
    let done = place.run(&["resume", "--yes"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "1\n");
    place.run(&["resume", "--yes"]).fails(1, "ended with its final answer");
}

#[test]
fn the_doctor_names_every_part_of_the_sandbox() {
    let place = Place::new();
    let said = place.ok(&["doctor"]);
    for part in ["namespaces", "private file system", "network namespace"] {
        let line = said.lines().find(|line| line.contains("sandbox: ") && line.contains(part));
        assert!(line.is_some_and(|line| line.starts_with("ok ")), "{part}: {said}");
    }
    // These are not needed: what they would add is said where they are missing.
    assert!(said.contains("sandbox: cgroups: ") && said.contains("sandbox: Landlock: "), "{said}");
    assert!(!said.contains("NOT sandboxed") && !said.contains("FAIL"), "{said}");
    assert!(said.contains("\nwarn no model is set up; "), "{said}");
    assert!(!said.contains("in this folder"), "{said}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mainpath"));
    place.surround(&mut command);
    command.arg("doctor").current_dir("/dev");
    let said = finish(command, None).out;
    let line = "warn no command that may write can be started in this folder, since /dev belongs to the system: work in another (--workspace)\n";
    assert!(said.contains(line), "{said}");
    assert!(place.traces().is_empty());
}

#[test]
fn somebody_who_no_longer_reads_is_no_error() {
    let (place, _server, trace) = one_call();
    let mut process = place.start(&["show", "--events", &trace]);
    process.find(|_| true);
    assert!(matches!(process.end().code, 0), "it was read to the end");
    let mut command = std::process::Command::new("sh");
    place.surround(&mut command);
    let program = env!("CARGO_BIN_EXE_mainpath");
    command
        .args(["-c", &format!("{program} show --events {trace} | head -c 10 >/dev/null; {program} schema | head -1")]);
    let done = finish(command, None);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:#?}");
}

#[test]
fn a_watcher_that_is_killed_takes_no_other_trace_with_it() {
    let slow = scripted(vec![bash("sleep 0.5; echo done > effects"), Answer::text("The end.")]);
    let (place, other) = (Place::new(), scripted(vec![bash("sleep 30"), Answer::text("Never.")]));
    let mut first = place.start_run(&slow, &["--yes", "Be slow."]);
    let mut second = place.start_run(&other, &["--yes", "--json", "Sleep."]);
    second.event("action_started");
    second.signal(Signal::KILL);
    assert_eq!(second.end().code, 137);
    let done = first.end();
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(place.text("effects"), "done\n");
}

#[test]
fn a_pin_is_said_to_be_a_pin() {
    let (place, _server, trace) = one_call();
    place.run(&["pin", &trace, ""]).fails(1, &format!("the pins of {trace} are unchanged: a pin needs words"));
    place.run(&["pin", &trace, "--remove", "3"]).fails(1, "are unchanged: there is no pin 3");
    assert_eq!(place.ok(&["pin", &trace, "Count herons."]), "1. Count herons.\n");
    place.ok(&["pin", &trace, "--remove", "1"]);
    let seen = place.run(&["watch", "--from", "1"]).err;
    assert!(seen.contains("· user has pinned a sentence\n") && seen.contains("· user has removed a pin\n"), "{seen}");
    assert!(!seen.contains("changed the plan"), "{seen}");
}

#[test]
fn what_is_cleared_takes_its_pins_along_and_says_so() {
    let (place, _server, trace) = one_call();
    let again = format!("removed too; to pin again: mainpath pin {trace} \"…\"\n");
    assert!(!place.ok(&["clear", &trace]).contains("pin"), "there were none");
    for pin in ["Count herons.", "Write Markdown."] {
        place.ok(&["pin", &trace, pin]);
    }
    // Pins alone are something to clear.
    assert!(place.ok(&["clear", &trace]).ends_with(&format!("\n2 pins were {again}")));
    assert!(place.ok(&["pin", &trace]).contains(" has no pins; to pin a sentence: "));
    place.run(&["clear", &trace]).fails(1, "there is nothing to clear in ");
    place.ok(&["pin", &trace, "Count herons."]);
    assert!(place.ok(&["clear", &trace]).ends_with(&format!("\n1 pin was {again}")));
    // Whoever watches is told as well.
    let watched = place.run(&["watch", &trace, "--from", "1"]);
    assert!(
        watched.err.contains("· cleared; the conversation starts over\n· 2 pins were removed too; "),
        "{watched:#?}"
    );
}

#[test]
fn what_could_not_be_read_of_an_answer_is_said() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("A her\u{fffd}n."), Answer::text("A heron.")]));
    let said = "! 1 character was unreadable in the server's answer; each is shown as \u{fffd}";
    let done = place.run_on(&server, &["What is it?"]);
    assert!(done.code == 0 && done.err.contains(said), "{done:#?}");
    assert!(!place.run(&["run", "-c", "Again."]).err.contains("readable"));
}

#[test]
fn the_verdict_of_a_check_comes_before_what_was_not_checked() {
    let (place, _server, trace) = one_call();
    let said = place.ok(&["verify", &trace]);
    let at = |what: &str| said.lines().position(|line| line.starts_with(what));
    assert!(at("the chain verifies").is_some() && at("not checked") > at("the chain verifies"), "{said}");
}
