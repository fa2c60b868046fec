//! What was said to a trace before it goes on holds for what begins then; and speaking to one that nobody drives begins nothing.

use crate::support::*;
use mainpath_core::{State, apply};
use mainpath_runtime::*;
use mainpath_types::*;
use std::sync::Arc;

async fn post(place: &Place, trace: &TraceId, mail: Mail) -> MailId {
    let body = serde_json::to_string(&mail).unwrap();
    place.store.post(&local(), trace, mail.is_urgent(), body).await.unwrap()
}

fn saying(mode: MessageMode, text: &str) -> Mail {
    Mail::say(mode, text)
}

fn planning() -> Mail {
    let (description, reason) = ("Ship.".into(), String::new());
    Mail::Goals { ops: vec![GoalOp::Add { description, reason, under: None, after: None }] }
}

/// A trace whose call waits for an approval, and that nobody drives.
async fn waiting(steps: &'static [&'static [(&'static str, &'static str)]]) -> (Place, TraceId) {
    let (place, trace) = (Place::memory(Brain::steps(steps)), id("t"));
    let runtime = place.runtime();
    run(&runtime, &trace, place.asking(), "count").await;
    (place, trace)
}

async fn resumed(place: &Place, trace: &TraceId) -> Phase {
    let runtime = place.runtime();
    runtime.resume(&local(), trace);
    settled(&runtime, trace).await
}

async fn state(place: &Place, trace: &TraceId) -> State {
    let mut state = State::new(trace.clone());
    place.inspect(trace).await.iter().for_each(|event| apply(&mut state, event));
    state
}

