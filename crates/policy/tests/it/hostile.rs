//! What must hold for any text, any rules and any call.

use crate::support::*;
use mainpath_policy::{CallFacts, Layer, Policy, narrowest, sample};
use mainpath_types::{Access, ApprovalMode, Decision};
use proptest::prelude::*;

/// Rules that meet the calls below often enough.
const RULES: [&str; 14] = [
    "bash(git *)",
    "bash(git push *)",
    "bash(git push * --force *)",
    "bash(*)",
    "bash",
    "bash(echo *)",
    "bash(make)",
    "write(src/**)",
    "write(**)",
    "read(**/*.env)",
    "http_request(GET https://h/**)",
    "http_request(https://*.h/**)",
    "*",
    "t(key=a*)",
];

const CALLS: [&str; 22] = [
    "bash(git push)",
    "bash(git push --force)",
    "bash(git $x)",
    "bash(git status; make)",
    "bash(echo $(git push))",
    "bash(echo a > src/x)",
    "bash(PATH=/x make)",
    "bash(sudo make)",
    "bash($x)",
    "bash(if)",
    "bash(curl x | sh)",
    "write(src/a)",
    "write(b)",
    "write(/etc/x)",
    "read(a.env)",
    "read(/etc/x)",
    "http_request(GET https://h/x)",
    "http_request(POST https://a.h/x)",
    "t(key=abc)",
    "t(key=b)",
    "mcp__x__y",
    "grep(src)",
];

fn some_rules() -> impl Strategy<Value = Vec<String>> {
    let rule = (prop_oneof![Just("allow"), Just("ask"), Just("deny")], proptest::sample::select(&RULES[..]));
    proptest::collection::vec(rule.prop_map(|(decision, rule)| format!("{decision} {rule}")), 0..6)
}

fn some_call() -> impl Strategy<Value = CallFacts> {
    (proptest::sample::select(&CALLS[..]), any::<bool>())
        .prop_map(|(text, confined)| CallFacts { confined, ..call(text) })
}

fn some_run() -> impl Strategy<Value = (Access, ApprovalMode)> {
    let access =
        prop_oneof![Just(Access::Ask), Just(Access::ReadOnly), Just(Access::WorkspaceWrite), Just(Access::Full)];
    (access, prop_oneof![Just(ApprovalMode::Ask), Just(ApprovalMode::Deny), Just(ApprovalMode::Yes)])
}

fn policy(rules: &[String]) -> Policy {
    bare(&rules.iter().map(String::as_str).collect::<Vec<_>>())
}

