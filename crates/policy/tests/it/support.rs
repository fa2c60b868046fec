//! Policies and calls in a line.

use mainpath_policy::{CallFacts, Folders, Layer, Policy, Rules, explain, judge, sample};
use mainpath_types::{Access, ApprovalMode, Decision};
use std::sync::{Arc, OnceLock};

pub fn folders() -> Folders {
    Folders { workspace: "/work/space".into(), home: "/home/u".into(), ..Folders::default() }
}

/// A policy without Mainpath's own rules: `allow bash(git *)`, one rule each.
pub fn bare(rules: &[&str]) -> Policy {
    let mut policy = Policy::new(folders());
    for rule in rules {
        add(&mut policy, rule);
    }
    policy
}

/// A policy with Mainpath's own rules and these.
pub fn usual(rules: &[&str]) -> Policy {
    // Reading them takes a while without optimisation.
    static BUILTIN: OnceLock<Policy> = OnceLock::new();
    let mut policy = BUILTIN.get_or_init(|| Policy::builtin(folders()).unwrap()).clone();
    for rule in rules {
        add(&mut policy, rule);
    }
    policy
}

fn add(policy: &mut Policy, rule: &str) {
    let (decision, text) = rule.split_once(' ').unwrap();
    let decision = match decision {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        _ => Decision::Deny,
    };
    policy.add_rule(decision, text).unwrap();
}

pub fn call(text: &str) -> CallFacts {
    sample(text, &folders()).unwrap()
}

pub fn rules(policy: Policy, access: Access, mode: ApprovalMode, facts: &CallFacts) -> Rules {
    Rules { mode, access, allowed_tools: vec![facts.tool.clone()], policy: Arc::new(policy) }
}

/// The decision and the rule's id, for a run that asks.
pub fn verdict(policy: &Policy, facts: &CallFacts) -> (Decision, String) {
    verdict_in(policy, Access::Ask, ApprovalMode::Ask, facts)
}

pub fn verdict_in(policy: &Policy, access: Access, mode: ApprovalMode, facts: &CallFacts) -> (Decision, String) {
    let rules = rules(policy.clone(), access, mode, facts);
    let verdict = judge(&rules, facts);
    assert_eq!(explain(&rules, facts).verdict, verdict, "the explanation explains the verdict");
    (verdict.decision, verdict.rule)
}

pub fn with_file(layer: Layer, text: &str) -> Policy {
    let mut policy = Policy::new(folders());
    policy.add_file(layer, "policy.toml", text).unwrap();
    policy
}

/// What is decided about a call, and by which rule.
pub fn decided(policy: &Policy, text: &str) -> (Decision, String) {
    verdict(policy, &call(text))
}
