//! Who may what.

use crate::support::{LONG, Place, READS, WRITES, read_until, until};
use mainpath_server::Scope;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

/// The scope that the document says an operation needs.
fn needed(operation: &Value) -> Option<Scope> {
    let text = operation["description"].as_str()?;
    let (_, rest) = text.split_once("Needs the scope `")?;
    rest.split_once('`')?.0.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_needs_its_scope_and_another_tenants_key_sees_nothing() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let keys: Vec<(Scope, String)> = Scope::ALL
        .into_iter()
        .map(|scope| (scope, format!("authorization: Bearer {}", place.new_key(scope.name(), &[scope], "local"))))
        .collect();
    let other = format!("authorization: Bearer {}", place.new_key("other", &Scope::ALL, "acme"));
    let document = place.ask("GET", "/openapi.json", &[], "").await.json();
    let (mut checked, mut of_traces) = (0, 0);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let Some(scope) = needed(operation) else { continue };
            let address = path
                .replace("{id}", &trace)
                .replace("{call}", "2.0")
                .replace("{name}", "none")
                .replace("{hash}", "none");
            let method = method.to_uppercase();
            let none = place.ask(&method, &address, &[], "").await;
            assert_eq!(none.status, 401, "{method} {path} without a key: {}", none.body);
            let wrong = place.ask(&method, &address, &["authorization: Bearer mp_wrong".into()], "").await;
            assert_eq!(wrong.status, 401, "{method} {path}");
            for (has, key) in &keys {
                let answer = place.ask(&method, &address, std::slice::from_ref(key), "{\"nothing\":1}").await;
                match *has == scope {
                    true => assert!(!matches!(answer.status, 401 | 403), "{method} {path} with {has}: {}", answer.body),
                    false => assert_eq!(answer.status, 403, "{method} {path} with {has}: {}", answer.body),
                }
            }
            // What needs a body is asked with none that fits: the trace is looked for after that.
            if path.contains("{id}") && operation.get("requestBody").is_none() {
                let answer = place.ask(&method, &address, std::slice::from_ref(&other), "").await;
                assert_eq!(answer.status, 404, "{method} {path} of another tenant: {}", answer.body);
                of_traces += 1;
            }
            checked += 1;
        }
    }
    assert!(checked >= 40 && of_traces >= 12, "{checked} {of_traces}");
    let seen = place.ask("GET", "/api/traces", &[other], "").await.json();
    assert_eq!(seen, json!({"traces": []}));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_only_runs_starts_nothing_that_asks_nobody_and_decides_nothing() {
    let place = Place::start().await;
    let runs = format!("authorization: Bearer {}", place.new_key("ci", &[Scope::Read, Scope::Run], "local"));
    let model = place.model(WRITES);
    for model in [model.as_str(), "openai-compatible:http://127.0.0.1:1/v1#x", "playback:t", "scripted:/dev/zero"] {
        let body = json!({"task": "Write it.", "model": model}).to_string();
        let refused = place.ask("POST", "/api/traces", std::slice::from_ref(&runs), &body).await;
        assert_eq!(refused.status, 403, "{model}: {}", refused.body);
        let body = json!({"task": "Write it.", "model": "anthropic:x", "fallback": [model]}).to_string();
        assert_eq!(place.ask("POST", "/api/traces", std::slice::from_ref(&runs), &body).await.status, 403);
    }
    for more in [
        json!({"approvals": "yes"}),
        json!({"access": "full"}),
        json!({"access": "workspace-write"}),
        json!({"rules": {"allow": ["write(*)"]}}),
    ] {
        let mut body = json!({"task": "Write it.", "model": model});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = place.ask("POST", "/api/traces", std::slice::from_ref(&runs), &body.to_string()).await;
        assert_eq!(answer.status, 403, "{more}: {}", answer.body);
    }
    // What another has started that asks nobody is not theirs to direct.
    let free = place.post("/api/traces", json!({"task": "Write it.", "model": model, "approvals": "yes"})).await.json();
    let free = free["trace_id"].as_str().unwrap();
    for (path, body) in [
        ("run", json!({"messages": [{"role": "user", "content": "Write more."}]})),
        ("steer", json!({"message": "Write more."})),
        ("next", json!({"message": "Write more."})),
        ("rewind", json!({"after_sequence": 0, "message": "Write more."})),
        ("regenerate", json!({})),
        ("resume", json!({})),
        ("fork", json!({})),
        ("reflect", json!({})),
        ("restore", json!({"at_sequence": 1, "force": true})),
        ("restore", json!({"at_sequence": 1})),
        ("compact", json!({})),
        ("clear", json!({})),
        ("mail", json!({"mail": {"type": "compact"}})),
        ("mail", json!({"mail": {"type": "clear"}})),
    ] {
        let refused = place
            .ask("POST", &format!("/api/traces/{free}/{path}"), std::slice::from_ref(&runs), &body.to_string())
            .await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.body);
    }
    wait_for(&place, free, "run_finished").await;
    std::fs::remove_file(place.work().join("a.txt")).unwrap();
    let body = json!({"task": "Write it.", "model": model}).to_string();
    let answer = place.ask("POST", "/api/traces", &[place.bearer(), "prefer: wait=10".into()], &body).await;
    let trace = answer.json()["trace_id"].as_str().unwrap().to_string();
    let calls = place.get(&format!("/api/traces/{trace}/approvals")).await.json();
    let call = calls["approvals"][0]["call"].as_str().unwrap().to_string();
    let address = format!("/api/traces/{trace}/approvals/{call}");
    let refused = place.ask("POST", &address, &[runs], "{\"decision\":\"approve\"}").await;
    assert_eq!(refused.status, 403);
    assert!(!place.work().join("a.txt").exists());
    // Who has the scope decides, and the log names the key.
    let anna = format!("authorization: Bearer {}", place.new_key("anna", &[Scope::Approve], "local"));
    let done = place.ask("POST", &address, std::slice::from_ref(&anna), "{\"decision\":\"approve\"}").await;
    assert_eq!(done.status, 202, "{}", done.body);
    let again = place.ask("POST", &address, std::slice::from_ref(&anna), "{\"decision\":\"approve\"}").await;
    assert_eq!(again.status, 409, "{}", again.body);
    // Until it is read, a denial would win.
    let granted = wait_for(&place, &trace, "approval_granted").await;
    let second = place.ask("POST", &address, &[anna], "{\"decision\":\"deny\"}").await;
    assert_eq!(second.status, 409, "{}", second.body);
    assert_eq!(granted["data"]["by"], "key.anna", "{granted}");
    wait_for(&place, &trace, "run_finished").await;
    assert_eq!(std::fs::read_to_string(place.work().join("a.txt")).unwrap(), "x");
    place.end().await;
}

