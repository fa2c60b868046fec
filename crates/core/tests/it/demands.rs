//! What people demand: found in what they say, and kept in their own words for as long as there is room.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// The demands in a text.
fn demands(text: &str) -> Vec<String> {
    // A text that is long enough has its demands shown without the rest.
    let text = format!("{text}\n\n{}", "And so on.\n".repeat(99));
    let Demands { at, .. } = demands_of(&[Part::text(&text)]);
    at.into_iter().map(|(from, to)| text[from as usize..to as usize].to_string()).collect()
}

fn found(text: &str, expected: &[&str]) {
    assert_eq!(demands(text), expected, "in {text:?}");
}

#[test]
fn a_demand_is_a_sentence_with_a_word_that_demands() {
    found(
        "Do it. You must keep the API. Never mind v2.0 only! Thanks.",
        &["You must keep the API.", "Never mind v2.0 only!"],
    );
    found("做吧。必须保留接口；不要改测试！好的。", &["必须保留接口；", "不要改测试！"]);
    found("Do it.\nBe quick.", &[]);
    let Demands { tokens, at } = demands_of(&[Part::text("Never delete a cat.")]);
    assert_eq!((tokens, at), (9, vec![(0, 19)]), "a short message is no larger than what it demands");
}

#[test]
fn a_list_below_a_colon_belongs_to_the_demand_above_it() {
    let list = "You must never do any of these:\n- delete files\n- push to main\n\n- sign. In my name\n  or another's";
    found(&format!("Hello.\n{list}\nThe rest is up to you."), &[list]);
    let numbered = "只做以下几点：\n1. 读文件\n（二）写测试";
    found(&format!("{numbered}\n其余随你。"), &[numbered]);
    let plain = "You must keep:\nsrc/a.rs\nSrc/B.rs";
    found(&format!("{plain}\n\nThe rest may go."), &[plain]);
    let inline = "Never do this: delete files; push to main; sign.";
    found(&format!("Hello; hello. {inline} Thanks; bye."), &[inline]);
    found("You must hurry.\n- it is late\n- it is cold", &["You must hurry."]);
}

#[test]
fn a_line_break_in_the_middle_of_a_sentence_parts_nothing() {
    found("Look around.\nYou must never delete\nthe database.\nThanks.", &["You must never delete\nthe database."]);
    found("Buy milk\nNever pay cash\nWalk the dog", &["Never pay cash"]);
}

/// Says these things, each answered, has it summarised, and gives what is shown then.
fn summarised(texts: &[&str], window: u32) -> (Agent, Vec<String>) {
    let mut agent = Agent::with_window(no_limits(), window);
    for text in texts.iter().copied().chain(["Go on.", "Go on.", "Go on.", "The end."]) {
        let parts = vec![Part::text(text)];
        let (tokens, Demands { tokens: demands, at: demanded }) = (estimate_parts(&parts), demands_of(&parts));
        let said = MessageQueued::new(parts, tokens, user());
        agent.takes(InputKind::UserMessage(MessageQueued { demands, demanded, ..said }));
        if text != "The end." {
            agent.answers("yes");
        }
    }
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.works();
    agent.answers("a summary");
    let shown = agent.shown();
    assert!(shown.iter().any(|text| text.contains("a summary")), "{shown:#?}");
    (agent, shown)
}

#[test]
fn demands_that_find_no_room_keep_out_no_others() {
    let line = |n| format!("You must think of thing number {n} {}", "for a very long time indeed ".repeat(9));
    let many: Vec<String> = (0..40).map(line).collect();
    let (agent, shown) =
        summarised(&["Look around.", "Never delete a cat.", "Only blue paint.", &many.join("\n")], 14_000);
    assert_eq!(shown[..3], ["User: Look around.", "User: Never delete a cat.", "User: Only blue paint."]);
    // Of the many there stand as many as there is room for, each whole, and that there are more.
    let some: Vec<&str> = shown[3].lines().collect();
    let held = some.len() - 2;
    assert!((10..40).contains(&held), "{some:#?}");
    (0..held).for_each(|n| assert_eq!(some[n + 1], format!("- {}", line(n).trim_end())));
    let more = format!("({} more found no room here; load_older_messages shows the whole message.)", 40 - held);
    assert_eq!((some[0], some[held + 1]), ("User: Said earlier, and still to be kept to:", more.as_str()));
    let unheld: u32 = layout(agent.state()).unwrap().left_out.iter().map(|left| left.demands).sum();
    assert_eq!(unheld, 1, "and it is counted");
}

