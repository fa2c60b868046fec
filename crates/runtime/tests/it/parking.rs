//! A trace that only waits has no driver, and is woken by mail from anywhere.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::Store;
use mainpath_types::*;

async fn parked(place: &Place, runtime: &Runtime, trace: &TraceId) {
    let phase = run(runtime, trace, place.asking(), "count").await;
    assert_eq!(phase, Phase::Parked(vec![Waiting::Approval(call("2.0"))]));
    // Nobody holds it: another process could take it now.
    place.store.lease(&local(), trace, false).await.unwrap().lease.release();
}

#[tokio::test(start_paused = true)]
async fn a_parked_trace_goes_on_when_its_call_is_approved() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    parked(&place, &runtime, &trace).await;
    runtime.send(&local(), &trace, &Mail::Approve { call: call("2.0"), arguments: None }).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!((place.answer(&trace).await.as_str(), place.hands.count("a")), ("final: counted a", 1));
    place.inspect(&trace).await;
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_run_in_place_of_the_models_and_the_model_is_told() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    parked(&place, &runtime, &trace).await;
    let edit = Mail::Approve { call: call("2.0"), arguments: Some(r#"{"key":"b"}"#.into()) };
    runtime.send(&local(), &trace, &edit).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!((place.hands.count("a"), place.hands.count("b")), (0, 1));
    let told = place.brain.requests().last().unwrap().results().join("\n");
    assert!(told.contains("approved this call with other arguments") && told.contains("counted b"), "{told}");
    place.inspect(&trace).await;
}

#[tokio::test(start_paused = true)]
async fn a_denial_reaches_the_model_with_its_reason_and_a_stop_ends_a_parked_run() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, denied, stopped) = (place.runtime(), id("denied"), id("stopped"));
    parked(&place, &runtime, &denied).await;
    let deny = Mail::Deny { call: call("2.0"), reason: Some("not on a Sunday".into()) };
    runtime.send(&local(), &denied, &deny).await.unwrap();
    let mut phase = runtime.phase(&local(), &denied);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert!(place.answer(&denied).await.contains("not on a Sunday"), "{}", place.answer(&denied).await);

    parked(&place, &runtime, &stopped).await;
    runtime.send(&local(), &stopped, &Mail::Stop).await.unwrap();
    let mut phase = runtime.phase(&local(), &stopped);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    let log = place.inspect(&stopped).await;
    assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Stopped], vec![Resolution::Interrupted]));
    assert_eq!(place.hands.count("a"), 0);
}

#[tokio::test]
async fn mail_that_another_process_posts_wakes_a_parked_trace() {
    let data = tempfile::TempDir::new().unwrap();
    let place = Place::files(&data, Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    parked(&place, &runtime, &trace).await;
    // A second store on the same folder is what another process has.
    let other = mainpath_store::FilesStore::open(data.path(), mainpath_store::Options::default()).unwrap();
    let body = serde_json::to_string(&Mail::Approve { call: call("2.0"), arguments: None }).unwrap();
    other.post(&local(), &trace, false, body).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!(place.hands.count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn garbage_in_the_mailbox_is_refused_once_and_harms_nothing() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    parked(&place, &runtime, &trace).await;
    place.store.post(&local(), &trace, true, r#"{"type":"make_coffee"}"#.into()).await.unwrap();
    runtime.send(&local(), &trace, &Mail::Approve { call: call("2.0"), arguments: None }).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    let log = place.inspect(&trace).await;
    let refused = log.iter().filter(|event| matches!(event.kind, EventKind::MailRefused(_))).count();
    assert_eq!((refused, place.hands.count("a")), (1, 1));
}