/// The first event of a kind, once it is there.
async fn wait_for(place: &Place, trace: &str, kind: &str) -> Value {
    until(kind, async || {
        let page = place.get(&format!("/api/traces/{trace}/events?limit=500")).await.json();
        page["events"].as_array().unwrap().iter().find(|event| event["type"] == kind).cloned()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_listed_and_revoked_and_every_act_is_on_record() {
    let place = Place::start().await;
    let made = place.post("/api/keys", json!({"name": "ci", "scopes": ["read"], "expires_in_s": 3600})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let key = made.json()["key"].as_str().unwrap().to_string();
    let bearer = format!("authorization: Bearer {key}");
    assert_eq!(place.ask("GET", "/api/traces", std::slice::from_ref(&bearer), "").await.status, 200);
    let own = place.ask("GET", "/api/key", std::slice::from_ref(&bearer), "").await;
    assert_eq!(own.json(), json!({"name": "ci", "scopes": ["read"], "tenant": "local"}));
    let owner = place.get("/api/key").await.json();
    assert_eq!((&owner["name"], &owner["scopes"]), (&json!("owner"), &json!(["read", "run", "approve", "admin"])));
    let listed = place.get("/api/keys").await;
    assert!(listed.body.contains("\"ci\"") && !listed.body.contains(&key), "{}", listed.body);
    for entry in std::fs::read_dir(place.dir.path().join("home/server")).unwrap() {
        let entry = entry.unwrap();
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        assert!(!text.contains(&key), "{} holds the key", entry.path().display());
    }
    let again = place.post("/api/keys", json!({"name": "ci", "scopes": ["read"]})).await;
    assert_eq!((again.status, again.json()["errors"][0]["pointer"].clone()), (422, json!("/name")));
    assert_eq!(place.ask("DELETE", "/api/keys/ci", &[place.bearer()], "").await.status, 200);
    assert_eq!(place.ask("GET", "/api/traces", &[bearer], "").await.status, 401);
    assert_eq!(place.ask("DELETE", "/api/keys/ci", &[place.bearer()], "").await.status, 404);
    let acts = place.get("/api/audit").await.json();
    let acts: Vec<&str> = acts["acts"].as_array().unwrap().iter().map(|act| act["act"].as_str().unwrap()).collect();
    assert_eq!(acts, ["key_revoked", "key_made", "server_started", "key_made"]);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owners_own_key_is_on_record_and_its_name_is_nobody_elses() {
    let place = Place::start().await;
    let taken = place.post("/api/keys", json!({"name": "owner", "scopes": ["read"]})).await;
    let why = "body /name: \"owner\" is the key that mainpath serve makes by itself; choose another name";
    assert_eq!((taken.status, taken.json()["detail"].clone()), (422, json!(why)));
    assert_eq!(place.ask("DELETE", "/api/keys/owner", &[place.bearer()], "").await.status, 200);
    assert_eq!(place.get("/api/traces").await.status, 401);
    let place = Place::again(place.end().await, |_| {}).await;
    std::fs::remove_file(place.dir.path().join("home/server/token")).unwrap();
    let place = Place::again(place.end().await, |_| {}).await;
    let acts = place.get("/api/audit").await.json();
    let acts = acts["acts"].as_array().unwrap().iter();
    let acts: Vec<[&str; 3]> = acts
        .map(|act| [&act["act"], &act["by"], &act["what"]["name"]].map(|word| word.as_str().unwrap_or("")))
        .collect();
    let serve = |act, name| [act, "mainpath serve", name];
    assert_eq!(
        acts,
        [
            serve("server_started", ""),
            serve("key_made", "owner"),
            serve("key_revoked", "owner"),
            serve("server_ended", ""),
            serve("server_started", ""),
            serve("key_made", "owner"),
            serve("server_ended", ""),
            ["key_revoked", "owner", "owner"],
            serve("server_started", ""),
            serve("key_made", "owner"),
        ]
    );
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_and_revokes_no_key_that_may_more_or_reaches_further() {
    let place = Place::start().await;
    let keeper = format!("authorization: Bearer {}", place.new_key("keeper", &[Scope::Admin], "local"));
    let refused = place.ask("DELETE", "/api/keys/owner", &[keeper], "").await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let admin = format!("authorization: Bearer {}", place.new_key("boss", &[Scope::Admin, Scope::Read], "acme"));
    for body in [
        json!({"name": "a", "scopes": ["approve"]}),
        json!({"name": "b", "scopes": ["read"], "tenant": "local"}),
        json!({"name": "c", "scopes": []}),
        json!({"name": "../d", "scopes": ["read"]}),
    ] {
        let answer = place.ask("POST", "/api/keys", std::slice::from_ref(&admin), &body.to_string()).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.body);
    }
    let listed = place.ask("GET", "/api/keys", std::slice::from_ref(&admin), "").await.json();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(place.ask("DELETE", "/api/keys/owner", &[admin], "").await.status, 404);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_and_foreign_names_reach_nothing() {
    let place = Place::with(|settings| settings.origins = vec!["https://panel.example.com".into()]).await;
    for lines in [
        vec!["host: evil.example".to_string()],
        vec!["origin: https://evil.example".into()],
        vec!["origin: null".into()],
    ] {
        for path in ["/api/traces", "/openapi.json", "/docs"] {
            let mut headers = lines.clone();
            headers.push(place.bearer());
            let answer = place.ask("GET", path, &headers, "").await;
            assert_eq!(answer.status, 403, "{path} {lines:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let known =
        place.ask("GET", "/api/traces", &[place.bearer(), "origin: https://panel.example.com".into()], "").await;
    assert_eq!((known.status, known.header("access-control-allow-origin")), (200, Some("https://panel.example.com")));
    // A page asks first whether it may send a key.
    let first = ["origin: https://panel.example.com".to_string(), "access-control-request-method: POST".into()];
    let asked = place.ask("OPTIONS", "/api/traces", &first, "").await;
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, Some("https://panel.example.com")));
    assert!(asked.header("access-control-allow-headers").is_some_and(|names| names.contains("authorization")));
    let foreign = ["origin: https://evil.example".to_string(), "access-control-request-method: POST".into()];
    assert_eq!(place.ask("OPTIONS", "/api/traces", &foreign, "").await.status, 403);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_not_reached_from_other_machines_without_saying_so() {
    let dir = tempfile::tempdir().unwrap();
    let host = mainpath::Host::from_folder(&dir.path().join("home")).unwrap();
    let mut settings = mainpath_server::Settings::usual(dir.path().into());
    settings.address = "0.0.0.0:0".parse().unwrap();
    let refused = mainpath_server::Server::bind(host.clone(), settings.clone()).await.err().unwrap();
    assert!(refused.message().contains("--behind-tls"), "{refused}");
    settings.is_behind_tls = true;
    assert!(mainpath_server::Server::bind(host, settings).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_work_in_the_folders_that_are_allowed_and_in_no_other() {
    let place = Place::start().await;
    std::fs::create_dir(place.work().join("inner")).unwrap();
    std::os::unix::fs::symlink("/", place.work().join("link")).unwrap();
    let model = place.model(READS);
    for folder in ["/", "..", "../home", "link", "inner/../..", "missing", "README.md"] {
        let body = json!({"task": "Look.", "model": model, "workspace": folder});
        let answer = place.post("/api/traces", body).await;
        assert_eq!(
            (answer.status, answer.json()["errors"][0]["pointer"].clone()),
            (422, json!("/workspace")),
            "{folder}"
        );
    }
    let body = json!({"task": "Look.", "model": model, "workspace": "inner"});
    assert_eq!(place.post("/api/traces", body).await.status, 202);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_too_often_is_told_how_long_to_wait() {
    let place = Place::with(|settings| settings.rate = std::num::NonZeroU32::new(1)).await;
    for _ in 0..10 {
        assert_eq!(place.get("/api/traces").await.status, 200);
    }
    // More than what is allowed again while they come, also on a slow machine.
    let answers = futures_util::future::join_all((0..60).map(|_| place.get("/api/traces"))).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(!refused.is_empty());
    for answer in refused {
        assert!(answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    }
    place.end().await;
}

/// A key of a tenant in whose home no more than two runs may go on at once, and the request for one that works for a minute.
fn two_at_once(place: &Place) -> (String, String) {
    // It appears at once, with its configuration: the server looks for tenants when it begins.
    let made = place.dir.path().join("acme");
    std::fs::create_dir(&made).unwrap();
    let model = place.model("[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n");
    std::fs::write(made.join("config.toml"), format!("model = {model:?}\n[server]\nmax_runs = 2\n")).unwrap();
    let tenants = place.dir.path().join("home/tenants");
    std::fs::create_dir(&tenants).unwrap();
    for folder in [&made, &tenants] {
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    std::fs::rename(&made, tenants.join("acme")).unwrap();
    let key = format!("authorization: Bearer {}", place.new_key("theirs", &[Scope::Read, Scope::Run], "acme"));
    (key, json!({"task": "Wait."}).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_no_more_runs_at_once_than_its_own_configuration_says() {
    let place = Place::start().await;
    let (key, body) = two_at_once(&place);
    let asked = (0..6).map(|_| place.ask("POST", "/api/traces", std::slice::from_ref(&key), &body));
    let answers = futures_util::future::join_all(asked).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 429, 429, 429, 429], "{}", answers[0].body);
    let own = place.post("/api/traces", json!({"task": "Look.", "model": place.model(READS)})).await;
    assert_eq!(own.status, 202, "others are not held up: {}", own.body);
    drop(place);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_end_is_waited_for_counts_once() {
    let place = Place::start().await;
    let (key, body) = two_at_once(&place);
    let mut waiting = place.send("POST", "/api/traces", &[key.clone(), "prefer: wait=60".into()], &body).await;
    let own = std::slice::from_ref(&key);
    let mut said = String::new();
    while !place.ask("GET", "/api/traces", own, "").await.body.contains("running") {
        let pause = std::time::Duration::from_millis(20);
        let answered = tokio::time::timeout(pause, waiting.read_to_string(&mut said)).await;
        assert!(answered.is_err(), "it was answered at once: {said}");
    }
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(place.ask("POST", "/api/traces", own, &body).await.status);
    }
    assert_eq!(statuses, [202, 429]);
    // A summary asks the model as well.
    let trace = place.ask("GET", "/api/traces", own, "").await.json()["traces"][0]["trace_id"].clone();
    let compact = format!("/api/traces/{}/compact", trace.as_str().unwrap());
    assert_eq!(place.ask("POST", &compact, own, "{}").await.status, 429);
    let mail = format!("/api/traces/{}/mail", trace.as_str().unwrap());
    assert_eq!(place.ask("POST", &mail, own, "{\"mail\":{\"type\":\"compact\"}}").await.status, 429);
    drop((waiting, place));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_key_is_revoked() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let key = format!("authorization: Bearer {}", place.new_key("spy", &[Scope::Read], "local"));
    let headers = [key, "accept: text/event-stream".into()];
    let mut stream = place.send("GET", &format!("/api/traces/{trace}/events?follow=true"), &headers, "").await;
    let mut text = read_until(&mut stream, "event: ").await;
    assert_eq!(place.ask("DELETE", "/api/keys/spy", &[place.bearer()], "").await.status, 200);
    let end = tokio::time::timeout(LONG, stream.read_to_string(&mut text)).await;
    assert!(end.is_ok() && text.contains("the key is revoked"), "{text}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_also_while_every_connection_is_taken() {
    let place = Place::with(|settings| settings.connections = 2).await;
    // Two that say nothing, and one that waits for room.
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(tokio::net::TcpStream::connect(place.address).await.unwrap());
    }
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    // Sooner than those who say nothing are let go.
    let ended = tokio::time::timeout(std::time::Duration::from_secs(5), place.end()).await;
    assert!(ended.is_ok());
}
