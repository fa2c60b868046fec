//! Context hooks of a program that embeds the runtime: what they are told, and that no run waits for one that fails.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_tools::Fut;
use mainpath_types::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a hook does when it is asked.
#[derive(Clone, Copy)]
enum Does {
    Say(&'static str),
    Fail,
    Panic,
    Hang,
}

struct Speaker {
    does: Does,
    told: Arc<Mutex<Vec<Value>>>,
}

impl ContextHook for Speaker {
    fn text<'a>(&'a self, trace: &'a Value) -> Fut<'a, Result<String, HookError>> {
        Box::pin(async move {
            self.told.lock().unwrap().push(trace.clone());
            match self.does {
                Does::Say(text) => Ok(text.into()),
                Does::Fail => Err(HookError::failed("no news today")),
                Does::Panic => panic!("a defect of the hook"),
                Does::Hang => std::future::pending().await,
            }
        })
    }
}

type Told = Arc<Mutex<Vec<Value>>>;

fn hooks(timeout: Duration, all: &[(&str, Does)]) -> (Hooks, Told) {
    let told = Told::default();
    let named = |(name, does): &(&str, Does)| NamedContextHook {
        name: name.to_string(),
        timeout,
        hook: Arc::new(Speaker { does: *does, told: Arc::clone(&told) }),
    };
    let hooks: Vec<NamedContextHook> = all.iter().map(named).collect();
    (Hooks::default().with_context(hooks), told)
}

/// A spec that has the model reminded after every turn, with these hooks.
fn reminded(place: &Place, hooks: &[&str]) -> Spec {
    let mut spec = place.spec();
    spec.limits.inject_every = Some(1);
    spec.context_hooks = hooks.iter().map(|hook| hook.to_string()).collect();
    spec
}

fn injected(log: &[Event]) -> Vec<Injected> {
    let pick = |event: &Event| if let EventKind::Injected(data) = &event.kind { Some(data.clone()) } else { None };
    log.iter().filter_map(pick).collect()
}

#[tokio::test(start_paused = true)]
async fn hooks_are_told_where_the_trace_stands_and_one_that_fails_is_passed_over() {
    let place = Place::memory(Brain::steps(&[&[("count", "sheep")]]));
    let all =
        [("news", Does::Say("one message")), ("failing", Does::Fail), ("broken", Does::Panic), ("slow", Does::Hang)];
    let (hooks, told) = hooks(Duration::from_millis(50), &all);
    let runtime = Runtime::new(Config { hooks, ..place.config() });
    let spec = reminded(&place, &["news", "failing", "broken", "slow", "nonesuch"]);
    assert_eq!(run(&runtime, &id("t"), spec, "count the sheep").await, Phase::Idle);
    let log = place.inspect(&id("t")).await;
    let reminders = injected(&log);
    assert_eq!(reminders.len(), 1);
    let said = |hook: &str, text: &str, problem: Option<&str>| HookText {
        hook: hook.into(),
        text: text.into(),
        problem: problem.map(Into::into),
    };
    let expected = [
        said("news", "one message", None),
        said("failing", "", Some("no news today")),
        said("broken", "", Some("it panicked: a defect of the hook")),
        said("slow", "", Some("it took longer than 50ms")),
        said("nonesuch", "", Some("there is no such hook here")),
    ];
    assert_eq!(reminders[0].hooks, expected);
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 4);
    assert_eq!(
        (&told[0]["task"], &told[0]["turn"], &told[0]["trace_id"]),
        (&json!("count the sheep"), &json!(1), &json!("t"))
    );
    assert_eq!(told[0]["goals"][0]["description"], "count the sheep");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_hook_hangs_can_be_stopped_and_steered() {
    let place = Place::memory(Brain::steps(&[&[("count", "sheep")]]));
    let (hooks, told) = hooks(Duration::from_secs(3_600), &[("slow", Does::Hang)]);
    let runtime = Runtime::new(Config { hooks, ..place.config() });
    for (trace, mail, reason) in [
        ("stopped", Mail::Stop, FinishReason::Stopped),
        ("steered", Mail::say(MessageMode::Steer, "go on"), FinishReason::Final),
    ] {
        told.lock().unwrap().clear();
        let message = Mail::message("count");
        runtime.start(&local(), &id(trace), reminded(&place, &["slow"]), message).await.unwrap();
        eventually("the hook is asked", || !told.lock().unwrap().is_empty()).await;
        runtime.send(&local(), &id(trace), &mail).await.unwrap();
        let mut watcher = runtime.watch(&local(), &id(trace), 1);
        until(&mut watcher, run_finished).await;
        let log = place.inspect(&id(trace)).await;
        assert_eq!((reasons(&log), injected(&log).len()), (vec![reason], 0), "{trace}");
    }
}
