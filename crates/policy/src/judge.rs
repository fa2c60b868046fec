//! The verdict on one call.

use crate::weigh::{ASK, Applied, Finding, strength, weigh, weigh_found};
use crate::{CallFacts, Layer, PathFact, Policy};
use mainpath_types::{Access, ApprovalMode, Decision, Guarded, Verdict, guarded};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// What the owner of a run allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What happens to calls that need a person.
    pub mode: ApprovalMode,
    /// What may happen unasked.
    pub access: Access,
    /// The tools that may run at all.
    pub allowed_tools: Vec<String>,
    /// The rules of all layers.
    pub policy: Arc<Policy>,
}

/// The verdict on a call, by the first that applies: protected files, the organisation's denials, the allow-list, denials,
/// asks, allowances, the workspace's bounds, what the run may do by default. A call is allowed if all its parts are; one
/// part that is denied denies it. What is to be asked then follows the mode.
pub fn judge(rules: &Rules, facts: &CallFacts) -> Verdict {
    decide(rules, facts, &weigh_unless_settled(rules, facts, None))
}

/// The rule that allows what would be asked about, in a run that was started with `--yes`.
pub const BY_YES: &str = "flag.yes";

/// How the reason ends of a denial in a run without a person to ask.
pub const NON_INTERACTIVE: &str = "This run is non-interactive.";
/// How it ended in logs of before.
const NON_INTERACTIVE_OF_OLD: &str = "nobody can be asked.";

/// Whether a call was denied only because its run had no person to ask: whoever is there later may approve it.
pub fn is_unattended(verdict: &Verdict) -> bool {
    let reason = verdict.reason.to_lowercase();
    let ends = [NON_INTERACTIVE, NON_INTERACTIVE_OF_OLD].iter().any(|end| reason.ends_with(&end.to_lowercase()));
    verdict.decision == Decision::Deny && (verdict.rule == HEADLESS || ends)
}

/// Whether a call is asked about by no rule, only since nothing allows it: who says yes to the whole run says yes to it.
pub fn is_asked_by_default(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Ask && verdict.rule == ASK
}

/// The tool for which a call was denied because its run was not given it: neither an approval nor a rule helps.
pub fn not_given(verdict: &Verdict) -> Option<&str> {
    let is_it = verdict.decision == Decision::Deny && verdict.rule == NOT_GIVEN;
    verdict.reason.split('"').nth(1).filter(|_| is_it)
}

/// The rule by which calls are denied in a non-interactive run that a person could approve.
pub const HEADLESS: &str = "builtin.headless";
/// The rule by which calls are denied of tools that the run was not given.
const NOT_GIVEN: &str = "builtin.allowed-tools";

/// Why a call is judged as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// What decided on each part of the call, in their order.
    pub parts: Vec<PartVerdict>,
    /// Every rule that fits a part, in the order of the layers, whether it decided or not.
    pub rules: Vec<AppliedRule>,
}

/// What decided on a part of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartVerdict {
    /// The part, in words.
    pub part: String,
    /// The decision.
    pub decision: Decision,
    /// The rule that decided.
    pub rule: String,
    /// Why.
    pub reason: String,
}

/// A rule that fits a part of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedRule {
    /// Where it comes from.
    pub layer: Layer,
    /// Its id.
    pub rule: String,
    /// What it says.
    pub decision: Decision,
    /// The part that it fits, in words.
    pub part: String,
    /// Whether it is certain that it fits: not all of the part may be written out.
    pub certain: bool,
}

/// The verdict on a call with everything that led to it.
pub fn explain(rules: &Rules, facts: &CallFacts) -> Explanation {
    let mut applied = Vec::new();
    let findings = weigh_unless_settled(rules, facts, Some(&mut applied));
    applied.sort_by_key(|applied| applied.rule.layer);
    let verdict = decide(rules, facts, &findings);
    let part = |Finding { part, decision, rule, reason, .. }| PartVerdict { part, decision, rule, reason };
    let rule = |Applied { rule, part, fit }| AppliedRule {
        layer: rule.layer,
        rule: rule.id.clone(),
        decision: rule.decision,
        part,
        certain: fit == crate::pattern::Fit::Yes,
    };
    let parts = findings.into_iter().map(part).collect();
    Explanation { verdict, parts, rules: applied.into_iter().map(rule).collect() }
}

