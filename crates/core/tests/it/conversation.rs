//! The tree: cuts, summaries, what is shown again, and the plan.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;
use std::sync::Arc;

fn goals(ops: Vec<GoalOp>) -> InputKind {
    InputKind::ChangeGoals { ops, by: user() }
}

fn add(description: &str, under: Option<u32>) -> GoalOp {
    GoalOp::Add { description: description.into(), reason: String::new(), under: under.map(GoalId), after: None }
}

#[test]
fn more_messages_than_the_window_holds_are_cut_but_never_the_task() {
    let mut agent = Agent::asked(windowed(4));
    agent.works();
    agent.calls(&[allowed("bash")]);
    let events = ["call_resolved 4.0 Ok Result", "turn_finished 5 results=1", "branch_opened Compaction 6 by Rules"];
    agent.gives(done("4.0", 1), &events);
    let events = ["compacted 6 keeps 4 pins 1", "branch_closed Compaction done=true", "model_requested 3 at 6"];
    assert_eq!(agent.summarises(), events);
    let summary = "User: Summary of the earlier conversation, some of which is still shown:\n\n# Chat Summary\n\n## Goal\n- do it\n\n\
                   ## Constraints\n\n## Decisions\n\n## Open Items\n\n## Tool Facts\n\n## Exchanges\n- (the goal above) → let \
                   me see\n\n\n[From the system: 2 earlier messages, #2 to #3, with 1 tool result, are not shown here.]";
    assert_eq!(agent.shown(), ["User: do it", summary, "Assistant: let me see <bash>", "Tool: 4.0 it worked"]);
}

#[test]
fn what_was_cut_can_be_shown_again_with_its_whole_call_group() {
    let mut agent = Agent::asked(windowed(6));
    agent.works();
    agent.works();
    agent.works();
    agent.summarises();
    let request = agent.shown();
    assert_eq!(
        (request.len(), request[2..].to_vec()),
        (4, vec!["Assistant: let me see <read>".to_string(), "Tool: 6.0 it worked".into()])
    );
    let mut pending = agent.clone();
    pending.gives(InputKind::ExpandContext { by: 99 }, &["context_cut 9 keeps 2 pins 1 Expand"]);
    assert_eq!(pending.shown(), request, "a pending request does not change");
    pending.refuses(InputKind::ExpandContext { by: 1 }, Refusal::NothingCut);

    agent.answers("done");
    agent.gives(InputKind::ExpandContext { by: 1 }, &["context_cut 10 keeps 4 pins 1 Expand"]);
    agent.refuses(InputKind::Continue { by: user() }, Refusal::NothingOpen);
    agent.says(MessageMode::Message, "more");
    let mut request = agent.shown();
    let summary = request.remove(1);
    assert!(summary.contains("2 earlier messages, #2 to #3"), "it says what is left out now: {summary}");
    let shown = [
        "User: do it",
        "Assistant: let me see <read>",
        "Tool: 4.0 it worked",
        "Assistant: let me see <read>",
        "Tool: 6.0 it worked",
        "Assistant: done",
        "User: more",
    ];
    assert_eq!(request, shown, "asked for one message, given the call that it answers as well");
}

#[test]
fn nothing_can_be_shown_again_where_nothing_was_cut() {
    let mut agent = told();
    agent.refuses(InputKind::ExpandContext { by: 1 }, Refusal::NothingCut);
}

/// A conversation in a window of 400 tokens: message 1, two turns of calls with long texts (2 to 5).
fn long(limits: Limits, second: u32) -> Agent {
    filled(limits, 400, [120, second])
}

fn filled(limits: Limits, window: u32, sizes: [u32; 2]) -> Agent {
    let mut agent = Agent::with_window(limits, window);
    agent.says(MessageMode::Message, "do it");
    for (id, tokens) in ["2.0", "4.0"].into_iter().zip(sizes) {
        let reply = Box::new(Reply { tokens, ..*agent.reply("a long text", &[allowed("read")]) });
        agent.takes(InputKind::ModelFinished(reply));
        agent.takes(done(id, 1));
    }
    agent
}

