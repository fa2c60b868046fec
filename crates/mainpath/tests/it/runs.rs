//! Following a run: its text is whole, its outcome is its own, and decisions say what became of them.

use crate::support::{COUNT, Place, WRITE};
use mainpath::prelude::*;
use mainpath::types::{CallId, Seq};
use mainpath_types::ModelErrorKind;
use std::time::Duration;

/// A script whose answers are long, said at once.
fn long() -> (String, String) {
    let words: String = (0..4_000).map(|word| format!("w{word} ")).collect();
    (format!("[[turn]]\nfinal = \"{words}\"\n"), words.trim_end().to_string())
}

async fn text_of(mut run: Run, pause: Duration) -> String {
    let mut text = String::new();
    while let Some(event) = run.next().await {
        if let RunEvent::Text(piece) = event.unwrap() {
            text.push_str(&piece.text);
            tokio::time::sleep(pause).await;
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_text_of_a_run_is_whole_however_fast_it_comes_and_however_slowly_it_is_read() {
    let (script, words) = long();
    let place = Place::new(&script);
    for round in 0..30 {
        let run = place.agent().await.start("Say it.").await.unwrap();
        let pause = if round % 3 == 0 { Duration::from_micros(200) } else { Duration::ZERO };
        assert_eq!(text_of(run, pause).await.trim_end(), words, "round {round}");
    }
}

#[tokio::test]
async fn three_that_speak_at_once_are_each_given_their_own_answer() {
    let script: String = ["zero", "one", "two", "three"].map(|n| format!("[[turn]]\nfinal = \"{n}\"\n")).concat();
    let place = Place::new(&script);
    let first = place.agent().await.start("0?").await.unwrap();
    let trace = first.trace().clone();
    let mut runs = vec![first];
    for n in 1..4 {
        runs.push(trace.say(format!("{n}?")).await.unwrap());
    }
    let mut outcomes = Vec::new();
    for run in runs {
        let outcome = run.outcome().await.unwrap();
        outcomes.push((outcome.run, outcome.answer));
    }
    let own = ["zero", "one", "two", "three"].iter().zip(1u32..).map(|(n, run)| (run, n.to_string()));
    assert_eq!(outcomes, own.collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_refused_is_an_error_and_not_the_answer_of_before() {
    let place = Place::new(&COUNT.replacen("text =", "delay_ms = 300\ntext =", 1));
    let run = place.agent().await.start("Count the words.").await.unwrap();
    let trace = run.trace().clone();
    assert_eq!(trace.outcome().await.map(|_| ()).unwrap_err().kind(), ErrorKind::Busy);
    run.outcome().await.unwrap();
    assert_eq!(trace.status().await.unwrap(), Status::Ended(FinishReason::Final));
    let refused = [
        trace.rewind(Seq(999), "again").await.map(drop),
        trace.regenerate(Seq(999)).await.map(drop),
        trace.fork(Seq(999)).await.map(drop),
        trace.erase(What::Messages(vec![Seq(999)]), None).await.map(drop),
        trace.pin_message(Seq(999)).await.map(drop),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.message().contains("has no message 999"), "{error}");
    }
    // Nothing is left to do: that is told at once.
    assert_eq!(trace.resume().await.map(drop).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(trace.say("And now?").await.unwrap().outcome().await.unwrap().answer, "Still three.");
}

#[tokio::test]
async fn a_decision_says_when_it_comes_too_late_and_takes_no_arguments_that_do_not_fit() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    let trace = run.trace().clone();
    while let Some(event) = run.next().await {
        let RunEvent::ApprovalRequired(call) = event.unwrap() else { continue };
        assert!(matches!(trace.status().await.unwrap(), Status::Waiting(_)));
        let waiting: Vec<CallId> = trace.approvals().await.unwrap().iter().map(|call| call.call).collect();
        assert_eq!(waiting, [call.call]);
        for arguments in ["not json", "{}", "{\"path\": 1, \"content\": \"\"}"] {
            let error = trace.approve_with(call.call, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        let error = trace.interrupt(call.call).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Refused, "call 2.0 does not run: it waits for an approval")
        );
        let none = CallId { seq: Seq(99), index: 0 };
        assert_eq!(trace.interrupt(none).await.unwrap_err().kind(), ErrorKind::NotFound);
        trace.approve_with(call.call, "{\"path\": \"new.txt\", \"content\": \"other\"}").await.unwrap();
        // Read by now, and perhaps done.
        assert_eq!(call.approve().await.unwrap_err().kind(), ErrorKind::Refused);
    }
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "other");
    assert!(trace.approvals().await.unwrap().is_empty());
    let call = CallId { seq: Seq(2), index: 0 };
    let error = trace.deny(call, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[tokio::test]
async fn a_run_that_the_model_ended_says_how_it_failed() {
    let place = Place::new("[[turn]]\nerror = { kind = \"auth\", message = \"no such key\" }\n");
    let outcome = place.agent().await.start("Say it.").await.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.is_said), (FinishReason::ModelError, false));
    assert_eq!(outcome.error.unwrap().kind, ModelErrorKind::Auth);
}

#[test]
fn a_stop_that_no_process_has_read_ends_its_run_and_not_what_continues_the_trace() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for is_by_run in [false, true] {
        let place = Place::new(WRITE);
        let first = runtime();
        let id = first.block_on(async {
            let mut run = place.agent().await.start("Write it.").await.unwrap();
            while !matches!(run.next().await.unwrap().unwrap(), RunEvent::ApprovalRequired(_)) {}
            run.trace().id().clone()
        });
        // As if its process were killed.
        first.shutdown_timeout(Duration::from_secs(5));
        runtime().block_on(async {
            let trace = place.host().await.trace(&id).await.unwrap();
            match is_by_run {
                // Nobody drives it: it has ended when this returns.
                true => {
                    trace.stop_run().await.unwrap();
                    assert_eq!(trace.outcome().await.unwrap().reason, FinishReason::Stopped);
                }
                false => trace.stop().await.unwrap(),
            }
            let outcome = trace.resume().await.unwrap().outcome().await.unwrap();
            assert_eq!((outcome.run, outcome.reason, outcome.answer.as_str()), (2, FinishReason::Final, "Done."));
        });
    }
}
