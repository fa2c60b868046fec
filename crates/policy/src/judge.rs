//! The verdict on one call.

use mainpath_types::{Access, ApprovalMode, Decision, EffectClass, Origin, Verdict};
use std::collections::BTreeSet;

/// What is known about a call. The caller has resolved every path, symlinks included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// The tool's own name.
    pub tool: String,
    /// What the tool can do.
    pub effect: EffectClass,
    /// Its arguments; secrets in them are handles.
    pub arguments: serde_json::Value,
    /// The files that the call names.
    pub paths: Vec<PathFact>,
    /// The addresses that it asks.
    pub urls: Vec<UrlFact>,
    /// The command lines that it gives to a shell.
    pub commands: Vec<String>,
    /// Where its arguments came from.
    pub origins: BTreeSet<Origin>,
    /// Whether the machine can confine the processes that it starts.
    pub confined: bool,
}

/// A file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    /// As the model wrote it.
    pub path: String,
    /// The place it really means, links followed.
    pub absolute: String,
    /// The same from the workspace on, if it lies in it: with `/` between names, empty for the workspace itself.
    pub relative: Option<String>,
    /// Whether it is to be changed.
    pub write: bool,
    /// Whether it belongs to Mainpath itself: data, policy, configuration, control sockets.
    pub protected: bool,
}

impl PathFact {
    /// Whether it lies in the workspace.
    pub fn in_workspace(&self) -> bool {
        self.relative.is_some()
    }
}

/// An address that a call asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlFact {
    /// The HTTP method, in capitals.
    pub method: String,
    /// The address as it was written.
    pub url: String,
}

/// What the owner of a run allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What happens to calls that need a person.
    pub mode: ApprovalMode,
    /// What may happen unasked.
    pub access: Access,
    /// The tools that may run at all.
    pub allowed_tools: Vec<String>,
}

/// The verdict on a call, by the first rule that applies: protected files, the allow-list, the workspace's bounds,
/// read-only, then the mode.
pub fn judge(rules: &Rules, facts: &CallFacts) -> Verdict {
    if let Some(fact) = facts.paths.iter().find(|fact| fact.protected) {
        let reason = format!("{:?} belongs to Mainpath itself, which no agent may touch.", fact.path);
        return verdict(Decision::Deny, "builtin.protected", reason);
    }
    if !rules.allowed_tools.contains(&facts.tool) {
        let reason = format!("The tool {:?} is not among the tools that this run may use.", facts.tool);
        return verdict(Decision::Deny, "builtin.allowed-tools", reason);
    }
    if let Some(fact) = facts.paths.iter().find(|fact| !fact.in_workspace()) {
        let reason = format!("{:?} lies outside the workspace.", fact.path);
        return verdict(Decision::Deny, "builtin.workspace", reason);
    }
    if facts.effect.is_read_only() {
        return verdict(Decision::Allow, "builtin.read-only", "Reading inside the workspace is allowed.");
    }
    if matches!(facts.effect, EffectClass::AskPerson | EffectClass::StartChild) {
        return verdict(Decision::Allow, "builtin.agent", "Asking a person and starting an agent are allowed.");
    }
    match rules.mode {
        ApprovalMode::Yes => verdict(Decision::Allow, "flag.yes", "The owner of the run said yes beforehand."),
        ApprovalMode::Ask => verdict(Decision::Ask, "builtin.ask", "This changes something, so a person decides."),
        ApprovalMode::Deny => verdict(
            Decision::Deny,
            "builtin.headless",
            "This changes something and nobody can be asked; the owner of the run can allow it with --yes.",
        ),
    }
}

fn verdict(decision: Decision, rule: &str, reason: impl Into<String>) -> Verdict {
    Verdict { decision, rule: rule.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(tool: &str, effect: EffectClass, paths: &[(&str, bool, bool)]) -> CallFacts {
        let fact = |&(path, in_workspace, protected): &(&str, bool, bool)| PathFact {
            path: path.into(),
            absolute: format!("/w/{path}"),
            relative: in_workspace.then(|| path.into()),
            write: !effect.is_read_only(),
            protected,
        };
        CallFacts { tool: tool.into(), effect, paths: paths.iter().map(fact).collect(), ..CallFacts::default() }
    }

    fn decide(mode: ApprovalMode, facts: &CallFacts) -> (Decision, String) {
        let allowed_tools = vec!["read".into(), "write".into(), "bash".into()];
        let rules = Rules { mode, allowed_tools, ..Rules::default() };
        let verdict = judge(&rules, facts);
        (verdict.decision, verdict.rule)
    }

    #[test]
    fn reading_in_the_workspace_is_allowed_in_every_mode() {
        let call = facts("read", EffectClass::ReadOnly, &[("a.txt", true, false)]);
        for mode in [ApprovalMode::Ask, ApprovalMode::Deny, ApprovalMode::Yes] {
            assert_eq!(decide(mode, &call), (Decision::Allow, "builtin.read-only".into()));
        }
    }

    #[test]
    fn a_change_follows_the_mode() {
        for effect in [
            EffectClass::Idempotent,
            EffectClass::LocalWrite,
            EffectClass::MessageSend,
            EffectClass::ProcessControl,
            EffectClass::UiControl,
            EffectClass::SideEffecting,
        ] {
            let call = facts("write", effect, &[("a.txt", true, false)]);
            assert_eq!(decide(ApprovalMode::Ask, &call), (Decision::Ask, "builtin.ask".into()));
            assert_eq!(decide(ApprovalMode::Deny, &call), (Decision::Deny, "builtin.headless".into()));
            assert_eq!(decide(ApprovalMode::Yes, &call), (Decision::Allow, "flag.yes".into()));
        }
    }

    #[test]
    fn asking_a_person_and_starting_an_agent_need_no_approval() {
        for effect in [EffectClass::AskPerson, EffectClass::StartChild] {
            let call = facts("bash", effect, &[]);
            assert_eq!(decide(ApprovalMode::Deny, &call), (Decision::Allow, "builtin.agent".into()));
        }
    }

    #[test]
    fn yes_does_not_reach_protected_files_other_tools_or_other_folders() {
        let protected = facts("read", EffectClass::ReadOnly, &[("a", true, false), ("data", true, true)]);
        assert_eq!(decide(ApprovalMode::Yes, &protected), (Decision::Deny, "builtin.protected".into()));
        let unlisted = facts("rm", EffectClass::ReadOnly, &[]);
        assert_eq!(decide(ApprovalMode::Yes, &unlisted), (Decision::Deny, "builtin.allowed-tools".into()));
        let outside = facts("write", EffectClass::LocalWrite, &[("/etc/passwd", false, false)]);
        assert_eq!(decide(ApprovalMode::Yes, &outside), (Decision::Deny, "builtin.workspace".into()));
    }
}
