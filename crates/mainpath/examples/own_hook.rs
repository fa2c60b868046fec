//! A hook in code, which changes a call and is told of the end of a run: `cargo run -p mainpath --example own_hook`.

use mainpath::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps a file that is written in capitals, and a line about each run.
#[derive(Default)]
struct Audit(Mutex<Vec<String>>);

impl HookRunner for Audit {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        Box::pin(async move {
            match event["hook"].as_str() {
                Some("before_tool") => {
                    let mut arguments = event["arguments"].clone();
                    let text = arguments["content"].as_str();
                    let text = text.ok_or_else(|| HookError::failed("there is no text to write"))?.to_uppercase();
                    arguments["content"] = text.into();
                    Ok(json!({"arguments": arguments}))
                }
                _ => {
                    let line = format!("run {} ended: {}", event["data"]["run"], event["data"]["reason"]);
                    self.0.lock().map_err(|error| HookError::failed(error.to_string()))?.push(line);
                    Ok(json!({}))
                }
            }
        })
    }
}

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "note.txt", content = "hello" } }]
[[turn]]
final = "It is written."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", audited().await?.join("\n"));
    Ok(())
}

/// Runs the agent, and gives what was written and what the hook was told.
pub async fn audited() -> Result<Vec<String>, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;

    let audit = Arc::new(Audit::default());
    let hook = Hook {
        name: "audit".into(),
        points: vec![HookPoint::BeforeTool, HookPoint::RunEnd],
        tools: "write_text_file".parse().into_iter().collect(),
        timeout: Duration::from_secs(5),
        on_failure: OnFailure::Closed,
        runner: audit.clone(),
    };
    let host = Host::builder().in_memory().hook(hook).build().await?;

    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let agent = host.agent(model).workspace(folder.path()).approvals(ApprovalMode::Yes);
    agent.start("Write a note").await?.outcome().await?;
    let written = std::fs::read_to_string(folder.path().join("note.txt"))?;
    let told = audit.0.lock().map(|lines| lines.clone()).unwrap_or_default();
    Ok(std::iter::once(written).chain(told).collect())
}
