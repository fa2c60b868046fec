//! What a person types at the lower edge of the terminal, while a run goes on and at its questions.

use crate::pty::{Terminal, rendered};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use std::time::Duration;

const PROGRAM: [&str; 1] = [env!("CARGO_BIN_EXE_mainpath")];
/// What stands at the end of every question.
const ASKED: &str = "[l]ater, [?]:";
/// Longer than the 400 ms within which a key is not taken for an answer to its question. They begin before the question is drawn.
const READ: Duration = Duration::from_millis(450);

fn asked(size: (u16, u16), env: &[(&str, &str)], calls: usize) -> (Place, ModelServer, Terminal) {
    let call = |n: usize| bash(&format!("echo {n} >> effects"));
    let answers = (1..=calls).map(call).chain([Answer::text("The end.")]).collect();
    let (place, server) = (Place::new(), scripted(answers));
    let model = server.model();
    let terminal = Terminal::of_size(size, &place, (&PROGRAM, &["run", "--model", &model, "Do it."]), env);
    terminal.shows(ASKED.split(' ').next_back().unwrap(), 1);
    (place, server, terminal)
}

/// A run whose tool waits for the file `go`.
fn at_work() -> (Place, ModelServer, Terminal) {
    let waits = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done; echo printed";
    let answers = vec![bash(waits), Answer::text("One."), Answer::text("Two."), Answer::text("Three.")];
    let (place, server) = (Place::new(), scripted(answers));
    let model = server.model();
    let terminal =
        Terminal::of_size((60, 120), &place, (&PROGRAM, &["run", "--yes", "--model", &model, "Do it."]), &[]);
    wait_until("the tool runs", || place.text("began") == "x\n");
    terminal.shows("›", 1);
    (place, server, terminal)
}

fn last_told(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body()["messages"].to_string()
}

#[test]
fn one_key_answers_and_an_enter_behind_it_answers_nothing_else() {
    let (place, _server, mut terminal) = asked((200, 250), &[], 3);
    std::thread::sleep(READ);
    terminal.types("y");
    terminal.shows(ASKED, 2);
    // Out of habit: at once, because an Enter that comes later is meant.
    terminal.types("\r");
    assert_eq!(place.text("effects"), "1\n");
    std::thread::sleep(READ);
    terminal.types("?");
    terminal.shows("\r\n  y          allow this call\r\n", 1);
    std::thread::sleep(READ);
    terminal.types("y");
    terminal.types("\r");
    terminal.shows("? allow bash: echo 3 >> effects", 1);
    std::thread::sleep(READ);
    assert_eq!(place.text("effects"), "1\n2\n");
    terminal.types("n");
    terminal.shows("no, because (Enter: no reason; Esc: back to the question):", 1);
    terminal.types("not now\r");
    let (code, shown) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "1\n2\n"), "{shown}");
    assert!(shown.contains("✗ bash was denied: not now\r\n"), "{shown}");
}

#[test]
fn what_was_begun_before_a_question_came_is_no_answer_to_it() {
    let (place, gate) = (Place::new(), Gate::default());
    let slow = bash("echo 1 >> effects").ends_behind(&gate);
    let server = scripted(vec![slow, Answer::text("The end.")]);
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("›", 1);
    // The beginning of "you may".
    terminal.types("y");
    terminal.shows("› y\r\n", 1);
    gate.open();
    terminal.shows(ASKED, 1);
    std::thread::sleep(READ);
    terminal.types("o");
    terminal.shows("[?]: yo\r\n", 1);
    assert!(place.text("effects").is_empty() && terminal.screen().ends_with("[?]: yo\r\n"), "{}", terminal.screen());
    terminal.types("\u{15}n put it elsewhere\r");
    let (code, shown) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, ""), "{shown}");
    assert!(last_told(&server).contains("put it elsewhere"), "{shown}");
}

#[test]
fn a_text_can_be_changed_where_the_cursor_is_and_stands_apart_from_what_is_printed() {
    let (place, server, mut terminal) = at_work();
    terminal.types("/next fix the tset");
    terminal.types("\u{1b}[D\u{1b}[D\u{1b}[D\u{7f}e\u{1b}[3~");
    terminal.shows("› /next fix the eet\r\n", 1);
    terminal.types("\u{17}\u{1b}[F\u{17}test");
    terminal.shows("› /next fix the test\r\n", 1);
    // What the tool prints meanwhile comes above it.
    std::fs::write(place.work.join("go"), "").unwrap();
    terminal.shows("One.\r\n", 1);
    let (code, shown) = terminal.end();
    assert!(code == 0 && !shown.contains("^["), "{shown}");
    let _ = server;
}

#[test]
fn what_is_pasted_is_one_message() {
    for (before, after) in [("\u{1b}[200~", "\u{1b}[201~"), ("", "")] {
        let (place, server, mut terminal) = at_work();
        terminal.types(&format!("{before}first line\rsecond line\rthird{after}"));
        terminal.types("\r");
        terminal.shows("queued: first line second line third\r\n", 1);
        std::fs::write(place.work.join("go"), "").unwrap();
        let (code, shown) = terminal.end();
        assert_eq!((code, shown.matches("■ final").count()), (0, 2), "{shown}");
        assert!(last_told(&server).contains("first line\\nsecond line\\nthird"), "{}", last_told(&server));
    }
}

