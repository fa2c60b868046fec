//! Every limit, its finish reason, and what is said then.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// What the pending request counts on at its input.
fn input(agent: &Agent) -> u32 {
    agent.state().model.unwrap().input
}

fn counted(agent: &Agent, input: u64, calls: &[PlannedCall]) -> InputKind {
    let usage = Some(Usage { input, output: 10, ..Usage::default() });
    InputKind::ModelFinished(Box::new(Reply { usage, ..*agent.reply("", calls) }))
}

#[test]
fn a_run_may_not_have_more_turns() {
    let mut agent = Agent::calling(Limits { turns: Some(1), ..no_limits() }, &[allowed("bash")]);
    let events = [
        "call_resolved 2.0 Ok Result",
        "turn_finished 3 results=1",
        "run_closing max_turns",
        "run_finished max_turns turns=1 calls=1",
    ];
    agent.gives(done("2.0", 1), &events);
    agent.says(MessageMode::Message, "go on");
    assert_eq!(agent.pending(), ["model/2"], "limits count per run");
}

#[test]
fn a_retry_in_the_last_turn_is_no_further_turn() {
    let mut agent = Agent::asked(Limits { turns: Some(1), ..no_limits() });
    agent.takes(model_failed(1, ModelErrorKind::Server, Some(agent.now)));
    agent.gives(InputKind::Timer { key: TimerKey::Retry }, &["retry_due", "model_requested 2 at 1"]);
    agent.answers("done");
    assert_eq!((agent.ended().reason, agent.ended().turns), (FinishReason::Final, 1));
}

#[test]
fn the_model_may_still_answer_after_its_last_call() {
    let mut agent = Agent::calling(Limits { calls: Some(1), ..no_limits() }, &[allowed("bash")]);
    agent.takes(done("2.0", 1));
    agent.answers("done");
    assert_eq!(agent.ended().reason, FinishReason::Final);
}

#[test]
fn a_call_beyond_the_limit_is_skipped_and_ends_the_run() {
    let mut agent = Agent::calling(Limits { calls: Some(1), ..no_limits() }, &[allowed("bash"), allowed("bash")]);
    assert_eq!(agent.log.last().map(show).unwrap(), "call_resolved 2.1 Skipped CallBudget");
    let events = [
        "call_resolved 2.0 Ok Result",
        "turn_finished 3 results=2",
        "run_closing max_tool_calls",
        "run_finished max_tool_calls turns=1 calls=1",
    ];
    agent.gives(done("2.0", 1), &events);
}

#[test]
fn a_call_beyond_the_turn_s_cap_is_skipped_and_the_run_goes_on() {
    let limits = Limits { calls_per_turn: Some(1), ..no_limits() };
    let mut agent = Agent::calling(limits, &[allowed("read"), allowed("read")]);
    assert_eq!(agent.pending(), ["tool/2.0/1"]);
    agent
        .gives(done("2.0", 1), &["call_resolved 2.0 Ok Result", "turn_finished 3 results=2", "model_requested 2 at 4"]);
    assert_eq!(agent.shown()[3], "Tool: 2.1! Not started: only so many calls are allowed per turn. Call it again.");
}

#[test]
fn the_same_tool_may_not_fail_too_often_in_a_row() {
    let limits = Limits { repeated_failures: Some(2), ..no_limits() };
    let mut agent = Agent::calling(limits, &["bash", "bash", "bash"].map(allowed));
    for ended in [failed("2.0", 1), done("2.1", 1), failed("2.2", 1)] {
        agent.takes(ended);
    }
    assert_eq!(agent.pending(), ["model/2"], "a success begins the count anew");
    agent.calls(&[allowed("write")]);
    agent.takes(failed("6.0", 1));
    assert_eq!(agent.pending(), ["model/3"], "and so does another tool");
    agent.calls(&[allowed("write")]);
    let events = [
        "call_resolved 8.0 Error Result",
        "turn_finished 9 results=1",
        "run_closing repeated_failure",
        "run_finished repeated_failure turns=3 calls=5",
    ];
    agent.gives(failed("8.0", 1), &events);
}

#[test]
fn a_call_of_no_tool_is_a_failure_as_well() {
    let mut agent = Agent::asked(Limits { repeated_failures: Some(2), ..no_limits() });
    for _ in 0..2 {
        let problem = PlannedCall { problem: Some("there is no such tool".into()), ..PlannedCall::default() };
        agent.calls(&[problem]);
    }
    assert_eq!(agent.ended().reason, FinishReason::RepeatedFailure);
}

