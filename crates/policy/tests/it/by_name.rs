//! Rules that name tools and arguments: one's own, those of MCP servers.

use crate::support::*;
use mainpath_policy::{CallFacts, PathFact, UrlFact};
use mainpath_types::{Decision, EffectClass};

use Decision::{Allow, Ask, Deny};

#[test]
fn a_star_between_the_parentheses_is_every_call_of_a_tool_of_ones_own_or_of_a_server() {
    for star in ["*", "**"] {
        let policy = bare(&[&format!("allow refund({star})"), &format!("deny mcp__mail__send({star})")]);
        for (text, expected) in [
            ("refund(order=7)", Allow),
            ("refund", Allow),
            ("refund_all(order=7)", Ask),
            ("mcp__mail__send(to=a@b.c)", Deny),
            ("mcp__mail__read(id=1)", Ask),
        ] {
            assert_eq!(decided(&policy, text).0, expected, "{star} {text}");
        }
    }
}

#[test]
fn any_argument_and_any_tool_can_be_named() {
    let policy = bare(&[
        "allow redis_context(op=get, key=sessions:*)",
        "deny redis_context(key=admin:*)",
        "allow mcp__github__*",
        "deny mcp__github__delete_*",
    ]);
    for (text, expected) in [
        ("redis_context(op=get, key=sessions:1)", Allow),
        ("redis_context(op=set, key=sessions:1)", Ask),
        ("redis_context(op=get, key=admin:1)", Deny),
        ("mcp__github__list_issues", Allow),
        ("mcp__github__delete_repo(name=x)", Deny),
        ("mcp__other__x", Ask),
    ] {
        assert_eq!(decided(&policy, text).0, expected, "{text}");
    }
}

#[test]
fn a_tool_is_denied_altogether_only_by_a_rule_for_all_its_calls() {
    let denied = |rules: &[&str], tool: &str| bare(rules).denies_all_of(tool, EffectClass::ProcessControl);
    for (rules, tool, all) in [
        (&["deny bash"][..], "bash", true),
        (&["deny execute_bash"], "bash", true),
        (&["deny bash(*)"], "bash", true),
        (&["deny *"], "bash", true),
        (&["deny mcp__x__*"], "mcp__x__do", true),
        (&["deny bash"], "sandbox", false),
        (&["deny bash(git *)"], "bash", false),
        (&["ask bash"], "bash", false),
        (&["allow bash"], "bash", false),
        (&["deny bash if origin = web"], "bash", false),
        (&["deny write(**)"], "write_text_file", false),
        (&[], "bash", false),
    ] {
        assert_eq!(denied(rules, tool), all, "{rules:?} {tool}");
    }
}

#[test]
fn an_allow_for_the_arguments_of_a_call_covers_the_addresses_that_follow_from_them_and_no_files() {
    let facts = CallFacts {
        tool: "invoke_workflow".into(),
        effect: EffectClass::SideEffecting,
        arguments: serde_json::json!({"name": "deploy"}),
        urls: vec![UrlFact { method: "POST".into(), url: "https://ci.example.com/deploy".into() }],
        ..CallFacts::default()
    };
    let of = |rules: &[&str], facts: &CallFacts| verdict(&usual(rules), facts).0;
    assert_eq!(of(&["allow invoke_workflow(name=deploy)"], &facts), Decision::Allow);
    assert_eq!(of(&["allow invoke_workflow(name=erase)"], &facts), Decision::Ask);
    assert_eq!(of(&["allow other(name=deploy)"], &facts), Decision::Ask);
    let rules = ["allow invoke_workflow(name=deploy)", "deny invoke_workflow(POST https://ci.example.com/**)"];
    assert_eq!(of(&rules, &facts), Decision::Deny, "a rule about the address still holds");
    // An allow for one of its addresses is none for the others.
    let other = UrlFact { method: "POST".into(), url: "https://other.example.com/".into() };
    let both = CallFacts { urls: vec![facts.urls[0].clone(), other], ..facts.clone() };
    assert_eq!(of(&["allow invoke_workflow(POST https://ci.example.com/**)"], &facts), Decision::Allow);
    assert_eq!(of(&["allow invoke_workflow(POST https://ci.example.com/**)"], &both), Decision::Ask);
    let path = PathFact {
        path: "/etc/x".into(),
        absolute: "/etc/x".into(),
        relative: None,
        write: true,
        protected: false,
        in_repository: false,
    };
    let outside = CallFacts { paths: vec![path], ..facts };
    assert_eq!(of(&["allow invoke_workflow(name=deploy)"], &outside), Decision::Deny);
}

#[test]
fn calls_of_mcp_tools_are_written_with_names_or_as_json() {
    let policy = usual(&["allow mcp__tracker__add(title=x*)"]);
    for text in
        ["mcp__tracker__add(title=x1, body=see https://a.b/c)", "mcp__tracker__add({\"title\": \"x1\", \"n\": 3})"]
    {
        assert_eq!(decided(&policy, text).0, Allow, "{text}");
        let facts = call(text);
        assert!(facts.paths.is_empty() && facts.urls.is_empty() && facts.commands.is_empty(), "{facts:?}");
    }
    for text in ["mcp__tracker__add(title=y)", "mcp__tracker__add", "mcp__tracker__add(...)"] {
        assert_ne!(decided(&policy, text).0, Allow, "{text}");
    }
    let folders = mainpath_policy::Folders::default();
    for (text, problem) in [
        ("mcp__a__b(src/a.rs)", "are written as name=value, name=value or as a JSON object"),
        ("mcp__a__b({\"x\": })", "are not a JSON object"),
    ] {
        let said = mainpath_policy::sample(text, &folders).unwrap_err().to_string();
        assert!(said.contains(problem), "{said}");
    }
}
