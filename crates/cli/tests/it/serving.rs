//! `mainpath serve` as a process: its requests, errors and keys.

use crate::children::task;
use crate::support::{LONG, Place, Process, finish, newest, server, wait_until};
use mainpath_testkit::model_server::{Answer, Gate};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// A server that runs.
pub struct Served {
    pub process: Process,
    pub address: String,
    pub key: String,
}

pub fn serve(place: &Place) -> Served {
    serve_at(place, "127.0.0.1:0")
}

/// A server at this address.
pub fn serve_at(place: &Place, address: &str) -> Served {
    served(place.command(&["serve", "--address", address]), place)
}

/// A server with these variables in its environment.
pub fn serve_with(place: &Place, variables: &[(&str, &str)]) -> Served {
    let mut command = place.command(&["serve", "--address", "127.0.0.1:0"]);
    command.envs(variables.iter().copied());
    served(command, place)
}

pub fn served(command: Command, place: &Place) -> Served {
    let mut process = Process::start(command);
    let line = process.find(|line| line.starts_with("listening on ")).unwrap();
    let address = line.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_string();
    process.find(|line| line.starts_with("key: ")).unwrap();
    let key = std::fs::read_to_string(place.home.join("server/token")).unwrap().trim().to_string();
    Served { process, address, key }
}

impl Served {
    /// The id of a trace that is begun on a model, when it has ended or waits.
    pub fn run(&self, model: &str) -> String {
        let body = json!({"task": "Read it.", "model": model}).to_string();
        let (_, begun) = self.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body);
        begun["trace_id"].as_str().unwrap().into()
    }

    pub fn try_ask(&self, method: &str, path: &str, more: &str, body: &str) -> std::io::Result<(u16, Value)> {
        request(&self.address, &self.key, (method, path), more, body)
    }

    pub fn ask(&self, method: &str, path: &str, more: &str, body: &str) -> (u16, Value) {
        self.try_ask(method, path, more, body).unwrap()
    }

    /// Waits until it accepts no connection any more: it has heard that it is to stop.
    pub fn is_closed(&self) {
        wait_until("it accepts no connection", || TcpStream::connect(&self.address).is_err());
    }
}

/// Sends one request on a connection of its own. `more`: further header lines.
pub fn request(
    address: &str,
    key: &str,
    (method, path): (&str, &str),
    more: &str,
    body: &str,
) -> std::io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LONG))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n{body}"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

/// A script that reads a few times, each turn taking so long.
pub fn slow(place: &Place, ms: u64) -> String {
    let file = place.root().join(format!("slow-{ms}.toml"));
    let turn = format!(
        "[[turn]]\ndelay_ms = {ms}\ncalls = [{{ tool = \"read_text_file\", args = {{ path = \"a.txt\" }} }}]\n"
    );
    std::fs::write(&file, format!("{turn}{turn}[[turn]]\ndelay_ms = {ms}\nfinal = \"Read.\"\n")).unwrap();
    std::fs::write(place.work.join("a.txt"), "here\n").unwrap();
    format!("scripted:{}", file.display())
}

/// How many runs of a trace have come to their end.
pub fn finished(place: &Place, trace: &str) -> usize {
    let events = place.events(trace);
    events.iter().filter(|event| event["type"] == "run_finished" && event["data"]["reason"] == "final").count()
}

#[test]
fn a_run_that_only_waits_to_ask_its_model_again_is_waited_for() {
    let place = Place::new();
    let file = place.root().join("busy.toml");
    let script = "[[turn]]\nerror = { kind = \"overloaded\", message = \"again\", times = 2 }\nfinal = \"There.\"\n";
    std::fs::write(&file, script).unwrap();
    let served = serve(&place);
    let body = json!({"task": "Go.", "model": format!("scripted:{}", file.display())}).to_string();
    let (status, begun) = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body);
    assert_eq!((status, begun["status"].clone()), (200, json!("ended")), "{begun}");
    assert_eq!(begun["outcome"]["answer"], json!("There."), "{begun}");
}

