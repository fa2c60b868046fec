//! What rules say of a call that nobody has made.

use crate::{Error, Host};
use mainpath_policy::{CallFacts, Explanation, Folders, Rule, Rules, explain, sample};
use mainpath_tools::{Tools, Workspace};
use mainpath_types::{Access, ApprovalMode, RunRules};
use std::path::Path;

/// What can be known of a call in a line, such as `bash(rm -rf build)`: its paths are judged by the places that they lead to. Errors: it is
/// no call.
pub fn sample_in(call: &str, tools: &Tools, workspace: &Workspace, folders: &Folders) -> Result<CallFacts, Error> {
    let mut facts = sample(call, folders).map_err(|why| Error::of_field("call", format_args!(": {why}")))?;
    for path in &mut facts.paths {
        let arguments = serde_json::json!({ "path": path.path }).to_string();
        let planned = tools.plan("read_text_file", &arguments, workspace);
        let planned = planned.map_err(|problem| {
            let lines = problem.to_string();
            let lines: Vec<&str> = lines.lines().map(|line| line.trim_start_matches("- ")).collect();
            Error::of_field("call", format_args!(": {}", lines.join("; ")))
        })?;
        if let Some(found) = planned.facts.paths.into_iter().next() {
            let write = path.write;
            *path = found;
            path.write = write;
        }
    }
    Ok(facts)
}

impl Host {
    /// The rules that hold for agents in a folder. Errors: a file of rules cannot be used.
    pub fn rules(&self, folder: &Path) -> Result<Vec<Rule>, Error> {
        let policy = self.policy(&folder.display().to_string(), &RunRules::default())?;
        Ok(policy.rules().iter().map(|rule| Rule::clone(rule)).collect())
    }

    /// What rules would say of a call in a folder, such as `bash(rm -rf build)`, and which of them fit. Errors: it is no call, or a file of
    /// rules cannot be used.
    pub fn explain(&self, folder: &Path, call: &str, access: Access) -> Result<Explanation, Error> {
        let policy = self.policy(&folder.display().to_string(), &RunRules::default())?;
        let workspace = Workspace::new(folder, self.runtime().config().protected.clone())?;
        let mut facts = sample_in(call, self.tools(), &workspace, policy.folders())?;
        facts.confined = self.runtime().config().launcher.support().can_confine();
        let tool = facts.tool.clone();
        let rules = Rules { mode: ApprovalMode::Ask, access, allowed_tools: vec![tool], policy };
        Ok(explain(&rules, &facts))
    }
}
