//! What can be done to a trace besides running it, and what can be computed of it.

use crate::support::{COUNT, Place, WRITE};
use mainpath::prelude::*;
use mainpath::trace::{ContextPart, ExportFormat, ExportLayout, Point, RestoreTo, Sent};
use mainpath_runtime::erase::What;
use mainpath_types::{GoalOp, Role, Seq};

async fn written(place: &Place) -> Trace {
    let run = place.agent().await.approvals(ApprovalMode::Yes).start("Write it, never delete.").await.unwrap();
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().answer, "Done.");
    trace
}

#[tokio::test]
async fn files_go_back_to_what_they_were_at_a_message_and_that_can_be_undone() {
    let place = Place::new(WRITE);
    let trace = written(&place).await;
    let file = place.work().join("new.txt");
    let planned = trace.plan_restore(Seq(1)).await.unwrap();
    assert_eq!(planned.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["new.txt"]);
    assert!(file.exists(), "a plan changes nothing");
    let done = trace.restore(Seq(1), false).await.unwrap();
    assert!(!done.is_partial() && !file.exists(), "{done:?}");
    trace.restore(RestoreTo::BeforeLastRestore, false).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello");
    // What somebody else wrote meanwhile stays, unless that is forced.
    std::fs::write(&file, "mine").unwrap();
    assert!(trace.restore(Point::Turn(0), false).await.is_err(), "there is no such turn");
    assert!(trace.restore(Seq(1), false).await.unwrap().is_partial());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(!trace.restore(Seq(1), true).await.unwrap().is_partial());
    assert!(!file.exists());
}

#[tokio::test]
async fn what_is_erased_is_in_no_export_and_the_log_still_verifies() {
    let place = Place::new(WRITE);
    let trace = written(&place).await;
    let said = async || trace.export(ExportFormat::Json).await.unwrap();
    assert!(said().await.contains("never delete"));
    let copy = trace.fork(Seq(1)).await.unwrap();
    let what = What::Messages(vec![Seq(1)]);
    let copies = trace.copies(&what).await.unwrap();
    assert_eq!(copies.iter().map(|copy| &copy.trace).collect::<Vec<_>>(), [copy.id()]);
    let done = trace.erase(what.clone(), Some("on request")).await.unwrap();
    assert_eq!(done.iter().map(|(trace, _)| trace).collect::<Vec<_>>(), [trace.id()]);
    assert!(!said().await.contains("never delete"));
    assert!(copy.export(ExportFormat::Json).await.unwrap().contains("never delete"));
    assert!(trace.verify().await.unwrap().holds());
    assert_eq!(trace.erase(What::Messages(vec![Seq(99)]), None).await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn pins_and_the_plan_change_at_once_where_no_run_goes_on() {
    let place = Place::new(WRITE);
    let trace = written(&place).await;
    assert_eq!(trace.pin("Never push.").await.unwrap(), Sent::Applied);
    assert_eq!(trace.pin_message(Seq(1)).await.unwrap(), Sent::Applied);
    assert_eq!(trace.pins().await.unwrap(), ["Never push.", "Write it, never delete."]);
    trace.unpin(1).await.unwrap();
    assert_eq!(trace.pins().await.unwrap(), ["Write it, never delete."]);
    assert_eq!(trace.pin_message(Seq(99)).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(trace.unpin(7).await.unwrap_err().message().contains("are unchanged"));
    let add = GoalOp::Add { description: "Tell".into(), reason: String::new(), under: None, after: None };
    assert_eq!(trace.goal(vec![add]).await.unwrap(), Sent::Applied);
    let state = trace.state().await.unwrap();
    assert!(state.goals.list().iter().any(|goal| goal.description == "Tell"));
}

#[tokio::test]
async fn a_trace_shows_its_tree_its_context_and_exports() {
    let place = Place::new(COUNT);
    let run = place.agent().await.start("Count.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    trace.rewind(Seq(1), "Count again.").await.unwrap().outcome().await.unwrap();
    let tree = trace.tree().await.unwrap();
    let of = |is_current: bool| tree.iter().filter(|one| one.is_current == is_current).map(|one| one.role).collect();
    let (current, before): (Vec<Role>, Vec<Role>) = (of(true), of(false));
    assert_eq!(current, [Role::User, Role::User, Role::Assistant, Role::Tool, Role::Assistant], "{tree:#?}");
    assert_eq!(before, [Role::Assistant, Role::Tool, Role::Assistant]);
    let now = trace.context(None).await.unwrap();
    assert_eq!(now.trace_id, *trace.id());
    let shown = now.parts.iter().filter(|part| matches!(part, ContextPart::Message { .. })).count();
    assert_eq!(shown, 5, "{now:#?}");
    let text = serde_json::to_string(&now).unwrap();
    assert_eq!(serde_json::from_str::<mainpath::trace::ContextReport>(&text).unwrap(), now);
    assert_eq!(trace.context(Some(9)).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(trace.export(ExportFormat::Markdown).await.unwrap().contains("## User #1\n\nCount."));
    for format in [ExportFormat::Neutral, ExportFormat::OpenAi, ExportFormat::Anthropic, ExportFormat::Gemini] {
        let text = trace.export(format).await.unwrap();
        assert!(text.starts_with('[') && text.contains("Count again."), "{format:?}: {text}");
    }
    let out = place.work().join("out");
    let folder = trace.export_folder(ExportLayout::AgentRun, &out).await.unwrap();
    assert_eq!(folder, out.join(trace.id().as_str()));
    assert!(folder.join("events.jsonl").is_file());
    let again = trace.export_folder(ExportLayout::AgentRun, &out).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_call_that_was_denied_is_made_after_all_when_it_is_approved() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    let mut call = None;
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(pending) = event.unwrap() {
            pending.deny("not now").await.unwrap();
            call = Some(pending.call);
        }
    }
    let (trace, call) = (run.trace().clone(), call.unwrap());
    assert!(!place.work().join("new.txt").exists());
    trace.reopen(call).await.unwrap().outcome().await.unwrap();
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
    let missing = "99.0".parse().unwrap();
    let again = trace.reopen(call).await.unwrap().outcome().await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Refused);
    assert_eq!(trace.approve(missing).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(trace.deny(missing, None).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_trace_in_memory_is_cleared_and_erased_too() {
    let place = Place::new(WRITE);
    let host = Host::builder().in_memory().build().await.unwrap();
    let run =
        host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes).start("Go.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    trace.clear().await.unwrap();
    assert_eq!(trace.messages().await.unwrap(), []);
    trace.erase(What::All, None).await.unwrap();
    assert!(trace.verify().await.unwrap().holds());
}
