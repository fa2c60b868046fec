//! The agent core as a program that a workflow engine starts.

use crate::mcp_serve::Client;
use crate::support::*;
use rustix::process::Signal;
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
fn the_time_limit_and_signals_end_a_request_while_its_servers_start() {
    let place = Place::new();
    place.config("[mcp.servers.mute]\ncommand = \"/bin/sleep\"\nargs = [\"600\"]\nstartup_timeout_s = 600\n");
    let limited = request(&place, READS, json!({"timeout": 1}));
    place
        .run_with(&["agent-core"], &limited)
        .fails(4, "the time limit (1s) was reached while MCP servers were starting");
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = place.command(&["agent-core"]);
        let file = place.root().join("request.json");
        std::fs::write(&file, request(&place, READS, json!({}))).unwrap();
        command.stdin(std::fs::File::open(file).unwrap());
        let mut process = Process::start(command);
        wait_until("the server starts", || !place.tools().is_empty());
        process.signal(signal);
        assert_eq!(process.end().code, 130);
        place.quiet();
    }
    assert_eq!(place.traces(), Vec::<String>::new());
}

#[test]
fn as_an_mcp_server_it_is_one_tool_with_the_same_request_and_outputs_and_a_cancelled_call_ends_its_run() {
    let place = Place::new();
    let mut arguments: Value = serde_json::from_slice(&request(&place, READS, json!({}))).unwrap();
    std::fs::write(place.root().join("slow.toml"), READS.replacen("[[turn]]", "[[turn]]\ndelay_ms = 60000", 1))
        .unwrap();
    let slow = format!("scripted:{}", place.root().join("slow.toml").display());
    place.config(&format!("model = {}\nfallback = [\"{slow}\"]\n", arguments["config"]["model"]));
    let mut client = Client::of(place.command(&["agent-core", "--mcp"]));
    let tools = client.ask("tools/list", json!({}));
    let (tool, schema) = (&tools["tools"][0], place.ok(&["agent-core", "--schema"]));
    assert_eq!((tools["tools"].as_array().unwrap().len(), &tool["name"]), (1, &json!("agent_core")));
    assert_eq!(tool["inputSchema"], serde_json::from_str::<Value>(&schema).unwrap());
    let said = client.ok("agent_core", arguments.clone());
    assert_eq!(said["outputs"]["agent_core"]["final_answer"], "It says hello.");
    assert_eq!(said["trace_id"], place.trace());
    let (failed, wrong) = client.call("agent_core", json!({"config": {"max_steps": 0}, "prompt": "x"}));
    assert!(failed, "{wrong}");
    for field in ["/config/max_steps: ", "/config/model: is missing", "/config/allowed_tools: is missing"] {
        assert!(wrong.as_str().unwrap().contains(field), "{wrong}");
    }
    // One that takes long is given up by its client.
    arguments["config"]["model"] = slow.into();
    let call = json!({"name": "agent_core", "arguments": arguments});
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call}));
    wait_until("it has begun", || place.traces().len() == 2);
    let second = newest(&place);
    wait_until("it asks its model", || place.events(&second).iter().any(|event| event["type"] == "model_requested"));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}});
    client.send(&cancel);
    let is_over = |event: &Value| event["type"] == "run_finished" && event["data"]["reason"] == "stopped";
    wait_until("it has stopped", || place.events(&second).iter().any(is_over));
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
