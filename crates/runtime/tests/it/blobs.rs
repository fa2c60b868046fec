//! Long texts and attached bytes lie beside the log, and the model sees them whole.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_types::*;

#[tokio::test(start_paused = true)]
async fn a_long_output_lies_in_a_blob_and_reaches_the_model_whole() {
    let place = Place::memory(Brain::steps(&[&[("big", "100000")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    assert_eq!(run(&runtime, &trace, place.spec(), "much").await, Phase::Idle);
    let log = place.inspect(&trace).await;
    let longest = log.iter().map(|event| serde_json::to_string(event).unwrap().len()).max().unwrap();
    // The spec is the longest line, the answer quotes the result.
    assert!(longest < 110_000 && log.iter().any(|event| serde_json::to_string(event).unwrap().contains("stored_text")));
    assert_eq!(place.brain.requests().last().unwrap().results(), ["b".repeat(100_000)]);
}

#[tokio::test(start_paused = true)]
async fn a_long_output_is_shortened_for_the_model_as_a_short_one_is() {
    for size in ["100", "100000"] {
        let place = Place::memory(Brain::new(move |seen| step(&[&[("big", size)]], seen)));
        let (runtime, trace) = (place.runtime(), id("t"));
        let limits = Limits { observation_chars: Some(10), ..place.spec().limits };
        assert_eq!(run(&runtime, &trace, Spec { limits, ..place.spec() }, "much").await, Phase::Idle);
        place.inspect(&trace).await;
        assert_eq!(place.brain.requests().last().unwrap().results(), ["bbbbbbbbbb […]"], "of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_summary_stands_whole_for_what_it_replaces() {
    let summary: String = (0..2_000).map(|n| format!("fact {n}; ")).collect();
    let said = summary.clone();
    let place = Place::memory(Brain::new(move |seen| match seen.request {
        _ if wants_summary(seen) => say(said.clone()),
        // A quarter of the window each.
        1..=2 => calling(&[("big", "50000")]),
        _ => say("done"),
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    let limits = Limits { summary: SummaryMode::Single, ..place.spec().limits };
    assert_eq!(run(&runtime, &trace, Spec { limits, ..place.spec() }, "much").await, Phase::Idle);
    runtime.send(&local(), &trace, &Mail::Compact { hint: None }).await.unwrap();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    runtime.send(&local(), &trace, &Mail::message("more")).await.unwrap();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    let log = place.inspect(&trace).await;
    assert!(names(&log).contains("compacted") && place.answer(&trace).await == "done", "{}", names(&log));
    let shown = place.brain.requests().last().unwrap().said();
    let stand_in = format!(
        "Summary of the earlier conversation, some of which is still shown:\n\n{summary}\n\n[From the \
                            system: 2 earlier messages, #2 to #3, with 1 tool result, are not shown here.]"
    );
    assert_eq!(shown[..3], ["much".to_string(), stand_in, "more".into()]);
    assert!(shown[3].contains("## Current plan\n") && shown.len() == 4, "the plan is told again: {}", shown[3]);
}

fn sound(source: Source) -> Mail {
    Mail::Message {
        mode: MessageMode::Message,
        parts: vec![Part::text("Listen."), Part::Audio { source }],
        typed: None,
    }
}

/// The first message of the log that has an attachment: its parts and its estimated size.
fn attached(log: &[Event]) -> (Vec<Part>, u32) {
    let queued = log.iter().find_map(|event| match &event.kind {
        EventKind::MessageQueued(data) if data.parts.len() == 2 => Some((data.parts.clone(), data.tokens)),
        _ => None,
    });
    queued.unwrap()
}

#[tokio::test(start_paused = true)]
async fn attached_bytes_lie_in_a_blob_are_measured_and_reach_the_model_by_whatever_way_they_came() {
    let data = "QUJD".repeat(15_000);
    let here = Source::Base64 { data, media_type: "audio/mpeg".into() };
    let mut logged = Vec::new();
    for first in [sound(here.clone()), Mail::message("Hello.")] {
        let place = Place::memory(Brain::new(|_| say("Heard.")));
        let (runtime, trace) = (place.runtime(), id("t"));
        runtime.start(&local(), &trace, place.spec(), first.clone()).await.unwrap();
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
        if first == Mail::message("Hello.") {
            runtime.send(&local(), &trace, &sound(here.clone())).await.unwrap();
            let mail = place.store.mail(&local(), &trace, 0).await.unwrap();
            assert!(mail[0].body.len() < 300, "{}", mail[0].body);
            runtime.resume(&local(), &trace);
            assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
        }
        let shown = place.brain.requests().pop().unwrap().messages.pop().unwrap();
        assert_eq!(shown.parts, [Part::text("Listen."), Part::Audio { source: here.clone() }]);
        logged.push(attached(&place.inspect(&trace).await));
        assert_eq!(place.replay(&trace).await.differences, Vec::<String>::new());
    }
    let [(parts, tokens), other] = &logged[..] else { panic!("{logged:?}") };
    assert!(matches!(&parts[1], Part::Audio { source: Source::Blob { media_type, .. } } if media_type == "audio/mpeg"));
    // Four for the frame, two for the words, a token for 500 bytes.
    assert_eq!((*tokens, &(parts.clone(), *tokens)), (4 + 2 + 90, other));
}

#[tokio::test(start_paused = true)]
async fn mail_that_names_bytes_that_are_not_there_is_refused_and_the_trace_goes_on() {
    let place = Place::memory(Brain::new(|_| say("Yes.")));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "Hello.").await;
    let hash = BlobHash::try_from("0".repeat(64)).unwrap();
    let missing = sound(Source::Blob { hash, media_type: "audio/wav".into() });
    for mail in [missing, Mail::message("And now?")] {
        runtime.send(&local(), &trace, &mail).await.unwrap();
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    }
    let log = place.inspect(&trace).await;
    let refused: Vec<&str> = log
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::MailRefused(data) => Some(data.problem.as_str()),
            _ => None,
        })
        .collect();
    assert!(
        refused.len() == 1 && refused[0].contains("what the message names is not at hand: there is no blob 0000"),
        "{refused:?}"
    );
    assert_eq!(place.brain.requests().last().unwrap().said(), ["Hello.", "And now?"]);
}
