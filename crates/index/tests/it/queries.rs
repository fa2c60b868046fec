use crate::Place;
use mainpath_core::{Input, InputKind, Machine, Reply};
use mainpath_index::{FoundStep, FoundSteps, Index};
use mainpath_policy::{Predicate, StepFacts};
use mainpath_store::{Appended, Store};
use mainpath_types::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// A call that a model makes, with what it says.
struct Made {
    said: &'static str,
    tool: &'static str,
    arguments: Value,
    verdict: Verdict,
    origins: Vec<Origin>,
}

fn made(tool: &'static str, arguments: Value, rule: &str) -> Made {
    let verdict = Verdict { decision: Decision::Deny, rule: rule.into(), reason: format!("{rule} says no.") };
    Made { said: "Let me see.", tool, arguments, verdict, origins: Vec::new() }
}

/// A trace in which a model makes these calls, all of which are denied, and then answers.
async fn work(place: &Place, trace: &str, calls: Vec<Made>) {
    let id: TraceId = trace.parse().unwrap();
    let opened = place.store.lease(&place.scope, &id, true).await.unwrap();
    let mut machine = Machine::fold(id, &opened.log.events);
    let mut batch: Vec<Event> = Vec::new();
    let offer = |batch: &mut Vec<Event>, machine: &mut Machine, kind: InputKind| {
        let events = machine.handle(&Input::new(1_795_315_500_000, kind)).unwrap();
        machine.commit(events.last().map_or(0, |event| event.id));
        batch.extend(events);
    };
    let price = Price { input: 10_000_000, output: 10_000_000, ..Price::default() };
    let mut spec = Spec { workspace: "/work".into(), price, ..Spec::new("some:model", Profile::Trace) };
    (spec.limits.repeated_failures, spec.context_window) = (None, 1_000_000);
    offer(&mut batch, &mut machine, InputKind::SetSpec { spec: Arc::new(spec), by: None });
    offer(
        &mut batch,
        &mut machine,
        InputKind::UserMessage(MessageQueued::new(vec![Part::text("Do it.")], 10, Principal::local_user())),
    );
    let usage = Some(Usage { input: 4_000, output: 1_000, ..Usage::default() });
    for Made { said, tool, arguments, verdict, origins } in calls {
        let request = machine.state().model.unwrap_or_else(|| panic!("{:?}", batch.last())).request;
        let call = Part::ToolCall { name: tool.into(), arguments: arguments.to_string(), signature: None };
        let planned =
            PlannedCall { tool: Some(tool.into()), verdict: Some(verdict), origins, ..PlannedCall::default() };
        let reply = Reply::new(request, vec![Part::text(said), call], vec![planned]);
        offer(&mut batch, &mut machine, InputKind::ModelFinished(Box::new(Reply { usage, ..reply })));
    }
    let request = machine.state().model.unwrap_or_else(|| panic!("{:?}", batch.last())).request;
    let reply = Reply::new(request, vec![Part::text("I may not, said the ÄPFEL.")], Vec::new());
    offer(&mut batch, &mut machine, InputKind::ModelFinished(Box::new(Reply { usage, ..reply })));
    let appended = place.store.append(&opened.lease, opened.log.head, batch).await;
    assert!(matches!(appended, Appended::Committed { .. }), "{appended:?}");
}

fn find(index: &Index, predicate: &str) -> FoundSteps {
    index.query(&Predicate::parse(predicate).unwrap(), 1_000).unwrap()
}

/// What was found, each as trace and call.
fn named(found: &FoundSteps) -> Vec<String> {
    let name = |step: &FoundStep| {
        let place = step.call.map_or_else(|| format!("#{}", step.seq), |call| call.to_string());
        format!("{} {place}", step.row.trace)
    };
    found.steps.iter().map(name).collect()
}

async fn some_work() -> Place {
    let place = Place::new();
    let web = made("http_request", json!({"url": "https://a.example/deploy"}), "builtin.address");
    let calls = vec![
        made("bash", json!({"command": "make deploy", "tries": 3}), "no-deploy"),
        Made { origins: vec![Origin::Web, Origin::Mcp], ..web },
        Made { said: "", ..made("bash", json!({"command": "say \"ÄÖ\"\nls"}), "builtin.ask") },
    ];
    work(&place, "20260101-a", calls).await;
    work(
        &place,
        "20260102-b",
        vec![made("write_text_file", json!({"path": "a", "content": "x".repeat(50_000) + "deploy"}), "flag")],
    )
    .await;
    work(&place, "20260103-c", vec![]).await;
    place
}

