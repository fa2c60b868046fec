//! A server that ends while OpenAI's clients wait, with the clients' own retries: what an agent does is done once.

use crate::serving::{Served, serve, serve_at};
use crate::support::*;
use mainpath::types::Usage;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A model that has a line written three times. The second request waits at the gate.
fn writing(gate: &Gate) -> ModelServer {
    let gate = gate.clone();
    server(move |request| match request.count("assistant") {
        1 => bash("echo x >> effects").behind(&gate).into(),
        0 | 2 => bash("echo x >> effects").into(),
        _ => Answer::text("Done.").into(),
    })
}

fn installed(path: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(path);
    assert!(file.exists(), "{}: make openai-sdk", file.display());
    file.canonicalize().unwrap()
}

/// A client with its defaults. It prints the answer, or the status and the trace of an error.
struct Client {
    program: PathBuf,
    folder: PathBuf,
    flags: &'static [&'static str],
    script: String,
}

const PYTHON: &str = r#"
import sys, openai
base, key, model = sys.argv[1:4]
client = openai.OpenAI(base_url=base, api_key=key, default_headers={"Mainpath-Approvals": "yes"})
try:
    print(ASK)
except openai.APIStatusError as error:
    print(error.status_code, error.response.headers["mainpath-trace"])
"#;

const NODE: &str = r#"
import OpenAI from "openai";
const [base, key, model] = process.argv.slice(-3);
const client = new OpenAI({ baseURL: base, apiKey: key, defaultHeaders: { "Mainpath-Approvals": "yes" } });
try { console.log(ASK); } catch (error) { console.log(error.status, error.headers.get("mainpath-trace")); }
"#;