/// What the rules say of a file that a call comes upon while it searches, besides the paths that it names. An ask counts only if it did
/// not apply to the call itself, which somebody has allowed by then, and if `--yes` does not answer it.
pub fn judge_found(rules: &Rules, call: &CallFacts, file: &PathFact) -> Decision {
    if is_own(file) {
        return Decision::Deny;
    }
    let found = weigh_found(&rules.policy, call, file);
    match found {
        Some(found) if found.decision == Decision::Ask && rules.mode == ApprovalMode::Yes && !found.firm => {
            Decision::Allow
        }
        Some(found) => found.decision,
        None => Decision::Allow,
    }
}

/// What is said of the parts; nothing for a call that no rule can save.
fn weigh_unless_settled<'p>(
    rules: &'p Rules,
    facts: &CallFacts,
    applied: Option<&mut Vec<Applied<'p>>>,
) -> Vec<Finding> {
    if facts.paths.iter().any(is_own) {
        return Vec::new();
    }
    weigh(&rules.policy, rules.access, facts, applied)
}

/// Whether it is Mainpath's own, and so for no agent to touch; a workspace's rules and skills may be read.
fn is_own(fact: &PathFact) -> bool {
    let own_folder = || fact.relative.as_deref().and_then(guarded) == Some(Guarded::Own);
    fact.protected || fact.write && own_folder()
}

fn decide(rules: &Rules, facts: &CallFacts, findings: &[Finding]) -> Verdict {
    if let Some(fact) = facts.paths.iter().find(|fact| is_own(fact)) {
        let verb = if fact.write { "change" } else { "read" };
        let reason = format!("{:?} belongs to Mainpath; agents cannot {verb} it.", fact.path);
        return verdict(Decision::Deny, "builtin.protected", reason);
    }
    // The first of the strongest; the organisation's before others, a rule's before what holds by default.
    let weight =
        |finding: &&Finding| (strength(finding.decision), finding.by_organisation, finding.firm, finding.by_rule);
    let strongest = findings.iter().rev().max_by_key(weight);
    // A rule that denies the tool says more than that it is not offered.
    let denied = strongest.is_some_and(|found| found.decision == Decision::Deny && found.by_rule);
    if !denied && !rules.allowed_tools.contains(&facts.tool) {
        let reason = format!("The tool \"{}\" is not among the tools of this run.", facts.tool);
        return verdict(Decision::Deny, NOT_GIVEN, reason);
    }
    let Some(found) = strongest else {
        return verdict(Decision::Allow, "builtin.nothing", "No rule applies to this call.");
    };
    let as_found = || verdict(found.decision, &found.rule, found.reason.clone());
    match (found.decision, rules.mode) {
        (Decision::Allow | Decision::Deny, _) | (Decision::Ask, ApprovalMode::Ask) => as_found(),
        (Decision::Ask, ApprovalMode::Yes) if found.firm => as_found(),
        (Decision::Ask, ApprovalMode::Yes) => verdict(Decision::Allow, BY_YES, "The run was started with --yes."),
        (Decision::Ask, ApprovalMode::Deny) if found.by_rule => {
            verdict(Decision::Deny, &found.rule, format!("{} {NON_INTERACTIVE}", found.reason))
        }
        (Decision::Ask, ApprovalMode::Deny) => verdict(
            Decision::Deny,
            HEADLESS,
            match found.rule.as_str() {
                "builtin.unclear" | "builtin.address" => format!("{} {NON_INTERACTIVE}", found.reason),
                _ => format!(
                    "{} {NON_INTERACTIVE} The owner of the run can allow it with --yes, or approve this call later.",
                    found.reason
                ),
            },
        ),
    }
}

fn verdict(decision: Decision, rule: &str, reason: impl Into<String>) -> Verdict {
    Verdict { decision, rule: rule.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathFact;
    use mainpath_types::EffectClass;

    fn facts(tool: &str, effect: EffectClass, paths: &[(&str, bool, bool)]) -> CallFacts {
        let fact = |&(path, in_workspace, protected): &(&str, bool, bool)| PathFact {
            path: path.into(),
            absolute: format!("/w/{path}"),
            relative: in_workspace.then(|| path.into()),
            write: !effect.is_read_only(),
            protected,
            in_repository: false,
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
    fn handing_work_to_another_machine_is_asked_about() {
        let url = crate::UrlFact { method: "POST".into(), url: "https://build.example.com".into() };
        let call = CallFacts { urls: vec![url], named: true, ..facts("bash", EffectClass::StartChild, &[]) };
        assert_eq!(decide(ApprovalMode::Ask, &call), (Decision::Ask, "builtin.elsewhere".into()));
        assert_eq!(decide(ApprovalMode::Deny, &call), (Decision::Deny, "builtin.headless".into()));
        assert_eq!(decide(ApprovalMode::Yes, &call), (Decision::Allow, "flag.yes".into()));
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
