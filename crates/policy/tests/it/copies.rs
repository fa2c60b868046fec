//! A workspace that is a copy of another folder: what is said of that folder holds in the copy.

use mainpath_policy::{Folders, Policy, judge, sample};
use mainpath_types::{Access, ApprovalMode, Decision};

fn folders() -> Folders {
    Folders {
        workspace: "/cache/one".into(),
        home: "/home/u".into(),
        copy_of: "/home/u/proj".into(),
        above: String::new(),
    }
}

fn decided(rule: (Decision, &str), call: &str) -> Decision {
    let mut policy = Policy::builtin(folders()).unwrap();
    policy.add_rule(rule.0, rule.1).unwrap();
    let facts = sample(call, &folders()).unwrap();
    judge(&crate::support::rules(policy, Access::Ask, ApprovalMode::Yes, &facts), &facts).decision
}

#[test]
fn a_rule_about_the_folder_is_one_about_its_copy_however_it_is_written() {
    for denied in [
        "read(secrets/**)",
        "read(/home/u/proj/secrets/**)",
        "read(~/proj/secrets/**)",
        "read(/home/*/proj/secrets/**)",
    ] {
        for call in [
            "read(secrets/key)",
            "read(/cache/one/secrets/key)",
            "bash(cat secrets/key)",
            "bash(cat /cache/one/secrets/key)",
            "bash(cat /home/u/proj/secrets/key)",
        ] {
            assert_eq!(decided((Decision::Deny, denied), call), Decision::Deny, "{denied}: {call}");
        }
        assert_eq!(decided((Decision::Deny, denied), "read(src/key)"), Decision::Allow, "{denied}");
    }
    for denied in ["bash(./run.sh *)", "bash(/home/u/proj/run.sh *)", "bash(~/proj/run.sh *)"] {
        for call in ["bash(./run.sh)", "bash(sh run.sh)", "bash(/home/u/proj/run.sh)", "bash(/cache/one/run.sh)"] {
            assert_eq!(decided((Decision::Deny, denied), call), Decision::Deny, "{denied}: {call}");
        }
    }
    for denied in ["write(src/**)", "write(/home/u/proj/src/**)", "write(~/proj/src/**)"] {
        assert_eq!(decided((Decision::Deny, denied), "write(src/a.rs)"), Decision::Deny, "{denied}");
        assert_eq!(decided((Decision::Deny, denied), "write(doc/a.md)"), Decision::Allow, "{denied}");
    }
}

#[test]
fn what_is_allowed_in_the_folder_is_allowed_in_its_copy_and_not_the_other_way_round() {
    let decided = |rule: &str, call: &str| {
        let mut policy = Policy::builtin(folders()).unwrap();
        policy.add_rule(Decision::Allow, rule).unwrap();
        let facts = sample(call, &folders()).unwrap();
        judge(&crate::support::rules(policy, Access::Ask, ApprovalMode::Ask, &facts), &facts).decision
    };
    for allowed in ["write(src/**)", "write(/home/u/proj/src/**)", "write(~/proj/src/**)"] {
        assert_eq!(decided(allowed, "write(src/a.rs)"), Decision::Allow, "{allowed}");
        assert_eq!(decided(allowed, "write(doc/a.md)"), Decision::Ask, "{allowed}");
        assert_eq!(decided(allowed, "write(/home/u/proj/src/a.rs)"), Decision::Deny, "{allowed}");
    }
    // A file of the folder is outside the copy.
    assert_eq!(decided("bash(cat *)", "bash(cat < src/a.rs)"), Decision::Allow);
    assert_eq!(decided("bash(cat *)", "bash(cat < /home/u/proj/src/a.rs)"), Decision::Ask);
}

/// Rules of a file above the workspace: their relative paths are from its folder.
#[test]
fn a_file_of_rules_above_the_workspace_speaks_of_paths_from_its_own_folder() {
    let in_sub = Folders { workspace: "/r/sub".into(), home: "/home/u".into(), ..Folders::default() };
    let decided = |rule: &str, call: &str, is_trusted: bool| {
        let mut policy = Policy::builtin(in_sub.clone()).unwrap();
        let (decision, pattern) = rule.split_once(' ').unwrap();
        let text = format!("[[rule]]\ndecision = {decision:?}\nmatch = {pattern:?}\n");
        policy.add_above("/r", "/r/.mainpath/policy.toml", &text, is_trusted).unwrap();
        assert_eq!(policy.folders(), &in_sub);
        let facts = sample(call, &in_sub).unwrap();
        judge(&crate::support::rules(policy, Access::Ask, ApprovalMode::Ask, &facts), &facts).decision
    };
    for denied in
        ["read(sub/secrets/**)", "read(sub/**)", "read(s*b/secrets/k)", "read(**/secrets/**)", "read(./sub/secrets/k)"]
    {
        let rule = format!("deny {denied}");
        for call in ["read(secrets/k)", "read(/r/sub/secrets/k)", "bash(cat secrets/k)", "bash(cat /r/sub/secrets/k)"] {
            assert_eq!(decided(&rule, call, false), Decision::Deny, "{rule}: {call}");
        }
    }
    for other in ["deny read(secrets/**)", "deny read(subs/**)", "deny read(*.pem)"] {
        assert_eq!(decided(other, "read(secrets/k)", false), Decision::Allow, "{other}");
    }
    assert_eq!(decided("deny bash(touch *)", "bash(touch a)", false), Decision::Deny);
    // What it allows holds once it is trusted, as in its own folder.
    assert_eq!(decided("allow write(sub/out/**)", "write(out/a)", false), Decision::Ask);
    assert_eq!(decided("allow write(sub/out/**)", "write(out/a)", true), Decision::Allow);
    assert_eq!(decided("allow write(out/**)", "write(out/a)", true), Decision::Ask);
}
