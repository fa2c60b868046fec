//! What people and programs send: in order, once, whatever it says.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::{FilesStore, Options, Store};
use mainpath_types::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

fn refusals(log: &[Event]) -> Vec<(Option<MailId>, String)> {
    let refused = |event: &Event| match &event.kind {
        EventKind::MailRefused(data) => Some((event.mail, data.problem.clone())),
        _ => None,
    };
    log.iter().filter_map(refused).collect()
}

/// Waits until this entry has been read.
async fn read(runtime: &Runtime, trace: &TraceId, mail: MailId) {
    let mut watcher = runtime.watch(&local(), trace, 1);
    until(&mut watcher, |event| event.mail == Some(mail)).await;
    settled(runtime, trace).await;
}

#[tokio::test(start_paused = true)]
async fn what_says_nothing_useful_is_refused_by_an_event_and_not_read_again() {
    let place = Place::memory(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    let garbage = [
        r#"{"type":"make_coffee"}"#,
        r#"[1,2,3]"#,
        r#"null"#,
        r#"{"type":"approve","call":"9.9","extra":1}"#,
        r#"{"type":"approve","call":"9.9","arguments":"{"}"#,
        r#"{"type":"message","mode":"message","parts":[]}"#,
        r#"{"type":"rewind","after":77}"#,
        r#"{"type":"stop"}"#,
    ];
    let mut last = 0;
    for body in garbage {
        last = place.store.post(&local(), &trace, false, body.into()).await.unwrap();
    }
    read(&runtime, &trace, last).await;
    // Another process reads the log, and finds nothing to do.
    drop(runtime);
    let runtime = place.runtime();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    let refused = refusals(&log);
    let ids: Vec<Option<MailId>> = refused.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, (1..=garbage.len() as MailId).map(Some).collect::<Vec<_>>(), "{refused:?}");
    assert!(refused.iter().all(|(_, problem)| !problem.is_empty() && !problem.contains('\n')), "{refused:?}");
    assert_eq!((reasons(&log), place.answer(&trace).await), (vec![FinishReason::Final], "final: ".into()));
}

