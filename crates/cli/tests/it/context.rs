//! Where the tokens of a request go, summaries on request, and what a model looks back with.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Format};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a request shows.
fn shown(server: &mainpath_testkit::model_server::ModelServer, request: usize) -> String {
    server.requests()[request].body()["messages"].to_string()
}

#[test]
fn a_model_looks_back_and_what_it_saw_is_gone_from_the_request_after() {
    let asked = AtomicUsize::new(0);
    // By their order: a look aside leaves nothing that one could count.
    let answers = [
        Answer::call("read_text_file", json!({"path": "a.txt"})),
        Answer::call("list_calls", json!({})),
        Answer::call("recall_result", json!({"call": "2.0", "from": 4})),
        Answer::call("recall_result", json!({"call": "9.0"})),
        Answer::call("expand_window", json!({"by": 3})),
        Answer::text("It says hello."),
    ];
    let server = server(move |_| answers[asked.fetch_add(1, Ordering::Relaxed)].clone().into());
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "one hello\n").unwrap();
    let done = place.run_on(&server, &["Read."]);
    assert_eq!((done.code, done.out.as_str()), (0, "It says hello.\n"), "{done:#?}");
    assert!(shown(&server, 2).contains("2.0 read_text_file ok, "), "{}", shown(&server, 2));
    assert!(!shown(&server, 3).contains("read_text_file ok"), "{}", shown(&server, 3));
    assert!(shown(&server, 3).contains("\"content\":\"hello\\n\""), "{}", shown(&server, 3));
    assert!(shown(&server, 4).contains("There is no finished call 9.0"), "{}", shown(&server, 4));
    let last = shown(&server, 5);
    assert!(!last.contains("recall_result") && last.contains("nothing is left out of the context"), "{last}");
    // No call is recorded of what was looked up, and the log gives the same requests again.
    let stats = place.ok(&["stats"]);
    assert!(!stats.contains("recall_result") && !stats.contains("list_calls"), "{stats}");
    let show = place.ok(&["show"]);
    assert!(show.contains("→ read_text_file") && !show.contains("recall_result"), "{show}");
    assert!(!stats.contains("expand_window") && !show.contains("expand_window"), "{stats}{show}");
    place.ok(&["replay"]);
}

#[test]
fn a_look_back_that_is_the_first_call_of_all_is_in_the_next_request_alone_as_well() {
    let answers = vec![
        Answer::text("Pelican."),
        Answer::call("list_calls", json!({})),
        Answer::text("None."),
        Answer::text("No."),
    ];
    let (place, server) = (Place::new(), scripted(answers));
    place.run_on(&server, &["--session", "s", "Say a word."]);
    for task in ["What did you call?", "Sure?"] {
        assert_eq!(place.run_on(&server, &["--session", "s", task]).code, 0);
    }
    assert!(shown(&server, 2).contains("No such call was made."), "{}", shown(&server, 2));
    assert!(!shown(&server, 3).contains("No such call was made."), "{}", shown(&server, 3));
    place.ok(&["replay"]);
}

