//! A store that refuses, delays, loses its answer or a part of the batch: the run comes to the same end.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::faulty::{Fault, Faulty};
use mainpath_types::*;
use std::time::Duration;

/// The appends of the run without faults.
const APPENDS: u64 = 14;

async fn with_fault_at(number: u64, fault: Fault) {
    let mut fault_left = Some(fault.clone());
    let plan = move |planned: &mainpath_store::faulty::Planned| {
        if planned.number == number { fault_left.take().unwrap_or(Fault::Pass) } else { Fault::Pass }
    };
    let (place, _) = Place::faulty(Brain::steps(ALL_KINDS), |inner| Faulty::new(inner, plan));
    let (runtime, trace) = (place.runtime(), id("t"));
    let phase = run(&runtime, &trace, place.spec(), "do all").await;
    assert_eq!(phase, Phase::Idle, "{fault:?} at append {number}");
    assert_eq!(place.answer(&trace).await, ALL_DONE, "{fault:?} at append {number}");
    for key in ["a", "b", "c"] {
        assert_eq!(place.hands.count(key), 1, "{key} with {fault:?} at append {number}");
    }
    let log = place.inspect(&trace).await;
    assert_eq!(reasons(&log), [FinishReason::Final], "{fault:?} at append {number}");
}

#[tokio::test(start_paused = true)]
async fn every_fault_at_every_append_leaves_the_answer_and_the_side_effects_as_they_are() {
    let faults = [
        Fault::CommitUnknown,
        Fault::DropUnknown,
        Fault::PartUnknown(1),
        Fault::PartUnknown(2),
        Fault::Delay(Duration::from_secs(3)),
    ];
    for number in 0..APPENDS {
        for fault in &faults {
            with_fault_at(number, fault.clone()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_loses_every_third_answer_changes_nothing_but_the_time() {
    for seed in 0..60 {
        let (place, _) = Place::faulty(Brain::steps(ALL_KINDS), |inner| Faulty::seeded(inner, seed, 30));
        let (runtime, trace) = (place.runtime(), id("t"));
        assert_eq!(run(&runtime, &trace, place.spec(), "do all").await, Phase::Idle, "seed {seed}");
        assert_eq!(place.answer(&trace).await, ALL_DONE, "seed {seed}");
        let counted = ["a", "b", "c"].map(|key| place.hands.count(key));
        assert_eq!(counted, [1; 3], "seed {seed}");
        place.inspect(&trace).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_one_clear_line_and_the_known_result_is_kept() {
    let down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_down = std::sync::Arc::clone(&down);
    let plan = move |_: &mainpath_store::faulty::Planned| match is_down.load(std::sync::atomic::Ordering::SeqCst) {
        true => Fault::DropUnknown,
        false => Fault::Pass,
    };
    let (place, _) = Place::faulty(Brain::steps(&[&[("count", "a")]]), |inner| Faulty::new(inner, plan));
    let (runtime, trace) = (place.runtime(), id("t"));
    let failing = std::sync::Arc::clone(&down);
    *place.hands.hook.lock().unwrap() =
        Some(Box::new(move || failing.store(true, std::sync::atomic::Ordering::SeqCst)));
    let Phase::Failed(problem) = run(&runtime, &trace, place.spec(), "count").await else { panic!("it went on") };
    assert!(problem.contains("cannot be written") && !problem.contains('\n'), "{problem}");
    // The disk is back: what was known is written, and nothing is done twice.
    down.store(false, std::sync::atomic::Ordering::SeqCst);
    *place.hands.hook.lock().unwrap() = None;
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    assert_eq!(place.answer(&trace).await, "final: counted a");
    assert_eq!(place.hands.count("a"), 1);
    assert_eq!(resolutions(&place.inspect(&trace).await), [Resolution::Ok]);
}
