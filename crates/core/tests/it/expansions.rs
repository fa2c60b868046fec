//! What a cut leaves behind, how more of it is shown again, and what later cuts keep of an earlier summary.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn goal(description: &str) -> GoalOp {
    GoalOp::Add { description: description.into(), reason: String::new(), under: None, after: None }
}

fn plans(agent: &mut Agent, ops: Vec<GoalOp>) {
    agent.takes(InputKind::ChangeGoals { ops, by: user() });
}

fn finish(agent: &mut Agent, id: u32) {
    plans(agent, vec![GoalOp::Done { id: Some(GoalId(id)), summary: "it works".into() }]);
}

/// A turn whose result has this size. Returns what was decided when it came.
fn turn(agent: &mut Agent, output: ToolOutput, tokens: u32) -> Vec<String> {
    agent.calls(&[allowed("read")]);
    let call = agent.state().turn_calls()[0].id;
    agent.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens })
}

fn plain(agent: &mut Agent, tokens: u32) -> Vec<String> {
    turn(agent, ToolOutput::text("a".repeat(tokens as usize * 4)), tokens)
}

fn once(tokens: u32) -> ToolOutput {
    let long_term_memory = Some("It was long.".into());
    ToolOutput { long_term_memory, include_output_only_once: true, ..ToolOutput::text("a".repeat(tokens as usize * 4)) }
}

/// An agent with a summary by the model of most of what came before, that is asked for more.
fn summarised(window: u32, limits: Limits) -> Agent {
    let mut agent = Agent::with_window(limits, window);
    agent.says(MessageMode::Message, "do it");
    (0..6).for_each(|_| agent.works());
    agent.answers("done");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("a summary");
    agent.says(MessageMode::Message, "go on");
    agent
}

#[test]
fn a_summary_outlives_every_later_cut() {
    let mut agent = summarised(100_000, no_limits());
    let summary = |agent: &Agent| agent.shown().into_iter().find(|text| text.contains("\n\na summary")).is_some();
    let known = |agent: &Agent| earlier_summary(agent.state(), &agent.bodies).earlier;
    assert!(summary(&agent));
    for _ in 0..2 {
        agent.answers("yes");
        agent.takes(InputKind::ExpandContext { by: 1 });
        agent.says(MessageMode::Message, "more");
        assert!(summary(&agent), "{:#?}", agent.shown());
        assert_eq!(known(&agent).as_deref(), Some("a summary"));
        let parts = layout(agent.state()).unwrap().sections.iter().map(|(_, _, tokens)| tokens).sum::<u64>();
        assert_eq!(agent.state().request_tokens(), parts);
        let shown: u32 = agent.shown().iter().map(|text| estimate(text)).sum();
        assert!(parts > u64::from(shown) / 2, "{parts} for {shown}");
    }
}

#[test]
fn a_look_back_shows_as_many_messages_as_were_asked_for_once() {
    let mut agent = summarised(100_000, no_limits());
    let asked = PlannedCall { answer: Some("More is shown.".into()), ..allowed("read") };
    let reply = Reply { aside: true, expand: Some(1), ..*agent.reply("show me", &[asked]) };
    let events = agent.takes(InputKind::ModelFinished(Box::new(reply)));
    assert_eq!(events.iter().filter(|event| event.starts_with("context_cut")).count(), 1, "{events:?}");
}

#[test]
fn a_look_back_leaves_a_quarter_of_the_room_free() {
    let mut agent = Agent::with_window(no_limits(), 5_064);
    agent.says(MessageMode::Message, "do it");
    let reply = Box::new(Reply { tokens: 3_000, ..*agent.reply("a long text", &[]) });
    agent.takes(InputKind::ModelFinished(reply));
    agent.says(MessageMode::Message, "go on");
    agent.answers("yes");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("a summary");
    agent.says(MessageMode::Message, "and now");
    // Of the window 4,051 may be taken before it is nearly full.
    let free = 4_051 - agent.state().request_tokens();
    assert!((3_800..4_000).contains(&free), "{free}");
    let left = free - free / 4;
    let size = 3_000;
    assert!(size > left && size < free, "{left} {free}");
    assert_eq!(expand(agent.state(), 1), Err(Refusal::NoRoom(size, left)));
}

#[test]
fn what_was_left_out_in_the_middle_is_shown_again() {
    let mut agent = Agent::asked(Limits { finished_goals: Finished::EveryTurn, ..no_limits() });
    agent.works();
    plans(&mut agent, vec![goal("first"), GoalOp::Focus { id: GoalId(1) }]);
    agent.works();
    finish(&mut agent, 1);
    agent.calls(&[allowed("read")]);
    let events = agent.takes(done("6.0", 1));
    assert_eq!(events[2], "context_cut 8 keeps 1 pins  Goals omits 4-5");
    assert_eq!(agent.shown().len(), 7);
    agent.answers("yes");
    agent.gives(InputKind::ExpandContext { by: 2 }, &["context_cut 11 keeps 1 pins  Expand"]);
}

