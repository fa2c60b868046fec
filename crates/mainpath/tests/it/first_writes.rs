//! A process that is killed in the middle of a trace's first write: the caller asks again under the same key, and gets the run.

use crate::support::{COUNT, Place};
use mainpath::prelude::*;
use mainpath::store::Once;
use std::path::{Path, PathBuf};

fn once() -> Once {
    Once { key: "sender and key".into(), asked: "digest of the request".into() }
}

async fn started(place: &Place, data: &Path) -> Run {
    let host = Host::builder().data_dir(data).tool(crate::support::CountWords).build().await.unwrap();
    host.agent(place.model()).workspace(place.work()).once(once()).start("Count.").await.unwrap()
}

/// The log of the only trace below a folder of data.
fn log_of(data: &Path) -> PathBuf {
    std::fs::read_dir(data.join("traces")).unwrap().next().unwrap().unwrap().path().join("events.jsonl")
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_the_first_write_was_cut_the_same_key_gets_one_whole_run() {
    let place = Place::new(COUNT);
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let outcome = started(&place, &whole).await.outcome().await.unwrap();
    assert_eq!(outcome.answer, "Three words.");
    let log = std::fs::read(log_of(&whole)).unwrap();
    let name = log_of(&whole).parent().unwrap().file_name().unwrap().to_owned();
    // The first batch ends with the request to the model.
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    let is_request = |line: &&[u8]| String::from_utf8_lossy(line).contains("\"type\":\"model_requested\"");
    let batch: usize = lines.iter().take(lines.iter().position(is_request).unwrap() + 1).map(|line| line.len()).sum();
    let ends: Vec<usize> = lines
        .iter()
        .scan(0, |at, line| {
            *at += line.len();
            Some(*at)
        })
        .collect();
    let step = if std::env::var_os("MAINPATH_HARDENING").is_some() { 1 } else { 1_499 };
    let near = ends.iter().flat_map(|end| [end - 1, *end, end + 1]).chain((0..batch).step_by(step));
    let mut cuts: Vec<usize> = near.filter(|cut| *cut <= batch).collect();
    cuts.sort_unstable();
    cuts.dedup();
    assert!(cuts.len() >= 10, "{cuts:?}");
    for cut in cuts {
        let data = folder.path().join(format!("cut-{cut}"));
        let trace = data.join("traces").join(&name);
        std::fs::create_dir_all(&trace).unwrap();
        std::fs::write(trace.join("events.jsonl"), &log[..cut]).unwrap();
        let run = started(&place, &data).await;
        let trace = run.trace().clone();
        assert_eq!(run.outcome().await.unwrap().answer, "Three words.", "cut at {cut} of {batch}");
        let events = trace.events(1).await.unwrap();
        let count = |kind: &str| events.iter().filter(|event| event.kind.name() == kind).count();
        assert_eq!((count("message_queued"), count("run_started"), count("run_finished")), (1, 1, 1), "cut at {cut}");
        // Asked once more, it is the same run.
        let again = started(&place, &data).await.outcome().await.unwrap();
        assert_eq!(again.answer, "Three words.");
        assert_eq!(trace.events(1).await.unwrap().len(), events.len());
        std::fs::remove_dir_all(&data).unwrap();
    }
}