fn clients() -> [Client; 4] {
    let python = |ask: &str| {
        let folder = installed("openai-sdk");
        let script = PYTHON.replace("ASK", ask);
        Client { program: folder.join("venv/bin/python"), folder, flags: &["-c"], script }
    };
    let node = |ask: &str| {
        let (folder, script) = (installed("openai-sdk-node"), NODE.replace("ASK", ask));
        Client { program: "node".into(), folder, flags: &["--input-type=module", "-e"], script }
    };
    [
        python(
            r#"client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Write."}]).choices[0].message.content"#,
        ),
        python(r#"client.responses.create(model=model, input="Write.").output_text"#),
        node(
            r#"(await client.chat.completions.create({ model, messages: [{ role: "user", content: "Write." }] })).choices[0].message.content"#,
        ),
        node(r#"(await client.responses.create({ model, input: "Write." })).output_text"#),
    ]
}

impl Client {
    fn start(&self, served: &Served, model: &str) -> Process {
        let mut command = Command::new(&self.program);
        command.args(self.flags).arg(&self.script).current_dir(&self.folder);
        if self.flags.len() > 1 {
            command.arg("--");
        }
        command.args([&format!("http://{}/v1", served.address), &served.key, model]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_PROXY", "*");
        Process::start(command)
    }
}

/// A server with a run that has written one line and waits for its second answer.
fn begun(client: &Client, gate: &Gate) -> (Place, ModelServer, Served, Process) {
    let place = Place::new();
    let (model, served) = (writing(gate), serve(&place));
    let client = client.start(&served, &model.model());
    wait_until("its second request", || model.requests().len() == 2);
    assert_eq!(place.text("effects"), "x\n");
    (place, model, served, client)
}

#[test]
fn after_a_kill_a_client_that_retries_joins_its_run() {
    for client in clients() {
        let gate = Gate::default();
        let (place, _model, served, mut waiting) = begun(&client, &gate);
        let address = served.address.clone();
        served.process.kill();
        gate.open();
        let _served = serve_at(&place, &address);
        let done = waiting.end();
        assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{} {done:#?}", client.script);
        assert_eq!((place.text("effects").as_str(), place.traces().len()), ("x\nx\nx\n", 1), "{}", client.script);
        place.ok(&["verify"]);
    }
}

#[test]
fn a_server_that_stops_answers_503_with_the_trace_and_its_client_does_not_retry() {
    for client in clients() {
        let gate = Gate::default();
        let (place, _model, served, mut waiting) = begun(&client, &gate);
        let trace = place.trace();
        let address = served.address.clone();
        let Served { mut process, .. } = served;
        process.signal(rustix::process::Signal::TERM);
        let done = waiting.end();
        assert_eq!((done.code, done.out.as_str()), (0, format!("503 {trace}\n").as_str()), "{done:#?}");
        gate.open();
        process.end();
        // The next start does not continue it by itself.
        let Served { mut process, .. } = serve_at(&place, &address);
        let listed = || place.ok(&["ls"]);
        assert!(listed().contains("interrupted"), "{}", listed());
        process.signal(rustix::process::Signal::TERM);
        let done = process.end();
        assert!(done.err.contains(&format!("{trace} was cut off while its client waited")), "{done:#?}");
        // What the model had answered by then was done, and nothing after it.
        assert_eq!(place.text("effects"), "x\nx\n");
        place.ok(&["resume", &trace]);
        assert_eq!(place.text("effects"), "x\nx\nx\n");
    }
}

#[test]
fn a_stream_ends_with_an_error_frame_when_the_server_stops() {
    let (place, gate) = (Place::new(), Gate::default());
    let (model, served) = (writing(&gate), serve(&place));
    let stream = |path: &str, body: serde_json::Value| {
        let mut command = Command::new("curl");
        command.args([
            "-sN",
            &format!("http://{}{path}", served.address),
            "-H",
            &format!("authorization: Bearer {}", served.key),
        ]);
        command.args([
            "-H",
            "mainpath-approvals: yes",
            "-H",
            "content-type: application/json",
            "-d",
            &body.to_string(),
        ]);
        Process::start(command)
    };
    let mut chat = stream(
        "/v1/chat/completions",
        json!({"model": model.model(), "stream": true, "messages": [{"role": "user", "content": "Write."}]}),
    );
    let mut response = stream("/v1/responses", json!({"model": model.model(), "stream": true, "input": "Write."}));
    wait_until("both second requests", || model.requests().len() == 4);
    served.process.signal(rustix::process::Signal::TERM);
    for done in [chat.end(), response.end()] {
        let last = done.out.trim_end().rsplit("\n\n").next().unwrap();
        assert!(last.contains("error") && last.contains("the server stops; the run is in trace"), "{last}");
        assert!(!done.out.contains("[DONE]"), "{done:#?}");
    }
    gate.open();
}

/// Has a model write in a folder, by curl. `more`: further headers, a line each.
fn asked(served: &Served, address: &str, model: &ModelServer, folder: &Path, more: &str) -> Process {
    let body = json!({"model": model.model(), "messages": [{"role": "user", "content": "Write."}]}).to_string();
    let (url, folder) = (format!("http://{address}/v1/chat/completions"), folder.display());
    let head = format!(
        "authorization: Bearer {}\r\nmainpath-approvals: yes\r\nmainpath-workspace: {folder}\r\n{more}",
        served.key
    );
    let mut command = Command::new("curl");
    command.args(["-si", &url, "-H", "content-type: application/json", "-d", &body]);
    for line in head.lines() {
        command.args(["-H", line]);
    }
    Process::start(command)
}

#[test]
fn a_client_that_declares_no_retry_gets_a_new_run_that_names_the_one_cut_off() {
    let (place, gate) = (Place::new(), Gate::default());
    let (model, served) = (writing(&gate), serve(&place));
    let (address, folder, away) = (served.address.clone(), place.work.join("sub"), place.work.join("away"));
    std::fs::create_dir(&folder).unwrap();
    let ask = |served: &Served, more: &str| asked(served, &address, &model, &folder, more);
    let mut first = ask(&served, "");
    wait_until("its second request", || model.requests().len() == 2);
    let cut = place.trace();
    served.process.kill();
    first.end();
    gate.open();
    let served = serve_at(&place, &address);
    // A request that is refused takes nothing away.
    std::fs::rename(&folder, &away).unwrap();
    let done = ask(&served, "x-stainless-retry-count: 0").end();
    assert!(done.out.starts_with("HTTP/1.1 4"), "{done:#?}");
    std::fs::rename(&away, &folder).unwrap();
    // Another key, body or conversation is another request; this one has a new run.
    let done = ask(&served, "x-stainless-retry-count: 0").end();
    assert!(
        done.out.starts_with("HTTP/1.1 200") && done.out.contains(&format!("mainpath-cut-off: {cut}\r\n")),
        "{done:#?}"
    );
    assert_eq!((place.traces().len(), place.text("sub/effects").lines().count()), (2, 4));
    // It is found once, and the next one is a plain new run.
    let done = ask(&served, "x-stainless-retry-count: 2").end();
    assert!(done.out.starts_with("HTTP/1.1 200") && !done.out.contains("mainpath-cut-off"), "{done:#?}");
    assert_eq!((place.traces().len(), place.text("sub/effects").lines().count()), (3, 7));
}

#[test]
fn a_caller_of_the_agent_core_is_told_of_a_stop_and_joins_its_run_by_a_retry() {
    for is_kill in [false, true] {
        let (place, gate) = (Place::new(), Gate::default());
        let behind = gate.clone();
        let done = json!({"type": "final", "answer": "Done."}).to_string();
        let model = server(move |_| Answer::text(&done).behind(&behind).into());
        let served = serve(&place);
        let address = served.address.clone();
        let config = json!({"model": model.model(), "max_steps": 2, "allowed_tools": []});
        let body = json!({"config": config, "prompt": "Write."}).to_string();
        let ask = |served: &Served, more: &str| {
            let mut command = Command::new("curl");
            command.args(["-si", &format!("http://{address}/v1/agent_core/execute"), "-d", &body, "-H", more]);
            command.args(["-H", &format!("authorization: Bearer {}", served.key)]);
            command.args(["-H", "content-type: application/json"]);
            Process::start(command)
        };
        let mut first = ask(&served, "x-stainless-retry-count: 0");
        wait_until("its request", || model.requests().len() == 1);
        let trace = place.trace();
        let Served { mut process, .. } = served;
        if is_kill {
            process.kill();
            first.end();
        } else {
            process.signal(rustix::process::Signal::TERM);
            let told = first.end().out;
            assert!(told.starts_with("HTTP/1.1 503") && told.contains("x-should-retry: false\r\n"), "{told}");
            assert!(told.contains(&format!("mainpath-trace: {trace}\r\n")) && told.contains("run-cut-off"), "{told}");
            process.signal(rustix::process::Signal::KILL);
            process.end();
        }
        gate.open();
        let served = serve_at(&place, &address);
        // While it starts, it takes the trace for a moment to look at it.
        wait_until("the next start does not continue it by itself", || place.ok(&["ls"]).contains("interrupted"));
        let joined = ask(&served, "x-stainless-retry-count: 1").end().out;
        let named = format!("mainpath-trace: {trace}\r\n");
        assert!(joined.starts_with("HTTP/1.1 200") && joined.contains(&named) && joined.contains("Done."), "{joined}");
        assert_eq!(place.traces(), [trace]);
    }
}

#[test]
fn in_a_session_the_run_that_was_cut_off_is_named_although_its_trace_is_continued() {
    let (place, gate) = (Place::new(), Gate::default());
    let (model, served) = (writing(&gate), serve(&place));
    let address = served.address.clone();
    let ask = |served: &Served| asked(served, &address, &model, &place.work, "mainpath-session: letters");
    let mut first = ask(&served);
    wait_until("its second request", || model.requests().len() == 2);
    let cut = place.trace();
    served.process.kill();
    first.end();
    gate.open();
    let served = serve_at(&place, &address);
    let done = ask(&served).end();
    let named = ["mainpath-trace", "mainpath-cut-off"].map(|name| done.out.contains(&format!("{name}: {cut}\r\n")));
    assert!(done.out.starts_with("HTTP/1.1 200") && named == [true, true], "{done:#?}");
    assert_eq!(place.traces(), [cut]);
}

#[test]
fn a_client_that_retries_joins_a_run_that_waits_for_an_approval() {
    let (place, gate) = (Place::new(), Gate::default());
    gate.open();
    let (model, served) = (writing(&gate), serve(&place));
    let address = served.address.clone();
    let ask = |served: &Served, count: &str| {
        let body = json!({"model": model.model(), "messages": [{"role": "user", "content": "Write."}]}).to_string();
        let mut command = Command::new("curl");
        command.args(["-s", &format!("http://{address}/v1/chat/completions"), "-H", "content-type: application/json"]);
        command.args(["-H", &format!("authorization: Bearer {}", served.key), "-H", "mainpath-approvals: ask"]);
        command.args(["-H", &format!("x-stainless-retry-count: {count}"), "-d", &body]);
        Process::start(command)
    };
    let asked = || place.ok(&["ls"]).contains("waiting");
    let mut first = ask(&served, "0");
    wait_until("it waits for an approval", asked);
    served.process.kill();
    first.end();
    let served = serve_at(&place, &address);
    let mut second = ask(&served, "1");
    for line in ["x\n", "x\nx\n", "x\nx\nx\n"] {
        wait_until("its call waits", || place.run(&["approve", "--yes"]).code == 0);
        wait_until("the call is made", || place.text("effects") == line);
    }
    let done = second.end();
    assert!(done.out.contains("Done."), "{done:#?}");
    assert_eq!((place.text("effects").as_str(), place.traces().len()), ("x\nx\nx\n", 1));
}

#[test]
fn a_restart_costs_nothing() {
    let (place, gates) = (Place::new(), [Gate::default(), Gate::default()]);
    let waits = gates.clone();
    let model = server(move |request| {
        let turn = request.count("assistant");
        let answer = match turn {
            0..3 => Answer::call("list_files", json!({"path": "."})),
            _ => Answer::text("Done."),
        };
        let answer = Answer { usage: Usage { input: 10, output: 5, ..Usage::default() }, ..answer };
        match turn {
            1 | 2 => answer.behind(&waits[turn - 1]).into(),
            _ => answer.into(),
        }
    });
    let mut served = serve(&place);
    let body = json!({"task": "Look.", "model": model.model()}).to_string();
    let trace = served.ask("POST", "/api/traces", "", &body).1["trace_id"].as_str().unwrap().to_string();
    for (nth, gate) in gates.iter().enumerate() {
        wait_until("its next request", || model.requests().len() == nth + 2);
        served.process.signal(rustix::process::Signal::TERM);
        wait_until("it has heard that it is to stop", || std::net::TcpStream::connect(&served.address).is_err());
        // The answer comes in and its call is made; the next request is not sent.
        gate.open();
        let Served { mut process, .. } = served;
        assert_eq!(process.end().code, 0);
        assert_eq!(model.requests().len(), nth + 2);
        served = serve(&place);
    }
    let finished = || place.events(&trace).into_iter().find(|event| event["type"] == "run_finished");
    wait_until("its end", || finished().is_some());
    let run = finished().unwrap()["data"].clone();
    assert_eq!(model.requests().len(), 4);
    assert_eq!(
        (&run["usage"], &run["about"], &run["turns"]),
        (&json!({"input": 40, "output": 20}), &json!(null), &json!(4))
    );
    place.ok(&["verify", &trace]);
}

#[test]
fn a_watcher_hears_the_end_only_when_nothing_will_continue() {
    let (place, gate) = (Place::new(), Gate::default());
    place.config("[server]\nresumed_at_once = 1\n");
    let waits = gate.clone();
    let model = server(move |request| match request.count("assistant") {
        0 => Answer::call("list_files", json!({"path": "."})).into(),
        _ => Answer::text("Done.").behind(&waits).into(),
    });
    let served = serve(&place);
    let body = json!({"task": "Look.", "model": model.model()}).to_string();
    let start = || served.ask("POST", "/api/traces", "", &body).1["trace_id"].as_str().unwrap().to_string();
    let mut traces = [start(), start()];
    traces.sort();
    wait_until("both wait for their answers", || model.requests().len() == 4);
    served.process.kill();
    let served = serve(&place);
    // The second is continued when the first has ended.
    let mut command = Command::new("curl");
    let path = format!("http://{}/api/traces/{}/events", served.address, traces[1]);
    command.args([
        "-sN",
        &path,
        "-H",
        "accept: text/event-stream",
        "-H",
        &format!("authorization: Bearer {}", served.key),
    ]);
    let mut watching = Process::start(command);
    watching.find(|line| line.starts_with("event: model_request")).unwrap();
    gate.open();
    let done = watching.end();
    let frames: Vec<&str> = done.out.split("\n\n").collect();
    let last = frames.iter().rfind(|frame| frame.contains("event: end")).unwrap();
    assert!(last.contains("\"status\":\"completed\"") && done.out.contains("event: run_finished"), "{done:#?}");
}
