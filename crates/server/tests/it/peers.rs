//! What other machines ask: logs, long texts, mail, and traces whose ids they choose.

use crate::support::{Place, READS, WRITES};
use mainpath_server::Scope;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

fn events(part: &Value) -> Vec<u64> {
    part["events"].as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_given_from_any_event_on_and_what_is_new_can_be_waited_for() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let all = place.get(&format!("/api/traces/{trace}/log")).await.json();
    let head = all["head"].as_u64().unwrap();
    assert_eq!(events(&all), (1..=head).collect::<Vec<_>>());
    assert_eq!((all["through"].as_u64(), &all["is_driven"]), (Some(head), &json!(false)));
    let rest = place.get(&format!("/api/traces/{trace}/log?after={}", head - 2)).await.json();
    assert_eq!(events(&rest), [head - 1, head]);
    let none = place.get(&format!("/api/traces/{trace}/log?after=5&events=false")).await.json();
    assert_eq!((events(&none), &none["through"], &none["head"]), (Vec::new(), &json!(5), &json!(head)));
    let beyond = place.get(&format!("/api/traces/{trace}/log?after={}", u64::MAX)).await.json();
    assert_eq!((events(&beyond), &beyond["head"]), (Vec::new(), &json!(head)));
    // Waits for what is said meanwhile.
    let (path, headers) = (format!("/api/traces/{trace}/log?after={head}"), [place.bearer(), "prefer: wait=20".into()]);
    let began = Instant::now();
    let waits = place.ask("GET", &path, &headers, "");
    let says = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        place.post(&format!("/api/traces/{trace}/rename"), json!({"name": "other"})).await
    };
    let (part, renamed) = tokio::join!(waits, says);
    assert_eq!(renamed.status, 202, "{}", renamed.body);
    assert!(!events(&part.json()).is_empty() && began.elapsed() < Duration::from_secs(15), "{}", part.body);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_new_events_is_answered_when_the_server_stops() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let (path, headers) = (format!("/api/traces/{trace}/log?after=1000"), [place.bearer(), "prefer: wait=600".into()]);
    let mut waits = place.send("GET", &path, &headers, "").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    let _dir = place.end().await;
    let mut text = String::new();
    waits.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 ") && began.elapsed() < Duration::from_secs(30), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_given_to_who_reads_the_trace_and_kept_files_are_not() {
    let place = Place::start().await;
    // Longer than what stands in an event.
    let long = "A long line of words that goes on. ".repeat(4_000);
    std::fs::write(place.work().join("a.txt"), "PASSWORD=not-for-others\n").unwrap();
    let body = json!({"task": long, "model": place.model(READS)});
    let headers = [place.bearer(), "prefer: wait=20".into()];
    let reads = place.ask("POST", "/api/traces", &headers, &body.to_string()).await.json();
    let reads = reads["trace_id"].as_str().unwrap();
    let log = place.get(&format!("/api/traces/{reads}/log")).await.json();
    let said = log["events"].as_array().unwrap().iter().find(|event| event["type"] == "message_queued").unwrap();
    let hash = said["data"]["parts"][0]["hash"].as_str().unwrap_or_else(|| panic!("{said}")).to_string();
    let text = place.get(&format!("/api/traces/{reads}/blobs/{hash}")).await;
    assert!(text.status == 200 && text.body.contains("A long line of words"), "{}", text.head);
    let body = json!({"task": "Write.", "model": place.model(WRITES), "approvals": "yes"});
    let writes = place.ask("POST", "/api/traces", &headers, &body.to_string()).await.json();
    let writes = writes["trace_id"].as_str().unwrap();
    // That text is none of this trace's, and what a file was before is nobody's to read here.
    assert_eq!(place.get(&format!("/api/traces/{writes}/blobs/{hash}")).await.status, 404);
    let log = place.get(&format!("/api/traces/{writes}/log")).await.json();
    let kept =
        log["events"].as_array().unwrap().iter().find(|event| event["type"] == "files_kept").unwrap().to_string();
    let before = kept.split('"').find(|word| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let before = before.unwrap_or_else(|| panic!("no file was kept: {kept}"));
    assert_eq!(place.get(&format!("/api/traces/{writes}/blobs/{before}")).await.status, 404);
    for wrong in ["x", "..%2F..%2Ftoken", &"g".repeat(64)] {
        assert_eq!(place.get(&format!("/api/traces/{writes}/blobs/{wrong}")).await.status, 404, "{wrong}");
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_taken_as_far_as_the_key_may_say_such_things() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let runs = format!("authorization: Bearer {}", place.new_key("peer", &[Scope::Read, Scope::Run], "local"));
    let path = format!("/api/traces/{trace}/mail");
    let call = place.get(&format!("/api/traces/{trace}/approvals")).await.json()["approvals"][0]["call"].clone();
    let send = |key: String, mail: Value| {
        let (place, path) = (&place, &path);
        async move { place.ask("POST", path, &[key], &json!({ "mail": mail }).to_string()).await }
    };
    for (mail, status) in [
        (json!({"type": "approve", "call": call}), 403),
        (json!({"type": "deny", "call": call}), 403),
        (json!({"type": "answer", "call": call, "text": "yes"}), 403),
        (json!({"type": "approve", "call": call, "rule": "bash(*)"}), 422),
        (json!({"type": "goals", "ops": []}), 422),
        (json!({"type": "agent_message", "text": "x"}), 422),
        (json!({"type": "nothing"}), 422),
        (json!({}), 422),
    ] {
        let answer = send(runs.clone(), mail.clone()).await;
        assert_eq!(answer.status, status, "{mail}: {}", answer.body);
    }
    let spec = place.get(&format!("/api/traces/{trace}/log")).await.json();
    let spec = spec["events"].as_array().unwrap().iter().find(|event| event["type"] == "spec_changed").unwrap().clone();
    let mut theirs = spec["data"]["spec"].clone();
    theirs["mode"] = "yes".into();
    for key in [runs.clone(), place.bearer()] {
        let answer = send(key, json!({"type": "set_spec", "spec": theirs})).await;
        assert_eq!(answer.status, 422, "nobody makes it another agent: {}", answer.body);
    }
    // Once under its key, with its number in the mailbox.
    let said =
        json!({"mail": {"type": "message", "mode": "follow_up", "parts": [{"type": "text", "text": "And then?"}]}});
    let headers = [runs.clone(), "idempotency-key: one".into()];
    let first = place.ask("POST", &path, &headers, &said.to_string()).await;
    assert_eq!(first.status, 202, "{}", first.body);
    assert_eq!(place.ask("POST", &path, &headers, &said.to_string()).await.json(), first.json());
    let other = json!({"mail": {"type": "stop"}}).to_string();
    assert_eq!(place.ask("POST", &path, &headers, &other).await.status, 409);
    assert_eq!(send(place.bearer(), json!({"type": "deny", "call": call})).await.status, 202);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_may_be_given_a_new_id_of_its_own_and_none_of_another_machine() {
    let place = Place::start().await;
    let model = place.model(READS);
    let start = |id: &str, key: &str, task: &str| {
        let body = json!({"trace_id": id, "task": task, "model": model}).to_string();
        let headers = [place.bearer(), format!("idempotency-key: {key}")];
        let place = &place;
        async move { place.ask("POST", "/api/traces", &headers, &body).await }
    };
    let first = start("t.delegate-5-001", "a", "Look.").await;
    assert_eq!((first.status, first.json()["trace_id"].clone()), (202, json!("t.delegate-5-001")), "{}", first.body);
    let again = start("t.delegate-5-001", "a", "Look.").await;
    assert_eq!((again.status, again.json()["trace_id"].clone()), (202, json!("t.delegate-5-001")));
    assert_eq!(start("t.delegate-5-001", "b", "Look.").await.status, 409);
    assert_eq!(start("t.delegate-5-001", "a", "Look again.").await.status, 409);
    for wrong in ["t@delegate-5-001", "agent://h/t", "../t", "a/b", ""] {
        let refused = start(wrong, "c", "Look.").await;
        assert_eq!(refused.status, 422, "{wrong}: {}", refused.body);
    }
    // What is elsewhere is asked for with this server's own key: for its owner alone.
    let reads = format!("authorization: Bearer {}", place.new_key("r", &[Scope::Read], "local"));
    let elsewhere = "/api/traces/agent%3A%2F%2F127.0.0.1:9%2Ft";
    assert_eq!(place.ask("GET", elsewhere, &[reads], "").await.status, 403);
    let runs = format!("authorization: Bearer {}", place.new_key("w", &[Scope::Run, Scope::Read], "local"));
    let body = json!({"task": "x", "parent_trace_id": "agent://127.0.0.1:9/t"}).to_string();
    let related = place.ask("POST", "/api/traces", &[runs], &body).await;
    assert_eq!(related.status, 422, "{}", related.body);
    assert!(
        related.body.contains("there is no trace agent://127.0.0.1:9/t"),
        "whether or not there is: {}",
        related.body
    );
    let unknown = place.get(elsewhere).await;
    let why = "there is no machine 127.0.0.1:9 here; add [peers.NAME] with its url and key";
    assert_eq!((unknown.status, unknown.json()["detail"].clone()), (404, json!(why)));
    place.end().await;
}
