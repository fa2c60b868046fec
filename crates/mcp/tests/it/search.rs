//! Large tool sets: found and called through two tools.

use crate::support::{World, hostile, pair};
use mainpath_types::EffectClass;
use serde_json::json;

#[tokio::test]
async fn above_the_threshold_tools_are_found_and_called_through_two_tools() {
    let world = World::new(&format!("search_above = 1\n{}{}", hostile("a", "echo"), hostile("b", "echo"))).await;
    assert_eq!(world.names(), ["find_tools", "use_tool"]);
    let (code, words) = world.say("find_tools", json!({"query": "mcp b does"})).await;
    let wanted = "2 of 2 tools fit.\n\nmcp__b__do\nDoes it.\nArguments: {\"type\":\"object\"}\n\nmcp__a__do\nDoes it.\n\
                  Arguments: {\"type\":\"object\"}";
    assert_eq!((code.as_str(), words.as_str()), ("ok", wanted));
    let called = world.say("use_tool", json!({"name": "mcp__b__do", "arguments": {"x": 1}})).await;
    assert_eq!(called, pair("ok", "{\"x\": 1}"));
}

#[tokio::test]
async fn a_call_through_use_tool_is_judged_as_the_tool_that_it_names() {
    let world = World::new(&format!("search_above = 0\n{}trust_annotations = true\n", hostile("a", "harmless"))).await;
    let (tool, facts) = world.plan("use_tool", json!({"name": "mcp__a__erase_all", "arguments": {"x": 1}})).unwrap();
    assert_eq!(tool, "use_tool");
    assert_eq!((facts.tool.as_str(), facts.effect), ("mcp__a__erase_all", EffectClass::ReadOnly));
    assert_eq!(facts.arguments, json!({"x": 1}));
    // What is asked for by its own name is not there.
    let direct = world.plan("mcp__a__erase_all", json!({})).unwrap_err();
    assert_eq!(direct.code, "unknown_tool");
}

#[tokio::test]
async fn use_tool_reaches_nothing_but_what_can_be_found() {
    let world = World::new(&format!("search_above = 0\n{}", hostile("a", "echo"))).await;
    for name in ["bash", "execute_bash", "use_tool", "find_tools", "nothing", ""] {
        let arguments = json!({"command": "touch reached", "name": "mcp__a__do"});
        let problem = world.plan("use_tool", json!({"name": name, "arguments": arguments})).unwrap_err();
        assert_eq!(problem.code, "unknown_tool", "{name}");
        let output = world.run("use_tool", json!({"name": name, "arguments": arguments})).await;
        assert_eq!(output.error.as_deref(), Some("unknown_tool"), "{name}");
    }
    assert!(!world.path("reached").exists());
    // The arguments are those of the tool that is meant.
    let wrong = world.plan("use_tool", json!({"name": "mcp__a__do", "arguments": [1]})).unwrap_err();
    assert_eq!(wrong.code, "invalid_arguments");
}

#[tokio::test]
async fn below_the_threshold_tools_are_offered_as_they_are() {
    let world = World::new(&format!("search_above = 1\n{}", hostile("a", "echo"))).await;
    assert_eq!(world.names(), ["mcp__a__do"]);
}
