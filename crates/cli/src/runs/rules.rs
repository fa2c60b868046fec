//! The rules that a run begins with.

use crate::args::agent::AgentArgs;
use crate::exit::Failure;
use crate::ui::text::plain;
use mainpath::rules::{Checked, untrusted};
use mainpath::types::RunRules;
use mainpath::{Installation, RuleNames};
use std::path::Path;
use std::sync::Arc;

/// This installation with the rules and waiting times of the command line. Errors: one of its rules names no tool, among others.
pub fn opened(agent: &AgentArgs) -> Result<Installation, Failure> {
    let rules = RunRules { breakpoints: agent.breakpoints.clone(), ..agent.rules.read()? };
    let app = Installation::open()?.with_waits(&agent.options()?.limits);
    let folder = agent.workspace.as_deref().unwrap_or(Path::new("."));
    RuleNames::new(&app.logs.home, &app.tools, folder, agent.mcp_config.as_deref()).check(&rules)?;
    Ok(app.with_rules(rules))
}

/// The rules of a run, checked before anything is begun; says what of them does not hold.
pub fn check_rules(app: &Installation, workspace: &str, run: RunRules, quiet: bool) -> Result<Checked, Failure> {
    let policy = app.sources.load(workspace, &run)?;
    if !quiet {
        if let Some(note) = untrusted(&policy) {
            eprintln!("mainpath: {note}");
        }
        let names = RuleNames::new(&app.logs.home, &app.tools, Path::new(workspace), None);
        names.warnings(&policy).iter().for_each(|line| eprintln!("! {}", plain(line)));
    }
    Ok(Checked { workspace: workspace.into(), run, policy: Arc::new(policy) })
}
