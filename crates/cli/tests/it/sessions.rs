//! Sessions, and conversations in and out of traces.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn shown(value: &Value) -> Vec<String> {
    let text = |message: &Value| format!("{}: {}", message["role"].as_str().unwrap(), message["content"]);
    value.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn a_session_goes_on_where_it_was_and_begins_anew_after_its_time() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("I am well."), Answer::text("You asked how I am.")]);
    place.run_on(&server, &["--session", "chat", "How are you?"]);
    let first = place.trace();
    place.run_on(&server, &["--session", "chat", "What did I ask?"]);
    assert_eq!(place.traces(), std::slice::from_ref(&first), "the same trace");
    let list = place.ok(&["session", "list"]);
    assert!(list.starts_with("chat ") && list.contains(&first), "{list}");
    let show = place.ok(&["session", "show", "chat"]);
    assert!(show.contains("window: the last 20 messages; no expiry") && show.contains("completed"), "{show}");
    let prepared = json_of(&place.ok(&["session", "prepare", "chat", "--format", "openai"]));
    let said = [
        "user: \"How are you?\"",
        "assistant: \"I am well.\"",
        "user: \"What did I ask?\"",
        "assistant: \"You asked how I am.\"",
    ];
    assert_eq!(shown(&prepared), said);
    let prepared = json_of(&place.ok(&["session", "prepare", "chat", "--format", "openai", "--window", "3"]));
    assert_eq!(shown(&prepared), [&["user: \"(what was said before is left out)\""], &said[1..]].concat());
    assert_eq!(json_of(&place.ok(&["session", "prepare", "chat", "--format", "gemini"]))[1]["role"], "model");
    // Its time is over at once.
    let removed = place.ok(&["session", "rm", "chat"]);
    assert_eq!(removed, format!("chat is removed; its trace {first} is kept\n"));
    place.ok(&["session", "new", "silent"]);
    assert_eq!(place.ok(&["session", "rm", "silent"]), "silent is removed\n");
    place.ok(&["session", "new", "chat", "--ttl", "1ms", "--trace", &first]);
    let done = place.run(&["session", "prepare", "chat"]);
    assert_eq!((done.code, done.out.as_str()), (0, "[\n]\n"), "{done:#?}");
    assert!(done.err.contains("has expired and starts over"), "{}", done.err);
    place.run_on(&server, &["--session", "chat", "Anew."]);
    assert_eq!(place.traces().len(), 2);
}

