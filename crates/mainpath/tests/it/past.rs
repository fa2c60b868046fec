//! Recorded calls judged by other rules, calls found, and breakpoints, as a program uses them.

use crate::support::{Place, WRITE};
use mainpath::backtest::{BacktestScope, NewRules, PersonSaid};
use mainpath::policy::Layer;
use mainpath::prelude::*;
use mainpath::rules::GivenRules;
use mainpath::types::{RuleText, Verdict};

#[tokio::test]
async fn a_call_waits_at_a_breakpoint_though_all_is_allowed_and_a_person_decides() {
    let place = Place::new(WRITE);
    let agent = place.agent().await.approvals(ApprovalMode::Yes).breakpoint("args.path~'^new' and text=''");
    let mut run = agent.start("Write it.").await.unwrap();
    let mut asked = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            assert!(!place.work().join("new.txt").exists());
            asked.push(call.verdict.clone());
            call.approve().await.unwrap();
        }
    }
    let reason = "Breakpoint \"args.path~'^new' and text=''\"; without it the call would run, by flag.yes.";
    let verdict = Verdict { decision: Decision::Ask, rule: "run.breakpoint".into(), reason: reason.into() };
    assert_eq!(asked, [Some(verdict)]);
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::Final);
    assert_eq!(std::fs::read_to_string(place.work().join("new.txt")).unwrap(), "hello");
    let Err(wrong) = place.agent().await.breakpoint("outcome=ok").start("x").await else { panic!("it starts") };
    assert_eq!((wrong.kind(), wrong.field()), (ErrorKind::Invalid, Some("rules.breakpoints")));
}

#[tokio::test]
async fn recorded_calls_are_judged_by_other_rules_and_found() {
    let place = Place::new(WRITE);
    let host = place.host().await;
    let agent = host.agent(place.model()).workspace(place.work());
    let mut run = agent.start("Write it.").await.unwrap();
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            call.approve().await.unwrap();
        }
    }
    let trace = run.trace().id().clone();
    run.outcome().await.unwrap();
    let judge = host.past_judge();
    let logs = host.logs().unwrap();
    let (log, ..) = logs.read(&trace).await.unwrap();
    let calls = judge.calls(&log);
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((call.tool, call.person), ("write_text_file", Some(PersonSaid::Approved)));
    assert_eq!(call.now.as_ref().map(|now| now.rule.as_str()), Ok("builtin.ask"));
    let rules = |decision: &str| {
        let text = format!("[[rule]]\nid = \"new\"\ndecision = \"{decision}\"\nmatch = \"write(new.txt)\"\n");
        let text = RuleText { name: "new.toml".into(), text };
        NewRules { file: Some(GivenRules { layer: Layer::User, text }), ..NewRules::default() }
    };
    let found = judge.backtest(logs, &rules("allow"), &BacktestScope::default()).unwrap();
    assert_eq!((found.calls, found.judged, found.stricter.len(), found.looser.len()), (1, 1, 0, 1));
    assert_eq!((found.looser[0].approved, found.looser[0].now_rule.as_str()), (1, "new"));
    let found = judge.backtest(logs, &rules("deny"), &BacktestScope::default()).unwrap();
    assert_eq!((found.looser.len(), found.other.len(), found.other[0].now), (0, 1, Decision::Deny));
    let suggested = judge.suggest(logs, &BacktestScope::default(), 1).unwrap();
    assert_eq!(suggested.rules[0].r#match, ["write(new.txt)"]);
    let steps = host.query("tool=write_text_file and outcome=ok", 10).await.unwrap();
    assert_eq!(steps.iter().map(|step| &step.trace.trace_id).collect::<Vec<_>>(), [&trace]);
    assert_eq!(host.query("tool=", 10).await.unwrap_err().kind(), ErrorKind::Invalid);
}
