//! Several users decide on one call at once: the outcome agrees with the answer that each of them got.

use crate::support::{COUNT, Place, WRITE};
use mainpath::event::RunEvent;
use mainpath::trace::Sent;
use mainpath::types::{CallId, EventKind, GoalOp};
use mainpath::{Error, ErrorKind, Host, Trace};
use std::time::Duration;

/// A decision and its answer.
struct Told {
    approves: bool,
    answer: Result<(), Error>,
}

/// Has `count` people decide within some milliseconds, every second one denying. In each round they come in another order.
async fn decide(trace: &Trace, call: CallId, count: usize, round: usize) -> Vec<Told> {
    let deciders = (0..count).map(|nth| {
        let trace = trace.clone();
        let comes = Duration::from_millis(((nth + 1) * (round + 1) % 11) as u64 * 3);
        tokio::spawn(async move {
            tokio::time::sleep(comes).await;
            let approves = nth % 2 == 0;
            let answer = match approves {
                true => trace.approve(call).await,
                false => trace.deny(call, None).await,
            };
            Told { approves, answer }
        })
    });
    let mut told = Vec::new();
    for decider in deciders.collect::<Vec<_>>() {
        told.push(decider.await.unwrap());
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_happens_to_a_call_agrees_with_what_each_decider_was_told() {
    let rounds = if std::env::var_os("MAINPATH_HARDENING").is_some() { 200 } else { 15 };
    for round in 0..rounds {
        let place = Place::new(WRITE);
        let mut run = place.agent().await.start("Write it.").await.unwrap();
        let call = loop {
            if let RunEvent::ApprovalRequired(pending) = run.next().await.unwrap().unwrap() {
                break pending.call;
            }
        };
        let trace = run.trace().clone();
        let told = decide(&trace, call, 8, round).await;
        run.outcome().await.unwrap();
        let accepted =
            |approves: bool| told.iter().filter(|one| one.approves == approves && one.answer.is_ok()).count();
        let events = trace.log(1).await.unwrap().events;
        let count = |is: fn(&EventKind) -> bool| events.iter().filter(|event| is(&event.kind)).count();
        let granted = count(|kind| matches!(kind, EventKind::ApprovalGranted(_)));
        let reopened = count(|kind| matches!(kind, EventKind::CallReopened(_)));
        let ran = place.work().join("new.txt").exists();
        let state = (round, ran, accepted(true), accepted(false), granted, reopened);
        assert_eq!(reopened, 0, "{state:?}");
        // Each approval that was accepted is in the log, and no other is.
        assert_eq!(granted, accepted(true), "{state:?}");
        // A denial that was accepted holds, and without one an approval does.
        assert_eq!(ran, accepted(false) == 0, "{state:?}");
        assert!(accepted(true) + accepted(false) > 0, "{state:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_for_a_tool_that_this_host_does_not_have_are_checked_all_the_same() {
    let place = Place::new(COUNT);
    let mut run = place.agent().await.ask("count_words").start("Count.").await.unwrap();
    let call = loop {
        if let RunEvent::ApprovalRequired(pending) = run.next().await.unwrap().unwrap() {
            break pending.call;
        }
    };
    let other = Host::builder().data_dir(place.work().join("../data")).build().await.unwrap();
    let trace = other.trace(run.trace().id()).await.unwrap();
    let refused = |error: Error| (error.kind(), error.message().to_string());
    let still = format!("call {call} is still waiting");
    assert_eq!(
        refused(trace.approve_with(call, "{\"text\": 1}").await.unwrap_err()),
        (ErrorKind::Invalid, format!("Wrong arguments for count_words: at /text: 1 is not of type string; {still}"))
    );
    assert_eq!(
        refused(trace.approve_with(call, "one two").await.unwrap_err()),
        (ErrorKind::Invalid, format!("the arguments are not JSON; {still}"))
    );
    trace.approve_with(call, "{\"text\": \"one two\"}").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().answer, "Three words.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_and_a_name_are_changed_when_the_call_returns_though_another_host_drives() {
    let place = Place::new("[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n");
    let mut run = place.agent().await.start("Wait.").await.unwrap();
    while !matches!(run.next().await.unwrap().unwrap(), RunEvent::ModelRequest(_)) {}
    let trace = place.host().await.trace(run.trace().id()).await.unwrap();
    let add = GoalOp::Add { description: "Rest.".into(), reason: String::new(), under: None, after: None };
    assert_eq!(trace.goal(vec![add]).await.unwrap(), Sent::Applied);
    assert_eq!(trace.rename("A name").await.unwrap(), Sent::Applied);
    let state = trace.state().await.unwrap();
    let goals: Vec<&str> = state.goals.list().iter().map(|goal| &*goal.description).collect();
    assert_eq!((goals, state.name.as_deref()), (vec!["Rest."], Some("A name")));
    trace.stop().await.unwrap();
}
