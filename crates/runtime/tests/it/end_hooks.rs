//! Hooks at the end of a run that hang.

use crate::support::*;
use crate::waits::Silent;
use mainpath_runtime::*;
use mainpath_types::*;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// A run whose hook hangs at its end.
struct HangingEnd {
    place: Place,
    runtime: Runtime,
    hook: Arc<Silent>,
}

/// How long the longest hook of these tests may take.
const HOUR: Duration = Duration::from_secs(3_600);

impl HangingEnd {
    /// Starts a run with this model. `hooks`: how many hang, one after the other.
    async fn start(brain: Arc<Brain>, hooks: usize, run_timeout: Option<Duration>) -> HangingEnd {
        let place = Place::memory(brain);
        let hook = Arc::new(Silent(Arc::default()));
        let of_name = |n: usize| mainpath_runtime::Hook {
            name: format!("guard{n}"),
            points: vec![HookPoint::RunEnd],
            tools: Vec::new(),
            timeout: HOUR,
            on_failure: OnFailure::Open,
            runner: Arc::clone(&hook) as Arc<dyn HookRunner>,
        };
        let runtime = Runtime::new(Config { hooks: (0..hooks).map(of_name).collect(), ..place.config() });
        let mut spec = place.spec();
        spec.limits.run_timeout_ms = run_timeout.map(|limit| limit.as_millis() as u64);
        runtime.start(&local(), &id("t"), spec, Mail::message("go")).await.unwrap();
        HangingEnd { place, runtime, hook }
    }

    /// Waits until this many hooks were called.
    async fn is_called(&self, times: u32) {
        let called = async {
            while self.hook.0.load(Ordering::SeqCst) < times {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(HOUR, called).await.expect("the hook is called");
    }

    /// Waits until nothing of the trace is under way; returns how long that took.
    async fn is_idle(&self) -> Duration {
        let asked = Instant::now();
        let mut phases = self.runtime.phase(&local(), &id("t"));
        timeout(HOUR, phases.wait_for(|phase| *phase == Phase::Idle)).await.expect("the trace is idle").unwrap();
        asked.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_at_the_end_of_a_run_that_was_ended_gets_a_grace_and_no_more() {
    for is_stop in [true, false] {
        let limit = (!is_stop).then_some(Duration::from_secs(5));
        let hanging = HangingEnd::start(Brain::new(|_| Thought::Hang), 1, limit).await;
        if is_stop {
            while hanging.place.brain.requests().is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
            hanging.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
        }
        hanging.is_called(1).await;
        let took = hanging.is_idle().await;
        let (least, most) = (Duration::from_secs(4), Duration::from_secs(7));
        assert!(least <= took && took <= most, "stop: {is_stop}, {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_hooks_that_hang_at_the_end_of_a_run_are_all_ended_by_one_stop() {
    let hanging = HangingEnd::start(Brain::steps(&[]), 4, None).await;
    hanging.is_called(1).await;
    hanging.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
    let took = hanging.is_idle().await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_ends_a_hook_at_the_end_of_a_run_stops_no_later_run() {
    let hanging = HangingEnd::start(Brain::steps(&[]), 1, None).await;
    for run in 1..=2 {
        hanging.is_called(run).await;
        hanging.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
        if run == 1 {
            hanging.runtime.send(&local(), &id("t"), &Mail::message("more")).await.unwrap();
        }
    }
    hanging.is_idle().await;
    let log = hanging.place.inspect(&id("t")).await;
    assert_eq!(reasons(&log), [FinishReason::Final, FinishReason::Final]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_a_hook_at_the_end_of_a_run_holds_the_messages_sent_before_it() {
    let hanging = HangingEnd::start(Brain::steps(&[]), 1, None).await;
    hanging.is_called(1).await;
    hanging.runtime.send(&local(), &id("t"), &Mail::message("more")).await.unwrap();
    hanging.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
    let took = hanging.is_idle().await;
    assert!(took <= Duration::from_secs(12), "{took:?}");
    let log = hanging.place.inspect(&id("t")).await;
    assert_eq!(reasons(&log), [FinishReason::Final, FinishReason::Stopped]);
    assert_eq!(hanging.place.brain.requests().len(), 1, "the model is not asked");
    // Whoever speaks again lets the message go that was held.
    hanging.runtime.send(&local(), &id("t"), &Mail::message("and this")).await.unwrap();
    for run in 3..=4 {
        hanging.is_called(run).await;
        hanging.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
    }
    hanging.is_idle().await;
    let log = hanging.place.inspect(&id("t")).await;
    let ends = [FinishReason::Final, FinishReason::Stopped, FinishReason::Final];
    assert_eq!(reasons(&log)[..3], ends);
}

#[tokio::test(start_paused = true)]
async fn only_what_ends_a_run_ends_a_hook_at_its_end() {
    let hanging = HangingEnd::start(Brain::steps(&[]), 1, None).await;
    hanging.is_called(1).await;
    let interrupt = Mail::Interrupt { call: call("1.0") };
    hanging.runtime.send(&local(), &id("t"), &interrupt).await.unwrap();
    let took = hanging.is_idle().await;
    assert!(took >= HOUR - Duration::from_secs(60), "{took:?}");
    let hanging = HangingEnd::start(Brain::steps(&[]), 1, None).await;
    hanging.is_called(1).await;
    hanging.runtime.send(&local(), &id("t"), &Mail::Clear).await.unwrap();
    let took = hanging.is_idle().await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_leaves_hooks_that_hang_at_the_end_of_a_run_a_grace_and_no_more() {
    for hooks in [1, 3] {
        let hanging = HangingEnd::start(Brain::steps(&[]), hooks, None).await;
        hanging.is_called(1).await;
        let (mut watcher, notices) =
            (hanging.runtime.watch(&local(), &id("t"), 1), Arc::<Mutex<Vec<String>>>::default());
        let told = Arc::clone(&notices);
        let watching = tokio::spawn(async move {
            while let Ok(live) = watcher.next().await {
                if let Live::Notice(notice) = live {
                    told.lock().unwrap().push(notice);
                }
            }
        });
        sleep(Duration::from_millis(100)).await;
        let asked = Instant::now();
        hanging.runtime.rest().await;
        let took = asked.elapsed();
        let (least, most) = (Duration::from_secs(4), Duration::from_secs(7));
        assert!(least <= took && took <= most, "{hooks} hooks: {took:?}");
        assert_eq!(*hanging.runtime.phase(&local(), &id("t")).borrow(), Phase::Idle);
        assert_eq!(reasons(&hanging.place.inspect(&id("t")).await), [FinishReason::Final]);
        sleep(Duration::from_secs(1)).await;
        watching.abort();
        let ended = "hooks at the end were ended before they had finished: the run was stopped, its time was up, or the process shuts down";
        let mut notices = std::mem::take(&mut *notices.lock().unwrap());
        // Each hook that was called says that it was ended.
        notices.retain(|notice| !notice.starts_with("the hook guard"));
        assert_eq!(notices, [ended]);
    }
}