#[test]
fn of_messages_that_cannot_all_stay_whole_the_demands_stay() {
    let said = |n| format!("{}Never touch cat {n}. {}", "So it was. ".repeat(30), "And so on. ".repeat(30));
    let said: Vec<String> = (0..8).map(said).collect();
    let texts: Vec<&str> = std::iter::once("Look around.").chain(said.iter().map(String::as_str)).collect();
    let (_, shown) = summarised(&texts, 7_000);
    for n in 0..8 {
        assert!(shown.iter().any(|text| text.contains(&format!("Never touch cat {n}."))), "{n}: {shown:#?}");
    }
    let whole = shown.iter().filter(|text| text.contains("So it was.")).count();
    assert!((1..8).contains(&whole), "the newest are whole as far as there is room: {shown:#?}");
    assert!(shown.iter().any(|text| text.contains("Never touch cat 7. And so on.")), "{shown:#?}");
}

#[test]
fn what_a_long_message_demands_stays_word_for_word() {
    let list = "You must never do any of these:\n- delete files\n- push to main";
    let long = format!("You must paint it {} in the colour ultramarine.", "again and again ".repeat(40));
    let message = format!("{}\n{list}\n\n{long} {}", "So it was. ".repeat(60), "And so on. ".repeat(60));
    let (_, shown) = summarised(&["Look around.", &message], 16_000);
    let kept = "User: Said earlier, and still to be kept to:\n- You must never do any of these:\n  - delete files\n  - push to main";
    assert_eq!(shown[1], format!("{kept}\n- {long}"));
}

#[test]
fn of_a_log_of_the_first_version_what_was_sent_is_found_again() {
    let long = format!("You must paint it {} in the colour ultramarine.", "again and again ".repeat(40));
    let text = format!("{}You must not:\n- delete files\n{long}", "So it was. ".repeat(60));
    let mut agent = Agent::with_window(no_limits(), 16_000);
    agent.says(MessageMode::Message, "Look around.");
    agent.answers("yes");
    let said = MessageQueued::new(vec![Part::text(text)], 400, user());
    agent.takes(InputKind::UserMessage(MessageQueued { demands: 130, ..said }));
    agent.answers("yes");
    let event = agent.log.iter().rfind(|event| event.kind.name() == "message_queued").unwrap().id;
    let item = Item::Demands { seq: Seq(3), event, most: None };
    let shown = message(agent.state(), &agent.bodies, &item).unwrap();
    let cut: String = long.chars().take(400).collect();
    let then = format!("Said earlier, and still to be kept to:\n- You must not:\n- {} […]", cut);
    assert_eq!(text_of(&shown.parts), then);
}

#[test]
fn what_is_piped_in_or_attached_demands_nothing() {
    let data = format!("The vendor must ship. What is this?\n{}", "a line\n".repeat(400));
    let task = format!("Answer in English only. {}", "And so on. ".repeat(99));
    let parts = vec![Part::text(&data), Part::text(&task)];
    let mut agent = Agent::with_window(no_limits(), 16_000);
    agent.says(MessageMode::Message, "Look around.");
    agent.answers("yes");
    let Demands { tokens: demands, at: demanded } = demands_of(&parts[1..]);
    let tokens = estimate_parts(&parts);
    let said = MessageQueued::new(parts, tokens, user());
    agent.takes(InputKind::UserMessage(MessageQueued { typed: Some(1), demands, demanded, ..said }));
    agent.answers("yes");
    let event = agent.log.iter().rfind(|event| event.kind.name() == "message_queued").unwrap();
    let item = Item::Demands { seq: Seq(3), event: event.id, most: None };
    let shown = message(agent.state(), &agent.bodies, &item).unwrap();
    assert_eq!(text_of(&shown.parts), "Said earlier, and still to be kept to:\n- Answer in English only.");
    let summary = summarise(agent.state(), &agent.bodies);
    assert_eq!((summary.constraints, summary.open_items), (vec!["Answer in English only.".to_string()], vec![]));
    // Once its words are erased, nothing of them is looked for.
    let EventKind::MessageQueued(left) = event.kind.without_words() else { panic!("another event") };
    assert_eq!((left.typed().len(), left.demanded.len()), (1, 0));
}

