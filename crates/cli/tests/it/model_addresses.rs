//! A caller that names a model's address: it gets neither the owner's key nor the conversation, on any path.

use crate::mcp_serve::Client;
use crate::serving::serve_with;
use crate::support::{Place, bash, finish, scripted, server};
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

const KEY: &str = "sk-of-the-owner-0123456789";

/// The names of a model at this server: as it is written, and in forms that an address parser repairs.
fn names(theirs: &ModelServer) -> Vec<String> {
    let at = theirs.addr();
    let forms = [
        format!("openai-compatible:http://{at}/v1#m"),
        format!("openai-compatible:http:{at}/v1#m"),
        format!("openai-compatible:http:/{at}/v1#m"),
        format!("openai-compatible:HTTP:\\\\{at}\\v1#m"),
        format!(" openai-compatible:http://{at}/v1#m"),
        format!("anthropic-compatible:http:{at}#m"),
        format!("openai-responses:http:{at}/v1#m"),
    ];
    forms.to_vec()
}

fn theirs() -> ModelServer {
    server(|_| Answer::call("read_text_file", json!({"path": "plans.txt"})).into())
}

#[test]
fn a_key_that_only_runs_or_a_tenants_key_names_no_address_in_any_request() {
    let place = Place::new();
    let theirs = theirs();
    let mut served = serve_with(&place, &[("MAINPATH_API_KEY", KEY)]);
    for (name, tenant, scopes) in
        [("one", "acme", "read,run"), ("two", "acme", "read,run,approve"), ("three", "local", "read,run")]
    {
        let made = place.ok(&["keys", "new", name, "--tenant", tenant, "--scopes", scopes]);
        served.key = made.split_whitespace().find(|word| word.starts_with("mp_")).unwrap().into();
        for model in names(&theirs) {
            let bodies = [
                ("/api/traces", json!({"task": "hi", "model": model})),
                ("/api/traces", json!({"task": "hi", "model": "anthropic:x", "fallback": [model]})),
                ("/v1/chat/completions", json!({"model": model, "messages": [{"role": "user", "content": "hi"}]})),
                ("/v1/responses", json!({"model": model, "input": "hi"})),
                (
                    "/v1/agent_core/execute",
                    json!({"prompt": "hi", "config": {"model": model, "max_steps": 2, "allowed_tools": []}}),
                ),
            ];
            for (path, body) in bodies {
                let (status, said) = served.ask("POST", path, "prefer: wait=5\r\n", &body.to_string());
                assert_eq!(status, 403, "{tenant} {scopes} {path} {model}: {said}");
            }
        }
    }
    assert_eq!(theirs.connections(), 0);
}

#[test]
fn an_address_that_a_request_names_gets_no_key_and_a_configured_one_does() {
    let place = Place::new();
    let (own, other) = (scripted(vec![Answer::text("Mine.")]), scripted(vec![Answer::text("Theirs.")]));
    place.config(&format!("model = \"{}\"\n", own.model()));
    let served = serve_with(&place, &[("MAINPATH_API_KEY", KEY)]);
    let ask = |model: &str| {
        let body = json!({"task": "hi", "model": model}).to_string();
        served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body).1["outcome"]["answer"].clone()
    };
    let sent = |to: &ModelServer| -> Vec<Option<String>> {
        to.requests().iter().map(|request| request.header("authorization").map(String::from)).collect()
    };
    assert_eq!(ask(&own.model()), "Mine.");
    assert_eq!(sent(&own), [Some(format!("Bearer {KEY}"))]);
    assert_eq!(ask(&other.model()), "Theirs.");
    assert_eq!(sent(&other), [None]);
}

