//! Where one more or one less makes another event: the exact edges of windows, summaries, recovery and the tables.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world;
use mainpath_types::*;

/// A turn with these calls of `read` whose message has this size; each result has five tokens. What the last one decided.
fn turn(agent: &mut Agent, tokens: u32, calls: usize) -> Vec<String> {
    let reply = Box::new(Reply { tokens, ..*agent.reply("", &vec![allowed("read"); calls]) });
    agent.takes(InputKind::ModelFinished(reply));
    let open: Vec<CallId> = agent.state().turn_calls().iter().map(|call| call.id).collect();
    let mut decided = Vec::new();
    for id in open {
        decided = agent.takes(done(&id.to_string(), 1));
    }
    decided
}

fn answer(agent: &mut Agent, tokens: u32) -> Vec<String> {
    let reply = Box::new(Reply { tokens, ..*agent.reply("it was long", &[]) });
    agent.takes(InputKind::ModelFinished(reply))
}

/// What the pending request counts on at its input. System text and tools are 64 tokens, a message 10.
fn input(agent: &Agent) -> u32 {
    agent.state().model.unwrap().input
}

fn resolved(agent: &Agent) -> CallResolved {
    agent.newest(|kind| if let EventKind::CallResolved(data) = kind { Some(data.clone()) } else { None })
}

/// The size of the summary that is shown, with the note on what is left out.
fn summary_tokens(agent: &Agent) -> u32 {
    agent.state().tree.cut_at(agent.state().tree.head).unwrap().tokens
}

const SUMMARY: &str = "User: Summary of the earlier conversation, some of which is still shown:\n\nit was long\n\n[From the \
                       system: 3 earlier messages, #2 to #4, with 1 tool result, are not shown here.]";

#[test]
fn a_request_that_fills_the_window_to_the_last_token_is_made() {
    let mut agent = Agent::with_window(no_limits(), 138);
    agent.says(MessageMode::Message, "do it");
    assert_eq!(agent.pending(), ["model/1"]);
}

#[test]
fn as_many_messages_as_the_window_holds_are_all_shown_and_half_a_window_is_kept_beyond() {
    let mut agent = Agent::asked(Limits { window_messages: Some(7), ..no_limits() });
    (0..3).for_each(|_| agent.works());
    assert_eq!(agent.shown().len(), 7);
    let mut agent = Agent::asked(windowed(8));
    (0..3).for_each(|_| agent.works());
    let decided = turn(&mut agent, 10, 1);
    assert_eq!(decided[2..], ["branch_opened Compaction 10 by Rules"]);
    let decided = agent.summarises();
    assert_eq!(
        decided,
        ["compacted 10 keeps 6 pins 1", "branch_closed Compaction done=true", "model_requested 5 at 10"]
    );
}

#[test]
fn a_cut_keeps_the_task_and_what_opened_the_run_and_counts_them() {
    let mut agent = Agent::asked(windowed(5));
    agent.answers("done");
    agent.says(MessageMode::Message, "more");
    agent.works();
    turn(&mut agent, 10, 1);
    let decided = agent.summarises();
    assert_eq!(
        decided,
        ["compacted 8 keeps 6 pins 1,3", "branch_closed Compaction done=true", "model_requested 4 at 8"]
    );
    let mut shown = agent.shown();
    let summary = shown.remove(2);
    assert!(summary.contains("3 earlier messages, #2 and #4 to #5, with 1 tool result, are not shown"), "{summary}");
    assert_eq!(shown, ["User: do it", "User: more", "Assistant:  <read>", "Tool: 6.0 it worked"]);
    assert_eq!(input(&agent), 64 + 10 + 10 + 15 + summary_tokens(&agent));
}

#[test]
fn what_opened_the_run_is_shown_once_where_the_cut_sets_in_at_it() {
    let mut agent = Agent::asked(windowed(5));
    agent.works();
    agent.answers("done");
    agent.says(MessageMode::Message, "more");
    turn(&mut agent, 10, 1);
    let decided = agent.summarises();
    assert_eq!(decided, ["compacted 8 keeps 5 pins 1", "branch_closed Compaction done=true", "model_requested 4 at 8"]);
    let mut shown = agent.shown();
    shown.remove(1);
    assert_eq!(shown, ["User: do it", "User: more", "Assistant:  <read>", "Tool: 6.0 it worked"]);
    assert_eq!(input(&agent), 64 + 10 + 10 + 15 + summary_tokens(&agent));
}