#[test]
fn a_task_that_fills_much_of_the_window_goes_once_other_things_are_asked_and_a_small_one_stays() {
    for (tokens, stays) in [(300, true), (900, false), (1_400, false)] {
        let mut agent = Agent::with_window(Limits { summary: SummaryMode::Rules, ..no_limits() }, 2_000);
        let task = format!("Explain heron. {}", "let x = f(y); ".repeat(tokens / 6));
        let InputKind::UserMessage(said) = mail(MessageMode::Message, &task) else { unreachable!("mail is a message") };
        let tokens = u32::try_from(tokens).unwrap();
        agent.takes(InputKind::UserMessage(MessageQueued { tokens, ..said }));
        for n in 1..30 {
            let text = "It is a bird. ".repeat(14);
            let reply = Box::new(Reply { tokens: estimate(&text), ..*agent.reply(&text, &[]) });
            agent.takes(InputKind::ModelFinished(reply));
            assert_eq!(agent.state().ended.reason, Some(FinishReason::Final), "a task of {tokens}, question {n}");
            agent.says(MessageMode::Message, &format!("What of part {n}?"));
            if agent.state().branch.is_some_and(|branch| branch.by == SummaryMode::Rules) {
                agent.summarises();
            }
        }
        let shown = agent.shown();
        assert_eq!(shown[0].starts_with("User: Explain heron"), stays, "a task of {tokens}: {shown:?}");
        assert!(shown.iter().any(|line| line.contains("Explain heron")), "the summary tells of it: {shown:?}");
    }
}

#[test]
fn what_is_demanded_with_a_rewind_or_was_demanded_elsewhere_stays_in_its_own_words() {
    let text = format!("You must keep the API. {}", "And so on. ".repeat(99));
    let mut agent = told();
    agent.takes(rewind_to(1, &text, 300));
    agent.answers("yes");
    let imported = MessageImported { parts: vec![Part::text(&text)], ..elsewhere(Role::User, &[]) };
    agent.takes(InputKind::Import(Box::new(imported)));
    for name in ["rewind_requested", "message_imported"] {
        let event = agent.log.iter().rfind(|event| event.kind.name() == name).unwrap().id;
        let item = Item::Demands { seq: Seq(5), event, most: None };
        let shown = message(agent.state(), &agent.bodies, &item).unwrap();
        assert_eq!(text_of(&shown.parts), "Said earlier, and still to be kept to:\n- You must keep the API.", "{name}");
    }
}

#[test]
fn a_word_to_a_running_agent_can_be_kept_whole() {
    let parts = [Part::text("look at the tests")];
    assert_eq!(Demands::all(&parts), Demands { tokens: estimate_parts(&parts), at: vec![(0, 17)] });
    assert_eq!(Demands::all(&[Part::text("")]), Demands::default());
}

#[test]
fn every_kind_of_list_belongs_to_the_sentence_that_announces_it() {
    let found = |text: &str| -> Vec<String> {
        let span = |(from, to): &TextSpan| text[*from as usize..*to as usize].to_string();
        demands_of(&[Part::text(text)]).at.iter().map(span).collect()
    };
    for items in [
        "1) a cat\n2) a dog",
        "(b) a cat\n(c) a dog",
        "1. a cat\n2. a dog",
        "一、a cat\n二、a dog",
        "一）a cat\n二）a dog",
    ] {
        let text = format!("You must not keep:\n{items}\nThen rest.");
        assert_eq!(found(&text), [format!("You must not keep:\n{items}")], "{items}");
    }
    // A word at the end of a sentence is no item, and neither is a colon inside a word.
    let text = "You must not keep:\nThen a. It is late.\nMore follows.";
    assert_eq!(found(text), ["You must not keep:\nThen a. It is late.\nMore follows."]);
    assert_eq!(found("Use a::b; you must go on."), ["you must go on."]);
    assert_eq!(found("You must do: this; that; all. Then rest."), ["You must do: this; that; all."]);
}
