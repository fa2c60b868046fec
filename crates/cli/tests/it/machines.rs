//! Agents on another machine: two installations, each with a server of its own, on loopback.

use crate::serving::{Served, finished, serve_at, slow};
use crate::support::{Place, Port, finish, newest, server, wait_until};
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::io::BufRead;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two machines: one where work is, and one that hands it on.
struct Two {
    here: Place,
    there: Place,
    address: String,
    served: Served,
    /// A restart has the same port.
    _port: Port,
}

/// The other machine's agents play this model; the key has these scopes.
fn two(model: impl Fn(&Place) -> String, scopes: &str) -> Two {
    let (here, there) = (Place::new(), Place::new());
    let model = model(&there);
    there.config(&format!("model = {model:?}\ncontext_window = 128000\n"));
    let port = Port::reserve();
    let address = port.address.clone();
    let key = there.ok(&["keys", "new", "here", "--scopes", scopes]).trim().to_string();
    here.config(&format!(
        "context_window = 128000\n[peers.build]\nurl = \"http://{address}\"\nkey = \"BUILD_KEY\"\nabout = \"Has the build machine's files.\"\n\
         [secrets]\nBUILD_KEY = {key:?}\n"
    ));
    let served = serve_at(&there, &address);
    Two { here, there, address, served, _port: port }
}

/// Hands a task to the other machine, and has its agent go on where it is told to go on.
fn hands_on(address: &str) -> ModelServer {
    hands_on_at(format!("http://{address}"))
}

pub fn hands_on_at(url: String) -> ModelServer {
    server(move |request| {
        let body = request.body().to_string();
        let asked = request.count("user") + request.count("tool");
        let id = body
            .split("agent://")
            .nth(1)
            .and_then(|rest| rest.split(['\\', '"']).next())
            .map(|id| format!("agent://{id}"));
        match (asked, id) {
            (1, _) => Answer::call("agent", json!({"task": "Read a.txt.", "agent_url": url})),
            (3, Some(id)) => {
                Answer::call("agent", json!({"task": "Once more.", "agent_url": url, "continue_from": id}))
            }
            _ => Answer::text("Handed on."),
        }
        .into()
    })
}

/// The children of a trace as they were handed back.
pub fn handed(place: &Place, trace: &str) -> Vec<Value> {
    let ended = place.events(trace).into_iter().filter(|event| event["type"] == "sub_trace_completed");
    ended.map(|event| event["data"].clone()).collect()
}

fn began(place: &Place, trace: &str) -> usize {
    place.events(trace).iter().filter(|event| event["type"] == "run_started").count()
}

