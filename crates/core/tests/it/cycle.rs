//! The cycle of a run: what is asked, what starts, what ends it.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;
use std::sync::Arc;

#[test]
fn a_question_and_its_answer_are_one_run() {
    let mut agent = Agent::new(no_limits());
    assert_eq!(agent.pending(), [""; 0]);
    let events = ["message_queued Message", "run_started 1 New", "message_joined 1", "model_requested 1 at 1"];
    agent.gives(mail(MessageMode::Message, "hello"), &events);
    assert_eq!(agent.pending(), ["model/1"]);
    assert_eq!(agent.shown(), ["User: hello"]);
    let reply = agent.reply("hi", &[]);
    agent.gives(InputKind::ModelFinished(reply), &["model_finished 2 calls=0", "run_finished final turns=1 calls=0"]);
    assert_eq!(agent.pending(), [""; 0]);
    let ended = ending(agent.state(), &agent.bodies);
    assert_eq!(ended, Some(Ending { reason: FinishReason::Final, answer: "hi".into(), is_said: true }));
}

#[test]
fn a_tool_result_goes_back_to_the_model_and_a_further_message_starts_a_further_run() {
    let mut agent = Agent::asked(no_limits());
    let reply = agent.reply("let me see", &[allowed("bash")]);
    agent.gives(InputKind::ModelFinished(reply), &["model_finished 2 calls=1", "action_started 2.0 #1"]);
    assert_eq!(agent.pending(), ["tool/2.0/1"]);
    let events = ["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "model_requested 2 at 3"];
    agent.gives(done("2.0", 1), &events);
    assert_eq!(agent.shown(), ["User: do it", "Assistant: let me see <bash>", "Tool: 2.0 it worked"]);
    agent.refuses(done("2.0", 1), Refusal::AlreadyResolved(call("2.0")));
    agent.answers("done");
    let events = ["message_queued Message", "run_started 2 Continue", "message_joined 5", "model_requested 3 at 5"];
    agent.gives(mail(MessageMode::Message, "more"), &events);
}

#[test]
fn no_message_is_taken_before_there_is_a_spec_nor_an_empty_one() {
    let mut machine = Machine::new("test".parse().unwrap());
    let input = Input::new(1, mail(MessageMode::Message, "hello"));
    assert_eq!(machine.handle(&input), Err(Refusal::NoSpec));
    let mut agent = Agent::new(no_limits());
    let empty = InputKind::UserMessage(MessageQueued::new(Vec::new(), 0, user()));
    agent.refuses(empty, Refusal::Empty);
}

#[test]
fn nothing_is_decided_or_released_while_a_batch_is_not_committed() {
    let mut agent = Agent::new(no_limits());
    let input = Input::new(2_000, mail(MessageMode::Message, "hello"));
    let batch = agent.machine.handle(&input).unwrap();
    assert_eq!(agent.machine.pending(), None);
    assert_eq!(agent.machine.handle(&input), Err(Refusal::Busy));
    agent.machine.commit(batch[0].id);
    assert_eq!(agent.machine.pending(), None, "only the end of the batch releases it");
    agent.machine.commit(batch.last().unwrap().id);
    assert_eq!(agent.pending(), ["model/1"]);
}

#[test]
fn readers_run_together_and_everything_else_alone_in_call_order() {
    let tools = ["read", "read", "bash", "read", "put"].map(allowed);
    let mut agent = Agent::asked(no_limits());
    let reply = agent.reply("", &tools);
    agent.gives(
        InputKind::ModelFinished(reply),
        &["model_finished 2 calls=5", "action_started 2.0 #1", "action_started 2.1 #1"],
    );
    agent.gives(done("2.1", 1), &["call_resolved 2.1 Ok Result"]);
    agent.gives(done("2.0", 1), &["call_resolved 2.0 Ok Result", "action_started 2.2 #1"]);
    agent.gives(failed("2.2", 1), &["call_resolved 2.2 Error Result", "action_started 2.3 #1"]);
    agent.gives(done("2.3", 1), &["call_resolved 2.3 Ok Result", "action_started 2.4 #1"]);
    let events = ["call_resolved 2.4 Ok Result", "turn_finished 3 results=5", "model_requested 2 at 7"];
    agent.gives(done("2.4", 1), &events);
    let results = ["Tool: 2.0 it worked", "Tool: 2.1 it worked", "Tool: 2.2! it failed", "Tool: 2.3 it worked"];
    assert_eq!(agent.shown()[2..6], results, "in call order, whatever came first");
}

#[test]
fn a_call_that_cannot_run_is_answered_without_starting_anything() {
    let problem = PlannedCall { problem: Some("there is no such tool".into()), ..PlannedCall::default() };
    let mut agent = Agent::asked(no_limits());
    let reply = agent.reply("", &[problem, planned("bash", Decision::Deny)]);
    agent.gives(
        InputKind::ModelFinished(reply),
        &["model_finished 2 calls=2", "turn_finished 3 results=2", "model_requested 2 at 4"],
    );
    let told = ["Tool: 2.0! there is no such tool", "Tool: 2.1! Denied (test.bash): by the test"];
    assert_eq!(agent.shown()[2..], told);
}

#[test]
fn a_call_that_is_answered_at_once_starts_nothing_and_counts_for_no_limit() {
    let answered = PlannedCall { answer: Some("here it is".into()), ..allowed("read") };
    let mut agent = Agent::asked(Limits { calls: Some(1), repeated_failures: Some(2), ..no_limits() });
    let reply = agent.reply("", &[answered.clone(), allowed("bash"), answered.clone()]);
    let events = ["model_finished 2 calls=3", "action_started 2.1 #1"];
    agent.gives(InputKind::ModelFinished(reply), &events);
    agent.refuses(done("2.0", 0), Refusal::AlreadyResolved(call("2.0")));
    let events = ["call_resolved 2.1 Ok Result", "turn_finished 3 results=3", "model_requested 2 at 5"];
    agent.gives(done("2.1", 1), &events);
    assert_eq!(agent.shown()[2..], ["Tool: 2.0 here it is", "Tool: 2.1 it worked", "Tool: 2.2 here it is"]);
    let reply = agent.reply("", &[answered]);
    let events = ["model_finished 6 calls=1", "turn_finished 7 results=1", "model_requested 3 at 7"];
    agent.gives(InputKind::ModelFinished(reply), &events);
}

#[test]
fn an_answer_at_once_counts_for_nothing_where_the_call_is_denied_asked_about_or_faulty() {
    let answer = Some("here it is".to_string());
    let with = |planned: PlannedCall| PlannedCall { answer: answer.clone(), ..planned };
    let faulty = PlannedCall { problem: Some("no such field".into()), ..allowed("read") };
    let mut agent = Agent::asked(no_limits());
    let unjudged = PlannedCall { answer: answer.clone(), ..PlannedCall::default() };
    let calls = [planned("read", Decision::Deny), faulty, planned("read", Decision::Ask)].map(with);
    let reply = agent.reply("", &[&calls[..], &[unjudged]].concat());
    agent.gives(InputKind::ModelFinished(reply), &["model_finished 2 calls=4"]);
    assert_eq!(agent.pending(), ["approval/2.2"]);
    agent.takes(approve("2.2"));
    agent.takes(done("2.2", 1));
    let told = ["Tool: 2.0! Denied (test.read): by the test", "Tool: 2.1! no such field", "Tool: 2.2 it worked"];
    assert_eq!(agent.shown()[2..], [&told[..], &["Tool: 2.3! (no output)"]].concat());
}

#[test]
fn an_ask_waits_for_a_person_and_runs_once_approved() {
    let mut agent = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    assert_eq!(agent.pending(), ["approval/2.0"]);
    agent.refuses(done("2.0", 1), Refusal::NotStarted(call("2.0")));
    agent.gives(approve("2.0"), &["approval_granted 2.0 edited=false", "action_started 2.0 #1"]);
    agent.refuses(approve("2.0"), Refusal::NotWaiting(call("2.0")));
    let Some(Effect::RunTool { grant, .. }) = agent.machine.pending().unwrap().into_values().next() else {
        panic!("a tool runs")
    };
    assert_eq!((grant.rule(), grant.tool(), grant.attempt()), ("test.bash", "bash", 1));
}

#[test]
fn a_person_s_denial_reaches_the_model_with_its_reason() {
    let mut agent = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    let deny = InputKind::Deny { call: call("2.0"), by: user(), reason: Some("not today".into()) };
    agent.gives(
        deny.clone(),
        &["call_resolved 2.0 Denied DeniedByPerson", "turn_finished 3 results=1", "model_requested 2 at 3"],
    );
    assert_eq!(agent.shown()[2], "Tool: 2.0! A person denied this call: not today");
    agent.refuses(deny, Refusal::AlreadyResolved(call("2.0")));
}

#[test]
fn a_call_runs_where_its_paths_led_when_its_arguments_were_judged() {
    let asked = PlannedCall { places: vec!["/work/real".into()], ..planned("write", Decision::Ask) };
    let asked = Agent::calling(no_limits(), &[asked]);
    let approve = |edit| InputKind::Approve { call: call("2.0"), by: user(), edit, rule: None };
    let places = |agent: &Agent| match agent.machine.pending().unwrap().into_values().next() {
        Some(Effect::RunTool { grant, .. }) => grant.places().to_vec(),
        other => panic!("a tool runs, not {other:?}"),
    };
    let mut agent = asked.clone();
    agent.takes(approve(None));
    assert_eq!(places(&agent), ["/work/real"]);
    agent.takes(done("2.0", 1));
    assert_eq!(agent.machine.state().calls.get(call("2.0")).unwrap().judged, None);

    let verdict = Verdict { decision: Decision::Ask, rule: "fresh".into(), reason: String::new() };
    for other in [vec!["/work/other".to_string()], vec![]] {
        let mut agent = asked.clone();
        let edit = Edit {
            arguments: "{}".into(),
            verdict: verdict.clone(),
            places: other.clone(),
            changed_by: Vec::new(),
            asking: None,
        };
        agent.takes(approve(Some(edit)));
        assert_eq!(places(&agent), other);
    }
}

#[test]
fn edited_arguments_run_under_their_fresh_verdict_and_the_model_is_told() {
    let edit = |decision| {
        let verdict = Verdict { decision, rule: "fresh".into(), reason: "no such path".into() };
        InputKind::Approve {
            call: call("2.0"),
            by: user(),
            edit: Some(Edit {
                arguments: "{\"x\":1}".into(),
                verdict,
                places: vec![],
                changed_by: Vec::new(),
                asking: None,
            }),
            rule: None,
        }
    };
    let asked = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);

    let mut agent = asked.clone();
    agent.gives(edit(Decision::Ask), &["approval_granted 2.0 edited=true", "action_started 2.0 #1"]);
    let approval = agent.log.iter().find(|event| event.kind.name() == "approval_granted").unwrap().id;
    let Some(Effect::RunTool { grant, arguments }) = agent.machine.pending().unwrap().into_values().next() else {
        panic!("a tool runs")
    };
    assert_eq!((grant.rule(), arguments), ("fresh", approval), "its own rule, and the arguments of the approval");
    agent.takes(done("2.0", 1));
    let told = "Tool: 2.0 [user approved this call with other arguments: {\"x\":1}]\nit worked";
    assert_eq!(agent.shown()[2], told);

    let mut agent = asked;
    let events = [
        "approval_granted 2.0 edited=true",
        "call_resolved 2.0 Denied DeniedByRule",
        "turn_finished 3 results=1",
        "model_requested 2 at 3",
    ];
    agent.gives(edit(Decision::Deny), &events);
    let by = agent.log.iter().find_map(|event| match &event.kind {
        EventKind::CallResolved(data) => data.by.clone(),
        _ => None,
    });
    assert_eq!(by, Some(Principal::rule("fresh")), "the rule denied it, and no person");
    let told = "Tool: 2.0! [user approved this call with other arguments: {\"x\":1}]\nDenied with these arguments: no such path";
    assert_eq!(agent.shown()[2], told);
}