#[test]
fn with_rules_that_cannot_be_read_nothing_is_begun_or_decided_and_nothing_is_lost() {
    let place = Place::new();
    let (model, served) = (slow(&place, 1), serve(&place));
    let trace = &served.run(&model);
    let asking = place.work.join("asking.toml");
    let turns =
        "[[turn]]\ncalls = [{ tool = \"bash\", args = { command = \"touch b\" } }]\n[[turn]]\nfinal = \"Done.\"\n";
    std::fs::write(&asking, turns).unwrap();
    let waiting = &served.run(&format!("scripted:{}", asking.display()));
    let body = json!({"task": "Read it.", "model": model}).to_string();
    let (log, rules) = (place.log(trace), place.home.join("policy.toml"));
    std::fs::write(&rules, "x = [").unwrap();
    let say = json!({"messages": [{"role": "user", "content": "More."}]}).to_string();
    let (run, redo) = (format!("/api/traces/{trace}/run"), format!("/api/traces/{trace}/regenerate"));
    let decide = format!("/api/traces/{waiting}/approvals/2.0");
    let before = place.log(waiting);
    let approve = "{\"decision\": \"approve\"}";
    for (path, body) in [("/api/traces", &*body), (&run, &say), (&redo, "{\"after_sequence\": 1}"), (&decide, approve)]
    {
        let (status, problem) = served.ask("POST", path, "", body);
        assert_eq!((status, problem["type"].clone()), (409, json!("/problems/refused")), "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("policy.toml, line 1"), "{path}: {problem}");
    }
    assert_eq!((place.log(trace), place.log(waiting)), (log, before));
    std::fs::remove_file(&rules).unwrap();
    assert!(served.ask("POST", &decide, "", approve).0 < 300);
    wait_until("the call is made", || place.work.join("b").exists());
    let (status, again) = served.ask("POST", &run, "prefer: wait=20\r\n", &say);
    assert_eq!((status, again["status"].clone()), (200, json!("ended")), "{again}");
}

#[test]
fn what_cannot_be_an_id_or_a_name_of_a_model_is_told_at_its_field() {
    let place = Place::new();
    let model = slow(&place, 1);
    let served = serve(&place);
    let secret = format!("sk-{}", "Ab3dEf6hIj".repeat(4));
    for (body, pointer) in [
        (json!({"task": "x", "model": model, "trace_id": "key-7d3be447377934892fc0c20c"}), "/trace_id"),
        (json!({"task": "x", "model": format!("openai-compatible:http://127.0.0.1:9/{secret}#m")}), "/model"),
    ] {
        let (status, problem) = served.ask("POST", "/api/traces", "", &body.to_string());
        assert_eq!((status, problem["errors"][0]["pointer"].clone()), (422, json!(pointer)), "{problem}");
        assert!(!problem.to_string().contains(&secret), "{problem}");
    }
    let named = json!({"task": "x", "model": model, "output_schema": {"type": "object", "properties": {&secret: {}}}});
    let (_, begun) = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &named.to_string());
    let log = String::from_utf8(place.log(begun["trace_id"].as_str().unwrap())).unwrap();
    assert!(log.contains("output_schema") && !log.contains(&secret), "{log}");
    let asked = "openai-compatible:http://127.0.0.1:9/v1?api_key=hunter2#m";
    let said = json!({"model": asked, "messages": [{"role": "user", "content": "x"}]}).to_string();
    let (status, problem) = served.ask("POST", "/v1/chat/completions", "", &said);
    assert!(status == 404 && !problem.to_string().contains("hunter2"), "{status} {problem}");
}

#[test]
fn what_the_command_says_to_a_trace_of_the_server_the_server_answers() {
    let place = Place::new();
    let served = serve(&place);
    let trace = &served.run(&slow(&place, 1));
    let queued =
        format!("queued; the server continues {trace} if it has started it; otherwise: mainpath resume {trace}\n");
    assert_eq!(place.ok(&["next", trace, "And then?"]), queued);
    let runs = || place.events(trace).iter().filter(|event| event["type"] == "run_finished").count();
    wait_until("the server answers it", || runs() == 2);
}

#[test]
fn a_conversation_is_not_begun_under_the_id_of_another_trace() {
    let place = Place::new();
    let served = serve(&place);
    let model = slow(&place, 1);
    let first = json!({"task": "Read it.", "model": model, "trace_id": "mine"}).to_string();
    assert_eq!(served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &first).0, 200);
    let log = || std::fs::read(place.home.join("traces/mine/events.jsonl")).unwrap();
    let before = log();
    let second = json!({"model": model, "trace_id": "mine", "messages": [
        {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},
    ]});
    let (status, problem) = served.ask("POST", "/api/traces", "", &second.to_string());
    assert_eq!((status, problem["type"].clone()), (409, json!("/problems/refused")), "{problem}");
    assert_eq!(log(), before, "nothing was added");
}