#[test]
fn failed_requests_are_retried_when_due_and_only_so_often() {
    let mut agent = Agent::asked(no_limits());
    for request in 1..=2 {
        let retry_at = Some(agent.now + 500);
        agent.gives(model_failed(request, ModelErrorKind::RateLimit, retry_at), &["model_failed RateLimit retry=true"]);
        assert_eq!(agent.pending(), ["timer/retry"]);
        agent.refuses(InputKind::Timer { key: TimerKey::Retry }, Refusal::NotDue(agent.now + 500));
        agent.now += 500;
        let asked = format!("model_requested {} at 1", request + 1);
        agent.gives(InputKind::Timer { key: TimerKey::Retry }, &["retry_due", &asked]);
    }
    let events = ["model_failed RateLimit retry=false", "run_finished model_error turns=1 calls=0"];
    agent.gives(model_failed(3, ModelErrorKind::RateLimit, Some(agent.now + 500)), &events);
    assert_eq!(agent.state().spent.usage, Usage::default(), "what the server refused is free");
}

#[test]
fn an_answer_ends_the_count_of_failed_requests() {
    let mut agent = Agent::asked(Limits { model_retries: 1, ..no_limits() });
    for request in [1, 3] {
        let retry_at = Some(agent.now);
        agent.gives(model_failed(request, ModelErrorKind::Server, retry_at), &["model_failed Server retry=true"]);
        agent.takes(InputKind::Timer { key: TimerKey::Retry });
        agent.works();
    }
}

#[test]
fn a_request_that_may_have_run_is_charged_and_one_that_cannot_help_ends_the_run() {
    for kind in [ModelErrorKind::Timeout, ModelErrorKind::StreamCut] {
        let mut agent = Agent::asked(no_limits());
        agent.takes(model_failed(1, kind, Some(agent.now)));
        let state = agent.state();
        assert_eq!(state.run.as_ref().unwrap().usage.total(), 138, "{kind:?}: the budget is charged in full");
        assert_eq!((state.spent.usage.total(), state.spent.about), (74, true), "nothing of an answer had come");
        let mut agent = Agent::asked(no_limits());
        let failed = model_failed(1, kind, Some(agent.now));
        let InputKind::ModelFailed { request, error, retry_at, usage, .. } = failed else { panic!() };
        agent.takes(InputKind::ModelFailed { request, error, retry_at, usage, received: 9 });
        assert_eq!(agent.state().spent.usage, Usage { input: 74, output: 9, ..Usage::default() });
    }
    // One that broke off with an error in the middle of its answer was used as well.
    for (received, charged, used) in [(9, 138, 83), (0, 0, 0)] {
        let mut agent = Agent::asked(no_limits());
        let InputKind::ModelFailed { request, error, retry_at, usage, .. } =
            model_failed(1, ModelErrorKind::Server, Some(agent.now))
        else {
            panic!()
        };
        agent.takes(InputKind::ModelFailed { request, error, retry_at, usage, received });
        let state = agent.state();
        assert_eq!((state.run.as_ref().unwrap().usage.total(), state.spent.usage.total()), (charged, used));
    }
    let ends = [
        (ModelErrorKind::Auth, FinishReason::ModelError),
        (ModelErrorKind::BadRequest, FinishReason::ModelError),
        (ModelErrorKind::Overflow, FinishReason::ContextLimit),
    ];
    for (kind, reason) in ends {
        let mut agent = Agent::asked(no_limits());
        agent.takes(model_failed(1, kind, Some(agent.now)));
        assert_eq!((agent.ended().reason, agent.state().spent.usage.total()), (reason, 0), "{kind:?}");
    }
}

#[test]
fn a_run_s_time_is_up_when_it_is_up() {
    let mut agent = Agent::calling(Limits { run_timeout_ms: Some(5_000), ..no_limits() }, &[allowed("bash")]);
    assert_eq!(agent.pending(), ["tool/2.0/1", "timer/run"]);
    agent.now = 5_999;
    agent.refuses(InputKind::Timer { key: TimerKey::Run }, Refusal::NotDue(6_000));
    agent.now = 6_000;
    agent.gives(InputKind::Timer { key: TimerKey::Run }, &["run_closing timeout", "call_cancelling 2.0 Closing"]);
    agent.refuses(InputKind::Timer { key: TimerKey::Run }, Refusal::NoTimer);
    agent.takes(dead("2.0", 1));
    assert_eq!(agent.ended().reason, FinishReason::Timeout);
}