#[test]
fn messages_of_another_system_are_persisted_mended_and_go_on_here() {
    let place = Place::new();
    place.ok(&["session", "new", "feishu-42"]);
    let turn = json!([{"role": "user", "content": "必须用中文回答。删除哪个文件？"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}]);
    let done = place.run_with(&["session", "persist", "feishu-42"], turn.to_string().as_bytes());
    assert_eq!(done.code, 0, "{done:#?}");
    let said = "1 message was kept until the result of 1 call comes\n";
    assert!(done.out.starts_with("1 message was added to the new trace ") && done.out.ends_with(said), "{done:#?}");
    assert_eq!(done.err, "", "its result may still come");
    assert!(place.ok(&["session", "show", "feishu-42"]).contains("  1 call waits for its result\n"));
    let more = place.work.join("more.json");
    std::fs::write(&more, r#"{"messages":[{"role":"assistant","content":"决定删除 a.txt"}]}"#).unwrap();
    let done = place.run(&["session", "persist", "feishu-42", more.to_str().unwrap(), "--format", "anthropic"]);
    // The model has gone on without a result.
    assert!(done.code == 0 && done.out.starts_with("2 messages were added to trace "), "{done:#?}");
    assert_eq!(done.err, "! calls without a result got one that says so (1)\n");
    let trace = place.trace();
    assert!(place.ok(&["verify", &trace]).contains("the chain verifies"));
    let summary = place.ok(&["session", "summary", "feishu-42"]);
    assert!(summary.contains("## Constraints\n- 必须用中文回答。"), "{summary}");
    assert!(summary.contains("## Decisions\n- 决定删除 a.txt"), "{summary}");
    // The next run sees all of it.
    let server = scripted(vec![Answer::text("a"), Answer::text("b"), Answer::text("好的。")]);
    let done = place.run_on(&server, &["--session", "feishu-42", "继续"]);
    assert_eq!((done.code, done.out.as_str()), (0, "好的。\n"), "{done:#?}");
    let body = server.requests()[0].body().clone();
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(server.violations(), Vec::<String>::new());
    place.ok(&["replay", &trace]);
}

#[test]
fn the_mirror_is_a_database_that_others_read() {
    let place = Place::new();
    place.config("[sessions]\nwindow = 4\nttl = \"7d\"\nmirror = \"sqlite:chats.db\"\n");
    let server = scripted(vec![Answer::text("I am well.")]);
    place.run_on(&server, &["--session", "chat", "How are you?"]);
    let file = place.home.join("chats.db");
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.windows(12).any(|at| at == b"How are you?"), "it is written when the run ends");
    let show = place.ok(&["session", "show", "chat"]);
    assert!(show.contains("window: the last 4 messages; expires 7 d after its last use"), "{show}");
    // Spoilt, it is done without, and said where that matters.
    std::fs::write(&file, "spoilt ".repeat(1_000)).unwrap();
    let prepared = json_of(&place.ok(&["session", "prepare", "chat"]));
    assert_eq!(prepared.as_array().unwrap().len(), 2);
    let done = place.run_with(&["session", "persist", "chat"], br#"[{"role":"user","content":"more"}]"#);
    assert!(done.code == 0 && done.err.contains("the messages are saved, but not mirrored"), "{done:#?}");
    place.config("[sessions]\nmirror = \"redis://user:pass@127.0.0.1/\"\n");
    let bad = place.run(&["session", "prepare", "chat"]);
    bad.fails(1, "[sessions]");
    assert!(!bad.err.contains("pass@"), "{}", bad.err);
    place.config("[sessions]\nmirror = \"mysql:x\"\n");
    place.run(&["session", "prepare", "chat"]).fails(1, "mirror must be sqlite:FILE or redis://HOST:PORT/DATABASE");
}

#[test]
fn mistakes_with_sessions_are_said_in_a_line() {
    let place = Place::new();
    place.run(&["session", "prepare", "nobody"]).fails(1, "there is no session \"nobody\"");
    place.run(&["session", "show", "../x"]).fails(2, "cannot be a session's name");
    place.ok(&["session", "new", "a"]);
    place.run(&["session", "new", "a"]).fails(1, "there is a session \"a\" already");
    place.run(&["session", "switch", "a", "no-trace"]).fails(1, "there is no trace \"no-trace\"");
    let persist = |text: &str| place.run_with(&["session", "persist", "a"], text.as_bytes());
    persist("{").fails(1, "standard input: it is not JSON");
    persist("[]").fails(1, "standard input has no messages");
    persist(r#"[{"role":"system","content":"s"}]"#).fails(1, "standard input has no messages to add");
    persist("[{\"role\":\"pope\"}]").fails(1, "standard input: message 1 has the unknown role \"pope\"");
    std::fs::write(place.home.join("sessions/a.json"), "{}").unwrap();
    place.ok(&["session", "new", "z"]);
    let list = place.run(&["session", "list"]);
    assert!(list.code == 1 && list.out.starts_with("z ") && list.out.lines().count() == 1, "{list:#?}");
    assert!(list.err.contains("a.json is not a session: missing field"), "{}", list.err);
    place.ok(&["session", "rm", "a"]);
    // A trace that is removed behind the session's back.
    let server = scripted(vec![Answer::text("Fine.")]);
    place.run_on(&server, &["--session", "b", "How are you?"]);
    place.ok(&["rm", &place.trace(), "--yes"]);
    assert!(place.ok(&["session", "list"]).contains("(removed)"));
    assert_eq!(place.ok(&["session", "prepare", "b"]), "[\n]\n");
    assert_eq!(place.run_on(&server, &["--session", "b", "Again?"]).code, 0);
    assert_eq!(place.traces().len(), 1);
}

#[test]
fn what_is_exported_can_be_imported_in_every_format() {
    let place = Place::new();
    std::fs::write(place.work.join("heron.txt"), "grey").unwrap();
    let server = scripted(vec![
        Answer::call("list_files", json!({"path": "."})),
        Answer::text("There is a heron.\n\n```\nfence\n```"),
    ]);
    place.run_on(&server, &["--yes", "What is here?"]);
    let trace = place.trace();
    let roles = |value: &Value| -> Vec<String> {
        let role = |message: &Value| message["role"].as_str().unwrap().to_string();
        value.as_array().unwrap().iter().map(role).collect()
    };
    for format in ["neutral", "openai", "anthropic", "gemini"] {
        let file = place.work.join(format!("{format}.json"));
        place.ok(&["export", &trace, "--format", format, "--out", file.to_str().unwrap()]);
        let done = place.run(&["import", file.to_str().unwrap(), "--session", format]);
        assert_eq!(done.code, 0, "{format}: {done:#?}");
        assert!(!done.err.contains('!'), "nothing had to be mended: {}", done.err);
        let new = done.out.trim();
        let again = json_of(&place.ok(&["export", new, "--format", "neutral"]));
        assert_eq!(roles(&again), ["user", "assistant", "tool", "assistant"], "{format}");
        assert!(again[2].to_string().contains("heron.txt"), "{format}: {again}");
        assert!(place.ok(&["ls"]).lines().next().unwrap().contains("imported"));
        assert!(place.ok(&["session", "show", format]).contains(new));
        place.ok(&["verify", new]);
        place.ok(&["replay", new]);
    }
    let markdown = place.ok(&["export", &trace]);
    assert!(markdown.contains("## User #1\n\nWhat is here?"), "{markdown}");
    assert!(
        markdown.contains("→ `list_files` `{\"path\":\".\"}`") && markdown.contains("There is a heron."),
        "{markdown}"
    );
    let whole = json_of(&place.ok(&["export", &trace, "--format", "json"]));
    assert_eq!((&whole["trace"]["trace_id"], whole["messages"].as_array().unwrap().len()), (&json!(trace), 4));
    assert_eq!(whole["events"].as_array().unwrap().last().unwrap()["type"], "run_finished");
    place.run(&["import", "nowhere.json"]).fails(1, "nowhere.json cannot be read");
}

#[test]
fn what_a_cut_leaves_out_is_exported_prepared_and_summarised_all_the_same() {
    let place = Place::new();
    place.config("context_window = 7000\nreserved_output = 300\nsummary = \"rules\"\n");
    std::fs::write(place.work.join("a.txt"), format!("file: a.txt\n{}", "a line of text\n".repeat(2_000))).unwrap();
    let mut answers = vec![Answer::call("bash", json!({"command": "cat a.txt"})), Answer::text("Read.")];
    answers.extend((0..8).map(|_| Answer::text(&"decided on it. ".repeat(120))));
    // In turn, whatever a request still shows.
    let turn = AtomicUsize::new(0);
    let server = server(move |_| answers[turn.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)].clone().into());
    place.run_on(&server, &["--yes", "--session", "c", "Look around."]);
    for n in 1..=8 {
        let task = format!("You must keep number {n}. {}", "Words of a task. ".repeat(80));
        let done = place.run_on(&server, &["--session", "c", &task]);
        assert_eq!(done.code, 0, "{done:#?}");
    }
    let trace = place.trace();
    place.ok(&["compact", &trace]);
    let mut messages = json_of(&place.ok(&["export", "--format", "json"]))["messages"].clone();
    // How long each took is told by exports alone.
    for message in messages.as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("duration_ms");
    }
    let roles: Vec<&str> = messages.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    let expected = [&["user", "assistant", "tool", "assistant"], ["user", "assistant"].repeat(8).as_slice()].concat();
    assert_eq!(roles, expected);
    assert_eq!(json_of(&place.ok(&["export", "--format", "openai"])).as_array().unwrap().len(), 20);
    let prepared = json_of(&place.ok(&["session", "prepare", "c", "--window", "0"]));
    assert_eq!(prepared, messages);
    let markdown = place.ok(&["export"]);
    for n in 1..=8 {
        assert!(markdown.contains(&format!("You must keep number {n}.")), "{n}: {markdown}");
    }
    // What the model is shown is another thing, and asked for by name.
    let shown = place.ok(&["export", "--shown"]);
    assert!(shown.contains("Summary of the earlier conversation, some of which is still shown:"), "{shown}");
    place.run(&["export", "--shown", "--format", "trace-dir"]).fails(2, "--shown works with conversation formats");
    // One summary, wherever it is read.
    let summary = place.ok(&["session", "summary", "c"]);
    assert_eq!(summary, std::fs::read_to_string(place.file(&trace, "summary.md")).unwrap());
    for n in 1..=8 {
        assert!(summary.contains(&format!("- You must keep number {n}.\n")), "{n}: {summary}");
    }
    assert!(summary.contains("- bash (2.0): file: a.txt\n"), "{summary}");
    assert!(summary.contains("- bash (2.0): kept as artifacts/2.0/output\n"), "{summary}");
    assert!(place.file(&trace, "artifacts/2.0/output").is_file());
}