#[test]
fn what_is_too_long_to_look_back_at_is_shown_in_short_and_what_is_older_can_be_reached() {
    let asked = AtomicUsize::new(0);
    let older = |args| Answer::call("load_older_messages", args);
    let answers = [
        Answer::text("The word is pelican."),
        Answer::call("read_text_file", json!({"path": "a.txt"})),
        Answer::text("It was long."),
        Answer::text("Yes."),
        older(json!({"count": 3})),
        older(json!({"count": 9, "before": 4})),
        older(json!({"count": 0})),
        Answer::call("expand_window", json!({"by": 1})),
        Answer::call("expand_window", json!({"by": 1})),
        Answer::call("list_calls", json!({})),
        Answer::text("Pelican."),
    ];
    let server = server(move |_| answers[asked.fetch_add(1, Ordering::Relaxed)].clone().into());
    let place = Place::new();
    place.config("summary = \"rules\"\n");
    std::fs::write(place.work.join("a.txt"), "a line of text\n".repeat(2_000)).unwrap();
    place.run_on(&server, &["Say a word."]);
    let trace = place.trace();
    for task in ["Read.", "Are you sure? Then tell me more."] {
        place.ok(&["run", "--trace", &trace, task]);
    }
    place.ok(&["compact", &trace]);
    place.ok(&["run", "--trace", &trace, "--max-context-chars", "28000", "Which word was it?"]);
    let short = shown(&server, 5);
    let (first, last) =
        ("(2 older messages are left out as well: call it with before 4.)", "[Only this is shown of it.]");
    assert!(short.contains(first) && short.contains("#6 assistant: It was long.") && short.contains(last), "{short}");
    assert!(
        shown(&server, 6).contains("#2 assistant: The word is pelican.\\n\\n#3 user: Read.\""),
        "{}",
        shown(&server, 6)
    );
    // One with arguments that cannot be is told so, and leaves nothing either.
    assert!(shown(&server, 7).contains("Wrong arguments for load_older_messages"), "{}", shown(&server, 7));
    assert!(shown(&server, 8).contains("It was long."), "one more is shown: {}", shown(&server, 8));
    let told = shown(&server, 9);
    assert!(told.contains("The window stays as it is: that has about"), "{told}");
    let calls = shown(&server, 10);
    assert!(calls.contains("4.0 read_text_file ok, ") && calls.contains(r#" tokens: {\"path\":\"a.txt\"}"#), "{calls}");
    let called = |tool: &str| calls.contains(&format!("\"name\":\"{tool}\""));
    assert!(!called("load_older_messages") && !called("expand_window"), "{calls}");
    let log = String::from_utf8(place.log(&trace)).unwrap();
    assert_eq!(log.matches("\"aside\":true").count(), 5, "the sixth look in a row is a turn");
    place.ok(&["replay"]);
}

#[test]
fn what_was_cleared_or_left_by_a_rewind_cannot_be_recalled() {
    let asked = AtomicUsize::new(0);
    let answers = [
        Answer::call("read_text_file", json!({"path": "a.txt"})),
        Answer::text("Read."),
        Answer::call("recall_result", json!({"call": "2.0"})),
        Answer::call("read_text_file", json!({"path": "a.txt"})),
        Answer::text("Nothing."),
        Answer::call("recall_result", json!({"call": "2.0"})),
        Answer::text("Nothing again."),
    ];
    let server = server(move |_| answers[asked.fetch_add(1, Ordering::Relaxed)].clone().into());
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "the old secret\n").unwrap();
    assert_eq!(place.run_on(&server, &["Read."]).code, 0);
    std::fs::write(place.work.join("a.txt"), "news\n").unwrap();
    let trace = place.trace();
    assert_eq!(place.run(&["rewind", &trace, "--to", "0", "What did you read?"]).code, 0);
    assert!(shown(&server, 3).contains("There is no finished call 2.0"), "{}", shown(&server, 3));
    place.ok(&["clear", &trace]);
    assert_eq!(place.run(&["run", "--trace", &trace, "What did you read?"]).code, 0);
    assert!(shown(&server, 6).contains("There is no finished call 2.0"), "{}", shown(&server, 6));
    for request in 2..7 {
        assert!(!shown(&server, request).contains("the old secret"), "{request}");
    }
}

#[test]
fn a_look_back_beside_other_calls_is_answered_and_is_no_call_of_the_run() {
    let both = Answer { text: "Both.".into(), ..Answer::call("list_calls", json!({})) };
    let both = both.and_call("read_text_file", json!({"path": "a.txt"}));
    let server = scripted(vec![both, Answer::text("It says hello.")]);
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "hello\n").unwrap();
    assert_eq!(place.run_on(&server, &["Read."]).code, 0);
    assert!(
        shown(&server, 1).contains("No such call was made.") && shown(&server, 1).contains("hello"),
        "both are answered"
    );
    let (stats, show) = (place.ok(&["stats"]), place.ok(&["show"]));
    assert!(stats.contains("read_text_file") && !stats.contains("list_calls"), "{stats}");
    assert!(show.contains("   Both.\n   → read_text_file") && !show.contains("list_calls"), "{show}");
    assert!(!show.contains("No such call") && show.contains("hello"), "{show}");
}

#[test]
fn no_body_has_more_characters_than_the_limit_in_any_format() {
    const MOST: usize = 26_000;
    for format in [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini] {
        // Short messages, in which most is what is around them, then long ones full of what is escaped.
        let server = server(|request| match request.n {
            ..30 => Answer::call("list_files", json!({"path": "."})).into(),
            30..45 => {
                Answer { text: "\"quoted\"\n".repeat(60), ..Answer::call("read_text_file", json!({"path": "a.txt"})) }
                    .into()
            }
            _ => Answer::text("Read.").into(),
        });
        let place = Place::new();
        // It looks at the same again and again.
        place.config("summary = \"rules\"\n[limits]\nrepeated_failure_limit = 0\n");
        std::fs::write(place.work.join("a.txt"), "\"a\"\t\\b\\\n".repeat(150)).unwrap();
        let (model, most) = (server.model_of(format), MOST.to_string());
        let args = ["run", "--model", &model, "--max-context-chars", &most, "--max-turns", "60", "Read it."];
        let done = place.run(&args);
        assert_eq!((done.code, done.out.as_str()), (0, "Read.\n"), "{format:?}: {done:#?}");
        let sizes: Vec<usize> =
            server.requests().iter().map(|request| String::from_utf8_lossy(&request.bytes).chars().count()).collect();
        let largest = sizes.iter().max().copied().unwrap_or(0);
        // What is full of signs is taken for more than it is.
        assert!(largest <= MOST && largest > MOST * 2 / 3, "{format:?}: {largest} of {sizes:?}");
        assert_eq!(sizes.len(), 45, "{format:?}: {sizes:?}");
        assert_eq!(server.violations(), Vec::<String>::new());
        place.ok(&["replay"]);
    }
}