#[test]
fn waiting_for_people_does_not_count() {
    let limits = Limits { run_timeout_ms: Some(5_000), ..no_limits() };
    for (waiting, answer) in [
        (planned("bash", Decision::Ask), approve("2.0")),
        (
            allowed("ask"),
            InputKind::Answered(Answered { call: call("2.0"), output: ToolOutput::text("y"), tokens: 1, by: user() }),
        ),
    ] {
        let mut agent = Agent::asked(limits.clone());
        agent.now = 2_000;
        agent.calls(&[waiting]);
        assert!(!agent.pending().contains(&"timer/run".to_string()), "no time runs while only people are waited for");
        agent.now = 90_000;
        agent.takes(answer);
        let timer = &agent.machine.pending().unwrap()[&EffectKey::Timer(TimerKey::Run)];
        assert_eq!(*timer, Effect::Timer { at: 6_000 + 88_000 }, "the same key, a later time");
    }
}

#[test]
fn time_counts_while_a_tool_runs_beside_somebody_who_is_waited_for() {
    let limits = Limits { run_timeout_ms: Some(5_000), ..no_limits() };
    let agent = Agent::calling(limits.clone(), &[allowed("bash"), planned("bash", Decision::Ask)]);
    assert_eq!(agent.pending(), ["tool/2.0/1", "approval/2.1", "timer/run"]);
    let agent = Agent::calling(limits, &[planned("bash", Decision::Ask), allowed("bash")]);
    assert_eq!(agent.pending(), ["approval/2.0"], "a call that waits behind a person waits for that person, too");
}

#[test]
fn a_call_s_time_is_up_and_the_run_goes_on() {
    let limits = Limits { call_timeout_ms: Some(300), ..no_limits() };
    let mut agent = Agent::calling(limits, &[allowed("bash")]);
    let key = TimerKey::Call(call("2.0"));
    agent.refuses(InputKind::Timer { key }, Refusal::NotDue(1_300));
    agent.now = 1_300;
    agent.gives(InputKind::Timer { key }, &["call_cancelling 2.0 Timeout"]);
    agent.now = 1_350;
    agent.gives(
        dead("2.0", 1),
        &["call_resolved 2.0 Error Timeout", "turn_finished 3 results=1", "model_requested 2 at 3"],
    );
    assert_eq!(agent.shown()[2], "Tool: 2.0! Ended after 350 ms: its time was up.");
}

#[test]
fn people_and_children_have_no_deadline() {
    let limits = Limits { call_timeout_ms: Some(300), ..no_limits() };
    for (tool, key) in [("ask", "answer/2.0"), ("agent", "child/2.0/0")] {
        assert_eq!(Agent::calling(limits.clone(), &[allowed(tool)]).pending(), [key]);
    }
}

#[test]
fn a_hard_budget_is_never_overrun() {
    // The first request reserves 74 + 64 tokens, at 3 and 15 micro-units each.
    let ends = |limits: Limits| {
        let agent = Agent::asked(limits);
        agent.state().ended.reason
    };
    assert_eq!(ends(Limits { tokens: Some(138), ..no_limits() }), None);
    assert_eq!(ends(Limits { tokens: Some(137), ..no_limits() }), Some(FinishReason::TokenBudget));
    assert_eq!(ends(Limits { money: Some(1_182), ..no_limits() }), None);
    assert_eq!(ends(Limits { money: Some(1_181), ..no_limits() }), Some(FinishReason::MoneyBudget));
}

#[test]
fn a_lost_request_counts_against_the_budget() {
    let mut agent = Agent::asked(Limits { tokens: Some(275), ..no_limits() }).crashed();
    let events =
        ["model_abandoned 1 lost=true", "run_closing token_budget", "run_finished token_budget turns=1 calls=0"];
    agent.gives(recovered(), &events);
}