/// The same, over four fifths of its window: the request for a summary (6) is pending.
fn full() -> Agent {
    long(no_limits(), 120)
}

/// The same in a larger window, with an agent that summarises: it is asked to reflect (6).
fn reflecting() -> Agent {
    filled(Limits { summary: SummaryMode::Agent, ..no_limits() }, 2_000, [620, 910])
}

fn malformed(agent: &Agent) -> InputKind {
    let reply = agent.reply("?", &[]);
    InputKind::ModelMalformed { reply, problem: "not JSON".into(), breach: Breach::Protocol, repair_tokens: 12 }
}

#[test]
fn a_context_is_full_beyond_four_fifths_of_its_window_or_where_too_little_is_left_to_look_back() {
    // 64 for system text and tools, 10 for the message, 125 for the first turn, 5 for the last result.
    let at = |tokens: u32| long(no_limits(), tokens - 204).state().branch.map(|branch| branch.kind);
    // Four fifths of 400 are 320; of the 336 that leave room for the answer, 319 leave room to look back.
    assert_eq!((at(319), at(320)), (None, Some(BranchKind::Compaction)));
    let at = |tokens: u32| filled(no_limits(), 4_000, [1_200, tokens - 1_284]).state().branch.map(|branch| branch.kind);
    assert_eq!((at(3_200), at(3_201)), (None, Some(BranchKind::Compaction)));
}

#[test]
fn a_summary_by_an_agent_may_read_and_is_not_steered_and_nobody_is_asked_for_it() {
    let mut agent = reflecting();
    agent.says(MessageMode::Steer, "rather this");
    let reply = agent.reply("", &[allowed("read"), allowed("bash"), planned("read", Decision::Ask)]);
    let events = [
        "model_finished 7 calls=3",
        "call_resolved 7.1 Skipped Summary",
        "call_resolved 7.2 Skipped Summary",
        "action_started 7.0 #1",
    ];
    agent.gives(InputKind::ModelFinished(reply), &events);
    let events = ["call_resolved 7.0 Ok Result", "turn_finished 8 results=3", "model_requested 4 at 10"];
    agent.gives(done("7.0", 1), &events);
}

#[test]
fn a_summary_in_one_answer_runs_nothing() {
    let mut agent = filled(no_limits(), 2_000, [620, 910]);
    let reply = agent.reply("", &[allowed("read")]);
    let events = [
        "model_finished 7 calls=1",
        "call_resolved 7.0 Skipped Summary",
        "turn_finished 8 results=1",
        "model_requested 4 at 8",
    ];
    agent.gives(InputKind::ModelFinished(reply), &events);
}

#[test]
fn an_agent_reflects_before_it_summarises() {
    let mut agent = reflecting();
    let asked = agent.shown().last().cloned().unwrap();
    assert!(asked.starts_with("User: The conversation is about to outgrow") && asked.contains("look back"), "{asked}");
    let reply = agent.reply("the tools are slow", &[]);
    agent.gives(InputKind::ModelFinished(reply), &["model_finished 7 calls=0", "model_requested 4 at 8"]);
    let shown = agent.shown();
    // The newest turn is not shown: with it there would be no room for both.
    assert_eq!((shown.len(), shown[4].as_str()), (6, "Assistant: the tools are slow"));
    assert!(shown[5].contains("Write a summary"), "{}", shown[5]);
    let reply = agent.reply("it was long", &[]);
    let events = [
        "model_finished 9 calls=0",
        "compacted 10 keeps 4 pins 1",
        "branch_closed Compaction done=true",
        "model_requested 5 at 10",
    ];
    assert_eq!(agent.takes(InputKind::ModelFinished(reply)), events);
}

#[test]
fn a_reflection_that_comes_to_nothing_in_five_rounds_is_left_out_and_the_summary_is_asked_for_alone() {
    let mut agent = reflecting();
    for _ in 0..4 {
        agent.works();
        assert!(agent.state().branch.is_some());
    }
    agent.calls(&[allowed("read")]);
    let open = agent.state().turn_calls()[0].id.to_string();
    let events = [
        &format!("call_resolved {open} Ok Result"),
        "turn_finished 16 results=1",
        "branch_closed Compaction done=false",
        "branch_opened Compaction 17",
        "model_requested 8 at 17",
    ];
    agent.gives(done(&open, 1), &events);
    assert_eq!(agent.shown().len(), 6, "nothing of the reflection: {:?}", agent.shown());
    assert_eq!(agent.answers("it was long")[1], "compacted 19 keeps 4 pins 1");
}

