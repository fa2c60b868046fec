//! The commands that a run may use at all, whatever else allows more.

use crate::support::*;
use mainpath_policy::*;
use mainpath_types::{Access, ApprovalMode, Decision};

fn bounded(rules: &[&str], lists: &[&[&str]]) -> Policy {
    let mut policy = usual(rules);
    for list in lists {
        policy.bound_commands(&list.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    }
    policy
}

#[test]
fn a_command_that_is_not_among_them_is_denied_whatever_allows_it() {
    let policy = bounded(&["allow bash(*)"], &[&["git *", "ls *"]]);
    let denied = (Decision::Deny, "preset: commands git *, ls *".to_string());
    for line in [
        "rm x",
        "git log; rm x",
        "git -c \"alias.x=!$y\" x",
        "git log | sh",
        "git log $(rm x)",
        "$x",
        "eval git log",
        "PATH=/tmp git log",
        "cd sub && make",
        "bash -c 'rm x'",
    ] {
        let facts = call(&format!("bash({line})"));
        for (access, mode) in [
            (Access::Ask, ApprovalMode::Ask),
            (Access::Full, ApprovalMode::Yes),
            (Access::ReadOnly, ApprovalMode::Deny),
        ] {
            let found = verdict_in(&policy, access, mode, &facts);
            assert_eq!(found.0, Decision::Deny, "{line} {access:?}");
        }
        assert_eq!(verdict(&policy, &facts), denied, "{line}");
    }
    for line in ["git log", "git log | git apply", "cd sub && ls -l", "echo done; git status"] {
        assert_eq!(decided(&policy, &format!("bash({line})")).0, Decision::Allow, "{line}");
    }
    let told = judge(&rules(policy, Access::Full, ApprovalMode::Yes, &call("bash(rm x)")), &call("bash(rm x)"));
    assert_eq!(
        told.reason,
        "The command \"rm x\" is not among the commands that this agent may run: bash(git *), bash(ls *)."
    );
}

#[test]
fn they_allow_nothing_and_say_nothing_of_other_tools() {
    let policy = bounded(&[], &[&["git *"]]);
    for line in ["bash(git push)", "write(a.txt)", "read(a.txt)"] {
        assert_eq!(decided(&policy, line), decided(&usual(&[]), line), "{line}");
    }
}

#[test]
fn of_several_lists_a_command_must_be_in_each() {
    let policy = bounded(&["allow bash(*)"], &[&["git *", "ls *"], &["git *", "make *"]]);
    let found = |line: &str| decided(&policy, &format!("bash({line})"));
    assert_eq!(found("git log").0, Decision::Allow);
    assert_eq!(found("ls a"), (Decision::Deny, "preset: commands git *, make *".into()));
    assert_eq!(found("make a"), (Decision::Deny, "preset: commands git *, ls *".into()));
}

#[test]
fn what_is_no_command_is_told_and_they_are_part_of_what_a_policy_is() {
    let mut policy = usual(&[]);
    assert!(policy.bound_commands(&["git\u{7}".into()]).unwrap_err().to_string().starts_with("commands: "));
    assert!(policy.bound_commands(&[]).is_err(), "a list of nothing would deny all by a slip");
    assert_ne!(bounded(&[], &[&["git *"]]), usual(&[]));
}

#[test]
fn a_denial_of_a_preset_is_told_in_its_name() {
    let mut policy = usual(&[]);
    for rule in ["bash(rm *)", "write(a # preset b)", "web_fetch if origin = web"] {
        policy.add_rule(Decision::Deny, &with_preset(rule, "my agent")).unwrap();
    }
    // Nothing that a caller denies is taken for a preset's.
    policy.add_rule(Decision::Deny, "bash(echo # preset x)").unwrap();
    let told = judge(&rules(policy.clone(), Access::Full, ApprovalMode::Yes, &call("bash(rm x)")), &call("bash(rm x)"));
    assert_eq!((told.decision, told.rule.as_str()), (Decision::Deny, "preset my agent: bash(rm *)"));
    assert_eq!(told.reason, "The command \"rm x\" is denied by the preset my agent: bash(rm *).");
    let ids: Vec<&str> =
        policy.rules().iter().filter(|rule| rule.layer == Layer::Run).map(|rule| rule.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "preset my agent: bash(rm *)",
            "preset my agent: write(a # preset b)",
            "preset my agent: web_fetch if origin = web",
            "run.deny.4"
        ]
    );
}
