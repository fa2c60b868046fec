//! The program of README.md: `cargo run -p mainpath --example count_words [MODEL]`.

use mainpath::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    /// The text to count in.
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    launcher_main();
    let model = std::env::args().nth(1).unwrap_or_else(|| "anthropic:claude-sonnet-4-5".into());
    let count = tool_fn("count_words", "Counts the words of a text.", |words: Words| async move {
        words.text.split_whitespace().count().to_string()
    });
    let host = Host::builder().data_dir("./data").tool(count.effect(EffectClass::ReadOnly)).build().await?;
    let agent = host.agent(model).workspace(".").instructions("Be brief.");
    let mut run = agent.start("Count the words of README.md").await?;
    while let Some(event) = run.next().await {
        match event? {
            RunEvent::Text(delta) => print!("{delta}"),
            RunEvent::ApprovalRequired(call) => call.approve().await?,
            RunEvent::ModelFailed(failed) => eprintln!("{}", failed.error.message), // it is tried again
            _ => {}
        }
    }
    let outcome = run.outcome().await?; // answer, reason, usage, cost, tools
    println!("\n{} turns, {} tokens", outcome.turns, outcome.usage.output);
    Ok(())
}