#[test]
fn a_request_that_cannot_be_made_to_keep_to_the_limit_in_characters_is_not_sent() {
    let server = scripted(vec![Answer::text("Never asked.")]);
    let place = Place::new();
    // Every character of the task becomes six in JSON.
    let done = place.run_with(
        &["run", "--model", &server.model(), "--max-context-chars", "26000"],
        "\u{1}".repeat(6_000).as_bytes(),
    );
    assert!(done.code != 0 && done.err.contains("than the limit of 26000 characters"), "{done:#?}");
    assert_eq!(server.count(), 0);
}

#[test]
fn a_summary_is_made_on_request_and_context_says_what_it_stands_for() {
    let server = server(|request| {
        let body = String::from_utf8_lossy(&request.bytes).into_owned();
        match (body.contains("Keep in mind: the lines"), body.contains("look back"), body.matches("a line").count()) {
            (true, ..) => Answer::text("Goal: read. Tool Facts: a.txt has lines.").into(),
            (_, true, _) => Answer::text("Nothing was learned.").into(),
            (_, _, 0..200) => Answer::call("read_text_file", json!({"path": "a.txt"})).into(),
            _ => Answer::text("Read.").into(),
        }
    });
    let place = Place::new();
    place.run(&["compact"]).fails(1, "there are no traces yet");
    std::fs::write(place.work.join("a.txt"), "a line of text\n".repeat(60)).unwrap();
    assert_eq!(place.run_on(&server, &["Read. You must change nothing, say what the file is about in words that anybody knows, and no server's output is hidden at its end."]).code, 0);
    let trace = place.trace();
    let before: Value = serde_json::from_str(&place.ok(&["context", "--json"])).unwrap();
    assert_eq!(before["left_out"], json!([]));
    let said = place.ok(&["compact", &trace, "the lines"]);
    assert!(said.contains("was summarised by the model") && said.contains("tokens instead of"), "{said}");
    let after: Value = serde_json::from_str(&place.ok(&["context", "--json"])).unwrap();
    assert!(after["estimate"].as_u64() < before["estimate"].as_u64(), "{after:#}");
    let left_out = &after["left_out"][0];
    assert_eq!(left_out["first"], json!(2));
    assert!(left_out["why"].as_str().unwrap().starts_with("summarised by the model (event "), "{left_out}");
    let parts = after["parts"].as_array().unwrap();
    let summary: Vec<&str> =
        parts.iter().filter(|part| part["section"] == "summary").map(|part| part["what"].as_str().unwrap()).collect();
    assert_eq!(summary, ["user", "summary"]);
    let sum: u64 = parts.iter().map(|part| part["tokens"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), after["estimate"].as_u64(), "every token is somewhere");
    let mut narrow = place.command(&["context"]);
    let narrow = String::from_utf8(narrow.env("COLUMNS", "80").output().unwrap().stdout).unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 80) && narrow.contains('…'), "{narrow}");
    let mut all = place.command(&["context", "--all"]);
    let all = String::from_utf8(all.env("COLUMNS", "80").output().unwrap().stdout).unwrap();
    let text = place.ok(&["context"]);
    // Without a terminal, and with --all, no line is cut.
    for (text, how) in [(&text, "to a pipe"), (&all, "--all")] {
        assert!(text.contains("and no server's output is hidden at its end."), "{how}: {text}");
    }
    for words in ["section", "system", "left out", "#1 user", "You must change nothing, say"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let turn = place.ok(&["context", "--turn", "1"]);
    assert!(turn.contains("turn 1 · request 1") && turn.contains("the vendor counted"), "{turn}");
    place.run(&["context", "--turn", "99"]).fails(2, "has no turn 99: it has ");
    place.ok(&["replay"]);
}

#[test]
fn what_was_said_elsewhere_is_in_the_context_of_the_first_run_to_come() {
    let place = Place::new();
    let said = r#"[{"role":"user","content":"Say a word."},{"role":"assistant","content":"The word is pelican."}]"#;
    std::fs::write(place.work.join("h.json"), said).unwrap();
    place.ok(&["import", "h.json"]);
    let text = place.ok(&["context"]);
    for words in ["turn 0 · the next request", "#1 user", "Say a word.", "#2 assistant", "The word is pelican."] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let trace = place.trace();
    let none = format!("{trace} has no turn 0: no model request was made yet");
    place.run(&["context", "--turn", "0"]).fails(2, &none);
}

