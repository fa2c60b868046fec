//! Streams that break off anywhere and go on.

use crate::support::{LONG, Place, READS, WRITES, unchunked};
use base64::Engine;
use mainpath_testkit::model_server::{Answer as Said, Behaviour, ModelServer, Reply, render};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A frame as it came.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    id: Option<String>,
    name: String,
    data: Value,
}

fn frames(text: &str) -> Vec<Seen> {
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    let field = |block: &str, name: &str| block.lines().find_map(|line| line.strip_prefix(name).map(String::from));
    blocks
        .map(|block| Seen {
            id: field(block, "id: "),
            name: field(block, "event: ").unwrap(),
            data: serde_json::from_str(&field(block, "data: ").unwrap()).unwrap(),
        })
        .collect()
}

async fn stream(place: &Place, trace: &str, query: &str, last: Option<&str>) -> Vec<Seen> {
    let mut headers = vec![place.bearer(), "accept: text/event-stream".into()];
    headers.extend(last.map(|last| format!("last-event-id: {last}")));
    let answer = place.ask("GET", &format!("/api/traces/{trace}/events?{query}"), &headers, "").await;
    match answer.status {
        204 => Vec::new(),
        200 => frames(&answer.body),
        other => panic!("{other} {}", answer.body),
    }
}

