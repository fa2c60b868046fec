//! What goes wrong outside: one clear line, the right exit code, nothing lost.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Reply};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A model at this address, where nobody listens.
fn nobody(port: &Port) -> String {
    format!("openai-compatible:http://{}/v1#nobody", port.address)
}

/// What went wrong is gone: the run is carried on to its end, and nothing of it was lost.
#[track_caller]
fn goes_on(place: &Place, model: &str, answer: &str) {
    let done = place.run(&["resume", "--yes", "--model", model]);
    assert_eq!((done.code, done.out.as_str()), (0, format!("{answer}\n").as_str()), "{done:#?}");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

fn good() -> mainpath_testkit::model_server::ModelServer {
    scripted(vec![Answer::text("The end.")])
}

#[test]
fn a_wrong_command_line_is_a_usage_error_of_one_line() {
    let place = Place::new();
    let cases: [(&[&str], &str); 7] = [
        (&["run", "--bogus", "x"], "mainpath run has no option --bogus"),
        (&["--jsn"], "mainpath has no option --jsn"),
        (&["rnu", "x"], "mainpath has no command \"rnu\"; did you mean mainpath run?"),
        (&["run", "--max-turns", "many", "x"], "invalid value 'many' for '--max-turns <N>'"),
        (&["run", "-c", "--trace", "a", "x"], "cannot be used with"),
        (&["run", "--yes", "--park", "x"], "cannot be used with"),
        (&["rewind", "a"], "give a message, a turn or a goal: mainpath rewind TRACE --to MESSAGE"),
    ];
    for (args, words) in cases {
        let done = place.run(args);
        done.fails(2, words);
        assert_eq!((done.out.as_str(), done.err.lines().count()), ("", 1), "{done:#?}");
    }
    let none = place.run(&[]);
    assert!(none.code == 2 && none.err.contains("Usage: mainpath"), "{none:#?}");
    assert!(!place.home.exists());
}

#[test]
fn a_model_that_does_not_exist_leaves_no_trace() {
    let place = Place::new();
    let cases = [
        ("gpt", 2, "unknown model \"gpt\""),
        ("openai-compatible:http://127.0.0.1:1/v1", 2, "lacks the model's own name"),
        ("openai-compatible:nonsense#m", 2, "the model's address is wrong"),
        ("scripted:/no/such/file.toml", 2, "/no/such/file.toml"),
        ("openai:gpt-5", 3, "set OPENAI_API_KEY"),
    ];
    for (model, code, words) in cases {
        let done = place.run(&["run", "--model", model, "Do it."]);
        done.fails(code, words);
        assert_eq!((done.out.as_str(), done.err.lines().count()), ("", 1), "{done:#?}");
    }
    assert_eq!(place.traces(), Vec::<String>::new());
}

#[test]
fn a_refused_key_is_said_at_once() {
    let body = json!({"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}}).to_string();
    let server = server(move |_| Reply::Error { status: 401, headers: Vec::new(), body: body.clone() });
    let place = Place::new();
    let done = place.run_on(&server, &["Do it."]);
    done.fails(3, "Incorrect API key provided; continue with");
    assert_eq!(server.count(), 1, "a wrong key does not get right by trying again");
    goes_on(&place, &good().model(), "The end.");
}

#[test]
fn a_server_that_is_down_is_tried_again_and_then_named() {
    let (place, port) = (Place::new(), Port::reserve());
    let model = nobody(&port);
    let done = place.run(&["run", "--model", &model, "--model-retries", "3", "Do it."]);
    done.fails(1, "connection refused; is the server running?");
    assert_eq!(done.err.lines().filter(|line| line.contains("retrying")).count(), 3, "{done:#?}");
    assert!(done.own_lines()[0].ends_with(&format!("continue with mainpath resume {}", place.trace())), "{done:#?}");
    goes_on(&place, &good().model(), "The end.");
}

#[test]
fn a_server_that_recovers_is_no_failure() {
    let error = |status, headers: &[(&str, &str)]| Reply::Error {
        status,
        headers: headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        body: "<html>Bad gateway</html>".into(),
    };
    let answer = || Answer::text("The end.");
    let bad = [
        error(500, &[]),
        error(502, &[]),
        error(429, &[("retry-after", "0")]),
        Reply::Close,
        Reply::CutAfter(answer(), 300),
        Reply::Garbage(b"\x00\xffno http at all\r\n\r\n".to_vec()),
        Reply::Garbage(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\ndata: {{\n".to_vec(),
        ),
    ];
    for bad in bad {
        let shown = format!("{bad:?}");
        let server = server(move |request| if request.n == 1 { bad.clone() } else { answer().into() });
        let place = Place::new();
        let done = place.run_on(&server, &["Do it."]);
        assert_eq!((done.code, done.out.as_str(), server.count()), (0, "The end.\n", 2), "{shown}: {done:#?}");
        assert!(done.err.contains("retrying in") && done.own_lines().is_empty(), "{shown}: {done:#?}");
        place.ok(&["replay"]);
    }
}

#[test]
fn a_server_that_stays_bad_ends_the_run_and_nothing_is_lost() {
    let cases = [
        Reply::Error {
            status: 500,
            headers: Vec::new(),
            body: "{\"error\": {\"message\": \"Out of memory.\"}}".into(),
        },
        Reply::CutAfter(Answer::text("A long answer that never comes to its end."), 500),
        Reply::Garbage(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\nhello".to_vec()),
    ];
    let threads = cases.map(|bad| {
        std::thread::spawn(move || {
            let shown = format!("{bad:?}");
            // A call first, so that there is something to lose.
            let server = server(move |request| match request.count("tool") {
                0 => bash("echo done >> effects").into(),
                _ => bad.clone(),
            });
            let place = Place::new();
            let done = place.run_on(&server, &["--yes", "--model-retries", "3", "Do it."]);
            assert!(done.code == 1 && done.own_lines().len() == 1, "{shown}: {done:#?}");
            assert!(
                done.report().contains("(model error)") && done.report().contains("bash × 1"),
                "{shown}: {done:#?}"
            );
            assert_eq!(server.count(), 5, "one call, then four tries");
            goes_on(&place, &good().model(), "The end.");
            assert_eq!(place.text("effects"), "done\n");
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_request_that_the_server_refuses_is_not_sent_again() {
    let body = json!({"error": {"message": "This model does not support tools."}}).to_string();
    let server = server(move |_| Reply::Error { status: 400, headers: Vec::new(), body: body.clone() });
    let place = Place::new();
    place.run_on(&server, &["Do it."]).fails(1, "This model does not support tools; continue with");
    assert_eq!(server.count(), 1);
}

#[test]
fn a_server_that_stalls_is_left_when_the_time_is_up() {
    let server = server(|_| Reply::Stall(Answer::text("Half an answer, and then nothing more at all."), 500));
    let place = Place::new();
    let done = place.run_on(&server, &["--timeout", "1s", "Do it."]);
    assert!(done.code == 4 && done.report().contains("(time limit)") && done.own_lines().len() == 1, "{done:#?}");
    goes_on(&place, &good().model(), "The end.");
}

#[test]
fn a_slow_server_is_waited_for() {
    let (place, server) = (Place::new(), scripted(vec![Answer { delay_ms: 1_500, ..Answer::text("At last.") }]));
    let done = place.run_on(&server, &["Do it."]);
    assert_eq!((done.code, done.out.as_str(), server.count()), (0, "At last.\n", 1), "{done:#?}");
}

#[test]
fn arguments_that_are_no_json_and_tools_that_do_not_exist_are_told_to_the_model() {
    let answers = vec![
        Answer { calls: vec![("bash".into(), "{\"command\": ".into())], ..Answer::text("") },
        Answer::call("fly", json!({})).and_call("read_text_file", json!({"path": 7})),
        Answer::call("read_text_file", json!({"path": "../../etc/passwd"})),
        Answer::text("The end."),
    ];
    let (place, server) = (Place::new(), scripted(answers));
    let done = place.run_on(&server, &["--yes", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(server.violations(), Vec::<String>::new());
    let told = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(told.contains("fly") && told.contains("outside the workspace"), "{told}");
}

#[test]
fn a_configuration_that_cannot_be_understood_is_named_by_file_and_line() {
    let cases = [
        ("model = \"scripted\"\nprofile = \"trace\"\nmodle = \"x\"\n", "config.toml, line 3: unknown field `modle`"),
        ("model = \"scripted\"\n\nprofile =\n", "config.toml, line 3: "),
        ("profile = \"fast\"\n", "config.toml, line 1: unknown variant `fast`"),
    ];
    for (text, words) in cases {
        let place = Place::new();
        place.config(text);
        place.run(&["run", "--model", "scripted", "x"]).fails(1, words);
        // Who looks for what is wrong is told the rest as well.
        let doctor = place.run(&["doctor"]);
        let lines: Vec<&str> = doctor.out.lines().collect();
        assert!(lines[1].starts_with("FAIL configuration: ") && lines[1].contains(words), "{doctor:#?}");
        assert_eq!((doctor.code, doctor.err.as_str(), doctor.out.matches("FAIL").count()), (1, "", 1), "{doctor:#?}");
        assert!(lines.iter().any(|line| line.starts_with("ok   bash runs under ")), "{doctor:#?}");
        assert!(place.traces().is_empty());
    }
    let place = Place::new();
    std::fs::create_dir_all(place.home.join("config.toml")).unwrap();
    place.run(&["run", "x"]).fails(1, "config.toml cannot be read: ");
    assert!(place.run(&["doctor"]).out.contains("\nFAIL configuration: "));
    std::fs::remove_dir(place.home.join("config.toml")).unwrap();
    std::fs::write(place.home.join("config.toml"), b"model = \"\xff\"").unwrap();
    place.run(&["run", "x"]).fails(1, "config.toml cannot be read: ");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("config.toml cannot be read: "), "{doctor:#?}");
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    // Not even root may make a folder there, or below a file.
    std::fs::write(place.root().join("file"), "").unwrap();
    for home in [Path::new("/proc/mainpath"), &place.root().join("file/home")] {
        let mut command = place.command(&["run", "--model", "scripted", "x"]);
        command.env("MAINPATH_HOME", home);
        finish(command, None).fails(1, home.to_str().unwrap());
    }
    let mut command = place.command(&["ls"]);
    command.env_remove("MAINPATH_HOME").env_remove("HOME");
    finish(command, None).fails(1, "neither MAINPATH_HOME nor HOME is set");
}

#[test]
fn a_workspace_that_is_no_folder_is_named_and_leaves_no_trace() {
    let place = Place::new();
    std::fs::write(place.work.join("file"), "").unwrap();
    for folder in ["missing", "file"] {
        let done = place.run(&["run", "--model", "scripted", "-C", folder, "x"]);
        done.fails(2, &format!("the workspace {folder} cannot be used: "));
    }
    assert!(place.traces().is_empty());
}

#[test]
fn a_workspace_that_is_gone_is_named_when_its_trace_goes_on() {
    let (place, server) = (Place::new(), good());
    let folder = place.root().join("project");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(place.run_on(&server, &["-C", folder.to_str().unwrap(), "Do it."]).code, 0);
    std::fs::remove_dir(&folder).unwrap();
    // Before anything is sent.
    let trace = place.trace();
    place.run(&["run", "--trace", &trace, "More."]).fails(2, folder.to_str().unwrap());
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(place.ok(&["run", "-c", "-C", folder.to_str().unwrap(), "More."]), "The end.\n");
    assert_eq!(server.requests().pop().unwrap().count("user"), 2);
}

#[test]
fn a_trace_that_is_not_there_or_not_the_only_one_is_said() {
    let (place, server) = (Place::new(), good());
    for args in [&["show"][..], &["resume"], &["verify"], &["run", "-c", "x"], &["stop"]] {
        place.run(args).fails(1, "there are no traces yet");
    }
    for _ in 0..2 {
        assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    }
    let begin = &place.traces()[0][..2];
    for command in ["show", "resume", "verify", "replay", "stop", "approve", "deny"] {
        place.run(&[command, "nosuch"]).fails(1, "there is no trace \"nosuch\"; `mainpath ls` lists the traces");
        place.run(&[command, begin]).fails(1, &format!("2 traces have \"{begin}\" in their id ("));
    }
    place.run(&["run", "--trace", "../..", "x"]).fails(1, "there is no trace \"../..\"");
}

#[test]
fn standard_input_that_is_no_text_is_refused() {
    let place = Place::new();
    place.run_with(&["run", "-m", "scripted", "-"], b"caf\xe9").fails(2, "standard input is not UTF-8 text");
    place.run_with(&["run", "-m", "scripted", "Task."], b"\xff\xfe").fails(2, "standard input is not UTF-8 text");
    assert!(place.traces().is_empty());
}

#[test]
fn an_answer_that_cannot_be_written_to_its_file_is_said_and_not_lost() {
    let (place, server) = (Place::new(), good());
    let done = place.run_on(&server, &["-o", "no/such/folder/answer", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (1, "The end.\n"), "{done:#?}");
    assert!(done.own_lines()[0].starts_with("the answer cannot be written to no/such/folder/answer: "), "{done:#?}");
}

#[test]
fn a_trace_that_another_process_runs_is_left_to_it() {
    let (place, server) =
        (Place::new(), scripted(vec![bash("while [ ! -e go ]; do sleep 0.02; done"), Answer::text("The end.")]));
    let mut first = place.start_run(&server, &["--yes", "--json", "Do it."]);
    first.event("action_started");
    let (trace, pid) = (place.trace(), first.child.id());
    // Without --yes, which would change what the run may do.
    for args in [&["resume", &trace][..], &["run", "--trace", &trace, "More."], &["rewind", &trace, "1"]] {
        let done = place.run(args);
        done.fails(1, &format!("process {pid}"));
        assert!(!done.err.contains("answers message"), "it says what it will not do: {done:#?}");
    }
    std::fs::write(place.work.join("go"), "").unwrap();
    let done = first.end();
    assert_eq!(done.code, 0, "{done:#?}");
    let events = place.events(&trace);
    let count = |name: &str| events.iter().filter(|event| event["type"] == name).count();
    assert_eq!((count("spec_changed"), count("message_queued"), count("run_finished")), (1, 1, 1));
    // Looking is always possible, and the trace is free now.
    assert_eq!(place.ok(&["run", "-c", "More."]), "The end.\n");
}

/// A run whose data lies on a file system of 300 KiB that fills up; then there is more room, and it goes on.
#[test]
fn a_full_disk_loses_nothing() {
    let place = Place::new();
    // Each turn writes some 20 KB to the log.
    let big = bash("head -c 15000 /dev/urandom | base64 -w 100 | head -c 20000 ; echo x >> effects");
    let answers = (0..40).map(|_| big.clone()).chain([Answer::text("The end.")]).collect();
    let server = scripted(answers);
    let script = "
        mount -t tmpfs -o size=300k,mode=700 tmpfs \"$MAINPATH_HOME\" || exit 77
        echo 'context_window = 2000000' > \"$MAINPATH_HOME/config.toml\"
        \"$PROGRAM\" run --yes --json --context-is-large --model \"$MODEL\" 'Fill it.' > printed 2> said; echo \"first $?\"
        \"$PROGRAM\" verify > verified 2>&1; echo \"verify $?\"
        mount -o remount,size=64m \"$MAINPATH_HOME\"
        \"$PROGRAM\" resume --yes 2> said2; echo \"second $?\"
        \"$PROGRAM\" verify > /dev/null; echo \"verify $?\"
        \"$PROGRAM\" replay > /dev/null; echo \"replay $?\"
        \"$PROGRAM\" show --events > kept
    "
    .replace("--context-is-large ", "");
    place.config("");
    let model = server.model();
    let begun = |map: &[&str]| {
        let mut command = Command::new("unshare");
        place.surround(&mut command);
        command.env("PROGRAM", env!("CARGO_BIN_EXE_mainpath")).env("MODEL", &model);
        command.arg("--mount").args(map).args(["sh", "-c", &script]);
        finish(command, None)
    };
    // The mount is in a namespace of its own, and gone with it. Who may not make one gets a user namespace with it.
    let mut done = begun(&[]);
    if !done.out.contains("first") {
        done = begun(&["--map-root-user"]);
    }
    assert!(done.out.contains("first"), "no small file system could be mounted to fill it up: {}", done.err);
    let said = place.text("said");
    assert_eq!(
        done.out,
        "first 1\nverify 0\nThe end.\nsecond 0\nverify 0\nreplay 0\n",
        "{said}\n{}",
        place.text("said2")
    );
    assert!(said.contains("No space left on device") && !said.contains("panicked"), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("mainpath: ")).count(), 1, "{said}");
    let kept = place.text("kept");
    let mut kept = kept.lines();
    for line in place.text("printed").lines().filter(|line| is_durable(line)) {
        assert!(kept.any(|kept| kept == line), "lost: {line}");
    }
    // Where a text finds no room beside the log, it stays in it.
    let results = place.text("kept");
    let is_ok = |line: &&str| line.contains("observation_recorded") && line.contains("\"resolution\":\"ok\"");
    let results: Vec<&str> = results.lines().filter(is_ok).collect();
    let is_whole = |line: &&&str| line.contains("stored_text") || line.len() > 20_000;
    assert!(results.len() >= 39 && results.iter().all(|line| is_whole(&line)), "{results:?}");
    // Every call ran once, those included whose result could not be written at first.
    assert_eq!(place.text("effects").lines().count(), 40);
}

#[test]
fn the_tries_of_a_run_that_goes_on_are_counted_from_its_beginning() {
    let server = server(|_| Reply::Error { status: 500, headers: Vec::new(), body: "{}".into() });
    let place = Place::new();
    let done = place.run_on(&server, &["--model-retries", "1", "Do it."]);
    assert!(done.err.contains("(attempt 2 of 2;"), "{done:#?}");
    let done = place.run(&["resume", &place.trace()]);
    assert!(done.err.contains("(attempt 2 of 2;"), "{done:#?}");
}
