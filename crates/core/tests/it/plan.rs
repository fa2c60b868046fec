//! The plan: what every operation makes of it, what is refused, and what was spent on its goals.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn add(description: &str, under: Option<u32>) -> GoalOp {
    GoalOp::Add { description: description.into(), reason: "why".into(), under: under.map(GoalId), after: None }
}

fn done_with(id: Option<u32>) -> GoalOp {
    GoalOp::Done { id: id.map(GoalId), summary: "it works".into() }
}

fn focus(id: u32) -> GoalOp {
    GoalOp::Focus { id: GoalId(id) }
}

fn step(id: &str, title: &str, status: Option<GoalStatus>) -> Step {
    let some = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
    Step { id: some(id), title: some(title), status, under: None }
}

fn under(step: Step, parent: &str) -> Step {
    Step { under: Some(parent.into()), ..step }
}

/// The plan that operations make.
fn plan(ops: &[GoalOp]) -> Goals {
    let mut goals = Goals::default();
    goals.change_all(ops, None).unwrap();
    goals
}

fn refused(goals: &Goals, op: GoalOp) -> String {
    let mut after = goals.clone();
    let refusal = after.change(&op, None).unwrap_err();
    assert_eq!(after, *goals, "what is refused changes nothing: {op:?}");
    refusal.to_string()
}

#[test]
fn a_finished_goal_gives_the_focus_to_the_one_that_it_serves() {
    let mut goals = plan(&[add("house", None), add("kitchen", Some(1)), add("sink", Some(2)), focus(3)]);
    assert_eq!(goals.short_view(), "[ ] 1. house\n  [ ] 2. kitchen\n    [>] 3. sink");
    goals.change(&done_with(None), None).unwrap();
    assert_eq!(goals.short_view(), "[ ] 1. house\n  [>] 2. kitchen\n    [x] 3. sink");
    goals.change(&GoalOp::Abandon { id: Some(GoalId(1)), summary: "sold".into() }, None).unwrap();
    assert_eq!(goals.focus, Some(GoalId(2)), "what is in focus stays so");
    goals.change(&done_with(None), None).unwrap();
    assert_eq!((goals.focus, goals.short_view()), (None, "[-] 1. house".into()));
    let full = "[-] 1. house — because why → sold\n  [x] 2. kitchen — because why → it works\n    [x] 3. sink — because why → it works";
    assert_eq!(goals.full_view(), full);
}

#[test]
fn a_rewind_gives_back_what_the_plan_was_held_to() {
    let terms = |mission: &str, constraint: &str| GoalOp::Terms {
        mission: Some(mission.into()),
        assumptions: None,
        constraints: Some(vec![constraint.into()]),
    };
    let mut goals = Goals::default();
    for (op, head) in [(terms("cheese", "only gouda"), 2), (add("buy", None), 4), (terms("bread", "only rye"), 6)] {
        goals.change(&op, Some(Seq(head))).unwrap();
    }
    let held = |goals: &Goals| (goals.terms.mission.clone(), goals.terms.constraints.clone(), goals.list().len());
    goals.rewind(Some(Seq(6)));
    assert_eq!(held(&goals), ("bread".into(), vec!["only rye".into()], 1));
    goals.rewind(Some(Seq(5)));
    assert_eq!(held(&goals), ("cheese".into(), vec!["only gouda".into()], 1));
    goals.change(&terms("wine", "only red"), Some(Seq(7))).unwrap();
    goals.rewind(None);
    assert_eq!((goals.is_empty(), goals.terms), (true, Terms::default()));
}

