//! Verdicts for calls outside of a run.

use super::Host;
use crate::Error;
use crate::backtest::PastJudge;
use mainpath_policy::{CallFacts, PathFact, Rules, judge, judge_found};
use mainpath_tools::{Planned, Workspace};
use mainpath_types::{ApprovalMode, Decision, Spec};
use std::path::Path;
use std::sync::Arc;

impl Host {
    /// Returns a judge of recorded calls, by the current rules and by others.
    pub fn past_judge(&self) -> PastJudge {
        let config = self.runtime().config();
        let confined = config.launcher.support().can_confine();
        PastJudge::new(self.tools().clone(), self.inner.sources.clone(), config.protected.clone(), confined)
    }

    /// Returns why a rule denies an agent with this spec a call with these arguments, or `None` if no rule does. Errors: the rules or the
    /// folder cannot be read.
    pub fn denial(&self, spec: &Spec, tool: &str, arguments: &str) -> Result<Option<String>, Error> {
        let workspace = Workspace::new(Path::new(&spec.workspace), self.home().protected())?;
        let facts = match self.tools().plan(tool, arguments, &workspace) {
            // The sandbox holds what a command does, not what a file tool does.
            Ok(Planned { facts, .. }) => {
                let confined = !facts.commands.is_empty() && self.runtime().config().launcher.support().can_confine();
                CallFacts { confined, ..facts }
            }
            Err(problem) => return Ok(Some(problem.to_string())),
        };
        let rules = Rules {
            mode: ApprovalMode::Ask,
            access: spec.access,
            allowed_tools: spec.tools.iter().map(|tool| tool.name.clone()).collect(),
            policy: Arc::new(self.inner.sources.load_for(spec)?),
        };
        let verdict = judge(&rules, &facts);
        Ok((verdict.decision == Decision::Deny).then_some(verdict.reason))
    }

    /// Returns true if a rule denies an agent of this spec to read a file, wherever it is. Errors: its rules or its folder cannot be read.
    pub fn denies_reading(&self, spec: &Spec, file: &Path) -> Result<bool, Error> {
        let workspace = Workspace::new(Path::new(&spec.workspace), self.home().protected())?;
        let policy = Arc::new(self.inner.sources.load_for(spec)?);
        let arguments = serde_json::json!({ "path": file.to_string_lossy() }).to_string();
        let Ok(Planned { facts, .. }) = self.tools().plan("read_text_file", &arguments, &workspace) else {
            return Ok(false);
        };
        let (rules, call) = (Rules { policy, ..Rules::default() }, CallFacts { paths: Vec::new(), ..facts.clone() });
        // A person may show a model files of Mainpath's own.
        let mut files = facts.paths.into_iter().map(|file| PathFact { protected: false, ..file });
        Ok(files.any(|file| judge_found(&rules, &call, &file) == Decision::Deny))
    }
}
