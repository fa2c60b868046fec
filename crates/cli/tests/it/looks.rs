//! How things look in a terminal, and that they look as plain as ever anywhere else.

use crate::pty::{Terminal, rendered};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::json;
use std::process::Stdio;

const PROGRAM: [&str; 1] = [env!("CARGO_BIN_EXE_mainpath")];

/// A terminal of this size in which a run goes on that asks for nothing.
fn run_in(size: (u16, u16), place: &Place, server: &ModelServer, env: &[(&str, &str)]) -> Terminal {
    let model = server.model();
    Terminal::of_size(size, place, (&PROGRAM, &["run", "--yes", "--model", &model, "Do it."]), env)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The longest row of what a terminal of this size shows.
#[track_caller]
fn fits(shown: &str, columns: usize) {
    let widest = shown.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(widest.chars().count() <= columns, "{widest:?} takes more than {columns} columns");
}

const MARKDOWN: &str =
    "# Result\n\nIt **works** and `all` is *well*.\n\n- one\n- two\n\n```sh\nls -l\n```\nSee [it](http://x/y).";

#[test]
fn an_answer_in_markdown_is_shown_as_what_it_means_and_elsewhere_as_it_is() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text(MARKDOWN)]));
    let (code, bytes) = run_in((40, 100), &place, &server, &[]).ends();
    let shown = rendered(&bytes, (40, 100));
    let answer =
        "Result\r\n\r\nIt works and all is well.\r\n\r\n• one\r\n• two\r\n\r\n  ls -l\r\nSee it (http://x/y).\r\n";
    assert!(code == 0 && shown.contains(answer), "{shown}");
    assert_eq!(shown.matches("It works").count(), 1, "{shown}");
    let raw = text(&bytes);
    for styled in
        ["\u{1b}[1mResult\u{1b}[0m", "\u{1b}[1mworks\u{1b}[0m", "\u{1b}[36mall\u{1b}[0m", "\u{1b}[2m  ls -l\u{1b}[0m"]
    {
        assert!(raw.contains(styled), "{styled:?} in {raw:?}");
    }
    // Without colours nothing would be left of it but its marks.
    let (_, bytes) = run_in((40, 100), &place, &server, &[("NO_COLOR", "1")]).ends();
    let plain = MARKDOWN.replace('\n', "\r\n");
    assert!(rendered(&bytes, (40, 100)).contains(&plain), "{}", rendered(&bytes, (40, 100)));
    let (_, bytes) = run_in((40, 100), &place, &server, &[("TERM", "dumb")]).ends();
    assert!(text(&bytes).contains(&plain) && !text(&bytes).contains('\u{1b}'), "{}", text(&bytes));
    let piped = place.run_on(&server, &["--yes", "Do it."]);
    assert_eq!((piped.code, piped.out.as_str()), (0, format!("{MARKDOWN}\n").as_str()));
    assert!(piped.err.contains(MARKDOWN) && !piped.err.contains('\u{1b}'), "{piped:#?}");
}

#[test]
fn an_answer_is_shown_while_it_is_written_and_its_lines_stay_once() {
    let gate = Gate::default();
    let slow = Answer::text("A **first** line that is\nslowly written, to its end.").ends_behind(&gate);
    let (place, server) = (Place::new(), scripted(vec![slow]));
    let terminal = run_in((40, 100), &place, &server, &[]);
    terminal.shows("slowly", 1);
    gate.open();
    let (code, bytes) = terminal.ends();
    let (raw, shown) = (text(&bytes), rendered(&bytes, (40, 100)));
    assert!(code == 0 && shown.contains("A first line that is\r\nslowly written, to its end.\r\n"), "{shown}");
    assert_eq!(shown.matches("slowly").count(), 1, "{shown}");
    // Each of its pieces was there before the next one.
    assert!(raw.matches("slowly").count() > 1, "{raw:?}");
}

#[test]
fn lines_that_only_name_a_call_take_one_row_and_nothing_is_left_of_what_was_for_the_moment() {
    let command = format!("echo {}; exit 0", "回溯 wide and long ".repeat(20));
    for columns in [80, 20] {
        let gate = Gate::default();
        let slow = bash(&command).ends_behind(&gate);
        let (place, server) = (Place::new(), scripted(vec![slow, Answer::text("The end.")]));
        let terminal = run_in((60, columns), &place, &server, &[]);
        terminal.shows("⋯", 1);
        gate.open();
        let (code, bytes) = terminal.ends();
        let shown = rendered(&bytes, (60, columns));
        assert!(code == 0 && text(&bytes).contains('⋯') && !shown.contains('⋯'), "{shown}");
        for mark in ["→ bash", "✓ bash"] {
            let line = shown.lines().find(|line| line.starts_with(mark)).unwrap_or_else(|| panic!("{mark} in {shown}"));
            assert!(line.ends_with('…'), "{line:?}");
            assert!(
                line.chars().map(|c| 1 + usize::from(c > '\u{2E80}')).sum::<usize>() <= usize::from(columns),
                "{line:?}"
            );
        }
        // The frames of the line that turns are gone as well.
        assert!(!shown.chars().any(|c| ('\u{2800}'..'\u{2900}').contains(&c)), "{shown}");
    }
}