#[test]
fn an_expansion_holds_for_half_a_window_and_hides_no_answer() {
    let mut agent = Agent::asked(windowed(4));
    agent.works();
    agent.works();
    agent.summarises();
    agent.answers("done");
    agent.takes(InputKind::ExpandContext { by: 2 });
    assert_eq!(agent.state().context.window_extra, 5 + 2 - 4, "five messages are shown, two more may come");
    let ended = Some(Ending { reason: FinishReason::Final, answer: "done".into(), is_said: true });
    assert_eq!(ending(agent.state(), &agent.bodies), ended);
}

#[test]
fn a_summary_keeps_the_newest_messages_up_to_half_of_what_is_recent_and_current() {
    // 336 tokens without the answer, 70 hundredths of that, half of that is 117: the last two turns, or one token less.
    for (tokens, kept) in [(52, 4), (53, 6)] {
        let mut agent = Agent::with_window(no_limits(), 400);
        agent.says(MessageMode::Message, "do it");
        turn(&mut agent, 130, 1);
        turn(&mut agent, tokens, 1);
        let opened = turn(&mut agent, 55, 1);
        assert_eq!(opened[2..], ["branch_opened Compaction 8", "model_requested 4 at 8"]);
        let decided = answer(&mut agent, 30);
        assert_eq!(decided[1], format!("compacted 10 keeps {kept} pins 1"));
        let shown = if kept == 4 { 117 } else { 60 };
        assert_eq!(input(&agent), 64 + 10 + summary_tokens(&agent) + shown);
    }
}

#[test]
fn four_messages_are_not_summarised_and_five_are() {
    for (calls, pending) in [(2, "model_requested 2 at 4"), (3, "model_requested 2 at 6")] {
        let mut agent = Agent::with_window(no_limits(), 400);
        agent.says(MessageMode::Message, "do it");
        let decided = turn(&mut agent, 247, calls);
        assert_eq!(decided.last().unwrap(), pending);
        assert_eq!(agent.state().branch.is_some(), calls == 3);
    }
}

#[test]
fn there_is_no_second_summary_until_a_tenth_more_has_been_said() {
    // The answer's part is so small that a request that is nearly full leaves room.
    let mut agent = Agent::with_spec(Spec { reserved_output: 20, ..world::spec(no_limits(), 400) });
    agent.says(MessageMode::Message, "do it");
    for tokens in [67, 20, 153] {
        turn(&mut agent, tokens, 1);
    }
    let decided = answer(&mut agent, 30);
    let events = [
        "model_finished 9 calls=0",
        "compacted 10 keeps 6 pins 1",
        "branch_closed Compaction done=true",
        "model_requested 5 at 10",
    ];
    assert_eq!(decided, events);
    // The newest turn alone is that large.
    assert_eq!((input(&agent), summary_tokens(&agent)), (291, 30 + 29));
    let decided = turn(&mut agent, 27, 1);
    assert_eq!((decided[2].as_str(), input(&agent)), ("model_requested 6 at 12", 323));
    let decided = turn(&mut agent, 5, 1);
    assert_eq!(decided[2..], ["branch_opened Compaction 15", "model_requested 7 at 15"]);
}

#[test]
fn a_summary_stands_before_the_first_kept_message_also_where_that_is_pinned() {
    let mut agent = Agent::with_window(no_limits(), 400);
    agent.says(MessageMode::Message, "do it");
    turn(&mut agent, 120, 1);
    answer(&mut agent, 115);
    let decided = agent.says(MessageMode::Message, "more");
    assert_eq!(decided[3..], ["branch_opened Compaction 6", "model_requested 3 at 6"]);
    let decided = answer(&mut agent, 20);
    assert_eq!(decided[1], "compacted 8 keeps 5 pins 1");
    assert_eq!(agent.shown(), ["User: do it", SUMMARY, "User: more"]);
    assert_eq!(input(&agent), 64 + 10 + summary_tokens(&agent) + 10);
}

#[test]
fn the_message_of_a_rewind_is_counted() {
    let mut agent = Agent::asked(no_limits());
    agent.works();
    agent.answers("done");
    agent.takes(rewind(1, Some("another way")));
    assert_eq!(input(&agent), 64 + 10 + 6);
}

