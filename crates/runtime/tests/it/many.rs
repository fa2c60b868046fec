//! Many traces in one process, and one trace in two.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_types::*;

#[tokio::test]
async fn three_hundred_traces_run_at_once_and_a_failing_one_harms_no_other() {
    let data = tempfile::TempDir::new().unwrap();
    let place = Place::files(&data, Brain::steps(&[&[("look", "x")], &[("look", "y")]]));
    let runtime = place.runtime();
    let ids: Vec<TraceId> = (0..300).map(|n| id(&format!("t{n}"))).collect();
    for trace in &ids {
        runtime.start(&local(), trace, place.spec(), Mail::message("look")).await.unwrap();
    }
    let bad = Spec { model: "no such model".into(), ..place.spec() };
    assert!(runtime.start(&local(), &id("bad"), bad, Mail::message("look")).await.is_err());
    for trace in &ids {
        assert_eq!(settled(&runtime, trace).await, Phase::Idle);
        assert_eq!(place.answer(trace).await, "final: saw x; saw y");
    }
}

#[tokio::test]
async fn a_trace_that_one_runtime_drives_is_held_for_another() {
    let data = tempfile::TempDir::new().unwrap();
    let first = Place::files(&data, Brain::new(|_| Thought::Hang));
    let second = Place::files(&data, Brain::steps(&[]));
    let (driving, waiting, trace) = (first.runtime(), second.runtime(), id("t"));
    driving.start(&local(), &trace, first.spec(), Mail::message("wait")).await.unwrap();
    waiting.resume(&local(), &trace);
    let Phase::Elsewhere(problem) = settled(&waiting, &trace).await else { panic!("two drivers") };
    assert!(problem.contains("is being run by"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_twice_is_asked_a_third_time_under_a_new_number() {
    let failures = std::sync::atomic::AtomicU32::new(0);
    let place = Place::memory(Brain::new(move |_| match failures.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 | 1 => Thought::Fail(ModelErrorKind::Overloaded),
        _ => say("at last"),
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    assert_eq!(run(&runtime, &trace, place.spec(), "go").await, Phase::Idle);
    assert_eq!(place.answer(&trace).await, "at last");
    let requests = place.brain.requests();
    assert_eq!(requests.iter().map(|seen| seen.request).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(requests.windows(2).all(|two| two[0].body == two[1].body), "a retry sends the same bytes");
    place.inspect(&trace).await;
}
