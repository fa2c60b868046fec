//! A trace that only waits has no driver, and is woken by mail from anywhere.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::Store;
use mainpath_types::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    runtime.send(&local(), &trace, &Mail::approve(call("2.0"))).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!((place.answer(&trace).await.as_str(), place.hands.count("a")), ("final: counted a", 1));
    place.inspect(&trace).await;
}

#[tokio::test(start_paused = true)]
async fn the_rules_of_a_run_are_loaded_once_and_again_when_it_is_woken() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (trace, loaded) = (id("t"), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&loaded);
    let policies: Policies = Arc::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::default())
    });
    let runtime = Runtime::new(Config { policies, ..place.config() });
    parked(&place, &runtime, &trace).await;
    assert_eq!(loaded.load(Ordering::SeqCst), 1);
    runtime.send(&local(), &trace, &Mail::approve(call("2.0"))).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!(loaded.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn what_counts_is_when_an_approval_was_given_not_when_it_is_read() {
    for (waits, resolution) in [([1_500, 0], Resolution::Denied), ([500, 1_000], Resolution::Ok)] {
        let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
        let trace = id("t");
        let limits = Limits { approval_timeout_ms: Some(1_000), ..place.asking().limits };
        let first = place.runtime();
        run(&first, &trace, Spec { limits, ..place.asking() }, "count").await;
        drop(first);
        // Nobody drives it while its time passes.
        tokio::time::sleep(std::time::Duration::from_millis(waits[0])).await;
        let body = serde_json::to_string(&Mail::approve(call("2.0"))).unwrap();
        place.store.post(&local(), &trace, false, body).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(waits[1])).await;
        let runtime = place.runtime();
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
        let log = place.inspect(&trace).await;
        assert_eq!((resolutions(&log), reasons(&log)), (vec![resolution], vec![FinishReason::Final]));
        assert_eq!(place.hands.count("a"), u32::from(resolution == Resolution::Ok));
    }
}

#[tokio::test(start_paused = true)]
async fn a_denial_wins_over_an_approval_that_waits_with_it() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let trace = id("t");
    let first = place.runtime();
    parked(&place, &first, &trace).await;
    drop(first);
    let runtime = place.runtime();
    runtime.send(&local(), &trace, &Mail::approve(call("2.0"))).await.unwrap();
    runtime.send(&local(), &trace, &Mail::Deny { call: call("2.0"), reason: None }).await.unwrap();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    assert_eq!((resolutions(&log), place.hands.count("a")), (vec![Resolution::Denied], 0));
    assert_eq!(names(&log).matches("mail_refused").count(), 1, "what was overtaken is on record");
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_run_in_place_of_the_models_and_the_model_is_told() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    parked(&place, &runtime, &trace).await;
    let edit = Mail::Approve { call: call("2.0"), arguments: Some(r#"{"key":"b"}"#.into()), rule: None };
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
    let body = serde_json::to_string(&Mail::approve(call("2.0"))).unwrap();
    other.post(&local(), &trace, false, body).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!(place.hands.count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_that_rules_deny_or_that_are_none_deny_the_call() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")]]));
    let runtime = place.runtime();
    for (name, edit) in [("wrong", r#"{"kee":1}"#), ("none", "not JSON")] {
        let trace = id(name);
        parked(&place, &runtime, &trace).await;
        let edit = Mail::Approve { call: call("2.0"), arguments: Some(edit.into()), rule: None };
        runtime.send(&local(), &trace, &edit).await.unwrap();
        let mut phase = runtime.phase(&local(), &trace);
        soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
        let log = place.inspect(&trace).await;
        assert_eq!((resolutions(&log), place.hands.count("a")), (vec![Resolution::Denied], 0), "{name}");
    }
    // The tool is no longer among those that the run may use: the fresh verdict is a denial.
    let trace = id("withdrawn");
    parked(&place, &runtime, &trace).await;
    let spec = Spec { tools: Vec::new(), ..place.asking() };
    runtime.send(&local(), &trace, &Mail::SetSpec { spec: Arc::new(spec) }).await.unwrap();
    let edit = Mail::Approve { call: call("2.0"), arguments: Some(r#"{"key":"b"}"#.into()), rule: None };
    runtime.send(&local(), &trace, &edit).await.unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    // A spec holds from the next turn on; this one was judged under the old.
    assert_eq!(place.hands.count("b"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_parked_for_its_answer() {
    let place = Place::memory(Brain::steps(&[&[("ask", "which?")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    let phase = run(&runtime, &trace, place.spec(), "ask me").await;
    assert_eq!(phase, Phase::Parked(vec![Waiting::Answer(call("2.0"))]));
    runtime
        .send(&local(), &trace, &Mail::Answer { call: call("2.0"), text: "that one".into(), via: None })
        .await
        .unwrap();
    let mut phase = runtime.phase(&local(), &trace);
    soon("the end", phase.wait_for(|phase| *phase == Phase::Idle)).await.unwrap();
    assert_eq!(place.answer(&trace).await, "final: user answered:\n> that one");
    place.inspect(&trace).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_retry_is_parked_and_its_time_wakes_it_in_another_process_too() {
    let place = Place::memory(Brain::new(|seen| match seen.request {
        1 | 2 => Thought::Fail(ModelErrorKind::Overloaded),
        _ => say("at last"),
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("go")).await.unwrap();
    let waits = |phase: &Phase| *phase == Phase::Parked(vec![Waiting::Timer]);
    soon("the wait", runtime.phase(&local(), &trace).wait_for(waits)).await.unwrap();
    place.store.lease(&local(), &trace, false).await.unwrap().lease.release();
    drop(runtime);
    let runtime = place.runtime();
    runtime.resume(&local(), &trace);
    soon("the second wait", runtime.phase(&local(), &trace).wait_for(waits)).await.unwrap();
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    assert_eq!(place.answer(&trace).await, "at last");
    place.inspect(&trace).await;
}

/// Mail that comes at the very moment at which its trace parks. Whether a wake got lost shows as a wait without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_is_lost_that_comes_while_a_trace_parks() {
    let place = Place::memory_in_real_time(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    let mut watcher = runtime.watch(&local(), &trace, 1);
    until(&mut watcher, run_finished).await;
    for n in 0..300u64 {
        // The run has just ended and its driver is about to park.
        let mail = runtime.send(&local(), &trace, &Mail::message(format!("{n}"))).await.unwrap();
        (0..n % 16).for_each(|_| std::hint::spin_loop());
        until(&mut watcher, |event| event.mail == Some(mail)).await;
        let seen = until(&mut watcher, run_finished).await;
        assert_eq!(reasons(&events_of(&seen)), [FinishReason::Final]);
    }
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
}
