//! The client as the official conformance package drives it: the address of its server is the last argument. Connects,
//! lists the tools, and calls each of them, with the arguments that the scenario asks for or that their schemas suggest.

use mainpath_mcp::{Around, Mcp, McpConfig, SEARCH_ABOVE, Servers, State, Times, Unconfined};
use mainpath_policy::{Attempt, Grant};
use mainpath_sandbox::Launcher;
use mainpath_tools::{ToolContext, Tools, Workspace};
use mainpath_types::{CallId, Confinement, Decision, Seq, Verdict, text_of};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

type Failed = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<ExitCode, Failed> {
    let url = std::env::args().next_back().unwrap_or_default();
    let config: McpConfig = toml::from_str(&format!("[servers.c]\nprefix = \"c_\"\nurl = {url:?}\n"))?;
    let here = std::env::current_dir()?;
    let servers = Servers::read(&config, Path::new("config"), Path::new("/nowhere"), None)?;
    let around = Around {
        workspace: here.clone(),
        variables: Arc::new(|_| None),
        starter: Arc::new(Unconfined::default()),
        redact: Arc::new(str::to_string),
        times: Times::default(),
    };
    let tools = Tools::new();
    let mcp = Mcp::start(tools.clone(), servers, SEARCH_ABOVE, around, &|_| true, |line| eprintln!("{line}")).await;
    if let Some(State::Failed(why)) = mcp.states().first().map(|server| &server.state) {
        eprintln!("{why}");
        return Ok(ExitCode::FAILURE);
    }
    let workspace = Arc::new(Workspace::new(&here, Vec::new())?);
    for (name, args) in calls(&tools) {
        let Some(doc) = tools.doc(&name) else { continue };
        let verdict = Verdict { decision: Decision::Allow, rule: "test".into(), reason: String::new() };
        let (trace, call) = ("conformance".parse()?, CallId { seq: Seq(1), index: 0 });
        let of = Attempt { trace: &trace, call, number: 1, tool: &name, effect: doc.effect };
        let Some(grant) = Grant::issue(of, Confinement::default(), &verdict, true) else { continue };
        let mut ctx = ToolContext::new(workspace.clone(), grant, Launcher::current_exe());
        ctx.timeout = Some(Duration::from_secs(20));
        let output = tools.run(&name, &args.to_string(), &ctx).await;
        println!("{name} {args}: {:?} {}", output.error, text_of(&output.content));
    }
    mcp.close().await;
    // What is still to be sent, such as the end of the session, is sent.
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(ExitCode::SUCCESS)
}

/// What the scenario asks for, else each tool once.
fn calls(tools: &Tools) -> Vec<(String, Value)> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    if let Some(calls) = context["toolCalls"].as_array() {
        let name = |call: &Value| format!("c_{}", call["name"].as_str().unwrap_or_default());
        return calls.iter().map(|call| (name(call), call["arguments"].clone())).collect();
    }
    tools.specs().into_iter().map(|spec| (spec.name, suggested(&spec.input_schema))).collect()
}

fn suggested(schema: &Value) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return json!({}) };
    let value = |schema: &Value| match schema["type"].as_str() {
        Some("number" | "integer") => json!(7),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("words"),
    };
    Value::Object(properties.iter().map(|(name, schema)| (name.clone(), value(schema))).collect::<Map<_, _>>())
}