#[tokio::test]
async fn what_is_found_is_what_the_predicate_says_of_each_step() {
    let place = some_work().await;
    let mut index = place.index();
    index.refresh().unwrap();
    let all = find(&index, "cost>=0");
    assert_eq!((all.steps.len(), all.all), (7, 7));
    assert_eq!(find(&index, "tool=bash and args~deploy").steps[0].cost, 50_000, "with the answer itself");
    for predicate in [
        "tool=bash",
        "tool!=bash",
        "tool~'^(bash|http)'",
        "args~deploy",
        "args~'de.loy'",
        "args~'Deploy'",
        "args~'(?i)DEPLOY'",
        "args~''",
        "args~'a'",
        "args~ÄÖ",
        "args~'\"ÄÖ\"'",
        "args.tries=3",
        "args.tries>2",
        "args.tries>3",
        "args.command='make deploy'",
        "args.command!='make deploy'",
        "args='make deploy\n3'",
        "args~'deploy' and not tool=bash",
        "not (args~'deploy' or tool~write)",
        "rule=builtin.ask",
        "rule~^builtin",
        "verdict=deny",
        "verdict=allow",
        "outcome=denied",
        "error=denied",
        "error~'says no'",
        "error~denied",
        "error!~'says no'",
        "origin=web",
        "origin!=web",
        "origin~'mcp|web'",
        "text~'Let me'",
        "text~äpfel",
        "text~ÄPFEL",
        "text=''",
        "cost>0.06",
        "cost<0.06 or cost>0.14",
        "model=some:model",
        "agent=''",
        "agent~x",
        "folder=/work",
        "folder~^/w",
        "trace~20260101",
        "trace=20260103-c",
    ] {
        let asked = Predicate::parse(predicate).unwrap();
        let expected: Vec<&FoundStep> = all.steps.iter().filter(|step| holds(&asked, step)).collect();
        let found = find(&index, predicate);
        assert_eq!(found.steps.iter().collect::<Vec<_>>(), expected, "{predicate}");
    }
}

/// What the predicate itself says of a step.
fn holds(predicate: &Predicate, step: &FoundStep) -> bool {
    let arguments: Value = serde_json::from_str(&step.arguments).unwrap_or_default();
    let origins: Vec<Origin> = step.origins.iter().map(|name| serde_json::from_value(json!(name)).unwrap()).collect();
    predicate.matches(&StepFacts {
        trace: step.row.trace.as_str(),
        tool: &step.tool,
        arguments: (!step.arguments.is_empty()).then_some(&arguments),
        verdict: serde_json::from_value(json!(step.verdict)).ok(),
        rule: &step.rule,
        outcome: &step.outcome,
        error: &step.error,
        failure: &step.failure,
        origins: &origins,
        text: &step.said,
        cost: step.cost,
        model: &step.model,
        agent: step.row.agent.as_deref().unwrap_or_default(),
        folder: &step.row.workspace,
    })
}

#[tokio::test]
async fn the_newest_come_first_and_no_more_than_are_wanted() {
    let place = some_work().await;
    let mut index = place.index();
    index.refresh().unwrap();
    work(&place, "20250101-z", vec![made("bash", json!({"command": "ls"}), "builtin.ask")]).await;
    index.refresh().unwrap();
    let some = index.query(&Predicate::parse("tool=bash").unwrap(), 2).unwrap();
    assert_eq!((named(&some), some.all), (vec!["20250101-z 2.0".to_string(), "20260101-a 6.0".into()], 3));
    assert_eq!(index.query(&Predicate::parse("tool=bash").unwrap(), 0).unwrap().steps, []);
}

#[tokio::test]
async fn what_came_since_the_last_question_is_found_by_the_next_even_in_the_place_of_what_is_gone() {
    let place = Place::new();
    let mut index = place.index();
    let calls = |command: &str| vec![made("bash", json!({"command": command}), "builtin.ask")];
    for (trace, command) in [("20260101-a", "echo apples"), ("20260101-b", "echo oranges")] {
        work(&place, trace, calls(command)).await;
        index.refresh().unwrap();
    }
    assert_eq!(named(&find(&index, "args~oranges")), ["20260101-b 2.0"]);
    // What comes now gets the numbers that are free again.
    place.store.remove(&place.scope, &"20260101-b".parse().unwrap()).await.unwrap();
    index.refresh().unwrap();
    work(&place, "20260101-c", calls("echo pears")).await;
    index.refresh().unwrap();
    work(&place, "20260101-d", calls("echo plums")).await;
    index.refresh().unwrap();
    // Nobody has asked for it yet: it leaves without its words having been taken in.
    place.store.remove(&place.scope, &"20260101-d".parse().unwrap()).await.unwrap();
    index.refresh().unwrap();
    let other = place.index();
    for (piece, trace) in
        [("apples", vec!["20260101-a 2.0"]), ("pears", vec!["20260101-c 2.0"]), ("plums", vec![]), ("oranges", vec![])]
    {
        assert_eq!(named(&find(&index, &format!("args~{piece}"))), trace, "{piece}");
        assert_eq!(named(&find(&other, &format!("args~{piece}"))), trace, "{piece}");
    }
}

#[tokio::test]
async fn what_is_gone_is_found_no_more_and_leaves_no_words_behind() {
    let place = some_work().await;
    let mut index = place.index();
    index.refresh().unwrap();
    assert_eq!(named(&find(&index, "args~make")), ["20260101-a 2.0"]);
    place.store.remove(&place.scope, &"20260101-a".parse().unwrap()).await.unwrap();
    index.refresh().unwrap();
    assert_eq!(named(&find(&index, "args~deploy")), [""; 0], "what is cut off a long text is not found");
    assert_eq!(find(&index, "cost>=0").all, 3);
    Index::forget(&place.store, &place.scope, &["20260102-b".parse().unwrap()]).unwrap();
    drop(index);
    let file = std::fs::read(place.file("index.sqlite")).unwrap();
    let has = |words: &[u8]| file.windows(words.len()).any(|at| at == words);
    assert!(!has(b"make deploy") && !has(b"write_text_file") && has(b"some:model"));
}