#[test]
fn whoever_approved_a_call_may_deny_it_as_long_as_it_has_not_started() {
    let mut agent =
        Agent::calling(no_limits(), &[planned("bash", Decision::Ask), planned("bash", Decision::Ask), allowed("bash")]);
    agent.gives(approve("2.1"), &["approval_granted 2.1 edited=false"]);
    let deny = |id: &str| InputKind::Deny { call: call(id), by: user(), reason: None };
    agent.refuses(deny("2.2"), Refusal::NotWaiting(call("2.2")));
    agent.gives(deny("2.1"), &["call_resolved 2.1 Denied DeniedByPerson"]);
    agent.refuses(approve("2.1"), Refusal::AlreadyResolved(call("2.1")));
    agent.gives(approve("2.0"), &["approval_granted 2.0 edited=false", "action_started 2.0 #1"]);
    agent.refuses(deny("2.0"), Refusal::NotWaiting(call("2.0")));
}

#[test]
fn an_answer_that_the_output_limit_cut_ends_the_run_as_such_and_is_marked() {
    let mut agent = Agent::asked(no_limits());
    let mut reply = agent.reply("The first half", &[]);
    reply.stop = StopReason::MaxTokens;
    agent.gives(
        InputKind::ModelFinished(reply),
        &["model_finished 2 calls=0", "run_finished max_output turns=1 calls=0"],
    );
    let answer = "The first half\n\n[The answer was cut off here, at the model's output limit.]";
    let ended = Some(Ending { reason: FinishReason::MaxOutput, answer: answer.into(), is_said: true });
    assert_eq!(ending(agent.state(), &agent.bodies), ended);
    agent.refuses(InputKind::Continue { by: user() }, Refusal::NothingOpen);
    agent.says(MessageMode::Message, "go on");
    assert_eq!(agent.shown()[1..], ["Assistant: The first half", "User: go on"]);
}

