//! A tool of one's own with typed arguments, and rules in code: `cargo run -p mainpath --example own_tool_and_rules`.

use mainpath::prelude::*;

/// A till that pays out.
struct Pay;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    /// To whom.
    to: String,
    /// How much, in cents.
    cents: u64,
}

impl Tool for Pay {
    type Args = Payment;
    const NAME: &'static str = "pay";
    fn describe(&self) -> ToolDoc {
        ToolDoc::new("Pays somebody.", EffectClass::SideEffecting)
    }
    fn run<'a>(&'a self, _: &'a ToolContext, payment: Payment) -> Fut<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::text(format!("paid {} cents to {}", payment.cents, payment.to)) })
    }
}

const SCRIPT: &str = r#"
[[turn]]
calls = [
    { tool = "pay", args = { to = "anna", cents = 500 } },
    { tool = "pay", args = { to = "mallory", cents = 500 } },
]
[[turn]]
final = "Anna is paid."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", pay().await?.join("\n"));
    Ok(())
}

/// Runs the agent and gives how its calls ended.
pub async fn pay() -> Result<Vec<String>, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;
    let host = Host::builder().in_memory().tool(Pay).build().await?;
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let agent = host.agent(model).workspace(folder.path()).allow("pay(to=anna)").deny("pay(to=mallory)");
    let mut run = agent.approvals(ApprovalMode::Deny).start("Pay anna and mallory").await?;
    let mut ended = Vec::new();
    while let Some(event) = run.next().await {
        match event? {
            RunEvent::ActionExecuted(done) => ended.push(format!("{}: executed", done.call)),
            RunEvent::ApprovalDenied(denied) => ended.push(format!("{}: denied", denied.call)),
            _ => {}
        }
    }
    Ok(ended)
}