#[test]
fn a_secret_in_a_rule_or_an_id_is_refused_and_in_no_file() {
    let place = Place::new();
    let served = serve(&place);
    let key = format!("ghp_{}", "a1B2c3D4e5".repeat(4).get(..36).unwrap());
    let model = slow(&place, 1);
    for (field, more) in [
        ("/rules/deny/0", json!({"rules": {"deny": [format!("bash(curl {key} *)")]}})),
        ("/rules/allow/0", json!({"rules": {"allow": [format!("bash(echo {key})")]}})),
        ("/trace_id", json!({"trace_id": key})),
    ] {
        let mut body = json!({"task": "Go.", "model": model});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, problem) = served.ask("POST", "/api/traces", "", &body.to_string());
        assert_eq!((status, problem["errors"][0]["pointer"].clone()), (422, json!(field)), "{problem}");
        assert!(!problem.to_string().contains(&key), "{problem}");
    }
    let all = served.ask("GET", "/api/traces", "", "").1;
    assert_eq!(all["traces"], json!([]), "{all}");
}

#[test]
fn what_waits_for_a_person_is_decided_after_a_restart_by_whoever_comes() {
    let place = Place::new();
    let file = place.root().join("writes.toml");
    let script = "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"b.txt\", content = \"x\" } }]\n[[turn]]\nfinal = \"Written.\"\n";
    std::fs::write(&file, script).unwrap();
    let mut served = serve(&place);
    let body = json!({"task": "Write.", "model": format!("scripted:{}", file.display())}).to_string();
    let (status, begun) = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body);
    assert_eq!((status, begun["status"].clone()), (200, json!("waiting")), "{begun}");
    let trace = begun["trace_id"].as_str().unwrap().to_string();
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.end().code, 0);
    let served = serve(&place);
    // By the command, from another process: the server hears of it and goes on.
    let (_, open) = served.ask("GET", "/api/approvals", "", "");
    let call = open["approvals"][0]["call"].as_str().unwrap().to_string();
    place.ok(&["approve", &trace, "--call", &call]);
    wait_until("it has ended", || finished(&place, &trace) == 1);
    assert_eq!(place.text("b.txt"), "x");
    drop(served);
}

#[test]
fn what_cannot_be_served_is_said_in_a_line() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (args, words) in [
        (vec!["serve", "--address", address.as_str()], "cannot be listened on"),
        (vec!["serve", "--address", "0.0.0.0:0"], "--behind-tls"),
        (vec!["serve", "--address", "nowhere"], "invalid value"),
        (vec!["serve", "-C", "missing"], "missing"),
        (vec!["keys", "new", "a b"], "is no name"),
        (vec!["keys", "new", "owner"], "\"owner\" is the key that mainpath serve makes by itself; choose another name"),
        (vec!["keys", "new", "ci", "--scopes", "all"], "there is no scope"),
        (vec!["keys", "revoke", "nobody"], "there is no key"),
    ] {
        let done = place.run(&args);
        assert!(done.code != 0 && done.err.contains(words), "{args:?}: {done:#?}");
    }
    for args in [["serve", "--address"], ["keys", "new"]] {
        let mut command = place.command(&[args[0], args[1], "127.0.0.1:0"]);
        command.env("MAINPATH_CALL", "1");
        let done = finish(command, None);
        assert!(done.err.contains("agents cannot"), "{done:#?}");
    }
}

#[test]
fn a_key_is_made_used_and_revoked_while_the_server_runs() {
    let place = Place::new();
    let mut served = serve(&place);
    let owner = served.key.clone();
    let key = place.ok(&["keys", "new", "ci", "--scopes", "read"]).trim().to_string();
    served.key = key.clone();
    assert_eq!(served.ask("GET", "/api/traces", "", "").0, 200);
    assert_eq!(served.ask("POST", "/api/traces", "", "{\"task\":\"x\"}").0, 403);
    let listed = place.ok(&["keys", "list"]);
    assert!(listed.contains("owner") && listed.contains("ci") && !listed.contains(&key), "{listed}");
    place.ok(&["keys", "revoke", "ci"]);
    wait_until("the revoked key is refused", || served.ask("GET", "/api/traces", "", "").0 == 401);
    served.key = owner;
    assert_eq!(served.ask("GET", "/api/keys", "", "").0, 200);
    let again = "owner is revoked; the next start of mainpath serve makes it again, with another secret\n";
    assert_eq!(place.ok(&["keys", "revoke", "owner"]), again);
}

