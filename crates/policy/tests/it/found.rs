//! Files that a call comes upon while it searches.

use crate::support::*;
use mainpath_policy::{Layer, PathFact, Policy, Rules, judge_found};
use mainpath_types::{Access, ApprovalMode, Decision};

fn found(policy: &Policy, mode: ApprovalMode, call_text: &str, path: &str) -> Decision {
    let facts = call(call_text);
    let rules: Rules = rules(policy.clone(), Access::Ask, mode, &facts);
    let file: PathFact = call(&format!("read({path})")).paths.remove(0);
    judge_found(&rules, &facts, &file)
}

#[test]
fn a_file_that_a_rule_denies_is_denied_to_a_search_as_well() {
    use ApprovalMode::{Ask, Deny, Yes};
    let policy = bare(&["deny read(secret.txt)", "deny read(secrets/**)", "allow read(**)", "allow grep"]);
    for mode in [Ask, Deny, Yes] {
        for path in ["secret.txt", "secrets/a/b", "secrets"] {
            assert_eq!(found(&policy, mode, "grep(.)", path), Decision::Deny, "{path}");
        }
        for path in ["a.txt", "secret.txt.md", "sub/secret.txt"] {
            assert_eq!(found(&policy, mode, "grep(.)", path), Decision::Allow, "{path}");
        }
    }
    // Rules of a tool's own, and those for other tools and for writes.
    let policy = bare(&["deny grep(x/**)", "deny glob(y/**)", "deny write(z/**)"]);
    let of_grep = |path: &str| found(&policy, Ask, "grep(.)", path);
    assert_eq!((of_grep("x/a"), of_grep("y/a"), of_grep("z/a")), (Decision::Deny, Decision::Allow, Decision::Allow));
}

#[test]
fn an_ask_counts_for_a_file_unless_it_was_answered_for_the_call() {
    use ApprovalMode::{Ask, Yes};
    let policy = bare(&["ask read(secrets/**)"]);
    assert_eq!(found(&policy, Ask, "grep(.)", "secrets/a"), Decision::Ask);
    assert_eq!(found(&policy, Yes, "grep(.)", "secrets/a"), Decision::Allow);
    // The call names the folder, so somebody was asked about it.
    assert_eq!(found(&policy, Ask, "grep(secrets)", "secrets/a"), Decision::Allow);
    assert_eq!(found(&bare(&["ask grep"]), Ask, "grep(.)", "a"), Decision::Allow);
    assert_eq!(found(&usual(&[]), Ask, "grep(.)", "keys/a.pem"), Decision::Ask);
    assert_eq!(found(&usual(&["deny read(secrets/**)"]), Ask, "grep(.)", "secrets/a.pem"), Decision::Deny);
}

#[test]
fn an_ask_that_yes_does_not_answer_counts_under_yes_as_well() {
    let rule = |always: &str| format!("[[rule]]\ndecision = \"ask\"\nmatch = \"read(secrets/**)\"\n{always}");
    let under_yes = |text: &str| found(&with_file(Layer::User, text), ApprovalMode::Yes, "grep(.)", "secrets/a");
    assert_eq!((under_yes(&rule("")), under_yes(&rule("always = true\n"))), (Decision::Allow, Decision::Ask));
}

#[test]
fn mainpaths_own_files_are_found_by_no_search() {
    let facts = call("grep(.)");
    let rules = rules(bare(&[]), Access::Full, ApprovalMode::Yes, &facts);
    let own = PathFact { protected: true, ..call("read(data/log)").paths.remove(0) };
    assert_eq!(judge_found(&rules, &facts, &own), Decision::Deny);
}