#[test]
fn a_rewind_gives_back_what_a_later_plan_dropped_moved_or_worded_anew_as_far_as_it_has_come() {
    let mut goals = Goals::default();
    let first = ["a", "b", "c", "d"].map(|id| step(id, &format!("do {id}"), None)).to_vec();
    let ops = [GoalOp::Set { steps: first }, focus(3)];
    ops.iter().for_each(|op| goals.change(op, Some(Seq(2))).unwrap());
    let was = goals.clone();
    let patch = |id, description: &str, status| GoalOp::Patch {
        id: GoalId(id),
        description: Some(description.into()),
        reason: Some("why not".into()),
        status,
    };
    let later = vec![step("x", "another", None), under(step("a", "do a well", Some(GoalStatus::Completed)), "x")];
    let ops = [
        (patch(4, "do more", Some(GoalStatus::Abandoned)), 3),
        (GoalOp::Set { steps: later }, 5),
        (add("first of all", Some(1)), 5),
        (patch(1, "do it", None), 7),
    ];
    ops.iter().for_each(|(op, at)| goals.change(op, Some(Seq(*at))).unwrap());
    assert_eq!(
        goals.short_view(),
        "[-] 3. do c (c)\n[-] 4. do more (d)\n[ ] 5. another (x)\n  [x] 1. do it (a)\n    [ ] 6. first of all"
    );
    let mut between = goals.clone();
    between.rewind(Some(Seq(4)));
    assert_eq!(between.short_view(), "[x] 1. do a (a)\n[ ] 2. do b (b)\n[ ] 3. do c (c)\n[-] 4. do more (d)");
    goals.rewind(Some(Seq(2)));
    assert_eq!(goals.short_view(), "[x] 1. do a (a)\n[ ] 2. do b (b)\n[ ] 3. do c (c)\n[-] 4. do d (d)");
    let reasons = |goals: &Goals| goals.list().iter().map(|goal| goal.reason.clone()).collect::<Vec<_>>();
    assert_eq!((reasons(&goals), goals.focus), (reasons(&was), None));
    assert_eq!(goals.next_id(), GoalId(7), "numbers are never used twice");
    goals.rewind(None);
    assert!(goals.is_empty());
}

#[test]
fn a_step_that_moves_takes_along_what_is_under_it_and_no_plan_is_deeper_than_its_limit() {
    let chain = |name: &str| -> Vec<Step> {
        let id = |n: usize| format!("{name}{n}");
        let one = |n: usize| step(&id(n), &id(n), None);
        (0..12).map(|n| if n == 0 { one(0) } else { under(one(n), &id(n - 1)) }).collect()
    };
    let goals = plan(&[GoalOp::Set { steps: [chain("a"), chain("b")].concat() }]);
    let mut moved = [chain("a"), chain("b")].concat();
    moved[12].under = Some("a11".into());
    let told = "a plan has 12 levels at most";
    assert_eq!(refused(&goals, GoalOp::Set { steps: moved }), told);
    assert_eq!(refused(&goals, GoalOp::Update { steps: vec![under(step("b0", "", None), "a11")] }), told);
}

#[test]
fn the_short_view_is_bounded_and_always_shows_what_is_in_focus() {
    let mut ops: Vec<GoalOp> = (0..100).map(|number| add(&format!("goal {number}"), None)).collect();
    ops.extend([add("deep", Some(99)), focus(101)]);
    let view = plan(&ops).short_view();
    assert_eq!(view.lines().count(), 43);
    assert!(view.ends_with("[ ] 99. goal 98\n  [>] 101. deep\n(59 more goals are not shown)"), "{view}");
    let done: Vec<GoalOp> = (1..=90).map(|id| done_with(Some(id))).collect();
    let view = plan(&[&ops[..], &done].concat()).short_view();
    assert!(view.starts_with("[x] 62. goal 61\n") && view.contains("[ ] 91. goal 90\n"), "{view}");
    assert!(view.ends_with("[ ] 100. goal 99\n(61 more goals are not shown)"), "{view}");
    let long = plan(&[add(&"é".repeat(2_000), None)]);
    assert_eq!(long.short_view(), format!("[ ] 1. {}…", "é".repeat(160)));
}

#[test]
fn a_goal_can_be_patched_and_opened_again() {
    let mut goals = plan(&[add("house", None), focus(1), done_with(None)]);
    let patch = |description: Option<&str>, status| GoalOp::Patch {
        id: GoalId(1),
        description: description.map(Into::into),
        reason: None,
        status,
    };
    goals.change(&patch(Some(" the whole house "), Some(GoalStatus::Pending)), None).unwrap();
    assert_eq!(goals.full_view(), "[ ] 1. the whole house — because why");
    assert_eq!(refused(&goals, patch(Some(" "), None)), "a goal needs a description");
    goals.change(&focus(1), None).unwrap();
    goals.change(&patch(None, Some(GoalStatus::Completed)), None).unwrap();
    assert_eq!(goals.focus, None);
}

