//! Agents that agents start: one that does a task, several that look, what they ask people, how they end.

use crate::support::Place;
use mainpath::prelude::*;
use mainpath::runtime::Waiting;
use mainpath::tools::{AgentTool, EvaluateTool};
use mainpath::types::{ChildOutcome, Event, EventKind, FinishReason, SubTraceCompleted};
use serde_json::Value;

const DELEGATE: &str = r#"
[[turn]]
when = "Start."
calls = [{ tool = "agent", args = { task = "Write the greeting." } }]
[[turn]]
when = "Write the greeting."
calls = [{ tool = "write_text_file", args = { path = "new.txt", content = "hello" } }]
usage = { input = 100, output = 20 }
[[turn]]
when = "It is written."
final = "The agent wrote it."
[[turn]]
when = "new.txt"
final = "It is written."
usage = { input = 150, output = 5 }
[[turn]]
when = "Now read it."
calls = [{ tool = "agent", args = { task = "Say what you wrote.", continue_from = "parent@delegate-CHILD-001" } }]
[[turn]]
when = "Say what you wrote."
final = "I wrote hello."
[[turn]]
when = "I wrote hello."
final = "It says hello."
"#;

const EXPLORE: &str = r#"
[[turn]]
when = "Start."
calls = [{ tool = "agent", args = { task = ["Look at A.", "Look at B.", "Look at C."] } }]
[[turn]]
when = "Look at A."
calls = [{ tool = "write_text_file", args = { path = "new.txt", content = "hello" } }]
[[turn]]
when = "write_text_file"
final = "A may not write."
[[turn]]
when = "Look at B."
final = ""
[[turn]]
when = "Look at C."
final = "C is fine."
[[turn]]
when = "C is fine."
final = "All seen."
"#;

async fn host(place: &Place) -> Host {
    let data = place.work().join("../data");
    Host::builder().data_dir(data).tool(AgentTool::default()).tool(EvaluateTool).build().await.unwrap()
}

async fn agent(place: &Place) -> Agent {
    host(place).await.agent(place.model()).workspace(place.work()).trace_id("parent".parse().unwrap())
}

fn completed(events: &[Event]) -> Vec<SubTraceCompleted> {
    let ended = events.iter().filter_map(|event| match &event.kind {
        EventKind::SubTraceCompleted(data) => Some(data.clone()),
        _ => None,
    });
    ended.collect()
}

/// The result of the call that started agents, as the model was told.
async fn told(trace: &Trace) -> Value {
    let events = trace.events(1).await.unwrap();
    let output = events.iter().find_map(|event| match &event.kind {
        EventKind::CallResolved(data) => data.output.clone(),
        _ => None,
    });
    serde_json::from_str(&mainpath::types::text_of(&output.unwrap().content)).unwrap()
}

#[tokio::test]
async fn a_task_is_handed_to_an_agent_whose_question_comes_to_whoever_follows_its_parent() {
    let place = Place::new(DELEGATE);
    let mut run = agent(&place).await.start("Start.").await.unwrap();
    let mut asked = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            asked.push(call.trace_id.to_string());
            call.approve().await.unwrap();
        }
    }
    let trace = run.trace().clone();
    let outcome = run.outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.answer.as_str()), (FinishReason::Final, "The agent wrote it."));
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
    let ended = completed(&trace.events(1).await.unwrap());
    let child = ended[0].handed.child.clone().unwrap();
    assert!(child.as_str().starts_with("parent@delegate-"), "{child}");
    assert_eq!(asked, [child.to_string()]);
    assert_eq!((ended.len(), ended[0].outcome, ended[0].handed.turns), (1, ChildOutcome::Result, 2));
    assert_eq!(
        (ended[0].handed.spent.usage.total(), ended[0].handed.files.clone()),
        (275, vec!["new.txt".to_string()])
    );
    let told = told(&trace).await;
    assert_eq!((&told["status"], &told["answer"]), (&"result".into(), &"It is written.".into()));
    // What a child used counts as its parent's.
    assert!(outcome.usage.total() >= 275, "{outcome:?}");
}