#[test]
fn the_layouts_of_other_platforms_are_written_whole_and_never_over_another() {
    let place = Place::new();
    let server = scripted(vec![Answer::call("list_files", json!({"path": "."})), Answer::text("Done.")]);
    place.run_on(&server, &["--yes", "What is here?"]);
    let trace = place.trace();
    let out = place.ok(&["export", &trace, "--format", "agent-run"]);
    let run = place.work.join(".agent/runs").join(&trace);
    assert_eq!(place.work.join(out.trim()), run);
    let text = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    assert_eq!((text("inputs/request.txt").as_str(), text("final.md").as_str()), ("What is here?", "Done.\n"));
    assert!(text("summary.md").contains("## Goal\n- What is here?"), "{}", text("summary.md"));
    assert!(text("events.jsonl").lines().all(|line| json_of(line)["trace_id"] == trace.as_str()));
    assert!(
        run.join("observations").is_dir() && run.join("artifacts").is_dir() && json_of(&text("state.json")).is_object()
    );
    let out = place.ok(&["export", &trace, "--format", "trace-dir", "--out", "elsewhere"]);
    let folder = place.work.join("elsewhere").join(&trace);
    assert_eq!(place.work.join(out.trim()), folder);
    let message =
        |n: u32| json_of(&std::fs::read_to_string(folder.join(format!("messages/{trace}-{n:04}.json"))).unwrap());
    assert_eq!((&message(1)["content"], &message(1)["parent_sequence"]), (&json!("What is here?"), &Value::Null));
    assert_eq!(message(2)["content"]["tool_calls"][0]["function"]["name"], "list_files");
    assert_eq!((&message(3)["tool_call_id"], &message(3)["parent_sequence"]), (&json!("call_2_0"), &json!(2)));
    assert_eq!(message(4)["finish_reason"], "stop");
    let described = [1, 2, 3, 4].map(|n| message(n)["description"].as_str().unwrap().to_string());
    assert_eq!(described, ["What is here?", "calls list_files", "result of list_files", "Done."]);
    assert_eq!((message(4).get("branch_type"), message(4).get("branch_id")), (None, None), "it lies on the main path");
    place.run(&["export", &trace, "--format", "agent-run"]).fails(2, "already exists");
}

