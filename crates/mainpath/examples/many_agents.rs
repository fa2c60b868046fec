//! Many agents at once on one host, each followed by its own task: `cargo run -p mainpath --example many_agents`.

use mainpath::prelude::*;

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "list_files", args = { path = "." } }]
usage = { input = 100, output = 12 }
[[turn]]
final = "Nothing is here but the script."
usage = { input = 200, output = 8 }
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{} tokens", many(50).await?);
    Ok(())
}

/// Runs so many agents and gives the tokens that they used together.
pub async fn many(agents: usize) -> Result<u64, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;
    let host = Host::builder().in_memory().build().await?;
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let mut followed = Vec::new();
    for number in 0..agents {
        let run = host.agent(&model).workspace(folder.path()).start(format!("Look, agent {number}")).await?;
        followed.push(tokio::spawn(run.outcome()));
    }
    let mut tokens = 0;
    for one in followed {
        let outcome = one.await.map_err(|error| Error::failed(error.to_string()))??;
        tokens += outcome.usage.input + outcome.usage.output;
    }
    Ok(tokens)
}
