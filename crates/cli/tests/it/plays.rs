//! `play`: a recorded run as it was watched, at its own speed and others, with keys and without.

use crate::children::task;
use crate::proof::{events_of, replace_log};
use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::json;
use std::time::{Duration, Instant};

/// A run with one call that took exactly this long, and everything else no time, as its log states.
fn recorded(took: Duration) -> (Place, String) {
    let place = Place::new();
    let server = scripted(vec![bash("echo heron"), Answer::text("It printed heron.")]);
    assert_eq!(place.run_on(&server, &["--yes", "work"]).code, 0);
    let trace = place.trace();
    let mut events = events_of(&place, &trace);
    let (began, took) = (events[0].ts, u64::try_from(took.as_millis()).unwrap());
    let result = events.iter().find(|event| event.kind.name() == "call_resolved").unwrap().id;
    events.iter_mut().for_each(|event| event.ts = if event.id < result { began } else { began + took });
    replace_log(&place, &trace, events);
    (place, trace)
}

const HOURS: Duration = Duration::from_secs(3 * 60 * 60);

/// How long it took, and how it ended.
fn timed(place: &Place, args: &[&str]) -> (Duration, Done) {
    let began = Instant::now();
    let done = place.run(args);
    (began.elapsed(), done)
}

#[test]
fn a_recorded_run_is_shown_as_it_was_watched_with_its_agents() {
    let place = Place::new();
    place.config("context_window = 64000\n");
    let server = server(|request| {
        let answer = match (task(request.body()).as_str(), request.count("assistant")) {
            ("Write the greeting.", 0) => Answer::call("write_text_file", json!({"path": "new", "content": "hello"})),
            ("Write the greeting.", _) => Answer::text("It is written.\n\nIn two lines."),
            (_, 0) => Answer::call("agent", json!({"task": "Write the greeting."})),
            (_, 1) => Answer::text("The agent wrote it."),
            _ => Answer::text("Yes, it did."),
        };
        answer.into()
    });
    assert_eq!(place.run_on(&server, &["--yes", "Have it written."]).code, 0);
    assert_eq!(place.run_on(&server, &["-c", "Did it?"]).code, 0);
    let trace = newest(&place);
    let root = trace.split('@').next().unwrap();
    let watched = place.run(&["watch", root, "--from", "1"]);
    let played = place.run(&["play", root]);
    assert_eq!((played.code, &played.err), (0, &watched.err));
    assert!(played.err.contains("\ndelegate-") && played.err.contains(" In two lines.\n"), "{played:#?}");
    assert!(played.err.contains("The agent wrote it.") && played.err.contains("Yes, it did."), "{played:#?}");
    // As JSON as well, and from an event on.
    let watched = place.ok(&["watch", root, "--from", "1", "--json"]);
    assert_eq!(place.ok(&["play", root, "--json"]), watched);
    let last = parsed(watched.lines().last().unwrap())["id"].as_u64().unwrap();
    let from = (last - 3).to_string();
    let rest = place.ok(&["play", root, "--json", "--from", &from]);
    assert!(!rest.is_empty() && watched.ends_with(&rest) && rest.len() < watched.len(), "{rest}");
    // Without the agents.
    let alone = place.run(&["play", root, "--no-children"]);
    assert_eq!(alone.err, place.run(&["watch", root, "--from", "1", "--no-children"]).err);
    assert!(played.err.contains("write_text_file") && !alone.err.contains("write_text_file"), "{alone:#?}");
}

#[test]
fn several_are_shown_one_after_the_other_until_one_cannot_be() {
    let place = Place::new();
    let server = server(|_| Answer::text("A heron.").into());
    let traces = [(); 2].map(|()| {
        assert_eq!(place.run_on(&server, &["What is it?"]).code, 0);
        newest(&place)
    });
    let [one, other] = traces.each_ref().map(|trace| place.run(&["play", trace]).err);
    let both = place.run(&["play", &traces[0], &traces[1]]);
    assert_eq!((both.code, both.err), (0, format!("── {}\n{one}── {}\n{other}", traces[0], traces[1])));
    let [one, other] = traces.each_ref().map(|trace| place.ok(&["play", trace, "--json"]));
    assert_eq!(place.ok(&["play", "--json", &traces[0], &traces[1]]), one + &other);
    let done = place.run(&["play", &traces[0], "nothing"]);
    let line = "mainpath: there is no trace \"nothing\"; `mainpath ls` lists the traces\n";
    assert_eq!(
        (done.code, done.err.as_str()),
        (1, format!("── {}\n{}{line}", traces[0], place.run(&["play", &traces[0]]).err).as_str())
    );
}

