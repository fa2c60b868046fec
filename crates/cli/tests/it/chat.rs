//! `mainpath` alone in a terminal.

use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};

const PROGRAM: [&str; 1] = [env!("CARGO_BIN_EXE_mainpath")];

fn bare(place: &Place, env: &[(&str, &str)]) -> Terminal {
    Terminal::of_size((80, 160), place, (&PROGRAM, &[]), env)
}

fn last_told(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body()["messages"].to_string()
}

#[test]
fn the_first_time_it_asks_for_a_model_tries_it_and_keeps_it() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Hello."), Answer::text("Two.")]));
    let mut terminal = bare(&place, &[]);
    terminal.shows("model:", 1);
    // A demonstration is offered, and needs none.
    terminal.shows("Type demo to see a demonstration first", 1);
    terminal.types("demo\n");
    terminal.shows("? allow edit_text_file: shopping.txt", 1);
    terminal.types("y\n");
    terminal.shows("■ final", 1);
    terminal.shows("model:", 2);
    terminal.types("gpt-nothing\n");
    terminal.shows("model:", 3);
    // Nobody listens there.
    terminal.types("openai-compatible:http://127.0.0.1:1/v1#x\n");
    terminal.shows("model:", 4);
    terminal.types(&format!("{}\n", server.model()));
    terminal.shows("✓ it answers: Hello.\r\n", 1);
    terminal.shows("make it the default for every folder? [y]es, [n]o:", 1);
    terminal.types("y\n");
    terminal.shows(&format!("a new conversation in {}", place.work.display()), 1);
    terminal.types("What is here?\r");
    terminal.shows("› What is here?\r\n", 1);
    terminal.shows("■ final", 2);
    terminal.types("\u{4}");
    let (code, shown) = terminal.end();
    assert!(code == 0 && shown.contains("Hello.\r\n"), "{shown}");
    assert_eq!(
        std::fs::read_to_string(place.home.join("config.toml")).unwrap(),
        format!("model = {:?}\n", server.model())
    );
    // An empty line leaves.
    let other = Place::new();
    let mut terminal = bare(&other, &[]);
    terminal.shows("model:", 1);
    terminal.types("\n");
    let (code, shown) = terminal.end();
    assert_eq!((code, shown.matches("no model chosen; mainpath models lists").count()), (2, 1), "{shown}");
    assert_eq!(other.traces(), Vec::<String>::new());
}

/// Whether the line that turns is there.
fn turns(terminal: &Terminal) -> bool {
    terminal.screen().contains(|c: char| ('\u{2800}'..'\u{2900}').contains(&c))
}

/// Says something, and lets the model answer once the line turns. Then waits for the end of the run: when its summary is there and the
/// line is gone, what is typed is for the conversation.
fn says(terminal: &mut Terminal, text: &str, gate: &Gate, number: usize) {
    terminal.types(&format!("{text}\r"));
    wait_until("the line turns", || turns(terminal));
    gate.open();
    terminal.shows("■ final", number);
    wait_until("the run is over", || !turns(terminal) && terminal.screen().ends_with("in, 5 out\r\n›\r\n"));
}

#[test]
fn a_conversation_goes_on_message_by_message_and_again_the_next_time_in_its_folder() {
    let gates: [Gate; 4] = Default::default();
    let held = gates.clone();
    let server = server(move |request| {
        let text = ["One.", "Two.", "Three."][request.count("assistant")];
        Answer::text(text).ends_behind(&held[request.n - 1]).into()
    });
    let place = Place::new();
    let model = server.model();
    let mut terminal = bare(&place, &[("MAINPATH_MODEL", &model)]);
    terminal.shows("a new conversation in", 1);
    for (number, text) in [(1, "First."), (2, "y")] {
        says(&mut terminal, text, &gates[number - 1], number);
    }
    assert!(String::from_utf8(terminal.bytes()).unwrap().contains(" 0 s"));
    let trace = place.trace();
    terminal.types("/stear\r");
    terminal.shows("there is no skill or command /stear; the skills are /planning, /research, /browser; /help lists the commands\r\n", 1);
    terminal.types("/next\r");
    terminal.shows("/next needs a text: /next TEXT\r\n", 1);
    terminal.types("\u{4}");
    let (code, shown) = terminal.end();
    assert!(
        code == 0 && shown.ends_with(&format!("trace {trace}; to continue: mainpath in this folder\r\n")),
        "{shown}"
    );
    assert_eq!((shown.matches("One.\r\n").count(), shown.matches("Two.\r\n").count()), (1, 1), "{shown}");
    // The next day.
    let mut terminal = bare(&place, &[]);
    terminal.shows(&format!("continuing {trace} (First.) with {model}; /new starts a new conversation\r\n"), 1);
    says(&mut terminal, "And then?", &gates[2], 1);
    assert!(
        last_told(&server).contains("First.") && last_told(&server).contains("And then?"),
        "{}",
        last_told(&server)
    );
    terminal.types("/new\r");
    terminal.shows("your next message starts a new conversation\r\n", 1);
    says(&mut terminal, "Something else.", &gates[3], 2);
    assert!(!last_told(&server).contains("And then?"), "{}", last_told(&server));
    // An answer of the conversation: from now on signals are for it.
    terminal.types("/next\r");
    terminal.shows("/next needs a text: /next TEXT\r\n›\r\n", 1);
    terminal.types("\u{3}");
    terminal.shows("\r\nCtrl-C again or Ctrl-D leaves\r\n›", 1);
    terminal.types("\u{3}");
    assert_eq!((terminal.end().0, place.traces().len()), (0, 2));
}

