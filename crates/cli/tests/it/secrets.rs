//! A secret of the environment enters no log, no stream, no prompt and no process that was not given it.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Behaviour, ModelServer, Reply};
use mainpath_testkit::secrets::samples;
use serde_json::json;
use std::path::Path;

const TOKEN: &str = "tk-7f3a9b2c4d5e6f70-zebra";
/// One that JSON writes otherwise.
const QUOTED: &str = "giraffe\"\\walks-over-42";
/// What of them must be nowhere. The halves are looked for too, since escapes may stand between.
const TRACES_OF_THEM: [&str; 5] = [TOKEN, QUOTED, "tk-7f3", "giraffe", "walks-over-42"];

fn run(place: &Place, server: &ModelServer, args: &[&str]) -> Done {
    let model = server.model();
    // All of it fits into the window without a summary.
    let mut command = place.command(&[&["run", "--yes", "--no-skills", "--model", &model], args].concat());
    command.env("MY_TEST_TOKEN", TOKEN).env("OTHER_PASSWORD", QUOTED);
    finish(command, None)
}

/// The files below a folder, with what they hold.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

#[track_caller]
fn is_clean(place_of_it: &str, text: &str) {
    for secret in TRACES_OF_THEM {
        let Some((before, after)) = text.split_once(secret) else { continue };
        let before: String = before.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        let after: String = after.chars().take(60).collect();
        panic!("{secret} is in {place_of_it}: …{before}{secret}{after}…");
    }
}

