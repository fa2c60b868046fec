//! A program whose `main` is a runtime's: its agents' commands start under copies of it, and are held in their cages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mainpath::prelude::*;

const SCRIPT: &str = r#"
[[turn]]
calls = [
    { tool = "bash", args = { command = "echo one > made" } },
    { tool = "bash", args = { command = "echo two >> made; cat made" } },
    { tool = "bash", args = { command = "f=../out; echo out > $f; echo three >> made" } },
]
[[turn]]
final = "Made."
"#;

#[tokio::main(flavor = "multi_thread", worker_threads = 8)]
async fn main() -> Result<(), Error> {
    mainpath::launcher_main();
    if std::env::var_os("GUARDED_API_KEY").is_none() {
        // Again, with a secret in the environment.
        let own = std::env::current_exe()?;
        let again = std::process::Command::new(own).env("GUARDED_API_KEY", "sesame-0123456789").status()?;
        std::process::exit(again.code().unwrap_or(1));
    }
    a_server_is_given_no_secret_of_the_environment().await;
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("work"))?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;
    let host = Host::builder().in_memory().build().await?;
    let support = host.runtime().config().launcher.support();
    assert!(support.can_confine(), "{support:?}");
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let agent = host.agent(model).workspace(folder.path().join("work")).approvals(ApprovalMode::Yes);
    let run = agent.start("Make it.").await?;
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await?.reason, FinishReason::Final);
    let said = serde_json::to_string(&trace.messages().await?).unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.path().join("work/made")).unwrap_or_default(),
        "one\ntwo\nthree\n",
        "{said}"
    );
    assert!(!folder.path().join("out").exists(), "{said}");
    println!("commands of a program with threads start and are held: ok");
    Ok(())
}

async fn a_server_is_given_no_secret_of_the_environment() {
    let says = "echo \"key: $GUARDED_API_KEY, home: $HOME\" >&2; exit 1";
    let args = vec!["-c".into(), says.into()];
    let server = McpServer { command: Some("sh".into()), args, ..McpServer::default() };
    let error = Host::builder().in_memory().mcp_server("nosy", server).build().await.unwrap_err();
    assert!(error.message().contains("it said: key: , home: /"), "{error}");
}