#[test]
fn reflection_and_summary_have_five_rounds_each() {
    let mut agent = filled(Limits { summary: SummaryMode::Agent, ..no_limits() }, 4_000, [1_300, 1_850]);
    (0..4).for_each(|_| agent.works());
    agent.answers("the tools are slow");
    (0..4).for_each(|_| agent.works());
    assert_eq!(agent.state().branch.map(|branch| (branch.rounds, branch.reflects)), Some((5, false)));
    let decided = agent.answers("it was long");
    assert_eq!(
        (decided.len(), &*decided[1], &*decided[2]),
        (4, "compacted 26 keeps 4 pins 1", "branch_closed Compaction done=true")
    );
    assert!(agent.shown()[1].contains("some of which is still shown:\n\nit was long\n\n[From"), "{:?}", agent.shown());
}

#[test]
fn a_summary_that_comes_to_nothing_in_five_rounds_is_made_by_rules() {
    let mut agent = reflecting();
    agent.answers("the tools are slow");
    (0..4).for_each(|_| agent.works());
    agent.calls(&[allowed("read")]);
    let open = agent.state().turn_calls()[0].id.to_string();
    let decided = agent.takes(done(&open, 1));
    assert_eq!(decided[2..], ["branch_closed Compaction done=false", "branch_opened Compaction 19 by Rules"]);
    let events = ["compacted 19 keeps 4 pins 1", "branch_closed Compaction done=true", "model_requested 9 at 19"];
    assert_eq!(agent.summarises(), events);
}

#[test]
fn of_a_summary_that_is_too_long_as_much_is_shown_as_may_be_and_rules_do_not_take_its_place() {
    let mut agent = full();
    let text = format!("it began {} it ended", "and went on ".repeat(600));
    let reply = Box::new(Reply { tokens: estimate(&text), ..*agent.reply(&text, &[]) });
    let decided = agent.takes(InputKind::ModelFinished(reply));
    assert_eq!(decided[1..3], ["compacted 8 keeps 4 pins 1", "branch_closed Compaction done=true"]);
    let summary = agent.shown()[1].clone();
    assert!(
        summary.contains("it began and went on") && summary.contains("[…]\nand went") || summary.contains("it ended"),
        "{summary}"
    );
    let most = agent.newest(|kind| if let EventKind::Compacted(data) = kind { data.excerpt } else { None });
    assert!(estimate(&summary) < most + 60, "{} of {most}", estimate(&summary));
}

#[test]
fn a_retry_is_the_same_question_again_and_no_occasion_for_a_second_summary() {
    let mut agent = full();
    let kind = malformed(&agent);
    agent.takes(kind);
    agent.summarises();
    agent.takes(model_failed(4, ModelErrorKind::Server, Some(agent.now)));
    agent.gives(InputKind::Timer { key: TimerKey::Retry }, &["retry_due", "model_requested 5 at 9"]);
}

#[test]
fn a_budget_that_is_spent_on_a_side_branch_ends_the_run_without_a_last_answer() {
    let limits = Limits { tokens: Some(520), budget: BudgetMode::Soft, summary: SummaryMode::Agent, ..no_limits() };
    let mut agent = long(limits, 120);
    agent.calls(&[allowed("read")]);
    let events = [
        "call_resolved 7.0 Ok Result",
        "turn_finished 8 results=1",
        "run_closing token_budget",
        "branch_closed Compaction done=false",
        "run_finished token_budget turns=2 calls=3",
    ];
    agent.gives(done("7.0", 1), &events);
}

#[test]
fn a_new_spec_waits_for_the_end_of_a_side_branch() {
    let mut agent = reflecting();
    agent.takes(InputKind::SetSpec { spec: Arc::new(mainpath_testkit::world::spec(no_limits(), 2_000)), by: None });
    let set = agent.log.last().unwrap().id;
    agent.works();
    assert_eq!(pack(agent.state()).unwrap().under.spec, 1);
    agent.answers("the tools are slow");
    agent.answers("it was long");
    assert_eq!(pack(agent.state()).unwrap().under.spec, set);
}

