//! Just at a limit and just beyond it, and small differences in what is written.

use crate::support::*;
use mainpath_policy::*;
use mainpath_types::{Access, ApprovalMode, CallId, Decision, Destination, EffectClass, Seq, Verdict};

fn added(text: &str) -> Result<(), String> {
    Policy::new(folders()).add_file(Layer::User, "policy.toml", text).map(drop).map_err(|error| error.to_string())
}

#[test]
fn an_amount_of_money_has_digits_and_at_most_six_after_its_point() {
    let read = |cost: &str| Checks::parse(&format!("[budget]\ncost = {cost}\n"), &folders());
    for amount in ["1", "0", "\"1\"", "\".5\"", "\"5.\"", "\"1.123456\""] {
        assert!(read(amount).is_ok(), "{amount}");
    }
    for none in ["\"\"", "\".\"", "\"1.1234567\"", "\"1.x\"", "\"x.1\"", "\"-1\"", "-1", "\"1.2.3\"", "true"] {
        assert!(read(none).is_err(), "{none}");
    }
}

#[test]
fn what_may_be_meant_counts_for_the_call_and_not_for_what_comes_before_it() {
    let checks = "[[order]]\ncall = \"bash(git push *)\"\nafter = \"bash(cargo test *)\"\n";
    let checks = Checks::parse(checks, &folders()).unwrap();
    let made = |seq, line: &str, after: &[usize]| PastCall {
        call: CallId { seq: Seq(seq), index: 0 },
        run: 1,
        facts: call(&format!("bash({line})")),
        after: after.to_vec(),
    };
    let breaches = |calls: &[PastCall]| checks.breaches(calls, &[], &folders()).len();
    assert_eq!(breaches(&[made(2, "git $x", &[])]), 1);
    assert_eq!(breaches(&[made(2, "cargo test a", &[]), made(4, "git $x", &[0])]), 0);
    assert_eq!(breaches(&[made(2, "cargo $x", &[]), made(4, "git $x", &[0])]), 1);
}

#[test]
fn a_rule_file_and_the_ids_in_it_may_be_so_long_and_no_longer() {
    let rule = "[[rule]]\ndecision = \"deny\"\nmatch = \"bash\"\n";
    let padded = |bytes: usize| format!("{rule}#{}", "x".repeat(bytes - rule.len() - 1));
    assert_eq!(added(&padded(1024 * 1024)), Ok(()));
    assert!(added(&padded(1024 * 1024 + 1)).unwrap_err().contains("at most 1048576 bytes"));
    assert_eq!(added(&rule.repeat(2_000)), Ok(()));
    assert!(added(&rule.repeat(2_001)).unwrap_err().contains("at most 2000 rules"));
    let with_id = |id: &str| added(&format!("{rule}id = \"{id}\"\n"));
    assert_eq!(with_id(&"x".repeat(100)), Ok(()));
    for id in [String::new(), "x".repeat(101), "a b".into()] {
        assert!(with_id(&id).unwrap_err().contains("is not made of 1 to 100 letters"), "{id}");
    }
}

#[test]
fn a_list_that_is_none_is_told_what_it_may_be() {
    let told = added("[[rule]]\ndecision = \"deny\"\nmatch = 5\n").unwrap_err();
    assert!(told.contains("expected a string or a list of strings"), "{told}");
}

#[test]
fn a_condition_on_the_command_line_is_one_of_two() {
    let add = |text: &str| Policy::new(folders()).add_rule(Decision::Ask, text).map(drop);
    for condition in ["origin = web", "origin=web, mcp", "destination = text", "destination=text"] {
        assert!(add(&format!("mcp__mail__send if {condition}")).is_ok(), "{condition}");
    }
    for condition in ["destination = web", "place = text", "destination", "origin = nowhere", "text = destination"] {
        assert!(add(&format!("mcp__mail__send if {condition}")).is_err(), "{condition}");
    }
}

#[test]
fn a_tool_that_was_not_given_is_told_from_its_verdict_alone() {
    let facts = call("bash(ls)");
    let judged = judge(&Rules { allowed_tools: vec!["grep".into()], ..Rules::default() }, &facts);
    assert_eq!(not_given(&judged), Some("bash"));
    let like = |decision, rule: &str| Verdict { decision, rule: rule.into(), reason: judged.reason.clone() };
    assert_eq!(not_given(&like(Decision::Ask, &judged.rule)), None);
    assert_eq!(not_given(&like(Decision::Deny, "user.1")), None);
}

#[test]
fn a_denial_for_want_of_a_person_names_yes_only_where_yes_helps() {
    let reason = |policy: &Policy, line: &str| {
        let facts = call(line);
        judge(&rules(policy.clone(), Access::Ask, ApprovalMode::Deny, &facts), &facts).reason
    };
    let policy = usual(&["allow bash(git *)", "allow bash(make *)"]);
    assert!(reason(&policy, "bash(touch x)").contains("--yes"));
    let unclear = reason(&policy, "bash(git status; make -f -)");
    assert!(unclear.contains("Not all") && !unclear.contains("--yes"), "{unclear}");
    assert!(!reason(&policy, "web_fetch(https://example.org/)").contains("--yes"));
}

#[test]
fn a_rule_is_proposed_for_up_to_five_commands() {
    let line = |commands: usize| call(&format!("bash({})", vec!["make x"; commands].join("; ")));
    assert_eq!(narrowest(&line(5)).unwrap().to_string(), "bash(make x)");
    assert_eq!(narrowest(&line(6)), None);
}