#[tokio::test(start_paused = true)]
async fn a_spec_holds_for_the_next_request_whatever_was_said_before_it() {
    for said in [
        saying(MessageMode::Steer, "rather not"),
        saying(MessageMode::FollowUp, "and then this"),
        Mail::approve(call("2.0")),
        Mail::Deny { call: call("2.0"), reason: None },
    ] {
        let (place, trace) = waiting(&[&[("count", "a")], &[("count", "b")]]).await;
        post(&place, &trace, said.clone()).await;
        let spec = Spec { instructions: "Be long.".into(), ..place.asking() };
        post(&place, &trace, Mail::SetSpec { spec: Arc::new(spec) }).await;
        if matches!(said, Mail::Message { mode: MessageMode::FollowUp, .. }) {
            // It waits until the call has ended.
            post(&place, &trace, Mail::approve(call("2.0"))).await;
        }
        resumed(&place, &trace).await;
        let requests = place.brain.requests();
        let words = |seen: &Seen| seen.body.contains("Be long.");
        let long: Vec<bool> = requests.iter().map(words).collect();
        assert_eq!(long, [false, true], "{said:?}");
        place.inspect(&trace).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_spec_holds_for_the_run_that_a_message_before_it_begins() {
    let place = Place::memory(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    drop(runtime);
    post(&place, &trace, Mail::message("and now?")).await;
    let spec = Spec { instructions: "Be long.".into(), ..place.spec() };
    post(&place, &trace, Mail::SetSpec { spec: Arc::new(spec) }).await;
    assert_eq!(resumed(&place, &trace).await, Phase::Idle);
    let requests = place.brain.requests();
    assert_eq!((requests.len(), requests[1].body.contains("Be long.")), (2, true));
    let log = place.inspect(&trace).await;
    let specs: Vec<(EventId, EventId)> = log
        .iter()
        .filter_map(
            |event| if let EventKind::RunStarted(data) = &event.kind { Some((event.id, data.spec)) } else { None },
        )
        .collect();
    assert_eq!(specs.len(), 2);
    assert!(specs[1].1 > specs[0].0, "the second run begins under the second spec: {specs:?}");
}

#[tokio::test(start_paused = true)]
async fn a_steer_stops_a_call_that_was_approved_and_has_not_started() {
    let (place, trace) = waiting(&[&[("count", "a")]]).await;
    post(&place, &trace, Mail::approve(call("2.0"))).await;
    post(&place, &trace, saying(MessageMode::Steer, "stop that")).await;
    assert_eq!(resumed(&place, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    assert_eq!((resolutions(&log), place.hands.count("a")), (vec![Resolution::Skipped], 0));
    assert_eq!(place.brain.requests()[1].said(), ["count", "stop that"]);
}

#[tokio::test(start_paused = true)]
async fn a_steer_goes_before_what_is_said_for_later_also_with_a_plan_in_between() {
    let place = Place::memory(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    drop(runtime);
    post(&place, &trace, saying(MessageMode::FollowUp, "later")).await;
    post(&place, &trace, planning()).await;
    post(&place, &trace, saying(MessageMode::Steer, "now")).await;
    assert_eq!(resumed(&place, &trace).await, Phase::Idle);
    let said: Vec<Vec<String>> = place.brain.requests().iter().map(Seen::said).collect();
    assert!(said[1].ends_with(&["now".into()]) && said[2].ends_with(&["later".into()]), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn ending_planning_and_clearing_a_trace_that_nobody_drives_begins_nothing() {
    for mail in [Mail::Stop, planning(), Mail::Clear] {
        for crashed in [false, true] {
            let (place, trace) = waiting(&[&[("count", "a")]]).await;
            if mail.is_urgent() || crashed {
                post(&place, &trace, Mail::approve(call("2.0"))).await;
            }
            let next = post(&place, &trace, saying(MessageMode::FollowUp, "and then?")).await;
            let steer = post(&place, &trace, saying(MessageMode::Steer, "or rather this")).await;
            let runtime = place.runtime();
            let sent = runtime.send(&local(), &trace, &mail).await.unwrap();
            runtime.settle(&local(), &trace, sent).await.unwrap();
            drop(runtime);
            assert_eq!((place.brain.requests().len(), place.hands.count("a")), (1, 0), "{mail:?}");
            let state = state(&place, &trace).await;
            assert!(state.log.mail.has(sent), "{mail:?}");
            let clears = mail == Mail::Clear;
            assert_eq!((state.log.mail.has(next), state.log.mail.has(steer)), (clears, clears), "{mail:?}");
            assert_eq!(state.run.is_some(), matches!(mail, Mail::Goals { .. }), "{mail:?}");
            if mail == Mail::Stop {
                // What waited is said when somebody goes on with it.
                assert_eq!(resumed(&place, &trace).await, Phase::Idle);
                assert_eq!(place.brain.requests().len(), 3);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_a_trace_that_nobody_drives_answers_nothing_that_waits() {
    let place = Place::memory(Brain::new(|seen| match wants_summary(seen) {
        true => say("- **Goal**: it was said."),
        false => say("a long answer ".repeat(300)),
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    drop(runtime);
    let next = post(&place, &trace, Mail::message("and now?")).await;
    let runtime = place.runtime();
    let sent = runtime.send(&local(), &trace, &Mail::Compact { hint: None }).await.unwrap();
    runtime.settle(&local(), &trace, sent).await.unwrap();
    let log = place.inspect(&trace).await;
    let asked: Vec<bool> = place.brain.requests().iter().map(wants_summary).collect();
    assert_eq!(asked, [false, true], "{}", names(&log));
    assert!(!state(&place, &trace).await.log.mail.has(next));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_made_costs_nothing_and_calls_run_without_the_model() {
    let (place, trace) = waiting(&[&[("count", "a")]]).await;
    // The key of the model is gone.
    let before = state(&place, &trace).await.spent.usage;
    let gone = |place: &Place| {
        let models = TestModels(std::sync::Arc::clone(&place.brain));
        struct Gone(TestModels);
        impl Models for Gone {
            fn find(&self, model: &str) -> Result<std::sync::Arc<dyn mainpath_providers::Provider>, NoModel> {
                let gone = || std::io::Error::other("there is no key for brain");
                if model == "brain" { Err(NoModel::Host(std::sync::Arc::new(gone()))) } else { self.0.find(model) }
            }
        }
        Runtime::new(Config { models: std::sync::Arc::new(Gone(models)), ..place.config() })
    };
    post(&place, &trace, Mail::approve(call("2.0"))).await;
    for _ in 0..2 {
        let runtime = gone(&place);
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Failed("there is no key for brain".into()));
    }
    let stopped = state(&place, &trace).await;
    assert_eq!((place.hands.count("a"), stopped.spent.usage, stopped.model), (1, before, None));
    // With another one it goes on as if nothing had been.
    let runtime = gone(&place);
    let spec = Spec { model: "brain-2".into(), ..place.asking() };
    runtime.send(&local(), &trace, &Mail::SetSpec { spec: Arc::new(spec) }).await.unwrap();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    assert_eq!(place.answer(&trace).await, "final: counted a");
    let log = place.inspect(&trace).await;
    assert_eq!(resolutions(&log), [Resolution::Ok]);
}

#[tokio::test(start_paused = true)]
async fn what_is_decided_and_dropped_before_it_was_sent_costs_nothing() {
    let place = Place::memory(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "hello").await;
    drop(runtime);
    let before = state(&place, &trace).await.spent.usage;
    post(&place, &trace, Mail::message("and now?")).await;
    post(&place, &trace, Mail::Clear).await;
    assert_eq!(resumed(&place, &trace).await, Phase::Idle);
    assert_eq!((state(&place, &trace).await.spent.usage, place.brain.requests().len()), (before, 1));
}