#[test]
fn a_pack_ends_before_a_message_whose_results_have_not_joined() {
    let agent = Agent::calling(no_limits(), &[allowed("bash")]);
    assert_eq!(agent.shown(), ["User: do it"]);
}

#[test]
fn a_full_context_is_summarised_and_the_task_stays_in_its_own_words() {
    let mut agent = full();
    assert_eq!(
        agent.log[agent.log.len() - 2..].iter().map(show).collect::<Vec<_>>(),
        ["branch_opened Compaction 6", "model_requested 3 at 6"]
    );
    assert_eq!(agent.shown().len(), 6, "everything, and the request for a summary");
    let reply = agent.reply("it was long", &[]);
    let events = [
        "model_finished 7 calls=0",
        "compacted 8 keeps 4 pins 1",
        "branch_closed Compaction done=true",
        "model_requested 4 at 8",
    ];
    assert_eq!(agent.takes(InputKind::ModelFinished(reply)), events);
    let summary = "User: Summary of the earlier conversation, some of which is still shown:\n\nit was long\n\n[From the system: 2 \
                   earlier messages, #2 to #3, with 1 tool result, are not shown here.]";
    let shown = ["User: do it", summary, "Assistant: a long text <read>", "Tool: 4.0 it worked"];
    assert_eq!(agent.shown(), shown);
    assert_eq!(agent.state().counts.turns, 3, "the summary's request is no turn");

    agent.answers("done");
    agent.takes(rewind(3, Some("another way")));
    let restored = ["User: do it", "Assistant: a long text <read>", "Tool: 2.0 it worked", "User: another way"];
    assert_eq!(agent.shown(), restored, "a rewind to before the summary brings the originals back");
}

#[test]
fn mail_waits_while_a_summary_is_made() {
    let mut agent = full();
    agent.gives(mail(MessageMode::Steer, "rather this"), &["message_queued Steer"]);
    let reply = agent.reply("it was long", &[]);
    let events = [
        "model_finished 7 calls=0",
        "compacted 8 keeps 4 pins 1",
        "branch_closed Compaction done=true",
        "message_joined 9",
        "model_requested 4 at 9",
    ];
    assert_eq!(agent.takes(InputKind::ModelFinished(reply)), events);
}

#[test]
fn a_stop_or_a_malformed_summary_closes_the_side_branch() {
    let mut agent = full();
    let events = [
        "run_closing stopped",
        "model_abandoned 3 lost=false",
        "branch_closed Compaction done=false",
        "run_finished stopped turns=2 calls=2",
    ];
    agent.gives(stop(), &events);
    let mut agent = full();
    let kind = malformed(&agent);
    let events = ["model_malformed 7 8", "branch_closed Compaction done=false", "branch_opened Compaction 9 by Rules"];
    agent.gives(kind, &events);
}

#[test]
fn past_calls_are_shown_again_in_one_request_only() {
    let mut agent = told();
    agent.refuses(InputKind::RecallCalls { calls: Vec::new() }, Refusal::Empty);
    agent.refuses(InputKind::RecallCalls { calls: vec![call("9.0")] }, Refusal::NoSuchCall(call("9.0")));
    agent.gives(InputKind::RecallCalls { calls: vec![call("2.0")] }, &["calls_recalled"]);
    agent.says(MessageMode::Message, "more");
    let again = "User: The result of the earlier call 2.0 of bash, shown again:\n\nit worked";
    assert_eq!(agent.shown().last().unwrap(), again);
    agent.works();
    assert!(!agent.shown().contains(&again.to_string()));
}

