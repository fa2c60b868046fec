use crate::support::*;
use mainpath_runtime::*;
use mainpath_types::*;

fn deltas_of(seen: &[Live]) -> String {
    let text = |live: &Live| match live {
        Live::Delta { delta: Delta::Text { text } | Delta::ToolOutput { text, .. }, .. } => Some(text.clone()),
        _ => None,
    };
    seen.iter().filter_map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_from_its_task_through_its_tools_to_its_final_answer() {
    let place = Place::memory(Brain::steps(ALL_KINDS));
    let (runtime, trace) = (place.runtime(), id("t"));
    assert_eq!(run(&runtime, &trace, place.spec(), "do all").await, Phase::Idle);
    let log = place.inspect(&trace).await;
    assert_eq!(place.answer(&trace).await, ALL_DONE);
    assert_eq!(reasons(&log), [FinishReason::Final]);
    assert_eq!(resolutions(&log), [Resolution::Ok; 7]);
    let once = |key: &str| (key.to_string(), 1);
    assert_eq!(place.hands.counts(), ["a", "b", "c", "put d"].map(once).into());
}

#[tokio::test(start_paused = true)]
async fn a_watcher_sees_every_event_once_and_the_deltas_before_the_event_that_they_lead_to() {
    let place = Place::memory(Brain::steps(&[&[("chat", "3")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("talk")).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    let seen = until(&mut watcher, run_finished).await;
    assert_eq!(events_of(&seen), place.log(&trace).await);
    assert_eq!(deltas_of(&seen), "0 1 2 final: said");
    let place_of = |asked: &dyn Fn(&Live) -> bool| seen.iter().position(asked).unwrap();
    let said = place_of(&|live| matches!(live, Live::Delta { delta: Delta::ToolOutput { .. }, .. }));
    let resolved = place_of(&|live| matches!(live, Live::Event(e) if matches!(e.kind, EventKind::CallResolved(_))));
    assert!(said < resolved, "the output was seen at {said}, the result at {resolved}");
}

#[tokio::test(start_paused = true)]
async fn a_late_watcher_and_one_that_begins_in_the_middle_see_the_same_log() {
    let place = Place::memory(Brain::steps(ALL_KINDS));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "do all").await;
    let log = place.log(&trace).await;
    for from in [1, 2, log.len() as u64 / 2, log.len() as u64] {
        let mut late = runtime.watch(&local(), &trace, from);
        let seen = until(&mut late, run_finished).await;
        assert_eq!(events_of(&seen), log[from as usize - 1..], "from {from}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_lags_far_behind_misses_deltas_and_no_event() {
    let place = Place::memory(Brain::steps(&[&[("count", "a")], &[("chat", "2000")], &[("count", "b")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    let mut slow = runtime.watch(&local(), &trace, 1);
    run(&runtime, &trace, place.spec(), "talk much").await;
    let seen = until(&mut slow, run_finished).await;
    assert_eq!(events_of(&seen), place.log(&trace).await);
    let chatted = |live: &&Live| matches!(live, Live::Delta { delta: Delta::ToolOutput { .. }, .. });
    assert!(seen.iter().filter(chatted).count() < 2_000, "it did not lag");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_is_asked_and_dropped_again_and_again_misses_nothing() {
    let place = Place::memory(Brain::steps(ALL_KINDS));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("do all")).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    let mut seen = Vec::new();
    while !events_of(&seen).last().is_some_and(run_finished) {
        tokio::select! {
            biased;
            live = watcher.next() => seen.push(live.unwrap()),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(events_of(&seen), place.log(&trace).await);
}

#[tokio::test(start_paused = true)]
async fn a_secret_cut_in_two_reaches_no_watcher_no_log_and_no_model() {
    let place = Place::memory(Brain::new(|seen| match seen.results().first() {
        None => calling(&[("leak", "")]),
        Some(_) => say("so it is hunter2hunter2"),
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    runtime.start(&local(), &trace, place.spec(), Mail::message("is it hunter2hunter2?")).await.unwrap();
    let mut watcher = runtime.watch(&local(), &trace, 1);
    let seen = until(&mut watcher, run_finished).await;
    settled(&runtime, &trace).await;
    assert_eq!(deltas_of(&seen), "the key is {{secret:A_KEY}}, you seeso it is {{secret:A_KEY}}");
    let everywhere = format!("{seen:?} {:?} {:?}", place.log(&trace).await, place.brain.requests());
    assert!(!everywhere.contains("hunter2"), "{everywhere}");
    assert_eq!(place.answer(&trace).await, "so it is {{secret:A_KEY}}");
    assert_eq!(place.brain.requests()[1].results(), ["it was {{secret:A_KEY}}"]);
    place.inspect(&trace).await;
}
