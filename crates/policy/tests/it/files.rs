//! Rule files: what they may say, and what is said of their mistakes.

use crate::support::*;
use mainpath_policy::{Folders, Layer, PatternError, Policy, PolicyError, RulePlace};
use mainpath_types::{Decision, EffectClass, Origin};

fn refused(text: &str) -> String {
    Policy::new(folders()).add_file(Layer::User, "policy.toml", text).unwrap_err().to_string()
}

#[test]
fn a_file_says_everything_that_a_rule_can_be() {
    let policy = with_file(
        Layer::User,
        r#"
        [[rule]]
        id = "no-push"
        decision = "deny"
        match = ["bash(git push *)", "bash(git send-email *)"]
        origin = ["web", "mcp"]
        effect = "process-control"
        reason = "Pushing is done by people."
        examples.match = ["bash(git push origin main)"]
        examples.no_match = ["bash(git status)"]

        [[rule]]
        decision = "ask"
        match = "write(src/**)"
        always = true
        "#,
    );
    let [first, second] = policy.rules() else { panic!("two rules") };
    assert_eq!((first.id.as_str(), first.decision, first.layer), ("no-push", Decision::Deny, Layer::User));
    assert_eq!(first.matches, ["bash(git push *)", "bash(git send-email *)"]);
    assert_eq!((&first.origins, &first.effects), (&vec![Origin::Web, Origin::Mcp], &vec![EffectClass::ProcessControl]));
    assert_eq!(first.reason.as_deref(), Some("Pushing is done by people."));
    assert_eq!(first.place, Some(("policy.toml".into(), 2)));
    assert_eq!((second.id.as_str(), second.always, &second.place), ("user.2", true, &Some(("policy.toml".into(), 12))));
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_may_have_been_meant() {
    for (text, expected) in [
        (
            "[[rule]]\ndecision = \"alow\"\nmatch = \"a\"",
            "policy.toml, line 2: unknown variant `alow`, expected one of `allow`, `ask`, `deny`; did you mean \"allow\"?",
        ),
        (
            "[[rule]]\ndecison = \"allow\"\nmatch = \"a\"",
            "policy.toml, line 2: unknown field `decison`, expected one of `id`, `decision`, `match`, `origin`, `effect`, `destination`, `reason`, `always`, `examples`; did you mean \"decision\"?",
        ),
        (
            "[[rules]]\ndecision = \"allow\"\nmatch = \"a\"",
            "policy.toml, line 1: unknown field `rules`, expected one of `off`, `rule`, `example`; did you mean \"rule\"?",
        ),
        ("[[rule]]\nmatch = \"a\"", "policy.toml, line 1: missing field `decision`"),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = []",
            "policy.toml, line 3: the rule matches nothing: its list is empty",
        ),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = \"bsh(git *)\"",
            "policy.toml, line 3: there is no tool \"bsh\"; did you mean \"bash\"?",
        ),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = \"wirte(src/**)\"",
            "policy.toml, line 3: there is no tool \"wirte\"; did you mean \"write\"?",
        ),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = \"bash(git *\"",
            "policy.toml, line 3: the rule \"bash(git *\" lacks its closing )",
        ),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = \"bash()\"",
            "policy.toml, line 3: the rule \"bash()\" says nothing between its parentheses; bash alone is every call of it",
        ),
        ("[[rule]]\ndecision = \"allow\"\nmatch = \"bash('git)\"", "policy.toml, line 3: \"'git\" lacks a closing '"),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = \"write(a/../b)\"",
            "policy.toml, line 3: \"a/../b\" holds a .. step, which no resolved path has",
        ),
        (
            "[[rule]]\ndecision = \"allow\"\nmatch = \"http_request(GET https://a b/)\"",
            "policy.toml, line 3: \"GET https://a b/\" is not an address; it looks like GET https://api.example.com/v1/**",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"http_request(GTE https://a/**)\"",
            "policy.toml, line 3: \"GTE\" is not an HTTP method; did you mean \"GET\"?",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"*(GET,PSOT https://a/**)\"",
            "policy.toml, line 3: \"PSOT\" is not an HTTP method; did you mean \"POST\"?",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"http_request(DELET *)\"",
            "policy.toml, line 3: \"DELET\" is not an HTTP method; did you mean \"DELETE\"?",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"web_fetch(example.com)\"",
            "policy.toml, line 3: \"example.com\" is not an address; it looks like GET https://api.example.com/v1/**",
        ),
        (
            "[[rule]]\nid = \"a b\"\ndecision = \"allow\"\nmatch = \"a\"",
            "policy.toml, line 2: the id \"a b\" is not made of 1 to 100 letters, digits, '.', '_' and '-'",
        ),
        (
            "[[rule]]\nid = \"builtin.x\"\ndecision = \"allow\"\nmatch = \"a\"",
            "policy.toml, line 2: the id \"builtin.x\" begins with builtin., as only Mainpath's own rules do",
        ),
        (
            "rule = [{id=\"a\",decision=\"deny\",match=\"x\"},\n{id=\"a\",decision=\"deny\",match=\"x\"}]",
            "policy.toml, line 2: two rules have the id \"a\"",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"a\"\nalways = true",
            "policy.toml, line 4: always is for rules that ask",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(git push *)\"\nexamples.match = [\n\"bash(git push)\",\n\"bash(git pull)\"]",
            "policy.toml, line 6: the rule user.1 does not match its example \"bash(git pull)\"",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(git *)\"\nexamples.no_match = [\"bash(git status)\"]",
            "policy.toml, line 4: the rule user.1 matches its example \"bash(git status)\"",
        ),
        (
            "[[rule]]\ndecision = \"deny\"\nmatch = \"a\"\norigin = \"wbe\"",
            "policy.toml, line 4: unknown variant `wbe`, expected one of `user`, `workspace`, `web`, `mcp`, `message`, `model`; did you mean \"web\"?",
        ),
        (
            "off = [\"builtin.secret-file\"]",
            "policy.toml: off names the rule \"builtin.secret-file\", and there is none that can be switched off",
        ),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
    assert!(refused("[[rule]\n").starts_with("policy.toml, line 1: "));
}