/// How strict a decision is.
fn strictness(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// Words and signs that shells and patterns make something of.
fn shellish() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(
        &[
            "git",
            "push",
            " ",
            " ",
            "$(",
            ")",
            "`",
            "'",
            "\"",
            "\\",
            "${x:-",
            "}",
            "((",
            "))",
            ";",
            "|",
            "&&",
            "\n",
            "#",
            "<<E\n",
            "\nE\n",
            "{",
            "(",
            "eval ",
            "x=",
            "$x",
            "$'",
            "case x in x) ",
            ";; esac",
            "if ",
            "; then ",
            "; fi",
            "<(",
            "[[ ",
            " ]]",
            "*",
            "?",
            "[",
            "~",
            "bash -c ",
            "sudo ",
            "xargs ",
            "find . -exec ",
            "env ",
            "é",
            "\u{0}",
            "\t",
            "https://",
            "..",
            "/",
        ][..],
    );
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_allow_that_is_added_never_lifts_a_denial_by_rule(
        rules in some_rules(), added in proptest::sample::select(&RULES[..]), facts in some_call(), (access, _) in some_run(),
    ) {
        let mut policy = policy(&rules);
        let (before, rule) = verdict_in(&policy, access, ApprovalMode::Ask, &facts);
        policy.add_rule(Decision::Allow, added).unwrap();
        let (after, _) = verdict_in(&policy, access, ApprovalMode::Ask, &facts);
        if before == Decision::Deny && rule.starts_with("run.") {
            prop_assert_eq!(after, Decision::Deny);
        }
        if rule.starts_with("run.ask") {
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn a_denial_or_an_ask_that_is_added_never_loosens(
        rules in some_rules(), added in proptest::sample::select(&RULES[..]), deny in any::<bool>(),
        facts in some_call(), (access, mode) in some_run(),
    ) {
        let mut policy = policy(&rules);
        let (before, _) = verdict_in(&policy, access, mode, &facts);
        policy.add_rule(if deny { Decision::Deny } else { Decision::Ask }, added).unwrap();
        let (after, _) = verdict_in(&policy, access, mode, &facts);
        // An ask that `--yes` answers is an allow, whoever asks; nothing else may become less strict.
        prop_assert!(strictness(after) >= strictness(before), "{before:?} became {after:?}");
    }

    #[test]
    fn rules_are_read_or_refused_whatever_they_are(text in shellish(), any_text in any::<String>()) {
        for text in [&text, &any_text, &format!("bash({text})"), &format!("write({any_text})"), &format!("x({any_text}) if origin = web")] {
            let mut policy = Policy::new(folders());
            let _ = policy.add_rule(Decision::Allow, text);
            let _ = policy.add_file(Layer::User, "f", text);
            let quoted = toml_string(text);
            let _ = policy.add_file(Layer::User, "f", &format!("[[rule]]\ndecision = \"ask\"\nmatch = {quoted}\n"));
            let _ = sample(text, &folders());
        }
    }

    #[test]
    fn any_command_line_is_judged(line in shellish(), rules in some_rules(), (access, mode) in some_run()) {
        let facts = CallFacts { commands: vec![line], ..call("bash(x)") };
        verdict_in(&policy(&rules), access, mode, &facts);
        verdict_in(&usual(&[]), access, mode, &facts);
    }

    #[test]
    fn the_narrowest_rule_allows_its_call_and_no_command_that_it_does_not_name(line in shellish()) {
        let facts = CallFacts { commands: vec![line], ..call("bash(x)") };
        check_narrowest(&facts)?;
    }

    #[test]
    fn the_narrowest_rule_for_a_file_allows_it(path in "[ -~]{1,30}", write in any::<bool>()) {
        let steps: Vec<&str> = path.split('/').filter(|step| !["", ".", ".."].contains(step)).collect();
        let mut facts = call(if write { "write(x)" } else { "read(x)" });
        facts.paths[0].relative = Some(steps.join("/"));
        facts.paths[0].absolute = format!("/work/space/{}", steps.join("/")).trim_end_matches('/').into();
        facts.paths[0].path = path;
        check_narrowest(&facts)?;
    }

    #[test]
    fn the_narrowest_rule_for_an_address_allows_it(path in "[!-~]{0,20}") {
        check_narrowest(&CallFacts { urls: vec![mainpath_policy::UrlFact { method: "POST".into(), url: format!("https://h/{path}") }], ..call("http_request") })?;
    }
}

fn toml_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn check_narrowest(facts: &CallFacts) -> Result<(), TestCaseError> {
    let Some(rule) = narrowest(facts) else { return Ok(()) };
    let mut policy = bare(&[]);
    policy.add_rule(Decision::Allow, &rule.to_string()).unwrap();
    prop_assert_eq!(verdict(&policy, facts).0, Decision::Allow, "{} for {:?}", rule, facts);
    // It says the same in a file.
    let text = toml_string(&rule.to_string());
    let file = with_file(Layer::User, &format!("[[rule]]\ndecision = \"allow\"\nmatch = {text}\n"));
    prop_assert_eq!(verdict(&file, facts).0, Decision::Allow, "{}", rule);
    // And nothing about another kind of call.
    for other in ["bash(evil x)", "write(other)", "http_request(POST https://other/)"] {
        prop_assert_eq!(verdict(&policy, &call(other)).0, Decision::Ask, "{} / {}", rule, other);
    }
    Ok(())
}

#[test]
fn always_allow_means_as_little_as_is_sensible() {
    for (text, expected) in [
        ("bash(cargo test -p x)", Some("bash(cargo test *)")),
        ("bash(git status)", Some("bash(git status *)")),
        ("bash(git push origin main)", Some("bash(git push origin main)")),
        ("bash(rm -rf build)", Some("bash(rm -rf build)")),
        ("bash(python -c 'print(1)')", Some("bash(python -c 'print(1)')")),
        ("bash(npm run build)", Some("bash(npm run build *)")),
        ("bash(cd x && make)", Some("bash(make)")),
        ("bash(make test)", Some("bash(make test)")),
        ("bash(make -j$(nproc))", None),
        ("bash(mvn verify)", Some("bash(mvn verify)")),
        ("bash(pytest -q x > out.txt)", Some("bash(pytest *)\nwrite(out.txt)")),
        ("bash(git status && ls)", Some("bash(git status *)\nbash(ls *)")),
        ("bash(rm $x)", None),
        ("bash($x)", None),
        ("bash(PATH=/x make)", None),
        ("bash(if)", None),
        ("write(src/[a].rs)", Some(r"write(src/\[a\].rs)")),
        ("read(/etc/hosts)", Some("read(/etc/hosts)")),
        ("http_request(POST https://H:443/a/../b?c=d)", Some("http_request(POST https://h/b)")),
        ("mcp__github__list", Some("mcp__github__list")),
        ("feishu_bot(text=x)", None),
    ] {
        assert_eq!(narrowest(&call(text)).map(|rule| rule.to_string()).as_deref(), expected, "{text}");
    }
}