#[test]
fn a_paste_at_a_question_decides_nothing_until_enter() {
    let (place, server, mut terminal) = asked((200, 250), &[], 1);
    std::thread::sleep(READ);
    terminal.types("\u{1b}[200~y\ny\n\u{1b}[201~");
    std::thread::sleep(READ);
    assert_eq!(place.text("effects"), "");
    terminal.types("\u{15}\u{1b}[200~n wrong\nfile\u{1b}[201~\r");
    let (code, shown) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, ""), "{shown}");
    assert!(last_told(&server).contains("wrong\\nfile"), "{}", last_told(&server));
}

#[test]
fn a_paste_of_a_megabyte_arrives_whole_and_takes_a_few_rows() {
    let (place, _server, mut terminal) = at_work();
    let text = "0123456789abcde\n".repeat(65_536);
    terminal.types(&format!("\u{1b}[200~{}\u{1b}[201~", text.trim_end()));
    terminal.types("\r");
    terminal.shows("› 0123456789abcde … (65536 lines, 1048575 bytes)\r\n", 1);
    // Only then has it been said: a run that ends before takes no more.
    terminal.shows("queued: ", 1);
    std::fs::write(place.work.join("go"), "").unwrap();
    let (_, bytes) = terminal.ends();
    assert!(bytes.len() < 200_000, "{} bytes were written to the terminal", bytes.len());
    let messages: serde_json::Value = serde_json::from_str(&place.ok(&["export", "--format", "neutral"])).unwrap();
    let said = messages.as_array().unwrap().iter().filter_map(|message| message["parts"][0]["text"].as_str());
    assert!(said.map(str::trim_end).any(|said| said == text.trim_end()), "it was not said whole");
}

#[test]
fn a_narrow_terminal_and_a_dumb_one_ask_the_same() {
    let (place, _server, mut terminal) = asked((40, 20), &[], 1);
    std::thread::sleep(READ);
    terminal.types("y");
    let (code, bytes) = terminal.ends();
    let shown = rendered(&bytes, (40, 20));
    assert_eq!((code, place.text("effects").as_str()), (0, "1\n"), "{shown}");
    assert_eq!(shown.matches("[?]:").count(), 1, "{shown}");
    let (place, _server, mut terminal) = asked((40, 80), &[("TERM", "dumb")], 1);
    terminal.types("y\n");
    let (code, bytes) = terminal.ends();
    let raw = String::from_utf8(bytes).unwrap();
    assert_eq!((code, place.text("effects").as_str(), raw.contains('\u{1b}')), (0, "1\n", false), "{raw:?}");
}

#[test]
fn a_terminal_that_is_closed_in_the_middle_of_an_answer_decides_nothing() {
    let (place, _server, mut terminal) = asked((200, 250), &[], 1);
    std::thread::sleep(READ);
    terminal.types("o");
    terminal.types("k");
    terminal.closes(|| {});
    assert_eq!(place.text("effects"), "");
    place.ok(&["approve"]);
    assert_eq!((place.run(&["resume"]).code, place.text("effects").as_str()), (0, "1\n"));
    place.ok(&["verify"]);
}

#[test]
fn the_terminal_is_left_as_it_was() {
    let place = Place::new();
    let server = scripted(vec![bash("echo 1 >> effects"), Answer::text("The end.")]);
    let program = format!("trap : INT; stty -g; {} run --model {} 'Do it.'; stty -g", PROGRAM[0], server.model());
    for key in ["y", "l", "\u{3}"] {
        let mut terminal = Terminal::start_by(&place, &["sh", "-c", &program], &[], &[]);
        terminal.shows(ASKED, 1);
        std::thread::sleep(READ);
        terminal.types(key);
        let (_, bytes) = terminal.ends();
        let shown = rendered(&bytes, (200, 250));
        let mut lines = shown.lines();
        assert_eq!(lines.next(), lines.next_back(), "{shown}");
        assert!(String::from_utf8(bytes).unwrap().contains("\u{1b}[?2004l"), "{shown}");
    }
}

#[test]
fn in_the_background_nothing_of_the_shells_line_is_taken_away() {
    let waits = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done; echo printed";
    let (place, server) = (Place::new(), scripted(vec![bash(waits), Answer::text("The end.")]));
    let shell = ["bash", "--norc", "--noprofile", "-i"];
    let mut terminal = Terminal::of_size((60, 160), &place, (&shell, &[]), &[("PS1", "shell$ ")]);
    terminal.types(&format!("{} run --yes --model {} 'Do it.'\n", PROGRAM[0], server.model()));
    wait_until("the tool runs", || place.text("began") == "x\n");
    // The line that turns is drawn by now.
    terminal.shows(" 1 s ·", 1);
    terminal.types("\u{1a}");
    terminal.shows("Stopped", 1);
    terminal.types("bg\n");
    terminal.shows("shell$", 3);
    // Time in which it could draw its line.
    std::thread::sleep(READ);
    let shown = terminal.screen();
    assert!(shown.ends_with("\r\nshell$\r\n"), "{shown}");
    std::fs::write(place.work.join("go"), "").unwrap();
    terminal.types("fg\n");
    terminal.shows("■ final", 1);
    // What is typed before the shell asks again goes to the program.
    terminal.shows("shell$", 4);
    terminal.types("exit\n");
    terminal.end();
}
