//! `mainpath mcp serve`: runs for a person's own MCP client.

use crate::approvals::observed;
use crate::questions::asks;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{ChildStdin, Stdio};

/// A client that speaks by hand.
pub struct Client {
    pub process: Process,
    input: Option<ChildStdin>,
    asked: u64,
}

impl Client {
    fn new(place: &Place, server: &ModelServer) -> Client {
        Client::with(place, server, &[])
    }

    fn with(place: &Place, server: &ModelServer, flags: &[&str]) -> Client {
        let model = server.model();
        Client::of(place.command(&[&["mcp", "serve", "--model", &model], flags].concat()))
    }

    /// A client of a command that serves.
    pub fn of(mut command: std::process::Command) -> Client {
        command.stdin(Stdio::piped());
        let mut process = Process::start(command);
        let input = process.child.stdin.take();
        let mut client = Client { process, input, asked: 0 };
        let about = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
        let info = client.ask("initialize", hello);
        assert_eq!(info["serverInfo"]["name"], "mainpath", "{info}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let line = self.process.find(|line| parsed(line)["id"] == id).unwrap();
        parsed(&line)["result"].clone()
    }

    /// Calls a tool: whether it failed, and what it said.
    pub fn call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let said = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        (result["isError"] == true, said)
    }

    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let (failed, said) = self.call(tool, arguments);
        assert!(!failed, "{said}");
        said
    }

    fn start(&mut self, task: &str) -> String {
        let started = self.ok("run_start", json!({"task": task}));
        assert_eq!(started["status"], "started");
        started["trace"].as_str().unwrap().into()
    }
}

#[test]
fn a_call_that_waits_is_shown_as_it_will_run() {
    let place = Place::new();
    let script = place.home.join("guard.sh");
    std::fs::create_dir_all(&place.home).unwrap();
    std::fs::write(&script, r#"echo '{"arguments": {"command": "echo mild > effects"}}'"#).unwrap();
    let script = script.display();
    place.config(&format!(
        "[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \"{script}\"]\non = [\"before_tool\"]\ntools = [\"bash\"]\n"
    ));
    let server = scripted(vec![bash("echo wild > effects"), Answer::text("Done.")]);
    let mut client = Client::new(&place, &server);
    let trace = client.start("Do it.");
    let waits = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
    let shown = (&waits["waiting"][0]["tool"], parsed(waits["waiting"][0]["arguments"].as_str().unwrap()));
    assert_eq!(shown, (&json!("bash"), json!({"command": "echo mild > effects"})), "{waits}");
}

#[test]
fn runs_are_started_as_the_flags_and_the_agents_file_say() {
    let place = Place::new();
    let agents = place.root().canonicalize().unwrap().join("home/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let file = "---\nname: careful\ndescription: Takes care.\ntools: [bash]\ndenied_tools: bash(rm *)\nmax_turns: 4\n---\nTake care.\n";
    std::fs::write(agents.join("careful.md"), file).unwrap();
    let server = scripted(vec![bash("rm -r mine"), bash("echo kind"), Answer::text("Done.")]);
    let flags = ["--agent", "careful", "--allow", "bash(echo *)", "--instructions", "Be brief.", "--max-calls", "7"];
    let mut client = Client::with(&place, &server, &flags);
    let trace = client.start("Do it.");
    let ended = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("finished"), &json!("Done.")), "{ended}");
    let events = place.events(&trace);
    let begun = &events.iter().rfind(|event| event["type"] == "spec_changed").unwrap()["data"]["spec"];
    let tools: Vec<&str> = begun["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(
        (tools, &begun["rules"], &begun["preset"]["name"], &begun["limits"]["turns"], &begun["limits"]["calls"]),
        (
            Vec::from(["bash", "expand_window", "list_calls", "load_older_messages", "recall_result"]),
            &json!({"allow": ["bash(echo *)"], "deny": ["bash(rm *) # preset careful"]}),
            &json!("careful"),
            &json!(4),
            &json!(7)
        )
    );
    let body = server.requests()[0].body().clone();
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("Take care.") && system.ends_with("Be brief."), "{system}");
    let asked = events.iter().filter(|event| event["type"] == "model_finished");
    let verdicts: Vec<&Value> =
        asked.filter_map(|event| event["data"]["calls"].get(0)).map(|call| &call["verdict"]["decision"]).collect();
    assert_eq!(verdicts, [&json!("deny"), &json!("allow")]);
}

