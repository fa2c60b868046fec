//! The events of a run: typed, with the names and the JSON that the command prints.

use crate::support::{COUNT, Place, WRITE};
use mainpath::event::RunEvent;
use mainpath::prelude::*;
use mainpath::trace::ExportFormat;
use mainpath_core::EffectKey;
use mainpath_runtime::wire::Projector;
use mainpath_schema::Schema;
use mainpath_types::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A log that has every event there is.
const EVERY_EVENT: &str = include_str!("../../../core/tests/it/golden/v2.jsonl");

/// What the runtime prints of every event of the log, of those that the log lacks a form of, and of every piece.
fn wire() -> Vec<Value> {
    let mut projector = Projector::new("test".parse().unwrap());
    let mut events: Vec<Event> = EVERY_EVENT.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = events.last().unwrap().clone();
    let spec = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some((*data.spec).clone()),
        _ => None,
    });
    let mut spec = spec.unwrap();
    spec.limits = Limits { turns: Some(77), ..spec.limits };
    let said = MessageQueued {
        mode: MessageMode::FollowUp,
        parts: vec![Part::text("later")],
        typed: None,
        tokens: 1,
        demands: 0,
        demanded: Vec::new(),
        from: Principal::local_user(),
    };
    let changed = SpecChanged { spec: Arc::new(spec), by: Some(Principal::local_user()) };
    let mut more: Vec<EventKind> = vec![changed.into(), said.into()];
    for event in &events {
        match &event.kind {
            EventKind::ModelRequested(data) => more.push(ModelRequested { minimal: true, ..data.clone() }.into()),
            EventKind::CallResolved(data) => {
                let by = Some(Principal::local_user());
                let denied = CallResolved { cause: ResolveCause::DeniedByPerson, by, ..data.clone() };
                more.push(denied.into());
            }
            EventKind::ModelFinished(data) => {
                let mut data = data.clone();
                let verdict = Verdict { decision: Decision::Deny, rule: "none".into(), reason: "no".into() };
                data.calls.iter_mut().for_each(|call| call.verdict = Some(verdict.clone()));
                more.push(data.into());
            }
            _ => {}
        }
    }
    let words = || GoalOp::Pin { text: "in sight".into() };
    let ops = [
        words(),
        GoalOp::Unpin { number: 1 },
        GoalOp::Done { id: None, summary: "so".into() },
        GoalOp::Terms { mission: None, assumptions: Some(vec!["a".into()]), constraints: None },
    ];
    for op in ops {
        more.push(GoalsChanged { ops: vec![words(), op], by: Principal::local_user() }.into());
    }
    for kind in more {
        events.push(Event { id: events.len() as u64 + 1, kind, ..last.clone() });
    }
    let mut lines: Vec<Value> = events.iter().flat_map(|event| projector.project(event)).collect();
    let (model, call) = (EffectKey::Model(3), CallId { seq: Seq(2), index: 1 });
    let pieces = [
        (&model, Delta::Text { text: "a".into() }),
        (&model, Delta::Thinking { text: "b".into() }),
        (&model, Delta::Arguments { index: 0, name: Some("bash".into()), text: "{".into() }),
        (&model, Delta::Arguments { index: 0, name: None, text: "}".into() }),
        (&model, Delta::Partial { path: "$.tool".into(), value: "bash".into() }),
        (&EffectKey::Tool(call, 2), Delta::ToolOutput { call, text: "c".into() }),
    ];
    lines.extend(pieces.iter().flat_map(|(of, piece)| projector.delta(of, piece, 1_000)));
    lines.push(projector.notice("the log cannot be written; trying again", 1_000));
    lines
}

#[test]
fn every_event_of_the_wire_is_typed_and_is_the_same_json_again() {
    let lines = wire();
    for line in &lines {
        let event: RunEvent = serde_json::from_value(line.clone()).unwrap_or_else(|error| panic!("{error}: {line:#}"));
        assert_eq!(&serde_json::to_value(&event).unwrap(), line);
        assert_eq!((event.name(), event.id()), (line["type"].as_str().unwrap(), line["id"].as_u64()));
    }
    let seen: BTreeSet<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let known: BTreeSet<&str> = RunEvent::NAMES.iter().copied().collect();
    let unseen: Vec<&&str> = known.difference(&seen).collect();
    // What the wire has only of what happens elsewhere is tried in tests of its own.
    assert_eq!(unseen, [&"question_asked"]);
    assert_eq!(known.len(), RunEvent::NAMES.len());
}

