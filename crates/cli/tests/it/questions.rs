//! Questions of an agent to a person: asked, left, answered from another process or at the terminal, expired.

use crate::approvals::observed;
use crate::proof::{events_of, replace_log};
use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than the times after which the tests have something expire.
pub const THREE_HOURS: Duration = Duration::from_secs(3 * 60 * 60);

/// Makes a trace that nobody drives so much older, by earlier times in its log and its mailbox. So something expires that could not have
/// expired while the test prepared it, however slow the machine is.
pub fn age(place: &Place, trace: &str, by: Duration) {
    let by = u64::try_from(by.as_millis()).unwrap();
    let mut events = events_of(place, trace);
    events.iter_mut().for_each(|event| event.ts -= by);
    replace_log(place, trace, events);
    let mailbox = place.file(trace, "mailbox.jsonl");
    let Ok(mails) = std::fs::read_to_string(&mailbox) else { return };
    let older = |line: &str| {
        let mail = parsed(line);
        let (at, sum) = (mail["at"].as_u64().unwrap(), format!(",\"sum\":{}", mail["sum"]));
        assert!(line.contains(&sum), "{line}");
        // An entry without a checksum is valid.
        line.replacen(&format!("\"at\":{at}"), &format!("\"at\":{}", at - by), 1).replacen(&sum, "", 1) + "\n"
    };
    std::fs::write(&mailbox, mails.lines().map(older).collect::<String>()).unwrap();
    place.ok(&["verify", trace]);
}

/// A turn that asks which colour it should be.
pub fn asks(more: &Value) -> Answer {
    let mut question = json!({
        "question": "Which colour should the door be?",
        "choices": [{"label": "red"}, {"label": "light blue", "description": "as the windows"}],
        "files": ["door.txt"],
    });
    question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Answer::call("ask_human", question)
}

/// A run that has asked, and its process has ended.
fn parked(more: &Value) -> (Place, ModelServer, String) {
    let (place, server) = (Place::new(), scripted(vec![asks(more), Answer::text("The end.")]));
    std::fs::write(place.work.join("door.txt"), "a door\n").unwrap();
    let done = place.run_on(&server, &["Paint the door."]);
    let trace = place.trace();
    done.fails(5, &format!("call 2.0 asks (Which colour should the door be?): mainpath answer {trace} 2.0 TEXT"));
    assert_eq!(done.out, "");
    (place, server, trace)
}

#[test]
fn the_call_of_an_answer_need_not_be_named_and_the_help_says_so() {
    let place = Place::new();
    let help = place.ok(&["answer", "--help"]);
    assert!(help.contains("Usage: mainpath answer <TRACE> [CALL] <ANSWER>\n"), "{help}");
    assert!(!help.contains("<CALL>"), "{help}");
    let (place, _server, trace) = parked(&json!({}));
    let told = place.ok(&["answer", &trace, "Light Blue"]);
    assert!(told.starts_with(&format!("answered call 2.0 of {trace} (Light Blue);")), "{told}");
}