#[test]
fn a_ctrl_c_clears_a_half_typed_line_and_only_the_second_on_an_empty_line_leaves() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Hello.")]));
    let mut terminal = bare(&place, &[("MAINPATH_MODEL", &server.model())]);
    terminal.shows("Ctrl-D leaves\r\n›", 1);
    for hint in 1..=2 {
        terminal.types("half of it");
        terminal.shows("› half of it\r\n", 1);
        terminal.types("\u{3}");
        terminal.shows("\r\n›\r\n", 1);
        terminal.types("\u{3}");
        terminal.shows("Ctrl-C again or Ctrl-D leaves\r\n", hint);
    }
    terminal.types("whole\r");
    terminal.shows("■ final", 1);
    assert!(!last_told(&server).contains("half of it"), "{}", last_told(&server));
    terminal.shows("in, 5 out\r\n›\r\n", 1);
    terminal.types("\u{4}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_ctrl_c_at_a_question_clears_what_is_half_typed_and_the_question_stays() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo 1 >> effects"), Answer::text("The end.")]));
    let mut terminal = bare(&place, &[("MAINPATH_MODEL", &server.model())]);
    terminal.shows("a new conversation in", 1);
    terminal.types("Do it.\r");
    terminal.shows("[l]ater, [?]:", 1);
    for half in ["edit something", "no wai"] {
        terminal.types(half);
        terminal.shows(&format!("[?]: {half}\r\n"), 1);
        terminal.types("\u{3}");
        terminal.shows("[l]ater, [?]:\r\n", 1);
    }
    terminal.types("yes\r");
    terminal.shows("■ final", 1);
    assert_eq!(place.text("effects"), "1\n");
    terminal.types("\u{4}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_question_left_for_later_and_a_failure_are_told_and_without_a_terminal_nothing_begins() {
    let (place, server) =
        (Place::new(), scripted(vec![bash("echo 1 >> effects"), Answer::text("The end."), Answer::text("More.")]));
    let model = server.model();
    let mut terminal = bare(&place, &[("MAINPATH_MODEL", &model)]);
    terminal.shows("a new conversation in", 1);
    terminal.types("Do it.\r");
    terminal.shows("[l]ater, [?]:", 1);
    terminal.types("later\r");
    let waits = "call 2.0 (bash: echo 1 >> effects) waits for your answer; ";
    let how = "press Enter to continue, or type a message, which is read after it\r\n›\r\n";
    terminal.shows(&format!("{waits}{how}"), 1);
    // A message waits behind it, and says so.
    terminal.types("And then?\r");
    terminal.shows(&format!("{waits}your message is read after that\r\n"), 1);
    terminal.shows("[l]ater, [?]:", 2);
    terminal.types("later\r");
    terminal.shows(&format!("{waits}press Enter"), 2);
    terminal.types("\u{4}");
    let (code, shown) = terminal.end();
    assert_eq!((code, place.text("effects").as_str()), (5, ""), "{shown}");
    assert!(shown.contains(&format!("mainpath approve {}", place.trace())), "{shown}");
    // The next day.
    let mut terminal = bare(&place, &[]);
    terminal.shows(&format!("{waits}{how}"), 1);
    terminal.types("\r");
    terminal.shows("[l]ater, [?]:", 1);
    terminal.types("yes\r");
    terminal.shows("■ final", 1);
    assert_eq!(place.text("effects"), "1\n");
    terminal.types("\u{4}");
    assert_eq!(terminal.end().0, 0);
    place.run(&["chat"]).fails(2, "a chat needs a terminal; without one: mainpath run");
    let bare = place.run(&[]);
    assert!(bare.code == 2 && bare.err.contains("Usage: mainpath <COMMAND>") && bare.out.is_empty(), "{bare:#?}");
}

