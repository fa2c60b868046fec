//! Whatever ends a process, its traces go on in the next one: `cargo run -p mainpath --example resume_after_crash`.

use mainpath::prelude::*;
use std::path::Path;

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "made.txt", content = "made" } }]
[[turn]]
final = "It is made."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", crash_and_resume().await?);
    Ok(())
}

/// Starts an agent, drops everything while a call waits for an approval, and has another host finish the work.
pub async fn crash_and_resume() -> Result<String, Error> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().to_path_buf();
    // A runtime of its own stands for a process. When it goes, all that goes on in it is gone; the trace lies in the data folder.
    let first = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(first_process(&place))
    });
    let id = first.join().map_err(|_| Error::failed("the first process panicked"))??;
    let host = host(folder.path()).await?;
    let trace = host.trace(&id).await?;
    let mut run = trace.resume().await?;
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event? {
            call.approve().await?;
        }
    }
    Ok(run.outcome().await?.answer)
}

async fn host(folder: &Path) -> Result<Host, Error> {
    Host::builder().data_dir(folder.join("data")).build().await
}

async fn first_process(folder: &Path) -> Result<TraceId, Error> {
    std::fs::create_dir_all(folder.join("work"))?;
    std::fs::write(folder.join("script.toml"), SCRIPT)?;
    let model = format!("scripted:{}", folder.join("script.toml").display());
    let mut run = host(folder).await?.agent(model).workspace(folder.join("work")).start("Make it").await?;
    while let Some(event) = run.next().await {
        if matches!(event?, RunEvent::ApprovalRequired(_)) {
            break;
        }
    }
    Ok(run.trace().id().clone())
}
