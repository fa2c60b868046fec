//! Everything that was computed can be computed again.

use crate::support::*;
use mainpath_runtime::replay::Replayed;
use mainpath_runtime::*;
use mainpath_store::{Appended, Faulty, Opened, Raw, TraceStore};
use mainpath_types::*;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use tokio::runtime::Builder;

async fn all_views(place: &Place, trace: &TraceId) -> BTreeMap<String, Vec<u8>> {
    let mut views = BTreeMap::new();
    for name in place.store.views(&local(), trace).await.unwrap() {
        let bytes = place.store.get_view(&local(), trace, &name).await.unwrap().unwrap();
        views.insert(name, bytes);
    }
    views
}

/// The hash of a body, in hex.
fn hash(body: &str) -> String {
    Sha256::digest(body).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// The hashes of the requests that were answered, as the log has them.
fn sent(log: &[Event]) -> BTreeMap<u32, String> {
    let answered = log.iter().filter_map(|event| match &event.kind {
        EventKind::ModelFinished(data) => Some((data.request, data.sent.clone()?)),
        EventKind::ModelMalformed(data) => Some((data.request, data.sent.clone()?)),
        _ => None,
    });
    answered.collect()
}

/// Replays a trace, once as it is and once after every view was deleted: each time the views come back byte for byte and
/// every answered request has the hash of what the model was really sent. Returns the log.
async fn rebuilds(place: &Place, trace: &TraceId) -> Vec<Event> {
    let log = place.inspect(trace).await;
    let seen: BTreeMap<u32, String> =
        place.brain.requests().iter().map(|seen| (seen.request, hash(&seen.body))).collect();
    let sent = sent(&log);
    assert!(!sent.is_empty() && sent.iter().all(|(n, hash)| seen.get(n) == Some(hash)), "{sent:?}\n{seen:?}");
    views::write(TraceStore::new(&*place.store, &local(), trace)).await.unwrap();
    let views = all_views(place, trace).await;
    let asked = log.iter().filter(|event| matches!(event.kind, EventKind::ModelRequested(_))).count();
    let whole = Replayed {
        events: log.len() as u64,
        requests: sent.len() as u64,
        unanswered: (asked - sent.len()) as u64,
        views: views.len() as u64,
        ..Replayed::default()
    };
    assert_eq!(place.replay(trace).await, whole);
    assert_eq!(all_views(place, trace).await, views);
    for name in views.keys() {
        place.store.delete_view(&local(), trace, name).await.unwrap();
    }
    assert_eq!(all_views(place, trace).await, BTreeMap::new());
    // What is not there is not called identical: it is built again.
    let missing: Vec<String> = views.keys().cloned().collect();
    assert_eq!(place.replay(trace).await, Replayed { views: 0, missing, ..whole });
    assert_eq!(all_views(place, trace).await, views);
    assert_eq!(place.log(trace).await, log, "a replay only reads the log");
    log
}

fn count(log: &[Event], name: &str) -> usize {
    log.iter().filter(|event| event.kind.name() == name).count()
}

/// Looks again and again, as often as the request's number says, whatever it is still shown; then says so.
fn looking(times: u32) -> impl Fn(&Seen) -> Thought {
    move |seen| {
        if wants_summary(seen) {
            say("It was looked at often.")
        } else if seen.request <= times {
            calling(&[("look", &format!("{:x<500}", seen.request))])
        } else {
            say("seen")
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_summarised_is_rebuilt() {
    let place = Place::memory(Brain::new(looking(30)));
    let (runtime, trace) = (place.runtime(), id("t"));
    let spec = Spec { context_window: 2_500, ..place.spec() };
    assert_eq!(run(&runtime, &trace, spec, "look").await, Phase::Idle);
    let log = rebuilds(&place, &trace).await;
    assert!(count(&log, "compacted") >= 2, "{}", names(&log));
    assert_eq!(place.answer(&trace).await, "seen");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_cut_to_its_window_is_rebuilt() {
    let place = Place::memory(Brain::new(looking(12)));
    let (runtime, trace) = (place.runtime(), id("t"));
    let limits = Limits { window_messages: Some(6), summary: SummaryMode::Rules, ..place.spec().limits };
    assert_eq!(run(&runtime, &trace, Spec { limits, ..place.spec() }, "look").await, Phase::Idle);
    let log = rebuilds(&place, &trace).await;
    assert!(count(&log, "compacted") >= 2, "{}", names(&log));
    // The task, the summary and the newest word on the plan come on top.
    let told = |seen: &&Seen| seen.said().iter().filter(|text| text.contains("## Current plan\n")).count();
    let requests = place.brain.requests();
    assert!(
        requests.iter().all(|seen| told(&seen) <= 1 && seen.messages.len() - told(&seen) <= 8),
        "the window was kept"
    );
    assert!(requests.last().is_some_and(|seen| told(&seen) == 1), "the plan is in sight");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_rewound_is_rebuilt() {
    let place = Place::memory(Brain::steps(ALL_KINDS));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "do all").await;
    // Into a group of calls, to before the beginning, over the answer that this led to, to the new task.
    for (after, text) in [(4, None), (0, Some("do it anew")), (33, None), (21, Some("and so"))] {
        let parts = text.map(|text| vec![Part::text(text)]);
        runtime.send(&local(), &trace, &Mail::Rewind { after: Seq(after), parts }).await.unwrap();
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    }
    let log = rebuilds(&place, &trace).await;
    let heads = log.iter().filter_map(|event| match &event.kind {
        EventKind::Rewound(data) => Some(data.head),
        _ => None,
    });
    assert_eq!(heads.collect::<Vec<_>>(), [Some(Seq(6)), None, Some(Seq(32)), Some(Seq(21))]);
    assert_eq!(reasons(&log), [FinishReason::Final; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_steered_away_from_is_rebuilt() {
    let place = Place::memory(Brain::steps(&[&[("stubborn", "a"), ("count", "b"), ("look", "c")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("go")).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    until(&mut watcher, |event| matches!(event.kind, EventKind::ActionStarted(_))).await;
    let steer = Mail::say(MessageMode::Steer, "leave the rest");
    let mail = runtime.send(&local(), &trace, &steer).await.unwrap();
    until(&mut watcher, |event| event.mail == Some(mail)).await;
    place.hands.gate.add_permits(1);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = rebuilds(&place, &trace).await;
    let ends = [Resolution::Skipped, Resolution::Skipped, Resolution::Ok];
    assert_eq!((resolutions(&log), place.hands.count("b")), (ends.to_vec(), 0));
    assert_eq!(place.brain.requests().last().unwrap().said(), ["go", "leave the rest"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_a_long_result_and_a_long_answer_is_rebuilt() {
    let place = Place::memory(Brain::steps(&[&[("big", "100000"), ("look", "x")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    assert_eq!(run(&runtime, &trace, place.spec(), &"long ".repeat(4_000)).await, Phase::Idle);
    let log = rebuilds(&place, &trace).await;
    let stored = log.iter().filter(|event| serde_json::to_string(event).unwrap().contains("stored_text"));
    assert_eq!(names(&stored.cloned().collect::<Vec<_>>()), "message_queued call_resolved model_finished");
}

/// Runs a trace in a process that dies as soon as something is in the log.
fn dies(place: &Place, trace: &TraceId, at: impl Fn(&Event) -> bool) {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
        let runtime = place.runtime();
        let mut watcher = runtime.watch(&local(), trace, 1);
        if place.store.list(&local()).await.unwrap().is_empty() {
            runtime.start(&local(), trace, place.spec(), Mail::message("do all")).await.unwrap();
        } else {
            runtime.resume(&local(), trace);
        }
        until(&mut watcher, at).await;
    });
}

#[test]
fn a_trace_whose_process_died_and_died_again_is_rebuilt() {
    // What comes first in a turn is interrupted by the first process's end, what comes then by the second's.
    let steps: &[&[(&str, &str)]] = &[&[("patient", "a"), ("look", "b")], &[("put", "c"), ("count", "d")]];
    let place = Place::memory(Brain::new(move |seen| match seen.request {
        2 => Thought::Hang,
        _ => step(steps, seen),
    }));
    let trace = id("t");
    dies(&place, &trace, |event| matches!(event.kind, EventKind::ActionStarted(_)));
    dies(&place, &trace, |event| matches!(&event.kind, EventKind::ModelRequested(data) if data.request == 2));
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
        let runtime = place.runtime();
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
        let log = rebuilds(&place, &trace).await;
        use Resolution::*;
        assert_eq!((resolutions(&log), count(&log, "model_abandoned")), (vec![Unknown, Ok, Ok, Ok], 1));
        assert_eq!((place.hands.count("a"), place.hands.count("d")), (1, 1));
    });
}

#[tokio::test(start_paused = true)]
async fn a_changed_byte_is_told_with_its_line_and_the_views_stay_as_they_are() {
    let (place, store) = Place::faulty(Brain::steps(ALL_KINDS), Faulty::none);
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "do all").await;
    drop(runtime);
    let log = rebuilds(&place, &trace).await;
    let views = all_views(&place, &trace).await;
    let tenant = TenantId::local();
    let good = store.log_bytes(&tenant, &trace);
    let mut start = 0;
    for (line, text) in (1u64..).zip(good.split_inclusive(|byte| *byte == b'\n')) {
        // In the middle of what the event says.
        let data = text.windows(8).position(|bytes| bytes == b",\"data\":").unwrap() + 8;
        let mut bad = good.clone();
        bad[start + (data + text.len()) / 2] ^= 1;
        start += text.len();
        store.set_log_bytes(&tenant, &trace, &bad);
        let report = place.store.verify(&local(), &trace).await.unwrap();
        let damage = report.damage.unwrap();
        assert_eq!((report.events, damage.line), (line - 1, line), "{damage}");
        let replayed = place.replay(&trace).await;
        assert!(damage.to_string().contains(&format!("line {line}")), "{damage}");
        assert_eq!(replayed.differences, [format!("{damage}; what follows was not replayed")]);
        assert_eq!((replayed.events, replayed.views), (line - 1, 0));
        assert_eq!(all_views(&place, &trace).await, views, "they may be all that is left");
    }
    assert!(log.len() > 20 && start == good.len());
    store.set_log_bytes(&tenant, &trace, &good);
    assert_eq!(rebuilds(&place, &trace).await, log);
}

#[tokio::test(start_paused = true)]
async fn what_a_newer_mainpath_wrote_is_told_and_the_views_stay_as_they_are() {
    let (place, store) = Place::faulty(Brain::steps(&[&[("look", "x")]]), Faulty::none);
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    let log = rebuilds(&place, &trace).await;
    let views = all_views(&place, &trace).await;
    let tenant = TenantId::local();
    let newest = format!("{{\"v\":1,\"id\":{}", log.len());
    let text = String::from_utf8(store.log_bytes(&tenant, &trace)).unwrap();
    let newer = text.replace(&newest, &newest.replace("1,", "2,"));
    store.set_log_bytes(&tenant, &trace, newer.as_bytes());
    let told = format!("line {} and what follows was written by a newer Mainpath and not replayed", log.len());
    assert_eq!(place.replay(&trace).await.differences, [told]);
    assert_eq!(all_views(&place, &trace).await, views);
}

/// A log whose chain holds and that says something else than what was sent.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_what_was_sent_is_told_by_its_number() {
    let place = Place::memory(Brain::steps(&[&[("look", "x")]]));
    let (runtime, trace, other) = (place.runtime(), id("t"), id("other"));
    run(&runtime, &trace, place.spec(), "look").await;
    let mut log = place.log(&trace).await;
    for event in &mut log {
        if let EventKind::CallResolved(data) = &mut event.kind {
            data.output = Some(ToolOutput::text("saw something else"));
        }
    }
    let Opened { lease, .. } = place.store.lease(&local(), &other, true).await.unwrap();
    let head = log.len() as u64;
    assert_eq!(place.store.append(&lease, 0, log).await, Appended::Committed { head });
    assert_eq!(place.store.verify(&local(), &other).await.unwrap().damage, None);
    let replayed = place.replay(&other).await;
    assert_eq!(replayed.differences, ["request 2 is not what was sent"]);
    assert_eq!(replayed.requests, 1);
}

#[tokio::test(start_paused = true)]
async fn requests_of_runs_with_rewinds_repairs_and_new_specs_are_rebuilt_to_the_byte() {
    // Silent at first: the empty answer is asked for again on a side branch.
    let place = Place::memory(Brain::new(|seen| {
        if seen.said().len() == 1 && seen.results().is_empty() { say("") } else { step(&[&[("look", "x")]], seen) }
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    let send = async |mail: Mail| {
        runtime.send(&local(), &trace, &mail).await.unwrap();
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    };
    send(Mail::message("again")).await;
    send(Mail::Rewind { after: Seq(1), parts: Some(vec![Part::text("another way")]) }).await;
    let spec = std::sync::Arc::new(Spec { instructions: "Be brief.".into(), ..place.spec() });
    send(Mail::SetSpec { spec }).await;
    send(Mail::message("and now")).await;
    let log = place.inspect(&trace).await;
    assert!(log.iter().any(|event| matches!(event.kind, EventKind::ModelMalformed(_))), "{}", names(&log));
    assert!(log.iter().any(|event| matches!(event.kind, EventKind::Rewound(_))), "{}", names(&log));
    let replayed = place.replay(&trace).await;
    assert!(replayed.requests >= 4 && replayed.unanswered == 0, "{replayed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_view_that_was_changed_is_told_and_made_good() {
    let place = Place::memory(Brain::steps(&[&[("look", "x")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    views::write(TraceStore::new(&*place.store, &local(), &trace)).await.unwrap();
    place.store.put_view(&local(), &trace, "final.md", b"something else".to_vec()).await.unwrap();
    assert_eq!(place.replay(&trace).await.wrong, ["final.md"]);
    assert!(place.replay(&trace).await.agrees());
}

#[tokio::test(start_paused = true)]
async fn views_of_an_earlier_run_are_no_difference() {
    let place = Place::memory(Brain::steps(&[&[("look", "x")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    views::write(TraceStore::new(&*place.store, &local(), &trace)).await.unwrap();
    runtime.send(&local(), &trace, &Mail::message("again")).await.unwrap();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    assert!(place.replay(&trace).await.agrees());
    let meta = place.store.get_view(&local(), &trace, "meta.json").await.unwrap().unwrap();
    let meta: serde_json::Value = serde_json::from_slice(&meta).unwrap();
    assert_eq!(meta["last_event_id"], place.log(&trace).await.last().unwrap().id, "they are up to date now");
}