#[test]
fn a_line_says_how_long_it_takes_and_is_gone_when_it_is_over() {
    let held = bash("until [ -e go ]; do sleep 0.02; done");
    let (place, server) = (Place::new(), scripted(vec![held, Answer::text("The end.")]));
    let terminal = run_in((40, 100), &place, &server, &[]);
    wait_until("it says how long", || text(&terminal.bytes()).contains(" 1 s · 10 in, 5 out"));
    std::fs::write(place.work.join("go"), "").unwrap();
    let (code, bytes) = terminal.ends();
    let shown = rendered(&bytes, (40, 100));
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains(" s ·") && !shown.chars().any(|c| ('\u{2800}'..'\u{2900}').contains(&c)), "{shown}");
    let server = scripted(vec![bash("sleep 1.2"), Answer::text("The end.")]);
    let piped = place.run_on(&server, &["--yes", "Do it."]);
    assert!(!piped.err.contains(" 1 s ·"), "{piped:#?}");
}

#[test]
fn what_a_failing_command_printed_is_shown_once() {
    let held = bash("echo 'it broke'; until [ -e go ]; do sleep 0.02; done; exit 3");
    let (place, server) = (Place::new(), scripted(vec![held, Answer::text("The end.")]));
    let go = || std::fs::write(place.work.join("go"), "").unwrap();
    let terminal = run_in((40, 100), &place, &server, &[]);
    terminal.shows("\r\nit broke\r\n", 1);
    go();
    let (code, bytes) = terminal.ends();
    let shown = rendered(&bytes, (40, 100));
    let (before, after) = shown.split_once("it broke\r\n✗ bash failed (").unwrap_or_else(|| panic!("{shown}"));
    assert!(code == 0 && after.contains(" s): exit code 3\r\n") && !after.contains("it broke"), "{before}{after}");
    // Where each line stands alone, it says what went wrong.
    std::fs::remove_file(place.work.join("go")).unwrap();
    let told = place.root().join("told");
    let file = std::fs::File::create(&told).unwrap();
    let mut piped = place.command(&["run", "--yes", "--model", &server.model(), "Do it."]);
    let mut piped = piped.stdout(Stdio::null()).stderr(file).spawn().unwrap();
    let told = || std::fs::read_to_string(&told).unwrap();
    wait_until("its output is shown", || told().contains("\nit broke\n"));
    go();
    piped.wait().unwrap();
    assert!(told().contains("✗ bash failed (") && told().matches("it broke").count() == 3, "{}", told());
}

#[test]
fn what_a_call_writes_without_a_question_is_shown_up_to_a_screenful_and_only_in_a_terminal() {
    let lines = |mark: &str| (1..=30).map(|n| format!("{mark}{n}\n")).collect::<String>();
    let write = Answer::call("write_text_file", json!({"path": "a.txt", "content": lines("line ")}));
    let edits = json!([{"old_text": "line 7\n", "new_text": "seven\n"}]);
    let edit = Answer::call("edit_text_file", json!({"path": "a.txt", "edits": edits}));
    let (place, server) = (Place::new(), scripted(vec![write, edit, Answer::text("The end.")]));
    let (code, bytes) = run_in((80, 100), &place, &server, &[]).ends();
    let shown = rendered(&bytes, (80, 100));
    assert!(code == 0 && shown.contains("a.txt\r\n  │ + line 1\r\n"), "{shown}");
    assert!(shown.contains("  │ + line 20\r\n  │ … 10 more lines\r\n") && !shown.contains("+ line 21"), "{shown}");
    let around = "  │   line 6\r\n  │ - line 7\r\n  │ + seven\r\n  │   line 8\r\n";
    assert!(shown.contains(around), "{shown}");
    assert!(text(&bytes).contains("\u{1b}[32m+ seven\u{1b}[0m"), "{:?}", text(&bytes));
    assert_eq!(place.text("a.txt"), lines("line ").replace("line 7", "seven"));
    let piped = place.run_on(&server, &["--yes", "Do it."]);
    assert!(piped.code == 0 && !piped.err.contains('│'), "{piped:#?}");
}

#[test]
fn what_was_read_with_the_question_is_not_shown_again() {
    let write = Answer::call("write_text_file", json!({"path": "a.txt", "content": "one\n"}));
    let (place, server) = (Place::new(), scripted(vec![write, Answer::text("The end.")]));
    let mut terminal = Terminal::run(&place, &server);
    terminal.shows("  │ + one\r\n", 1);
    terminal.types("y\n");
    let (code, shown) = terminal.end();
    assert_eq!((code, place.text("a.txt").as_str(), shown.matches("+ one").count()), (0, "one\n", 1), "{shown}");
}

