//! The status of a trace: the same in lists, in its detail and in its stream.

use crate::support::{Place, READS, until};
use serde_json::{Value, json};
use std::path::PathBuf;

fn file(place: &Place, trace: &str, name: &str) -> PathBuf {
    place.dir.path().join(format!("home/traces/{trace}/{name}"))
}

/// A change of a log by hand; `None` removes it.
type Spoilt<'a> = (&'a str, &'a dyn Fn(&str) -> Option<String>);

/// The status of a trace in a list.
async fn listed(place: &Place, query: &str, trace: &str) -> Value {
    let list = place.get(&format!("/api/traces?{query}")).await;
    assert_eq!(list.status, 200, "{}", list.body);
    let rows = list.json()["traces"].as_array().unwrap().clone();
    rows.into_iter().find(|row| row["trace_id"] == trace).map_or(Value::Null, |row| row["status"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_changed_or_removed_by_hand_is_damaged_wherever_one_looks() {
    let place = Place::start().await;
    let garbled = |log: &str| Some(log.replacen("Look around.", "Look aground", 1));
    let cut = |log: &str| Some(log.lines().take(3).map(|line| format!("{line}\n")).collect());
    let removed = |_: &str| None;
    let spoilt: [Spoilt<'_>; 3] = [("garbled", &garbled), ("cut", &cut), ("removed", &removed)];
    for (what, spoil) in spoilt {
        for is_seen_first in [false, true] {
            let trace = place.run(READS).await;
            assert_eq!(listed(&place, "", &trace).await, "completed");
            let path = file(&place, &trace, "events.jsonl");
            let log = std::fs::read_to_string(&path).unwrap();
            match spoil(&log) {
                Some(log) => std::fs::write(&path, log).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let detail = async || place.get(&format!("/api/traces/{trace}")).await;
            if is_seen_first {
                detail().await;
                // Also in a part of the list that would not have it otherwise.
                assert_eq!(listed(&place, "status=damaged", &trace).await, "damaged", "{what}");
            }
            assert_eq!(listed(&place, "", &trace).await, "damaged", "{what}");
            assert_eq!(listed(&place, "status=damaged", &trace).await, "damaged", "{what}");
            let seen = detail().await;
            match what {
                "removed" => {
                    let kind = &seen.json()["type"];
                    assert_eq!((seen.status, kind), (409, &json!("/problems/trace-damaged")), "{}", seen.body);
                }
                _ => {
                    assert_eq!((seen.status, &seen.json()["status"]), (200, &json!("damaged")), "{what}: {}", seen.body)
                }
            }
            // Restored, it is as it was.
            std::fs::write(&path, log).unwrap();
            assert_eq!(detail().await.json()["status"], "completed", "{what}");
            assert_eq!(listed(&place, "", &trace).await, "completed", "{what}");
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_cannot_be_read_is_no_failure_of_the_server_and_its_stream_ends() {
    let place = Place::start().await;
    let first = |log: &str| Some(log.replacen('{', "[", 1));
    let middle = |log: &str| Some(log.replacen("Look around.", "Look aground", 1));
    let removed = |_: &str| None;
    let spoilt: [Spoilt<'_>; 3] = [("first line", &first), ("middle", &middle), ("removed", &removed)];
    for (what, spoil) in spoilt {
        let trace = place.run(READS).await;
        let path = file(&place, &trace, "events.jsonl");
        match spoil(&std::fs::read_to_string(&path).unwrap()) {
            Some(log) => std::fs::write(&path, log).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let paths = ["", "/approvals", "/questions", "/tree", "/context", "/context?turn=1", "/requests/1", "/stats"];
        let more = ["/export", "/export?format=html", "/log", "/messages", "/messages?mode=all", "/events", "/verify"];
        for path in paths.into_iter().chain(more) {
            let answer = place.get(&format!("/api/traces/{trace}{path}")).await;
            assert_ne!(answer.status, 500, "{what}: {path}: {}", answer.body);
            if what == "removed" || what == "first line" && path == "/context" {
                assert_eq!(answer.status, 409, "{what}: {path}: {}", answer.body);
                assert_eq!(answer.json()["type"], "/problems/trace-damaged", "{what}: {path}: {}", answer.body);
            }
        }
        if what != "removed" {
            let accept = [place.bearer(), "accept: text/event-stream".into()];
            let stream = place.ask("GET", &format!("/api/traces/{trace}/events"), &accept, "").await;
            let end = stream.body.split("\n\n").filter(|frame| frame.contains("event: ")).last().unwrap().to_string();
            assert!(stream.body.contains("event: problem\n"), "{what}: {}", stream.body);
            assert!(end.contains("event: end\n") && end.contains("\"status\":\"damaged\""), "{what}: {}", stream.body);
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_is_completed_has_its_answer_in_the_same_detail() {
    let place = Place::start().await;
    let body = json!({"task": "Look around.", "model": place.model(READS)});
    for _ in 0..30 {
        let begun = place.post("/api/traces", body.clone()).await.json();
        let path = format!("/api/traces/{}", begun["trace_id"].as_str().unwrap());
        for more in [false, true] {
            if more {
                let body = json!({"messages": [{"role": "user", "content": "Again."}]});
                assert_eq!(place.post(&format!("{path}/run"), body).await.status, 202);
            }
            let detail = until("it has ended", async || {
                Some(place.get(&path).await.json()).filter(|detail| detail["status"] != "running")
            });
            let detail = detail.await;
            // The last turn of the script is played again.
            let turns = &detail["goal_tree"]["cumulative_stats"]["turns"];
            assert_eq!((&detail["status"], turns), (&json!("completed"), &json!(if more { 3 } else { 2 })), "{detail}");
            assert!(!detail["finish_reason"].is_null() && !detail["result_summary"].is_null(), "{detail}");
        }
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_its_server_died_of_three_times_is_set_aside_until_it_is_resumed() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let marks = place.dir.path().join("home/server/running.log");
    let is_over = async || std::fs::read_to_string(&marks).unwrap().contains(&format!("- {trace}\n")).then_some(());
    until("its mark is removed", is_over).await;
    let dir = place.end().await;
    let folder = dir.path().join(format!("home/traces/{trace}"));
    // As a kill in the middle of its first turn leaves it.
    let log = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let upto = 1 + log.lines().position(|line| line.contains("\"type\":\"model_requested\"")).unwrap();
    let cut: String = log.lines().take(upto).map(|line| format!("{line}\n")).collect();
    let mut left = dir;
    for (deaths, continues) in [(2, false), (1, true)] {
        for name in ["owner.lock", "meta.json", "state.json"] {
            let _ = std::fs::remove_file(folder.join(name));
        }
        std::fs::write(folder.join("events.jsonl"), &cut).unwrap();
        std::fs::write(left.path().join("home/server/running.log"), format!("+ {deaths} {trace}\n")).unwrap();
        let place = Place::again(left, |_| {}).await;
        let detail = async || place.get(&format!("/api/traces/{trace}")).await.json();
        let wanted = if continues { "completed" } else { "set_aside" };
        let seen = until(wanted, async || Some(detail().await).filter(|detail| detail["status"] == wanted)).await;
        if !continues {
            assert!(seen["next_step"].as_str().unwrap().contains(&format!("/api/traces/{trace}/resume")), "{seen}");
            assert_eq!(listed(&place, "", &trace).await, "set_aside");
            assert_eq!(listed(&place, "status=set_aside", &trace).await, "set_aside");
            assert_eq!(listed(&place, "status=interrupted", &trace).await, Value::Null);
            place.post(&format!("/api/traces/{trace}/resume"), json!({})).await;
            let ended = async || Some(detail().await).filter(|detail| detail["status"] == "completed");
            assert_eq!(until("its end", ended).await["next_step"], Value::Null);
        }
        left = place.end().await;
    }
}
