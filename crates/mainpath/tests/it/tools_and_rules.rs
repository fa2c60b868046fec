//! Tools of closures, and rules and policies in code.

use crate::support::{COUNT, Place, WRITE, Words};
use mainpath::policy::{Folders, Policy};
use mainpath::prelude::*;
use mainpath::types::{Part, Spec, text_of};

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
        let mut policy = Policy::new(Folders {
            workspace: workspace.display().to_string(),
            home: String::new(),
            ..Folders::default()
        });
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

/// The names of the tools that an agent is offered.
fn offered(spec: &Spec) -> Vec<&str> {
    spec.tools.iter().map(|tool| tool.name.as_str()).collect()
}

const LOOKING_BACK: [&str; 4] = ["expand_window", "list_calls", "load_older_messages", "recall_result"];

#[tokio::test]
async fn an_agent_that_is_given_no_tools_has_none_but_those_that_look_back_and_gets_none_later() {
    let script = "[[turn]]\ncalls = [{ tool = \"late\", args = {} }]\n[[turn]]\nfinal = \"No.\"\n";
    let place = Place::new(script);
    let host = Host::builder().in_memory().build().await.unwrap();
    let agent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes);
    let all = agent.clone().spec().unwrap();
    assert!(all.tools.len() > 10 && all.allowed_tools.is_empty(), "without a list there are all");
    let none = agent.tools(Vec::<String>::new());
    let spec = none.spec().unwrap();
    assert_eq!(offered(&spec), LOOKING_BACK);
    let mut named = spec.allowed_tools.clone();
    named.sort();
    assert_eq!(named, LOOKING_BACK, "an empty list of a log means all");
    let late = tool_fn("late", "Comes later.", |(): ()| async { "here" });
    late.effect(EffectClass::ReadOnly).put_into(host.tools()).unwrap();
    let run = none.start("Use it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("not among the tools") && !said.contains("here\""), "{said}");
}

#[tokio::test]
async fn what_an_agent_denies_or_asks_about_holds_under_a_policy_in_code() {
    let place = Place::new(WRITE);
    let allow_all = |workspace: &std::path::Path, _: &mainpath::types::RunRules| {
        let mut policy = Policy::new(Folders {
            workspace: workspace.display().to_string(),
            home: String::new(),
            ..Folders::default()
        });
        policy.add_rule(mainpath::types::Decision::Allow, "write(**)")?;
        Ok(policy)
    };
    let host = Host::builder().in_memory().policy(allow_all).build().await.unwrap();
    let agent = || host.agent(place.model()).workspace(place.work());
    agent().deny("write(new.txt)").start("Write it.").await.unwrap().outcome().await.unwrap();
    assert!(!place.work().join("new.txt").exists());
    let asks = agent().ask("write(new.txt)").approvals(ApprovalMode::Deny);
    asks.start("Write it.").await.unwrap().outcome().await.unwrap();
    assert!(!place.work().join("new.txt").exists());
    let spec = agent().deny("bash").spec().unwrap();
    assert!(!offered(&spec).contains(&"bash"), "{spec:?}");
    agent().start("Write it.").await.unwrap().outcome().await.unwrap();
    assert!(place.work().join("new.txt").exists());
}

#[tokio::test]
async fn own_tools_are_there_whether_they_are_added_before_or_after_the_others_are_taken_away() {
    let own = || tool_fn("own", "Does it.", |(): ()| async { "done" });
    let before = Host::builder().in_memory().tool(own()).only_tools(Tools::new()).build().await.unwrap();
    let after = Host::builder().in_memory().only_tools(Tools::new()).tool(own()).build().await.unwrap();
    for host in [before, after] {
        let names: Vec<String> = host.tools().specs().into_iter().map(|tool| tool.name).collect();
        let wanted = ["expand_window", "goal", "list_calls", "load_older_messages", "own", "recall_result"];
        assert_eq!(names, wanted);
    }
}

