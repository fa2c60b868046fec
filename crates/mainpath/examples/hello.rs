//! The smallest host: one agent, one task. A script stands for the model, so that it runs without a key:
//! `cargo run -p mainpath --example hello`.

use mainpath::prelude::*;

const SCRIPT: &str = r#"
[[turn]]
text = "I look at the file.\n"
calls = [{ tool = "read_text_file", args = { path = "README.md" } }]
[[turn]]
final = "It has three words."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", hello().await?);
    Ok(())
}

/// Runs the agent and gives its answer.
pub async fn hello() -> Result<String, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("README.md"), "one two three")?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;

    let host = Host::builder().in_memory().build().await?;
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let mut run = host.agent(model).workspace(folder.path()).start("Count the words of README.md").await?;
    while let Some(event) = run.next().await {
        if let RunEvent::Text(delta) = event? {
            print!("{delta}");
        }
    }
    Ok(run.outcome().await?.answer)
}