#[test]
fn a_task_that_is_larger_than_the_window_is_refused_before_any_request() {
    let server = scripted(vec![Answer::text("Never asked.")]);
    let place = Place::new();
    place.config("context_window = 8000\nreserved_output = 300\n");
    let done = place.run_on(&server, &[&"many words ".repeat(4_000)]);
    assert!(done.code != 0 && done.err.contains("the task and what goes with every request take about"), "{done:#?}");
    assert_eq!(server.count(), 0);
}

#[test]
fn the_shares_and_the_limit_in_characters_are_the_owners() {
    let server = scripted(vec![Answer::text("Done.")]);
    let place = Place::new();
    place.config("summary = \"rules\"\nmax_context_chars = 20000\n[shares]\nsummary = 30\nrecent = 40\n");
    assert_eq!(place.run_on(&server, &["Go."]).code, 0);
    let context: Value = serde_json::from_str(&place.ok(&["context", "--json"])).unwrap();
    assert_eq!((&context["most"], &context["full"]), (&json!(5_000), &json!(4_000)));
    assert_eq!(context["sections"]["summary"]["share"], json!(1_500));
    place.config("[shares]\nsummary = 30\nfoo = 3\n");
    place
        .run(&["run", "-m", "scripted", "x"])
        .fails(1, "config.toml, line 3: unknown field `foo`, expected one of `system`, `summary`");
    place.config("[shares]\nsummary = 60\n");
    let words = "config.toml, line 1: [shares]: 10 + 60 + 50 + 20 is 140; together they may be at most 100";
    place.run_on(&server, &["Go."]).fails(1, words);
}

#[test]
fn whoever_has_set_the_limit_that_nothing_fits_is_told_to_raise_it() {
    let server = scripted(vec![Answer::text("Never asked.")]);
    let place = Place::new();
    place.config("max_context_chars = 2000\n");
    let done = place.run_on(&server, &["Go."]);
    let told = format!(
        "the run ended: context full; instructions and tools alone are larger than max_context_chars: use fewer, or raise \
         max_context_chars: mainpath resume {} --max-context-chars N (0: no limit)",
        place.trace()
    );
    assert_eq!((done.code, done.own_lines()), (4, vec![told.as_str()]), "{done:#?}");
    // A budget that does not allow even one request.
    let place = Place::new();
    place.config("context_window = 32768\n[limits]\nmax_tokens = 4000\n");
    let done = place.run_on(&server, &["Go."]);
    let line = done.own_lines()[0].to_string();
    let (begin, end) = line.split_once(" tokens (").unwrap();
    let needed: u32 =
        begin.strip_prefix("tokens used up: the first request needs up to ").unwrap().replace(',', "").parse().unwrap();
    let told = format!(
        "2,048 for the answer), and max_tokens is 4,000; raise it: mainpath resume {} --max-tokens N",
        place.trace()
    );
    assert_eq!((done.code, done.own_lines().len(), end), (4, 1, told.as_str()), "{done:#?}");
    let enough = needed.to_string();
    let done = place.run(&["resume", "--max-tokens", &enough]);
    assert_eq!((done.code, done.out.as_str()), (0, "Never asked.\n"), "{done:#?}");
}

#[test]
fn the_room_of_a_request_is_a_sum_that_adds_up() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    // What is left of the window, and the line that says so: its figures, and the sum that they make.
    let sum = || {
        let text = place.ok(&["context"]);
        let line = text.lines().find(|line| line.starts_with("window ")).unwrap().to_string();
        let (taken, left) = line.split_once(" = ").unwrap();
        let figure =
            |text: &str| -> i64 { text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap() };
        let mut figures = taken.split(" − ").map(figure);
        let window = figures.next().unwrap();
        assert_eq!(window - figures.sum::<i64>(), figure(left), "{line}");
        line
    };
    for (config, words) in [
        ("context_window = 8000\nreserved_output = 2000\n", "window 8,000 − answer 2,000 − margin "),
        (
            "context_window = 8000\nreserved_output = 2000\nmax_context_chars = 16000\n",
            " beyond max_context_chars = 4,000 for the request",
        ),
    ] {
        place.config(config);
        assert_eq!(place.run_on(&server, &["Go."]).code, 0);
        assert!(sum().contains(words), "{words}: {}", sum());
        let json: Value = serde_json::from_str(&place.ok(&["context", "--json"])).unwrap();
        let [window, most, rest @ ..] =
            ["window", "most", "reserved", "margin", "beyond_limit"].map(|name| json[name].as_i64().unwrap());
        assert_eq!(window - rest.iter().sum::<i64>(), most, "{json}");
    }
}
