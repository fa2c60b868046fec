//! Going on from an earlier message, in the trace or in another one.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer, RecordedRequest};
use serde_json::Value;

/// user 1, assistant 2 with a call, result 3, answer 4. Answers count the requests.
fn told() -> (Place, ModelServer, String) {
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "content of a").unwrap();
    let server = server(|request| {
        match request.n {
            1 => Answer::call("read_text_file", serde_json::json!({"path": "a.txt"})),
            n => Answer::text(&format!("Answer {n}.")),
        }
        .into()
    });
    let done = place.run_on(&server, &["Read a."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 2.\n"), "{done:#?}");
    let trace = place.trace();
    (place, server, trace)
}

fn conversation(request: &RecordedRequest) -> String {
    request.body()["messages"].to_string()
}

/// The trace that is not this one.
fn other(place: &Place, trace: &str) -> String {
    let traces: Vec<String> = place.traces().into_iter().filter(|other| other != trace).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    traces[0].clone()
}

fn meta(place: &Place, trace: &str) -> Value {
    parsed(&std::fs::read_to_string(place.file(trace, "meta.json")).unwrap().replace('\n', " "))
}

#[test]
fn a_fork_goes_its_own_way_and_leaves_the_other_as_it_is() {
    let (place, server, trace) = told();
    let before = place.log(&trace);
    let done = place.run(&["fork", &trace, "--at", "3", "Now count the words."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 3.\n"), "{done:#?}");
    assert_eq!(place.log(&trace), before);
    let fork = other(&place, &trace);
    let told = conversation(server.requests().last().unwrap());
    let order = ["Read a.", "content of a", "Now count the words."].map(|words| told.find(words).unwrap());
    assert!(order.is_sorted() && !told.contains("Answer 2."), "{told}");
    assert_eq!(meta(&place, &fork)["forked_from"], serde_json::json!({"trace_id": trace, "sequence": 3}));
    // What was spent before was spent there.
    assert_eq!(
        (meta(&place, &fork)["total_tokens"].as_u64(), meta(&place, &trace)["total_tokens"].as_u64()),
        (Some(15), Some(30))
    );
    assert!(place.ok(&["stats", &trace]).contains("read_text_file"));
    assert!(!place.ok(&["stats", &fork]).contains("read_text_file"), "the call was made there");
    // It stands for itself.
    std::fs::remove_dir_all(place.file(&trace, "")).unwrap();
    place.ok(&["verify", &fork]);
    assert!(place.ok(&["replay", &fork]).contains(" 2 requests and "));
    assert_eq!(place.run(&["run", "--trace", &fork, "And then?"]).out, "Answer 4.\n");
}

#[test]
fn a_fork_without_a_task_answers_again_with_another_model_if_one_is_named() {
    let (place, server, trace) = told();
    let second = scripted(vec![Answer::text("Never."), Answer::text("By the other.")]);
    let done = place.run(&["fork", &trace, "--model", &second.model()]);
    assert_eq!((done.code, done.out.as_str()), (0, "By the other.\n"), "{done:#?}");
    let requests = second.requests();
    assert_eq!((requests.len(), requests[0].count("tool"), server.count()), (1, 1, 2));
    assert_eq!(second.violations(), Vec::<String>::new());
    place.ok(&["replay", &other(&place, &trace)]);
}

#[test]
fn a_fork_can_be_made_alone_and_gone_on_with_later() {
    let (place, server, trace) = told();
    let fork = place.ok(&["fork", &trace, "--turn", "1", "--no-run"]).trim().to_string();
    assert_eq!((fork.as_str(), server.count()), (other(&place, &trace).as_str(), 2));
    assert_eq!(place.run(&["resume", &fork]).out, "Answer 3.\n");
    assert_eq!(place.run(&["regenerate", &fork]).out, "Answer 4.\n");
    let last = server.requests().pop().unwrap();
    assert_eq!((last.count("user"), last.count("assistant"), last.count("tool")), (1, 1, 1));
    place.ok(&["verify", &fork]);
}

#[test]
fn a_fork_of_a_run_that_goes_on_takes_over_nothing_that_is_open() {
    let place = Place::new();
    let command = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done; echo done >> effects";
    let server = scripted(vec![bash(command), Answer::text("The end.")]);
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the tool runs", || place.text("began") == "x\n");
    let trace = place.trace();
    let done = place.run(&["fork", &trace, "Leave it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    let told = conversation(server.requests().last().unwrap());
    assert!(told.contains("Interrupted while it ran") && told.contains("Leave it."), "{told}");
    std::fs::write(place.work.join("go"), "").unwrap();
    assert_eq!((process.end().out.as_str(), place.text("effects").as_str()), ("The end.\n", "done\n"));
    assert_eq!(server.violations(), Vec::<String>::new());
    place.ok(&["verify", &other(&place, &trace)]);
}

#[test]
fn a_rewind_off_the_main_path_names_the_fork_that_goes_there() {
    let (place, _server, trace) = told();
    place.run(&["rewind", &trace, "--to", "1"]);
    let refused = place.run(&["rewind", &trace, "--to", "4", "It's another way"]);
    let offer = format!("mainpath fork {trace} --at 4 'It'\\''s another way'");
    refused.fails(2, &offer);
    // As it is printed, in a shell.
    let mut command = std::process::Command::new("sh");
    place.surround(&mut command);
    command.args(["-c", &format!("{}{}", env!("CARGO_BIN_EXE_mainpath"), offer.strip_prefix("mainpath").unwrap())]);
    let done = finish(command, None);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 4.\n"), "{done:#?}");
}

#[test]
fn a_rewind_goes_to_the_end_of_a_turn() {
    let (place, server, trace) = told();
    let done = place.run(&["rewind", &trace, "--turn", "1", "Otherwise."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 3.\n"), "{done:#?}");
    let last = server.requests().pop().unwrap();
    assert_eq!((last.count("user"), last.count("assistant"), last.count("tool")), (2, 1, 1));
    // The last turn's answer is what is answered again.
    assert_eq!(place.run(&["rewind", &trace, "--turn", "3"]).out, "Answer 4.\n");
}

#[test]
fn there_is_no_going_back_to_what_is_not_there() {
    let (place, server, trace) = told();
    let before = place.log(&trace);
    place.run(&["rewind", &trace, "--turn", "7"]).fails(2, "has no turn 7; its last turn is 2");
    place.run(&["rewind", &trace, "--goal", "7"]).fails(2, "has no goal 7");
    place.run(&["rewind", &trace, "--to", "1", "--turn", "1"]).fails(2, "cannot be used with");
    place.run(&["rewind", &trace, "--to", "1", "a", "b"]).fails(2, "unexpected argument \"b\"");
    place.run(&["fork", &trace, "--at", "99"]).fails(2, "has no message 99; its last is 4");
    place.run(&["fork", &trace, "--at", "0"]).fails(2, "needs a task");
    place.run(&["fork", &trace, "--model", "nonsense"]).fails(2, "unknown model");
    assert_eq!((place.log(&trace), place.traces().len(), server.count()), (before, 1, 2));
}

#[test]
fn two_forks_are_compared_from_where_they_part() {
    let (place, server, trace) = told();
    let long = "A long answer whose line has to be broken near the eightieth column, so that it can be read.";
    let other = scripted(vec![Answer::text("Never."), Answer::text(long)]);
    let fork = |args: &[&str]| {
        let before = place.traces();
        assert_eq!(place.run(&[&["fork", &trace, "--at", "3"], args].concat()).code, 0);
        place.traces().into_iter().find(|trace| !before.contains(trace)).unwrap()
    };
    let (a, b) = (fork(&["Count the words."]), fork(&["--model", &other.model()]));
    let expected = format!(
        "A  {a}  completed (final)
   {}
   a fork of {trace} at #3
B  {b}  completed (final)
   {}
   a fork of {trace} at #3

  3 messages in common
  #1 user  Read a.
  #2 assistant  → read_text_file: a.txt
  #3 result  2.0 read_text_file Ok content of a

A #4 user
A  Count the words.

A #5 assistant
A  Answer 3.

B #4 assistant
B  A long answer whose line has to be broken near the eightieth column, so that
B  it can be read.

main path             A          B
turns                 2          2
calls                 1          1
tokens in            20         20
tokens out           10         10
cost                  -          -
",
        server.model(),
        other.model()
    );
    let shown = place.ok(&["show", "--diff", &a, &b]);
    let (before, figures) = shown.split_once("working time").unwrap();
    assert_eq!(before, expected);
    assert!(figures.contains("15 tokens  15 tokens"), "{figures}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let same = place.ok(&["show", "--diff", &trace, &trace]);
    assert!(same.contains("the main paths are identical"), "{same}");
    let parted = place.ok(&["show", "--diff", &trace, &b]);
    assert!(parted.contains("   a fork of A at #3\n"), "{parted}");
    place.run(&["show", "--diff", &a]).fails(2, "2 values required");
    place.run(&["show", "--diff", &a, "nowhere"]).fails(1, "there is no trace");
}

#[test]
fn a_rewind_goes_to_where_a_goal_was_set() {
    let (place, server, trace) = told();
    place.ok(&["goal", &trace, "add", "Count the words"]);
    let done = place.run(&["run", "--trace", &trace, "Go on."]);
    assert_eq!(done.code, 0, "{done:#?}");
    // The first is the task itself.
    assert_eq!(place.run(&["rewind", &trace, "--goal", "2", "Otherwise."]).code, 0);
    let told = conversation(server.requests().last().unwrap());
    assert!(told.contains("Answer 2.") && told.contains("Otherwise.") && !told.contains("Go on."), "{told}");
    assert!(place.ok(&["goal", &trace]).contains("Count the words"), "it was set before");
}

#[test]
fn what_was_erased_is_in_no_fork_made_afterwards() {
    let (place, server, trace) = told();
    place.ok(&["erase", &trace, "--message", "4", "--yes"]);
    let done = place.run(&["fork", &trace, "--at", "3", "Once more."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let whole = place.ok(&["fork", &trace, "--no-run"]).trim().to_string();
    assert!(!String::from_utf8(place.log(&whole)).unwrap().contains("Answer 2."));
    place.ok(&["verify", &whole]);
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn a_fork_says_where_it_really_is_and_a_side_branch_has_none() {
    let (place, _server, trace) = told();
    let done = place.run(&["fork", &trace, "--at", "2", "--no-run"]);
    let told = "at #3, because #2 made calls and their results belong to it;";
    assert!(done.code == 0 && done.err.contains(told), "{done:#?}");
    let last = meta(&place, &trace)["last_sequence"].as_u64().unwrap();
    place.run(&["compact", &trace]);
    let prompt = (last + 1).to_string();
    place.run(&["rewind", &trace, &prompt, "Again."]).fails(2, "belongs to a side branch");
    place.run(&["fork", &trace, "--at", &prompt, "Again."]).fails(2, "belongs to a side branch");
}

#[test]
fn what_yes_allowed_holds_for_its_own_task_and_for_no_other() {
    let place = Place::new();
    let server = scripted(vec![
        bash("echo 1 >> effects"),
        Answer::text("No."),
        bash("echo 2 >> effects"),
        Answer::text("Done."),
    ]);
    place.run_on(&server, &["First."]);
    let trace = place.trace();
    let done = place.run(&["run", "--trace", &trace, "--yes", "Second."]);
    assert_eq!((done.code, place.text("effects").as_str()), (0, "2\n"), "{done:#?}");
    let second = place.events(&trace).iter().filter_map(|event| event["data"]["seq"].as_u64()).max().unwrap();
    for (args, makes) in [
        (vec!["rewind", &trace, "1", "Another."], ""),
        (vec!["fork", &trace, "--at", "1", "Another."], ""),
        (vec!["fork", &trace, "--at", "1"], ""),
        (vec!["rewind", &trace, "1"], ""),
    ] {
        let server = scripted(vec![bash("echo again >> effects"), Answer::text("Done.")]);
        let done = place.run(&[&args[..], &["-m", &server.model()]].concat());
        assert!(done.code == 0 && place.text("effects") == format!("2\n{makes}"), "{args:?}: {done:#?}, {second}");
    }
}

#[test]
fn a_fork_that_ends_before_its_run_begins_is_named_with_what_continues_it() {
    for json in [false, true] {
        let (place, _server, trace) = told();
        place.config("[mcp.servers.mute]\ncommand = \"/bin/sleep\"\nargs = [\"600\"]\nstartup_timeout_s = 600\n");
        let with = |rest: &[&'static str]| {
            let json = json.then_some("--json");
            ["fork", &trace].into_iter().chain(rest.iter().copied()).chain(json).map(String::from).collect::<Vec<_>>()
        };
        let limited = with(&["More.", "--timeout", "1s"]);
        let done = place.run(&limited.iter().map(String::as_str).collect::<Vec<_>>());
        let fork = other(&place, &trace);
        let how = format!(
            "so nothing was run; mainpath mcp list shows which of them does not answer; the fork {fork} was created: \
             continue with mainpath run --trace {fork} \"TASK\", or mainpath regenerate {fork}"
        );
        let lines = done.err.lines().count();
        assert_eq!((done.code, lines, done.err.contains(&how)), (4, 2, true), "{done:#?}");
        // A signal ends the process without a word: the fork has been named before.
        let args = with(&["Again."]);
        let mut process = place.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
        wait_until("the server starts", || !place.tools().is_empty());
        process.signal(rustix::process::Signal::INT);
        let done = process.end();
        place.quiet();
        let second = place.traces().into_iter().find(|one| *one != trace && *one != fork).unwrap();
        let named = format!("mainpath: forked {trace} at #4 as {second}\n");
        assert_eq!((done.code, done.err.contains(&named)), (130, true), "{done:#?}");
        place.config("");
        let done = place.run(&["run", "--trace", &fork, "More."]);
        assert_eq!((done.code, done.out.as_str()), (0, "Answer 3.\n"), "{done:#?}");
    }
}