#[test]
fn a_project_cannot_switch_rules_off() {
    let mut policy = usual(&[]);
    let refused =
        policy.add_file(Layer::Project, ".mainpath/policy.toml", "\noff = [\"builtin.destroy\"]").unwrap_err();
    assert_eq!(refused.to_string(), ".mainpath/policy.toml, line 2: a project cannot switch rules off");
}

#[test]
fn a_rule_of_the_command_line_is_refused_with_its_flag() {
    let mut policy = Policy::new(folders());
    let refused = |text: &str, policy: &mut Policy| policy.add_rule(Decision::Deny, text).unwrap_err().to_string();
    assert_eq!(refused("bash(git", &mut policy), "--deny: the rule \"bash(git\" lacks its closing )");
    assert_eq!(
        refused("bash(git) if orign = web", &mut policy),
        "--deny: the condition in \"bash(git) if orign = web\" cannot be read; it looks like: if origin = web, or: if destination = text"
    );
    assert!(refused("bash(git) if origin = wbe", &mut policy).ends_with("did you mean \"web\"?"));
    assert_eq!(policy.rules().len(), 0);
}

#[test]
fn a_single_rule_that_is_wrong_is_named_by_its_index_among_those_that_decide_so() {
    let mut policy = Policy::new(folders());
    policy.add_file(Layer::Run, "more.toml", "[[rule]]\ndecision = \"deny\"\nmatch = \"read\"\n").unwrap();
    policy.add_rule(Decision::Allow, "read").unwrap();
    policy.add_rule(Decision::Deny, "read").unwrap();
    let wrong = policy.add_rule(Decision::Deny, "bash(").unwrap_err();
    let place = RulePlace::Single { decision: Decision::Deny, index: 1 };
    assert_eq!(wrong, PolicyError { place, problem: PatternError::Unclosed("bash(".into()).into() });
    assert_eq!(wrong.to_string(), "--deny: the rule \"bash(\" lacks its closing )");
}

