//! Turns in JSON text: read from an answer, and shown as text again.

use mainpath_core::{Parsed, parse_turn, render_turn};
use mainpath_types::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const STRICT: TextForm = TextForm { dialect: Dialect::AgentCore, tolerant: false };
const TOLERANT: TextForm = TextForm { tolerant: true, ..STRICT };
const SKILLS: TextForm = TextForm { dialect: Dialect::Skills, tolerant: false };

fn call(name: &str, arguments: &str) -> Part {
    Part::ToolCall { name: name.into(), arguments: arguments.into(), signature: None }
}

fn turn(part: Part) -> Parsed {
    Parsed { parts: vec![part], goals: Vec::new(), tolerated: false }
}

fn problem(text: &str, form: TextForm) -> String {
    parse_turn(text, form).unwrap_err().to_string()
}

fn words(parsed: Parsed, dialect: Dialect) -> String {
    let message = Message { seq: None, role: Role::Assistant, parts: parsed.parts };
    text_of(&render_turn(message, dialect).parts)
}

#[test]
fn an_action_is_a_call_and_a_final_answer_is_text() {
    let action = r#" {"type":"action","tool":"read_text_file","args":{"path":"a.txt"}}
"#;
    assert_eq!(parse_turn(action, STRICT).unwrap(), turn(call("read_text_file", r#"{"path":"a.txt"}"#)));
    let without = parse_turn(r#"{"type":"action","tool":"bash"}"#, STRICT).unwrap();
    assert_eq!(without.parts.last(), Some(&call("bash", "{}")));
    assert_eq!(
        parse_turn(r#"{"type":"final","answer":"It is\n\"done\"."}"#, STRICT).unwrap(),
        turn(Part::text("It is\n\"done\"."))
    );
    let as_json = parse_turn(r#"{"answer":{"n":1},"type":"final"}"#, STRICT).unwrap();
    assert_eq!(as_json.parts.last(), Some(&Part::text("{\"n\":1}")));
}

#[test]
fn each_thing_that_is_wrong_is_said_precisely() {
    let cases = [
        ("", "it was empty."),
        (
            "Sure! {\"type\":\"final\",\"answer\":\"x\"}",
            "it does not begin with the JSON object that it must consist of.",
        ),
        (
            "```json\n{\"type\":\"final\",\"answer\":\"x\"}\n```",
            "it does not begin with the JSON object that it must consist of. Do not put it into a code fence.",
        ),
        ("{\"type\":\"final\",", "the JSON object is not complete: EOF while parsing a value at line 1 column 16."),
        ("{\"type\":\"final\",\"answer\":\"x\"} Done.", "something follows the JSON object (line 1, column 31)."),
        ("{'type':'final'}", "it is no valid JSON: key must be a string at line 1 column 2."),
        ("[]", "it is an array, not a JSON object."),
        ("{}", "\"type\" is missing."),
        (r#"{"type":1}"#, "\"type\" is a number, not a string."),
        (r#"{"type":"think"}"#, "\"type\" is \"think\"; it must be \"action\" or \"final\"."),
        (r#"{"type":"action","args":{}}"#, "\"tool\" is missing."),
        (r#"{"type":"action","tool":"x","args":"y"}"#, "\"args\" is a string, not an object."),
        (r#"{"type":"final","answer":null}"#, "\"answer\" is missing."),
        (r#"{"type":"final","answer":"x","tool":"y"}"#, "the field \"tool\" does not belong there."),
    ];
    for (text, wrong) in cases {
        assert_eq!(problem(text, STRICT), wrong, "{text}");
    }
}

#[test]
fn fences_prose_and_more_fields_are_put_up_with_only_where_that_was_asked_for() {
    let found =
        |text: &str| parse_turn(text, TOLERANT).map(|parsed| (parsed.tolerated, words(parsed, Dialect::AgentCore)));
    let last = r#"{"type":"final","answer":"x"}"#;
    for text in
        [format!("```json\n{last}\n```"), format!("I think {{so}}: {last} That is all."), format!("\u{1F600}{last}")]
    {
        assert!(found(&text).unwrap().0, "{text}");
        assert!(parse_turn(&text, STRICT).is_err(), "{text}");
        assert_eq!(
            serde_json::from_str::<Value>(&found(&text).unwrap().1).unwrap(),
            json!({"type": "final", "answer": "x"})
        );
    }
    let more = r#"{"thought":"easy","type":"final","answer":"x"}"#;
    assert_eq!(found(more).unwrap(), (false, more.into()));
    assert_eq!(problem(more, STRICT), "the field \"thought\" does not belong there.");
    assert!(found("no object at all {").is_err());
}

#[test]
fn the_skills_dialect_has_actions_of_its_own_and_an_optional_plan() {
    let parts = |text: &str| parse_turn(text, SKILLS).unwrap().parts.last().cloned();
    let tool = json!({"action": {"type": "tool", "tool": "bash", "args": {"command": "ls"}}}).to_string();
    assert_eq!(parse_turn(&tool, SKILLS).unwrap(), turn(call("bash", r#"{"command":"ls"}"#)));
    let script =
        json!({"action": {"type": "run_script", "skill": "pdf", "path": "x.py", "reason": "to see"}}).to_string();
    assert_eq!(parts(&script), Some(call("run_script", r#"{"path":"x.py","reason":"to see","skill":"pdf"}"#)));
    let last = json!({
        "plan_update": {"steps": [{"id": "1", "status": "completed"}]},
        "action": {"type": "final_answer", "reason": "done"}, "final_answer": {"content": "42"},
    });
    assert_eq!(parts(&last.to_string()), Some(Part::text("42")));
    let goal_only = json!({"plan_update": {"goal": "g"}, "action": {"type": "tool", "tool": "x"}});
    assert_eq!(parts(&goal_only.to_string()), Some(call("x", "{}")));
    let cases = [
        (json!({"final_answer": {"content": "x"}}), "\"action\" is missing."),
        (json!({"action": {"type": "final_answer"}}), "\"final_answer\" is missing."),
        (json!({"action": {"type": "final_answer"}, "final_answer": {}}), "\"final_answer.content\" is missing."),
        (
            json!({"action": {"type": "sing"}}),
            "\"action.type\" is \"sing\"; it must be \"select_skills\", \"load_resource\", \"run_script\", \"tool\" or \
             \"final_answer\".",
        ),
        (json!({"plan": {}, "action": {"type": "tool", "tool": "x"}}), "\"plan.steps\" is missing."),
        (
            json!({"plan": {"steps": [{"title": "a", "status": "maybe"}]}, "action": {"type": "tool", "tool": "x"}}),
            "\"plan.steps[0].status\" is \"maybe\"; it must be \"pending\", \"in_progress\", \"completed\", \"abandoned\".",
        ),
        (
            json!({"plan": {"steps": [{"id": 1}]}, "action": {"type": "tool", "tool": "x"}}),
            "\"plan.steps[0].title\" is missing.",
        ),
        (
            json!({"plan_update": {"steps": [{"id": 1, "title": " "}]}, "action": {"type": "tool", "tool": "x"}}),
            "\"plan_update.steps[0].title\" is empty.",
        ),
        (
            json!({"plan": {"steps": [], "constraints": 3}, "action": {"type": "tool", "tool": "x"}}),
            "\"plan.constraints\" is a number, not an array.",
        ),
    ];
    for (value, wrong) in cases {
        assert_eq!(problem(&value.to_string(), SKILLS), wrong);
    }
}

#[test]
fn a_plan_and_its_update_are_operations_on_the_plan() {
    let goals = |plan: Value| {
        let mut turn = json!({"action": {"type": "tool", "tool": "x"}});
        turn.as_object_mut().unwrap().extend(plan.as_object().unwrap().clone());
        parse_turn(&turn.to_string(), SKILLS).unwrap().goals
    };
    let step = |id: &str, title: Option<&str>, status| Step {
        id: Some(id.into()),
        title: title.map(Into::into),
        status,
        under: None,
    };
    let plan = json!({"plan": {
        "goal": "all of it",
        "steps": [{"id": "s1", "title": "look", "status": "in_progress"}, {"id": 2, "title": "build"}],
        "constraints": {"max_turns": 12, "tone": "dry"},
    }});
    let steps = vec![step("s1", Some("look"), Some(GoalStatus::InProgress)), step("2", Some("build"), None)];
    let terms = GoalOp::Terms {
        mission: Some("all of it".into()),
        assumptions: Some(Vec::new()),
        constraints: Some(vec!["max_turns: 12".into(), "tone: dry".into()]),
    };
    assert_eq!(goals(plan), [terms, GoalOp::Set { steps }]);
    let update = json!({"plan_update": {"steps": [{"id": "s1", "status": "completed"}], "assumptions": ["it rains"]}});
    let assumptions = Some(vec!["it rains".into()]);
    let terms = GoalOp::Terms { mission: None, assumptions, constraints: None };
    assert_eq!(goals(update), [terms, GoalOp::Update { steps: vec![step("s1", None, Some(GoalStatus::Completed))] }]);
    assert_eq!(goals(json!({"plan_update": {}})), []);
}

#[test]
fn what_an_answer_said_beyond_its_turn_is_shown_to_the_model_again_word_for_word() {
    let said = r#"{ "plan": {"goal":"g","steps":[{"id":"1","title":"look","status":"in_progress"}]}, "action": {"type":"tool","tool":"bash","args":{"command":"ls"},"reason":"to look"} }"#;
    let parsed = parse_turn(said, SKILLS).unwrap();
    assert_eq!(words(parsed.clone(), Dialect::Skills), said);
    // No vendor knows who signed it, so none is sent it.
    assert!(
        matches!(&parsed.parts[0], Part::Thinking { text, signature: Some(s) } if text.is_empty() && s.issuer == "text-protocol")
    );
}

#[test]
fn a_history_of_another_protocol_reads_as_turns_and_observations() {
    let render = |role, parts| render_turn(Message { seq: Some(Seq(3)), role, parts }, Dialect::AgentCore);
    let signature = Some(Signature { issuer: "vendor".into(), value: "abc".into() });
    let thought = Part::Thinking { text: "hm".into(), signature };
    let calls =
        vec![thought.clone(), Part::text("Let me look."), call("read", r#"{"b":1,"a":2}"#), call("read", "not json")];
    let shown = render(Role::Assistant, calls);
    let lines = "{\"args\":{\"a\":2,\"b\":1},\"tool\":\"read\",\"type\":\"action\"}\n{\"args\":\"not json\",\"tool\":\"read\",\"type\":\"action\"}";
    assert_eq!(shown, Message { seq: Some(Seq(3)), role: Role::Assistant, parts: vec![thought, Part::text(lines)] });
    let script = vec![call("run_script", r#"{"path":"x.py"}"#)];
    let script = render_turn(Message { seq: None, role: Role::Assistant, parts: script }, Dialect::Skills);
    assert_eq!(text_of(&script.parts), r#"{"action":{"path":"x.py","type":"run_script"}}"#);
    let result =
        |content, is_error| Part::ToolResult { call: "3.0".parse().unwrap(), name: "read".into(), content, is_error };
    let observed = render(Role::Tool, vec![result(vec![Part::text("one"), Part::text("two")], false)]);
    assert_eq!(
        observed,
        Message { seq: Some(Seq(3)), role: Role::User, parts: vec![Part::text("Observation (read, ok):\none\ntwo")] }
    );
    let image = Part::Image { source: Source::Url { url: "u".into() } };
    let failed = render(Role::Tool, vec![result(vec![image.clone()], true)]);
    assert_eq!(failed.parts, vec![Part::text("Observation (read, failed):"), image]);
    let user = Message { seq: None, role: Role::User, parts: vec![Part::text("hi")] };
    assert_eq!(render_turn(user.clone(), Dialect::Skills), user);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_fail_and_what_is_read_is_shown_as_a_turn_that_reads_the_same(
        text in prop_oneof![
            ".{0,60}",
            "\\{\"type\":\"(action|final)\",\"(tool|answer)\":\"[a-z\\\\\"]{0,9}\"[,}]?(\"args\":\\{\\})?\\}?",
            any::<String>().prop_map(|answer| json!({"type": "final", "answer": answer}).to_string()),
            ("[a-z]{1,9}", any::<String>()).prop_map(|(tool, value)| json!({"type": "action", "tool": tool, "args": {"v": value}}).to_string()),
        ],
        tolerant: bool,
    ) {
        for dialect in [Dialect::AgentCore, Dialect::Skills] {
            let form = TextForm { dialect, tolerant };
            if let Ok(parsed) = parse_turn(&text, form) {
                let again = parse_turn(&words(parsed.clone(), dialect), form).unwrap();
                prop_assert_eq!(again.parts, parsed.parts);
            }
        }
    }
}