#[test]
fn a_task_is_done_on_another_machine_once_also_when_both_are_killed_and_the_conversation_goes_on() {
    let Two { here, there, address, served, _port } = two(|there| slow(there, 700), "read,run");
    let model = hands_on(&address);
    let run = here.start_run(&model, &["--yes", "Have it read."]);
    wait_until("it has begun there", || {
        let traces = there.traces();
        traces.iter().any(|trace| there.events(trace).iter().any(|event| event["type"] == "model_requested"))
    });
    served.process.kill();
    run.kill();
    let trace = newest(&here);
    let served = serve_at(&there, &address);
    let done = here.run(&["resume", &trace]);
    assert_eq!(done.code, 0, "{done:#?}");
    let child = there.traces().remove(0);
    let id = format!("agent://{address}/{child}");
    assert_eq!((there.traces().len(), began(&there, &child), finished(&there, &child)), (1, 1, 1));
    let ended = handed(&here, &trace);
    let got = [&ended[0]["outcome"], &ended[0]["child"], &ended[0]["answer"]];
    assert_eq!(got, [&json!("result"), &json!(id), &json!("Read.")], "{ended:#?}");
    assert_eq!(ended[0]["origins"], json!(["message"]), "what it says is somebody else's word");
    // The same agent goes on there.
    let done = here.run_on(&model, &["--continue", "--yes", "Again."]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!((there.traces().len(), finished(&there, &child)), (1, 2));
    assert_eq!(handed(&here, &trace)[1]["child"], json!(id));
    // Its id is one wherever ids are.
    let shown = here.ok(&["show", &id]);
    assert!(shown.contains("Read a.txt.") && shown.contains("Read."), "{shown}");
    let watched = here.run(&["watch", &id, "--from", "1"]);
    assert!(watched.code == 0 && watched.err.contains("read_text_file"), "{watched:#?}");
    for of in [
        ["show", "--all"],
        ["show", "--events"],
        ["context", "--json"],
        ["export", "--format=json"],
        ["goal", "--json"],
    ] {
        here.ok(&[of[0], &id, of[1]]);
    }
    // What would make a trace of this machine of it, or change what is kept there, is done there.
    let traces = here.traces();
    let refused = [
        vec!["fork", &id],
        vec!["fork", &id, "--no-run"],
        vec!["compact", &id],
        vec!["rm", "--yes", &id],
        vec!["resume", &id],
        vec!["rewind", &id, "1", "Again."],
        vec!["restore", &id, "--to", "1"],
        vec!["reflect", &id],
        vec!["verify", &id],
        vec!["replay", &id],
    ];
    for args in refused {
        here.run(&args).fails(1, "this is done on");
    }
    assert_eq!((here.traces(), finished(&there, &child)), (traces, 2));
    let shown = here.ok(&["show", &trace]);
    assert!(shown.contains("  Read a.txt.  (") && shown.contains("  continued: Once more.  ("), "{shown}");
    let verified = here.run(&["verify", &trace]);
    assert_eq!(verified.code, 0, "{verified:#?}");
    drop(served);
}

#[test]
fn what_stops_here_stops_there_and_a_key_that_may_not_run_agents_is_told() {
    let Two { here, there, address, served, _port } = two(|there| slow(there, 60_000), "read,run");
    let model = hands_on(&address);
    let mut run = here.start_run(&model, &["--yes", "Have it read."]);
    wait_until("it has begun there", || {
        there.traces().iter().any(|trace| there.events(trace).iter().any(|event| event["type"] == "model_requested"))
    });
    here.ok(&["stop", &newest(&here)]);
    let done = run.end();
    assert_ne!(done.code, 0);
    let child = there.traces().remove(0);
    wait_until("it has stopped there", || {
        let events = there.events(&child);
        events.iter().any(|event| event["type"] == "run_finished" && event["data"]["reason"] == "stopped")
    });
    // One there can be stopped by its own id too; whoever asked for it goes on.
    let mut run = here.start_run(&model, &["--yes", "Have it read."]);
    wait_until("another has begun there", || there.traces().len() == 2);
    let second = there.traces().into_iter().find(|trace| *trace != child).unwrap();
    here.ok(&["stop", &format!("agent://{address}/{second}")]);
    let done = run.end();
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(handed(&here, &newest(&here))[0]["outcome"], "stopped");
    drop(served);

    let Two { here, there, address, served, _port } = two(|there| slow(there, 1), "read");
    let done = here.run_on(&hands_on(&address), &["--yes", "Have it read."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let ended = handed(&here, &newest(&here));
    let problem = ended[0]["problem"].as_str().unwrap();
    assert!(problem.contains("HTTP 403") && problem.contains("scope"), "{problem}");
    assert!(there.traces().is_empty());
    drop(served);
}

/// TLS in front of a server, with a certificate for 127.0.0.1 of an authority that nobody knows (`servers/tls`).
struct Tls {
    process: Child,
    address: String,
}

const TLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers");

impl Tls {
    fn before(address: &str) -> Tls {
        let mut command = Command::new("python3");
        command.args(["tls.py", "tls/server.pem", "tls/server.key", address]).current_dir(TLS).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut port = String::new();
        std::io::BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Tls { process, address: format!("127.0.0.1:{}", port.trim()) }
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

#[test]
fn another_machine_is_reached_by_tls_if_its_certificate_is_trusted() {
    let Two { here, there, address, served, _port } = two(|there| slow(there, 1), "read,run");
    let tls = Tls::before(&address);
    let url = format!("https://{}", tls.address);
    let config = |place: &Place| std::fs::read_to_string(place.home.join("config.toml")).unwrap();
    here.config(&config(&here).replace(&format!("http://{address}"), &url));
    served.process.kill();
    there.config(&format!("{}[server]\nhosts = [{:?}]\n", config(&there), tls.address));
    let served = serve_at(&there, &address);
    let model = hands_on_at(url);
    let name = model.model();
    let run = |is_trusted: bool| {
        let mut command = here.command(&["run", "--model", &name, "--yes", "Have it read."]);
        if is_trusted {
            command.env("SSL_CERT_FILE", format!("{TLS}/tls/ca.pem"));
        }
        let done = finish(command, None);
        assert_eq!(done.code, 0, "{done:#?}");
        handed(&here, &newest(&here))[0].clone()
    };
    let ended = run(false);
    let problem = ended["problem"].as_str().unwrap();
    assert!(problem.contains("certificate") && !problem.contains('\n'), "{problem}");
    assert!(there.traces().is_empty());
    let ended = run(true);
    assert_eq!(ended["answer"], "Read.", "{ended:#?}");
    let child = format!("agent://{}/{}", tls.address, there.traces()[0]);
    assert_eq!(ended["child"], child);
    let mut command = here.command(&["show", &child]);
    command.env("SSL_CERT_FILE", format!("{TLS}/tls/ca.pem"));
    assert!(finish(command, None).out.contains("Read."));
    drop(served);
}

/// A script of the other machine that ends with these words, after a call if one is given.
fn script(there: &Place, call: &str, last: &str) -> String {
    let file = there.root().join("script.toml");
    std::fs::write(&file, format!("{call}[[turn]]\nfinal = {last:?}\n")).unwrap();
    format!("scripted:{}", file.display())
}

#[test]
fn a_long_answer_comes_back_as_far_as_one_from_here() {
    let long = "It is a long story. ".repeat(10_000);
    let Two { here, there: _there, address, served, _port } = two(|there| script(there, "", &long), "read,run");
    let done = here.run_on(&hands_on(&address), &["--yes", "Have it read."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let ended = handed(&here, &newest(&here));
    let answer = ended[0]["answer"].as_str().unwrap_or_else(|| panic!("{ended:#?} {done:#?}"));
    assert!(answer.starts_with("It is a long story. It is") && answer.len() == 30_000, "{}", answer.len());
    assert_eq!(ended[0]["left_out"], 170_000);
    drop(served);
}

#[test]
fn what_waits_for_a_person_there_is_said_here_and_is_decided_by_whoever_may() {
    let writes = "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"b.txt\", content = \"x\" } }]\n";
    let Two { here, there, address, served, _port } = two(|there| script(there, writes, "Written."), "read,run");
    let model = hands_on(&address);
    let mut run = here.start_run(&model, &["--yes", "Have it read."]);
    wait_until("it asks there", || there.traces().iter().any(|trace| asks(&there, trace)));
    // It is left here as what asks here is left.
    assert_eq!(run.end().code, 5);
    let child = there.traces().remove(0);
    // The key may not decide there; who may there, does.
    // Without a name it is meant too, since nothing else waits.
    for args in [vec!["approve".to_string()], vec!["approve".into(), format!("agent://{address}/{child}")]] {
        let refused = here.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(refused.code == 1 && refused.err.contains("needs a key with the scope approve"), "{refused:#?}");
    }
    there.ok(&["rm", "--yes", &child]);
    drop(served);
}

/// A run of a server here that has handed work to the other machine, where it asks for leave; gives its trace.
fn asks_there(two: &Two, own: &Served, model: &ModelServer) -> String {
    let body = json!({"task": "Have it written.", "model": model.model()}).to_string();
    let (_, begun) = own.ask("POST", "/api/traces", "", &body);
    let trace = begun["trace_id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_string();
    wait_until("it asks whether it may hand work on", || stands(own, &trace) == "waiting");
    two.here.ok(&["approve", "--yes", &trace]);
    wait_until("the agent there asks as well", || two.there.traces().iter().any(|trace| asks(&two.there, trace)));
    trace
}

fn stands(own: &Served, trace: &str) -> Value {
    own.ask("GET", &format!("/api/traces/{trace}"), "", "").1["status"].clone()
}

#[test]
fn it_is_asked_about_goes_only_where_the_owner_has_said_and_tells_what_is_wrong() {
    let Two { here, there, address, served, _port } = two(|there| slow(there, 1), "read,run");
    let model = hands_on(&address);
    let done = here.run_on(&model, &["Have it read."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let trace = newest(&here);
    let asked = here.ok(&["show", &trace]);
    assert!(asked.contains("This hands work to an agent on another machine."), "{asked}");
    assert!(there.traces().is_empty());
    // By a rule for its server it is allowed.
    let allowed = here.run_on(&model, &["--allow", &format!("agent(POST http://{address}/**)"), "Have it read."]);
    assert_eq!((allowed.code, there.traces().len()), (0, 1), "{allowed:#?}");
    // Elsewhere it never goes.
    let other = hands_on("127.0.0.1:9");
    let done = here.run_on(&other, &["--yes", "Have it read."]);
    let said = here.ok(&["show", &newest(&here)]);
    assert!(said.contains("127.0.0.1:9 is not set up here") && done.code == 0, "{said}");
    let done = here.run(&["show", "agent://127.0.0.1:9/x"]);
    done.fails(1, "127.0.0.1:9 is no machine of the configuration; add [peers.NAME]");
    here.run(&["show", &format!("agent://{address}/none")]).fails(1, "there is no trace agent://");
    here.run(&["show", &format!("agent://{address}/../x")]).fails(1, "there is no trace");
    drop(served);
    // Its server is gone: that is told, and the trace here can be looked at all the same.
    let id = format!("agent://{address}/{}", there.traces()[0]);
    here.run(&["show", &id]).fails(1, "cannot be reached");
    here.ok(&["show", &trace]);
    here.config("[peers.build]\nurl = \"http://127.0.0.1:1\"\nkey = \"NOT_SET\"\nabout = \"x\"\n");
    here.run_on(&model, &["x"]).fails(1, "NOT_SET is not set");
    here.ok(&["show", &trace]);
}

#[test]
fn a_run_that_waits_for_a_person_on_another_machine_can_be_left_and_goes_on_later() {
    let writes = "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"b.txt\", content = \"x\" } }]\n";
    let Two { here, there, address, served, _port } =
        two(|there| script(there, writes, "Written."), "read,run,approve");
    let model = hands_on(&address);
    let done =
        here.run_on(&model, &["--park", "--allow", &format!("agent(POST http://{address}/)"), "Have it written."]);
    let child = there.traces().remove(0);
    let remote = format!("agent://{address}/{child}");
    assert_eq!(done.code, 5, "{done:#?}");
    assert!(done.err.contains(&format!("needs approval: mainpath approve {remote}")), "{done:#?}");
    let trace = newest(&here);
    assert!(here.ok(&["show", &trace]).contains("status  waiting"));
    // Where that machine cannot be asked, that is said, and nothing else.
    drop(served);
    let watched = here.run(&["watch", &trace]);
    assert!(!watched.err.contains("damaged"), "{watched:#?}");
    let answered = here.run(&["approve", &trace]);
    assert!(answered.code == 1 && answered.err.contains(&format!("! cannot ask for {remote}")), "{answered:#?}");
    let served = serve_at(&there, &address);
    // Nobody has decided: it is left again.
    assert_eq!(here.run(&["resume", &trace]).code, 5);
    here.ok(&["approve", &remote]);
    let done = here.run(&["resume", &trace]);
    assert_eq!((done.code, done.out.as_str()), (0, "Handed on.\n"), "{done:#?}");
    assert_eq!(handed(&here, &trace)[0]["answer"], "Written.");
    assert_eq!(there.text("b.txt"), "x");
    drop(served);
}

#[test]
fn an_agent_of_an_agent_on_another_machine_that_waits_for_a_person_uses_no_time() {
    let writes = server(|request| {
        let is_first = request.body().to_string().contains("Read a.txt.");
        match (is_first, request.count("tool")) {
            (true, 0) => Answer::call("agent", json!({"task": "Write it."})),
            (false, 0) => Answer::call("write_text_file", json!({"path": "b.txt", "content": "x"})),
            _ => Answer::text("Written."),
        }
        .into()
    });
    let Two { here, there, address, served, _port } = two(|_| writes.model(), "read,run,approve");
    let model = hands_on(&address);
    let allow = format!("agent(POST http://{address}/)");
    let began = Instant::now();
    let parked = here.run_on(&model, &["--park", "--timeout", "4s", "--allow", &allow, "Have it written."]);
    let writer = there.traces().into_iter().find(|trace| asks(&there, trace)).unwrap();
    let (remote, trace) = (format!("agent://{address}/{writer}"), newest(&here));
    assert_eq!(parked.code, 5, "{parked:#?}");
    for line in [format!("! {remote} waits for a person on its own machine"), format!("mainpath approve {remote}")] {
        assert!(parked.err.contains(&line), "{line}: {parked:#?}");
    }
    // Longer than its limit: none of it is counted, also where the run attaches to its agent again.
    std::thread::sleep(Duration::from_secs(5).saturating_sub(began.elapsed()));
    let resumed = here.run(&["resume", &trace]);
    assert_eq!(resumed.code, 5, "{resumed:#?}");
    here.ok(&["approve", &remote]);
    let done = here.run(&["resume", &trace]);
    assert_eq!((done.code, done.out.as_str()), (0, "Handed on.\n"), "{done:#?}");
    assert_eq!(handed(&here, &trace)[0]["answer"], "Written.");
    assert_eq!(there.text("b.txt"), "x");
    drop(served);
}

/// Whether a call of a trace has asked for leave.
fn asks(place: &Place, trace: &str) -> bool {
    place.events(trace).iter().any(|event| event["data"].to_string().contains("\"decision\":\"ask\""))
}

#[test]
fn a_server_goes_on_when_somebody_has_decided_on_another_machine_or_has_removed_it_there() {
    let writes = "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"b.txt\", content = \"x\" } }]\n";
    let two = two(|there| script(there, writes, "Written."), "read,run");
    let model = hands_on(&two.address);
    let own = crate::serving::serve(&two.here);
    let trace = asks_there(&two, &own, &model);
    two.there.ok(&["approve", &two.there.traces()[0]]);
    wait_until("it has gone on", || stands(&own, &trace) == "completed");
    assert_eq!(handed(&two.here, &trace)[0]["answer"], "Written.");
    // Its id is one part of the address, and files are put back there alone.
    let there = format!("/api/traces/agent%3A%2F%2F{}%2F{}", two.address.replace(':', "%3A"), two.there.traces()[0]);
    assert_eq!(own.ask("GET", &there, "", "").1["status"], "completed");
    let (status, refused) = own.ask("POST", &format!("{there}/restore"), "", "{\"at_sequence\": 1}");
    let done_there = format!("this is done on {} itself", two.address);
    assert!(status == 409 && refused["detail"].as_str().unwrap().contains(&done_there), "{refused}");
    two.there.ok(&["rm", "--yes", &two.there.traces()[0]]);
    let trace = asks_there(&two, &own, &model);
    // So that it is seen here before it is gone there.
    wait_until("it is said here", || stands(&own, &trace) == "waiting");
    two.there.ok(&["rm", "--yes", &two.there.traces()[0]]);
    wait_until("it has gone on without", || stands(&own, &trace) == "completed");
    let ended = handed(&two.here, &trace);
    assert!(ended[0]["problem"].as_str().unwrap().contains("is no longer there"), "{ended:#?}");
    assert_eq!(two.there.traces(), Vec::<String>::new(), "it is not begun again");
}