/// No vendor takes a call from a person, and a blob that is not there would stop every request from then on.
#[tokio::test(start_paused = true)]
async fn a_message_of_parts_that_nobody_can_say_is_refused_and_the_trace_goes_on() {
    let place = Place::memory(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    let parts = [
        json!({"type": "stored_text", "hash": "0".repeat(64), "bytes": 5}),
        json!({"type": "tool_call", "name": "count", "arguments": "{}"}),
        json!({"type": "tool_result", "call": "2.0", "name": "count", "content": []}),
        json!({"type": "thinking", "text": "hm"}),
    ];
    for part in &parts {
        let parts = json!([{"type": "text", "text": "look"}, part]);
        for mail in [
            json!({"type": "message", "mode": "message", "parts": parts}),
            json!({"type": "rewind", "after": 1, "parts": parts}),
        ] {
            // It is something that Mainpath can read.
            serde_json::from_value::<Mail>(mail.clone()).unwrap();
            place.store.post(&local(), &trace, false, mail.to_string()).await.unwrap();
        }
    }
    let last = runtime.send(&local(), &trace, &Mail::message("and now?")).await.unwrap();
    read(&runtime, &trace, last).await;
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    let refused = refusals(&log);
    assert_eq!(refused.len(), 2 * parts.len(), "{refused:?}");
    assert!(refused.iter().all(|(_, problem)| problem.contains("text, pictures, sound and documents")), "{refused:?}");
    assert_eq!(reasons(&log), [FinishReason::Final; 2]);
    assert_eq!(place.brain.requests().last().unwrap().said(), ["hello", "and now?"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_overtakes_what_waits_before_it() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.asking(), "count").await;
    drop(runtime);
    // Nobody reads while these are written.
    let approve = Mail::approve(call("2.0"));
    for mail in [Mail::message("and then?"), approve, Mail::Stop] {
        let body = serde_json::to_string(&mail).unwrap();
        place.store.post(&local(), &trace, mail.is_urgent(), body).await.unwrap();
    }
    let runtime = place.runtime();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    let order: Vec<MailId> = log.iter().filter_map(|event| event.mail).collect();
    assert_eq!((order, place.hands.count("a")), (vec![3, 2, 1], 0), "{}", names(&log));
}

#[tokio::test]
async fn what_five_senders_post_at_once_arrives_whole_and_in_each_ones_order() {
    let data = tempfile::TempDir::new().unwrap();
    let place = Place::files(&data, Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    let senders: Vec<_> = (0..5)
        .map(|sender| {
            let (path, trace) = (data.path().to_path_buf(), trace.clone());
            // Each has a store of its own, as another process has.
            std::thread::spawn(move || {
                let store = FilesStore::open(&path, Options::default()).unwrap();
                let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let principal: Principal = format!("sender-{sender}").parse().unwrap();
                let scope = mainpath_store::Scope { principal, ..local() };
                for n in 0..10 {
                    let mail = Mail::say(MessageMode::FollowUp, n.to_string());
                    let body = serde_json::to_string(&mail).unwrap();
                    tokio.block_on(store.post(&scope, &trace, false, body)).unwrap();
                }
            })
        })
        .collect();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    let mut last = 0;
    while last < 50 {
        let seen = until(&mut watcher, |event| event.mail.is_some()).await;
        last = events_of(&seen).last().and_then(|event| event.mail).unwrap();
    }
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in &log {
        let EventKind::MessageQueued(data) = &event.kind else { continue };
        said.entry(data.from.to_string()).or_default().push(text_of(&data.parts));
    }
    let numbers: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let mut wanted: BTreeMap<String, Vec<String>> =
        (0..5).map(|sender| (format!("sender-{sender}"), numbers.clone())).collect();
    wanted.insert("user".into(), vec!["hello".into()]);
    assert_eq!(said, wanted);
    // Each was read by the model in the end.
    assert_eq!(place.brain.requests().last().unwrap().said().len(), 51);
}

#[tokio::test(start_paused = true)]
async fn a_spec_that_cannot_be_used_fails_in_a_line_and_a_better_one_carries_on() {
    let place = Place::memory(Brain::steps(&[&[("look", "x")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    let bad = Spec { workspace: "/no/such/folder".into(), ..place.spec() };
    runtime.send(&local(), &trace, &Mail::SetSpec { spec: Arc::new(bad) }).await.unwrap();
    let mail = runtime.send(&local(), &trace, &Mail::message("again")).await.unwrap();
    read(&runtime, &trace, mail).await;
    let Phase::Failed(problem) = settled(&runtime, &trace).await else { panic!("it went on") };
    assert!(problem.contains("/no/such/folder") && !problem.contains('\n'), "{problem}");
    let good = Mail::SetSpec { spec: Arc::new(place.spec()) };
    runtime.send(&local(), &trace, &good).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    until(&mut watcher, run_finished).await;
    until(&mut watcher, run_finished).await;
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    assert_eq!(reasons(&place.inspect(&trace).await), [FinishReason::Final; 2]);
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_that_cannot_be_judged_are_refused_and_the_call_goes_on_waiting() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    // The folder is there when the run begins, and gone when another process looks.
    let folder = tempfile::TempDir::new().unwrap();
    let spec = Spec { workspace: folder.path().display().to_string(), ..place.asking() };
    let waits = Phase::Parked(vec![Waiting::Approval(call("2.0"))]);
    assert_eq!(run(&runtime, &trace, spec, "count").await, waits);
    drop((runtime, folder));
    let runtime = place.runtime();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, waits);
    let edit = Mail::Approve { call: call("2.0"), arguments: Some(r#"{"key":"b"}"#.into()), rule: None };
    let mail = runtime.send(&local(), &trace, &edit).await.unwrap();
    read(&runtime, &trace, mail).await;
    assert_eq!(settled(&runtime, &trace).await, waits);
    let refused = refusals(&place.inspect(&trace).await);
    assert!(matches!(&refused[..], [(Some(1), problem)] if problem.contains("cannot be judged")), "{refused:?}");
    assert_eq!(place.hands.counts(), Default::default());
}
