use crate::support::{COUNT, Place, WRITE};
use mainpath::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// The names of the events of a run, approvals answered by `decide`.
async fn names(run: &mut Run, decide: impl AsyncFn(&PendingCall)) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if let RunEvent::ApprovalRequired(call) = &event {
            decide(call).await;
        }
        names.push(serde_json::to_value(&event).unwrap()["type"].as_str().unwrap().to_string());
    }
    names
}

#[tokio::test]
async fn an_agent_uses_a_tool_of_its_hosts_and_says_how_it_ended() {
    let place = Place::new(COUNT);
    let mut run = place.agent().await.instructions("Be brief.").start("Count the words.").await.unwrap();
    let seen = names(&mut run, async |_| panic!("nothing is asked")).await;
    for name in ["run_started", "assistant_delta", "action_started", "action_executed", "run_finished"] {
        assert!(seen.iter().any(|seen| seen == name), "{name}: {seen:?}");
    }
    let outcome = run.outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.answer.as_str(), outcome.is_said), (FinishReason::Final, "Three words.", true));
    assert_eq!((outcome.turns, outcome.usage.input, outcome.cost), (2, 160, 0));
    assert_eq!(outcome.tools, BTreeMap::from([("count_words".to_string(), 1)]));
}

/// A script of so many turns with a call each, and an answer.
fn turns(many: usize) -> String {
    let call = |n| format!("[[turn]]\ncalls = [{{ tool = \"count_words\", args = {{ text = \"{n} a\" }} }}]\n");
    let calls: String = (1..many).map(call).collect();
    format!("{calls}[[turn]]\nfinal = \"Counted {many}.\"\nusage = {{ input = 80, output = 5 }}\n")
}

#[tokio::test]
async fn how_a_run_ended_is_the_same_whether_it_was_only_waited_for_followed_or_read_from_its_log() {
    for many in [1, 3, 120] {
        let place = Place::new(&turns(many));
        let host = place.host().await;
        let limits = LimitOptions { turns: Some(0), ..LimitOptions::default() };
        let agent = || {
            let options = AgentOptions { limits: limits.clone(), ..AgentOptions::default() };
            host.agent(place.model()).options(options).workspace(place.work())
        };
        let run = agent().start("Count.").await.unwrap();
        let trace = run.trace().clone();
        let waited = run.outcome().await.unwrap();
        assert_eq!((waited.answer.as_str(), waited.turns), (format!("Counted {many}.").as_str(), many as u64));
        assert_eq!(waited, trace.outcome().await.unwrap(), "{many}");
        // Of one that has ended before anybody asks, and of one whose events were looked at.
        let run = agent().start("Count.").await.unwrap();
        let trace = run.trace().clone();
        while trace.outcome().await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        assert_eq!(run.outcome().await.unwrap(), waited, "{many}");
        let mut run = agent().start("Count.").await.unwrap();
        run.next().await.unwrap().unwrap();
        assert_eq!(run.outcome().await.unwrap(), waited, "{many}");
        // A later run is told by itself, with what came before in the log.
        let later = trace.say("Again.").await.unwrap();
        let outcome = later.outcome().await.unwrap();
        assert_eq!(outcome, trace.outcome().await.unwrap());
        assert_eq!(outcome.run, 2);
    }
}

#[tokio::test]
async fn a_call_that_is_asked_waits_for_the_host_and_runs_as_it_was_shown() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    let seen = names(&mut run, async |call| {
        assert_eq!(
            (call.tool.as_str(), call.arguments_json()),
            ("write_text_file", json!({"path": "new.txt", "content": "hello"}))
        );
        assert_eq!(call.verdict.as_ref().unwrap().rule, "builtin.ask");
        call.approve().await.unwrap();
    })
    .await;
    assert_eq!(seen.iter().filter(|name| *name == "approval_required").count(), 1, "{seen:?}");
    assert_eq!(run.outcome().await.unwrap().answer, "Done.");
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
}

#[tokio::test]
async fn a_call_that_is_denied_changes_nothing_and_the_model_is_told_why() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    names(&mut run, async |call| call.deny("not today").await.unwrap()).await;
    assert!(!place.work().join("new.txt").exists());
    let said = run.trace().messages().await.unwrap();
    assert!(serde_json::to_string(&said).unwrap().contains("not today"), "{said:?}");
}