fn durable(seen: &[Seen]) -> Vec<Seen> {
    seen.iter().filter(|frame| frame.id.is_some()).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_at_any_frame_goes_on_without_loss_or_repeat() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let whole = stream(&place, &trace, "", None).await;
    assert_eq!((whole[0].name.as_str(), whole.last().unwrap().name.as_str()), ("open", "end"));
    let all = durable(&whole);
    assert!(all.len() > 15, "{all:?}");
    assert!(all.iter().any(|frame| frame.id.as_ref().unwrap().contains('.')));
    for (at, frame) in all.iter().enumerate() {
        let rest = durable(&stream(&place, &trace, "", frame.id.as_deref()).await);
        assert_eq!(rest, all[at + 1..], "after {:?}", frame.id);
        let named = durable(&stream(&place, &trace, &format!("after={}", frame.id.as_ref().unwrap()), None).await);
        assert_eq!(named, rest);
    }
    let page = place.get(&format!("/api/traces/{trace}/events?since_event_id=5&limit=3")).await.json();
    let numbers: Vec<u64> =
        page["events"].as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect();
    assert_eq!((numbers.first(), numbers.last(), page["next"].as_str()), (Some(&6), Some(&8), Some("8")));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_none_gets_one_resync() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    for (last, reason) in
        [("99999", "ahead"), ("nonsense", "unknown"), ("3;other@delegate-5-001=2", "of_another_trace")]
    {
        let seen = stream(&place, &trace, "", Some(last)).await;
        let names: Vec<&str> = seen.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["open", "resync", "end"], "{last}");
        assert_eq!((&seen[1].data["reason"], &seen[1].id), (&json!(reason), &Some(seen[1].data["head"].to_string())));
    }
    // A part of an event that it does not have.
    let whole = durable(&stream(&place, &trace, "", None).await);
    let parted = whole.iter().filter_map(|frame| frame.id.as_ref()?.split_once('.')).next_back().unwrap();
    let seen = stream(&place, &trace, "", Some(&format!("{}.99", parted.0))).await;
    assert_eq!((seen[1].name.as_str(), &seen[1].data["reason"]), ("resync", &json!("unknown")));
    // What is for pages is for no stream.
    for (path, pointer) in [("events?limit=3", "/limit"), ("watch?last=true", "/last"), ("watch?turn=1", "/turn")] {
        let headers = [place.bearer(), "accept: text/event-stream".into()];
        let answer = place.ask("GET", &format!("/api/traces/{trace}/{path}"), &headers, "").await;
        assert_eq!((answer.status, answer.json()["errors"][0]["pointer"].clone()), (422, json!(pointer)), "{path}");
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_told_first_with_its_own_number_and_what_comes_is_seen_as_it_comes() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let headers = [place.bearer(), "accept: text/event-stream".into()];
    let mut socket = place.send("GET", &format!("/api/traces/{trace}/events?after=0"), &headers, "").await;
    let mut text = String::new();
    let mut buffer = vec![0; 64 << 10];
    let until = |wanted: &'static str| move |text: &str| text.contains(wanted);
    read_until(&mut socket, &mut text, &mut buffer, until("event: approval_required")).await;
    let open = frames(&unchunked(text.split_once("\r\n\r\n").unwrap().1))[0].clone();
    let asked = &open.data["approvals"][0];
    assert_eq!((asked["type"].clone(), asked["id"].clone()), (json!("approval_required"), json!(6)), "{open:?}");
    let call = asked["data"]["call"].as_str().unwrap();
    place.post(&format!("/api/traces/{trace}/approvals/{call}"), json!({"decision": "approve"})).await;
    read_until(&mut socket, &mut text, &mut buffer, until("event: end")).await;
    assert!(text.contains("event: approval_granted") && text.contains("event: run_finished"));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_returns_is_told_nothing_twice() {
    let place = Place::start().await;
    let asks =
        "[[turn]]\ncalls = [{ tool = \"ask_human\", args = { question = \"Which?\" } }]\n[[turn]]\nfinal = \"Done.\"\n";
    for (script, name, of_open) in [(WRITES, "approval_required", "approvals"), (asks, "question_asked", "questions")] {
        let trace = place.run(script).await;
        let mut buffer = vec![0; 64 << 10];
        // Frames up to the second of two names: by then, all that waits has been announced.
        let mut watched = async |last: Option<&str>, nth: usize| {
            let mut headers = vec![place.bearer(), "accept: text/event-stream".into()];
            headers.extend(last.map(|last| format!("last-event-id: {last}")));
            let path = format!("/api/traces/{trace}/events?follow=true&deltas=false");
            let mut socket = place.send("GET", &path, &headers, "").await;
            let mut text = String::new();
            if last.is_none() {
                let wanted = format!("event: {name}");
                read_until(&mut socket, &mut text, &mut buffer, |text| text.contains(&wanted)).await;
            }
            for half in ["first", "second"] {
                let named = format!("{half} {nth}");
                place.post(&format!("/api/traces/{trace}/rename"), json!({"name": named})).await;
                read_until(&mut socket, &mut text, &mut buffer, |text| text.contains(&named)).await;
            }
            frames(&unchunked(text.split_once("\r\n\r\n").unwrap().1))
        };
        let first = watched(None, 0).await;
        assert_eq!(first.iter().filter(|frame| frame.name == name).count(), 1, "{first:?}");
        let last = durable(&first).last().unwrap().id.clone();
        // The names are the last events; before them stands what was asked.
        let asked = durable(&first).iter().rev().nth(2).unwrap().id.clone();
        for (nth, from) in [last, asked].into_iter().enumerate() {
            let again = watched(from.as_deref(), nth + 1).await;
            assert!(again.iter().all(|frame| frame.name != name), "after {from:?}: {again:?}");
            assert_eq!(again[0].data[of_open].as_array().map(Vec::len), Some(1), "{again:?}");
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_watch_the_same_see_each_frame_once_whenever_they_came() {
    let place = Place::start().await;
    let trace = place.run(WRITES).await;
    let watch = async |query: &str| {
        let headers = [place.bearer(), "accept: text/event-stream".into()];
        let path = format!("/api/traces/{trace}/events?follow=true{query}");
        place.send("GET", &path, &headers, "").await
    };
    let mut watchers = Vec::new();
    for query in ["", "&deltas=false", "", "&after=4", "&children=true", "&children=true"] {
        watchers.push((query, watch(query).await, String::new()));
    }
    let mut buffer = vec![0; 64 << 10];
    // A pause after each, in which who has seen all of it goes together with the others.
    let pause = || tokio::time::sleep(Duration::from_millis(700));
    for (_, socket, text) in &mut watchers {
        read_until(socket, text, &mut buffer, |text| text.contains("event: approval_required")).await;
    }
    pause().await;
    let latest = |text: &str| frames(&unchunked(text.split_once("\r\n\r\n").unwrap().1));
    let call = latest(&watchers[0].2)[0].data["approvals"][0]["data"]["call"].as_str().unwrap().to_string();
    watchers.push(("", watch("").await, String::new()));
    place.post(&format!("/api/traces/{trace}/approvals/{call}"), json!({"decision": "approve"})).await;
    for (_, socket, text) in &mut watchers {
        read_until(socket, text, &mut buffer, |text| text.contains("event: run_finished")).await;
    }
    pause().await;
    place.post(&format!("/api/traces/{trace}/rename"), json!({"name": "to the end"})).await;
    for (_, socket, text) in &mut watchers {
        read_until(socket, text, &mut buffer, |text| text.contains("to the end")).await;
    }
    pause().await;
    let all = durable(&stream(&place, &trace, "", None).await);
    for (query, _, text) in &watchers {
        let from =
            if query.contains("after") { all.iter().position(|frame| frame.data["id"] == 5).unwrap() } else { 0 };
        assert_eq!(durable(&latest(text)), all[from..], "{query}");
    }
    place.end().await;
}

async fn read_until(
    socket: &mut tokio::net::TcpStream,
    text: &mut String,
    buffer: &mut [u8],
    is_there: impl Fn(&str) -> bool,
) {
    while !is_there(text) {
        let read = tokio::time::timeout(LONG, socket.read(buffer)).await.expect("it comes").unwrap();
        assert!(read > 0, "it ended early: {text}");
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
}

/// The text messages of a WebSocket until it closes.
async fn socket(place: &Place, trace: &str, query: &str) -> Vec<Value> {
    let key = base64::engine::general_purpose::STANDARD.encode([7u8; 16]);
    let headers = [
        "connection: Upgrade".to_string(),
        "upgrade: websocket".into(),
        "sec-websocket-version: 13".into(),
        format!("sec-websocket-key: {key}"),
        format!("sec-websocket-protocol: mainpath, bearer.{}", place.key),
    ];
    let mut socket = tokio::net::TcpStream::connect(place.address).await.unwrap();
    let head = format!(
        "GET /api/traces/{trace}/watch?{query} HTTP/1.1\r\nhost: {}\r\n{}\r\n\r\n",
        place.address,
        headers.join("\r\n")
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), socket.read_to_end(&mut bytes)).await;
    let end = bytes.windows(4).position(|at| at == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    assert!(head.starts_with("http/1.1 101") && head.contains("sec-websocket-protocol: mainpath"), "{head}");
    let (mut at, mut messages) = (end, Vec::new());
    while at + 2 <= bytes.len() {
        let (code, short) = (bytes[at] & 0x0f, usize::from(bytes[at + 1] & 0x7f));
        let (len, from) = match short {
            126 => (usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])), at + 4),
            127 => (usize::try_from(u64::from_be_bytes(bytes[at + 2..at + 10].try_into().unwrap())).unwrap(), at + 10),
            short => (short, at + 2),
        };
        match code {
            1 => messages.push(serde_json::from_slice(&bytes[from..from + len]).unwrap()),
            8 => break,
            _ => {}
        }
        at = from + len;
    }
    messages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_says_what_the_stream_says() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let streamed: Vec<Value> = stream(&place, &trace, "", None).await.into_iter().map(|frame| frame.data).collect();
    assert_eq!(socket(&place, &trace, "").await, streamed);
    let cursor = streamed.iter().filter_map(|event| event["cursor"].as_str()).nth(7).unwrap().to_string();
    let resumed: Vec<Value> =
        stream(&place, &trace, &format!("after={cursor}"), None).await.into_iter().map(|frame| frame.data).collect();
    assert_eq!(socket(&place, &trace, &format!("since_event_id={cursor}")).await, resumed);
    let refused = place.get(&format!("/api/traces/{trace}/watch")).await;
    assert_eq!(refused.status, 400);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_of_a_trace_are_in_its_stream_and_every_cut_heals() {
    let place = Place::start().await;
    let script = r#"
[[turn]]
when = "Look at"
calls = [{ tool = "read_text_file", args = { path = "README.md" } }]
[[turn]]
when = "Look at"
final = "Hello is there."
[[turn]]
calls = [{ tool = "agent", args = { task = ["Look at one.", "Look at two."] } }]
[[turn]]
final = "Both looked."
"#;
    let trace = place.run(script).await;
    let whole = stream(&place, &trace, "children=true", None).await;
    let all = durable(&whole);
    let traces: std::collections::BTreeSet<&str> =
        all.iter().map(|frame| frame.data["trace_id"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 3, "{traces:?}");
    for (at, frame) in all.iter().enumerate() {
        let rest = durable(&stream(&place, &trace, "children=true", frame.id.as_deref()).await);
        let of = |seen: &[Seen], trace: &str| -> Vec<Value> {
            let own = seen.iter().filter(|frame| frame.data["trace_id"] == trace);
            own.map(|frame| json!([frame.data["id"], frame.data["type"]])).collect()
        };
        // Each log goes on exactly; between logs, those of one moment may change places.
        for one in &traces {
            assert_eq!(of(&rest, one), of(&all[at + 1..], one), "after {:?}, of {one}", frame.id);
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_begins_to_watch_in_the_middle_of_an_answer_sees_it_from_its_beginning() {
    let server = ModelServer::start(Behaviour::new(|_| {
        let answer = Said::text("It was a bright cold day in April, and the clocks were striking thirteen.");
        let whole = render(&answer, true).len();
        Reply::Stall(answer, whole * 2 / 3)
    }))
    .unwrap();
    let place = Place::start().await;
    let started = place.post("/api/traces", json!({"task": "Say it.", "model": server.model()})).await.json();
    let trace = started["trace_id"].as_str().unwrap();
    let path = format!("/api/traces/{trace}/events");
    // The pieces of the answer that a new watcher sees until they hold so much of it.
    let pieces = async || {
        let headers = [place.bearer(), "accept: text/event-stream".into()];
        let mut socket = place.send("GET", &path, &headers, "").await;
        let (mut text, mut buffer) = (String::new(), vec![0; 64 << 10]);
        let pieces = |text: &str| -> Vec<String> {
            let Some((_, body)) = text.split_once("\r\n\r\n") else { return Vec::new() };
            let body = unchunked(body);
            // The last frame may not have come completely.
            let whole = body.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
            let pieces = frames(whole).into_iter().filter(|frame| frame.name == "assistant_delta");
            pieces.map(|frame| frame.data["data"]["text"].as_str().unwrap().to_string()).collect()
        };
        let enough = |text: &str| pieces(text).concat().contains("It was a bright cold day");
        read_until(&mut socket, &mut text, &mut buffer, enough).await;
        pieces(&text)
    };
    // The first may have come before the answer. What it has seen is there when the others begin.
    let mut known = pieces().await.concat();
    for _ in 0..2 {
        let seen = pieces().await;
        assert!(seen[0].starts_with(&known), "all that has come, at once: {known:?} {seen:?}");
        known = seen.concat();
    }
    place.post(&format!("/api/traces/{trace}/stop"), json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_next_try_goes_on_wherever_one_looks() {
    let busy = Reply::Error { status: 503, headers: vec![("retry-after".into(), "60".into())], body: "busy".into() };
    let server = ModelServer::start(Behaviour::new(move |_| busy.clone())).unwrap();
    let place = Place::start().await;
    let started = place.post("/api/traces", json!({"task": "Say it.", "model": server.model()})).await.json();
    let trace = started["trace_id"].as_str().unwrap().to_owned();
    while !place.get(&format!("/api/traces/{trace}/events?since_event_id=1")).await.body.contains("model_failed") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It has been let go of by then.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let detail = place.get(&format!("/api/traces/{trace}")).await.json();
    let list = place.get("/api/traces").await.json();
    let running = place.get("/api/traces/running").await.json();
    let stands = [&detail["status"], &list["traces"][0]["status"], &running["traces"][0]["status"]];
    assert_eq!(stands, ["running"; 3], "{detail} {list} {running}");
    place.post(&format!("/api/traces/{trace}/stop"), json!({})).await;
}
