//! Breakpoints: calls that wait for a person, whatever the rules say.

use mainpath_policy::{AtStop, BREAKPOINT, Breakpoints, CallFacts};
use mainpath_types::{Decision, Origin, Spec, Verdict};
use serde_json::json;

fn breakpoints(conditions: &[&str]) -> Breakpoints {
    let spec = json!({
        "model": "scripted", "limits": {}, "context_window": 1, "reserved_output": 1, "workspace": "/work",
        "preset": {"name": "explore"}, "rules": {"breakpoints": conditions},
    });
    Breakpoints::of(&serde_json::from_value::<Spec>(spec).unwrap())
}

fn by(decision: Decision) -> Verdict {
    Verdict { decision, rule: "user.1".into(), reason: "A rule applies.".into() }
}

/// The verdict on a call that the rules have decided so.
fn stopped(conditions: &[&str], decision: Decision) -> Verdict {
    let facts = CallFacts {
        tool: "bash".into(),
        arguments: json!({"command": "make deploy"}),
        origins: [Origin::Web].into(),
        ..CallFacts::default()
    };
    let at = AtStop { trace: "20260101-1".parse().unwrap(), spent: 120_000 };
    breakpoints(conditions).stop(&at, by(decision), &facts, "I shall deploy it now.")
}

#[test]
fn a_breakpoint_may_ask_for_all_that_is_known_before_a_call() {
    for condition in [
        "tool=bash",
        "args.command~deploy",
        "verdict=allow",
        "rule=user.1",
        "origin=web",
        "text~deploy",
        "cost=0.12",
        "model=scripted",
        "agent=explore",
        "folder=/work",
        "trace=20260101-1",
        // One that cannot be read stops every call.
        "tool=",
    ] {
        let reason = format!("Breakpoint {condition:?}; without it the call would run, by user.1.");
        let expected = Verdict { decision: Decision::Ask, rule: BREAKPOINT.into(), reason };
        assert_eq!(stopped(&["tool=other", condition], Decision::Allow), expected, "{condition}");
        assert_eq!(stopped(&[condition], Decision::Deny), by(Decision::Deny), "{condition}");
    }
    assert_eq!(stopped(&["tool=other"], Decision::Allow), by(Decision::Allow));
    assert_eq!(stopped(&[], Decision::Allow), by(Decision::Allow));
    let asked = stopped(&["tool=bash"], Decision::Ask);
    assert_eq!(asked.reason, "Breakpoint \"tool=bash\"; it needs approval anyway, by user.1: A rule applies.");
}

#[test]
fn a_run_without_breakpoints_has_none() {
    assert!(breakpoints(&[]).is_empty());
    assert!(!breakpoints(&["tool=bash"]).is_empty());
}
