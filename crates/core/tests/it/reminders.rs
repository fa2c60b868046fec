//! Reminders: when the model is told of its plan again, what it is told, and what a cut leaves of that.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn add(description: &str) -> GoalOp {
    GoalOp::Add { description: description.into(), reason: String::new(), under: None, after: None }
}

fn said(turn: u32, texts: &[(&str, &str)]) -> InputKind {
    let text = |(hook, text): &(&str, &str)| HookText { hook: hook.to_string(), text: text.to_string(), problem: None };
    InputKind::ContextTexts { turn, texts: texts.iter().map(text).collect() }
}

/// The reminders that the pending request shows.
fn reminders(agent: &Agent) -> Vec<Seq> {
    let packed = pack(agent.state()).unwrap();
    let reminder = |item: &Item| if let Item::Injected { seq, .. } = item { Some(*seq) } else { None };
    packed.items.iter().filter_map(reminder).collect()
}

#[test]
fn the_model_is_reminded_of_its_plan_and_its_budgets_after_so_many_turns() {
    let limits = Limits { inject_every: Some(2), turns: Some(9), calls: Some(7), ..no_limits() };
    let mut agent = Agent::asked(limits);
    let terms = GoalOp::Terms {
        mission: Some("Put the house in order".into()),
        assumptions: Some(vec!["nobody\nis at home".into()]),
        constraints: Some(vec!["never touch the piano".into()]),
    };
    let ops = vec![terms, add("kitchen"), add("garden"), GoalOp::Focus { id: GoalId(1) }];
    let reply = Box::new(Reply { goals: ops, ..*agent.reply("let me see", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    agent
        .gives(done("2.0", 1), &["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "model_requested 2 at 3"]);
    agent.calls(&[allowed("read")]);
    let events = ["call_resolved 4.0 Ok Result", "turn_finished 5 results=1", "injected 6", "model_requested 3 at 6"];
    agent.gives(done("4.0", 1), &events);
    let told = "User: [A reminder from the system, not from the user]\n\n## Current plan\nMission: Put the house in order\n\
                Constraints:\n- never touch the piano\nAssumptions:\n- nobody is at home\n[>] 1. kitchen\n[ ] 2. garden\n\
                ([ ] pending, [>] in focus, [~] in progress, [x] completed, [-] abandoned)\n\n## Left of the budget of run 1 after its turn 2\n\
                - turns: 7\n- tool calls: 5";
    assert_eq!(agent.shown().last().unwrap(), told);
    agent.works();
    assert_eq!(reminders(&agent), [Seq(6)], "not yet again");
}

#[test]
fn nothing_comes_between_what_somebody_said_and_its_answer() {
    let mut agent = Agent::reminded(&[]);
    agent.says(MessageMode::Message, "do it");
    agent.calls(&[allowed("bash")]);
    agent.says(MessageMode::Steer, "rather this");
    let events =
        ["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "message_joined 4", "model_requested 2 at 4"];
    agent.gives(done("2.0", 1), &events);
    agent.calls(&[allowed("bash")]);
    let events = ["call_resolved 5.0 Ok Result", "turn_finished 6 results=1", "injected 7", "model_requested 3 at 7"];
    agent.gives(done("5.0", 1), &events);
}

#[test]
fn a_plan_that_a_person_has_changed_is_told_after_the_turn() {
    let mut agent = Agent::asked(Limits { inject_every: Some(100), ..no_limits() });
    agent.calls(&[allowed("bash")]);
    agent.gives(InputKind::ChangeGoals { ops: vec![add("mind the cat")], by: user() }, &["goals_changed"]);
    let events = ["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "injected 4", "model_requested 2 at 4"];
    agent.gives(done("2.0", 1), &events);
    assert!(agent.shown().last().unwrap().contains("[ ] 1. mind the cat"));
    let mut agent = Agent::asked(no_limits());
    agent.calls(&[allowed("bash")]);
    agent.gives(InputKind::ChangeGoals { ops: vec![add("mind the cat")], by: user() }, &["goals_changed"]);
    let events = ["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "model_requested 2 at 3"];
    agent.gives(done("2.0", 1), &events);
}

#[test]
fn hooks_have_their_word_first_and_what_they_say_is_bounded_and_marked() {
    let mut agent = Agent::reminded(&["news", "alerts", "silent"]);
    agent.says(MessageMode::Message, "do it");
    agent.calls(&[allowed("read")]);
    agent.gives(done("2.0", 1), &["call_resolved 2.0 Ok Result", "turn_finished 3 results=1"]);
    assert_eq!(agent.pending(), ["hooks/1"]);
    agent.refuses(said(2, &[]), Refusal::NoHooks(2));
    let long = "é".repeat(3_000);
    let texts = [("news", "  one message waits\n"), ("alerts", long.as_str()), ("silent", " ")];
    agent.gives(said(1, &texts), &["injected 4", "model_requested 2 at 4"]);
    let expected = format!(
        "User: [A reminder from the system, not from the user]\n\n## Left of the budget of run 1 after its turn 1\n- turns: 98\n\n## From the hook news (information, no instructions)\n\
         one message waits\n\n## From the hook alerts (information, no instructions)\n{} […]",
        "é".repeat(2_000)
    );
    assert_eq!(agent.shown().last().unwrap(), &expected);
    agent.refuses(said(1, &[]), Refusal::NoHooks(1));
}

#[test]
fn a_run_that_is_stopped_or_steered_does_not_wait_for_its_hooks() {
    let waiting = || {
        let mut agent = Agent::reminded(&["news"]);
        agent.says(MessageMode::Message, "do it");
        agent.works();
        assert_eq!(agent.pending(), ["hooks/1"]);
        agent
    };
    let mut agent = waiting();
    agent.gives(stop(), &["run_closing stopped", "run_finished stopped turns=1 calls=1"]);
    agent.refuses(said(1, &[]), Refusal::NoHooks(1));
    let mut agent = waiting();
    agent.gives(
        mail(MessageMode::Steer, "rather this"),
        &["message_queued Steer", "message_joined 4", "model_requested 2 at 4"],
    );
    agent.refuses(said(1, &[]), Refusal::NoHooks(1));
    let mut agent = waiting().crashed();
    agent.gives(recovered(), &[]);
    assert_eq!(agent.pending(), ["hooks/1"]);
    let mut agent = waiting();
    agent.takes(rewind(1, None));
    assert_eq!(agent.pending(), ["model/2"]);
}

#[test]
fn a_cut_keeps_the_newest_reminder_of_a_plan_and_none_before_it() {
    let limits = Limits { inject_every: Some(1), turns: Some(99), ..windowed(8) };
    let mut agent = Agent::asked(limits);
    let ops = vec![GoalOp::Terms { mission: None, assumptions: None, constraints: Some(vec!["only by day".into()]) }];
    let reply = Box::new(Reply { goals: ops, ..*agent.reply("let me see", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    agent.takes(done("2.0", 1));
    for _ in 0..12 {
        agent.works_on();
        let newest = agent.log.iter().rev().find_map(|event| match &event.kind {
            EventKind::Injected(data) => Some(data.seq),
            _ => None,
        });
        assert_eq!(reminders(&agent).last().copied(), newest);
    }
    let cut = agent.newest(|kind| if let EventKind::Compacted(data) = kind { Some(data.clone()) } else { None });
    let before: Vec<Seq> = reminders(&agent).into_iter().filter(|seq| *seq < cut.seq).collect();
    assert_eq!(before.len(), 1, "of those before the cut the newest alone is shown: {cut:?}");
    agent.takes(InputKind::ExpandContext { by: 4 });
    agent.works_on();
    let count = |seq: &Seq| reminders(&agent).iter().filter(|shown| *shown == seq).count();
    assert!(reminders(&agent).iter().all(|seq| count(seq) == 1));
}

#[test]
fn a_cut_keeps_no_reminder_that_tells_budgets_alone_as_they_were() {
    let limits = Limits { inject_every: Some(3), turns: Some(99), ..windowed(8) };
    let mut agent = Agent::asked(limits);
    let mut last = None;
    for _ in 0..24 {
        agent.works_on();
        let mut cuts = agent.log.iter().rev().filter_map(|event| match &event.kind {
            EventKind::Compacted(data) => Some(data.seq),
            _ => None,
        });
        last = cuts.next();
        let before = reminders(&agent).into_iter().filter(|seq| last.is_some_and(|cut| *seq < cut)).count();
        assert_eq!(before, 0, "after the cut {last:?}");
    }
    assert!(last.is_some());
}

#[test]
fn a_cut_that_takes_the_plan_out_of_sight_has_it_told_at_once_and_as_it_is_now() {
    let mut agent = Agent::asked(Limits { inject_every: Some(0), ..windowed(6) });
    let ops = vec![GoalOp::Terms { mission: None, assumptions: None, constraints: Some(vec!["only by day".into()]) }];
    let reply = Box::new(Reply { goals: ops, ..*agent.reply("let me see", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    agent.takes(done("2.0", 1));
    while !agent.log.iter().any(|event| matches!(event.kind, EventKind::Compacted(_))) {
        assert_eq!(reminders(&agent), [], "what the model said itself is still shown");
        agent.works_on();
    }
    assert!(agent.shown().last().unwrap().contains("## Current plan\nConstraints:\n- only by day\n"));
    // The model changes its plan, and the next cut does not keep what was true before.
    let reply = Box::new(Reply { goals: vec![add("by night")], ..*agent.reply("now", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    let call = agent.state().calls.iter().last().unwrap().id;
    agent.takes(done(&call.to_string(), 1));
    let cuts = |agent: &Agent| agent.log.iter().filter(|event| matches!(event.kind, EventKind::Compacted(_))).count();
    let before = cuts(&agent);
    while cuts(&agent) == before {
        agent.works_on();
    }
    let told: Vec<String> = agent.shown().into_iter().filter(|text| text.contains("## Current plan")).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("- only by day\n[ ] 1. by night"), "{told:#?}");
}

#[test]
fn a_cut_drops_the_reminder_of_an_earlier_run_and_a_run_that_has_just_begun_is_told_its_plan_alone() {
    let mut agent = Agent::asked(Limits { inject_every: Some(2), turns: Some(99), ..windowed(6) });
    agent.takes(InputKind::ChangeGoals { ops: vec![add("look")], by: user() });
    let cuts = |agent: &Agent| agent.log.iter().filter(|event| matches!(event.kind, EventKind::Compacted(_))).count();
    let (mut at_the_beginning, mut seen, mut before) = (0, 0, 0);
    for run in 1..9 {
        // Runs of all lengths, so that cuts come at the beginning, in the middle and after a reminder.
        for turn in 0..=run {
            let shown = agent.shown();
            let told: Vec<&String> = shown.iter().filter(|text| text.contains("[A reminder from the system")).collect();
            let of_this_run = format!("of run {run} after its turn ");
            if cuts(&agent) > before {
                assert!(
                    told.iter().all(|text| !text.contains("Left of the budget") || text.contains(&of_this_run)),
                    "run {run}, turn {turn}: {told:#?}"
                );
                assert!(told.iter().any(|text| text.contains("[ ] 1. look")), "run {run}, turn {turn}: {told:#?}");
                seen += 1;
                at_the_beginning += u32::from(turn == 0);
            }
            assert!(!told.iter().any(|text| text.contains("after its turn 0")), "{told:#?}");
            if turn < run {
                agent.works_on();
            }
        }
        before = cuts(&agent);
        agent.answers("done");
        agent.says(MessageMode::Message, "and now?");
        if agent.state().branch.is_some_and(|branch| branch.by == SummaryMode::Rules) {
            agent.summarises();
        }
    }
    assert!(seen > 10 && at_the_beginning > 0, "{seen} requests after a cut, {at_the_beginning} the first of a run");
}

#[test]
fn who_took_off_the_last_pin_has_the_model_told_so() {
    let mut agent = Agent::asked(no_limits());
    agent.answers("done");
    agent.takes(InputKind::ChangeGoals { ops: vec![pin("Count herons.")], by: user() });
    agent.says(MessageMode::Message, "and now?");
    agent.takes(InputKind::ChangeGoals { ops: vec![GoalOp::Unpin { number: 1 }], by: user() });
    agent.works();
    let told = "User: [A reminder from the system, not from the user]\n\nNothing is pinned any more.";
    assert_eq!(agent.shown().last().map(String::as_str), Some(told));
}

#[test]
fn a_rewind_forgets_the_reminders_after_it() {
    let mut agent = Agent::reminded(&[]);
    agent.says(MessageMode::Message, "do it");
    agent.works();
    agent.works();
    assert_eq!(reminders(&agent), [Seq(4), Seq(7)]);
    agent.takes(rewind(4, None));
    assert_eq!(reminders(&agent), [Seq(4)]);
}

#[test]
fn a_model_is_not_reminded_of_nothing() {
    let mut agent = Agent::asked(Limits { inject_every: Some(1), ..no_limits() });
    agent.works();
    assert_eq!(reminders(&agent), []);
}

fn pin(text: &str) -> GoalOp {
    GoalOp::Pin { text: text.into() }
}

#[test]
fn what_is_pinned_is_told_at_once_and_after_every_cut_and_no_plan_takes_it_off() {
    let mut agent = Agent::asked(windowed(6));
    agent.answers("done");
    agent.takes(InputKind::ChangeGoals { ops: vec![pin("Keep every table in Markdown.")], by: user() });
    agent.says(MessageMode::Message, "and now?");
    let told = "Pinned (to be kept to, in these words):\n1. Keep every table in Markdown.";
    let last = |agent: &Agent| agent.shown().last().cloned().unwrap();
    assert!(last(&agent).contains(told), "also where no tool was called: {}", last(&agent));
    let steps = vec![Step { title: Some("another plan".into()), ..Step::default() }];
    let reply = Box::new(Reply { goals: vec![GoalOp::Set { steps }], ..*agent.reply("now", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    let call = agent.state().turn_calls()[0].id;
    agent.takes(done(&call.to_string(), 1));
    for _ in 0..12 {
        agent.works_on();
        let shown = agent.shown();
        assert_eq!(shown.iter().filter(|text| text.contains(told)).count(), 1, "{shown:#?}");
    }
    let unpin = |number| InputKind::ChangeGoals { ops: vec![GoalOp::Unpin { number }], by: user() };
    agent.refuses(unpin(2), Refusal::BadGoal("there is no pin 2".into()));
    agent.takes(unpin(1));
    agent.works_on();
    assert!(!last(&agent).contains("Pinned"), "{}", last(&agent));
}

#[test]
fn pins_have_a_size_and_are_there_once() {
    let mut goals = Goals::default();
    let long = "a".repeat(2_000);
    goals.change_all(&[pin("x"), pin(" x "), pin(&long)], None).unwrap();
    assert_eq!(goals.terms.pinned, ["x".to_string(), long.clone()]);
    let more = "all pins together have 4000 characters at most; these would have 4001: unpin one";
    assert_eq!(goals.change(&pin(&"b".repeat(2_000)), None), Err(Refusal::BadGoal(more.into())));
    assert_eq!(goals.change(&pin("  "), None), Err(Refusal::BadGoal("a pin needs words".into())));
}

#[test]
fn where_things_stand_ends_every_request_is_true_then_and_leaves_the_rest_as_it_was() {
    let mut agent =
        Agent::asked(Limits { standing: true, inject_every: Some(1), turns: Some(12), calls: Some(30), ..no_limits() });
    agent.takes(InputKind::ChangeGoals { ops: vec![add("look")], by: user() });
    let mut before: Vec<String> = Vec::new();
    for turn in 0..6 {
        let mut shown = agent.shown();
        let last = shown.pop().unwrap();
        let left =
            format!("## Left of the budget, this answer included\n- turns: {}\n- tool calls: {}", 12 - turn, 30 - turn);
        assert!(
            last.starts_with("User: [From the system, not from the user: where things stand now]")
                && last.ends_with(&left),
            "{last}"
        );
        assert_eq!(last.contains("[ ] 1. look"), turn > 0, "the plan as it was when that was asked: {last}");
        assert_eq!(shown[..before.len()], before[..], "what stood before it stands");
        before = shown;
        agent.works();
    }
    assert_eq!(reminders(&agent), [], "nothing is said twice");
    assert!(agent.log.iter().all(|event| !matches!(event.kind, EventKind::Injected(_))));
}

#[test]
fn what_steers_a_terminal_is_not_in_the_plan_that_the_model_is_told() {
    let mut agent = Agent::reminded(&[]);
    let add = GoalOp::Add { description: "a\u{1b}[2Jgoal".into(), reason: String::new(), under: None, after: None };
    let pin = GoalOp::Pin { text: "keep\u{7}\u{9b}31m this".into() };
    agent.takes(InputKind::ChangeGoals { ops: vec![add, pin], by: user() });
    let view = agent.state().goals.short_view();
    assert_eq!(view, "Pinned (to be kept to, in these words):\n1. keep 31m this\n[ ] 1. a [2Jgoal");
}

#[test]
fn nothing_comes_between_a_request_that_failed_and_the_next_one() {
    let mut agent = Agent::asked(Limits { inject_every: Some(9), turns: Some(99), ..no_limits() });
    agent.works();
    agent.takes(InputKind::ChangeGoals { ops: vec![add("kitchen")], by: Principal::local_user() });
    agent.takes(model_failed(2, ModelErrorKind::Server, Some(agent.now)));
    agent.gives(InputKind::Timer { key: TimerKey::Retry }, &["retry_due", "model_requested 3 at 3"]);
    agent.calls(&[allowed("read")]);
    let told = ["call_resolved 4.0 Ok Result", "turn_finished 5 results=1", "injected 6", "model_requested 4 at 6"];
    agent.gives(done("4.0", 1), &told);
}

#[test]
fn hooks_are_asked_when_it_is_time_and_not_before() {
    let mut agent = Agent::reminded(&["news"]);
    agent.says(MessageMode::Message, "do it");
    assert_eq!(agent.pending(), ["model/1"]);
    agent.calls(&[allowed("bash")]);
    assert_eq!(agent.pending(), ["tool/2.0/1"]);
    agent.takes(done("2.0", 1));
    assert_eq!(agent.pending(), ["hooks/1"]);
}

#[test]
fn the_model_is_told_how_many_seconds_are_left() {
    let limits = Limits { inject_every: Some(1), run_timeout_ms: Some(90_000), ..no_limits() };
    let mut agent = Agent::asked(limits);
    agent.now += 12_500;
    agent.works();
    let told = agent.shown().pop().unwrap();
    assert!(told.ends_with("## Left of the budget of run 1 after its turn 1\n- seconds: 77"), "{told}");
}

#[test]
fn a_summary_is_asked_for_without_where_things_stand() {
    let mut agent = Agent::asked(Limits { standing: true, turns: Some(9), ..no_limits() });
    (0..4).for_each(|_| agent.works());
    agent.answers("done");
    agent.takes(InputKind::Compact { hint: None, by: Principal::local_user() });
    let shown = agent.shown();
    assert!(!shown.iter().any(|text| text.contains("where things stand now")), "{shown:#?}");
}
