//! What is counted, and what is told of requests.

use crate::support::{LONG, Place, READS, WRITES};
use mainpath::Host;
use mainpath_server::{Scope, Server, Settings};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The lines of a scrape by what stands before the value.
fn values(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
            (name.to_string(), value.parse().unwrap_or_else(|_| panic!("{line:?}")))
        })
        .collect()
}

async fn scrape(place: &Place) -> BTreeMap<String, f64> {
    let answer = place.get("/metrics").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    values(&answer.body)
}

/// Asks until a value is this.
async fn until(place: &Place, name: &str, wanted: f64) -> BTreeMap<String, f64> {
    let deadline = Instant::now() + LONG;
    loop {
        let seen = scrape(place).await;
        if seen.get(name) == Some(&wanted) {
            return seen;
        }
        assert!(Instant::now() < deadline, "{name} never was {wanted}: {seen:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A script whose tokens are known.
const COUNTED: &str = r#"
[[turn]]
calls = [{ tool = "read_text_file", args = { path = "README.md" } }]
usage = { input = 100, output = 7, cache_read = 40 }
[[turn]]
calls = [{ tool = "read_text_file", args = { path = "none.md" } }]
usage = { input = 120, output = 8 }
[[turn]]
error = { kind = "bad_request", message = "no", times = 1 }
final = "Seen."
usage = { input = 130, output = 9 }
"#;

#[tokio::test]
async fn a_scrape_is_held_to_the_format_and_has_the_numbers_of_a_known_run() {
    let place = Place::start().await;
    place.run(READS).await;
    place.run(COUNTED).await;
    place.get("/api/traces/none").await;
    place.get("/nowhere").await;
    let answer = place.get("/metrics").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool cannot be started: `make test` installs it from Debian's package prometheus");
    promtool.stdin.take().unwrap().write_all(answer.body.as_bytes()).unwrap();
    let checked = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && said.is_empty(), "{said}\n{}", answer.body);
    let seen = values(&answer.body);
    for (name, wanted) in [
        ("mainpath_runs_total{finish_reason=\"final\"}", 1.0),
        ("mainpath_runs_total{finish_reason=\"model_error\"}", 1.0),
        ("mainpath_run_seconds_count", 2.0),
        ("mainpath_step_seconds_count", 5.0),
        ("mainpath_model_requests_total{outcome=\"answered\"}", 4.0),
        ("mainpath_model_requests_total{outcome=\"failed\"}", 1.0),
        ("mainpath_model_failures_total{kind=\"bad_request\"}", 1.0),
        ("mainpath_model_request_seconds_count", 5.0),
        ("mainpath_tool_calls_total{tool=\"read_text_file\",outcome=\"ok\"}", 2.0),
        ("mainpath_tool_calls_total{tool=\"read_text_file\",outcome=\"error\"}", 1.0),
        ("mainpath_tool_call_seconds_count{tool=\"read_text_file\"}", 3.0),
        ("mainpath_tokens_total{kind=\"cache_read\"}", 40.0),
        ("mainpath_http_requests_total{method=\"POST\",route=\"/api/traces\",status=\"2xx\"}", 2.0),
        ("mainpath_http_requests_total{method=\"GET\",route=\"/api/traces/{id}\",status=\"4xx\"}", 1.0),
        ("mainpath_http_requests_total{method=\"GET\",route=\"(none)\",status=\"4xx\"}", 1.0),
        ("mainpath_runs_running", 0.0),
        ("mainpath_watchers", 0.0),
        ("mainpath_http_connections", 1.0),
    ] {
        assert_eq!(seen.get(name), Some(&wanted), "{name}\n{}", answer.body);
    }
    assert!(seen["mainpath_log_events_total"] >= seen["mainpath_log_batches_total"], "{}", answer.body);
    assert!(!answer.body.contains("none.md") && !answer.body.contains("scripted") && !answer.body.contains(&place.key));
}

#[tokio::test]
async fn who_waits_and_who_watches_is_seen_and_goes_again() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    until(&place, "mainpath_runs_waiting", 1.0).await;
    let mut stream = place
        .send("GET", &format!("/api/traces/{trace}/events"), &[place.bearer(), "accept: text/event-stream".into()], "")
        .await;
    let mut first = [0; 64];
    assert!(stream.read(&mut first).await.unwrap() > 0);
    until(&place, "mainpath_watchers", 1.0).await;
    drop(stream);
    let waiting = place.get(&format!("/api/traces/{trace}/approvals")).await.json();
    let call = waiting["approvals"][0]["call"].as_str().unwrap_or_else(|| panic!("{waiting}")).to_string();
    let decided = place.post(&format!("/api/traces/{trace}/approvals/{call}"), json!({"decision": "approve"})).await;
    assert!(decided.status < 300, "{}", decided.body);
    let seen = until(&place, "mainpath_runs_total{finish_reason=\"final\"}", 1.0).await;
    assert_eq!(seen["mainpath_tool_calls_total{tool=\"write_text_file\",outcome=\"ok\"}"], 1.0);
    until(&place, "mainpath_runs_waiting", 0.0).await;
    // A beat of the stream finds that nobody reads any more; a server that ends waits for none of it.
    place.end().await;
}

#[tokio::test]
async fn counts_are_for_the_owner_alone() {
    let place = Place::start().await;
    assert_eq!(place.ask("GET", "/metrics", &[], "").await.status, 401);
    for (name, scopes, tenant, status) in [
        ("reads", &[Scope::Read][..], "local", 200),
        ("runs", &[Scope::Run][..], "local", 403),
        ("others", &[Scope::Read][..], "other", 403),
    ] {
        let key = place.new_key(name, scopes, tenant);
        let answer = place.ask("GET", "/metrics", &[format!("authorization: Bearer {key}")], "").await;
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_request_is_told_in_a_line_without_key_query_or_body() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    std::fs::write(dir.path().join("script.toml"), "[[turn]]\nfinal = \"Done.\"\n").unwrap();
    let host = Host::from_folder(&dir.path().join("home")).unwrap();
    let mut settings = Settings::usual(dir.path().join("work"));
    settings.address = "127.0.0.1:0".parse().unwrap();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&lines);
    let server = Server::bind(host, settings).await.unwrap();
    let server = server.log_requests(move |line| told.lock().unwrap().push(line.into()));
    let (address, key) = (server.address().unwrap(), std::fs::read_to_string(server.token_file()).unwrap());
    let served = tokio::spawn(server.serve(std::future::pending::<()>(), |_| {}));
    let ask = async |method: &str, path: &str, key: &str, body: &str| {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nprefer: wait=20\r\nauthorization: Bearer {key}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let model = format!("scripted:{}", dir.path().join("script.toml").display());
    let body = json!({"task": "the-body", "model": model}).to_string();
    let answer = ask("POST", "/api/traces", key.trim(), &body).await;
    let trace: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let trace = trace["trace_id"].as_str().unwrap();
    ask("GET", &format!("/api/traces/{trace}/events?limit=499"), key.trim(), "").await;
    ask("GET", "/api/traces/some-secret-word", key.trim(), "").await;
    ask("GET", "/api/traces?agent=the-query", "mp_wrong-key", "").await;
    served.abort();
    let lines = lines.lock().unwrap().clone();
    let mut read: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut read {
        assert!(line["ms"].as_f64().is_some() && line["ts"].as_str().is_some_and(|ts| ts.ends_with('Z')), "{line}");
        line.as_object_mut().unwrap().retain(|name, _| name != "ms" && name != "ts");
    }
    assert_eq!(
        read,
        [
            json!({"method": "POST", "route": "/api/traces", "status": 200, "key": "owner"}),
            json!({"method": "GET", "route": "/api/traces/{id}/events", "status": 200, "key": "owner", "trace_id": trace}),
            json!({"method": "GET", "route": "/api/traces/{id}", "status": 404, "key": "owner"}),
            json!({"method": "GET", "route": "/api/traces", "status": 401}),
        ]
    );
    let all = serde_json::to_string(&read).unwrap().replace(trace, ""); // and without the times: those may have any digits
    for secret in [key.trim(), "mp_wrong-key", "the-body", "the-query", "499", "some-secret-word"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}