/// Adds what a system says to a session, as JSON.
fn persist(place: &Place, session: &str, messages: &Value) -> Done {
    let done = place.run_with(&["session", "persist", session], messages.to_string().as_bytes());
    assert_eq!(done.code, 0, "{done:#?}");
    done
}

fn calling(id: &str) -> Value {
    let function = json!({"name": "ls", "arguments": "{}"});
    json!([{"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}])
}

#[test]
fn a_system_that_persists_as_it_goes_loses_nothing_and_nothing_is_made_up() {
    let place = Place::new();
    place.ok(&["session", "new", "s4"]);
    let prepared = || shown(&json_of(&place.ok(&["session", "prepare", "s4", "--format", "openai", "--window", "0"])));
    let mut expected = Vec::new();
    for (role, text) in [("user", "hello"), ("assistant", "hi there"), ("user", "look")] {
        persist(&place, "s4", &json!([{"role": role, "content": text}]));
        expected.push(format!("{role}: {:?}", text));
        assert_eq!(prepared(), expected);
    }
    persist(&place, "s4", &calling("a"));
    expected.push("assistant: null".into());
    assert_eq!(prepared().last().unwrap(), "tool: \"(no result: the imported conversation has none)\"");
    persist(&place, "s4", &json!([{"role": "tool", "tool_call_id": "a", "content": "a.txt"}]));
    expected.push("tool: \"a.txt\"".into());
    assert_eq!(prepared(), expected);
    // A run does not wait for a result.
    persist(&place, "s4", &calling("b"));
    let server = scripted(vec![Answer::text("Going on.")]);
    let done = place.run_on(&server, &["--session", "s4", "go on"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Going on.\n"), "{done:#?}");
    assert!(done.err.contains("! calls without a result got one that says so (1)"), "{}", done.err);
    assert_eq!(server.violations(), Vec::<String>::new());
    expected.extend(
        [
            "assistant: null",
            "tool: \"(no result: the imported conversation has none)\"",
            "user: \"go on\"",
            "assistant: \"Going on.\"",
        ]
        .map(String::from),
    );
    assert_eq!(prepared(), expected);
    let late = place
        .run_with(&["session", "persist", "s4"], br#"[{"role": "tool", "tool_call_id": "b", "content": "too late"}]"#);
    late.fails(1, "standard input has no messages to add");
    assert!(late.err.contains("! results without a call were left out (1)"), "{}", late.err);
    place.ok(&["verify", &place.trace()]);
    place.ok(&["replay", &place.trace()]);
}

#[test]
fn a_clear_drops_what_waits_for_the_results_of_calls_as_well() {
    let place = Place::new();
    place.ok(&["session", "new", "s"]);
    let user = |text: &str| json!({"role": "user", "content": text});
    let call = calling("x");
    let said = json!([user("u1"), {"role": "assistant", "content": "a1"}, user("secretword"), call[0]]);
    assert_eq!(persist(&place, "s", &said).code, 0);
    let trace = place.trace();
    let waiting = place.home.join("sessions/waiting").join(format!("{trace}.json"));
    assert!(waiting.is_file());
    place.ok(&["clear", &trace]);
    assert!(!waiting.exists(), "what waits was said before");
    assert_eq!(place.ok(&["session", "prepare", "s"]), "[\n]\n");
    let server = scripted(vec![Answer::text("Begun.")]);
    place.run_on(&server, &["--session", "s", "begin anew"]);
    let body = server.requests()[0].body().clone();
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user"], "{body}");
    // A session in which nothing else was said yet.
    place.ok(&["session", "new", "t"]);
    assert_eq!(persist(&place, "t", &call).code, 0);
    let other = place.traces().into_iter().find(|other| *other != trace).unwrap();
    place.ok(&["clear", &other]);
    assert_eq!(place.ok(&["session", "prepare", "t"]), "[\n]\n");
    place.run(&["clear", &other]).fails(1, "there is nothing to clear");
}

#[test]
fn many_processes_add_to_a_session_at_once() {
    let place = Place::new();
    place.ok(&["session", "new", "chat", "--window", "0"]);
    let turn = |n: u32| json!([{"role": "user", "content": format!("q{n}")}, {"role": "assistant", "content": format!("a{n}")}]);
    let done: Vec<Done> = std::thread::scope(|scope| {
        let adding: Vec<_> = (0..6)
            .map(|n| {
                let place = &place;
                scope.spawn(move || place.run_with(&["session", "persist", "chat"], turn(n).to_string().as_bytes()))
            })
            .collect();
        adding.into_iter().map(|adding| adding.join().unwrap()).collect()
    });
    for done in &done {
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:#?}");
    }
    let mut said = shown(&json_of(&place.ok(&["session", "prepare", "chat", "--format", "openai"])));
    said.sort();
    let mut expected: Vec<String> =
        (0..6).flat_map(|n| [format!("user: \"q{n}\""), format!("assistant: \"a{n}\"")]).collect();
    expected.sort();
    assert_eq!((said, place.traces().len()), (expected, 1));
    // A run of it is not waited for.
    let server = scripted(vec![Answer { delay_ms: 50_000, ..Answer::text("late") }]);
    let mut running = place.start_run(&server, &["--session", "chat", "work"]);
    wait_until("it runs", || server.count() == 1);
    let refused = place.run_with(&["session", "persist", "chat"], turn(9).to_string().as_bytes());
    refused.fails(1, "is being run by process");
    running.child.kill().unwrap();
    running.end();
}

#[test]
fn what_was_said_elsewhere_is_shown_and_compared() {
    let place = Place::new();
    let import = |name: &str, file: &str, result: &str| {
        let list = json!([
            {"role": "user", "content": format!("look into {file}")},
            {"role": "assistant", "content": "I will.", "tool_calls": [{"id": "a", "type": "function",
                "function": {"name": "cat", "arguments": json!({"path": file}).to_string()}}]},
            {"role": "tool", "tool_call_id": "a", "content": result},
            {"role": "assistant", "content": "done"}]);
        let path = place.work.join(name);
        std::fs::write(&path, list.to_string()).unwrap();
        place.ok(&["import", path.to_str().unwrap()]).trim().to_string()
    };
    let (a, b) = (import("a.json", "heron.txt", "grey"), import("b.json", "heron.txt", "white"));
    let show = place.ok(&["show", &a]);
    let said = "#1 user\n   look into heron.txt\n\n#2 assistant\n   I will.\n   → cat: heron.txt\n\n\
                #3 result\n   2.0 cat Ok\n   grey\n\n#4 assistant\n   done\n";
    assert!(show.contains(said), "{show}");
    let all = place.ok(&["show", "--all", &a]);
    assert!(all.contains("#1 user  look into heron.txt\n") && all.contains("#3 result  2.0 cat Ok grey\n"), "{all}");
    let diff = place.ok(&["show", "--diff", &a, &b]);
    assert!(diff.contains("2 messages in common") && diff.contains("A  grey") && diff.contains("B  white"), "{diff}");
    assert!(!diff.contains("say the same") && !show.contains("message imported"), "{diff}");
    assert!(place.ok(&["show", "--diff", &a, &a]).contains("the main paths are identical"));
    place.ok(&["erase", &a, "--all", "--yes"]);
    let show = place.ok(&["show", &a]);
    assert!(!show.contains("grey") && !show.contains("message imported"), "{show}");
}