#[test]
fn a_command_that_continues_a_trace_sends_no_key_to_an_address_that_a_request_named() {
    let place = Place::new();
    let theirs = server(|_| Answer::text("Theirs.").into());
    let served = serve_with(&place, &[]);
    let body = json!({"task": "hi", "model": theirs.model()}).to_string();
    let begun = served.ask("POST", "/api/traces", "prefer: wait=20\r\n", &body).1;
    let trace = begun["trace_id"].as_str().unwrap();
    drop(served);
    let sent_by = |to: &ModelServer, args: &[&str]| -> Vec<Option<String>> {
        let before = to.requests().len();
        let mut command = place.command(args);
        command.env("MAINPATH_API_KEY", KEY);
        let done = finish(command, None);
        let requests = to.requests();
        let new = requests[before..].iter().map(|request| request.header("authorization").map(String::from));
        let new: Vec<_> = new.collect();
        assert!(!new.is_empty(), "{args:?} asks the model: {done:#?}");
        new
    };
    for args in [
        &["run", "--trace", trace, "more"][..],
        &["regenerate", trace],
        &["fork", trace, "other"],
        &["reflect", trace],
        &["run", "--yes", "--trace", trace, "and more"],
    ] {
        let sent = sent_by(&theirs, args);
        assert!(sent.iter().all(Option::is_none), "{args:?}: {sent:?}");
    }
    // Once the owner types the address it is theirs, in this call and later.
    let key = Some(format!("Bearer {KEY}"));
    let typed = ["run", "--trace", trace, "--model", &theirs.model(), "typed"];
    assert_eq!(sent_by(&theirs, &typed), std::slice::from_ref(&key));
    assert_eq!(sent_by(&theirs, &["run", "--trace", trace, "again"]), std::slice::from_ref(&key));
    let own = server(|_| Answer::text("Mine.").into());
    assert_eq!(sent_by(&own, &["run", "--model", &own.model(), "x"]), std::slice::from_ref(&key));
    assert_eq!(sent_by(&own, &["run", "-c", "y"]), std::slice::from_ref(&key));
    // A request to the agent core is not typed, also where it is a program.
    let answer = json!({"type": "final", "answer": "Theirs."}).to_string();
    let other = server(move |_| Answer::text(&answer).into());
    let config = json!({"model": other.model(), "max_steps": 2, "allowed_tools": []});
    let mut command = place.command(&["agent-core"]);
    command.env("MAINPATH_API_KEY", KEY);
    let done = finish(command, Some(json!({"config": config, "prompt": "hi"}).to_string().as_bytes()));
    assert_eq!(done.code, 0, "{done:#?}");
    let sent = sent_by(&other, &["run", "-c", "z"]);
    assert!(sent.iter().all(Option::is_none), "{sent:?}");
}

#[test]
fn an_mcp_client_names_no_address_and_no_folder_outside() {
    let place = Place::new();
    let theirs = theirs();
    let own = scripted(vec![bash("pwd"), Answer::text("Done.")]);
    std::fs::create_dir_all(place.root().join("other")).unwrap();
    std::fs::create_dir_all(place.work.join("below")).unwrap();
    std::os::unix::fs::symlink(place.root().join("other"), place.work.join("link")).unwrap();
    let mut command = place.command(&["mcp", "serve", "--model", &own.model()]);
    command.env("MAINPATH_API_KEY", KEY);
    let mut client = Client::of(command);
    let refused = |client: &mut Client, arguments: Value, why: &str| {
        let (failed, said) = client.call("run_start", arguments.clone());
        assert!(failed && said.to_string().contains(why), "{arguments}: {said}");
    };
    for model in names(&theirs).iter().map(String::as_str).chain(["scripted:/dev/zero", "playback:x"]) {
        refused(&mut client, json!({"task": "go", "model": model}), "is not permitted");
    }
    for folder in ["/", "/etc", "..", "link", &place.root().join("other").display().to_string()] {
        refused(&mut client, json!({"task": "go", "workspace": folder}), "is not below");
    }
    assert_eq!(theirs.connections(), 0);
    assert_eq!(place.traces(), Vec::<String>::new());
    for (folder, expected) in [("below", place.work.join("below")), (".", place.work.clone())] {
        let started = client.ok("run_start", json!({"task": "go", "workspace": folder}));
        assert_eq!(started["workspace"], json!(expected));
    }
}