#[test]
fn a_new_plan_takes_the_old_ones_place_and_known_steps_stay_the_goals_that_they_are() {
    let steps =
        vec![step("s1", "look", Some(GoalStatus::InProgress)), step("s2", "build", None), step("s3", "test", None)];
    let mut goals = plan(&[GoalOp::Set { steps }]);
    assert_eq!(goals.short_view(), "[>] 1. look (s1)\n[ ] 2. build (s2)\n[ ] 3. test (s3)");
    let steps = vec![
        step("s1", "look", Some(GoalStatus::Completed)),
        step("s4", "measure", Some(GoalStatus::InProgress)),
        under(step("s2", "build it well", None), "s4"),
    ];
    goals.change(&GoalOp::Set { steps }, None).unwrap();
    assert_eq!(goals.short_view(), "[x] 1. look (s1)\n[>] 4. measure (s4)\n  [ ] 2. build it well (s2)");
    // The same words for another plan: what was finished under them stays what it was.
    let steps = vec![step("s1", "paint", None), step("", "clean", None)];
    goals.change(&GoalOp::Set { steps }, None).unwrap();
    assert_eq!(goals.short_view(), "[x] 1. look\n[-] 4. measure (s4)\n[ ] 5. paint (s1)\n[ ] 6. clean");
    let again = GoalOp::Set { steps: vec![step("", "clean", None), step("s1", "paint", None)] };
    goals.change(&again, None).unwrap();
    assert_eq!(goals.short_view(), "[x] 1. look\n[-] 4. measure (s4)\n[ ] 6. clean\n[ ] 5. paint (s1)");
    assert_eq!(goals.focus, None);
}

#[test]
fn an_update_changes_the_steps_that_it_names_and_adds_those_that_are_new() {
    let mut goals = plan(&[GoalOp::Set { steps: vec![step("s1", "look", None), step("s2", "build", None)] }]);
    let steps = vec![
        step("s1", "", Some(GoalStatus::Completed)),
        step("2", "", None),
        step("s2", "", Some(GoalStatus::InProgress)),
        step("s9", "test", None),
    ];
    assert_eq!(
        refused(&goals, GoalOp::Update { steps: steps.clone() }),
        "step \"2\" is not part of the plan, and it has no title"
    );
    let steps = steps.into_iter().filter(|step| step.id.as_deref() != Some("2")).collect();
    goals.change(&GoalOp::Update { steps }, None).unwrap();
    assert_eq!(goals.short_view(), "[x] 1. look (s1)\n[>] 2. build (s2)\n[ ] 3. test (s9)");
}

#[test]
fn a_plan_that_is_none_is_refused_and_nothing_of_it_stays() {
    let goals = plan(&[add("house", None), add("kitchen", Some(1))]);
    let set = |steps: &[Step]| GoalOp::Set { steps: steps.to_vec() };
    let refuses = |op: GoalOp, why: &str| assert_eq!(refused(&goals, op), why);
    refuses(set(&[step("a", "x", None), step("a", "y", None)]), "step \"a\" is there twice");
    refuses(set(&[step("a", "", None)]), "step \"a\" is not part of the plan, and it has no title");
    refuses(set(&[step("", "  ", None)]), "a goal needs a description");
    refuses(set(&[under(step("a", "x", None), "b")]), "step \"a\" is under \"b\", which no step before it is");
    refuses(set(&[under(step("1", "", None), "1")]), "step \"1\" cannot be under itself");
    refuses(set(&[under(step("1", "", None), "2")]), "step \"1\" cannot be under itself");
    refuses(add("x", Some(9)), "there is no goal 9");
    refuses(focus(9), "there is no goal 9");
    refuses(done_with(None), "no goal is in focus: name one");
    let long = "x".repeat(2_001);
    refuses(add(&long, None), "a text of a plan has 2000 characters at most; this one has 2001");
    let after = Some(GoalId(1));
    let both = GoalOp::Add { description: "x".into(), reason: String::new(), under: after, after };
    refuses(both, "a goal goes either under or after another");
    let most: Vec<Step> = (0..600).map(|number| step("", &format!("step {number}"), None)).collect();
    refuses(set(&most), "the plan has 500 goals already; finish it, or set a shorter one");
    let deep: Vec<GoalOp> = (0..11).map(|level| add("deeper", Some(level + 2))).collect();
    assert_eq!(goals.clone().change_all(&deep, None), Err(Refusal::BadGoal("a plan has 12 levels at most".into())));
    let terms = GoalOp::Terms { mission: None, assumptions: None, constraints: Some(vec!["x".repeat(1_001); 4]) };
    refuses(terms, "assumptions and constraints have 4000 characters at most; these have 4004");
}