#[test]
fn what_a_filtered_answer_used_is_paid_for_and_its_model_is_not_asked_again() {
    let mut agent = Agent::asked(no_limits());
    let error = ModelError {
        kind: ModelErrorKind::ContentFilter,
        message: "filtered".into(),
        status: None,
        retry_after_ms: None,
    };
    let usage = Usage { input: 100, output: 7, ..Usage::default() };
    let failed =
        InputKind::ModelFailed { request: 1, error, retry_at: Some(agent.now + 5), usage: Some(usage), received: 0 };
    agent.takes(failed);
    let state = agent.state();
    assert_eq!((state.ended.reason, state.spent.usage, state.spent.cost), (Some(FinishReason::ModelError), usage, 405));
}

#[test]
fn a_person_s_answer_is_a_result() {
    let mut agent = Agent::calling(no_limits(), &[allowed("ask")]);
    assert_eq!(agent.pending(), ["answer/2.0"]);
    let answered = Answered { call: call("2.0"), output: ToolOutput::text("blue"), tokens: 3, by: user() };
    agent.gives(
        InputKind::Answered(answered.clone()),
        &["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "model_requested 2 at 3"],
    );
    assert_eq!(agent.shown()[2], "Tool: 2.0 blue");
    agent.refuses(InputKind::Answered(answered), Refusal::AlreadyResolved(call("2.0")));
}

#[test]
fn a_trace_that_only_waits_can_be_parked() {
    let limits = Limits { run_timeout_ms: Some(60_000), ..no_limits() };
    let parked = |calls: &[PlannedCall]| {
        let agent = Agent::calling(limits.clone(), calls);
        agent.machine.pending().unwrap().keys().all(|key| key.is_waiting())
    };
    assert!(parked(&[planned("bash", Decision::Ask)]));
    assert!(parked(&[allowed("ask")]));
    assert!(parked(&[allowed("agent")]));
    assert!(!parked(&[allowed("bash"), planned("bash", Decision::Ask)]));
    assert!(!Agent::asked(limits.clone()).machine.pending().unwrap().keys().all(|key| key.is_waiting()));
}

#[test]
fn a_steer_skips_what_has_not_started_and_withdraws_an_approval() {
    let tools = [allowed("bash"), allowed("write"), planned("bash", Decision::Ask)];
    let mut agent = Agent::calling(no_limits(), &tools);
    agent.gives(
        mail(MessageMode::Steer, "rather this"),
        &["message_queued Steer", "call_resolved 2.1 Skipped Steer", "call_resolved 2.2 Skipped Steer"],
    );
    assert_eq!(agent.pending(), ["tool/2.0/1"], "what runs is let finish");
    agent.refuses(approve("2.2"), Refusal::AlreadyResolved(call("2.2")));
    let events =
        ["call_resolved 2.0 Ok Result", "turn_finished 3 results=3", "message_joined 6", "model_requested 2 at 6"];
    agent.gives(done("2.0", 1), &events);
}

#[test]
fn a_steer_during_a_model_call_lets_it_finish_and_skips_its_calls() {
    let mut agent = Agent::asked(no_limits());
    agent.gives(mail(MessageMode::Steer, "rather this"), &["message_queued Steer"]);
    assert_eq!(agent.pending(), ["model/1"]);
    let reply = agent.reply("", &[allowed("bash")]);
    let events = [
        "model_finished 2 calls=1",
        "call_resolved 2.0 Skipped Steer",
        "turn_finished 3 results=1",
        "message_joined 4",
        "model_requested 2 at 4",
    ];
    agent.gives(InputKind::ModelFinished(reply), &events);
}

#[test]
fn a_steer_that_waits_at_the_final_answer_continues_the_run() {
    let mut agent = Agent::asked(no_limits());
    agent.says(MessageMode::Steer, "rather this");
    let reply = agent.reply("done", &[]);
    let events = ["model_finished 2 calls=0", "message_joined 3", "model_requested 2 at 3"];
    agent.gives(InputKind::ModelFinished(reply), &events);
}

#[test]
fn what_waits_for_the_end_is_read_one_run_at_a_time_steers_first() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.gives(mail(MessageMode::FollowUp, "second"), &["message_queued FollowUp"]);
    agent.gives(mail(MessageMode::Message, "third"), &["message_queued Message"]);
    agent.takes(done("2.0", 1));
    let reply = agent.reply("first is done", &[]);
    let events = [
        "model_finished 4 calls=0",
        "run_finished final turns=2 calls=1",
        "run_started 2 Continue",
        "message_joined 5",
        "model_requested 3 at 5",
    ];
    agent.gives(InputKind::ModelFinished(reply), &events);
    assert_eq!(agent.shown().last().unwrap(), "User: second");
    agent.answers("second is done");
    assert_eq!(agent.shown().last().unwrap(), "User: third");
    agent.answers("third is done");
    assert_eq!(agent.pending(), [""; 0]);
}

