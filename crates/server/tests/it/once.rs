//! A request that is made again is done once.

use crate::support::{Place, READS, WRITES};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_started_once_however_often_it_is_asked_also_by_a_later_process() {
    let place = Place::start().await;
    let body = json!({"task": "Look.", "model": place.model(READS)}).to_string();
    let headers =
        |key: &str, place: &Place| vec![place.bearer(), format!("idempotency-key: {key}"), "prefer: wait=10".into()];
    let first = place.ask("POST", "/api/traces", &headers("a", &place), &body).await.json();
    assert_eq!(first["status"], "ended");
    let many = futures_util::future::join_all((0..8).map(|_| {
        let (place, headers, body) = (&place, headers("b", &place), &body);
        async move { place.ask("POST", "/api/traces", &headers, body).await.json() }
    }))
    .await;
    let ids: std::collections::BTreeSet<String> = many.iter().map(|answer| answer["trace_id"].to_string()).collect();
    assert_eq!(ids.len(), 1, "{many:?}");
    let other = place.ask("POST", "/api/traces", &headers("a", &place), &body.replace("Look.", "Look!")).await;
    assert_eq!((other.status, other.json()["type"].clone()), (409, json!("/problems/key-reused")));
    let dir = place.end().await;
    let place = Place::again(dir, |_| {}).await;
    let again = place.ask("POST", "/api/traces", &headers("a", &place), &body).await.json();
    assert_eq!(again, first);
    // Keys of different senders are different keys.
    let key = place.new_key("ci", &[mainpath_server::Scope::Run, mainpath_server::Scope::Approve], "local");
    let theirs = [format!("authorization: Bearer {key}"), "idempotency-key: a".into(), "prefer: wait=10".into()];
    assert_ne!(place.ask("POST", "/api/traces", &theirs, &body).await.json()["trace_id"], first["trace_id"]);
    assert_eq!(place.get("/api/traces").await.json()["traces"].as_array().unwrap().len(), 3);
    place.end().await;
}

async fn events(place: &Place, trace: &str, kind: &str) -> Vec<Value> {
    let page = place.get(&format!("/api/traces/{trace}/events?limit=500")).await.json();
    page["events"].as_array().unwrap().iter().filter(|event| event["type"] == kind).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_and_decisions_that_are_sent_again_count_once() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let call = place.get(&format!("/api/traces/{trace}/approvals")).await.json()["approvals"][0]["call"]
        .as_str()
        .unwrap()
        .to_string();
    let once = |key: &str| vec![place.bearer(), format!("idempotency-key: {key}")];
    let address = format!("/api/traces/{trace}/approvals/{call}");
    let (approve, deny) = ("{\"decision\":\"approve\"}", "{\"decision\":\"deny\"}");
    let first = place.ask("POST", &address, &once("d"), approve).await;
    let again = place.ask("POST", &address, &once("d"), approve).await;
    assert_eq!((first.status, again.status), (202, 202), "{} {}", first.body, again.body);
    assert_eq!(first.body, again.body);
    assert_eq!(place.ask("POST", &address, &once("d"), deny).await.status, 409);
    assert_eq!(place.ask("POST", &address, &once("e"), deny).await.status, 409);
    let say = format!("/api/traces/{trace}/run");
    let body = "{\"messages\":[{\"role\":\"user\",\"content\":\"Once more.\"}]}";
    let headers = [once("s"), vec!["prefer: wait=10".into()]].concat();
    let said = place.ask("POST", &say, &headers, body).await.json();
    assert_eq!(said["status"], "ended", "{said}");
    assert_eq!(place.ask("POST", &say, &headers, body).await.json(), said);
    for _ in 0..3 {
        let sent =
            place.ask("POST", &format!("/api/traces/{trace}/next"), &once("n"), "{\"message\":\"Then this.\"}").await;
        assert_eq!(sent.status, 202, "{}", sent.body);
    }
    let forks = futures_util::future::join_all((0..4).map(|_| {
        let (place, headers, address) = (&place, once("f"), format!("/api/traces/{trace}/fork"));
        async move { place.ask("POST", &address, &headers, "{\"at_sequence\":1}").await }
    }))
    .await;
    let copies: std::collections::BTreeSet<&str> = forks.iter().map(|fork| fork.body.as_str()).collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(
        place.ask("POST", &format!("/api/traces/{trace}/fork"), &once("f"), "{\"at_sequence\":2}").await.status,
        409
    );
    let reflect = |focus: &str| {
        let (place, headers, address) = (&place, once("r"), format!("/api/traces/{trace}/reflect"));
        let body = json!({ "focus": focus }).to_string();
        async move { place.ask("POST", &address, &headers, &body).await }
    };
    let reflections = futures_util::future::join_all((0..3).map(|_| reflect("the file"))).await;
    let made: std::collections::BTreeSet<String> =
        reflections.iter().map(|answer| answer.json()["trace_id"].to_string()).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(reflect("the file").await.json()["trace_id"], reflections[0].json()["trace_id"]);
    assert_eq!(reflect("something else").await.status, 409);
    assert_eq!(events(&place, &trace, "approval_granted").await.len(), 1);
    assert_eq!(events(&place, &trace, "message_queued").await.len(), 2);
    assert_eq!(events(&place, &trace, "follow_up_queued").await.len(), 1);
    place.end().await;
}