#[test]
fn it_takes_as_long_as_it_took_or_less_and_says_what_is_left_out() {
    let (place, trace) = recorded(Duration::from_millis(1_200));
    let (took, own) = timed(&place, &["play", &trace, "--speed", "1"]);
    assert!(own.code == 0 && took >= Duration::from_millis(1_200), "{took:?} {own:#?}");
    assert!(!own.err.contains("later"), "{own:#?}");
    let (took, slow) = timed(&place, &["play", &trace, "--speed", "0.5", "--longest-pause", "0"]);
    assert_eq!((&slow.err, slow.code), (&own.err, 0));
    assert!(took >= Duration::from_millis(2_400), "{took:?}");
    // Only with this limit, which is shorter than the default one, is anything of the pause left out.
    let cut = |place: &Place, trace: &str, left_out: &str| {
        let (took, cut) = timed(place, &["play", trace, "--speed", "1", "--longest-pause", "300ms"]);
        assert!(cut.code == 0 && took >= Duration::from_millis(300), "{took:?} {cut:#?}");
        let line = format!("· {left_out} later\n");
        assert_eq!(cut.err.matches(" later\n").count(), 1, "{cut:#?}");
        // The lines are the same but for that one.
        assert_eq!(cut.err.replacen(&line, "", 1), place.run(&["play", trace, "--speed", "max"]).err);
    };
    cut(&place, &trace, "1.2 s");
    let (took, lines) = timed(&place, &["play", &trace, "--speed", "1", "--json"]);
    assert!(lines.code == 0 && took >= Duration::from_millis(1_200), "{took:?}");
    assert_eq!(place.run(&["play", &trace]).err, own.err);
    // Without a terminal nothing is waited for, unless a speed says so: that it ends shows that no pause of hours is waited for.
    let (place, trace) = recorded(HOURS);
    let fast = place.run(&["play", &trace]);
    assert!(fast.code == 0 && !fast.err.contains("later"), "{fast:#?}");
    cut(&place, &trace, "3 h");
    for wrong in ["0", "-1", "fast", "nan", "1e9"] {
        let done = place.run(&["play", &trace, &format!("--speed={wrong}")]);
        assert!(done.code == 2 && done.err.contains("expected a number from 0.01 to 1000"), "{wrong}: {done:#?}");
    }
}

#[test]
fn keys_pause_it_go_on_and_end_it_and_the_terminal_is_left_as_it_was() {
    // So slow that it does not end by itself.
    let (place, trace) = recorded(HOURS);
    let line = format!(
        "stty -a | grep -o -- '-*icanon'; {} play {trace} --speed 0.01 --longest-pause 0; echo \"code $?\"; stty -a | grep -o -- '-*icanon'",
        env!("CARGO_BIN_EXE_mainpath")
    );
    let mut terminal = Terminal::start_by(&place, &["sh"], &["-c", &line], &[]);
    terminal.shows("playing ×0.01", 1);
    terminal.types(" ");
    terminal.shows("paused ×0.01", 1);
    terminal.types("\u{1b}[A");
    terminal.shows("paused ×0.02", 1);
    // Step by step, although it is paused.
    let until = Instant::now() + LONG;
    while !terminal.screen().contains("■ final") {
        assert!(Instant::now() < until, "{}", terminal.screen());
        terminal.types("\u{1b}[C");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (_, screen) = terminal.end();
    assert!(screen.contains("→ bash: echo heron") && screen.contains("It printed heron."), "{screen}");
    let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!((lines.first(), &lines[lines.len() - 2..]), (Some(&"icanon"), &["code 0", "icanon"][..]), "{screen}");

    for (key, code) in [("q", 0), ("\u{3}", 130)] {
        let mut terminal = Terminal::start(&place, &["play", &trace, "--speed", "0.01", "--longest-pause", "0"], &[]);
        terminal.shows("playing ×0.01", 1);
        terminal.types(key);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, code, "{screen}");
        assert!(!screen.contains("playing") && !screen.contains("■"), "{screen}");
    }
}