#[test]
fn a_result_serves_the_goal_of_the_message_that_asked_for_it() {
    let mut agent = Agent::asked(no_limits());
    agent.takes(goals(vec![add("first", None), add("second", None), GoalOp::Focus { id: GoalId(1) }]));
    agent.calls(&[allowed("bash")]);
    agent.gives(goals(vec![GoalOp::Focus { id: GoalId(2) }]), &["goals_changed"]);
    agent.takes(done("2.0", 1));
    agent.answers("done");
    let served: Vec<Option<u32>> = agent.state().tree.iter().map(|(_, node)| node.goal.map(|goal| goal.0)).collect();
    assert_eq!(served, [None, Some(1), Some(1), Some(2)]);
}

#[test]
fn goals_stand_in_their_order_and_what_is_ended_is_no_longer_in_focus() {
    let mut agent = told();
    let after =
        GoalOp::Add { description: "between".into(), reason: String::new(), under: None, after: Some(GoalId(1)) };
    agent.takes(goals(vec![add("first", None), add("last", None), after, GoalOp::Focus { id: GoalId(3) }]));
    agent.takes(goals(vec![GoalOp::Abandon { id: None, summary: "too dear".into() }]));
    let list: Vec<(&str, GoalStatus)> =
        agent.state().goals.list().iter().map(|goal| (goal.description.as_str(), goal.status)).collect();
    let expected = [("first", GoalStatus::Pending), ("between", GoalStatus::Abandoned), ("last", GoalStatus::Pending)];
    assert_eq!((list, agent.state().goals.focus), (expected.to_vec(), None));
}

#[test]
fn a_plan_that_cannot_be_changed_so_is_refused_whole() {
    let mut agent = told();
    let ops = vec![add("first", None), GoalOp::Focus { id: GoalId(9) }];
    agent.refuses(goals(ops), Refusal::BadGoal("there is no goal 9".into()));
    agent.refuses(goals(vec![add("  ", None)]), Refusal::BadGoal("a goal needs a description".into()));
    let none = GoalOp::Done { id: None, summary: "?".into() };
    agent.refuses(goals(vec![none]), Refusal::BadGoal("no goal is in focus: name one".into()));
}

#[test]
fn a_rewind_drops_later_goals_keeps_the_status_of_earlier_ones_and_records_the_plan_before() {
    let mut agent = Agent::new(no_limits());
    agent.takes(goals(vec![add("first", None), add("second", None), add("under second", Some(2))]));
    agent.says(MessageMode::Message, "do it");
    agent.works();
    agent.takes(goals(vec![
        GoalOp::Done { id: Some(GoalId(1)), summary: "yes".into() },
        GoalOp::Focus { id: GoalId(3) },
        add("late", None),
        add("under late", Some(4)),
    ]));
    agent.answers("done");
    let before = agent.state().goals.list().to_vec();
    agent.takes(rewind(1, Some("another way")));
    let rewound = agent.newest(|kind| if let EventKind::Rewound(data) = kind { Some(data) } else { None });
    assert_eq!(rewound.goal_tree_snapshot, before);
    let left: Vec<(u32, GoalStatus)> = agent.state().goals.list().iter().map(|goal| (goal.id.0, goal.status)).collect();
    assert_eq!(left, [(1, GoalStatus::Completed), (2, GoalStatus::Pending), (3, GoalStatus::Pending)]);
    assert_eq!(agent.state().goals.focus, None);
    agent.takes(goals(vec![add("new", None)]));
    assert_eq!(agent.state().goals.list().last().unwrap().id, GoalId(6), "numbers are never used twice");
}

#[test]
fn what_was_asked_for_stays_shown_until_half_a_window_more_was_said() {
    let mut agent = Agent::asked(windowed(4));
    agent.works();
    agent.works();
    agent.summarises();
    let cut = agent.shown();
    assert_eq!(cut.len(), 4, "{cut:?}");
    agent.answers("done");
    agent.gives(InputKind::ExpandContext { by: 2 }, &["context_cut 8 keeps 2 pins 1 Expand"]);
    agent.says(MessageMode::Message, "more");
    assert_eq!(agent.shown().len(), 8, "the expansion is seen by the next request");
    agent.answers("again");
    agent.says(MessageMode::Message, "and more");
    agent.summarises();
    assert!(agent.shown().len() < 8, "then the window holds again: {:?}", agent.shown());
}

