//! The language that finds calls.

use mainpath_policy::{NumberOrder, Predicate, StepFacts, TextSearch};
use mainpath_types::{Decision, Origin};
use proptest::prelude::*;
use serde_json::{Value, json};

fn deploy() -> Value {
    json!({"command": "make deploy --to prod", "env": {"REGION": "eu 1"}, "tries": 3, "hosts": ["a", "b"]})
}

fn step(arguments: &Value) -> StepFacts<'_> {
    StepFacts {
        trace: "20260101-1",
        tool: "bash",
        arguments: Some(arguments),
        verdict: Some(Decision::Ask),
        rule: "builtin.ask",
        outcome: "error",
        error: "timeout",
        failure: "it took longer than 30 s",
        origins: &[Origin::Web, Origin::Model],
        text: "I shall deploy it now.",
        cost: 120_000,
        model: "anthropic:claude",
        agent: "explore",
        folder: "/work",
    }
}

fn is(text: &str) -> bool {
    let arguments = deploy();
    Predicate::parse(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}")).matches(&step(&arguments))
}

#[test]
fn conditions_on_every_field_hold_of_a_call_or_do_not() {
    for holds in [
        "tool=bash",
        "tool != write_text_file",
        "tool~^ba",
        "tool!~^wr",
        "args~deploy",
        "args~'deploy --to (prod|live)'",
        "args.command=\"make deploy --to prod\"",
        "args.env.REGION='eu 1'",
        "args.hosts.1=b",
        "args.tries>2",
        "args.tries<=3",
        "args.tries<=4",
        "args.nothing!='it\\'s'",
        "args.command~'make \\w+ '",
        "args.nothing=''",
        "args.nothing!=x",
        "verdict=ask",
        "verdict!=allow",
        "rule=builtin.ask",
        "outcome=error",
        "error=timeout",
        "error~'longer than'",
        "error~time",
        "origin=web",
        "origin!=mcp",
        "text~deploy",
        "cost>0.10",
        "cost>=0.12",
        "cost=0.12",
        "cost<1",
        "cost>-1",
        "cost=0.120000",
        "cost>.1",
        "cost<5.",
        "origin~^we",
        "model~claude",
        "agent=explore",
        "folder=/work",
        "trace~2026",
    ] {
        assert!(is(holds), "{holds}");
        assert!(!is(&format!("not ({holds})")), "{holds}");
    }
    for fails in [
        "tool=Bash",
        "args~Deploy",
        "args.tries>x1",
        "args.tries<3",
        "args.command>1",
        "cost>0.12",
        "origin=mcp",
        "args.env=x",
    ] {
        match Predicate::parse(fails) {
            Ok(predicate) => assert!(!predicate.matches(&step(&deploy())), "{fails}"),
            Err(wrong) => assert!(fails == "args.tries>x1" && wrong.at == 12, "{fails}: {wrong}"),
        }
    }
}

#[test]
fn and_binds_closer_than_or_and_not_closest() {
    assert!(is("tool=x and tool=y or tool=bash"));
    assert!(!is("tool=x and (tool=y or tool=bash)"));
    assert!(is("not tool=x and tool=bash"));
    assert!(!is("not (tool=x or tool=bash)"));
    assert!(is("not not tool=bash"));
    assert!(is("(((tool=bash)))and(cost>0)"), "blanks may be left out where a sign stands");
}

