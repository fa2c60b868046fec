//! A caller that names a model's address: it gets neither the owner's key nor the conversation, on any path.

use crate::mcp_serve::Client;
use crate::serving::serve_with;
use crate::support::{Place, bash, scripted, server};
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