#[test]
fn a_result_that_is_shown_again_counts_in_the_budget() {
    let mut agent = Agent::asked(no_limits());
    agent.calls(&[allowed("read")]);
    let output =
        InputKind::ToolFinished { call: call("2.0"), attempt: 1, output: ToolOutput::text("long"), tokens: 1_000 };
    agent.offer(&Input::new(agent.now, output)).unwrap();
    agent.answers("done");
    let before = agent.state().request_tokens();
    agent.gives(InputKind::RecallCalls { calls: vec![call("2.0")] }, &["calls_recalled"]);
    assert_eq!(agent.state().request_tokens(), before + 1_000);
}

#[test]
fn what_a_vendor_signed_holds_only_where_nothing_before_it_has_changed() {
    let signed = |agent: &Agent| -> Vec<u32> {
        let packed = pack(agent.state()).unwrap();
        let holds = |seq: &Seq| is_as_signed(agent.state(), packed.under, *seq);
        let answers = packed.items.iter().filter_map(|item| match item {
            Item::Assistant { seq, .. } => Some(*seq),
            _ => None,
        });
        answers.filter(holds).map(|seq| seq.0).collect()
    };
    let mut agent = Agent::asked(windowed(6));
    agent.works();
    agent.works();
    assert_eq!(signed(&agent), [2, 4]);
    // A window of six messages is outgrown: what is still shown stands after something else now.
    agent.works();
    agent.summarises();
    assert_eq!((agent.shown().len(), signed(&agent)), (4, vec![]));
    agent.works();
    assert_eq!(signed(&agent), [9]);
    // Another spec changes what stands before everything.
    agent.takes(InputKind::SetSpec { spec: Arc::new(mainpath_testkit::world::spec(no_limits(), 100_000)), by: None });
    agent.answers("done");
    agent.says(MessageMode::Message, "more");
    assert!(signed(&agent).is_empty());
    agent.works();
    assert_eq!(signed(&agent), [13]);
    // An answer to a request that showed a past call again has seen what is not shown any more.
    agent.answers("done");
    agent.takes(InputKind::RecallCalls { calls: vec![call("2.0")] });
    agent.says(MessageMode::Message, "and now");
    agent.works();
    assert_eq!(signed(&agent), [13, 15]);
}

#[test]
fn a_summary_that_somebody_asks_for_is_made_while_nothing_goes_on_and_the_run_before_keeps_its_reason() {
    let mut agent = Agent::asked(Limits { turns: Some(3), ..no_limits() });
    (0..3).for_each(|_| agent.works());
    assert_eq!(agent.ended().reason, FinishReason::MaxTurns);
    let compact = InputKind::Compact { hint: Some("the numbers".into()), by: user() };
    let events =
        ["compaction_requested", "run_started 2 Compact", "branch_opened Compaction 8", "model_requested 4 at 8"];
    agent.gives(compact.clone(), &events);
    assert!(
        agent.shown().last().unwrap().ends_with("Do not call tools. Keep in mind: the numbers"),
        "{:?}",
        agent.shown()
    );
    // The model does not want to, and rules find nothing that would be shorter than this.
    let refused = model_failed(4, ModelErrorKind::ContentFilter, None);
    let events = [
        "model_failed ContentFilter retry=false",
        "branch_closed Compaction done=false",
        "branch_opened Compaction 9 by Rules",
    ];
    agent.gives(refused, &events);
    assert_eq!(agent.summarises(), ["branch_closed Compaction done=false", "run_finished max_turns turns=0 calls=0"]);
    assert_eq!(agent.state().ended.reason, Some(FinishReason::MaxTurns));
    agent.takes(compact);
    let events = ["model_finished 10 calls=0", "compacted 11 keeps 6 pins 1", "branch_closed Compaction done=true"];
    assert_eq!(agent.answers("it was long")[..3], events);
    assert_eq!(agent.ended().reason, FinishReason::MaxTurns);
}

#[test]
fn a_summary_is_refused_where_nothing_was_said() {
    let mut agent = Agent::new(no_limits());
    agent.refuses(InputKind::Compact { hint: None, by: user() }, Refusal::NothingToSummarise);
    agent.refuses(InputKind::Summarised { text: "?".into(), tokens: 1, all: false }, Refusal::NoSummaryWanted);
}