#[tokio::test]
async fn a_rule_in_code_about_an_argument_that_its_tool_does_not_have_is_refused() {
    let place = Place::new(COUNT);
    let count = || tool_fn("count_words", "Counts.", |words: Words| async move { words.text.len().to_string() });
    let host = Host::builder().in_memory().tool(count()).build().await.unwrap();
    let agent = || host.agent(place.model()).workspace(place.work());
    let error = agent().deny("count_words(txt=secret*)").spec().unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Invalid, Some("rules.deny")));
    assert_eq!(error.message(), "rules.deny: the tool \"count_words\" has no argument \"txt\"; it has: text");
    assert!(agent().deny("count_words(text=secret*)").deny("later(txt=1)").spec().is_ok());
    let rules = "[[rule]]\ndecision = \"deny\"\nmatch = \"count_words(txt=1)\"\n";
    let wrong = Host::builder().in_memory().rules("host.toml", rules).tool(count()).build().await.unwrap_err();
    assert_eq!(wrong.message(), "host.toml, line 1: the tool \"count_words\" has no argument \"txt\"; it has: text");
}

/// A failure with a cause that it does not tell itself.
#[derive(Debug)]
struct Outer(std::io::Error);

impl std::fmt::Display for Outer {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("the shop is shut")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[derive(serde::Serialize)]
struct Bird {
    name: &'static str,
    legs: u8,
}

#[tokio::test]
async fn closures_take_no_arguments_or_the_context_too_and_give_what_can_be_serialized_or_a_failure_with_its_causes() {
    let script = r#"
[[turn]]
calls = [
    { tool = "bird", args = {} },
    { tool = "where", args = { text = "here" } },
    { tool = "shop", args = {} },
    { tool = "quiet", args = {} },
    { tool = "bird", args = { legs = 3 } },
]
[[turn]]
final = "Done."
"#;
    let place = Place::new(script);
    let bird = tool_fn("bird", "Names a bird.", |(): ()| async { Json(Bird { name: "heron", legs: 2 }) });
    let place_of = tool_fn_with("where", "Says where.", |context: ToolContext, words: Words| async move {
        format!("{} is call {}", words.text, context.grant.call())
    });
    let shop = tool_fn("shop", "Buys.", |(): ()| async { Err::<String, _>(Outer(std::io::Error::other("no light"))) });
    let quiet = tool_fn("quiet", "Says nothing.", |(): ()| async {});
    let host = Host::builder().in_memory().tool(bird.effect(EffectClass::ReadOnly)).tool(shop).tool(quiet);
    let host = host.tool(place_of).build().await.unwrap();
    let specs = host.tools().specs();
    let schema = &specs.iter().find(|tool| tool.name == "bird").unwrap().input_schema;
    assert_eq!(*schema, serde_json::json!({"type": "object", "properties": {}, "additionalProperties": false}));
    let agent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes);
    let run = agent.start("Do it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let messages = trace.messages().await.unwrap();
    let results: Vec<String> = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::ToolResult { content, .. } => Some(text_of(content)),
            _ => None,
        })
        .collect();
    assert_eq!(
        results[..4],
        [r#"{"name":"heron","legs":2}"#, "here is call 2.1", "the shop is shut: no light", "done"]
    );
    assert!(results[4].starts_with("Wrong arguments for bird"), "{results:?}");
}

#[tokio::test]
async fn a_file_that_a_rule_denies_is_in_no_search_and_no_list() {
    let script = r#"
[[turn]]
calls = [
    { tool = "grep", args = { pattern = "TOP" } },
    { tool = "grep", args = { pattern = "TOP", glob = "secret*" } },
    { tool = "glob", args = { pattern = "*.txt" } },
    { tool = "list_files", args = {} },
]
[[turn]]
final = "Done."
"#;
    let place = Place::new(script);
    std::fs::create_dir(place.work().join("secrets")).unwrap();
    for file in ["secret.txt", "secrets/hidden-name.txt", "open.txt"] {
        std::fs::write(place.work().join(file), format!("TOP {file}")).unwrap();
    }
    let agent = place.agent().await.approvals(ApprovalMode::Yes).access(Access::Full);
    let run = agent.deny("read(secret.txt)").deny("read(secrets/**)").start("Search.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let texts: Vec<String> = trace
        .messages()
        .await
        .unwrap()
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::ToolResult { content, .. } => Some(text_of(content)),
            _ => None,
        })
        .collect();
    let expected = [
        "open.txt\n1:TOP open.txt\n[2 names left out by rules]",
        "[no line matches]\n[1 name left out by rules]",
        "open.txt\n[2 names left out by rules]",
        "README.md (13)\nopen.txt (12)\n[2 names left out by rules]",
    ];
    assert_eq!(texts, expected);
}
