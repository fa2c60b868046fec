//! A person at a terminal.

use crate::pty::{LARGE, Terminal, rendered};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::json;
use std::os::unix::fs::symlink;

pub const QUESTION: &str =
    "[y]es, [n]o (and why), for this [t]race, al[w]ays, [e]dit …, [a]ll in this run, [l]ater, [?]:";

/// Where no rule is narrow enough.
const NO_RULE: &str = "[y]es, [n]o (and why), [e]dit …, [a]ll in this run, [l]ater, [?]:";

pub fn one_call() -> (Place, ModelServer) {
    (Place::new(), scripted(vec![bash("echo done >> effects"), Answer::text("The only answer.")]))
}

pub fn last_told(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body()["messages"].to_string()
}

#[test]
fn a_question_tells_where_a_link_leads_and_the_answer_is_good_for_that_place() {
    for (swapped, said, text) in [(false, "✓ write_text_file", "mine"), (true, "leads elsewhere than when", "")] {
        let place = Place::new();
        for folder in ["real", ".git"] {
            std::fs::create_dir(place.work.join(folder)).unwrap();
        }
        symlink("real", place.work.join("link")).unwrap();
        let write = json!({"path": "link/config", "content": "mine"});
        let server = scripted(vec![Answer::call("write_text_file", write), Answer::text("The end.")]);
        let mut terminal = Terminal::run(&place, &server);
        terminal.shows(QUESTION, 1);
        terminal.shows(&format!("it links to {}\r\n", place.work.join("real/config").display()), 1);
        if swapped {
            std::fs::remove_file(place.work.join("link")).unwrap();
            symlink(".git", place.work.join("link")).unwrap();
        }
        terminal.types("y\n");
        let (code, screen) = terminal.end();
        assert_eq!((code, screen.contains(said)), (0, true), "{screen}");
        assert_eq!((place.text("real/config").as_str(), place.text(".git/config").as_str()), (text, ""));
    }
}

#[test]
fn a_yes_lets_the_call_run_and_the_answer_is_shown_once() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    assert!(terminal.screen().contains("? allow bash: echo done >> effects"), "{:?}", terminal.screen());
    assert_eq!(place.text("effects"), "");
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen:?}");
    assert_eq!(place.text("effects"), "done\n");
    assert_eq!((screen.matches("The only answer.").count(), screen.matches(QUESTION).count()), (1, 1), "{screen:?}");
}

#[test]
fn all_files_here_is_one_word_and_covers_no_file_that_others_obey_and_no_command() {
    let write = |path: &str| Answer::call("write_text_file", json!({"path": path, "content": "x"}));
    let place = Place::new();
    let server = scripted(vec![
        write("a.txt").and_call("write_text_file", json!({"path": "sub/b.txt", "content": "x"})),
        write("c.txt"),
        write("sub/.envrc"),
        bash("echo x >> effects"),
        Answer::text("The end."),
    ]);
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("for this [t]race, all [f]iles here, al[w]ays,", 1);
    terminal.types("f\n");
    // Not offered for these, and not taken. What is typed before the whole question is shown is no answer to it.
    terminal.shows("? allow write_text_file: sub/.envrc", 1);
    terminal.shows("[?]:", 2);
    terminal.types("f\n");
    terminal.shows("[?]: f\r\n  f does not cover this call", 1);
    terminal.types("n\n\n");
    terminal.shows("? allow bash: echo x >> effects", 1);
    terminal.shows("[?]:", 3);
    terminal.types("f\n");
    // What is typed before that would be read together with it.
    terminal.shows("[?]: f\r\n  f does not cover this call", 2);
    terminal.types("n\n\n");
    let (code, shown) = terminal.end();
    assert_eq!((code, shown.matches("? allow").count()), (0, 3), "{shown}");
    assert_eq!(["a.txt", "sub/b.txt", "c.txt"].map(|file| place.text(file)), ["x", "x", "x"]);
    assert!(!place.work.join("sub/.envrc").exists() && place.text("effects").is_empty(), "{shown}");
}

