//! A trace and the agents that it starts, as one stream: `cargo run -p mainpath --example watch_agents`.

use mainpath::prelude::*;
use mainpath::tools::AgentTool;

const SCRIPT: &str = r#"
[[turn]]
when = "Find the herons."
calls = [{ tool = "agent", args = { task = ["Look in the north.", "Look in the south."] } }]
[[turn]]
when = "Look in the north."
final = "Two herons."
[[turn]]
when = "Look in the south."
final = "None."
[[turn]]
when = "Two herons."
final = "Two herons, both in the north."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    for line in watch().await? {
        println!("{line}");
    }
    Ok(())
}

/// Runs an agent that starts two others, and gives what each of the three answered, in the order in which it was seen.
pub async fn watch() -> Result<Vec<String>, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;
    let host = Host::builder().in_memory().tool(AgentTool::default()).build().await?;
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let run = host.agent(model).workspace(folder.path()).start("Find the herons.").await?;
    let trace = run.trace().clone();

    let mut answers = Vec::new();
    // For who goes on later: the event of each trace that comes next.
    let mut from: WatchFrom = 1.into();
    let mut all = trace.watch_all(from.clone());
    while let Some(event) = all.next().await {
        let event = event?;
        let whose = event.trace_id().clone();
        match (event.id(), whose == *trace.id()) {
            (Some(id), true) => from.event = id + 1,
            (Some(id), false) => drop(from.agents.insert(whose.clone(), id + 1)),
            (None, _) => {}
        }
        if matches!(event, RunEvent::RunFinished(_)) {
            answers.push(host.trace(&whose).await?.outcome().await?.answer);
        }
    }
    // Nothing is told twice.
    match trace.watch_all(from).next().await {
        None => Ok(answers),
        Some(more) => Err(Error::failed(format!("{} is told again", more?.name()))),
    }
}
