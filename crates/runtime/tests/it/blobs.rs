//! Long texts lie beside the log, and the model sees them whole.

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
        1..=4 => calling(&[("big", "100000")]),
        _ => say("done"),
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    assert_eq!(run(&runtime, &trace, place.spec(), "much").await, Phase::Idle);
    let log = place.inspect(&trace).await;
    assert!(names(&log).contains("compacted") && place.answer(&trace).await == "done", "{}", names(&log));
    let shown = place.brain.requests().last().unwrap().said();
    let stand_in = format!("Summary of the earlier conversation, which is no longer shown:\n\n{summary}");
    assert_eq!(shown, ["much".to_string(), stand_in]);
}