#[test]
fn lists_fit_the_terminal() {
    let task = "A task that takes many words to say, since people say what they want in many words.";
    let (place, server) = (Place::new(), scripted(vec![bash("echo 1"), Answer::text(&"A long answer. ".repeat(20))]));
    assert_eq!(place.run_on(&server, &["--yes", task]).code, 0);
    for columns in [80, 40] {
        for args in [&["ls"][..], &["ls", "--search", "words"], &["show", "--all"], &["context"]] {
            let (code, bytes) = Terminal::of_size((60, columns), &place, (&PROGRAM, args), &[]).ends();
            // Not broken by the terminal either: each line takes one row of it.
            let broken = text(&bytes).lines().count();
            let shown = rendered(&bytes, (200, columns));
            assert_eq!((code, shown.lines().count()), (0, broken), "{args:?}: {shown}");
            fits(&shown, usize::from(columns));
        }
    }
    let piped = place.ok(&["ls"]);
    assert!(piped.contains("1 turn") || piped.contains("2 turns  "), "{piped}");
    assert!(piped.lines().all(|line| line.contains(" ago  ")), "{piped}");
}

#[test]
fn a_table_stands_in_columns_once_it_is_written() {
    let table = "Here:\n\n| file | lines |\n|:--|--:|\n| a.rs | 12 |\n| 回溯.rs | 1,234 |\n\nDone.";
    let gate = Gate::default();
    let (place, server) = (Place::new(), scripted(vec![Answer::text(table).ends_behind(&gate)]));
    let terminal = run_in((40, 60), &place, &server, &[]);
    terminal.shows("Here:", 1);
    gate.open();
    let (code, bytes) = terminal.ends();
    let shown = rendered(&bytes, (40, 60));
    let drawn =
        "Here:\r\n\r\nfile    │ lines\r\n────────┼──────\r\na.rs    │    12\r\n回溯.rs │ 1,234\r\n\r\nDone.\r\n";
    assert!(code == 0 && shown.contains(drawn), "{shown}");
    assert!(!shown.contains("|:--|"), "{shown}");
}

#[test]
fn of_what_a_command_prints_without_end_the_beginning_and_the_end_are_shown() {
    let (place, server) = (Place::new(), scripted(vec![bash("seq 1 3000"), Answer::text("The end.")]));
    let done = place.run_on(&server, &["--yes", "Do it."]);
    let expected: String = (1..=400).map(|n| format!("{n}\n")).collect::<String>()
        + "… 2,590 lines not shown here …\n"
        + &(2_991..=3_000).map(|n| format!("{n}\n")).collect::<String>()
        + "✓ bash";
    assert!(done.code == 0 && done.err.contains(&expected), "{done:#?}");
}

#[test]
fn what_a_terminal_would_obey_is_spelled_out_in_exports_and_events() {
    let sent = "a\u{9b}31mb\u{1b}[2Jc\u{202e}d";
    let (place, server) = (Place::new(), scripted(vec![Answer::text(sent)]));
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    let trace = place.trace();
    let spelled = "a\\u009b31mb\\u001b[2Jc\\u202ed";
    for args in [&["export", &trace] as &[&str], &["export", &trace, "--format", "json"], &["show", "--events", &trace]]
    {
        let (code, bytes) = Terminal::of_size((200, 200), &place, (&PROGRAM, args), &[("NO_COLOR", "1")]).ends();
        let shown = text(&bytes);
        let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        assert!(code == 0 && !shown.contains(obeyed), "{args:?}: {shown:?}");
        assert!(shown.replace("\r\n", "").contains(spelled), "{args:?}: {shown:?}");
        // Elsewhere they are what they are, but for what people read.
        let is_read = args == ["export", trace.as_str()];
        assert_eq!(place.ok(args).contains('\u{9b}'), !is_read, "{args:?}");
    }
}

#[test]
fn what_an_earlier_run_wrote_is_not_shown_again_in_the_next() {
    let write = Answer::call("write_text_file", json!({"path": "a.txt", "content": "heron\n"}));
    let (place, server) = (Place::new(), scripted(vec![write, Answer::text("One."), Answer::text("Two.")]));
    let (code, bytes) = run_in((40, 100), &place, &server, &[]).ends();
    assert!(code == 0 && rendered(&bytes, (40, 100)).contains("│ + heron"));
    let again = ["run", "--yes", "-c", "--model", &server.model(), "And now?"];
    let (code, bytes) = Terminal::of_size((40, 100), &place, (&PROGRAM, &again), &[]).ends();
    let shown = rendered(&bytes, (40, 100));
    assert!(code == 0 && shown.contains("Two.") && !shown.contains("heron"), "{shown}");
}