#[test]
fn a_soft_budget_ends_with_one_last_answer_without_calls() {
    let limits = Limits { tokens: Some(80), budget: BudgetMode::Soft, ..no_limits() };
    let asked = {
        let mut agent = Agent::calling(limits, &[allowed("bash")]);
        let events =
            ["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "model_requested 2 at 3 last token_budget"];
        agent.gives(done("2.0", 1), &events);
        agent
    };
    assert!(asked.shown().last().unwrap().starts_with("User: The budget of this run is used up."));
    let mut agent = asked.clone();
    agent.answers("what I have");
    let ended = ending(agent.state(), &agent.bodies);
    assert_eq!(ended, Some(Ending { reason: FinishReason::TokenBudget, answer: "what I have".into(), is_said: true }));

    let mut agent = asked.clone();
    agent.takes(model_failed(2, ModelErrorKind::Server, Some(agent.now)));
    let again = ["retry_due", "model_requested 3 at 3 last token_budget"];
    agent.gives(InputKind::Timer { key: TimerKey::Retry }, &again);

    let mut agent = asked;
    let reply = agent.reply("one more", &[allowed("bash")]);
    let events = [
        "model_finished 4 calls=1",
        "call_resolved 4.0 Skipped LastAnswer",
        "turn_finished 5 results=1",
        "run_closing token_budget",
        "run_finished token_budget turns=2 calls=1",
    ];
    agent.gives(InputKind::ModelFinished(reply), &events);
}

#[test]
fn a_limit_of_0_is_no_limit() {
    let zero = Limits {
        turns: Some(0),
        calls: Some(0),
        calls_per_turn: Some(0),
        run_timeout_ms: Some(0),
        call_timeout_ms: Some(0),
        tokens: Some(0),
        money: Some(0),
        repeated_failures: Some(0),
        approval_timeout_ms: Some(0),
        observation_chars: Some(0),
        window_messages: Some(0),
        context_chars: Some(0),
        inject_every: Some(0),
        ..no_limits()
    };
    let mut agent = Agent::asked(zero);
    agent.now += 1_000_000;
    for _ in 0..3 {
        agent.works();
    }
    assert_eq!(agent.state().limits(), Some(&no_limits()));
    agent.answers("done");
    assert_eq!(agent.ended().reason, FinishReason::Final);
}

#[test]
fn a_conversation_that_does_not_fit_ends_the_run_before_it_is_sent() {
    let mut agent = Agent::with_window(no_limits(), 137);
    let events = [
        "message_queued Message",
        "run_started 1 New",
        "message_joined 1",
        "run_closing context_limit",
        "run_finished context_limit turns=0 calls=0",
    ];
    agent.gives(mail(MessageMode::Message, "do it"), &events);
}

#[test]
fn the_vendor_s_count_replaces_the_estimate_and_only_what_came_since_is_added() {
    let mut agent = Agent::asked(no_limits());
    assert_eq!(input(&agent), 74);
    let kind = counted(&agent, 1_000, &[allowed("bash")]);
    agent.takes(kind);
    agent.takes(done("2.0", 1));
    assert_eq!(input(&agent), 1_000 + 10 + 5);
}

#[test]
fn after_a_repair_tokens_are_estimated_anew() {
    let mut agent = Agent::asked(no_limits());
    let kind = counted(&agent, 1_000, &[allowed("bash")]);
    agent.takes(kind);
    agent.takes(done("2.0", 1));
    let reply = agent.reply("no json", &[]);
    agent.takes(InputKind::ModelMalformed {
        reply,
        problem: "not JSON".into(),
        breach: Breach::Protocol,
        repair_tokens: 12,
    });
    assert_eq!(input(&agent), 1_000 + 15 + 10 + 12);
    let kind = counted(&agent, 5_000, &[allowed("bash")]);
    agent.takes(kind);
    agent.takes(done("6.0", 1));
    assert_eq!(input(&agent), 74 + 15 + 15, "neither the count with the repair in it nor the one before it");
}

#[test]
fn the_model_sees_so_much_of_a_result_and_no_more() {
    let mut agent = Agent::calling(Limits { observation_chars: Some(5), ..no_limits() }, &[allowed("bash")]);
    agent.takes(done("2.0", 1));
    assert_eq!(agent.shown()[2], "Tool: 2.0 it wo […]");
}

#[test]
fn a_degraded_answer_says_what_was_done_what_blocks_and_what_to_do_next() {
    let mut agent = Agent::calling(Limits { turns: Some(1), ..no_limits() }, &[allowed("read"), allowed("bash")]);
    agent.takes(done("2.0", 1));
    agent.takes(failed("2.1", 1));
    let answer = "The run ended before a final answer (turn limit).\n\nDone: read × 1.\nBlocked by: the limit of model \
                  turns. The last failure was in bash.\nLast message: let me see\nNext: continue the trace: \
                  limits count per run, so the next run has the whole limit again.";
    let expected = Ending { reason: FinishReason::MaxTurns, answer: answer.into(), is_said: false };
    assert_eq!(ending(agent.state(), &agent.bodies), Some(expected));
}

#[test]
fn a_degraded_answer_names_denials_as_the_block_and_the_open_steps_as_what_is_next() {
    let mut agent = Agent::asked(Limits { repeated_failures: Some(2), ..no_limits() });
    let step =
        |n: u32| GoalOp::Add { description: format!("step {n}"), reason: String::new(), under: None, after: None };
    agent.takes(InputKind::ChangeGoals { ops: (1..=10).map(step).collect(), by: user() });
    agent.calls(&[planned("bash", Decision::Ask)]);
    agent.takes(InputKind::Deny { call: call("2.0"), by: user(), reason: Some("not today".into()) });
    agent.calls(&[planned("bash", Decision::Deny)]);
    let answer = "The run ended before a final answer (repeated failure).\n\nDone: no tool call succeeded.\nBlocked by: the run \
                  was stuck in a loop. Details: bash failed or was denied in 2 turns in a row. Denied: bash × 1 (by \
                  test.bash), bash × 1 (by user).\nLast message: let me see\nNext: look at the failure, then \
                  continue the trace with an instruction. Approve what was denied (the last such call is 4.0), or allow it by a rule. \
                  Still open: step 1; step 2; step 3; step 4; step 5; step 6; step 7; step 8; and 2 more.";
    let expected = Ending { reason: FinishReason::RepeatedFailure, answer: answer.into(), is_said: false };
    assert_eq!(ending(agent.state(), &agent.bodies), Some(expected));
    assert_eq!(what_helps(agent.state(), &agent.bodies), Help::Allow(call("4.0")), "a rule denied it");
}

#[test]
fn what_helps_a_run_that_people_denied_is_an_approval_and_one_that_failed_may_just_go_on() {
    let two = || Agent::asked(Limits { repeated_failures: Some(2), ..no_limits() });
    let mut agent = two();
    for denied in ["2.0", "4.0"] {
        agent.calls(&[planned("bash", Decision::Ask)]);
        agent.takes(InputKind::Deny { call: call(denied), by: user(), reason: None });
    }
    assert_eq!(what_helps(agent.state(), &agent.bodies), Help::Approve(call("4.0")));
    let mut agent = two();
    assert_eq!(what_helps(agent.state(), &agent.bodies), Help::GoOn, "it goes on");
    for made in ["2.0", "4.0"] {
        agent.calls(&[allowed("bash")]);
        agent.takes(failed(made, 1));
    }
    assert_eq!(agent.ended().reason, FinishReason::RepeatedFailure);
    assert_eq!(what_helps(agent.state(), &agent.bodies), Help::GoOn);
}

#[test]
fn an_absurd_count_from_a_server_ends_the_run_and_breaks_nothing() {
    for count in [u64::from(u32::MAX), u64::MAX / 100, u64::MAX - 1, u64::MAX] {
        let mut agent = Agent::asked(no_limits());
        let kind = counted(&agent, count, &[allowed("bash")]);
        agent.takes(kind);
        agent.takes(done("2.0", 1));
        assert_eq!(agent.ended().reason, FinishReason::ContextLimit, "{count}");
    }
}

#[test]
fn a_stop_in_an_answer_books_what_had_come_of_it_and_says_about() {
    let mut agent = Agent::asked(no_limits());
    agent.machine.received(30);
    agent.takes(stop());
    let finished = agent.ended();
    let spent = Usage { input: 74, output: 30, ..Usage::default() };
    assert_eq!((finished.usage, finished.cost, finished.about), (spent, 74 * 3 + 30 * 15, true));
    let abandoned = agent.log.iter().find_map(|event| match &event.kind {
        EventKind::ModelAbandoned(data) => Some(data.clone()),
        _ => None,
    });
    assert_eq!(abandoned.unwrap().usage.total(), 138, "the reserve is charged all the same");
    // What a vendor has counted is what it says.
    let mut agent = Agent::asked(no_limits());
    let usage = Some(Usage { input: 70, output: 3, ..Usage::default() });
    agent.takes(InputKind::ModelFinished(Box::new(Reply { usage, ..*agent.reply("done", &[]) })));
    assert_eq!((Some(agent.ended().usage), agent.ended().about), (usage, false));
}

#[test]
fn a_count_that_says_nothing_of_one_side_is_filled_with_the_estimate() {
    for (said, used) in [((0, 3), (74, 3)), ((70, 0), (70, 6)), ((0, 0), (74, 6))] {
        let mut agent = Agent::asked(no_limits());
        let usage = Some(Usage { input: said.0, output: said.1, ..Usage::default() });
        let tokens = 6;
        agent.takes(InputKind::ModelFinished(Box::new(Reply { usage, tokens, ..*agent.reply("done", &[]) })));
        let ended = agent.ended();
        assert_eq!((ended.usage.input, ended.usage.output, ended.about), (used.0, used.1, true), "{said:?}");
        assert_eq!(agent.state().counting.counted, None, "it is no measure of the next request");
    }
}