#[test]
fn mail_is_held_after_a_run_that_was_stopped_until_somebody_speaks() {
    let mut agent = Agent::asked(no_limits());
    agent.says(MessageMode::FollowUp, "later");
    agent.gives(
        stop(),
        &["run_closing stopped", "model_abandoned 1 lost=false", "run_finished stopped turns=1 calls=0"],
    );
    assert_eq!(agent.pending(), [""; 0]);
    let events = ["message_queued Message", "run_started 2 Continue", "message_joined 2", "model_requested 2 at 2"];
    agent.gives(mail(MessageMode::Message, "go on"), &events);
    assert_eq!(agent.shown().last().unwrap(), "User: later", "first come, first served");
    agent.answers("yes");
    assert_eq!(agent.shown().last().unwrap(), "User: go on");
}

#[test]
fn a_run_that_ended_without_an_answer_goes_on_without_a_new_message() {
    let go_on = || InputKind::Continue { by: user() };
    let mut agent = Agent::new(no_limits());
    agent.refuses(go_on(), Refusal::NothingOpen);
    agent.says(MessageMode::Message, "do it");
    agent.refuses(go_on(), Refusal::Running);
    agent.works();
    agent.takes(stop());
    agent.gives(go_on(), &["continue_requested", "run_started 2 Continue", "model_requested 3 at 3"]);
    assert_eq!(agent.shown(), ["User: do it", "Assistant: let me see <read>", "Tool: 2.0 it worked"]);
    agent.answers("done");
    agent.refuses(go_on(), Refusal::NothingOpen);
    agent.takes(rewind(1, None));
    agent.takes(stop());
    agent.gives(go_on(), &["continue_requested", "run_started 4 Continue", "model_requested 5 at 1"]);
}