#[test]
fn operations_of_an_answer_that_no_longer_fit_are_left_out_of_its_event() {
    let mut agent = Agent::asked(no_limits());
    agent.takes(InputKind::ChangeGoals { ops: vec![add("first", None)], by: user() });
    let goals = vec![focus(7), add("second", None), focus(2)];
    let reply = Box::new(Reply { goals: goals.clone(), ..*agent.reply("done", &[]) });
    agent.takes(InputKind::ModelFinished(reply));
    let carried_out =
        agent.newest(|kind| if let EventKind::ModelFinished(data) = kind { Some(&data.goals) } else { None });
    assert_eq!(*carried_out, goals[1..]);
    assert_eq!(agent.state().goals.short_view(), "[ ] 1. first\n[>] 2. second");
    agent.refuses(
        InputKind::ChangeGoals { ops: Vec::new(), by: user() },
        Refusal::BadGoal("nothing is to be changed".into()),
    );
}

#[test]
fn what_was_spent_on_a_goal_counts_for_all_that_it_serves() {
    let mut agent = Agent::asked(no_limits());
    agent
        .takes(InputKind::ChangeGoals { ops: vec![add("house", None), add("kitchen", Some(1)), focus(1)], by: user() });
    let answer = |agent: &Agent, goals: Vec<GoalOp>| {
        let usage = Some(Usage { input: 100, output: 10, ..Usage::default() });
        Box::new(Reply { goals, usage, ..*agent.reply("let me see", &[allowed("read")]) })
    };
    agent.now += 30;
    let first = answer(&agent, vec![focus(2)]);
    agent.takes(InputKind::ModelFinished(first));
    agent.now += 5;
    agent.takes(done("2.0", 1));
    agent.now += 20;
    let second = answer(&agent, vec![done_with(None)]);
    agent.takes(InputKind::ModelFinished(second));
    agent.takes(done("4.0", 1));
    agent.takes(model_failed(3, ModelErrorKind::Auth, None));
    let own = own_stats(agent.state(), &agent.log);
    // What it costs: 3 and 15 dollars a million tokens.
    let spent = |duration_ms| GoalStats { messages: 2, turns: 1, calls: 1, tokens: 110, cost_micros: 450, duration_ms };
    // The task came before there was anything in focus.
    let (house, kitchen) = (GoalStats { messages: 3, ..spent(35) }, spent(20));
    let (first, second) = (Some(GoalId(1)), Some(GoalId(2)));
    assert_eq!(own.into_iter().collect::<Vec<_>>(), [(first, house), (second, kitchen)]);
    let all = cumulative_stats(&agent.state().goals, &own_stats(agent.state(), &agent.log));
    let mut both = house;
    both += kitchen;
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [(None, both), (first, both), (second, kitchen)]);
}

