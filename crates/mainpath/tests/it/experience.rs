//! What agents of a host learn, and names of traces, through the library.

use crate::support::Place;
use mainpath::experience::Experiences;
use mainpath::prelude::*;
use mainpath::types::EventKind;

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "knowledge_save", args = { category = "tool_usage", content = "Count words with a tool", intent = ["count_words"] } }]
[[turn]]
final = "Kept."
"#;

fn said(event: &EventKind) -> Option<String> {
    match event {
        EventKind::MessageQueued(data) => Some(mainpath::types::text_of(&data.parts)),
        _ => None,
    }
}

#[tokio::test]
async fn a_host_learns_only_if_it_is_asked_to() {
    let place = Place::new(SCRIPT);
    assert_eq!(place.host().await.tools().resolve("knowledge_save"), None);
    let folder = place.work().parent().unwrap().join("learned");
    let host = Host::builder().data_dir(place.work().parent().unwrap().join("other")).experiences(&folder);
    let host = host.build().await.unwrap();
    let agent = || host.agent(place.model()).workspace(place.work()).allow("knowledge_save");
    let first = agent().start("Count the words").await.unwrap();
    assert_eq!(first.outcome().await.unwrap().answer, "Kept.");
    let kept = Experiences::open(&folder, folder.with_extension("sqlite")).all().unwrap();
    assert_eq!(kept.entries.len(), 1);
    let second = agent().start("Count words again").await.unwrap();
    let trace = second.trace().clone();
    second.outcome().await.unwrap();
    let shown: Vec<String> = trace.events(1).await.unwrap().iter().filter_map(|event| said(&event.kind)).collect();
    let id = &kept.entries[0].entry.id;
    assert!(shown[0].starts_with("Count words again") && shown[0].contains(&format!("- [{id}] ")), "{shown:?}");
}

#[tokio::test]
async fn a_trace_is_renamed_and_a_name_that_is_none_is_refused() {
    let place = Place::new("[[turn]]\nfinal = \"Done.\"\n");
    let run = place.agent().await.start("Do it").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    trace.rename("The work").await.unwrap();
    assert_eq!(trace.state().await.unwrap().name.as_deref(), Some("The work"));
    let error = trace.rename("two\nlines").await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, "a name has 1 to 80 letters and is one line"));
    assert_eq!(trace.state().await.unwrap().name.as_deref(), Some("The work"));
}