#[test]
fn to_go_on_lets_what_was_held_wait_for_the_end() {
    let mut agent = Agent::asked(no_limits());
    agent.says(MessageMode::FollowUp, "later");
    agent.takes(stop());
    agent.takes(InputKind::Continue { by: user() });
    assert_eq!(agent.shown(), ["User: do it"]);
}

#[test]
fn of_what_was_held_steers_go_first() {
    let mut agent = Agent::asked(no_limits());
    agent.says(MessageMode::FollowUp, "later");
    agent.says(MessageMode::Steer, "sooner");
    agent.takes(stop());
    agent.says(MessageMode::FollowUp, "last");
    let mut read = Vec::new();
    while agent.state().model.is_some() {
        read.push(agent.shown().last().unwrap().clone());
        agent.answers("yes");
    }
    assert_eq!(read, ["User: sooner", "User: later", "User: last"]);
}

#[test]
fn a_stop_ends_what_has_not_started_and_waits_for_what_runs_to_be_dead() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("write")]);
    agent.gives(
        stop(),
        &["run_closing stopped", "call_resolved 2.1 Interrupted Closing", "call_cancelling 2.0 Closing"],
    );
    assert_eq!(agent.pending(), ["kill/2.0/1"]);
    agent.refuses(stop(), Refusal::AlreadyClosing);
    let events =
        ["call_resolved 2.0 Interrupted Stopped", "turn_finished 3 results=2", "run_finished stopped turns=1 calls=1"];
    agent.gives(dead("2.0", 1), &events);
    agent.refuses(stop(), Refusal::NotRunning);
}

