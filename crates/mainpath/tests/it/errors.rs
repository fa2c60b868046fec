//! What an embedder is told when something cannot be used.

use crate::support::{COUNT, Place};
use mainpath::prelude::*;
use mainpath::types::RateLimit;

#[tokio::test]
async fn what_cannot_be_used_is_named_by_its_field_and_not_by_a_flag() {
    let place = Place::new(COUNT);
    let host = Host::builder().in_memory().build().await.unwrap();
    let agent = || host.agent(place.model()).workspace(place.work());
    let rate = ("no_such_tool".to_string(), RateLimit { calls: 1, per_ms: 1_000 });
    let money = LimitOptions { money: Some(1), ..LimitOptions::default() };
    let unknown = host.agent("openai-compatible:http://127.0.0.1:9/v1#unknown").workspace(place.work());
    let prompt = AgentOptions { workspace: Some(place.work()), ..AgentOptions::default() };
    let mut prompt = prompt;
    prompt.prompt.file = Some("missing".into());
    let wrong = [
        ("tools", agent().tools(["no_such_tool"])),
        ("rules.allow", agent().allow("bash(")),
        ("rules.deny", agent().deny("")),
        ("limits.rates", agent().limits(LimitOptions { rates: vec![rate], ..LimitOptions::default() })),
        ("limits.money", unknown.limits(money)),
        ("prompt.file", host.agent(place.model()).options(prompt)),
    ];
    for (field, agent) in wrong {
        let error = agent.start("x").await.map(drop).unwrap_err();
        assert_eq!((error.kind(), error.field()), (ErrorKind::Invalid, Some(field)), "{error}");
        assert!(error.message().starts_with(field) && !error.message().contains("--"), "{error}");
        assert_eq!(format!("{field}{}", error.problem()), error.message());
    }
}

#[tokio::test]
async fn what_names_no_message_cannot_be_used() {
    let place = Place::new(COUNT);
    let run = place.agent().await.start("Count.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let missing = trace.fork(mainpath::types::Seq(99)).await.map(drop).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Invalid, "{missing}");
}