#[test]
fn the_hash_names_all_that_verdicts_follow_from() {
    let hash = |rules: &[&str]| bare(rules).hash().to_string();
    assert_eq!(hash(&["deny bash(a)"]), hash(&["deny bash(a)"]));
    assert_eq!(hash(&[]).len(), 64);
    let different =
        [&[][..], &["deny bash(a)"], &["ask bash(a)"], &["deny bash(b)"], &["deny bash(a) if origin = web"]];
    let hashes: std::collections::BTreeSet<String> = different.iter().map(|rules| hash(rules)).collect();
    assert_eq!(hashes.len(), different.len());
    let mut changed = bare(&[]);
    assert_eq!(changed.hash(), hash(&[]));
    changed.add_rule(Decision::Deny, "bash(a)").unwrap();
    assert_eq!(changed.hash(), hash(&["deny bash(a)"]));
    let copied = |of: &str| Policy::new(Folders { copy_of: of.into(), ..folders() }).hash().to_string();
    assert_eq!(copied(""), hash(&[]));
    assert_eq!(std::collections::BTreeSet::from([copied(""), copied("/one"), copied("/other")]).len(), 3);
}

#[test]
fn the_example_policies_are_rules_that_decide_as_their_examples_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policies");
    let mut read = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut policy = Policy::new(folders());
        policy.add_file(Layer::Project, &name, &text).unwrap_or_else(|error| panic!("{error}"));
        read.push((name, policy.rules().len()));
    }
    read.sort();
    assert_eq!(read, [("ci.toml".into(), 2), ("mail.toml".into(), 3), ("repository.toml".into(), 4)]);
}

#[test]
fn examples_of_a_file_are_read_with_their_lines_and_hold_nobody_up() {
    let text = "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(git push *)\"\n\n[[example]]\ncall = \"bash(git push)\"\nexpect = \"deny\"\nrule = \"user.1\"\n\n[[example]]\nname = \"nobody there\"\ncall = \"write_text_file\"\narguments = { path = \"a\", content = \"b\" }\nexpect = \"allow\"\nmode = \"workspace-write\"\ninteractive = false\norigin = \"web\"\n";
    let examples = mainpath_policy::policy_examples(mainpath_policy::Layer::User, "policy.toml", text).unwrap();
    let [first, second] = examples.as_slice() else { panic!("{examples:?}") };
    assert_eq!((first.line, first.call.as_str(), first.rule.as_deref()), (5, "bash(git push)", Some("user.1")));
    assert_eq!((first.expect, first.mode), (mainpath_types::Decision::Deny, mainpath_types::ApprovalMode::Ask));
    assert_eq!((second.line, second.name.as_deref()), (10, Some("nobody there")));
    assert_eq!(
        (second.access, second.mode),
        (mainpath_types::Access::WorkspaceWrite, mainpath_types::ApprovalMode::Deny)
    );
    assert_eq!(second.arguments, Some(serde_json::json!({"path": "a", "content": "b"})));
    assert_eq!(second.origins, [mainpath_types::Origin::Web]);
    // Wrong or not, they are no part of the rules.
    let mut policy = mainpath_policy::Policy::new(mainpath_policy::Folders::default());
    policy.add_file(mainpath_policy::Layer::User, "policy.toml", text).unwrap();
    assert_eq!(policy.rules().len(), 1);
    let wrong = mainpath_policy::policy_examples(
        mainpath_policy::Layer::User,
        "p",
        "[[example]]\ncall = \"bash\"\nexpekt = \"deny\"\n",
    );
    assert_eq!(wrong.unwrap_err().place.to_string(), "p, line 3");
}
