//! The agent core as a program that a workflow engine starts.

use crate::support::*;
use serde_json::{Value, json};

const READS: &str = r#"
[[turn]]
calls = [{ tool = "read_text_file", args = { path = "a.txt" } }]
[[turn]]
final = "It says hello."
"#;

/// A request on a script.
fn request(place: &Place, script: &str, config: Value) -> Vec<u8> {
    let file = place.root().join("script.toml");
    std::fs::write(&file, script).unwrap();
    std::fs::write(place.work.join("a.txt"), "hello\n").unwrap();
    let mut all = json!({"model": format!("scripted:{}", file.display()), "max_steps": 3, "allowed_tools": ["read"]});
    all.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    json!({"config": all, "prompt": "Read a.txt."}).to_string().into_bytes()
}

#[test]
fn a_request_on_standard_input_is_answered_with_its_outputs_on_standard_output() {
    let place = Place::new();
    let done = place.run_with(&["agent-core"], &request(&place, READS, json!({})));
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:#?}");
    let mut said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(said["trace_id"], place.trace());
    let outputs = &mut said["outputs"]["agent_core"];
    assert!(outputs["trace"][0]["elapsed_ms"].is_u64() && outputs["used_tools"]["read_text_file"]["total_ms"].is_u64());
    (outputs["trace"][0]["elapsed_ms"], outputs["used_tools"]["read_text_file"]["total_ms"]) = (0.into(), 0.into());
    let step = json!({
        "step": 1, "action": {"tool": "read_text_file", "args": {"path": "a.txt"}}, "observation": "hello\n", "elapsed_ms": 0,
    });
    assert_eq!(
        *outputs,
        json!({
            "final_answer": "It says hello.", "trace": [step],
            "used_tools": {"read_text_file": {"count": 1, "total_ms": 0}}, "finish_reason": "final",
        })
    );
    // It has come to its end: what is written beside the log is there, and nobody holds the trace.
    let meta: Value = serde_json::from_slice(&std::fs::read(place.file(&place.trace(), "meta.json")).unwrap()).unwrap();
    assert_eq!(meta["status"], "completed");
    place.ok(&["verify", &place.trace()]);
}

#[test]
fn the_exit_code_says_why_the_run_ended() {
    let place = Place::new();
    let done = place.run_with(&["agent-core"], &request(&place, READS, json!({"max_steps": 1})));
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &said["outputs"]["agent_core"]["finish_reason"]), (4, &json!("max_turns")), "{done:#?}");
    let fails = "[[turn]]\nerror = { kind = \"bad_request\", message = \"no\", times = 9 }\nfinal = \"x\"\n";
    let done = place.run_with(&["agent-core"], &request(&place, fails, json!({})));
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &said["outputs"]["agent_core"]["finish_reason"]), (1, &json!("model_error")), "{done:#?}");
}

#[test]
fn a_request_that_cannot_be_used_starts_nothing_and_names_every_wrong_field() {
    let place = Place::new();
    let done = place.run_with(&["agent-core"], &request(&place, READS, json!({"max_steps": 0, "colour": 1})));
    assert_eq!(done.code, 2, "{done:#?}");
    let said: Value = serde_json::from_str(&done.out).unwrap();
    let pointers: Vec<&str> =
        said["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!((&said["type"], &said["status"]), (&json!("/problems/invalid"), &json!(422)));
    assert!(
        pointers.len() == 2 && pointers.contains(&"/config/max_steps") && pointers.contains(&"/config/colour"),
        "{said}"
    );
    for pointer in pointers {
        assert!(done.err.lines().any(|line| line.starts_with(&format!("mainpath: {pointer}: "))), "{done:#?}");
    }
    let done = place.run_with(&["agent-core"], &request(&place, READS, json!({"allowed_tools": ["ask_human"]})));
    assert_eq!(
        (done.code, done.err.contains("/config/allowed_tools/0: ask_human waits for a person")),
        (2, true),
        "{done:#?}"
    );
    let done = place.run_with(&["agent-core"], b"{");
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &said["type"]), (2, &json!("/problems/not-json")), "{done:#?}");
    assert_eq!(place.traces(), Vec::<String>::new());
}

#[test]
fn the_schema_has_just_the_fields_of_the_contract() {
    let place = Place::new();
    let schema: Value = serde_json::from_str(&place.ok(&["agent-core", "--schema"])).unwrap();
    let config = &schema["$defs"]["AgentCoreConfig"];
    let mut fields: Vec<&str> = config["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "allowed_tools",
            "max_steps",
            "max_tool_calls",
            "model",
            "observation_max_len",
            "primary_output",
            "single_call_timeout",
            "temperature",
            "timeout",
            "total_token_budget",
        ]
    );
    assert_eq!(config["required"], json!(["model", "max_steps", "allowed_tools"]));
}