#[test]
fn what_people_were_asked_and_approved_is_shown() {
    let place = Place::new();
    let write = Answer::call("write_text_file", json!({"path": "a", "content": "x"}));
    let server = scripted(vec![write, Answer::text("Written.")]);
    place.run_on(&server, &["--park", "write"]).fails(5, "needs approval");
    let trace = place.trace();
    place.ok(&["approve", &trace]);
    assert_eq!(place.run(&["resume", &trace, "--park"]).code, 0);
    let played = place.run(&["play", &trace]);
    let shown: Vec<&str> = played.err.lines().filter(|line| line.contains("approv")).collect();
    assert_eq!(shown, ["? call 2.0 (write_text_file: a) needs approval", "· user approved call 2.0"], "{played:#?}");
}

#[test]
fn a_conversation_of_another_program_is_played_too() {
    let place = Place::new();
    let said = json!([
        {"role": "user", "content": "Which bird?"},
        {"role": "assistant", "content": "A look.", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{\"path\": \"pond\"}"}}
        ]},
        {"role": "tool", "tool_call_id": "c", "content": "heron.txt"},
        {"role": "assistant", "content": "A heron."},
    ]);
    let file = place.root().join("said.json");
    std::fs::write(&file, said.to_string()).unwrap();
    place.ok(&["import", file.to_str().unwrap()]);
    let played = place.run(&["play"]);
    let lines: Vec<&str> = played.err.lines().collect();
    assert_eq!(
        (played.code, lines),
        (0, vec!["· said: Which bird?", "A look.", "→ ls: pond", "✓ ls heron.txt", "A heron."]),
    );
}

#[test]
fn what_cannot_be_played_is_said_in_one_line() {
    let place = Place::new();
    place.run(&["play"]).fails(1, "there are no traces yet");
    let (place, trace) = recorded(Duration::ZERO);
    place.run(&["play", "nowhere"]).fails(1, "there is no trace \"nowhere\"");
    let last = place.events(&trace).last().unwrap()["id"].as_u64().unwrap();
    let beyond = (last + 1).to_string();
    let told = format!("{trace}: there is no event {beyond}; its log ends at event {last}");
    place.run(&["play", &trace, "--from", &beyond]).fails(1, &told);

    // A part of it is gone, and then all.
    place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    let played = place.run(&["play", &trace]);
    assert!(played.code == 0 && played.err.contains("event") && played.err.contains("erased"), "{played:#?}");
    assert!(played.err.contains("· said: (erased)") && played.err.contains("It printed heron."), "{played:#?}");
    place.ok(&["erase", &trace, "--all", "--yes"]);
    place.run(&["play", &trace]).fails(1, "all that was said was erased; mainpath show --events");

    // A line in the middle is damaged: what is before it is shown.
    let (place, trace) = recorded(Duration::ZERO);
    let log = String::from_utf8(place.log(&trace)).unwrap();
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    let harmed = |at: usize| {
        let mut lines = lines.clone();
        lines[at] = "{\"v\":1,\n";
        std::fs::write(place.file(&trace, "events.jsonl"), lines.concat()).unwrap();
    };
    harmed(lines.len() - 1);
    let played = place.run(&["play", &trace]);
    assert!(played.err.contains("It printed heron.") && !played.err.contains("■"), "{played:#?}");
    assert!(
        played.code == 1 && played.err.contains(&format!("mainpath: {trace}: the log is damaged: ")),
        "{played:#?}"
    );
    harmed(0);
    place.run(&["play", &trace]).fails(1, "nothing of it can be played");
}