#[test]
fn what_serves_a_goal_that_was_finished_meanwhile_goes_in_the_turn_after() {
    let mut agent = Agent::asked(Limits { finished_goals: Finished::EveryTurn, ..no_limits() });
    plans(&mut agent, vec![goal("first"), goal("second"), GoalOp::Focus { id: GoalId(1) }]);
    agent.works();
    plans(&mut agent, vec![GoalOp::Focus { id: GoalId(2) }]);
    agent.calls(&[allowed("read")]);
    finish(&mut agent, 1);
    finish(&mut agent, 2);
    let events = agent.takes(done("4.0", 1));
    assert!(events[2].starts_with("context_cut 6 keeps 4 pins 1 Goals"), "{events:?}");
    agent.calls(&[allowed("read")]);
    let open = agent.state().turn_calls()[0].id;
    let events = agent.takes(done(&open.to_string(), 1));
    assert!(events[2].starts_with("context_cut"), "{events:?}");
}

#[test]
fn what_serves_a_finished_goal_stays_where_nothing_tells_what_came_of_it() {
    let mut agent = Agent::asked(Limits { finished_goals: Finished::EveryTurn, ..no_limits() });
    let step = |status| Step { id: Some("a".into()), title: Some("first".into()), status, under: None };
    plans(&mut agent, vec![GoalOp::Set { steps: vec![step(Some(GoalStatus::InProgress))] }]);
    agent.works();
    plans(&mut agent, vec![GoalOp::Update { steps: vec![step(Some(GoalStatus::Completed))] }]);
    agent.calls(&[allowed("read")]);
    let events = agent.takes(done("4.0", 1));
    assert!(events.iter().all(|event| !event.starts_with("context_cut")), "{events:?}");
}

#[test]
fn what_was_to_be_shown_once_stays_while_more_came_after_it_than_that_saves() {
    let mut agent = Agent::with_window(no_limits(), 1_064);
    agent.says(MessageMode::Message, "do it");
    turn(&mut agent, once(90), 90);
    assert_eq!(plain(&mut agent, 80)[2..], ["model_requested 3 at 5"]);
}

#[test]
fn a_limit_in_characters_that_is_larger_than_the_window_is_not_named() {
    let mut agent = Agent::with_window(Limits { context_chars: Some(1_000_000), ..no_limits() }, 1_000);
    agent.takes(sized("a long task", 900));
    let why = agent.newest(|kind| if let EventKind::RunClosing(data) = kind { data.why.clone() } else { None });
    assert!(why.ends_with("and the model's window leaves 936"), "{why}");
}

/// What the newest cut or summary says of what it leaves out.
fn note(agent: &Agent) -> String {
    let note = agent.newest(|kind| match kind {
        EventKind::ContextCut(data) => data.note.as_ref(),
        EventKind::Compacted(data) => data.note.as_ref(),
        _ => None,
    });
    note.text.clone()
}

#[test]
fn a_note_on_one_message_names_it() {
    let mut agent = Agent::asked(no_limits());
    let reply = Box::new(Reply { tokens: 900, ..*agent.reply("a long text", &[]) });
    agent.takes(InputKind::ModelFinished(reply));
    agent.says(MessageMode::Message, "go on");
    agent.answers("done");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("a summary");
    assert_eq!(note(&agent), "[From the system: the earlier message #2 is not shown here.]");
}

#[test]
fn a_note_names_places_one_by_one_as_long_as_they_are_few() {
    let mut agent = Agent::asked(Limits { finished_goals: Finished::EveryTurn, ..no_limits() });
    let mut told = Vec::new();
    for n in 0..7 {
        plans(&mut agent, vec![goal("closed"), GoalOp::Focus { id: GoalId(2 * n + 1) }]);
        agent.works();
        plans(&mut agent, vec![goal("open"), GoalOp::Focus { id: GoalId(2 * n + 2) }]);
        agent.works();
        finish(&mut agent, 2 * n + 1);
        agent.works();
        told.push(note(&agent).lines().next().unwrap().to_string());
    }
    let six = "[From the system: 12 earlier messages, #2 to #3, #10 to #11, #18 to #19, #26 to #27, #34 to #35 and #42 to #43, with 6 \
               tool results, are not shown here.]";
    let seven = "[From the system: 14 earlier messages, between #2 and #51, with 7 tool results, are not shown here.]";
    assert_eq!(told[5..], [six, seven]);
}

#[test]
fn finished_goals_for_which_a_note_has_no_room_are_counted() {
    let limits = Limits { finished_goals: Finished::EveryTurn, ..no_limits() };
    let mut agent = Agent::with_window(limits, 1_664);
    agent.says(MessageMode::Message, "do it");
    for n in 1..=8 {
        let described = format!("the goal {n} {}", "of this house ".repeat(6));
        plans(&mut agent, vec![goal(described.trim()), GoalOp::Focus { id: GoalId(n) }]);
        agent.works();
    }
    (1..=8).for_each(|id| finish(&mut agent, id));
    agent.works();
    let note = note(&agent);
    let lines: Vec<&str> = note.lines().skip(1).collect();
    let listed = lines.len() - 2;
    assert!((2..8).contains(&listed), "{note}");
    assert_eq!(lines[0], "Among them is all work on these goals, which are finished:");
    assert_eq!(lines[1], format!("({} older finished goals are not listed.)", 8 - listed));
    for (line, n) in lines[2..].iter().rev().zip((1..=8).rev()) {
        assert!(
            line.starts_with(&format!("- goal {n}, the goal {n} of this house")) && line.ends_with("): it works"),
            "{line}"
        );
    }
}