#[test]
fn work_that_serves_no_goal_counts_for_the_one_that_the_plan_began_with_whatever_is_added_later() {
    let turns = |agent: &Agent| -> Vec<(Option<u32>, u32, u32)> {
        let own = own_stats(agent.state(), &agent.log);
        let all = cumulative_stats(&agent.state().goals, &own);
        let id = |goal: &Option<GoalId>| goal.map(|id| id.0);
        all.iter().map(|(goal, all)| (id(goal), own.get(goal).map_or(0, |own| own.turns), all.turns)).collect()
    };
    let change = |ops: Vec<GoalOp>| InputKind::ChangeGoals { ops, by: user() };
    let mut agent = Agent::asked(no_limits());
    agent.works();
    agent.takes(change(vec![add("house", None), focus(1)]));
    agent.works();
    agent.answers("done");
    assert_eq!(turns(&agent), [(None, 0, 3), (Some(1), 3, 3)], "the first turn too");
    // A rewind takes the focus away, and what was done is done.
    agent.takes(InputKind::Rewind(RewindRequested::again(Seq(5), user())));
    agent.works();
    agent.answers("done otherwise");
    assert_eq!(turns(&agent), [(None, 0, 5), (Some(1), 5, 5)]);
    assert_eq!(turns(&agent.fork(1).unwrap()), [(None, 0, 0)], "nothing was planned there yet");
    assert_eq!(turns(&agent.fork(5).unwrap()), [(None, 0, 2), (Some(1), 2, 2)]);
    // Another goal beside it takes nothing away.
    agent.takes(change(vec![add("garden", None), focus(2)]));
    assert_eq!(turns(&agent), [(None, 0, 5), (Some(1), 5, 5)]);
    agent.says(MessageMode::Message, "more");
    agent.answers("done");
    assert_eq!(turns(&agent), [(None, 0, 6), (Some(1), 5, 5), (Some(2), 1, 1)]);
    // What is dropped leaves its work to the plan.
    agent.takes(change(vec![GoalOp::Set { steps: vec![step("x", "another", None), step("y", "and one", None)] }]));
    assert_eq!(turns(&agent)[0], (None, 5, 6));
    assert_eq!(serves(agent.state(), Seq(1)), None);
    agent.takes(InputKind::Clear { by: user() });
    assert_eq!(turns(&agent), []);
    // A plan that begins with several goals has none above all.
    let mut agent = Agent::asked(no_limits());
    agent.works();
    agent.takes(change(vec![add("house", None), add("garden", None)]));
    agent.works();
    agent.answers("done");
    assert_eq!(turns(&agent), [(None, 3, 3)]);
}

/// An agent with a plan of which a part is done, in a window of this size, that is asked for a summary when it has answered.
fn summarising(summary: SummaryMode, window: u32) -> Agent {
    let mut agent = Agent::with_window(Limits { summary, inject_every: None, ..no_limits() }, window);
    agent.says(MessageMode::Message, "do it");
    let ops = vec![add("house", None), add("kitchen", Some(1)), done_with(Some(2))];
    agent.takes(InputKind::ChangeGoals { ops, by: user() });
    (0..3).for_each(|_| agent.works());
    agent.answers("so far");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent
}

fn views(agent: &Agent) -> [String; 2] {
    let goals = &agent.state().goals;
    [goals.full_view(), goals.short_view()].map(|view| format!("## The plan, with what came of it\n{view}\n({LEGEND})"))
}

#[test]
fn a_summary_is_asked_for_with_the_plan_and_what_came_of_it() {
    let agent = summarising(SummaryMode::Single, 100_000);
    let asked = agent.shown().pop().unwrap();
    assert!(asked.ends_with(&views(&agent)[0]) && asked.contains("kitchen — because why → it works"), "{asked}");
    let size = estimate(asked.strip_prefix("User: ").unwrap());
    let counted = agent.state().tree.node(agent.state().tip().unwrap()).unwrap().tokens;
    assert!(counted >= size && counted < size + 70, "{counted} are counted for {size}");
}

#[test]
fn who_reflects_first_is_shown_the_plan_with_the_request_for_the_summary() {
    let mut agent = summarising(SummaryMode::Agent, 100_000);
    let plan = views(&agent)[0].clone();
    assert!(!agent.shown().pop().unwrap().contains("## The plan"));
    // What changes meanwhile does not change what is asked: it is as it was when the summary was begun.
    agent.takes(InputKind::ChangeGoals { ops: vec![add("garden", None)], by: user() });
    agent.answers("much was learned");
    assert!(agent.shown().pop().unwrap().ends_with(&plan), "{:?}", agent.shown());
}