#[test]
fn a_result_that_comes_while_its_call_is_being_ended_is_the_resolution() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.takes(stop());
    agent.gives(
        done("2.0", 1),
        &["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "run_finished stopped turns=1 calls=1"],
    );
    agent.refuses(dead("2.0", 1), Refusal::AlreadyResolved(call("2.0")));
}

#[test]
fn a_result_after_the_end_is_logged_once_and_not_used() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.takes(stop());
    agent.takes(dead("2.0", 1));
    let before = agent.state().tree.clone();
    agent.gives(done("2.0", 1), &["late_result 2.0 #1"]);
    assert_eq!(agent.state().tree, before);
    agent.refuses(done("2.0", 1), Refusal::AlreadyResolved(call("2.0")));
}

#[test]
fn one_call_can_be_interrupted_and_the_run_goes_on() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("write")]);
    agent.refuses(InputKind::Interrupt { call: call("2.1") }, Refusal::NotStarted(call("2.1")));
    agent.gives(InputKind::Interrupt { call: call("2.0") }, &["call_cancelling 2.0 Interrupt"]);
    assert_eq!(agent.pending(), ["kill/2.0/1"], "the next call waits until the first is dead");
    agent.gives(dead("2.0", 1), &["call_resolved 2.0 Interrupted Stopped", "action_started 2.1 #1"]);
}