#[tokio::test]
async fn what_waits_for_an_approval_still_does_after_its_host_has_gone() {
    let place = Place::new(WRITE);
    let began = std::thread::scope(|scope| {
        let first = async || {
            let mut run = place.agent().await.start("Write it.").await.unwrap();
            while let Some(event) = run.next().await {
                if matches!(event.unwrap(), RunEvent::ApprovalRequired(_)) {
                    break;
                }
            }
            run.trace().id().clone()
        };
        // All that goes on in a runtime ends with it, as with a process.
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        scope.spawn(move || runtime().block_on(first())).join()
    });
    let id = began.unwrap();
    let host = place.host().await;
    assert_eq!(host.traces().await.unwrap(), std::slice::from_ref(&id));
    let trace = host.trace(&id).await.unwrap();
    let mut run = trace.resume().await.unwrap();
    let seen = names(&mut run, async |call| call.approve().await.unwrap()).await;
    assert_eq!(seen.iter().filter(|name| *name == "approval_required").count(), 1, "{seen:?}");
    assert_eq!(trace.outcome().await.unwrap().answer, "Done.");
    assert!(trace.verify().await.unwrap().holds());
}

#[tokio::test]
async fn a_trace_goes_on_goes_back_is_copied_and_replayed() {
    let place = Place::new(COUNT);
    let run = place.agent().await.start("Count.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    assert_eq!(trace.say("Again.").await.unwrap().outcome().await.unwrap().answer, "Still three.");
    let messages = trace.messages().await.unwrap();
    let copy = trace.fork(messages[0].seq.unwrap()).await.unwrap();
    assert_eq!(copy.resume().await.unwrap().outcome().await.unwrap().answer, "Three words.");
    let back = trace.rewind(messages[0].seq.unwrap(), "Count once more.").await.unwrap();
    back.outcome().await.unwrap();
    assert_eq!(trace.stats().await.unwrap().len(), 3);
    let replayed = trace.replay().await.unwrap();
    assert!(replayed.agrees(), "{:?}", replayed.differences);
}

#[tokio::test]
async fn a_program_that_is_no_launcher_starts_no_processes_and_is_told_the_line_to_add() {
    let script =
        "[[turn]]\ncalls = [{ tool = \"bash\", args = { command = \"touch made\" } }]\n[[turn]]\nfinal = \"No.\"\n";
    let place = Place::new(script);
    let run = place.agent().await.approvals(ApprovalMode::Yes).start("Make it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("mainpath::launcher_main()"), "{said}");
    assert!(!place.work().join("made").exists());
}

#[tokio::test]
async fn rules_and_limits_of_the_agent_hold() {
    let place = Place::new(WRITE);
    let run = place.agent().await.approvals(ApprovalMode::Yes).deny("write(new.txt)").start("Write it.").await.unwrap();
    run.outcome().await.unwrap();
    assert!(!place.work().join("new.txt").exists());
    let limits = LimitOptions { turns: Some(1), ..LimitOptions::default() };
    let run = place.agent().await.approvals(ApprovalMode::Yes).limits(limits).start("Write it.").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::MaxTurns);
}

#[tokio::test]
async fn what_cannot_work_is_an_error_of_a_stable_kind() {
    let nowhere = Host::builder().build().await.unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::Invalid);
    assert!(nowhere.message().contains("data_dir"), "{nowhere}");
    let host = Host::builder().in_memory().build().await.unwrap();
    let start = async |model: &str| host.agent(model).workspace(Path::new("/")).start("x").await.map(drop).unwrap_err();
    assert_eq!(start("no-such-form:x").await.kind(), ErrorKind::Invalid);
    let missing: TraceId = "20260101-000000-abcdef".parse().unwrap();
    assert_eq!(host.trace(&missing).await.unwrap_err().kind(), ErrorKind::NotFound);
    let place = Place::new(COUNT);
    let agent = host.agent(place.model()).workspace(place.work()).tools(["no_such_tool"]);
    assert_eq!(agent.start("x").await.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
}