#[test]
fn a_request_to_the_agent_core_names_no_address_as_a_tool_and_gets_no_key_for_one_as_a_program() {
    let place = Place::new();
    let answer = |said: &str| Answer::text(&json!({"type": "final", "answer": said}).to_string());
    let (theirs, own) = (theirs(), scripted(vec![answer("Mine."), answer("Mine.")]));
    place.config(&format!("model = \"{}\"\n[limits]\nmax_turns = 3\nobservation_max_len = 50\n", own.model()));
    let request = |model: &str, turns: u32| {
        let config = json!({"model": model, "max_steps": turns, "allowed_tools": ["read_text_file"]});
        json!({"config": config, "prompt": "hi"})
    };
    let mut command = place.command(&["agent-core", "--mcp"]);
    command.env("MAINPATH_API_KEY", KEY);
    let mut client = Client::of(command);
    for model in names(&theirs).iter().map(String::as_str).chain(["scripted:/dev/zero", "playback:x"]) {
        let (failed, said) = client.call("agent_core", request(model, 2));
        assert!(failed && said.to_string().contains("/config/model: is not permitted"), "{model}: {said}");
    }
    let (failed, said) = client.call("agent_core", request(&own.model(), 4));
    assert!(failed && said.to_string().contains("/config/max_steps: is beyond [limits]"), "{said}");
    let mut long = request(&own.model(), 4);
    long["config"]["observation_max_len"] = 51.into();
    let said = client.call("agent_core", long).1.to_string();
    assert!(
        ["max_steps", "observation_max_len"].iter().all(|name| said.contains(&format!("/config/{name}: is beyond"))),
        "{said}"
    );
    assert_eq!(client.ok("agent_core", request(&own.model(), 3))["outputs"]["agent_core"]["final_answer"], "Mine.");
    assert_eq!((theirs.connections(), place.traces().len()), (0, 1));

    let other = scripted(vec![answer("Theirs.")]);
    for (model, keys) in [(own.model(), vec![Some(format!("Bearer {KEY}"))]), (other.model(), vec![None])] {
        let mut command = place.command(&["agent-core"]);
        command.env("MAINPATH_API_KEY", KEY);
        let done = finish(command, Some(request(&model, 2).to_string().as_bytes()));
        assert_eq!(done.code, 0, "{done:#?}");
        let to = if model == own.model() { &own } else { &other };
        let sent: Vec<_> = to.requests().iter().map(|sent| sent.header("authorization").map(String::from)).collect();
        assert_eq!(sent[sent.len() - keys.len()..], keys[..], "{model}");
    }
}

#[test]
fn a_request_to_the_agent_core_shows_nothing_of_a_file_that_it_names_as_a_script() {
    let place = Place::new();
    std::fs::write(place.root().join("plans.txt"), "turn = the secret plan\n").unwrap();
    let mut served = serve_with(&place, &[]);
    let made = place.ok(&["keys", "new", "runs", "--scopes", "read,run"]);
    served.key = made.split_whitespace().find(|word| word.starts_with("mp_")).unwrap().into();
    for file in [place.root().join("plans.txt"), place.root().join("none.txt")] {
        for steps in [0, 2] {
            let config =
                json!({"model": format!("scripted:{}", file.display()), "max_steps": steps, "allowed_tools": []});
            let body = json!({"config": config, "prompt": "hi"}).to_string();
            let (status, said) = served.ask("POST", "/v1/agent_core/execute", "", &body);
            assert_eq!(status, if steps == 0 { 422 } else { 403 }, "{said}");
            let said = said.to_string();
            assert!(!said.contains("plan") && !said.contains("none.txt"), "{said}");
        }
    }
}
