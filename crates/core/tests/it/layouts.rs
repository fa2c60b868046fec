//! Where every token of a request goes, and what was left out of it, as people are shown it.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world;
use mainpath_types::*;

fn shown(agent: &Agent) -> Layout {
    layout(agent.state()).expect("there is a spec")
}

/// What a request has of each section, in tokens.
fn taken(agent: &Agent) -> Vec<(&'static str, u64)> {
    shown(agent).sections.into_iter().map(|(section, _, tokens)| (section.as_str(), tokens)).collect()
}

/// The section and the size of each message of a request.
fn placed(agent: &Agent) -> Vec<(Option<u32>, &'static str, u32)> {
    let part = |part: &Placed| (part.item.seq().map(|seq| seq.0), part.section.as_str(), part.tokens);
    shown(agent).parts.iter().map(part).collect()
}

/// A turn with these results of `read`, each of so many tokens.
fn turn(agent: &mut Agent, results: &[u32]) {
    agent.calls(&vec![allowed("read"); results.len()]);
    let calls: Vec<CallId> = agent.state().turn_calls().iter().map(|call| call.id).collect();
    for (call, tokens) in calls.into_iter().zip(results) {
        let long_term_memory = Some("It was long.".into());
        let output = ToolOutput { long_term_memory, ..ToolOutput::text("a".repeat(*tokens as usize * 4)) };
        agent.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens: *tokens });
    }
}

fn compacted(agent: &mut Agent) {
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("done");
    agent.answers("a summary");
}

fn event_of(agent: &Agent, name: &str) -> EventId {
    agent.log.iter().rfind(|event| event.kind.name() == name).unwrap().id
}

/// Messages of which nothing is shown.
fn out(first: u32, last: u32, messages: u32, tokens: u64, by: EventId) -> LeftOut {
    LeftOut { first: Seq(first), last: Seq(last), messages, tokens, shown: 0, demands: 0, by }
}

#[test]
fn a_request_has_four_sections_each_with_its_share() {
    let mut agent = Agent::with_window(no_limits(), 1_064);
    agent.says(MessageMode::Message, "do it");
    turn(&mut agent, &[20]);
    turn(&mut agent, &[30]);
    let part = |seq: u32, item: Item, section, tokens| {
        assert_eq!(item.seq(), Some(Seq(seq)));
        Placed { item, section, tokens }
    };
    let items = pack(agent.state()).unwrap().items;
    let expected = Layout {
        window: 1_064,
        reserved: 64,
        most: 1_000,
        full: 851,
        per_mille: 1_000,
        sections: vec![
            (Section::System, 100, 64),
            (Section::Summary, 200, 0),
            (Section::Recent, 500, 40),
            (Section::Current, 200, 40),
        ],
        parts: vec![
            part(1, items[0], Section::Recent, 10),
            part(2, items[1], Section::Recent, 10),
            part(3, items[2], Section::Recent, 20),
            part(4, items[3], Section::Current, 10),
            part(5, items[4], Section::Current, 30),
        ],
        left_out: Vec::new(),
    };
    assert_eq!(shown(&agent), expected);
}

#[test]
fn a_summary_and_what_stays_of_what_it_stands_for_are_a_section() {
    let mut agent = Agent::asked(no_limits());
    (0..5).for_each(|_| turn(&mut agent, &[20]));
    compacted(&mut agent);
    agent.takes(mail(MessageMode::Message, "go on"));
    let expected = [
        (Some(1), "summary", 10),
        (None, "summary", 39),
        (Some(8), "recent", 10),
        (Some(9), "recent", 20),
        (Some(10), "recent", 10),
        (Some(11), "recent", 20),
        (Some(12), "recent", 10),
        (Some(16), "current", 10),
    ];
    assert_eq!(placed(&agent), expected);
    assert_eq!(taken(&agent), [("system", 64), ("summary", 49), ("recent", 70), ("current", 10)]);
    let by = event_of(&agent, "compacted");
    assert_eq!(shown(&agent).left_out, [out(2, 7, 6, 90, by)]);
}

#[test]
fn what_is_shown_in_part_is_counted_by_that_part() {
    let mut agent = Agent::with_window(no_limits(), 1_064);
    agent.says(MessageMode::Message, "do it");
    turn(&mut agent, &[145, 145]);
    turn(&mut agent, &[290]);
    turn(&mut agent, &[250]);
    let expected = [
        (Some(1), "recent", 10),
        (Some(2), "recent", 10),
        (Some(3), "recent", 27),
        (Some(4), "recent", 27),
        (Some(5), "recent", 10),
        (Some(6), "recent", 27),
        (Some(7), "current", 10),
        (Some(8), "current", 250),
    ];
    assert_eq!(placed(&agent), expected);
    let by = event_of(&agent, "context_cut");
    let expected = [LeftOut { shown: 54, ..out(3, 4, 2, 290, by) }, LeftOut { shown: 27, ..out(6, 6, 1, 290, by) }];
    assert_eq!(shown(&agent).left_out, expected);
}

#[test]
fn a_recalled_result_and_where_things_stand_belong_to_the_newest_turn() {
    let limits = Limits { standing: true, turns: Some(9), ..no_limits() };
    let mut agent = Agent::asked(limits);
    turn(&mut agent, &[300]);
    agent.answers("done");
    agent.takes(InputKind::RecallCalls { calls: vec![call("2.0")] });
    agent.says(MessageMode::Message, "and now");
    let standing = agent.shown().pop().unwrap();
    assert!(standing.starts_with("User: [From the system, not from the user: where things stand now]"), "{standing}");
    let around = estimate(standing.strip_prefix("User: ").unwrap()) + 4;
    let newest = [(Some(5), "current", 10), (None, "current", 300), (None, "current", around)];
    assert_eq!(placed(&agent)[4..], newest);
}