#[tokio::test]
async fn what_a_run_tells_is_what_the_trace_exports() {
    let place = Place::new(COUNT);
    let mut told = Vec::new();
    let run = place.agent().await.start("Count the words.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome_with(|event| told.push(serde_json::to_value(event).unwrap())).await.unwrap();
    let text: String = told
        .iter()
        .filter(|line| line["type"] == "assistant_delta")
        .map(|line| line["data"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "I count.Three words.");
    told.retain(|line| !line["id"].is_null());
    let exported: Value = serde_json::from_str(&trace.export(ExportFormat::Json).await.unwrap()).unwrap();
    assert_eq!(json!(told), exported["events"]);
}

#[tokio::test]
async fn a_watcher_goes_on_from_an_event() {
    let place = Place::new(COUNT);
    let run = place.agent().await.start("Count the words.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let names = async |from: u64| {
        let mut names = Vec::new();
        let mut run = trace.watch(from);
        while let Some(event) = run.next().await {
            names.push((event.as_ref().unwrap().id().unwrap(), event.unwrap().name()));
        }
        names
    };
    let all = names(1).await;
    let from = all[all.len() / 2].0;
    assert_eq!(names(from).await, all.iter().filter(|(id, _)| *id >= from).copied().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_watcher_follows_what_another_host_drives() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    // Another host on the same data: it never drives, and sees the same.
    let watcher = place.host().await.trace(run.trace().id()).await.unwrap();
    let watched = tokio::spawn(async move {
        let (mut run, mut seen) = (watcher.watch(1), Vec::new());
        while let Some(event) = run.next().await {
            let event = event.unwrap();
            seen.extend(event.id().map(|id| (id, event.name())));
            if let RunEvent::ApprovalRequired(call) = event {
                call.approve().await.unwrap();
            }
        }
        (seen, watcher.outcome().await.unwrap().answer)
    });
    let mut told = Vec::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        told.extend(event.id().map(|id| (id, event.name())));
    }
    let (seen, answer) = watched.await.unwrap();
    assert_eq!((seen, answer.as_str()), (told, "Done."));
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
}

#[tokio::test]
async fn what_is_said_to_a_trace_that_another_host_drives_is_answered_there() {
    let place = Place::new(COUNT);
    let mut run = place.agent().await.start("Count the words.").await.unwrap();
    let other = place.host().await.trace(run.trace().id()).await.unwrap();
    let mut also = Some(other);
    let mut said = None;
    while let Some(event) = run.next().await {
        event.unwrap();
        if let Some(other) = also.take() {
            said = Some(other.say("And now?").await.unwrap());
        }
    }
    let outcome = said.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.answer.as_str(), outcome.is_said), ("Still three.", true));
}

struct AskPerson;

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// What is asked.
    question: String,
}

impl Tool for AskPerson {
    type Args = Question;
    const NAME: &'static str = "ask_person";
    fn describe(&self) -> ToolDoc {
        ToolDoc::new("Asks a person.", EffectClass::AskPerson)
    }
    fn run<'a>(&'a self, _: &'a ToolContext, args: Question) -> Fut<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::failed("unanswered", args.question) })
    }
}

#[tokio::test]
async fn a_tool_that_asks_a_person_waits_for_the_answer() {
    let script = "[[turn]]\ncalls = [{ tool = \"ask_person\", args = { question = \"Which one?\" } }]\n[[turn]]\nfinal = \"Then the blue one.\"\n";
    let place = Place::new(script);
    let host = Host::builder().in_memory().tool(AskPerson).build().await.unwrap();
    let mut run = host.agent(place.model()).workspace(place.work()).start("Choose.").await.unwrap();
    let mut asked = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEvent::QuestionAsked(question) = event.unwrap() {
            asked.push(question.arguments_json());
            assert_eq!(question.answer(" ").await.unwrap_err().message(), "text is empty");
            question.answer("the blue one").await.unwrap();
        }
    }
    assert_eq!(asked, [json!({"question": "Which one?"})]);
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().answer, "Then the blue one.");
    assert!(serde_json::to_string(&trace.messages().await.unwrap()).unwrap().contains("the blue one"));
}

#[tokio::test]
async fn a_number_of_no_choice_is_refused_and_the_question_stays_open() {
    let script = "[[turn]]\ncalls = [{ tool = \"ask_human\", args = { question = \"Which?\", choices = [{ label = \"red\" }, { label = \"blue\" }] } }]\n[[turn]]\nfinal = \"Done.\"\n";
    let place = Place::new(script);
    let host = Host::builder().in_memory().tool(mainpath_tools::AskHuman::default()).build().await.unwrap();
    let mut run = host.agent(place.model()).workspace(place.work()).start("Choose.").await.unwrap();
    while let Some(event) = run.next().await {
        if let RunEvent::QuestionAsked(question) = event.unwrap() {
            let refused = question.answer("3").await.unwrap_err();
            let why =
                "3 is the number of no choice: the choices are 1 to 2; or answer in words; call 2.0 is still open";
            assert_eq!((refused.kind(), refused.message()), (ErrorKind::Invalid, why));
            question.answer("2").await.unwrap();
        }
    }
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().answer, "Done.");
    assert!(serde_json::to_string(&trace.messages().await.unwrap()).unwrap().contains("> blue"));
}

#[test]
fn an_approval_that_was_read_from_json_belongs_to_no_host() {
    let line = wire().into_iter().find(|line| line["type"] == "approval_required").unwrap();
    let RunEvent::ApprovalRequired(call) = serde_json::from_value(line).unwrap() else { panic!("another event") };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(call.approve()).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn events_that_were_skipped_change_nothing_of_what_is_told_after_them() {
    let events: Vec<Event> = EVERY_EVENT.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |skipped: usize| {
        let mut projector = Projector::new("test".parse().unwrap());
        events.iter().take(skipped).for_each(|event| projector.skip(event));
        events.iter().skip(skipped).map(|event| projector.project(event)).collect::<Vec<_>>()
    };
    let whole = told(0);
    for skipped in 1..events.len() {
        assert_eq!(told(skipped), whole[skipped..], "after {skipped}");
    }
}

#[test]
fn every_event_is_as_its_schema_says_and_the_schema_refuses_what_is_none() {
    let schema = Schema::new(&schemars::schema_for!(RunEvent).to_value()).unwrap();
    for event in wire() {
        assert_eq!(schema.violations(&event), Vec::<String>::new(), "{event}");
    }
    let started = wire().into_iter().find(|event| event["type"] == "run_started").unwrap();
    for (field, value) in [("type", json!("run_begun")), ("turn", json!("one")), ("data", json!({})), ("id", json!(-1))]
    {
        let mut wrong = started.clone();
        wrong[field] = value;
        assert_ne!(schema.violations(&wrong), Vec::<String>::new(), "{wrong}");
    }
}