#[test]
fn a_full_disk_is_507_and_heals_by_itself() {
    use rustix::process::{Resource, Rlimit, prlimit};
    let place = Place::new();
    let model = slow(&place, 1);
    // No file may grow: the system says so as it does when a disk is full, once the signal for it is ignored.
    let mut command = std::process::Command::new("sh");
    place.surround(&mut command);
    let program = env!("CARGO_BIN_EXE_mainpath");
    command.args(["-c", &format!("trap '' XFSZ; exec {program} serve --address 127.0.0.1:0")]);
    let mut process = Process::start(command);
    let line = process.find(|line| line.starts_with("listening on ")).unwrap();
    let address = line.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_string();
    process.find(|line| line.starts_with("key: ")).unwrap();
    let key = std::fs::read_to_string(place.home.join("server/token")).unwrap().trim().to_string();
    let served = Served { process, address, key };
    let body = json!({"task": "Read it.", "model": model}).to_string();
    let (_, first) = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body);
    let trace = first["trace_id"].as_str().unwrap().to_string();
    let limit = |most: Option<u64>| {
        prlimit(Some(served.process.pid()), Resource::Fsize, Rlimit { current: most, maximum: None }).unwrap();
    };
    limit(Some(0));
    let (status, problem) = served.ask("POST", "/api/traces", "", &body);
    assert_eq!((status, problem["type"].clone()), (507, json!("/problems/read-only")), "{problem}");
    let (status, problem) = served.ask("POST", &format!("/api/traces/{trace}/next"), "", "{\"message\":\"More.\"}");
    assert_eq!(status, 507, "{problem}");
    assert_eq!(served.ask("GET", &format!("/api/traces/{trace}"), "", "").0, 200);
    // Looking goes on, also where the index cannot take in what is new.
    for path in ["/api/traces", "/api/traces/running", "/api/search?q=read"] {
        let (status, listed) = served.ask("GET", path, "", "");
        assert_eq!(status, 200, "{path}: {listed}");
    }
    let listed = served.ask("GET", "/api/traces", "", "").1;
    let mut listed = listed["traces"].as_array().unwrap().iter();
    assert!(listed.any(|row| row["trace_id"] == json!(trace) && row["status"] == "completed"));
    let (status, problem) = served.ask("POST", "/api/keys", "", "{\"name\": \"ci\", \"scopes\": [\"read\"]}");
    let why = json!("nothing can be written: files may not grow any more");
    assert_eq!((status, problem["detail"].clone()), (507, why), "{problem}");
    // What was refused is nowhere, also where there was room for a part of its first line.
    let there = || {
        let all = served.ask("GET", "/api/traces", "", "").1;
        (all["traces"].as_array().unwrap().len(), std::fs::read_dir(place.home.join("traces")).unwrap().count())
    };
    let before = there();
    let told = json!({"model": model, "messages": [
        {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Read it."},
    ]});
    // Put aside, as it is long, before anything is written of the trace itself.
    let long = json!({"task": "Read it. ".repeat(3_000), "model": model});
    for room in [0, 4_000] {
        limit(Some(room));
        for body in [&body, &told.to_string(), &long.to_string()] {
            let (status, problem) = served.ask("POST", "/api/traces", "", body);
            assert_eq!(status, 507, "{room} bytes for {body}: {problem}");
            let said = problem["detail"].as_str().unwrap();
            let end = "; the trace was not begun, and nothing of it is kept";
            assert!(said.starts_with("the log cannot be written (") && said.ends_with(end), "{room} bytes: {said}");
        }
        let (status, problem) = served.ask("POST", &format!("/api/traces/{trace}/fork"), "", "{}");
        assert_eq!(status, 507, "{room} bytes for a copy: {problem}");
        limit(None);
        assert_eq!(there(), before, "{room} bytes");
    }
    let (status, again) = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body);
    assert_eq!((status, again["outcome"]["reason"].clone()), (200, json!("final")), "{again}");
}