#[test]
fn a_secret_is_nowhere_but_where_it_was() {
    let place = Place::new();
    // Room for all of it: the script goes by the answers that a request shows.
    place.config("context_window = 65536\n");
    let lines = format!("{TOKEN}\nplain {QUOTED} line\n");
    std::fs::write(place.work.join("leak.txt"), &lines).unwrap();
    // Where a long line is cut, and where a problem quotes one.
    let (long, quoted) = (format!("{}{TOKEN}", "l".repeat(3_990)), format!("{}{TOKEN} here", "q".repeat(150)));
    std::fs::write(place.work.join("long.txt"), format!("{long}{}\n{quoted}\n", "m".repeat(9_000))).unwrap();
    let near =
        json!({"path": "long.txt", "edits": [{"old_text": format!("{}there", "q".repeat(150)), "new_text": "x"}]});
    let (begin, end) = TOKEN.split_at(4);
    let answers = vec![
        Answer {
            text: format!("I know {TOKEN} and {QUOTED}."),
            ..bash("cat leak.txt; env | grep -c TOKEN; env | grep PASS")
        },
        Answer::call("read_text_file", json!({"path": "leak.txt"})),
        Answer::call("read_text_file", json!({"path": "long.txt"})).and_call("edit_text_file", near),
        // In two pieces with a pause between them, and no line break.
        bash(&format!("printf '%s' '{begin}'; sleep 0.3; printf '%s' '{end}'; sleep 0.3; echo")),
        // More than is shown: the middle is left out, wherever that falls.
        bash("yes \"$(cat leak.txt)\" | head -c 300000"),
        Answer::call("write_text_file", json!({"path": "copy.txt", "content": format!("{TOKEN} {QUOTED}")})),
        Answer::call("edit_text_file", json!({"path": "leak.txt", "edits": [{"old_text": TOKEN, "new_text": "x"}]})),
        Answer { thinking: format!("{TOKEN}{QUOTED}"), ..Answer::text(&format!("It is {TOKEN}, or {QUOTED}!")) },
    ];
    let server = scripted(answers);
    for json in [false, true] {
        let task = format!("The token is {TOKEN}. And {QUOTED}.");
        let args = if json { vec!["--json", &task] } else { vec![task.as_str()] };
        let done = run(&place, &server, &args);
        assert_eq!(done.code, 0, "{done:#?}");
        is_clean("standard output", &done.out);
        is_clean("standard error", &done.err);
        if !json {
            assert_eq!(done.out, "It is {{secret:MY_TEST_TOKEN}}, or {{secret:OTHER_PASSWORD}}!\n");
        }
    }
    for (path, text) in files(&place.home) {
        is_clean(&path.display().to_string(), &text);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 16);
    requests.iter().for_each(|request| is_clean("a request", &String::from_utf8_lossy(&request.bytes)));
    let last = String::from_utf8_lossy(&requests[7].bytes).into_owned();
    assert!(last.contains("The token is {{secret:MY_TEST_TOKEN}}. And {{secret:OTHER_PASSWORD}}."), "{last}");
    // The tools saw no variable of them, and what the model wrote was the handle, which nobody may resolve.
    assert!(last.contains("plain {{secret:OTHER_PASSWORD}} line\\n0\\n"), "{last}");
    assert_eq!(place.text("copy.txt"), "{{secret:MY_TEST_TOKEN}} {{secret:OTHER_PASSWORD}}");
    // The file was not touched: an edit of the handle finds nothing.
    assert_eq!(place.text("leak.txt"), lines);
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

#[test]
fn a_tool_can_use_the_secrets_that_the_configuration_grants_and_no_other() {
    let place = Place::new();
    place.config("tool_secrets = [\"MY_TEST_TOKEN\"]\n");
    let handle = "{{secret:MY_TEST_TOKEN}}";
    let answers = vec![
        bash(&format!(
            "[ '{handle}' = \"$MY_TEST_TOKEN\" ] && echo same; echo \"${{OTHER_PASSWORD-none}}\"; echo {handle}"
        )),
        // The title of a call is cut as well.
        bash(&format!(": {}{handle}", "t".repeat(90))),
        Answer::call(
            "write_text_file",
            json!({"path": "both", "content": format!("{handle} {{{{secret:OTHER_PASSWORD}}}}")}),
        ),
        Answer::text("Done."),
    ];
    let server = scripted(answers);
    let done = run(&place, &server, &["Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    let told = server.requests()[1].body()["messages"].to_string();
    assert!(told.contains("same\\nnone\\n{{secret:MY_TEST_TOKEN}}\\n"), "{told}");
    assert_eq!(place.text("both"), format!("{TOKEN} {{{{secret:OTHER_PASSWORD}}}}"));
    is_clean("standard error", &done.err);
    for (path, text) in files(&place.home) {
        is_clean(&path.display().to_string(), &text);
    }
    server.requests().iter().for_each(|request| is_clean("a request", &String::from_utf8_lossy(&request.bytes)));
}

#[test]
fn secrets_of_the_configuration_are_kept_out_too_and_the_model_key_stays_a_header() {
    let place = Place::new();
    place.config(&format!("[secrets]\nDATABASE = '{QUOTED}'\n"));
    std::fs::write(place.work.join("a.txt"), format!("{QUOTED} {TOKEN}")).unwrap();
    let server = scripted(vec![Answer::call("read_text_file", json!({"path": "a.txt"})), Answer::text("Done.")]);
    let mut command = place.command(&["run", "--model", &server.model(), "Do it."]);
    command.env("MAINPATH_API_KEY", TOKEN);
    let done = finish(command, None);
    assert_eq!(done.code, 0, "{done:#?}");
    for request in server.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        is_clean("a request", &String::from_utf8_lossy(&request.bytes));
    }
    let told = server.requests()[1].body()["messages"].to_string();
    assert!(told.contains("{{secret:DATABASE}} {{secret:MAINPATH_API_KEY}}"), "{told}");
    let logs = files(&place.home.join("traces"));
    assert!(logs.len() > 3, "{logs:?}");
    logs.iter().for_each(|(path, text)| is_clean(&path.display().to_string(), text));
}

#[test]
fn secrets_of_every_kind_are_nowhere_and_have_the_same_handle_in_every_trace() {
    let place = Place::new();
    place.config("[redact]\npaths = [\"$..pin\"]\npatterns = ['case<\\d+>']\n");
    let planted = samples(21);
    let mut text: String = planted.iter().map(|sample| format!("{}\n", sample.text)).collect();
    text.push_str("case<4711>\n");
    std::fs::write(place.work.join("all.txt"), &text).unwrap();
    std::fs::write(place.work.join("pin.json"), "[{\"pin\": \"nine one eight\"}]").unwrap();
    let answers = || {
        vec![
            Answer {
                thinking: text.clone(),
                text: text.clone(),
                ..bash("cat all.txt >&2; exit 3").and_call("bash", json!({"command": "cat pin.json"}))
            },
            // More than is shown, so that it is put aside as well.
            bash("for i in $(seq 40); do cat all.txt; done"),
            Answer::call("write_text_file", json!({"path": "copy.txt", "content": text, "pin": "nine one eight"})),
            Answer::call("edit_text_file", json!({"path": "all.txt", "edits": [{"old_text": text, "new_text": text}]})),
            Answer::text(&text),
        ]
    };
    let nowhere = |of: &str, text: &str| {
        let secrets = planted.iter().flat_map(|sample| &sample.secret).map(String::as_str);
        for secret in secrets.chain(["case<4711>", "nine one eight"]) {
            assert!(!text.contains(secret), "{secret} is in {of}");
        }
    };
    let mut said = Vec::new();
    for json in [false, true, false] {
        let error =
            Reply::Error { status: 400, headers: Vec::new(), body: json!({"error": {"message": text}}).to_string() };
        let mut replies: Vec<Reply> = answers().into_iter().map(Reply::from).collect();
        if json {
            replies.push(error);
        }
        let server = ModelServer::start(Behaviour::in_order(replies).unchecked()).unwrap();
        let args = [&["--json"][..usize::from(json)], &[text.as_str()]].concat();
        let done = run(&place, &server, &args);
        nowhere("standard output", &done.out);
        nowhere("standard error", &done.err);
        said.push(done.out);
        let more = run(&place, &server, &["--continue", &text]);
        nowhere("standard output", &more.out);
        nowhere("standard error", &more.err);
        assert_eq!(more.code, i32::from(json), "{more:#?}");
        for request in server.requests() {
            nowhere("a request", &String::from_utf8_lossy(&request.bytes));
        }
        nowhere("what is shown", &place.ok(&["show"]));
        nowhere("what is shown", &place.ok(&["show", "--all"]));
        nowhere("what is shown", &place.ok(&["show", "--events"]));
        place.ok(&["verify"]);
        place.ok(&["replay"]);
    }
    assert!(said[0].contains("{{secret:github-token-") && said[0] == said[2], "{}", said[0]);
    for (path, text) in files(&place.home) {
        nowhere(&path.display().to_string(), &text);
        nowhere("a file's name", &path.display().to_string());
    }
    // Another installation has other handles.
    let other = Place::new();
    other.config("[redact]\noff = [\"jwt\"]\n");
    let server = scripted(vec![Answer::text(&text)]);
    let done = run(&other, &server, &["Say it."]);
    assert!(done.out.contains("{{secret:github-token-") && done.out.lines().next() != said[0].lines().next());
    let jwt = planted.iter().find(|sample| sample.kind == "jwt").unwrap();
    assert!(done.out.contains(&jwt.text), "{}", done.out);
}

#[test]
fn what_is_wrong_in_redact_is_told_with_file_and_line() {
    let place = Place::new();
    let file = place.home.join("config.toml");
    let cases = [
        ("paths = [\n  \"$.a\",\n  \"b\",\n]", 4, "redact.paths: the path \"b\" must begin with '$'"),
        ("patterns = [\"a(b\"]", 2, "redact.patterns: no regular expression: unclosed group"),
        ("off = [\"jvt\"]", 2, "redact.off: there is no kind \"jvt\" of secret; there are: aws-key, github-token, "),
        ("path = []", 2, "unknown field `path`; did you mean `paths`?"),
    ];
    for (text, line, problem) in cases {
        place.config(&format!("[redact]\n{text}\n"));
        place.run(&["run", "-m", "scripted", "x"]).fails(1, &format!("{}, line {line}: {problem}", file.display()));
    }
}

#[test]
fn a_mistake_on_the_command_line_does_not_repeat_a_secret() {
    let place = Place::new();
    let token = samples(22).into_iter().find(|sample| sample.kind == "github-token").unwrap().secret.remove(0);
    for args in [&["ls", &token][..], &["show", &token], &["run", "--model", &token, "x"]] {
        let done = place.run(args);
        assert!(
            done.code != 0 && done.err.contains("{{secret:github-token-") && !done.err.contains(&token),
            "{done:#?}"
        );
    }
}
