//! The rules that a run begins with.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::Failure;
use crate::ui::text::{one_line, plain};
use mainpath::policy::Policy;
use mainpath::rules::{Checked, read_files, untrusted};
use mainpath::types::{ApprovalMode, RuleText, RunRules};
use mainpath::{HomeOptions, RuleNames};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// This installation with the rules and waiting times of the command line. Errors: one of its rules names no tool, among others.
pub fn opened(agent: &AgentArgs) -> Result<App, Failure> {
    let rules = RunRules { breakpoints: agent.breakpoints.clone(), ..agent.rules.read()? };
    let (limits, no_sandbox) = (agent.options()?.limits, agent.no_sandbox);
    let app = App::with(HomeOptions { rules: rules.clone(), limits, no_sandbox, ..HomeOptions::default() })?;
    let folder = agent.workspace.as_deref().unwrap_or(Path::new("."));
    RuleNames::new(app.host.home(), app.host.tools(), folder, agent.mcp_config.as_deref()).check(&rules)?;
    Ok(app)
}

/// The texts of rule files that a command names itself, by no option. Errors: one is not there, or cannot be used.
pub fn read_named(files: &[PathBuf]) -> Result<Vec<RuleText>, Failure> {
    let is_gone = |file: &&PathBuf| file.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    match files.iter().find(is_gone) {
        Some(file) => Err(Failure::usage(format!("there is no file {}", one_line(&file.display().to_string())))),
        None => Ok(read_files(files)?),
    }
}

/// Prints what a missing sandbox means for a run with `--yes`.
pub fn tell_sandbox(app: &App, mode: ApprovalMode, quiet: bool) {
    if mode == ApprovalMode::Yes
        && !quiet
        && let Some(note) = app.host.sandbox_note()
    {
        eprintln!("! {}", plain(&note));
    }
}

/// Prints warnings about the rules that were loaded for a run with this workspace and these rules. The run then uses them without loading
/// them again.
pub fn use_rules(app: &App, workspace: &str, run: &RunRules, policy: &Arc<Policy>, quiet: bool) {
    tell_rules(app, Path::new(workspace), policy, quiet);
    let (workspace, run) = (workspace.into(), run.clone());
    app.host.use_checked(Checked { workspace, run, policy: Arc::clone(policy) });
}

/// Prints warnings about the rules of a run.
fn tell_rules(app: &App, workspace: &Path, policy: &Policy, quiet: bool) {
    if quiet {
        return;
    }
    if let Some(note) = untrusted(policy) {
        eprintln!("mainpath: {note}");
    }
    let names = RuleNames::new(app.host.home(), app.host.tools(), workspace, None);
    names.warnings(policy).iter().for_each(|line| eprintln!("! {}", plain(line)));
}