/// What `mainpath ui` prints where it opens no browser.
struct Opened {
    address: String,
    code: String,
}

fn opened(line: &str) -> Opened {
    let (before, code) = line.split_once("/ui/#code=").unwrap();
    Opened { address: before.split_once("http://").unwrap().1.into(), code: code.trim().into() }
}

#[test]
fn the_pages_are_opened_signed_in_and_a_server_that_runs_already_is_used() {
    let place = Place::new();
    let mut process = place.start(&["ui", "--no-browser", "--address", "localhost:0"]);
    let first = opened(&process.find(|line| line.starts_with("open within")).unwrap());
    let key = std::fs::read_to_string(place.home.join("server/token")).unwrap().trim().to_string();
    let served = Served { process, address: first.address.clone(), key: key.clone() };
    let second = opened(&place.ok(&["ui", "--no-browser"]));
    assert_eq!(second.address, first.address);
    for code in [&first.code, &second.code] {
        let signed = served.ask("POST", "/ui/login", "", &json!({"code": code}).to_string());
        assert_eq!(signed, (200, json!({"key": key})));
        assert_eq!(served.ask("POST", "/ui/login", "", &json!({"code": code}).to_string()).0, 401);
    }
    let runs = format!("a server of this home runs already, at http://{}", first.address);
    place.run(&["ui", "--no-browser", "--address", "127.0.0.1:1"]).fails(1, &runs);
    place.run(&["serve", "--address", "somewhere:80"]).fails(2, "it is HOST:PORT, such as 127.0.0.1:9000");
}

#[test]
fn a_run_that_asks_nobody_is_not_woken_by_a_key_that_may_not_decide() {
    // The first request is never answered.
    let (place, gate) = (Place::new(), Gate::default());
    let model = server(move |request| {
        let write = Answer::call("write_text_file", json!({"path": "b.txt", "content": "x"}));
        match (request.n, request.count("assistant")) {
            (1, _) => write.behind(&gate).into(),
            (_, 0) if task(request.body()) == "Write." => write.into(),
            _ => Answer::text("Done.").into(),
        }
    });
    let process = place.start_run(&model, &["--yes", "Write."]);
    wait_until("the model is asked", || model.count() == 1);
    process.kill();
    let trace = newest(&place);
    let key = place.ok(&["keys", "new", "runner", "--scopes", "read,run"]).trim().to_string();
    let mut served = serve(&place);
    let own = std::mem::replace(&mut served.key, key);
    let before = place.events(&trace).len();
    for (path, body) in
        [("rename", json!({"name": "hello"})), ("mail", json!({"mail": {"type": "rename", "name": "again"}}))]
    {
        let (status, said) = served.ask("POST", &format!("/api/traces/{trace}/{path}"), "", &body.to_string());
        assert_eq!(status, 202, "{path}: {said}");
    }
    for path in ["run", "resume", "compact", "clear"] {
        assert_eq!(served.ask("POST", &format!("/api/traces/{trace}/{path}"), "", "{}").0, 403, "{path}");
    }
    served.key = own;
    // A run that is started after all of that comes to its end, and the other one has not gone on.
    let later = served.run(&model.model());
    wait_until("the later run has ended", || finished(&place, &later) == 1);
    assert_eq!((place.events(&trace).len(), place.work.join("b.txt").exists()), (before, false));
    assert_eq!(served.ask("POST", &format!("/api/traces/{trace}/resume"), "", "").0, 202);
    wait_until("it has written", || finished(&place, &trace) == 1);
    assert!(place.work.join("b.txt").exists());
}

#[test]
fn a_home_has_one_server_and_its_keys_can_be_revoked_whatever_is_wrong_in_the_configuration() {
    let place = Place::new();
    place.ok(&["keys", "new", "ci"]);
    let served = serve(&place);
    let runs = format!("a server of this home runs already, at http://{}; stop it first", served.address);
    place.run(&["serve", "--address", "127.0.0.1:0"]).fails(1, &runs);
    std::fs::write(place.home.join("config.toml"), "no_such_key = 1\n").unwrap();
    place.ok(&["keys", "revoke", "ci"]);
    assert!(!served.ask("GET", "/api/keys", "", "").1.to_string().contains("\"ci\""));
}