#[test]
fn a_call_that_waits_tells_where_its_links_lead() {
    for (path, is_link) in [("link/a", true), ("sub/a", false)] {
        let place = Place::new();
        std::fs::create_dir(place.work.join("sub")).unwrap();
        std::os::unix::fs::symlink("sub", place.work.join("link")).unwrap();
        let write = Answer::call("write_text_file", json!({"path": path, "content": "mine"}));
        let server = scripted(vec![write, Answer::text("Done.")]);
        let mut client = Client::new(&place, &server);
        let trace = client.start("Do it.");
        let waits = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
        let places = if is_link { json!([place.work.join("sub/a")]) } else { Value::Null };
        assert_eq!(waits["waiting"][0]["places"], places, "{waits}");
    }
}

#[test]
fn a_run_is_started_watched_decided_and_its_answer_fetched() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done > effects"), Answer::text("It is done.")]);
    let mut client = Client::new(&place, &server);
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["run_start", "run_status", "run_answer", "run_result"]);
    let trace = client.start("Do it.");
    let waits = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
    assert_eq!((&waits["status"], &waits["waiting"][0]["tool"]), (&json!("waiting"), &json!("bash")), "{waits}");
    assert_eq!(place.text("effects"), "");
    let call = waits["waiting"][0]["call"].clone();
    assert_eq!(client.ok("run_status", json!({"trace": trace}))["waiting"][0]["needs"], "approval");
    client.ok("run_answer", json!({"trace": trace, "call": call, "decision": "approve"}));
    // Asked earlier, the result could still be that the run waits.
    wait_until("the run ends", || place.log(&trace).windows(12).any(|window| window == b"run_finished"));
    let ended = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
    assert_eq!(
        (&ended["reason"], &ended["answer"], &ended["turns"]),
        (&json!("final"), &json!("It is done."), &json!(2)),
        "{ended}"
    );
    assert_eq!(place.text("effects"), "done\n");
    drop(client.input.take());
    assert_eq!(client.process.end().code, 0);
    place.ok(&["verify", &trace]);
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done > effects"), Answer::text("Then not.")]);
    let mut client = Client::new(&place, &server);
    let trace = client.start("Do it.");
    let waits = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
    let call = waits["waiting"][0]["call"].clone();
    client.ok("run_answer", json!({"trace": trace, "call": call, "decision": "deny", "text": "Not today."}));
    wait_until("the run ends", || place.log(&trace).windows(12).any(|window| window == b"run_finished"));
    assert!(server.requests().pop().unwrap().body()["messages"].to_string().contains("Not today."));
    assert_eq!(place.text("effects"), "");
}

#[test]
fn the_number_of_no_choice_is_refused_and_the_question_stays_open() {
    let (place, server) = (Place::new(), scripted(vec![asks(&json!({"files": []})), Answer::text("Painted.")]));
    let mut client = Client::new(&place, &server);
    let trace = client.start("Paint the door.");
    let waits = client.ok("run_result", json!({"trace": trace, "wait_s": 60}));
    let call = waits["waiting"][0]["call"].clone();
    let answer = |text: &str| json!({"trace": trace, "call": call, "decision": "answer", "text": text});
    let why = "0 is the number of no choice: the choices are 1 to 2; or answer in words; call 2.0 is still open";
    assert_eq!(client.call("run_answer", answer("0")), (true, json!(why)));
    client.ok("run_answer", answer("2"));
    wait_until("the run ends", || place.log(&trace).windows(12).any(|window| window == b"run_finished"));
    assert_eq!(observed(&server), json!("user answered (mcp):\n> light blue").to_string());
}