#[test]
fn a_question_waits_and_is_answered_by_another_process() {
    let (place, server, trace) = parked(&json!({}));
    let shown = place.ok(&["show"]);
    let question = format!(
        "\ncall 2.0 asks (Which colour should the door be?): mainpath answer {trace} 2.0 TEXT && mainpath resume {trace}\n\
         \x20  │ Which colour should the door be?\n   │   1. red\n   │   2. light blue (as the windows)\n   │   file: door.txt\n"
    );
    assert!(shown.contains(&question), "{shown}");
    assert!(place.ok(&["ls"]).contains("waiting"));
    // Still waiting: nothing has changed.
    place.run(&["resume", &trace]).fails(5, "call 2.0 asks (Which colour");
    let told = place.ok(&["answer", &trace, "2.0", "2"]);
    assert_eq!(
        told,
        format!(
            "answered call 2.0 of {trace} (2: light blue); if it is not running, continue with: mainpath resume {trace}\n"
        )
    );
    let again = format!(
        "call 2.0 (Which colour should the door be?) has been answered; continue with: mainpath resume {trace}"
    );
    assert!(place.ok(&["show"]).contains(&again));
    place.run(&["answer", &trace, "1"]).fails(1, &again);
    place.run(&["answer", &trace, "2.0", "1"]).fails(1, &again);
    let done = place.run(&["resume", &trace]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(observed(&server), json!("user answered (command):\n> light blue").to_string());
    place.run(&["answer", &trace, "2.0", "1"]).fails(1, "call 2.0 (ask_human: ");
    place.run(&["answer", &trace, "1"]).fails(1, &format!("nothing is asked in {trace}"));
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

#[test]
fn what_is_no_answer_and_what_is_not_asked_is_told_in_a_line() {
    let (place, _server, trace) = parked(&json!({}));
    place.run(&["answer", &trace, "9.0", "x"]).fails(1, &format!("there is no call 9.0 in {trace}"));
    place
        .run(&["answer", &trace, "the", "red"])
        .fails(2, "\"the\" is not a call such as 4.0; quote an answer of several words");
    place.run(&["answer", &trace, "  "]).fails(2, "the answer is empty");
    place.run(&["answer", &trace]).fails(2, "required");
    place.run(&["answer", "nobody", "1"]).fails(1, "there is no trace \"nobody\"");
    place.run(&["approve", &trace]).fails(1, "nothing to approve in");
    for wrong in ["0", "-1", "9"] {
        let why = format!(
            "{wrong} is the number of no choice: the choices are 1 to 2; or answer in words; call 2.0 is still open"
        );
        place.run(&["answer", &trace, "2.0", "--", wrong]).fails(2, &why);
    }
    let done = place.run_with(&["answer", &trace, "-"], b"neither:\ngreen\n");
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(place.run(&["resume", &trace]).out, "The end.\n");
}

#[test]
fn a_question_that_nobody_answers_in_time_gives_its_default_after_a_restart() {
    // A number is the choice.
    let (place, server, trace) = parked(&json!({"expires_in": 7_200, "default": "1"}));
    place
        .run(&["answer", &trace, "2.0"])
        .fails(2, &format!("give the answer as well: mainpath answer {trace} 2.0 TEXT"));
    let show = place.ok(&["show"]);
    let by = show.lines().find_map(|line| line.strip_prefix("   without an answer by "));
    assert!(by.is_some_and(|by| by.ends_with(" this counts: red")), "{show}");
    age(&place, &trace, THREE_HOURS);
    let late = "call 2.0 (Which colour should the door be?) expired at ";
    assert!(place.ok(&["show"]).contains(late));
    place.run(&["answer", &trace, "2.0", "2"]).fails(1, late);
    let done = place.run(&["resume", &trace]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(observed(&server), json!("Nobody answered in time, so the default counts: red").to_string());
    place.ok(&["verify"]);
}

#[test]
fn no_agent_answers_approves_or_denies_in_the_place_of_a_person() {
    let (place, _server, trace) = parked(&json!({}));
    for (args, what) in [
        (["answer", &trace, "red"].as_slice(), "answer questions to people"),
        (&["approve", &trace], "approve calls"),
        (&["deny", &trace], "deny calls"),
    ] {
        let mut by_agent = place.command(args);
        by_agent.env("MAINPATH_CALL", "t:1.0");
        finish(by_agent, None).fails(1, &format!("agents cannot {what}; run this command yourself"));
    }
    assert!(place.ok(&["show"]).contains("call 2.0 asks"));
}

#[test]
fn an_answer_in_time_counts_however_late_it_is_read() {
    let (place, server, trace) = parked(&json!({"expires_in": 7_200, "default": "red"}));
    place.ok(&["answer", &trace, "light blue, please"]);
    age(&place, &trace, THREE_HOURS);
    assert_eq!(place.run(&["resume", &trace]).out, "The end.\n");
    assert_eq!(observed(&server), json!("user answered (command):\n> light blue, please").to_string());
}

#[test]
fn whoever_is_asked_sees_how_long_it_waits_and_what_counts_then() {
    let cases = [
        (
            json!({"expires_in": 7_200, "default": "red"}),
            "without an answer within 2 h of being asked this counts: red",
        ),
        (json!({"expires_in": 90}), "without an answer within 1 min of being asked the agent goes on without one"),
    ];
    for (more, told) in cases {
        let (place, server) = (Place::new(), scripted(vec![asks(&more), Answer::text("The end.")]));
        std::fs::write(place.work.join("door.txt"), "a door\n").unwrap();
        let mut terminal = Terminal::run(&place, &server);
        terminal.shows(told, 1);
        terminal.shows("a number or words ([l]ater, [?]):", 1);
        terminal.types("2\n");
        terminal.end();
        let (alone, server) = (Place::new(), scripted(vec![asks(&more)]));
        std::fs::write(alone.work.join("door.txt"), "a door\n").unwrap();
        let done = alone.run_on(&server, &["Paint the door."]);
        assert!(done.err.contains(told), "{done:#?}");
    }
}

#[test]
fn a_person_at_the_terminal_picks_a_choice_or_answers_in_words() {
    for (typed, read) in [("2\n", "light blue"), ("\nsome green\n", "some green")] {
        let (place, server) = (Place::new(), scripted(vec![asks(&json!({})), Answer::text("The end.")]));
        std::fs::write(place.work.join("door.txt"), "a door\n").unwrap();
        let mut terminal = Terminal::run(&place, &server);
        terminal.shows("a number or words ([l]ater, [?]):", 1);
        for line in [
            "? the agent asks:",
            "│ Which colour should the door be?",
            "│   2. light blue (as the windows)",
            "│   file: door.txt",
        ] {
            terminal.shows(line, 1);
        }
        terminal.types(typed);
        let (code, screen) = terminal.end();
        assert_eq!((code, screen.contains("The end.")), (0, true), "{screen}");
        assert_eq!(observed(&server), json!(format!("user answered (terminal):\n> {read}")).to_string());
    }
}

#[test]
fn what_picks_no_choice_at_the_terminal_is_asked_for_again_and_l_leaves_the_question() {
    let (place, server) = (Place::new(), scripted(vec![asks(&json!({"files": []})), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("a number or words ([l]ater, [?]):", 1);
    terminal.types("7\n");
    terminal.shows("7 is the number of no choice: the choices are 1 to 2; or answer in words;", 1);
    terminal.shows("a number or words ([l]ater, [?]):", 2);
    terminal.types("?\n");
    terminal.shows("a number   pick that choice; its words pick it too", 1);
    terminal.types("l\n");
    let (code, screen) = terminal.end();
    let trace = place.trace();
    assert_eq!(code, 5, "{screen}");
    assert!(screen.contains(&format!("left open; answer later with mainpath answer {trace} 2.0 TEXT")), "{screen}");
    place.ok(&["answer", &trace, "1"]);
    assert_eq!(place.run(&["resume", &trace]).out, "The end.\n");
    assert_eq!(observed(&server), json!("user answered (command):\n> red").to_string());
}

#[test]
fn a_letter_that_is_a_choice_picks_it_at_the_terminal() {
    let choices = json!({"files": [], "choices": [{"label": "S"}, {"label": "M"}, {"label": "L"}]});
    let (place, server) = (Place::new(), scripted(vec![asks(&choices), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("a number or words ([l]ater, [?]):", 1);
    terminal.types("l\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(observed(&server), json!("user answered (terminal):\n> L").to_string());
}

#[test]
fn a_person_at_the_terminal_can_leave_a_question_open() {
    let (place, server) =
        (Place::new(), scripted(vec![asks(&json!({"choices": [], "files": []})), Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("your answer ([l]ater, [?]):", 1);
    // It says what can be typed; there are no choices here.
    terminal.types("?\n");
    terminal.shows("words      an answer of your own", 1);
    terminal.shows("l          answer later with mainpath answer; Ctrl-D does the same", 1);
    terminal.shows("your answer ([l]ater, [?]):", 2);
    terminal.types("\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.contains("a number")), (5, false), "{screen}");
    assert!(screen.contains("left open; answer later with mainpath answer"), "{screen}");
    let trace = place.trace();
    // Answered while somebody else follows the run: it goes on there.
    let mut run = place.start(&["resume", &trace, "--json"]);
    drop(run.end());
    place.ok(&["answer", &trace, "blue"]);
    assert_eq!(place.run(&["resume", &trace]).out, "The end.\n");
}

#[test]
fn a_question_at_the_terminal_is_answered_from_elsewhere_or_expires_there() {
    let (place, server) = (
        Place::new(),
        scripted(vec![
            asks(&json!({"files": []})),
            // Long enough that it is shown before it expires.
            asks(&json!({"files": [], "expires_in": 3})),
            Answer::text("The end."),
        ]),
    );
    let terminal = Terminal::run(&place, &server);
    terminal.shows("a number or words ([l]ater, [?]):", 1);
    let trace = place.trace();
    let told = place.ok(&["answer", &trace, "1"]);
    assert_eq!(told, format!("answered call 2.0 of {trace} (1: red)\n"));
    terminal.shows("? the agent asks:", 2);
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.contains("The end.")), (0, true), "{screen}");
    assert_eq!(observed(&server), json!("Nobody answered in time, and the question has no default.").to_string());
}