#[test]
fn a_tool_that_dies_unasked_may_have_done_its_work_unless_that_does_not_matter() {
    let interrupted = "call_resolved 2.0 Interrupted Crash";
    for (tool, resolved) in
        [("read", interrupted), ("put", interrupted), ("bash", "call_resolved 2.0 Unknown Uncertain")]
    {
        let mut agent = Agent::calling(no_limits(), &[allowed(tool)]);
        agent.gives(dead("2.0", 1), &[resolved, "turn_finished 3 results=1", "model_requested 2 at 3"]);
    }
}

#[test]
fn what_a_dead_tool_had_said_is_kept_and_counted() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.takes(InputKind::Interrupt { call: call("2.0") });
    let output = ToolOutput::text("so far");
    agent.now += 40;
    agent.takes(InputKind::ToolDead { call: call("2.0"), attempt: 1, output: Some(output.clone()), tokens: 7 });
    let ended = resolved(&agent);
    assert_eq!((ended.output, ended.tokens, ended.elapsed_ms), (Some(output), 24 + 7, 40));
}

#[test]
fn a_crash_between_a_stop_and_what_it_ends_is_healed_by_class() {
    let rest = ["turn_finished 3 results=1", "run_finished stopped turns=1 calls=1"];
    for (tool, healed) in [
        ("read", vec!["call_resolved 2.0 Interrupted Stopped", rest[0], rest[1]]),
        ("bash", vec!["call_resolved 2.0 Unknown Uncertain", rest[0], rest[1]]),
        ("write", vec!["call_probing 2.0"]),
    ] {
        let mut agent = Agent::calling(no_limits(), &[allowed(tool)]);
        agent.gives(stop(), &["run_closing stopped", "call_cancelling 2.0 Closing"]);
        let mut agent = agent.reopened(agent.log.len() - 1);
        agent.gives(recovered(), &healed);
    }
}

#[test]
fn a_call_that_never_started_has_no_late_result() {
    let mut agent = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    agent.takes(InputKind::Deny { call: call("2.0"), by: user(), reason: None });
    agent.refuses(done("2.0", 0), Refusal::AlreadyResolved(call("2.0")));
    agent.refuses(done("2.0", 1), Refusal::WrongAttempt(call("2.0"), 1));
}

#[test]
fn only_a_question_or_a_child_is_answered() {
    let answered =
        || InputKind::Answered(Answered { call: call("2.0"), output: ToolOutput::text("y"), tokens: 1, by: user() });
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.refuses(answered(), Refusal::NotWaiting(call("2.0")));
    let mut agent = Agent::calling(no_limits(), &[planned("ask", Decision::Ask)]);
    agent.refuses(answered(), Refusal::NotWaiting(call("2.0")));
}

#[test]
fn the_log_says_who_answered_and_who_denied_and_why() {
    let mut agent = Agent::calling(no_limits(), &[allowed("ask")]);
    let output = ToolOutput::text("blue");
    agent.takes(InputKind::Answered(Answered { call: call("2.0"), output: output.clone(), tokens: 3, by: user() }));
    let data = resolved(&agent);
    assert_eq!((data.by, data.output, data.reason, data.tokens), (Some(user()), Some(output), None, 3));

    let asked = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    let mut agent = asked.clone();
    agent.takes(InputKind::Deny { call: call("2.0"), by: user(), reason: Some("not today".into()) });
    let data = resolved(&agent);
    assert_eq!((data.by, data.reason.as_deref()), (Some(user()), Some("not today")));

    let mut agent = asked;
    let verdict = Verdict { decision: Decision::Deny, rule: "fresh".into(), reason: "No such path.".into() };
    let edit = Some(Edit { arguments: "{}".into(), verdict, places: vec![], changed_by: Vec::new(), asking: None });
    agent.takes(InputKind::Approve { call: call("2.0"), by: user(), edit, rule: None });
    let data = resolved(&agent);
    let by = Some(Principal::rule("fresh"));
    assert_eq!((data.by, data.reason.as_deref(), data.elapsed_ms), (by, Some("No such path."), 0));
}

#[test]
fn a_tool_that_has_begun_is_in_the_draft_until_it_ends() {
    let begun = |id: &str, attempt| InputKind::ToolStarted { call: call(id), attempt };
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("bash")]);
    agent.refuses(begun("9.0", 1), Refusal::NoSuchCall(call("9.0")));
    agent.refuses(begun("2.1", 0), Refusal::NotStarted(call("2.1")));
    agent.refuses(begun("2.0", 2), Refusal::WrongAttempt(call("2.0"), 2));
    agent.gives(begun("2.0", 1), &[]);
    assert_eq!(agent.machine.draft().running, [call("2.0")].into());
    agent.takes(done("2.0", 1));
    assert_eq!(*agent.machine.draft(), Draft::default());
}

