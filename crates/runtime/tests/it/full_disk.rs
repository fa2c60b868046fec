//! A disk that fills up while agents work. In real time: logs are written by a thread of their own.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::files::Disk;
use mainpath_types::*;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

/// Bounds a wait. Nothing here takes this long; what does, hangs.
const LONG: Duration = Duration::from_secs(60);

/// What a watcher sees until its trace rests: the events, and the words about the driving.
async fn seen(watcher: &mut Watcher) -> (Vec<Event>, Vec<String>, Phase) {
    let (mut events, mut notices) = (Vec::new(), Vec::new());
    let mut phases = watcher.phase();
    loop {
        tokio::select! {
            biased;
            live = watcher.next() => match live.unwrap() {
                Live::Event(event) => events.push((*event).clone()),
                Live::Notice(text) => notices.push(text),
                Live::Delta { .. } => {}
            },
            phase = soon("rest", phases.wait_for(|phase| *phase != Phase::Running)) => {
                return (events, notices, phase.unwrap().clone());
            }
        }
    }
}

/// What people are told is one line that says what is wrong.
fn is_clear(problem: &str) -> bool {
    problem.contains("cannot be written") && problem.contains("no storage space") && !problem.contains('\n')
}

#[tokio::test]
async fn a_trace_that_finds_no_room_for_its_beginning_is_refused_at_once_and_leaves_nothing() {
    let data = TempDir::new().unwrap();
    let (place, disk) = Place::on_disk(&data, Brain::steps(ALL_KINDS));
    let runtime = place.runtime();
    runtime.start(&local(), &id("before"), place.spec(), Mail::message("do all")).await.unwrap();
    settled(&runtime, &id("before")).await;
    let mut begun = 0;
    for n in 0..20u32 {
        let trace = id(&format!("t{n}"));
        disk.set_left(u64::from(n) * 900);
        let started = runtime.start(&local(), &trace, place.spec(), Mail::message("do all")).await;
        disk.set_left(u64::MAX);
        let is_there = place.store.list(&local()).await.unwrap().iter().any(|entry| entry.trace == trace);
        match started {
            Ok(()) => {
                begun += 1;
                assert!(is_there, "{n}");
                settled(&runtime, &trace).await;
            }
            Err(RuntimeError::Unwritable { problem, cause }) => {
                assert!(is_clear(&problem) && !is_there, "{n}: {problem}");
                assert!(problem.ends_with("; the trace was not begun, and nothing of it is kept"), "{n}: {problem}");
                assert_eq!(cause, std::io::ErrorKind::StorageFull, "{n}");
                // The same id is free.
                runtime.start(&local(), &trace, place.spec(), Mail::message("do all")).await.unwrap();
                settled(&runtime, &trace).await;
            }
            Err(other) => panic!("{n}: {other}"),
        }
    }
    assert!((1..20).contains(&begun), "{begun} of 20 found room");
}

#[tokio::test]
async fn a_disk_that_is_full_for_a_moment_is_told_once_and_changes_nothing_but_the_time() {
    let data = TempDir::new().unwrap();
    let (place, disk) = Place::on_disk(&data, Brain::steps(ALL_KINDS));
    let runtime = place.runtime();
    let mut was_full = 0;
    for n in 0..30u32 {
        let trace = id(&format!("t{n}"));
        runtime.start(&local(), &trace, place.spec(), Mail::message("do all")).await.unwrap();
        let mut watcher = runtime.watch(&local(), &trace, 1);
        // Full at any byte of what comes after the start, and free again as soon as that is told.
        disk.set_left(u64::from(n) * 241);
        let mut notices = Vec::new();
        let mut events = Vec::new();
        while !events.last().is_some_and(run_finished) {
            match soon("the end", watcher.next()).await.unwrap() {
                Live::Event(event) => events.push((*event).clone()),
                Live::Notice(text) => {
                    disk.set_left(u64::MAX);
                    notices.push(text);
                }
                Live::Delta { .. } => {}
            }
        }
        disk.set_left(u64::MAX);
        assert!(notices.len() <= 1 && notices.iter().all(|text| is_clear(text)), "{trace}: {notices:?}");
        was_full += notices.len();
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle, "{trace}");
        assert_eq!(place.answer(&trace).await, ALL_DONE, "{trace}");
        let log = place.inspect(&trace).await;
        assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Final], vec![Resolution::Ok; 7]), "{trace}");
        assert_eq!(events, log, "{trace}: what was seen is what is there");
        assert_eq!(["a", "b", "c"].map(|key| place.hands.count(key)), [n + 1; 3], "{trace}");
    }
    assert!(was_full >= 20, "{was_full}");
}

/// When the disk fills up for good.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fills {
    /// While the tool runs, so that its result cannot be written.
    InTool,
    /// While the model answers, so that its answer cannot be written.
    InAnswer,
}