#[test]
fn a_question_to_a_person_has_no_process_that_could_be_interrupted() {
    let mut agent = Agent::calling(no_limits(), &[allowed("ask")]);
    agent.refuses(InputKind::Interrupt { call: call("2.0") }, Refusal::NotWaiting(call("2.0")));
    let mut agent = Agent::calling(no_limits(), &[allowed("agent")]);
    agent.gives(InputKind::Interrupt { call: call("2.0") }, &["call_cancelling 2.0 Interrupt"]);
    assert_eq!(agent.pending(), ["kill/2.0/1"]);
}

#[test]
fn a_stop_does_not_wait_for_a_person() {
    for call in [allowed("ask"), planned("bash", Decision::Ask)] {
        let mut agent = Agent::calling(no_limits(), &[call]);
        agent.takes(stop());
        assert_eq!(agent.pending(), [""; 0]);
        assert_eq!(agent.ended().reason, FinishReason::Stopped);
    }
}

#[test]
fn a_malformed_answer_is_repaired_once_on_a_side_branch() {
    let mut agent = Agent::asked(no_limits());
    let malformed = |agent: &Agent| InputKind::ModelMalformed {
        reply: agent.reply("no json", &[]),
        problem: "not JSON".into(),
        breach: Breach::Protocol,
        repair_tokens: 12,
    };
    let first = malformed(&agent);
    agent.gives(first, &["model_malformed 2 3", "model_requested 2 at 3"]);
    let repair = "User: Your last answer could not be used: not JSON\nAnswer again in the required form.";
    assert_eq!(agent.shown(), ["User: do it", "Assistant: no json", repair]);
    let mut again = agent.clone();
    agent.answers("well formed");
    assert_eq!(agent.ended().turns, 1, "a repair is a model call, but no turn");
    agent.says(MessageMode::Message, "more");
    assert_eq!(agent.shown(), ["User: do it", "Assistant: well formed", "User: more"], "the repair leaves no trace");

    let second = malformed(&again);
    let events =
        ["model_malformed 4 5", "branch_closed Repair done=false", "run_finished protocol_error turns=1 calls=0"];
    again.gives(second, &events);
}

#[test]
fn chunks_fill_a_draft_that_an_answer_without_text_takes() {
    let mut agent = Agent::asked(no_limits());
    for text in ["hel", "lo"] {
        agent.gives(InputKind::ModelChunk { request: 1, delta: Delta::Text { text: text.into() } }, &[]);
    }
    assert_eq!(agent.machine.draft().text, "hello");
    let stale = InputKind::ModelChunk { request: 7, delta: Delta::Text { text: "?".into() } };
    agent.refuses(stale, Refusal::StaleRequest(7));
    let mut reply = agent.reply("", &[]);
    reply.parts.clear();
    agent.takes(InputKind::ModelFinished(reply));
    assert_eq!(ending(agent.state(), &agent.bodies).unwrap().answer, "hello");
    assert_eq!(*agent.machine.draft(), Draft::default());
}

#[test]
fn an_answer_to_another_request_is_refused() {
    let mut agent = Agent::asked(no_limits());
    agent.refuses(InputKind::ModelFinished(reply(2, "?", &[])), Refusal::StaleRequest(2));
    agent.answers("done");
    agent.refuses(InputKind::ModelFinished(reply(1, "again", &[])), Refusal::StaleRequest(1));
}

#[test]
fn a_new_spec_takes_effect_at_the_next_request_and_not_before() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    let mut spec = mainpath_testkit::world::spec(no_limits(), 100_000);
    spec.instructions = "Work otherwise.".into();
    agent.gives(InputKind::SetSpec { spec: Arc::new(spec), by: None }, &["spec_changed"]);
    let set = agent.log.last().unwrap().id;
    assert_eq!(pack(agent.state()).unwrap().under.spec, 1);
    agent.takes(done("2.0", 1));
    assert_eq!(pack(agent.state()).unwrap().under.spec, set);
}

#[test]
fn time_never_goes_back_in_the_log() {
    let mut agent = Agent::asked(no_limits());
    agent.now = 10;
    agent.answers("done");
    assert!(agent.log.windows(2).all(|pair| pair[0].ts <= pair[1].ts));
}