#[test]
fn an_answer_that_is_taken_from_the_draft_has_the_draft_s_size() {
    let mut agent = Agent::asked(no_limits());
    agent.takes(InputKind::ModelChunk { request: 1, delta: Delta::Text { text: "hello".into() } });
    agent.takes(InputKind::ModelChunk { request: 1, delta: Delta::Thinking { text: "hm".into() } });
    assert_eq!(agent.machine.draft().thinking, "hm");
    let reply = Box::new(Reply { parts: Vec::new(), ..*agent.reply("", &[]) });
    agent.takes(InputKind::ModelFinished(reply));
    let data = agent.newest(|kind| if let EventKind::ModelFinished(data) = kind { Some(data.clone()) } else { None });
    assert_eq!((data.parts, data.tokens), (vec![Part::text("hello")], 4 + 2));
}

#[test]
fn what_an_answer_without_a_count_is_charged_was_estimated() {
    let mut agent = Agent::asked(no_limits());
    answer(&mut agent, 33);
    assert_eq!(agent.state().spent.usage, Usage { input: 74, output: 33, ..Usage::default() });
    assert_eq!(agent.state().spent.cost, 74 * 3 + 33 * 15);
}

#[test]
fn only_calls_that_have_ended_are_recalled_and_not_under_a_pending_request() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    let recall = || InputKind::RecallCalls { calls: vec![call("2.0")] };
    agent.refuses(recall(), Refusal::NotWaiting(call("2.0")));
    agent.takes(done("2.0", 1));
    agent.refuses(recall(), Refusal::Busy);
}

#[test]
fn where_nothing_waits_nothing_is_held() {
    let mut agent = Agent::asked(no_limits());
    agent.takes(stop());
    assert_eq!(agent.state().queues, Queues::default());
}

#[test]
fn a_goal_that_is_ended_by_name_leaves_another_in_focus() {
    let mut agent = Agent::asked(no_limits());
    let add = |description: &str| GoalOp::Add {
        description: description.into(),
        reason: "why not".into(),
        under: None,
        after: None,
    };
    let done = GoalOp::Done { id: Some(GoalId(2)), summary: "yes".into() };
    let ops = vec![add("first"), add("second"), GoalOp::Focus { id: GoalId(1) }, done];
    agent.takes(InputKind::ChangeGoals { ops, by: user() });
    let goals = &agent.state().goals;
    let second = Goal {
        id: GoalId(2),
        parent: None,
        description: "second".into(),
        reason: "why not".into(),
        status: GoalStatus::Completed,
        summary: Some("yes".into()),
        made_after: Some(Seq(1)),
        step: None,
        agent_call: None,
    };
    assert_eq!((goals.focus, goals.get(GoalId(2)), goals.get(GoalId(3))), (Some(GoalId(1)), Some(&second), None));
}

#[test]
fn the_mail_cursor_closes_its_gaps_and_keeps_nothing_twice() {
    let mut cursor = MailCursor::default();
    [3, 1, 1].into_iter().for_each(|mail| cursor.note(mail));
    assert_eq!(cursor, MailCursor { upto: 1, ahead: [3].into() });
    assert_eq!([1, 2, 3, 4].map(|mail| cursor.has(mail)), [true, false, true, false]);
    cursor.note(2);
    assert_eq!(cursor, MailCursor { upto: 3, ahead: [].into() });
}

#[test]
fn the_way_up_a_tree_that_somebody_made_up_ends() {
    let mut tree = Tree::default();
    assert_eq!((tree.len(), tree.is_empty()), (0, true));
    tree.push(Some(Seq(1)), 7, NodeKind::User, 3, None);
    tree.push(Some(Seq(3)), 8, NodeKind::User, 3, None);
    tree.push(Some(Seq(2)), 9, NodeKind::User, 3, None);
    let up = |from: u32| tree.up(Some(Seq(from))).map(|(seq, _)| seq.0).collect::<Vec<_>>();
    assert_eq!([up(1), up(2), up(3), up(4)], [vec![1], vec![2], vec![3, 2], vec![]]);
    assert_eq!((tree.len(), tree.is_empty()), (3, false));
}
