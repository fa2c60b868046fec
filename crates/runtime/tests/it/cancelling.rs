//! Ending what runs: confirmed, not hoped for.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_testkit::model_server::{Answer, Behaviour, ModelServer, Reply};
use mainpath_tools::{Fut, ProbeAnswer, Tool, ToolContext, ToolDoc};
use mainpath_types::*;
use serde_json::json;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

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

/// A model server whose first answer is this; all others are a text.
fn server(first: impl Into<Reply>) -> ModelServer {
    let first = first.into();
    let reply = move |n| if n == 1 { first.clone() } else { Answer::text("Done after all.").into() };
    ModelServer::start(Behaviour::new(move |request| reply(request.n))).unwrap()
}

/// The roles of a request's messages, which the server has found valid.
fn roles(server: &ModelServer, request: usize) -> Vec<String> {
    assert_eq!(server.violations(), Vec::<String>::new());
    let body = server.requests()[request].body().clone();
    body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_string()).collect()
}

async fn goes_on(place: &Place, runtime: &Runtime, trace: &TraceId) {
    runtime.send(&local(), trace, &Mail::Continue).await.unwrap();
    runtime.resume(&local(), trace);
    assert_eq!(settled(runtime, trace).await, Phase::Idle);
    assert_eq!(place.answer(trace).await, "Done after all.");
    assert_eq!(reasons(&place.inspect(trace).await), [FinishReason::Stopped, FinishReason::Final]);
}

#[tokio::test]
async fn a_stop_in_the_middle_of_an_answer_closes_the_connection_and_the_trace_can_go_on() {
    let server = server(Reply::Stall(Answer::text("This is the beginning of a long answer that has no end."), 700));
    let place = Place::memory_in_real_time(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    let mut watcher = runtime.watch(&local(), &trace, 1);
    let spec = Spec { model: server.model(), ..place.spec() };
    runtime.start(&local(), &trace, spec, Mail::message("go")).await.unwrap();
    while !matches!(soon("its first words", watcher.next()).await.unwrap(), Live::Delta { .. }) {}
    assert_eq!((server.count(), server.left()), (1, 0));
    runtime.send(&local(), &trace, &Mail::Stop).await.unwrap();
    until(&mut watcher, run_finished).await;
    eventually("the client leaves", || server.left() == 1).await;
    let log = place.inspect(&trace).await;
    assert!(names(&log).ends_with("model_requested run_closing model_abandoned run_finished"), "{}", names(&log));
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    goes_on(&place, &runtime, &trace).await;
    // What had come of the answer is nowhere.
    assert_eq!([roles(&server, 0), roles(&server, 1)], [["system", "user"]; 2]);
}

#[tokio::test]
async fn after_a_stop_in_the_middle_of_a_turn_every_call_has_its_result_and_the_trace_can_go_on() {
    let calls = Answer::call("look", json!({"key": "x"}));
    let calls = calls.and_call("stubborn", json!({"key": "a"})).and_call("count", json!({"key": "b"}));
    let (server, place) = (server(calls), Place::memory_in_real_time(Brain::steps(&[])));
    let (runtime, trace) = (place.runtime(), id("t"));
    let mut watcher = runtime.watch(&local(), &trace, 1);
    let spec = Spec { model: server.model(), ..place.spec() };
    runtime.start(&local(), &trace, spec, Mail::message("go")).await.unwrap();
    eventually("the call runs", || place.hands.count("a") == 1).await;
    runtime.send(&local(), &trace, &Mail::Stop).await.unwrap();
    until(&mut watcher, |event| matches!(event.kind, EventKind::CallCancelling(_))).await;
    assert_eq!((place.hands.count("end of a"), reasons(&place.log(&trace).await)), (0, Vec::new()));
    place.hands.gate.add_permits(1);
    until(&mut watcher, run_finished).await;
    assert_eq!((place.hands.count("end of a"), place.hands.count("b")), (1, 0));
    use Resolution::*;
    // What had not started ends first.
    assert_eq!(resolutions(&place.log(&trace).await), [Ok, Interrupted, Interrupted]);
    goes_on(&place, &runtime, &trace).await;
    assert_eq!(roles(&server, 1), ["system", "user", "assistant", "tool", "tool", "tool"]);
}

/// A call that never ends, and of which nobody says whether it was made.
struct Unknowable(Arc<AtomicU32>);

impl Tool for Unknowable {
    type Args = Args;
    const NAME: &'static str = "unknowable";

    fn describe(&self) -> ToolDoc {
        ToolDoc { can_probe: true, ..ToolDoc::new("a tool of the tests", EffectClass::SideEffecting) }
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: Args) -> Fut<'a, ToolOutput> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(pending())
    }

    fn probe<'a>(&'a self, _: &'a ToolContext, _: Args) -> Fut<'a, ProbeAnswer> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(pending())
    }
}

#[test]
fn a_stop_ends_the_wait_for_whether_a_call_of_an_earlier_process_was_made() {
    let process = || {
        let mut process = tokio::runtime::Builder::new_current_thread();
        process.enable_all().start_paused(true).build().unwrap()
    };
    let place = Place::memory(Brain::steps(&[&[("unknowable", "a")]]));
    let asked = Arc::new(AtomicU32::new(0));
    let tools = place.config().tools.with(Unknowable(Arc::clone(&asked)));
    let runtime = || Runtime::new(Config { tools: tools.clone(), ..place.config() });
    let reached = async |count| {
        while asked.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let first = process();
    let killed = first.block_on(async {
        let runtime = runtime();
        let spec = Spec { tools: tools.specs(), ..place.spec() };
        runtime.start(&local(), &id("t"), spec, Mail::message("go")).await.unwrap();
        soon("the call", reached(1)).await;
        runtime
    });
    // It and all its tasks are dropped in mid-air.
    drop(first);
    drop(killed);
    process().block_on(async {
        let runtime = runtime();
        runtime.resume(&local(), &id("t"));
        soon("the probe", reached(2)).await;
        runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
        assert_eq!(settled(&runtime, &id("t")).await, Phase::Idle);
        let log = place.inspect(&id("t")).await;
        assert_eq!((reasons(&log), resolutions(&log)), (vec![FinishReason::Stopped], vec![Resolution::Unknown]));
    });
}