#[test]
fn where_what_an_agent_reflects_leaves_no_room_the_summary_is_asked_for_alone() {
    let mut agent = reflecting();
    let reply = Box::new(Reply { tokens: 1_400, ..*agent.reply("so much was learned", &[]) });
    let events = [
        "model_finished 7 calls=0",
        "branch_closed Compaction done=false",
        "branch_opened Compaction 9",
        "model_requested 4 at 9",
    ];
    agent.gives(InputKind::ModelFinished(reply), &events);
}

#[test]
fn a_look_aside_is_in_the_next_request_and_in_no_other() {
    let mut agent = told();
    agent.says(MessageMode::Message, "more");
    let looked = PlannedCall { answer: Some("as it was".into()), ..allowed("read") };
    let reply = Box::new(Reply { aside: true, ..*agent.reply("let me see", std::slice::from_ref(&looked)) });
    let events = ["model_finished 6 calls=1", "turn_finished 7 results=1", "model_requested 4 at 7"];
    agent.gives(InputKind::ModelFinished(reply), &events);
    assert_eq!(agent.shown()[5..], ["Assistant: let me see <read>", "Tool: 6.0 as it was"]);
    assert_eq!(agent.state().counts.turns, 3, "it is no turn");
    // Another look takes its place.
    let reply = Box::new(Reply { aside: true, ..*agent.reply("and that", std::slice::from_ref(&looked)) });
    agent.takes(InputKind::ModelFinished(reply));
    assert_eq!(agent.shown()[5..], ["Assistant: and that <read>", "Tool: 8.0 as it was"]);
    agent.calls(&[allowed("bash")]);
    agent.takes(done("10.0", 1));
    assert_eq!(agent.shown()[5..], ["Assistant: let me see <bash>", "Tool: 10.0 it worked"]);
    // One that plans or starts something is no aside, and neither is the sixth in a row.
    let reply = Box::new(Reply { aside: true, ..*agent.reply("", &[allowed("bash")]) });
    agent.takes(InputKind::ModelFinished(reply));
    assert_eq!(agent.state().branch, None);
    agent.takes(done("12.0", 1));
    for _ in 0..6 {
        let reply = Box::new(Reply { aside: true, ..*agent.reply("", std::slice::from_ref(&looked)) });
        agent.takes(InputKind::ModelFinished(reply));
    }
    assert_eq!((agent.state().branch, agent.state().counts.turns), (None, 6));
}

#[test]
fn who_asks_to_see_more_is_shown_it_at_once_and_the_asking_leaves_no_call() {
    let mut agent = told();
    agent.says(MessageMode::Message, "more");
    agent.works();
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.works();
    agent.answers("a summary");
    let (before, turns) = (agent.shown(), agent.state().counts.turns);
    assert!(before.iter().any(|text| text.contains("a summary")), "{before:#?}");
    let asked = PlannedCall { answer: Some("More is shown.".into()), ..allowed("read") };
    let reply = Reply { aside: true, expand: Some(2), ..*agent.reply("show me", &[asked]) };
    let events = agent.takes(InputKind::ModelFinished(Box::new(reply)));
    let cut = "context_cut 15 keeps 2 pins 1 Expand";
    assert_eq!(events, ["model_finished 13 calls=1", "turn_finished 14 results=1", cut, "model_requested 7 at 15"]);
    let after = agent.shown();
    assert_eq!((after.len(), agent.state().counts.turns), (before.len() + 3, turns), "no call is split");
    assert!(!after.iter().any(|text| text.contains("show me") || text.contains("More is shown.")), "{after:#?}");
    // One that finds nothing is told so, in the next request only.
    let refused = PlannedCall { problem: Some("The window stays as it is.".into()), ..allowed("read") };
    let reply = Reply { aside: true, ..*agent.reply("show me more", &[refused]) };
    agent.takes(InputKind::ModelFinished(Box::new(reply)));
    assert!(agent.shown().last().unwrap().contains("The window stays as it is."));
    agent.works();
    assert!(!agent.shown().iter().any(|text| text.contains("stays as it is") || text.contains("show me more")));
}