#[test]
fn a_plan_that_leaves_no_room_for_the_summary_is_shown_in_short_or_not_at_all() {
    let asked = |window| {
        // Where even the request for a summary does not fit, rules make it.
        let agent = summarising(SummaryMode::Single, window);
        let ([full, short], asked) = (views(&agent), agent.shown().pop().unwrap());
        let by_model = asked.contains("Write a summary");
        by_model.then(|| (asked.ends_with(&full), asked.ends_with(&short), asked.contains("## The plan")))
    };
    let seen: Vec<_> = (300..480).step_by(2).filter_map(asked).collect();
    let is = |full, short| seen.iter().filter(|seen| **seen == (full, short, full || short)).count();
    assert!(is(true, false) > 0 && is(false, true) > 0 && is(false, false) > 0, "{seen:?}");
    assert!(seen.is_sorted_by_key(|(full, short, _)| (*full, *full || *short)), "{seen:?}");
}

#[test]
fn a_step_moves_no_deeper_than_a_plan_may_be_with_what_is_under_it() {
    let mut ops = vec![add("level 1", None)];
    ops.extend((1..11).map(|above| add(&format!("level {}", above + 1), Some(above))));
    ops.extend([add("beside", None), add("under it", Some(12))]);
    let goals = plan(&ops);
    let moves = |under: u32| {
        let step = Step { id: Some("12".into()), title: None, status: None, under: Some(under.to_string()) };
        goals.clone().change(&GoalOp::Update { steps: vec![step] }, None)
    };
    assert_eq!(moves(10), Ok(()), "the lowest is on the twelfth level");
    assert_eq!(moves(11), Err(Refusal::BadGoal("a plan has 12 levels at most".into())));
}

#[test]
fn what_was_finished_stands_before_the_steps_of_a_new_plan() {
    let mut goals = plan(&[add("first", None), add("second", None), done_with(Some(2))]);
    let steps = vec![step("1", "", None), step("new", "third", None)];
    goals.change(&GoalOp::Set { steps }, None).unwrap();
    assert_eq!(goals.short_view(), "[x] 2. second\n[ ] 1. first\n[ ] 3. third (new)");
}

#[test]
fn a_step_without_an_id_is_no_step_that_was_given_one() {
    let mut goals = Goals::default();
    goals.change(&GoalOp::Set { steps: vec![step("a", "paint", None)] }, None).unwrap();
    goals.change(&GoalOp::Update { steps: vec![step("", "paint", None)] }, None).unwrap();
    assert_eq!(goals.short_view(), "[ ] 1. paint (a)\n[ ] 2. paint");
    goals.change(&GoalOp::Update { steps: vec![step("", "wash", None)] }, None).unwrap();
    assert_eq!(goals.short_view(), "[ ] 1. paint (a)\n[ ] 2. paint\n[ ] 3. wash");
}

#[test]
fn pins_and_terms_may_have_just_as_many_characters_as_is_said() {
    let words = |chars: usize| "x".repeat(chars);
    let mut goals = plan(&[GoalOp::Pin { text: words(3_999) }, GoalOp::Pin { text: "y".into() }]);
    let told = "all pins together have 4000 characters at most; these would have 4001: unpin one";
    assert_eq!(goals.change(&GoalOp::Pin { text: "z".into() }, None), Err(Refusal::BadGoal(told.into())));
    let terms = |last: usize| GoalOp::Terms {
        mission: None,
        assumptions: Some(vec![words(2_000), words(last)]),
        constraints: None,
    };
    goals.change(&terms(2_000), None).unwrap();
    let told = "assumptions and constraints have 4000 characters at most; these have 4001";
    assert_eq!(goals.change(&terms(2_001), None), Err(Refusal::BadGoal(told.into())));
}