/// The store is tried again at once, and a trace without room after this time.
fn retries(look_for_room: Duration) -> StoreRetries {
    StoreRetries { pauses: Arc::new([Duration::from_millis(5); 6]), look_for_room }
}

/// A run on a disk that fills up and stays full until the trace is given up. Gives what was seen until then.
async fn filled(data: &TempDir, when: Fills, look_for_room: Duration) -> (Place, Arc<Disk>, Runtime, Vec<Event>) {
    let filling: Arc<OnceLock<Arc<Disk>>> = Arc::default();
    let fills = Arc::clone(&filling);
    let brain = Brain::new(move |seen| {
        if when == Fills::InAnswer && seen.results().len() == 1 {
            fills.get().unwrap().set_left(0);
        }
        step(&[&[("count", "a")]], seen)
    });
    let (place, disk) = Place::on_disk(data, brain);
    assert!(filling.set(Arc::clone(&disk)).is_ok());
    if when == Fills::InTool {
        let disk = Arc::clone(&disk);
        *place.hands.hook.lock().unwrap() = Some(Box::new(move || disk.set_left(100)));
    }
    let runtime = Runtime::new(Config { store_retries: retries(look_for_room), ..place.config() });
    let trace = id("t");
    let mut watcher = runtime.watch(&local(), &trace, 1);
    runtime.start(&local(), &trace, place.spec(), Mail::message("count")).await.unwrap();
    let (events, notices, phase) = seen(&mut watcher).await;
    let Phase::Full(problem) = phase else { panic!("{when:?}: {phase:?}, {}", names(&events)) };
    assert!(is_clear(&problem), "{problem}");
    assert!(notices.len() == 1 && is_clear(&notices[0]), "{notices:?}");
    assert!(reasons(&events).is_empty(), "{}", names(&events));
    (place, disk, runtime, events)
}

/// The runtime that knew what it could not write writes it when there is room, and goes on to the end: at once where it is resumed, else a
/// little later by itself.
async fn resumed_by_the_same(when: Fills, by_itself: bool) {
    let data = TempDir::new().unwrap();
    // Whoever resumes it does not wait for that.
    let look_for_room = if by_itself { Duration::from_millis(200) } else { 2 * LONG };
    let (place, disk, runtime, before) = filled(&data, when, look_for_room).await;
    let trace = id("t");
    disk.set_left(u64::MAX);
    if !by_itself {
        runtime.resume(&local(), &trace);
    }
    let mut phase = runtime.phase(&local(), &trace);
    let ended = soon("the end", phase.wait_for(|phase| !matches!(phase, Phase::Running | Phase::Full(_)))).await;
    assert_eq!(*ended.unwrap(), Phase::Idle, "{when:?}");
    let log = place.inspect(&trace).await;
    assert!(log.starts_with(&before), "{when:?}: lost:\n{}\n{}", names(&before), names(&log));
    assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Final], vec![Resolution::Ok]), "{when:?}");
    assert_eq!((place.hands.count("a"), place.answer(&trace).await.as_str()), (1, "final: counted a"), "{when:?}");
    // Nothing was asked again.
    assert_eq!(place.brain.requests().len(), 2, "{when:?}");
}

/// Another process does not know it, and says so instead of doing it again.
async fn resumed_by_another(when: Fills) {
    let data = TempDir::new().unwrap();
    let (place, _, runtime, before) = filled(&data, when, 2 * LONG).await;
    let trace = id("t");
    drop(runtime);
    let Place { hands, workspace, brain, store, scheduler, .. } = place;
    drop((store, scheduler));
    let there = Place { hands, workspace, ..Place::files(&data, Brain::steps(&[&[("count", "a")]])) };
    let runtime = there.runtime();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle, "{when:?}");
    let log = there.inspect(&trace).await;
    assert!(log.starts_with(&before), "{when:?}: lost:\n{}\n{}", names(&before), names(&log));
    // The tool's result is nowhere; the model's answer is asked for again.
    let (end, requests) = match when {
        Fills::InTool => (Resolution::Unknown, [1, 1]),
        Fills::InAnswer => (Resolution::Ok, [2, 1]),
    };
    assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Final], vec![end]), "{when:?}");
    assert_eq!([brain.requests().len(), there.brain.requests().len()], requests, "{when:?}");
    assert_eq!(there.hands.count("a"), 1, "{when:?}");
}

#[tokio::test]
async fn a_disk_that_stays_full_is_told_once_and_resuming_with_room_ends_the_run() {
    tokio::join!(
        resumed_by_the_same(Fills::InTool, false),
        resumed_by_the_same(Fills::InAnswer, false),
        resumed_by_the_same(Fills::InTool, true),
        resumed_by_the_same(Fills::InAnswer, true),
        resumed_by_another(Fills::InTool),
        resumed_by_another(Fills::InAnswer),
    );
}
