//! What stands below a model's summary: what its words do not tell.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn found() -> Summary {
    let user = |text| Said::new(Role::User, text);
    let model = |text| Said::new(Role::Assistant, text);
    rule_summary([
        user("Port the parser of the billing service from Python to Rust."),
        model("The parser has 14 rules. I decided to begin with the lexer."),
        user("Please keep every table in Markdown. 文件名一律用小写。"),
        model("Tables are in Markdown from here on."),
        user("Which library reads the dates?"),
        model("We will use the crate jiff for dates."),
    ])
}

fn floor(words: &str) -> SummaryFloor {
    let (floor, tokens) = summary_floor(found(), words, 800);
    assert!(tokens <= 800 && estimate(&floor.text) <= tokens, "{tokens}");
    floor
}

#[test]
fn a_summary_that_tells_everything_needs_no_floor() {
    let words = "Goal: port the billing parser from Python to Rust, 14 rules. Decided: begin with the lexer; jiff is the crate \
                 for dates, which we will use. Keep every table in Markdown, please. 文件名一律用小写。";
    assert_eq!(floor(words), SummaryFloor { text: String::new(), all: false });
}

#[test]
fn wishes_and_decisions_that_a_summary_leaves_out_stand_below_it() {
    let words = "Goal: port the billing parser from Python to Rust. It has 14 rules; decided to begin with the lexer.";
    let text = "Also said, and not told above:\n- Wished: Please keep every table in Markdown.\n- Wished: 文件名一律用小写。\n\
                - Decided: We will use the crate jiff for dates.";
    assert_eq!(floor(words), SummaryFloor { text: text.into(), all: false });
}

#[test]
fn below_a_refusal_or_words_about_something_else_stands_all_that_rules_found() {
    let all = found().markdown();
    let other = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. ".repeat(40);
    for words in ["I cannot help with that.", "对不起，我无法完成这个请求。", "", &other] {
        assert_eq!(floor(words), SummaryFloor { text: all.clone(), all: true }, "{words}");
    }
}

/// A conversation up to where the next summary by the model is asked for.
fn fill(agent: &mut Agent, from: usize) -> usize {
    for n in from..from + 40 {
        agent.says(MessageMode::Message, &format!("What does module{n} of the billing service hold?"));
        if agent.state().branch.is_some() {
            return n;
        }
        let text = format!("Table of module{n}: {}", "it reads invoices and writes totals; ".repeat(6));
        let reply = Box::new(Reply { tokens: estimate(&text), ..*agent.reply(&text, &[]) });
        agent.takes(InputKind::ModelFinished(reply));
    }
    panic!("it never fills");
}

/// Answers the request for a summary; then rules say what that leaves out.
fn sums_up(agent: &mut Agent, words: &str) -> Compacted {
    let reply = agent.reply(words, &[]);
    agent.offer(&Input::new(agent.now, InputKind::ModelFinished(reply))).unwrap();
    let event = agent.words().expect("rules are asked what it leaves out");
    let words = model_summary(&agent.bodies, event).unwrap_or_default();
    let wanted = agent.machine.pending().unwrap().into_values().find_map(|effect| match effect {
        Effect::Summarise { most, keeps, .. } => Some((most, keeps)),
        _ => None,
    });
    let (most, keeps) = wanted.unwrap();
    agent.takes(summary_input(summarise(agent.state(), &agent.bodies), Some(&words), most, &keeps));
    agent.newest(|kind| if let EventKind::Compacted(data) = kind { Some(data.clone()) } else { None })
}

#[test]
fn a_refusal_costs_neither_what_rules_know_nor_the_summary_before_it() {
    let mut agent = Agent::with_window(Limits { summary: SummaryMode::Single, ..no_limits() }, 3_000);
    agent.says(MessageMode::Message, "Read the billing service. Please keep every table in Markdown.");
    agent.answers("I decided to read module by module.");
    let at = fill(&mut agent, 1);
    let good = "Goal: read the billing service, module by module, as decided; it reads invoices and writes totals. Every table \
                stays in Markdown. Secret of module1: heron.";
    assert_eq!(sums_up(&mut agent, good).floor, None, "it tells what matters");
    agent.answers("Table of the last one: as before.");
    fill(&mut agent, at + 1);
    let refused = sums_up(&mut agent, "I cannot help with that.");
    assert!(refused.floor.is_some_and(|floor| floor.all));
    let shown = agent.shown().join("\n");
    for told in
        ["I cannot help with that.", "heron", "- Please keep every table in Markdown.", "decided to read module by"]
    {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let earlier = earlier_summary(agent.state(), &agent.bodies).earlier;
    assert_eq!(earlier.as_deref(), Some(good), "the next summary goes on from what told something");
}

#[test]
fn a_stop_while_rules_look_does_not_cost_the_summary_that_was_paid_for() {
    let mut agent = Agent::with_window(Limits { summary: SummaryMode::Single, ..no_limits() }, 3_000);
    fill(&mut agent, 1);
    let reply = agent.reply("It reads invoices and writes totals.", &[]);
    agent.offer(&Input::new(agent.now, InputKind::ModelFinished(reply))).unwrap();
    let decided = agent.offer(&Input::new(agent.now, stop())).unwrap();
    let kinds: Vec<&str> = decided.iter().map(|event| event.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(kinds, ["run_closing", "compacted", "branch_closed", "run_finished"], "{decided:?}");
    assert!(decided[2].ends_with("done=true"), "{decided:?}");
}

#[test]
fn a_thing_is_told_by_half_of_its_words_and_the_floor_takes_about_a_third_of_the_room() {
    let user = |text| Said::new(Role::User, text);
    let wish = "Always write tables alpha bravo charlie delta echoes foxtrot golfing.";
    let found = rule_summary([user("Port the parser."), user(wish)]);
    let floor = |words: &str| summary_floor(found.clone(), words, 800).0.text;
    assert_eq!(floor("Port the parser: always write tables alpha bravo."), "");
    let text = format!("Also said, and not told above:\n- Wished: {wish}");
    assert_eq!(floor("Port the parser: always write tables alpha."), text);
    let wishes: Vec<String> = (0..50).map(|n| format!("Always think of item{n} and thing{n}.")).collect();
    let found = rule_summary(std::iter::once(user("Port the parser.")).chain(wishes.iter().map(|text| user(text))));
    let told: String = (0..20).map(|n| format!("item{n} and thing{n}, ")).collect::<String>() + "port the parser";
    let (floor, tokens) = summary_floor(found, &told, 800);
    assert!(!floor.all && floor.text.lines().count() > 5, "{floor:?}");
    assert!(tokens < 800 / 2, "{tokens}");
}