#[test]
fn a_destination_that_a_rule_cannot_hold_is_not_proposed() {
    let proposed = |value: &str| {
        let destination =
            Destination { argument: "to".into(), value: value.into(), call: None, tool: Some("mail".into()) };
        let facts = CallFacts { destinations: vec![destination], ..call("mcp__mail__send(x=1)") };
        narrowest(&facts).map(|rule| rule.to_string())
    };
    assert_eq!(proposed("a@b.example").as_deref(), Some("mcp__mail__send(to=a@b.example)"));
    for value in ["a, b", " a", "a\u{7}b"] {
        assert_eq!(proposed(value), None, "{value:?}");
    }
}

#[test]
fn a_rule_has_at_most_4000_bytes() {
    let add = |bytes: usize| {
        let mut rule = format!("own(a={0}, b={0}, c={0}, d={0}, e=", "x".repeat(900));
        rule += &"x".repeat(bytes - rule.len() - 1);
        rule += ")";
        Policy::new(folders()).add_rule(Decision::Deny, &rule).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(add(4_000), Ok(()));
    assert!(add(4_001).unwrap_err().contains("longer than 4000 bytes"));
}

#[test]
fn a_path_of_up_to_499_bytes_is_proposed() {
    let proposed = |bytes: usize| narrowest(&call(&format!("write({})", "x".repeat(bytes)))).is_some();
    assert!(proposed(499) && !proposed(500));
}

#[test]
fn a_tool_that_changes_a_file_may_return_its_text_so_it_is_judged_as_reading_too() {
    let touched = |effect, write| {
        let path = PathFact {
            path: "a".into(),
            absolute: "/work/space/a".into(),
            relative: Some("a".into()),
            write,
            protected: false,
            in_repository: false,
        };
        CallFacts { tool: "own".into(), effect, paths: vec![path], ..CallFacts::default() }
    };
    let policy = bare(&["deny read(a)"]);
    for (effect, write, expected) in [
        (EffectClass::SideEffecting, true, Decision::Deny),
        (EffectClass::SideEffecting, false, Decision::Deny),
        (EffectClass::ReadOnly, false, Decision::Deny),
        (EffectClass::LocalWrite, true, Decision::Deny),
        (EffectClass::LocalWrite, false, Decision::Deny),
    ] {
        assert_eq!(verdict(&policy, &touched(effect, write)).0, expected, "{effect:?} {write}");
    }
    // The result of these holds no text of the file.
    for tool in ["write_text_file", "take_changes"] {
        let facts = CallFacts { tool: tool.into(), ..touched(EffectClass::LocalWrite, true) };
        assert_eq!(verdict(&policy, &facts).0, Decision::Ask, "{tool}");
    }
    // An allow of reading is none of changing.
    let allowed = bare(&["allow read(a)"]);
    assert_eq!(verdict(&allowed, &touched(EffectClass::SideEffecting, true)).0, Decision::Ask);
}

#[test]
fn a_link_is_judged_by_its_name_and_by_where_it_leads() {
    let link = |path: &str, absolute: &str, relative: Option<&str>| CallFacts {
        paths: vec![PathFact {
            path: path.into(),
            absolute: absolute.into(),
            relative: relative.map(Into::into),
            write: true,
            protected: false,
            in_repository: false,
        }],
        ..call("write(a)")
    };
    let policy = usual(&["deny write(name)", "deny write(place)", "deny write(/out/**)", "deny write(/named/x)"]);
    for (facts, rule) in [
        (link("name", "/work/space/other", Some("other")), "run.deny.1"),
        (link("other", "/work/space/place", Some("place")), "run.deny.2"),
        (link("other", "/out/x", None), "run.deny.3"),
        (link("name", "/elsewhere/x", None), "run.deny.1"),
        (link("/named/x", "/elsewhere/x", None), "run.deny.4"),
    ] {
        assert_eq!(verdict(&policy, &facts), (Decision::Deny, rule.to_string()), "{facts:?}");
    }
}

#[test]
fn a_redirection_lies_inside_only_where_its_name_is_certain() {
    let policy = usual(&["allow bash(echo *)", "allow bash(cat *)"]);
    let decided = |line: &str| verdict_in(&policy, Access::WorkspaceWrite, ApprovalMode::Ask, &call(line)).0;
    assert_eq!(decided("bash(echo a > b)"), Decision::Allow);
    assert_eq!(decided("bash(echo a > \"$x\")"), Decision::Ask);
    assert_eq!(decided("bash(echo a > ../b)"), Decision::Ask);
    assert_eq!(decided("bash(echo a > /out/b)"), Decision::Ask);
    assert_eq!(decided("bash(cat < /out/b)"), Decision::Ask);
    assert_eq!(decided("bash(cat < \"$x\")"), Decision::Ask);
}

#[test]
fn up_to_ten_reasons_why_a_line_is_unclear_are_stated_each_once() {
    let reasons = |line: &str| {
        let facts = call(&format!("bash({line})"));
        let found = explain(&rules(bare(&[]), Access::Ask, ApprovalMode::Ask, &facts), &facts);
        found.parts.iter().filter(|part| part.rule == "builtin.unclear").count()
    };
    let line = |programs: usize| (0..programs).map(|number| format!("$x{number}; ")).collect::<String>();
    assert_eq!((reasons("$x; $x; $x"), reasons(&line(10)), reasons(&line(12))), (1, 10, 10));
}
