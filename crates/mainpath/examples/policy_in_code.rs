//! A policy in code and a tool of a closure: `cargo run -p mainpath --example policy_in_code`.

use mainpath::policy::{Folders, Policy};
use mainpath::prelude::*;
use mainpath::types::Decision;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Refund {
    /// The order.
    order: u32,
    /// How much, in cents.
    cents: u64,
}

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "refund", args = { order = 7, cents = 500 } }, { tool = "list_files", args = {} }]
[[turn]]
final = "Order 7 is refunded."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", refund().await?.join("\n"));
    Ok(())
}

/// Runs the agent and gives what rules said of its calls.
pub async fn refund() -> Result<Vec<String>, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;

    let refund = tool_fn("refund", "Refunds an order.", |refund: Refund| async move {
        if refund.cents > 1_000 {
            return Err("more than 10.00 is for a person");
        }
        Ok(format!("order {}: {} cents refunded", refund.order, refund.cents))
    });
    let host = Host::builder().in_memory().tool(refund.effect(EffectClass::SideEffecting));
    // Nothing but this: no built-in rules, no files.
    let host = host.policy(|workspace, _| {
        let folders = Folders { workspace: workspace.display().to_string(), ..Folders::default() };
        let mut policy = Policy::new(folders);
        policy.add_rule(Decision::Allow, "refund")?;
        policy.add_rule(Decision::Deny, "list_files")?;
        Ok(policy)
    });
    let host = host.build().await?;

    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    let agent = host.agent(model).workspace(folder.path()).approvals(ApprovalMode::Deny);
    let mut run = agent.start("Refund order 7").await?;
    let mut verdicts = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEvent::ActionValidated(judged) = event? {
            let tool = judged.tool.as_deref().unwrap_or_default();
            verdicts.push(format!("{tool}: {} by {}", judged.verdict.decision.as_str(), judged.verdict.rule));
        }
    }
    Ok(verdicts)
}