#[test]
fn what_is_left_out_is_told_with_what_left_it_out() {
    let mut agent = Agent::asked(no_limits());
    (0..4).for_each(|_| turn(&mut agent, &[20]));
    compacted(&mut agent);
    agent.takes(sized(&format!("You must keep the API. {}", "And so on. ".repeat(90)), 300));
    agent.answers("yes");
    (0..2).for_each(|_| {
        agent.says(MessageMode::Message, "and then?");
        agent.answers("this");
    });
    agent.says(MessageMode::Message, "go on");
    (0..8).for_each(|_| turn(&mut agent, &[20]));
    let first = event_of(&agent, "compacted");
    compacted(&mut agent);
    agent.says(MessageMode::Message, "go on");
    let second = event_of(&agent, "compacted");
    let expected = [
        out(2, 5, 4, 60, first),
        out(6, 10, 5, 70, second),
        // What it demands is shown in its own words.
        LeftOut { shown: 20, ..out(14, 14, 1, 300, second) },
        out(15, 15, 1, 10, second),
    ];
    assert_eq!(shown(&agent).left_out, expected);
}

#[test]
fn what_goes_with_every_request_is_told_by_name() {
    let part = |source: &str, tokens| InstructionPart { source: source.into(), bytes: 0, tokens, hash: String::new() };
    let spec = Spec {
        instructions: "Work in the folder, and nowhere else but there.".into(),
        instruction_parts: vec![part("AGENTS.md", 3), part("owner", 4)],
        tools: Vec::new(),
        ..world::spec(no_limits(), 100_000)
    };
    let named =
        |parts: &[(&str, u32)]| parts.iter().map(|(name, tokens)| (name.to_string(), *tokens)).collect::<Vec<_>>();
    let counted = |spec: &Spec| {
        let sum: u32 = fixed_parts(spec).iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(SpecHead::new(1, spec).fixed_tokens, sum, "what they are counted as together");
    };
    let whole = estimate(&spec.instructions);
    counted(&spec);
    assert_eq!(fixed_parts(&spec), named(&[("system text", whole - 7), ("AGENTS.md", 3), ("owner", 4)]));
    // Sizes of parts are rounded up: together they are no more than the whole.
    let rounded = Spec { instruction_parts: vec![part("a", whole - 4), part("b", 3), part("c", 3)], ..spec.clone() };
    assert_eq!(fixed_parts(&rounded), named(&[("system text", 0), ("a", whole - 4), ("b", 3), ("c", 1)]));
    counted(&rounded);
    let with_tools = Spec { tools: world::spec(no_limits(), 0).tools, ..spec };
    let names: Vec<String> = fixed_parts(&with_tools).into_iter().skip(3).map(|(name, _)| name).collect();
    assert_eq!(names, ["tool read", "tool put", "tool write", "tool bash", "tool ask", "tool agent"]);
    counted(&with_tools);
    let json = Spec { protocol: Protocol::Json, ..with_tools };
    counted(&json);
    assert_eq!(fixed_parts(&json).len(), 3, "the system text describes the tools");
}

/// What the parts of a request take together, and what it is counted as.
fn sums(agent: &Agent) -> (u64, u64) {
    (taken(agent).iter().map(|(_, tokens)| tokens).sum(), agent.state().request_tokens())
}

#[test]
fn a_request_is_counted_as_large_as_its_parts() {
    let mut agent = Agent::with_window(no_limits(), 4_000);
    let long = |n: u32| format!("You must think of number {n} {}. And so on.", "for a very long time ".repeat(12));
    let many: String = (0..9).map(|n| long(n) + "\n").collect();
    agent.says(MessageMode::Message, "do it");
    turn(&mut agent, &[30, 40]);
    agent.answers("yes");
    agent.takes(sized("You may never do that. I say so.", 30));
    agent.answers("yes");
    agent.takes(sized(&many, 700));
    agent.answers("yes");
    for _ in 0..4 {
        agent.says(MessageMode::Message, "go on");
        turn(&mut agent, &[20]);
        agent.answers("yes");
    }
    assert_eq!(taken(&agent)[1], ("summary", 0));
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("a summary");
    agent.takes(InputKind::RecallCalls { calls: vec![call("2.1")] });
    agent.says(MessageMode::Message, "and now");
    let is_partly = |part: &Placed| matches!(part.item, Item::Demands { most: Some(_), .. });
    assert!(shown(&agent).parts.iter().any(is_partly), "{:#?}", shown(&agent).parts);
    let (parts, whole) = sums(&agent);
    assert_eq!(parts, whole);
}

#[test]
fn an_excerpt_of_a_result_is_counted_as_large_as_it_is() {
    let mut agent = Agent::with_window(no_limits(), 1_064);
    agent.says(MessageMode::Message, "do it");
    agent.calls(&[allowed("read")]);
    let output = ToolOutput::text("a".repeat(4_000));
    agent.takes(InputKind::ToolFinished { call: call("2.0"), attempt: 1, output, tokens: 1_000 });
    let [.., (seq, section, tokens)] = placed(&agent)[..] else { panic!("nothing is shown") };
    assert_eq!((seq, section), (Some(3), "current"));
    assert!(tokens > 27 && tokens < 300, "{tokens}");
    let (parts, whole) = sums(&agent);
    assert_eq!(parts, whole);
}
