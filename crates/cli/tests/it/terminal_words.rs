//! A person who types at a terminal while a run goes on.

use crate::pty::Terminal;
use crate::support::*;
use crate::terminal::{QUESTION, last_told, one_call};
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::json;

/// A command that runs until the file `go` is there.
const WAITS: &str = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done; echo done >> effects";

fn at_work(answers: Vec<Answer>) -> (Place, ModelServer, Terminal) {
    let (place, server) = (Place::new(), scripted(answers));
    let terminal = Terminal::start(&place, &["run", "--yes", "--model", &server.model(), "Do it."], &[]);
    wait_until("the tool runs", || place.text("began") == "x\n");
    (place, server, terminal)
}

#[test]
fn what_is_typed_during_a_run_is_read_now_or_after_it() {
    let answers = vec![bash(WAITS), Answer::text("One."), Answer::text("Two."), Answer::text("Three.")];
    let (place, server, mut terminal) = at_work(answers);
    terminal.types("/help\n");
    terminal.shows("/clear        stop the run", 1);
    terminal.types("y\n");
    terminal.shows("no question is open; ignored", 1);
    terminal.types("/stear x\n");
    terminal
        .shows("there is no skill or command /stear; the skills are /planning, /research, /browser; /help lists", 1);
    terminal.types("/next And this.\n");
    terminal.shows("queued; use /steer TEXT to redirect the run now", 1);
    terminal.types("And that.\n");
    terminal.shows("queued; use /steer TEXT to redirect the run now", 2);
    terminal.types("/steer Look there.\n");
    terminal.shows("steering: applied when the current tool finishes", 1);
    std::fs::write(place.work.join("go"), "").unwrap();
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, "done\n"), "{screen:?}");
    let told = last_told(&server);
    let order = ["Look there.", "One.", "And this.", "Two.", "And that."].map(|words| told.find(words).unwrap());
    assert!(order.is_sorted(), "{told}");
}

#[test]
fn an_esc_ends_the_running_call_and_a_clear_the_whole_conversation() {
    let (place, server, mut terminal) = at_work(vec![bash(WAITS), bash(WAITS), Answer::text("Done.")]);
    terminal.types("/esc\n");
    terminal.shows("stopping call 2.0 (bash)", 1);
    wait_until("the agent goes on", || place.text("began") == "x\nx\n");
    terminal.types("/clear\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str(), server.count()), (130, "", 2), "{screen:?}");
    assert!(screen.contains("the conversation was cleared, so there is no answer"), "{screen:?}");
    assert_eq!(place.tools(), Vec::<u32>::new());
}

#[test]
fn a_rewind_in_a_terminal_asks_about_the_files_and_shows_what_would_change() {
    for (said, left) in [("n\n", "new\n"), ("y\n", "")] {
        let place = Place::new();
        let write = Answer::call("write_text_file", json!({"path": "made.txt", "content": "new\n"}));
        let server = scripted(vec![write, Answer::text("Done.")]);
        assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
        // It answers as if it had written the file.
        let other = scripted(vec![Answer::text("As you like.")]);
        let trace = place.trace();
        let mut terminal = Terminal::start(&place, &["rewind", &trace, "1", "--model", &other.model()], &[]);
        let question = "1 file was changed since: restore what calls have changed? [y]es, [n]o, [s]how: ";
        terminal.shows(question, 1);
        terminal.types("s\n");
        terminal.shows("-new", 1);
        terminal.shows(question, 2);
        assert_eq!(place.text("made.txt"), "new\n");
        terminal.types(said);
        let (code, screen) = terminal.end();
        assert_eq!((code, place.text("made.txt").as_str()), (0, left), "{screen:?}");
        assert!(screen.contains("As you like."), "{screen:?}");
    }
}

#[test]
fn a_steer_from_elsewhere_takes_the_place_of_the_call_in_question() {
    let (place, server) = one_call();
    let terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    let trace = place.trace();
    let said = place.ok(&["steer", &trace, "Leave it."]);
    assert_eq!(said, format!("{trace} reads it now and skips the open call\n"));
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, ""), "{screen:?}");
    assert!(last_told(&server).contains("Leave it."), "{}", last_told(&server));
}

#[test]
fn a_word_at_the_question_is_no_answer_to_it() {
    let (place, server) = one_call();
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows(QUESTION, 1);
    // Only what is offered has an explanation.
    terminal.types("?\n");
    terminal.shows("t          allow it, and calls like it (the rule above) in this trace", 1);
    terminal.shows(QUESTION, 2);
    assert!(!terminal.screen().contains("f          allow it"), "{}", terminal.screen());
    terminal.types("f\n");
    terminal.shows("f does not cover this call; y, n, t, w, e and the new command or arguments, a, d, l or ?: ", 1);
    terminal.types("/help\n");
    terminal.shows("  y, n, t, w, e and the new command or arguments, a, d, l or ?: ", 1);
    assert_eq!(place.text("effects"), "");
    // It takes the place of what was asked for.
    terminal.types("/steer Leave it.\n");
    terminal.shows("steering: read now; the call in question is skipped", 1);
    terminal.shows("✗ bash was skipped: a new message came first", 1);
    let (code, screen) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (0, ""), "{screen:?}");
    assert!(last_told(&server).contains("Leave it."), "{}", last_told(&server));
}