#[test]
fn nothing_but_its_own_runs_is_served_and_mistakes_are_told() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done > effects"), Answer::text("Done.")]);
    place.run_on(&server, &["--park", "Do it."]);
    let other = place.trace();
    let mut client = Client::new(&place, &server);
    for (tool, args) in [
        ("run_status", json!({"trace": other})),
        ("run_result", json!({"trace": other})),
        ("run_answer", json!({"trace": other, "call": "2.0", "decision": "approve"})),
    ] {
        let (failed, said) = client.call(tool, args);
        assert!(failed && said == format!("this server started no run {other:?}"), "{said}");
    }
    for (tool, args, wanted) in [
        ("run_start", json!({}), "the arguments of run_start: missing field `task`"),
        ("run_start", json!({"task": " "}), "no task given"),
        (
            "run_start",
            json!({"task": "x", "workspace": "/no/such"}),
            "the workspace /no/such cannot be used: No such file",
        ),
        ("run_start", json!({"task": "x", "model": "nobody:x"}), "nobody"),
        ("run_status", json!({"trace": 1}), "the arguments of run_status: trace: invalid type: integer `1`"),
        ("run_answer", json!({"trace": "x", "call": "1.0", "decision": "maybe"}), "decision: unknown variant `maybe`"),
    ] {
        let (failed, said) = client.call(tool, args);
        assert!(failed && said.as_str().unwrap().contains(wanted), "{said}");
    }
    assert_eq!(place.text("effects"), "");
}

/// The first request is answered with a command that takes long, all others with words.
fn busy() -> ModelServer {
    server(|request| match request.n {
        1 => bash("echo $$ > pid; sleep 30").into(),
        _ => Answer::text("Done after all.").into(),
    })
}

#[test]
fn a_signal_or_a_client_that_goes_stops_the_runs_at_a_checkpoint() {
    for signal in [Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP), None] {
        let (place, server) = (Place::new(), busy());
        let args = ["mcp", "serve", "--model", &server.model(), "--yes"];
        let mut client = Client::of(place.command_that_hears_hangups(&args));
        let trace = client.start("Do it.");
        wait_until("the tool runs", || place.text("pid").ends_with('\n'));
        match signal {
            Some(signal) => client.process.signal(signal),
            None => drop(client.input.take()),
        }
        let done = client.process.end();
        assert_eq!(done.code, if signal.is_some() { 130 } else { 0 }, "{signal:?}: {done:#?}");
        let again = match signal {
            Some(Signal::INT) => "Ctrl-C again",
            Some(_) => "a second signal",
            None => "a signal",
        };
        let said = [
            format!("stopping a run at the next checkpoint; {again} stops at once"),
            format!("continue with mainpath resume {trace}"),
        ];
        assert_eq!(done.own_lines(), said);
        assert_eq!(place.tools(), Vec::<u32>::new());
        let last = place.events(&trace).pop().unwrap();
        assert_eq!((&last["type"], &last["data"]["reason"]), (&json!("run_finished"), &json!("stopped")), "{signal:?}");
        place.ok(&["replay", "--dry-run", &trace]);
        assert_eq!(place.ok(&["resume", "--yes"]), "Done after all.\n");
        place.ok(&["verify"]);
    }
}

#[test]
fn a_signal_leaves_what_waits_for_a_decision_waiting() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done > effects"), Answer::text("It is done.")]);
    let mut client = Client::new(&place, &server);
    let trace = client.start("Do it.");
    assert_eq!(client.ok("run_result", json!({"trace": trace, "wait_s": 60}))["status"], "waiting");
    client.process.signal(Signal::TERM);
    let done = client.process.end();
    assert_eq!((done.code, done.own_lines()), (130, Vec::new()), "{done:#?}");
    place.ok(&["approve", &trace]);
    assert_eq!(place.ok(&["resume", &trace]), "It is done.\n");
    assert_eq!(place.text("effects"), "done\n");
}
