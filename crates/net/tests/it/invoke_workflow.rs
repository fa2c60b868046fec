use crate::server::{Server, reply};
use crate::support::{World, client, pair};
use mainpath_net::{InvokeWorkflow, InvokeWorkflowConfig, NotReady};
use mainpath_tools::Tools;
use mainpath_types::EffectClass;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn secret(name: &str) -> Option<String> {
    (name == "FLOW_KEY").then(|| "f-1".into())
}

fn made(config: Value) -> Result<World, NotReady> {
    let mut config: InvokeWorkflowConfig = serde_json::from_value(config).unwrap();
    // Nothing here needs a longer pause between two questions.
    for poll in config.workflows.values_mut().filter_map(|workflow| workflow.poll.as_mut()) {
        poll.every_s = Some(Duration::from_millis(10).into());
    }
    let tool = InvokeWorkflow::new(&client(&[]), &config, &secret)?;
    let tools = Tools::new();
    tools.put(InvokeWorkflow::NAME, tool.doc(), tool.schema(), Arc::new(tool)).unwrap();
    Ok(World::new(tools))
}

/// A configuration with the one workflow `build`.
fn build(url: &str, more: Value) -> Value {
    let mut workflow = json!({
        "description": "Builds a branch.", "url": url, "headers": {"Authorization": "Bearer {{secret:FLOW_KEY}}"},
        "input_schema": {"type": "object", "properties": {"branch": {"type": "string"}}, "required": ["branch"], "additionalProperties": false}
    });
    more.as_object().unwrap().iter().for_each(|(name, value)| workflow[name] = value.clone());
    json!({"workflows": {"build": workflow}})
}

#[tokio::test]
async fn a_workflow_is_started_once_under_the_calls_own_key() {
    let server = Server::new(|_| reply(200, &[("content-type", "application/json")], r#"{"built":true}"#)).await;
    let world = made(build(&server.url("/hooks/build"), json!({}))).unwrap();
    let said = world.say("invoke_workflow", json!({"name": "build", "input": {"branch": "main"}})).await;
    assert_eq!(said, pair("ok", r#"{"built":true}"#));
    let [request] = server.seen().try_into().unwrap();
    assert_eq!(
        (request.method.as_str(), request.path.as_str(), request.body.as_str()),
        ("POST", "/hooks/build", r#"{"branch":"main"}"#)
    );
    assert_eq!(
        (request.header("idempotency-key"), request.header("authorization")),
        (Some("t1/tool/7.0"), Some("Bearer f-1"))
    );
    let doc = world.tools.doc("invoke_workflow").unwrap();
    assert_eq!(doc.effect, EffectClass::SideEffecting);
    assert!(
        doc.description
            .starts_with("Runs a named workflow and shows its result. There are:\n- build: Builds a branch. Input: {")
    );
}

#[tokio::test]
async fn only_named_workflows_run_and_only_on_input_that_fits() {
    let server = Server::new(|_| reply(200, &[], "")).await;
    let world = made(build(&server.url("/"), json!({}))).unwrap();
    let (code, text) = world.say("invoke_workflow", json!({"name": "other", "input": {}})).await;
    assert_eq!(
        (code.as_str(), text.contains("\"other\" is not one of \"build\"")),
        ("invalid_arguments", true),
        "{text}"
    );
    let told = "Wrong input for the workflow build: there is no property \"x\"; there are \"branch\"; at /branch: 5 is not of type string.";
    assert_eq!(
        world.say("invoke_workflow", json!({"name": "build", "input": {"branch": 5, "x": 1}})).await,
        pair("invalid_arguments", told)
    );
    assert_eq!(server.seen(), []);
    assert_eq!(
        world.say("invoke_workflow", json!({"name": "build", "input": {"branch": "a"}})).await,
        pair("ok", "Done (HTTP 200).")
    );
}

#[tokio::test]
async fn a_result_that_takes_time_is_asked_for() {
    let asked = AtomicUsize::new(0);
    let server = Server::new(move |request| match request.path.as_str() {
        "/start" => reply(202, &[], r#"{"run":{"id":"a/../b?c"}}"#),
        _ if asked.fetch_add(1, Ordering::Relaxed) < 1 => reply(200, &[], r#"{"state":"running"}"#),
        _ => reply(200, &[], r#"{"state":"done","result":42}"#),
    })
    .await;
    let poll = json!({"url": server.url("/runs/{id}/state"), "id": "/run/id", "state": "/state", "done": ["done"], "failed": ["failed"]});
    let world = made(build(&server.url("/start"), json!({"poll": poll}))).unwrap();
    let said = world.say("invoke_workflow", json!({"name": "build", "input": {"branch": "main"}})).await;
    assert_eq!(said, pair("ok", r#"{"state":"done","result":42}"#));
    let paths: Vec<String> = server.seen().into_iter().map(|request| request.path).collect();
    let state = "/runs/a%2F%2E%2E%2Fb%3Fc/state";
    assert_eq!(paths, ["/start", state, state]);
    assert_eq!(server.seen()[1].header("authorization"), Some("Bearer f-1"));
}

#[tokio::test]
async fn failures_of_workflows_are_told() {
    let failing = |start: &'static str, state: &'static str| {
        Server::new(move |request| reply(200, &[], if request.path == "/start" { start } else { state }))
    };
    let cases = [
        (
            r#"{"id":7}"#,
            r#"{"state":"failed","why":"x"}"#,
            "workflow_failed",
            "The workflow build has failed (failed): {\"state\":\"failed\",\"why\":\"x\"}",
        ),
        (
            r#"{"id":7}"#,
            r#"{"state":"going"}"#,
            "timeout",
            "The workflow build was started (id 7) and is not done after 2s.",
        ),
        (r#"{"id":7}"#, "{}", "bad_answer", "The workflow build was started, but its answer has no state at /state."),
        ("no json", "", "bad_answer", "The workflow build was started, but its answer has no id at /id."),
    ];
    for (start, state, code, text) in cases {
        let server = failing(start, state).await;
        let poll =
            json!({"url": server.url("/{id}"), "id": "/id", "state": "/state", "done": ["done"], "failed": ["failed"]});
        let timeout_s = if code == "timeout" { 2 } else { 60 };
        let world = made(build(&server.url("/start"), json!({"poll": poll, "timeout_s": timeout_s}))).unwrap();
        assert_eq!(
            world.say("invoke_workflow", json!({"name": "build", "input": {"branch": "main"}})).await,
            pair(code, text)
        );
    }
    let server = Server::new(|_| reply(409, &[], "there is one already")).await;
    let world = made(build(&server.url("/"), json!({}))).unwrap();
    let told = "The workflow build answered with HTTP 409: there is one already";
    assert_eq!(
        world.say("invoke_workflow", json!({"name": "build", "input": {"branch": "main"}})).await,
        pair("http_status", told)
    );
}

#[test]
fn what_is_missing_is_said() {
    let told = |config| made(config).err().unwrap().to_string();
    assert_eq!(told(json!({"workflows": {}})), "there is no workflow; add [tools.invoke_workflow.workflows.NAME]");
    let other = build("http://a.test/", json!({"headers": {"X": "{{secret:OTHER}}"}}));
    assert_eq!(told(other), "the workflow \"build\": OTHER is not set; set that variable, or OTHER under [secrets]");
    let poll =
        |url: &str| build("http://a.test/", json!({"poll": {"url": url, "id": "/id", "state": "/s", "done": []}}));
    for url in ["http://a.test/runs", "http://{id}.test/", "{id}"] {
        assert_eq!(told(poll(url)), "the workflow \"build\": poll.url is not an address with {id} in its path");
    }
}
