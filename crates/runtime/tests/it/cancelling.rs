//! Ending what runs: confirmed, not hoped for.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_types::*;

fn started(event: &Event) -> bool {
    matches!(event.kind, EventKind::ActionStarted(_))
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_ends_only_when_its_tool_is_dead() {
    let place = Place::memory(Brain::steps(&[&[("stubborn", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("go")).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    until(&mut watcher, started).await;
    runtime.send(&local(), &trace, &Mail::Stop).await.unwrap();
    until(&mut watcher, |event| matches!(event.kind, EventKind::CallCancelling(_))).await;
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    assert!(reasons(&place.log(&trace).await).is_empty(), "it ended while its tool went on");
    place.hands.gate.add_permits(1);
    until(&mut watcher, run_finished).await;
    let log = place.inspect(&trace).await;
    assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Stopped], vec![Resolution::Interrupted]));
}

#[tokio::test(start_paused = true)]
async fn a_call_and_a_run_that_take_too_long_are_ended_by_their_own_limits() {
    let place = Place::memory(Brain::steps(&[&[("patient", "a")]]));
    let runtime = place.runtime();
    let call_limit = Limits { call_timeout_ms: Some(5_000), ..place.spec().limits };
    let spec = Spec { limits: call_limit, ..place.spec() };
    assert_eq!(run(&runtime, &id("call"), spec, "go").await, Phase::Idle);
    let log = place.inspect(&id("call")).await;
    assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Final], vec![Resolution::Error]));

    let run_limit = Limits { run_timeout_ms: Some(5_000), ..place.spec().limits };
    let spec = Spec { limits: run_limit, ..place.spec() };
    assert_eq!(run(&runtime, &id("run"), spec, "go").await, Phase::Idle);
    let log = place.inspect(&id("run")).await;
    assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Timeout], vec![Resolution::Interrupted]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_a_model_call_drops_the_request() {
    let place = Place::memory(Brain::new(|_| Thought::Hang));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("go")).await.unwrap();
    runtime.send(&local(), &trace, &Mail::Stop).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    until(&mut watcher, run_finished).await;
    assert_eq!(reasons(&place.inspect(&trace).await), [FinishReason::Stopped]);
}