#[test]
fn a_mistake_is_told_with_its_place_and_what_to_write() {
    let wrong = |text: &str| Predicate::parse(text).unwrap_err().to_string();
    for (text, told) in [
        ("", "character 1: expected a condition, such as tool=bash"),
        ("tool", "character 5: expected = != ~ !~ > < >= or <= after tool"),
        ("tool=", "character 6: expected a value; write \"\" for an empty one"),
        ("tool=bash args~x", "character 11: expected and, or, or the end; put a value with blanks in quotes"),
        ("tool=bash origin=web", "character 11: expected and, or, or the end; put a value with blanks in quotes"),
        ("tool=bash && args~x", "character 11: write and, or, not instead of signs"),
        ("(tool=bash", "character 1: this ( is not closed"),
        ("tool=bash)", "character 10: there is no ( for this )"),
        ("tool='bash", "character 6: this quote is not closed"),
        ("ä=1", "character 1: there is no field \"ä\"; did you mean args?"),
        ("verdikt=ask", "character 1: there is no field \"verdikt\"; did you mean verdict?"),
        ("verdict=denied", "character 9: verdict is one of allow, ask, deny"),
        ("outcome=fine", "character 9: outcome is one of ok, error, denied, skipped, interrupted, unknown"),
        ("origin=net", "character 8: origin is one of user, workspace, web, mcp, message, model"),
        ("cost>much", "character 6: \"much\" is not a number such as 0.10"),
        ("cost>.", "character 6: \".\" is not a number such as 0.10"),
        ("cost>+1", "character 6: \"+1\" is not a number such as 0.10"),
        ("cost>1x", "character 6: \"1x\" is not a number such as 0.10"),
        ("cost>1.x", "character 6: \"1.x\" is not a number such as 0.10"),
        ("cost>0.1200000", "character 6: \"0.1200000\" is not a number such as 0.10"),
        ("cost~1", "character 5: cost is a number; compare it by = > < >= <="),
        ("tool>1", "character 5: tool is a text; compare it by = != ~ or !~"),
        ("args~'('", "character 6: \"(\" is no regular expression: unclosed group"),
        ("args~a{1000}{1000}", "character 6: \"a{1000}{1000}\" is no regular expression: it is too large"),
    ] {
        let said = wrong(text);
        if text == "ä=1" {
            assert!(said.starts_with("character 1: there is no field \"ä\"; "), "{said}");
        } else {
            assert_eq!(said, told, "{text}");
        }
    }
    assert!(wrong(&"(".repeat(200)).contains("more than 50 levels"));
    assert!(wrong(&"not ".repeat(200)).contains("more than 50 levels"));
    assert!(wrong(&format!("{}tool=bash", "not ".repeat(50))).contains("more than 50 levels"));
    assert!(is(&format!("{}tool=bash", "not ".repeat(48))), "and a condition is a level");
    assert!(!is(&format!("{}tool=bash", "not ".repeat(49))));
    assert!(is(&["tool=bash"; 120].join(" and ")), "conditions side by side are one level");
    assert!(wrong(&format!("tool={}", "x".repeat(3_996))).contains("at most 4000 bytes"));
    assert!(!is(&format!("tool={}", "x".repeat(3_995))));
}

#[test]
fn a_predicate_states_its_text_and_the_tools_that_it_names_in_full() {
    let predicate = Predicate::parse(" tool=bash or not tool='' and tool~x or tool=grep ").unwrap();
    assert_eq!(predicate.text(), "tool=bash or not tool='' and tool~x or tool=grep");
    assert_eq!(predicate.to_string(), predicate.text());
    assert_eq!(predicate.tools(), ["bash", "grep"]);
    let signs = [NumberOrder::Equal, NumberOrder::Less, NumberOrder::AtMost, NumberOrder::More, NumberOrder::AtLeast];
    assert_eq!(signs.map(NumberOrder::sign), ["=", "<", "<=", ">", ">="]);
    let search = TextSearch::new("abc.*d").unwrap();
    assert_eq!((search.pattern(), search.needs()), ("abc.*d", Some("abc")));
}

#[test]
fn a_breakpoint_asks_for_nothing_that_only_a_finished_call_has() {
    assert!(Predicate::breakpoint("tool=bash and args~deploy and cost>0.1 and origin=web and text~x").is_ok());
    let wrong = Predicate::breakpoint("tool=bash and not error~x").unwrap_err();
    assert_eq!(wrong.to_string(), "character 19: error is known only after a call; a breakpoint stops before it");
}

#[test]
fn a_regular_expression_takes_time_by_the_text_alone() {
    let long = Value::from("a".repeat(200_000));
    let began = std::time::Instant::now();
    let predicate = Predicate::parse("args~'(a*)*(a*)*(a*)*b'").unwrap();
    assert!(!predicate.matches(&StepFacts { arguments: Some(&long), ..StepFacts::default() }));
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

/// What predicates are made of, and what they are not.
fn pieces() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(
        &[
            "tool", "args", "args.x", "cost", "error", "origin", "=", "!=", "~", "!~", ">", "<=", "and", "or", "not",
            "(", ")", "'", "\"", "\\", "a", "0.1", "web", " ", "ä", "[", "*", "\u{0}",
        ][..],
    );
    proptest::collection::vec(
        prop_oneof![4 => known.prop_map(String::from), 1 => any::<char>().prop_map(String::from)],
        0..30,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader_and_a_place_is_in_the_text(text in pieces()) {
        match Predicate::parse(&text) {
            Ok(predicate) => {
                let arguments = deploy();
                let step = step(&arguments);
                let not = Predicate::parse(&format!("not ({text})")).unwrap();
                prop_assert_ne!(predicate.matches(&step), not.matches(&step));
            }
            Err(wrong) => prop_assert!((1..=text.chars().count() + 1).contains(&wrong.at), "{} in {:?}", wrong, text),
        }
    }

    #[test]
    fn what_is_needed_stands_in_every_match(pattern in "[a-c(|)*+?.x]{0,12}", text in "[a-cx]{0,20}") {
        if let Ok(search) = mainpath_policy::TextSearch::new(&pattern)
            && search.is_in(&text)
            && let Some(needed) = search.needs()
        {
            prop_assert!(text.contains(needed), "{pattern} needs {needed}, and is in {text}");
        }
    }
}
