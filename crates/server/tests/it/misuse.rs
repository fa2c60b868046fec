//! What programs and people do that nobody has meant: keys that reach for more, clients that go early, requests that come at once or twice.

use crate::support::{Place, READS, WRITES, until};
use mainpath::Host;
use mainpath::agent::AgentOptions;
use mainpath::presets::Given;
use mainpath::types::{RuleText, RunRules};
use mainpath_server::Scope;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// A script whose answer takes long.
const LATE: &str = "[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n";
/// A script that answers six times.
const ANSWERS: &str = "[[turn]]\nfinal = \"1\"\n[[turn]]\nfinal = \"2\"\n[[turn]]\nfinal = \"3\"\n[[turn]]\nfinal = \"4\"\n\
                       [[turn]]\nfinal = \"5\"\n[[turn]]\nfinal = \"6\"\n";

fn with_key(place: &Place, name: &str, scopes: &[Scope], tenant: &str) -> Vec<String> {
    vec![format!("authorization: Bearer {}", place.new_key(name, scopes, tenant))]
}

/// A home with this configuration, in a folder of a tenant or the owner's own.
fn configured(folder: &std::path::Path, config: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("config.toml"), config).unwrap();
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_run_reads_no_file_by_the_name_of_a_model() {
    let place = Place::start().await;
    let secret = place.dir.path().join("secret.toml");
    std::fs::write(&secret, "password = \"hunter-2-hunter\"\n").unwrap();
    let (own, theirs) = (
        with_key(&place, "runner", &[Scope::Read, Scope::Run], "local"),
        with_key(&place, "theirs", &Scope::ALL, "acme"),
    );
    for name in [format!("scripted:{}", secret.display()), "scripted:/no/such/file".into(), "playback:none".into()] {
        let body = json!({"model": name, "input": "x"}).to_string();
        for key in [&own, &theirs] {
            for answer in [
                place.ask("GET", &format!("/v1/models/{name}"), key, "").await,
                place.ask("POST", "/v1/responses", key, &body).await,
            ] {
                assert_eq!(answer.status, 403, "{name}: {}", answer.body);
                assert!(!answer.body.contains("password") && !answer.body.contains("No such file"), "{}", answer.body);
            }
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_key_does_not_drive_a_trace_whose_rule_file_spares_questions() {
    let place = Place::start().await;
    let runner = with_key(&place, "runner", &[Scope::Read, Scope::Run], "local");
    let other = Host::from_folder(&place.dir.path().join("home")).unwrap();
    for (text, status) in [
        ("[[rule]]\ndecision = \"allow\"\nmatch = \"bash(touch *)\"\n", 403),
        ("[[rule]]\ndecision=\"\\u0061llow\"\nmatch=\"bash(touch *)\"\n", 403),
        ("off = [\"builtin.outside-text\"]\n", 403),
        ("[[rule]]\nid = \"allow\"\ndecision = \"deny\"\nmatch = \"bash(touch *)\"\n", 202),
    ] {
        let files = vec![RuleText { name: "pol.toml".into(), text: text.into() }];
        let rules = RunRules { files, ..RunRules::default() };
        let options = AgentOptions { workspace: Some(place.work()), ..AgentOptions::default() };
        let agent = other.agent(place.model(ANSWERS)).given(Given { options, rules, ..Given::default() });
        let run = agent.start("Look.").await.unwrap();
        let trace = run.trace().id().clone();
        run.outcome().await.unwrap();
        for (path, body) in [
            ("run", json!({"messages": [{"role": "user", "content": "More."}]})),
            ("regenerate", json!({})),
            ("rewind", json!({"after_sequence": 1, "message": "Other."})),
            ("steer", json!({"message": "Other."})),
            ("fork", json!({})),
            (
                "mail",
                json!({"mail": {"type": "message", "mode": "follow_up", "parts": [{"type": "text", "text": "More."}]}}),
            ),
        ] {
            let path = format!("/api/traces/{trace}/{path}");
            let answer = place.ask("POST", &path, &runner, &body.to_string()).await;
            let is_as_meant = if status == 403 { answer.status == 403 } else { answer.status != 403 };
            assert!(is_as_meant, "{text}: {path}: {}", answer.body);
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_go_on_from_one_response_at_once_get_their_own_answers() {
    let place = Place::start().await;
    let model = place.model(ANSWERS);
    let first = place.post("/v1/responses", json!({"model": model, "input": "begin"})).await.json();
    let asked = (0..4).map(|n| {
        let body = json!({"model": model, "input": format!("question {n}"), "previous_response_id": first["id"]});
        place.post("/v1/responses", body)
    });
    let answers: Vec<Value> = futures_util::future::join_all(asked).await.iter().map(|answer| answer.json()).collect();
    let ids: BTreeSet<String> = answers.iter().map(|answer| answer["id"].to_string()).collect();
    assert_eq!(ids.len(), 4, "{answers:?}");
    for (n, answer) in answers.iter().enumerate() {
        let trace = answer["mainpath"]["trace_id"].as_str().unwrap();
        let said = place.get(&format!("/api/traces/{trace}/messages")).await.json();
        let texts: Vec<String> = said["messages"].as_array().unwrap().iter().map(Value::to_string).collect();
        let runs = answer["mainpath"]["run"].as_u64().unwrap();
        let own = texts.iter().rposition(|text| text.contains(&format!("question {n}"))).unwrap();
        assert_eq!((runs, own), (2, 2), "each is the second run of a conversation of its own: {texts:?}");
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_that_several_begin_at_once_is_one_conversation() {
    let place = Place::start().await;
    let model = place.model(ANSWERS);
    let headers = [place.bearer(), "mainpath-session: anna".into()];
    let asked = (0..4).map(|n| {
        let body = json!({"model": model, "messages": [{"role": "user", "content": format!("question {n}")}]});
        let (place, headers) = (&place, &headers);
        async move { place.ask("POST", "/v1/chat/completions", headers, &body.to_string()).await }
    });
    // Who comes while the agent is at work is told so.
    let answers = futures_util::future::join_all(asked).await;
    let said: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert!(said.contains(&200) && said.iter().all(|status| matches!(status, 200 | 409)), "{said:?}");
    assert_eq!(place.get("/api/traces").await.json()["traces"].as_array().unwrap().len(), 1);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_goes_on_when_its_client_goes_at_once() {
    let place = Place::start().await;
    let model = place.model(READS);
    let body = json!({"task": "Look.", "model": model}).to_string();
    let background = json!({"model": model, "input": "Look.", "background": true}).to_string();
    for n in 0..15 {
        for (path, body) in [("/api/traces", &body), ("/v1/responses", &background)] {
            let stream = place.send("POST", path, &[place.bearer()], body).await;
            tokio::time::sleep(Duration::from_millis(3 * n)).await;
            drop(stream);
        }
    }
    until("the end of all that was begun", async || {
        let page = place.get("/api/traces?limit=100").await.json();
        let traces = page["traces"].as_array().unwrap();
        (traces.len() > 10 && traces.iter().all(|trace| trace["status"] == "completed")).then_some(())
    })
    .await;
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_configuration_of_one_tenant_is_nobody_elses_and_shows_no_paths() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    configured(&dir.path().join("home/tenants/gamma"), "no_such_key = 1\n");
    let place = Place::again(dir, |_| {}).await;
    let theirs = with_key(&place, "theirs", &[Scope::Read], "gamma");
    let answer = place.ask("GET", "/api/traces", &theirs, "").await;
    assert_eq!((answer.status, answer.json()["type"].clone()), (503, json!("/problems/unavailable")));
    assert!(!answer.body.contains("config.toml") && !answer.body.contains("/home"), "{}", answer.body);
    assert_eq!(place.get("/api/traces").await.status, 200);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_the_configuration_are_only_narrowed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    let limits = "[limits]\nmax_turns = 3\nmax_tokens = 5000\n";
    configured(&dir.path().join("home"), limits);
    configured(&dir.path().join("home/tenants/acme"), limits);
    let place = Place::again(dir, |_| {}).await;
    let keys = [
        with_key(&place, "runner", &[Scope::Read, Scope::Run, Scope::Approve], "local"),
        with_key(&place, "theirs", &Scope::ALL, "acme"),
    ];
    for key in &keys {
        for (limits, field) in [
            (json!({"max_iterations": 0}), "/limits/max_iterations"),
            (json!({"max_iterations": 4}), "/limits/max_iterations"),
            (json!({"max_iterations": 2, "max_tokens": 5001}), "/limits/max_tokens"),
        ] {
            let body = json!({"task": "Look.", "model": "anthropic:claude-sonnet-4-5", "limits": limits}).to_string();
            let answer = place.ask("POST", "/api/traces", key, &body).await;
            assert_eq!((answer.status, answer.json()["errors"][0]["pointer"].clone()), (403, json!(field)));
        }
    }
    let script = place.model(READS);
    let fits = json!({"task": "Look.", "model": script, "limits": {"max_iterations": 2, "max_tool_calls": 9}});
    assert_eq!(place.ask("POST", "/api/traces", &keys[0], &fits.to_string()).await.status, 202);
    let core = json!({"prompt": "x", "config": {
        "model": script, "max_steps": 4, "allowed_tools": []}});
    let answer = place.ask("POST", "/v1/agent_core/execute", &keys[0], &core.to_string()).await;
    assert_eq!((answer.status, answer.json()["errors"][0]["pointer"].clone()), (403, json!("/config/max_steps")));
    let wide = json!({"task": "Look.", "model": script, "limits": {"max_iterations": 9}});
    assert_eq!(place.post("/api/traces", wide).await.status, 202, "the owner's own key");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_run_is_answered_when_it_waits_for_a_person_or_the_server_ends() {
    // Its run is not waited for at the end.
    let place = Place::with(|settings| settings.rest = Duration::from_millis(500)).await;
    let headers = [place.bearer(), "prefer: wait=60".into()];
    let asks = json!({"task": "Write.", "model": place.model(WRITES), "approvals": "ask"}).to_string();
    let waiting = tokio::time::timeout(Duration::from_secs(30), place.ask("POST", "/api/traces", &headers, &asks));
    let waiting = waiting.await.expect("it answers long before the minute is over");
    assert_eq!((waiting.status, waiting.json()["status"].clone()), (200, json!("waiting")), "{}", waiting.body);
    let late = json!({"task": "Wait.", "model": place.model(LATE)}).to_string();
    let mut stream = place.send("POST", "/api/traces", &headers, &late).await;
    while !place.get("/api/traces/running").await.body.contains("Wait.") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let running = place.get("/api/traces/running").await.json()["traces"][0]["trace_id"].clone();
    let path = format!("/api/traces/{}/events", running.as_str().unwrap());
    let accept = [place.bearer(), "accept: text/event-stream".into()];
    let mut watcher = place.send("GET", &path, &accept, "").await;
    let mut seen = [0; 4096];
    assert!(watcher.read(&mut seen).await.unwrap() > 0, "the stream has begun");
    place.end().await;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 202 ") && text.contains("\"status\":\"started\""), "{text}");
    let mut text = String::new();
    watcher.read_to_string(&mut text).await.unwrap();
    assert!(!text.contains("event: end"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_request_is_for_that_request_alone() {
    let place = Place::start().await;
    let (one, other) = (place.run(READS).await, place.run(READS).await);
    let keyed = |key: &str| vec![place.bearer(), format!("idempotency-key: {key}")];
    let name = json!({"name": "a"}).to_string();
    assert_eq!(place.ask("POST", &format!("/api/traces/{one}/rename"), &keyed("k"), &name).await.status, 202);
    let again = place.ask("POST", &format!("/api/traces/{other}/rename"), &keyed("k"), &name).await;
    assert_eq!((again.status, again.json()["type"].clone()), (409, json!("/problems/key-reused")));
    assert_eq!(again.json()["detail"], "the Idempotency-Key was used for another request before");
    let chat = json!({"model": place.model(READS), "messages": [{"role": "user", "content": "Look."}]}).to_string();
    assert_eq!(place.ask("POST", "/v1/chat/completions", &keyed("c"), &chat).await.status, 200);
    let other_way = [keyed("c"), vec!["mainpath-approvals: yes".into()]].concat();
    assert_eq!(place.ask("POST", "/v1/chat/completions", &other_way, &chat).await.status, 409);
    let spaced = place.ask("POST", &format!("/api/traces/{one}/rename"), &keyed("a b"), &name).await;
    assert_eq!(spaced.status, 422);
    // Where it would not be held to, it is refused.
    let body = json!({"at_sequence": 1}).to_string();
    let restored = place.ask("POST", &format!("/api/traces/{one}/restore"), &keyed("r"), &body).await;
    assert_eq!((restored.status, restored.json()["type"].clone()), (400, json!("/problems/unsupported")));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_runs_is_stopped_and_a_stop_that_is_sent_again_is_the_same() {
    let place = Place::start().await;
    let body = json!({"task": "Wait.", "model": place.model(LATE)});
    let trace = place.post("/api/traces", body).await.json()["trace_id"].as_str().unwrap().to_string();
    let (stop, key) = (format!("/api/traces/{trace}/stop"), [place.bearer(), "idempotency-key: s".into()]);
    assert_eq!(place.ask("POST", &stop, &key, "").await.status, 202);
    while place.get(&format!("/api/traces/{trace}")).await.json()["status"] != "stopped" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(place.ask("POST", &stop, &key, "").await.status, 202);
    let again = place.post(&stop, json!({})).await;
    let refused = (409, json!("/problems/refused"), json!(format!("trace {trace} is not running")));
    assert_eq!((again.status, again.json()["type"].clone(), again.json()["detail"].clone()), refused);
    let log = place.get(&format!("/api/traces/{trace}/log")).await.body;
    assert!(!log.contains("mail_refused"), "{log}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_hook_that_hangs_at_the_end_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let (home, work) = (dir.path().join("home"), dir.path().join("work"));
    [&home, &work].iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    // It takes the request, and answers nothing.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let hook = format!("[[hooks]]\nname = \"guard\"\nurl = \"http://{at}/\"\non = [\"run_end\"]\ntimeout = \"10m\"\n");
    std::fs::write(home.join("config.toml"), hook).unwrap();
    let place = Place::again(dir, |_| {}).await;
    let body = json!({"task": "Do it.", "model": place.model("[[turn]]\ntext = \"Done.\"\n")});
    let trace = place.post("/api/traces", body).await.json()["trace_id"].as_str().unwrap().to_string();
    let called = tokio::time::timeout(Duration::from_secs(20), listener.accept()).await;
    let _connection = called.expect("the hook is called").unwrap();
    let stop = format!("/api/traces/{trace}/stop");
    assert_eq!(place.post(&stop, json!({})).await.status, 202);
    let refused = async {
        while place.post(&stop, json!({})).await.status != 409 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), refused).await.expect("the hook ends");
    assert_eq!(place.get(&format!("/api/traces/{trace}")).await.json()["status"], "completed");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_leaves_hooks_at_the_end_of_the_runs_of_all_tenants_one_grace() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let script = dir.path().join("done.toml");
    std::fs::write(&script, "[[turn]]\ntext = \"Done.\"\n").unwrap();
    let model = format!("scripted:{}", script.display());
    let hook = format!("[[hooks]]\nname = \"guard\"\nurl = \"http://{at}/\"\non = [\"run_end\"]\ntimeout = \"10m\"\n");
    for home in ["home", "home/tenants/acme"] {
        configured(&dir.path().join(home), &format!("model = {model:?}\n{hook}"));
    }
    let place = Place::again(dir, |settings| settings.rest = Duration::from_secs(60)).await;
    let body = json!({"task": "Do it.", "model": model}).to_string();
    let mut connections = Vec::new();
    for key in [vec![place.bearer()], with_key(&place, "a", &[Scope::Run, Scope::Approve], "acme")] {
        let answer = place.ask("POST", "/api/traces", &key, &body).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        let called = tokio::time::timeout(Duration::from_secs(20), listener.accept()).await;
        connections.push(called.expect("the hook is called").unwrap());
    }
    let asked = std::time::Instant::now();
    place.end().await;
    let took = asked.elapsed();
    assert!(Duration::from_secs(4) <= took && took < Duration::from_secs(9), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_a_rule_denies_are_refused_before_anything_is_decided() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let address = format!("/api/traces/{trace}/approvals/2.0");
    for arguments in [json!({"path": "../../x", "content": "x"}), json!({"path": 1})] {
        let answer = place.post(&address, json!({"decision": "approve", "arguments": arguments})).await;
        assert_eq!((answer.status, answer.json()["errors"][0]["pointer"].clone()), (422, json!("/arguments")));
        assert!(!answer.json()["detail"].as_str().unwrap().contains("body : "), "{}", answer.body);
    }
    let open = place.get(&format!("/api/traces/{trace}/approvals")).await.json();
    assert_eq!(open["approvals"][0]["call"], "2.0", "it waits as before");
    let interrupt = format!("/api/traces/{trace}/interrupt");
    for call in ["2.0", "call_2_0"] {
        let answer = place.post(&interrupt, json!({ "call": call })).await;
        let said = "call 2.0 does not run: it waits for an approval";
        assert_eq!((answer.status, answer.json()["detail"].clone()), (409, json!(said)), "{call}");
    }
    let as_messages_name_it = address.replace("2.0", "call_2_0");
    assert_eq!(place.post(&as_messages_name_it, json!({"decision": "deny"})).await.status, 202);
    let second = place.post(&address, json!({"decision": "deny"})).await;
    assert_eq!(second.json()["detail"], "call 2.0 cannot be denied any more: it was denied");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_denied_is_made_only_by_who_says_so() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let address = format!("/api/traces/{trace}/approvals/2.0");
    let open = place.get(&format!("/api/traces/{trace}/approvals")).await.json();
    assert_eq!(open["approvals"][0]["call"], "2.0");
    assert_eq!(place.post(&address, json!({"decision": "deny", "reason": "No."})).await.status, 202);
    let second = place.post(&address, json!({"decision": "approve"})).await;
    assert_eq!((second.status, second.json()["type"].clone()), (409, json!("/problems/refused")), "{}", second.body);
    assert!(!place.work().join("a.txt").exists());
    let reopened = place.post(&address, json!({"decision": "approve", "reopen": true})).await;
    assert_eq!(reopened.status, 202, "{}", reopened.body);
    until("the file", async || place.work().join("a.txt").exists().then_some(())).await;
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_lasts_makes_the_rule_that_was_shown() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let open = place.get(&format!("/api/traces/{trace}/approvals")).await.json();
    let offer = open["approvals"][0]["offer"].clone();
    assert_eq!(offer, json!(["write(a.txt)"]), "{open}");
    let address = format!("/api/traces/{trace}/approvals/2.0");
    let decider = with_key(&place, "decider", &[Scope::Read, Scope::Run, Scope::Approve], "local");
    let refused = place.ask("POST", &address, &decider, "{\"decision\":\"approve\",\"for\":\"always\"}").await;
    assert_eq!((refused.status, refused.json()["type"].clone()), (403, json!("/problems/forbidden")));
    let rules = place.dir.path().join("home/policy.toml");
    assert!(!rules.exists());
    assert_eq!(place.post(&address, json!({"decision": "deny", "for": "trace"})).await.status, 422);
    let done = place.post(&address, json!({"decision": "approve", "for": "always"})).await;
    assert_eq!(done.status, 202, "{}", done.body);
    let kept = std::fs::read_to_string(rules).unwrap();
    assert!(kept.contains("match = [\"write(a.txt)\"]") && kept.contains("decision = \"allow\""), "{kept}");
    // The same call of a later agent is not asked about.
    let later = place.run(WRITES).await;
    let seen = place.get(&format!("/api/traces/{later}")).await.json();
    let asked = place.get(&format!("/api/traces/{later}/approvals")).await.body;
    assert_eq!(seen["status"], "completed", "{asked}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_part_of_a_request_is_named() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let two_hosts = [place.bearer(), format!("host: {}", place.address), "host: evil.example".into()];
    assert_eq!(place.ask("GET", "/api/traces", &two_hosts, "").await.status, 403);
    for path in ["/health", "/docs", "/openapi.json", "/ready", "/problems/invalid", "/ui/", "/api/traces/running"] {
        let answer = place.ask("DELETE", path, &[place.bearer()], "").await;
        assert_eq!(
            (answer.status, answer.json()["type"].clone()),
            (405, json!("/problems/method-not-allowed")),
            "{path}"
        );
    }
    let none = place.ask("GET", "/problems/%ff", &[], "").await;
    assert_eq!((none.status, none.json()["type"].clone()), (404, json!("/problems/not-found")));
    let start = |more: Value| {
        let mut body = json!({"task": "Look."});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let too_large = start(json!({"limits": {"max_iterations": 4_294_967_296_u64}}));
    for (path, body, place_of, pointer) in [
        ("/api/traces".to_string(), too_large, "body", "/limits/max_iterations"),
        ("/api/traces?wait=5".into(), start(json!({})), "query", "/wait"),
        ("/api/traces".into(), start(json!({"name": "x".repeat(81)})), "body", "/name"),
        ("/api/traces".into(), start(json!({"name": "a\u{1b}b"})), "body", "/name"),
        ("/api/traces".into(), start(json!({"trace_id": "running", "model": place.model(READS)})), "body", "/trace_id"),
        (format!("/api/traces/{trace}/stop"), json!({"now": true}), "body", "/now"),
        (format!("/api/traces/{trace}/rename"), json!({}), "body", "/name"),
        ("/v1/agent_core/execute".into(), json!({"prompt": "x", "config": {}}), "body", "/config/model"),
    ] {
        let answer = place.post(&path, body).await;
        let said = answer.json();
        let named = said["errors"].as_array().into_iter().flatten();
        let named = named.map(|error| (error["in"].as_str(), error["pointer"].as_str()));
        let named: Vec<_> = named.collect();
        assert!(answer.status == 422 && named.contains(&(Some(place_of), Some(pointer))), "{path}: {}", answer.body);
    }
    let unknown = place.get("/api/traces?status=bogus").await;
    assert_eq!(unknown.status, 422);
    assert!(unknown.body.contains("\\\"running\\\", \\\"waiting\\\""), "{}", unknown.body);
    let packed = [place.bearer(), "content-encoding: gzip".into()];
    let answer = place.ask("POST", "/api/traces", &packed, "{}").await;
    assert_eq!((answer.status, answer.json()["type"].clone()), (400, json!("/problems/unsupported")));
    for url in
        ["file:///etc/passwd", "javascript:alert(1)", "x", "data:image/png;base64,???", "data:text/html;base64,eA=="]
    {
        let parts = json!([{"type": "image_url", "image_url": {"url": url}}]);
        let body = json!({"model": place.model(READS), "messages": [{"role": "user", "content": parts}]});
        assert_eq!(place.post("/v1/chat/completions", body).await.status, 400, "{url}");
    }
    place.end().await;
}