#[tokio::test]
async fn several_agents_look_at_once_change_nothing_and_report_in_the_order_of_their_tasks() {
    let place = Place::new(EXPLORE);
    let run = agent(&place).await.approvals(ApprovalMode::Yes).start("Start.").await.unwrap();
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().answer, "All seen.");
    let told = told(&trace).await;
    let of = |field: &str| -> Vec<Value> {
        told["results"].as_array().unwrap().iter().map(|result| result[field].clone()).collect()
    };
    assert_eq!(of("status"), ["result", "result", "result"]);
    assert_eq!(of("answer"), ["A may not write.", "", "C is fine."]);
    assert_eq!(of("note")[1], "it returned nothing: no words, and no file changed");
    assert!(!place.work().join("new.txt").exists());
}

#[tokio::test]
async fn a_parent_that_is_stopped_ends_its_agents_and_tells_where_they_were() {
    let place = Place::new(DELEGATE);
    let mut run = agent(&place).await.start("Start.").await.unwrap();
    let trace = run.trace().clone();
    let mut child = None;
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            child = Some(call.trace_id.clone());
            trace.stop().await.unwrap();
        }
    }
    assert_eq!(trace.outcome().await.unwrap().reason, FinishReason::Stopped);
    let child = host(&place).await.trace(&child.unwrap()).await.unwrap();
    assert_eq!(child.status().await.unwrap(), Status::Ended(FinishReason::Stopped));
    let told = told(&trace).await;
    assert_eq!((&told["status"], &told["sub_trace_id"]), (&"stopped".into(), &child.id().as_str().into()));
}

#[tokio::test]
async fn a_child_that_waits_for_days_is_found_again_by_another_process_and_goes_on() {
    let place = Place::new(DELEGATE);
    let mut run = agent(&place).await.start("Start.").await.unwrap();
    while let Some(event) = run.next().await {
        if matches!(event.unwrap(), RunEvent::ApprovalRequired(_)) {
            break;
        }
    }
    drop(run);
    let trace = host(&place).await.trace(&"parent".parse().unwrap()).await.unwrap();
    assert!(
        matches!(trace.status().await.unwrap(), Status::Waiting(waiting) if matches!(waiting[..], [Waiting::Child(_)]))
    );
    let asked = trace.approvals().await.unwrap();
    assert_eq!(asked.len(), 1);
    asked[0].approve().await.unwrap();
    assert_eq!(trace.resume().await.unwrap().outcome().await.unwrap().answer, "The agent wrote it.");
    assert_eq!(completed(&trace.events(1).await.unwrap()).len(), 1);
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
}

const ANALYST: &str = r#"
[[turn]]
when = "Start."
calls = [{ tool = "agent", args = { task = "Look into it.", agent_type = "analyst" } }]
[[turn]]
when = "Look into it."
final = "It is so."
[[turn]]
when = "It is so."
calls = [{ tool = "agent", args = { task = "Again.", agent_type = "nobody" } }]
[[turn]]
when = "nobody"
calls = [{ tool = "agent", args = { task = "Again.", skills = ["planing"] } }]
[[turn]]
when = "planing"
final = "Enough."
"#;

#[tokio::test]
async fn a_preset_makes_a_child_what_it_says_and_one_that_is_not_there_is_a_line_for_the_model() {
    let place = Place::new(ANALYST);
    let data = place.work().join("../data");
    let host = Host::builder()
        .data_dir(data)
        .skills(None)
        .tool(AgentTool::default())
        .tool(EvaluateTool)
        .build()
        .await
        .unwrap();
    let run = host.agent(place.model()).workspace(place.work()).start("Start.").await.unwrap();
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().answer, "Enough.");
    let ended = completed(&trace.events(1).await.unwrap());
    let said: Vec<(ChildOutcome, Option<&str>)> =
        ended.iter().map(|one| (one.outcome, one.handed.problem.as_deref())).collect();
    let no_preset = "there is no preset \"nobody\"; they are: analyst, default, evaluate, explore";
    let no_skill = "skills: there is no skill \"planing\"; did you mean planning?";
    assert_eq!(
        said,
        [(ChildOutcome::Result, None), (ChildOutcome::Failed, Some(no_preset)), (ChildOutcome::Failed, Some(no_skill))]
    );
    let child = host.trace(ended[0].handed.child.as_ref().unwrap()).await.unwrap();
    let events = child.events(1).await.unwrap();
    let skills: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::SkillSelected(data) => Some(data.skill.as_str()),
            _ => None,
        })
        .collect();
    // There are no tools for the web here, so what is said of research is of no use.
    assert_eq!(skills, ["planning"]);
}