#[test]
fn all_that_was_said_is_listed_whole_whatever_is_shown() {
    let mut agent = summarised(100_000, Limits { inject_every: Some(1), turns: Some(99), ..no_limits() });
    agent.calls(&[allowed("read"), allowed("read")]);
    let listed = said(agent.state());
    let seqs: Vec<u32> = listed.iter().map(|item| item.seq().unwrap().0).collect();
    let line = |item: &Item| match item {
        Item::User { .. } => "user",
        Item::Assistant { .. } => "assistant",
        Item::Result { shown: Shown::Whole, .. } => "result",
        other => panic!("{other:?}"),
    };
    let kinds: Vec<&str> = listed.iter().map(line).collect();
    let turn = ["assistant", "result"];
    let expected = [&["user"][..], &turn.repeat(6), &["assistant", "user"]].concat();
    assert_eq!(kinds, expected);
    assert_eq!(
        seqs,
        [1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 24],
        "neither reminders nor what asks for a summary"
    );
}

#[test]
fn what_people_demand_in_an_exchange_that_goes_stays_where_others_before_it_stay() {
    let mut agent = Agent::with_window(Limits { summary: SummaryMode::Rules, ..no_limits() }, 1_064);
    let exchange = |agent: &mut Agent, question: &str, tokens: u32| {
        agent.takes(sized(question, 10));
        let reply = Box::new(Reply { tokens, ..*agent.reply(&format!("About {question}"), &[]) });
        agent.takes(InputKind::ModelFinished(reply));
    };
    agent.says(MessageMode::Message, "do it");
    plain(&mut agent, 60);
    agent.answers("found");
    exchange(&mut agent, "alpha?", 250);
    exchange(&mut agent, "Never delete a file.", 250);
    exchange(&mut agent, "gamma?", 60);
    exchange(&mut agent, "delta?", 60);
    agent.takes(sized("and now?", 60));
    agent.summarises();
    let shown: Vec<String> = agent.shown().into_iter().filter(|text| !text.contains("Summary of")).collect();
    assert_eq!(shown[..2], ["User: do it", "Assistant: let me see <read>"]);
    let after = [
        "Assistant: found",
        "User: Never delete a file.",
        "User: gamma?",
        "Assistant: About gamma?",
        "User: delta?",
        "Assistant: About delta?",
        "User: and now?",
    ];
    assert_eq!(shown[3..], after);
}

#[test]
fn what_is_asked_of_a_summary_is_counted_with_the_plan_that_it_shows() {
    let mut agent = Agent::asked(Limits { summary: SummaryMode::Agent, inject_every: None, ..no_limits() });
    let plan: Vec<GoalOp> = (0..40).map(|n| goal(&format!("the step {n} of this long plan"))).collect();
    plans(&mut agent, plan);
    (0..4).for_each(|_| agent.works());
    agent.answers("so far");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("much was learned");
    let asked = estimate(agent.shown().pop().unwrap().strip_prefix("User: ").unwrap());
    let placed = layout(agent.state()).unwrap().parts.pop().unwrap().tokens;
    assert!((asked..asked + 70).contains(&placed), "{placed} are counted for {asked}");
}

#[test]
fn a_summary_is_counted_as_large_as_it_is_after_later_cuts() {
    let mut agent = Agent::asked(no_limits());
    for _ in 0..3 {
        let reply = Box::new(Reply { tokens: 4_000, ..*agent.reply("a long text", &[]) });
        agent.takes(InputKind::ModelFinished(reply));
        agent.says(MessageMode::Message, "go on");
    }
    (0..2).for_each(|_| agent.works());
    agent.answers("done");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    let text = "a summary of what was said ".repeat(20);
    let reply = Reply { tokens: estimate(&text), ..*agent.reply(&text, &[]) };
    agent.takes(InputKind::ModelFinished(Box::new(reply)));
    let nothing = InputKind::Summarised { text: String::new(), tokens: 0, all: false };
    let _ = agent.offer(&Input::new(agent.now, nothing));
    let counted = |agent: &Agent| {
        let parts = layout(agent.state()).unwrap().parts;
        parts.iter().find(|part| matches!(part.item, Item::Summary { .. })).expect("a summary").tokens
    };
    agent.says(MessageMode::Message, "more");
    assert!(counted(&agent) >= estimate(&text), "{}", counted(&agent));
    for _ in 0..2 {
        agent.answers("yes");
        agent.takes(InputKind::ExpandContext { by: 1 });
        agent.says(MessageMode::Message, "more");
        assert!(counted(&agent) >= estimate(&text), "{}", counted(&agent));
    }
}