#[test]
fn a_rule_for_the_trace_is_shown_first_and_answers_for_calls_like_it() {
    let calls = bash("echo one >> effects").and_call("bash", json!({"command": "echo one >> effects"}));
    let (place, server) = (Place::new(), scripted(vec![calls, bash("echo one >> effects"), Answer::text("Done.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    assert!(
        terminal.screen().contains("  rule: bash(echo one)\r\n  rule: write(effects)\r\n"),
        "{:?}",
        terminal.screen()
    );
    terminal.types("t\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "one\none\none\n"), "{screen:?}");
    assert_eq!(screen.matches(QUESTION).count(), 1, "{screen:?}");
}

#[test]
fn a_rule_that_is_kept_holds_in_the_next_run_too() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("w\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "done\n"), "{screen:?}");
    assert!(screen.contains("is allowed in every trace from now on; the rule is in"), "{screen:?}");
    let again = place.run(&["run", "-m", &server.model(), "Do it."]);
    assert_eq!((again.code, place.text("effects").as_str()), (0, "done\ndone\n"), "{again:#?}");
    assert!(std::fs::read_to_string(place.home.join("policy.toml")).unwrap().contains("decision = \"allow\""));
}

#[test]
fn a_call_is_made_with_the_command_that_the_person_writes() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("e echo other >> effects\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "other\n"), "{screen:?}");
    assert!(last_told(&server).contains("approved this call with other arguments"), "{}", last_told(&server));
}

#[test]
fn a_call_is_shown_while_the_model_writes_it_and_then_as_it_is() {
    let (place, gate) = (Place::new(), Gate::default());
    let slow = bash("echo done >> effects").ends_behind(&gate);
    let server = scripted(vec![slow, Answer::text("The only answer.")]);
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("⋯ bash", 1);
    gate.open();
    terminal.shows(QUESTION, 1);
    terminal.types("y\n");
    let (code, bytes) = terminal.ends();
    let screen = String::from_utf8(bytes.clone()).unwrap();
    assert!(code == 0 && screen.contains("⋯ bash"), "{screen:?}");
    // Nothing is left of it.
    let shown = rendered(&bytes, LARGE);
    assert!(!shown.contains('⋯') && shown.contains("→ bash: echo done >> effects\r\n"), "{shown}");
}

#[test]
fn a_long_answer_is_shown_to_its_last_line() {
    let lines: Vec<String> = (0..2_000).map(|n| format!("line {n} of it")).collect();
    let (place, server) = (Place::new(), scripted(vec![Answer::text(&lines.join("\n"))]));
    let (code, bytes) = Terminal::run(&place, &server).ends();
    let screen = String::from_utf8(bytes).unwrap();
    let missing: Vec<&String> = lines.iter().filter(|line| !screen.contains(&format!("{line}\r\n"))).collect();
    assert_eq!((code, missing), (0, Vec::<&String>::new()));
}

#[test]
fn a_no_denies_the_call_and_the_model_is_told_the_reason() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("n not in this folder\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, ""), "{screen:?}");
    assert!(last_told(&server).contains("not in this folder"), "{}", last_told(&server));
}

#[test]
fn a_call_that_is_longer_than_the_question_shows_is_allowed_only_once_all_of_it_was_shown() {
    let command = format!("{}echo done >> effects", "true\n".repeat(100));
    let (place, server) = (Place::new(), scripted(vec![bash(&command), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("  │ … 41 more lines: press d to see all before you can allow it\r\n", 1);
    for word in ["y\n", "a\n", "t\n", "e echo other >> effects\n"] {
        let refused = terminal.screen().matches("41 lines were not shown yet").count();
        terminal.types(word);
        terminal.shows("41 lines were not shown yet", refused + 1);
    }
    assert_eq!((place.text("effects").as_str(), terminal.screen().contains("│ $ echo done")), ("", false));
    terminal.types("d\n");
    terminal.shows("  │ $ echo done >> effects\r\n", 1);
    terminal.types("ok\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "done\n"), "{screen:?}");
}

#[test]
fn arguments_that_the_tool_would_not_take_are_told_to_who_typed_them_and_the_question_stays() {
    let write = json!({"path": "a.txt", "content": "one"});
    let (place, server) =
        (Place::new(), scripted(vec![Answer::call("write_text_file", write), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("  │ + one\r\n", 1);
    terminal.types("e {\"path\": \"b.txt\"}\n");
    terminal.shows("content", 2);
    terminal.types("e {\"path\": \"b.txt\", \"content\": \"two\"}\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("b.txt").as_str(), place.text("a.txt").as_str()), (0, "two", ""), "{screen:?}");
}

#[test]
fn help_at_a_question_says_what_each_word_does_and_a_no_may_have_a_comma() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("?\n");
    terminal.shows("  n WHY      deny it, and tell the agent why\r\n", 1);
    terminal.types("no, put it in tests/unit instead\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, ""), "{screen:?}");
    assert!(last_told(&server).contains("put it in tests/unit instead"), "{}", last_told(&server));
}

#[test]
fn all_in_this_run_ends_with_the_run() {
    let turn = |n: u32| bash(&format!("echo {n} >> effects"));
    let (place, gate) = (Place::new(), Gate::default());
    let slow = Answer::text("The first end. It took a while to say it, and then it was said.").ends_behind(&gate);
    let server = scripted(vec![turn(1), turn(2), slow, turn(3), Answer::text("The end.")]);
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("a\n");
    wait_until("the second call has run", || place.text("effects") == "1\n2\n");
    // Queued: it becomes a run of its own in the same process.
    terminal.types("And now the third.\n");
    terminal.shows("queued: And now the third.", 1);
    gate.open();
    terminal.shows(QUESTION, 2);
    assert_eq!(place.text("effects"), "1\n2\n");
    terminal.types("n\n");
    let (_, screen) = terminal.end();
    assert_eq!(place.text("effects"), "1\n2\n", "{screen:?}");
}

#[test]
fn who_resumes_a_run_that_stands_at_its_question_elsewhere_changes_nothing_of_it() {
    let (place, server) =
        (Place::new(), scripted(vec![bash("echo 1 >> effects"), bash("echo 2 >> effects"), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    let trace = place.trace();
    place.ok(&["approve", &trace]);
    // As people do who have seen the hint somewhere.
    let resumed = place.run(&["resume", &trace]);
    assert_eq!(resumed.code, 1, "{resumed:#?}");
    assert!(resumed.err.contains(&trace) && resumed.err.contains("is being run by"), "{resumed:#?}");
    // The next call is asked about as before, and not denied because nobody could be asked.
    terminal.shows("? allow bash: echo 2 >> effects", 1);
    terminal.shows(QUESTION, 1);
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "1\n2\n"), "{screen:?}");
    let modes: Vec<_> = place
        .events(&trace)
        .into_iter()
        .filter(|event| event["type"] == "spec_changed")
        .map(|event| event["data"]["spec"]["mode"].clone())
        .collect();
    assert_eq!(modes, ["ask"]);
}

#[test]
fn the_demonstration_asks_once_where_a_person_is_there() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["demo"], &[]);
    terminal.shows("? allow edit_text_file: shopping.txt", 1);
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.matches("? allow ").count()), (0, 1), "{screen}");
}

#[test]
fn an_all_is_asked_once() {
    let turn = |n: u32| bash(&format!("echo {n} >> effects"));
    let (place, server) = (Place::new(), scripted(vec![turn(1), turn(2), turn(3), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("a\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.matches(QUESTION).count()), (0, 1), "{screen:?}");
    assert_eq!(place.text("effects"), "1\n2\n3\n");
}

#[test]
fn every_call_has_its_question_and_nonsense_is_no_yes() {
    let two = bash("echo 1 >> effects").and_call("bash", serde_json::json!({"command": "echo 2 >> effects"}));
    let (place, server) = (Place::new(), scripted(vec![two, Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("\n");
    terminal.shows("y, n, t, w, e and the new command or arguments, a, d, l or ?: ", 1);
    terminal.types("sure\n");
    terminal.shows("y, n, t, w, e and the new command or arguments, a, d, l or ?: ", 2);
    assert_eq!(place.text("effects"), "");
    terminal.types("y\n");
    terminal.shows(QUESTION, 2);
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.matches(QUESTION).count()), (0, 2), "{screen:?}");
    assert_eq!(place.text("effects"), "1\n2\n");
}

#[test]
fn later_leaves_the_call_waiting() {
    for word in ["l\n", "\u{4}"] {
        let (place, server) = one_call();
        let mut terminal = Terminal::run(&place, &server);
        terminal.shows(QUESTION, 1);
        terminal.types(word);
        let (code, screen) = terminal.end();
        assert_eq!(code, 5, "{screen:?}");
        let trace = place.trace();
        assert!(screen.contains(&format!("mainpath approve {trace}")), "{screen:?}");
        place.ok(&["approve"]);
        let done = place.run(&["resume", "--park"]);
        assert_eq!((done.code, done.out.as_str()), (0, "The only answer.\n"), "{done:#?}");
        assert_eq!(place.text("effects"), "done\n");
    }
}

#[test]
fn a_decision_from_elsewhere_takes_the_question_away() {
    let (place, server) = one_call();
    let terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    place.ok(&["approve"]);
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "done\n"), "{screen:?}");
}

#[test]
fn a_run_at_its_question_is_running_for_everybody_else() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo done >> effects"), Answer::text("Done.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    let trace = place.trace();
    let watching = Terminal::start(&place, &["watch", &trace], &[]);
    // It has looked whether anybody is there, and stays.
    watching.shows("? call 2.0 (bash: echo done >> effects) needs approval: at its terminal, or mainpath approve", 1);
    assert_eq!(place.ok(&["next", &trace, "Then rest."]), format!("{trace} reads it after the current run\n"));
    let read = |event: &serde_json::Value| event["data"]["mode"] == "follow_up";
    wait_until("it is read", || place.events(&trace).iter().any(read));
    place.run(&["interrupt", &trace]).fails(1, "no call of");
    place.run(&["rm", &trace, "--yes"]).fails(1, &format!("trace {trace} is "));
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "done\n"), "{screen:?}");
    let (watched, shown) = watching.end();
    assert_eq!((watched, shown.matches("■ final").count()), (0, 2), "{shown:?}");
    assert_eq!(shown.matches("needs approval").count(), 1, "{shown:?}");
    assert!(place.ok(&["next", &trace, "And that."]).starts_with("queued; "));
}

#[test]
fn ctrl_c_at_the_question_leaves_a_trace_that_can_be_resumed() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.types("\u{3}");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen:?}");
    assert!(screen.contains(&format!("mainpath resume {}", place.trace())), "{screen:?}");
    assert_eq!(place.text("effects"), "");
    let mut terminal = Terminal::start(&place, &["resume"], &[]);
    terminal.shows(QUESTION, 1);
    terminal.types("yes\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "done\n"), "{screen:?}");
}

#[test]
fn a_terminal_that_goes_away_stops_the_run_at_a_checkpoint_or_is_not_missed_where_that_is_ignored() {
    // As under `nohup`, which would also redirect what is printed.
    let unmoved = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_mainpath")];
    for stays in [false, true] {
        let server = scripted(vec![bash("touch begun; until [ -e go ]; do sleep 0.02; done"), Answer::text("Done.")]);
        let place = Place::new();
        let model = server.model();
        let task = ["run", "--model", &model, "--yes", "Do it."];
        let terminal = match stays {
            false => Terminal::start_by(&place, &HEARS_HANGUPS, &task, &[]),
            true => Terminal::start_by(&place, &unmoved, &task, &[]),
        };
        wait_until("the tool runs", || place.work.join("begun").exists());
        // Its window is closed: the kernel hangs up, and what is written there fails.
        let code = terminal.closes(|| {
            if stays {
                std::fs::write(place.work.join("go"), "").unwrap();
            }
        });
        let last = place.events(&place.trace()).pop().unwrap();
        let reason = if stays { "final" } else { "stopped" };
        assert_eq!((&last["type"], &last["data"]["reason"]), (&json!("run_finished"), &json!(reason)), "{code}");
        assert_eq!(place.tools(), Vec::<u32>::new());
        place.ok(&["verify"]);
        place.ok(&["replay", "--dry-run"]);
        if !stays {
            assert_eq!(place.ok(&["resume", "--yes"]), "Done.\n");
        }
    }
}

#[test]
fn a_question_at_a_terminal_that_goes_away_goes_on_waiting() {
    let (place, server) = one_call();
    let terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    terminal.closes(|| {});
    place.ok(&["approve"]);
    assert_eq!(place.run(&["resume"]).code, 0);
    place.ok(&["verify"]);
}

#[test]
fn ctrl_c_reaches_mainpath_and_not_its_tools() {
    let command = "trap 'echo hit > hit' INT; echo $$ > pid; while :; do sleep 0.05; done";
    let (place, server) = (Place::new(), scripted(vec![bash(command), Answer::text("The end.")]));
    let mut terminal = Terminal::start(&place, &["run", "--yes", "--model", &server.model(), "Do it."], &[]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n'));
    terminal.types("\u{3}");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("hit").as_str()), (130, ""), "{screen:?}");
    assert_eq!(place.tools(), Vec::<u32>::new());
}

#[test]
fn nothing_that_a_model_or_a_tool_says_steers_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\u{8}";
    let shell = format!("printf '\\033[31mred\\033]0;x\\a\\r\\b'; : '{evil}'");
    let answers = vec![
        Answer { text: format!("First{evil}"), thinking: format!("Hm{evil}"), ..bash(&shell) },
        Answer::text(&format!("The {evil}end.")),
    ];
    // A terminal with colours, one without, one that can do nothing, and one that says nothing.
    for env in [("TERM", "xterm"), ("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "")] {
        let (place, server) = (Place::new(), scripted(answers.clone()));
        let mut terminal = Terminal::start(&place, &["run", "--model", &server.model(), "Do it."], &[env]);
        terminal.shows(NO_RULE, 1);
        terminal.types("y\n");
        let (code, bytes) = terminal.ends();
        let screen = String::from_utf8(bytes).unwrap();
        assert_eq!(code, 0, "{screen:?}");
        let moves = env.0 != "TERM" || env.1 == "xterm";
        assert_eq!((moves || !screen.contains('\u{1b}'), colours(&screen)), (true, env.1 == "xterm"), "{screen:?}");
        // It rings once, at its question.
        assert_eq!(screen.matches('\u{7}').count(), usize::from(moves), "{screen:?}");
        clean(&screen.replace('\u{7}', ""));
        // What looks back is clean as well.
        for args in [&["show"][..], &["show", "--all"], &["ls"]] {
            let (code, bytes) = Terminal::start(&place, args, &[env]).ends();
            let screen = String::from_utf8(bytes).unwrap();
            assert!(code == 0 && (moves || !screen.contains('\u{1b}')), "{args:?}: {screen:?}");
            clean(&screen);
        }
    }
}

/// Whether anything switches colours or emphasis.
fn colours(screen: &str) -> bool {
    screen
        .split("\u{1b}[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

/// Holds what was written to a terminal to what Mainpath itself writes: colours, and what takes its own lines back.
#[track_caller]
fn clean(screen: &str) {
    let mut parts = screen.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or_else(|| panic!("{part:?} in {screen:?}"));
        let own = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[36m", "[J", "[?2004h", "[?2004l"];
        let up = part.starts_with('[')
            && part[1..end].bytes().all(|b| b.is_ascii_digit())
            && part[end..].starts_with(['A', 'C']);
        assert!(own.contains(&&part[..=end]) || up, "{part:?} in {screen:?}");
        text.push_str(&part[end + 1..]);
    }
    let bad: Vec<char> =
        text.chars().filter(|c| (c.is_control() && !"\r\n".contains(*c)) || *c == '\u{202e}').collect();
    assert!(bad.is_empty(), "{bad:?} in {screen:?}");
}

#[test]
fn a_server_of_a_repository_is_asked_about_before_it_starts() {
    for (said, used) in [("n\n", false), ("y\n", true)] {
        let place = Place::new();
        std::fs::copy("../mcp/tests/servers/hostile.py", place.work.join("server.py")).unwrap();
        let entry = r#"{"mcpServers": {"theirs": {"command": "/usr/bin/python3", "args": ["server.py", "echo"]}}}"#;
        std::fs::write(place.work.join(".mcp.json"), entry).unwrap();
        let server = scripted(vec![Answer::text("Done.")]);
        let mut terminal = Terminal::run(&place, &server);
        terminal.shows("approve it? [y]es, [n]o: ", 1);
        assert!(terminal.screen().contains(r#"args: ["server.py","echo"]"#), "{}", terminal.screen());
        terminal.types(said);
        let (code, screen) = terminal.end();
        assert_eq!(code, 0, "{screen}");
        let offered = server.requests()[0].body()["tools"].to_string().contains("mcp__theirs__do");
        assert_eq!(offered, used, "{screen}");
    }
}