#[test]
fn a_rewind_to_below_a_summary_shows_the_plan_again() {
    let mut agent = Agent::with_window(Limits { inject_every: None, ..no_limits() }, 100_000);
    agent.says(MessageMode::Message, "do it");
    agent.takes(InputKind::ChangeGoals { ops: vec![add("house", None)], by: user() });
    (0..4).for_each(|_| agent.works());
    agent.answers("done");
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.answers("a summary");
    let said = agent.says(MessageMode::Message, "go on");
    assert_eq!(said[2..], ["message_joined 14", "injected 15", "model_requested 7 at 15"]);
    agent.answers("done");
    let again = agent.takes(rewind(14, None));
    assert_eq!(again[1..], ["rewound 14 to 14", "run_started 4 Regenerate", "injected 17", "model_requested 8 at 17"]);
}

#[test]
fn what_differs_from_an_earlier_plan_is_told_line_by_line() {
    let terms = |mission: &str, constraint: &str| GoalOp::Terms {
        mission: Some(mission.into()),
        assumptions: None,
        constraints: Some(vec![constraint.into()]),
    };
    let ops = [terms("a house", "no noise"), add("kitchen", None), add("sink", Some(1)), add("garden", None)];
    let before = plan(&ops);
    assert_eq!(before.changes_since(&before), [""; 0]);
    assert_eq!(before.changes_since(&Goals::default())[0], "constraints: no noise", "a first mission is no change");
    let mut after = before.clone();
    let ops = [terms("a boat", "no paint"), focus(2), done_with(None), add("cellar", Some(1))];
    after.change_all(&ops, None).unwrap();
    let changes =
        ["constraints: no paint", "mission: a boat", "[>] 1. kitchen", "  [x] 2. sink → it works", "  [ ] 4. cellar"];
    assert_eq!(after.changes_since(&before), changes);
}

#[test]
fn a_rewind_undoes_a_new_order_and_what_a_new_plan_dropped() {
    let set = |steps: &[(&str, Option<GoalStatus>)]| GoalOp::Set {
        steps: steps.iter().map(|(name, status)| step(name, name, *status)).collect(),
    };
    let mut goals = Goals::default();
    goals.change_all(&[set(&[("a", Some(GoalStatus::InProgress)), ("b", None)])], Some(Seq(1))).unwrap();
    let mut other = goals.clone();
    goals.change_all(&[set(&[("c", None)])], Some(Seq(3))).unwrap();
    assert_eq!(goals.short_view(), "[-] 1. a (a)\n[ ] 3. c (c)");
    goals.rewind(Some(Seq(1)));
    assert_eq!(goals.short_view(), "[ ] 1. a (a)\n[ ] 2. b (b)");
    other.change_all(&[set(&[("b", None), ("a", None)])], Some(Seq(3))).unwrap();
    assert_eq!(other.short_view(), "[ ] 2. b (b)\n[>] 1. a (a)");
    other.rewind(Some(Seq(1)));
    assert_eq!(other.short_view(), "[ ] 1. a (a)\n[ ] 2. b (b)");
}

#[test]
fn of_several_steps_in_progress_one_is_in_focus() {
    let both = [step("a", "a", Some(GoalStatus::InProgress)), step("b", "b", Some(GoalStatus::InProgress))];
    let goals = plan(&[GoalOp::Set { steps: both.to_vec() }]);
    assert_eq!(goals.short_view(), "[~] 1. a (a)\n[>] 2. b (b)");
}

#[test]
fn a_call_that_was_made_again_is_one_call_of_its_goal() {
    let mut agent = Agent::asked(Limits { call_retries: 1, ..no_limits() });
    agent.takes(InputKind::ChangeGoals { ops: vec![add("house", None), focus(1)], by: user() });
    agent.calls(&[allowed("read")]);
    let output = ToolOutput { transient: true, ..ToolOutput::failed("busy", "not now") };
    agent.takes(InputKind::ToolFinished { call: call("2.0"), attempt: 1, output, tokens: 3 });
    agent.takes(done("2.0", 2));
    assert_eq!(own_stats(agent.state(), &agent.log)[&Some(GoalId(1))].calls, 1);
}
