//! Long texts lie beside the log, and the model sees them whole.

use crate::support::*;
use mainpath_runtime::*;

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
