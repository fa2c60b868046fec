//! A trace and its agents as one stream, for programs.

use crate::support::Place;
use mainpath::prelude::*;
use mainpath::tools::{AgentTool, EvaluateTool};
use mainpath::types::FinishReason;
use std::collections::BTreeMap;
use std::time::Duration;

/// Bounds a wait. Nothing here takes this long; what does, hangs.
const LONG: Duration = Duration::from_secs(60);

/// An agent that has another one write.
const WRITING: &str = r#"
[[turn]]
when = "Start."
calls = [{ tool = "agent", args = { task = "Write it." } }]
[[turn]]
when = "Write it."
calls = [{ tool = "write_text_file", args = { path = "new.txt", content = "hello" } }]
[[turn]]
when = "It is written."
final = "All done."
[[turn]]
when = "new.txt"
final = "It is written."
"#;

async fn host(place: &Place) -> Host {
    let data = place.work().join("../data");
    Host::builder().data_dir(data).tool(AgentTool::default()).tool(EvaluateTool).build().await.unwrap()
}

async fn agent(place: &Place, host: &Host) -> Agent {
    host.agent(place.model()).workspace(place.work()).trace_id("parent".parse().unwrap())
}

/// Which events a stream tells of each trace; each once.
async fn ids(mut run: Run) -> BTreeMap<String, Vec<EventId>> {
    let mut told: BTreeMap<String, Vec<EventId>> = BTreeMap::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if let RunEvent::ApprovalRequired(call) = &event
            && call.trace_id.as_str().contains('@')
        {
            let _ = call.approve().await;
        }
        if let Some(id) = event.id() {
            told.entry(event.trace_id().to_string()).or_default().push(id);
        }
    }
    told.values_mut().for_each(Vec::dedup);
    told
}

async fn expected(host: &Host) -> BTreeMap<String, Vec<EventId>> {
    let mut expected = BTreeMap::new();
    for trace in host.traces().await.unwrap() {
        let events = host.trace(&trace).await.unwrap().events(1).await.unwrap();
        expected.insert(trace.to_string(), events.iter().map(|event| event.id).collect());
    }
    expected
}

#[tokio::test]
async fn a_trace_and_its_agent_are_told_whole_and_what_the_agent_asks_is_approved_from_the_stream() {
    let place = Place::new(WRITING);
    let host = host(&place).await;
    let run = agent(&place, &host).await.start("Start.").await.unwrap();
    let trace = run.trace().clone();
    drop(run);
    let told = ids(trace.watch_all(1)).await;
    assert_eq!(told.len(), 2);
    assert_eq!(told, expected(&host).await);
    assert_eq!(trace.outcome().await.unwrap().answer, "All done.");
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
    // The same after the end, from another host.
    let again = self::host(&place).await.trace(trace.id()).await.unwrap();
    let outcome = again.watch_all(1).outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.answer.as_str()), (FinishReason::Final, "All done."));
    assert_eq!(ids(again.watch_all(1)).await, told);
    let alone = ids(again.watch(1)).await;
    assert_eq!(alone, BTreeMap::from([("parent".to_string(), told["parent"].clone())]));
    let alone = ids(again.watch_all(WatchFrom { with_agents: false, ..1.into() })).await;
    assert_eq!(alone.keys().collect::<Vec<_>>(), ["parent"]);
}

#[tokio::test]
async fn a_stream_goes_on_while_a_child_waits_and_ends_when_nobody_is_waited_for() {
    let place = Place::new(WRITING);
    let host = host(&place).await;
    let run = agent(&place, &host).await.start("Start.").await.unwrap();
    let trace = run.trace().clone();
    drop(run);
    let mut all = trace.watch_all(1);
    let asked = loop {
        if let RunEvent::ApprovalRequired(call) = all.next().await.unwrap().unwrap() {
            break call;
        }
    };
    // Told once, and waited for without an end.
    assert!(tokio::time::timeout(Duration::from_millis(700), all.next()).await.is_err());
    trace.stop().await.unwrap();
    let mut ended = Vec::new();
    while let Some(event) = all.next().await {
        if let RunEvent::RunFinished(data) = event.unwrap() {
            ended.push((data.trace_id.clone(), data.reason));
        }
    }
    let stopped = FinishReason::Stopped;
    assert_eq!(ended, [(asked.trace_id.clone(), stopped), (trace.id().clone(), stopped)]);
}

#[tokio::test]
async fn who_watches_on_sees_what_comes_after_a_rest_once_and_in_its_order() {
    let place = Place::new(WRITING);
    let host = host(&place).await;
    let run = agent(&place, &host).await.approvals(ApprovalMode::Yes).start("Start.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let (mut all, mut told) = (trace.watch_on(1), BTreeMap::<String, Vec<EventId>>::new());
    // Until all is told that the logs hold. What is told twice or in another order never ends so.
    let mut until_all = async |told: &mut BTreeMap<String, Vec<EventId>>| {
        while *told != expected(&host).await {
            let event = tokio::time::timeout(LONG, all.next()).await;
            let event = event.unwrap_or_else(|_| panic!("nothing more comes after {told:?}")).unwrap().unwrap();
            if let Some(id) = event.id() {
                told.entry(event.trace_id().to_string()).or_default().push(id);
            }
            told.values_mut().for_each(Vec::dedup);
        }
    };
    until_all(&mut told).await;
    assert_eq!(told.len(), 2);
    // Nobody drives it: what is written now comes as well, whoever writes it.
    self::host(&place).await.trace(trace.id()).await.unwrap().rename("Another name").await.unwrap();
    until_all(&mut told).await;
    assert_eq!(told.len(), 2);
    trace.say("Start.").await.unwrap().outcome().await.unwrap();
    until_all(&mut told).await;
    assert_eq!(told.len(), 3);
    // Nothing of it comes once more before the next.
    trace.rename("The last name").await.unwrap();
    until_all(&mut told).await;
}

#[tokio::test]
async fn the_log_of_an_agent_that_is_damaged_is_the_end_of_the_stream() {
    let place = Place::new(WRITING);
    let host = host(&place).await;
    let run = agent(&place, &host).await.approvals(ApprovalMode::Yes).start("Start.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let child = host.traces().await.unwrap().into_iter().find(|id| id.as_str().contains('@')).unwrap();
    let log = place.work().join(format!("../data/traces/{child}/events.jsonl"));
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("turn", "torn", 1)).unwrap();
    let again = self::host(&place).await.trace(trace.id()).await.unwrap();
    let mut all = again.watch_all(1);
    let mut problem = None;
    while let Some(event) = all.next().await {
        assert!(problem.is_none(), "an error is the last");
        problem = event.err();
    }
    let problem = problem.unwrap().to_string();
    assert!(problem.contains(child.as_str()) && problem.contains("the log is damaged: "), "{problem}");
}