#[test]
fn a_chat_that_is_suspended_leaves_the_terminal_to_the_shell_and_keeps_what_was_typed() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Hello.")]));
    let shell = ["bash", "--norc", "--noprofile", "-i"];
    let mut terminal = Terminal::of_size((80, 160), &place, (&shell, &[]), &[("PS1", "$ ")]);
    terminal.types(&format!("{} chat --model {}\n", PROGRAM[0], server.model()));
    terminal.shows("Ctrl-D leaves\r\n›", 1);
    terminal.types("hello wor");
    terminal.shows("› hello wor", 1);
    terminal.types("\u{1a}");
    terminal.shows("Stopped", 1);
    // The shell's own line and echo work.
    terminal.types("echo $((6 * 7))\n");
    terminal.shows("\r\n42\r\n", 1);
    terminal.types("fg\n");
    terminal.shows("› hello wor", 2);
    terminal.types("ld\r");
    terminal.shows("■ final", 1);
    assert!(last_told(&server).contains("hello world"), "{}", last_told(&server));
    terminal.types("\u{4}");
    terminal.shows("; to continue: mainpath in this folder", 1);
    terminal.types("exit\n");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn what_is_said_beside_a_run_is_broken_between_words() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo 1 >> effects"), Answer::text("The end.")]));
    let mut terminal = Terminal::of_size((80, 40), &place, (&PROGRAM, &[]), &[("MAINPATH_MODEL", &server.model())]);
    terminal.shows("›", 1);
    terminal.types("/help\r");
    terminal.shows("\r\n/clear        stop the run and start\r\n              the conversation over\r\n", 1);
    terminal.types("Do it.\r");
    terminal.shows("[?]:", 1);
    std::thread::sleep(std::time::Duration::from_millis(600));
    terminal.types("?");
    terminal.shows("\r\n  l          decide later with mainpath\r\n             approve or mainpath deny\r\n", 1);
    terminal.types("n\r");
}

#[test]
fn before_there_is_a_model_lines_are_broken_between_words_too() {
    let place = Place::new();
    let mut terminal = Terminal::of_size((40, 44), &place, (&PROGRAM, &[]), &[]);
    terminal.shows("model:", 1);
    terminal.shows("\r\n`mainpath models` lists them. Type demo to\r\n  see", 1);
    terminal.types("nothing\n");
    terminal.shows("✗ unknown model \"nothing\"; the forms are:\r\n  PROVIDER:MODEL", 1);
    terminal.types("\n");
}

#[test]
fn enter_continues_a_run_that_was_stopped_also_the_next_day() {
    let place = Place::new();
    let server = scripted(vec![
        bash("echo x >> began; sleep 100"),
        bash("echo x >> began; sleep 101"),
        Answer::text("The end."),
    ]);
    let mut terminal = bare(&place, &[("MAINPATH_MODEL", &server.model())]);
    terminal.shows("a new conversation in", 1);
    terminal.types("Do it.\r");
    for stops in 1..=2 {
        terminal.shows("[l]ater, [?]:", stops);
        terminal.types("yes\r");
        terminal.shows("[?]: yes", stops);
        wait_until("the command runs", || place.text("began").lines().count() == stops);
        terminal.types("\u{3}");
        let hint = "the last run was stopped; press Enter to continue it, or type what to do instead\r\n";
        terminal.shows(hint, stops);
        if stops == 2 {
            // The next day.
            terminal.types("\u{4}");
            assert_eq!(terminal.end().0, 0);
            terminal = bare(&place, &[("MAINPATH_MODEL", &server.model())]);
        }
        // Only then is what is typed for the conversation.
        wait_until("it is asked", || terminal.screen().ends_with(&format!("{hint}›\r\n")));
        terminal.types("\r");
    }
    terminal.shows("The end.", 1);
    assert_eq!(place.traces().len(), 1);
    terminal.shows("■ final", 1);
    terminal.types("\u{4}");
    assert_eq!(terminal.end().0, 0);
}
