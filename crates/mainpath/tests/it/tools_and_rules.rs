//! Tools of closures, and rules and policies in code.

use crate::support::{COUNT, Place, WRITE, Words};
use mainpath::policy::{Folders, Policy};
use mainpath::prelude::*;

#[tokio::test]
async fn a_closure_is_a_tool_with_typed_arguments() {
    let place = Place::new(COUNT);
    let count = tool_fn("count_words", "Counts the words of a text.", |words: Words| async move {
        words.text.split_whitespace().count().to_string()
    });
    let host = Host::builder().in_memory().tool(count.effect(EffectClass::ReadOnly)).build().await.unwrap();
    let described = host.tools().specs().into_iter().find(|tool| tool.name == "count_words").unwrap();
    assert_eq!(described.input_schema["properties"]["text"]["description"], "The text to count in.");
    let run = host.agent(place.model()).workspace(place.work()).start("Count.").await.unwrap();
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().tools["count_words"], 1);
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("\"content\":[{\"type\":\"text\",\"text\":\"3\"}]"), "{said}");
}

#[tokio::test]
async fn a_closure_that_fails_or_is_called_wrongly_tells_the_model_why() {
    let script = r#"
[[turn]]
calls = [{ tool = "count_words", args = { text = "one" } }, { tool = "count_words", args = { words = 1 } }]
[[turn]]
final = "No."
"#;
    let place = Place::new(script);
    let fail = tool_fn("count_words", "Fails.", |_: Words| async move { Err::<String, _>("no words today") });
    let host = Host::builder().in_memory().tool(fail).build().await.unwrap();
    let agent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes);
    let run = agent.start("Count.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("no words today") && said.contains("text"), "{said}");
    let bad = tool_fn("no blanks", "Cannot be.", |_: Words| async move { "" });
    assert_eq!(Host::builder().in_memory().tool(bad).build().await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn the_rules_of_a_host_hold_for_all_its_agents() {
    let rules = "[[rule]]\nid = \"no-new\"\ndecision = \"deny\"\nmatch = \"write(new.txt)\"\nreason = \"Not here.\"\n";
    let place = Place::new(WRITE);
    let host = Host::builder().in_memory().rules("host.toml", rules).build().await.unwrap();
    let agent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes);
    agent.start("Write it.").await.unwrap().outcome().await.unwrap();
    assert!(!place.work().join("new.txt").exists());
    let wrong = Host::builder().in_memory().rules("host.toml", "[[rule]]\nmatch = 1\n").build().await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Invalid);
    assert!(wrong.message().contains("host.toml"), "{wrong}");
}

#[tokio::test]
async fn a_policy_in_code_takes_the_place_of_all_rules() {
    let place = Place::new(WRITE);
    let allow_all = |workspace: &std::path::Path, _: &mainpath::types::RunRules| {
        let mut policy = Policy::new(Folders { workspace: workspace.display().to_string(), home: String::new() });
        policy.add_rule(mainpath::types::Decision::Allow, "write(**)")?;
        Ok(policy)
    };
    let host = Host::builder().in_memory().policy(allow_all).build().await.unwrap();
    let mut run = host.agent(place.model()).workspace(place.work()).start("Write it.").await.unwrap();
    while let Some(event) = run.next().await {
        assert!(!matches!(event.unwrap(), RunEvent::ApprovalRequired(_)), "nothing is asked");
    }
    assert!(place.work().join("new.txt").exists());
}
