//! What people are told of a run that has ended: where the trace stands, what was done, what blocks it, and what helps.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// What stands in for the answer of the last run.
#[track_caller]
fn told_of(agent: &Agent) -> String {
    let ending = ending(agent.state(), &agent.bodies).expect("a run has ended");
    assert!(!ending.is_said, "{ending:?}");
    ending.answer
}

fn helps(agent: &Agent) -> Help {
    what_helps(agent.state(), &agent.bodies)
}

/// A call that a rule denies.
fn denied_by(tool: &str, rule: &str, reason: &str) -> PlannedCall {
    let verdict = Verdict { decision: Decision::Deny, rule: rule.into(), reason: reason.into() };
    PlannedCall { verdict: Some(verdict), ..allowed(tool) }
}

/// An agent whose model makes this call until the run ends for it.
fn insisting(planned: &PlannedCall) -> Agent {
    let mut agent = Agent::asked(Limits { repeated_failures: Some(2), ..no_limits() });
    (0..2).for_each(|_| drop(agent.calls(std::slice::from_ref(planned))));
    assert_eq!(agent.ended().reason, FinishReason::RepeatedFailure);
    agent
}

fn add(description: &str, under: Option<u32>) -> GoalOp {
    GoalOp::Add { description: description.into(), reason: "why".into(), under: under.map(GoalId), after: None }
}

fn finished(id: Option<u32>) -> GoalOp {
    GoalOp::Done { id: id.map(GoalId), summary: "it works".into() }
}

fn plans(agent: &mut Agent, ops: Vec<GoalOp>) {
    agent.takes(InputKind::ChangeGoals { ops, by: user() });
}

#[test]
fn one_word_says_where_a_trace_stands() {
    let mut agent = Agent::new(no_limits());
    assert_eq!(status(agent.state()), "running", "nothing was said yet");
    agent.says(MessageMode::Message, "do it");
    assert_eq!(status(agent.state()), "running");
    agent.calls(&[planned("bash", Decision::Ask)]);
    assert_eq!(status(agent.state()), "waiting");
    agent.takes(approve("2.0"));
    assert_eq!(status(agent.state()), "running");
    agent.takes(done("2.0", 1));
    let mut other = agent.clone();
    agent.answers("done");
    assert_eq!(status(agent.state()), "completed");
    agent.says(MessageMode::Message, "more");
    assert_eq!(status(agent.state()), "running", "a run goes on");
    agent.takes(stop());
    assert_eq!(status(agent.state()), "stopped");
    other.takes(model_failed(2, ModelErrorKind::Auth, None));
    assert_eq!(status(other.state()), "failed");
}

#[test]
fn a_conversation_from_elsewhere_is_imported_until_something_is_said_here() {
    let mut agent = Agent::new(no_limits());
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::User, &[]))));
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::Assistant, &[]))));
    assert_eq!(status(agent.state()), "imported");
    let message = Input { more: true, ..Input::new(agent.now, mail(MessageMode::Message, "go on")) };
    agent.offer(&message).unwrap();
    assert_eq!(status(agent.state()), "running", "a message waits");
}

#[test]
fn nothing_is_told_of_a_run_while_another_goes_on_or_once_it_was_cleared() {
    let mut agent = told();
    let said = |answer: &str| Some(Ending { reason: FinishReason::Final, answer: answer.into(), is_said: true });
    assert_eq!(ending(agent.state(), &agent.bodies), said("done"));
    agent.says(MessageMode::Message, "more");
    assert_eq!(ending(agent.state(), &agent.bodies), None);
    agent.takes(clear());
    assert_eq!(ending(agent.state(), &agent.bodies), None);
    agent.says(MessageMode::Message, "something else");
    agent.answers("as you like");
    assert_eq!(ending(agent.state(), &agent.bodies), said("as you like"));
}

#[test]
fn an_answer_from_elsewhere_is_told_word_for_word() {
    let mut agent = told();
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::User, &[]))));
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::Assistant, &[]))));
    let answer = "said elsewhere".into();
    assert_eq!(
        ending(agent.state(), &agent.bodies),
        Some(Ending { reason: FinishReason::Final, answer, is_said: true })
    );
}

#[test]
fn only_what_the_last_run_did_is_told() {
    let mut agent = Agent::asked(no_limits());
    plans(&mut agent, vec![add("house", None), add("kitchen", Some(1)), add("garden", Some(1)), finished(Some(2))]);
    agent.works();
    agent.answers("so far");
    agent.says(MessageMode::Message, "go on");
    agent.takes(stop());
    assert_eq!(
        told_of(&agent),
        "The run ended before a final answer (stopped).\n\nDone: no tools were run.\n\
         Blocked by: the run was stopped.\nNext: continue the trace. Still open: garden."
    );
    agent.says(MessageMode::Message, "go on");
    plans(&mut agent, vec![add("cellar", Some(1)), add("roof", Some(1)), finished(Some(5))]);
    agent.works();
    agent.takes(stop());
    assert_eq!(
        told_of(&agent),
        "The run ended before a final answer (stopped).\n\nDone: read × 1; roof.\n\
         Blocked by: the run was stopped.\nLast message: let me see\nNext: continue the trace. Still open: garden; cellar."
    );
}

#[test]
fn a_step_from_an_earlier_run_that_was_done_in_the_last_one_is_told() {
    for (id, focus) in [(Some(2), None), (None, Some(GoalOp::Focus { id: GoalId(2) }))] {
        let mut agent = Agent::asked(no_limits());
        plans(&mut agent, vec![add("house", None), add("kitchen", Some(1)), add("garden", Some(1))]);
        agent.answers("so far");
        agent.says(MessageMode::Message, "go on");
        plans(&mut agent, focus.into_iter().collect::<Vec<_>>().into_iter().chain([add("cellar", Some(1))]).collect());
        let reply = Reply { goals: vec![finished(id)], ..*agent.reply("the kitchen is done", &[allowed("read")]) };
        agent.takes(InputKind::ModelFinished(Box::new(reply)));
        agent.takes(stop());
        agent.takes(dead("4.0", 1));
        assert_eq!(
            told_of(&agent),
            "The run ended before a final answer (stopped).\n\nDone: no tool call succeeded; kitchen.\n\
             Blocked by: the run was stopped.\nLast message: the kitchen is done\nNext: continue the trace. Still open: garden; cellar.",
            "{id:?}"
        );
    }
}

#[test]
fn a_step_from_an_earlier_run_that_the_last_one_completed_in_any_way_is_told_and_no_other() {
    let step =
        |id: &str, title: &str, status| Step { id: Some(id.into()), title: Some(title.into()), status, under: None };
    let update = |id: &str| GoalOp::Update {
        steps: vec![Step { id: Some(id.into()), title: None, status: Some(GoalStatus::Completed), under: None }],
    };
    let patch = |id, status| GoalOp::Patch { id: GoalId(id), description: None, reason: None, status: Some(status) };
    let (done, active) = (GoalStatus::Completed, GoalStatus::InProgress);
    let all = |kitchen| GoalOp::Set {
        steps: vec![step("3", "cellar", Some(done)), step("1", "kitchen", kitchen), step("2", "garden", None)],
    };
    let named = vec![all(None)];
    let numbered = vec![add("cellar", None), add("kitchen", None), add("garden", None), finished(Some(1))];
    let cases = [
        // The names are numbers of other goals.
        (&named, vec![update("1")]),
        (&named, vec![update("3"), update("1")]),
        (&named, vec![all(Some(done))]),
        (&named, vec![patch(2, done)]),
        (&numbered, vec![update("2")]),
        (&numbered, vec![patch(2, done), patch(2, active), patch(2, done)]),
    ];
    for (plan, ops) in cases {
        let mut agent = Agent::asked(no_limits());
        plans(&mut agent, plan.clone());
        agent.answers("so far");
        agent.says(MessageMode::Message, "go on");
        plans(&mut agent, ops.clone());
        agent.takes(stop());
        assert_eq!(
            told_of(&agent),
            "The run ended before a final answer (stopped).\n\nDone: no tools were run; kitchen.\n\
             Blocked by: the run was stopped.\nNext: continue the trace. Still open: garden.",
            "{ops:?}"
        );
    }
}

#[test]
fn an_earlier_task_that_stands_for_a_plan_is_not_told_as_open() {
    let mut agent = Agent::asked(no_limits());
    let reply = Reply { goals: vec![add("paint the wall", None)], ..*agent.reply("let me see", &[allowed("read")]) };
    agent.takes(InputKind::ModelFinished(Box::new(reply)));
    agent.takes(done("2.0", 1));
    let mut same = agent.clone();
    same.takes(stop());
    assert!(told_of(&same).ends_with("Still open: paint the wall."), "{}", told_of(&same));
    agent.answers("so far");
    agent.says(MessageMode::Message, "something else");
    agent.takes(stop());
    assert!(told_of(&agent).ends_with("Next: continue the trace."), "{}", told_of(&agent));
}

#[test]
fn a_plan_made_before_the_first_answer_is_of_the_run_that_the_message_opened() {
    let mut agent = Agent::asked(no_limits());
    plans(&mut agent, vec![add("paint the wall", None)]);
    let mut same = agent.clone();
    same.takes(stop());
    assert!(told_of(&same).ends_with("Still open: paint the wall."), "{}", told_of(&same));
    agent.answers("so far");
    agent.says(MessageMode::Message, "something else");
    agent.takes(stop());
    assert!(told_of(&agent).ends_with("Next: continue the trace."), "{}", told_of(&agent));
}

#[test]
fn a_denial_is_told_with_who_denied_it() {
    let limits = Limits { approval_timeout_ms: Some(500), ..no_limits() };
    let mut agent = Agent::calling(limits, &["bash", "write", "put"].map(|tool| planned(tool, Decision::Ask)));
    agent.takes(InputKind::Deny { call: call("2.1"), by: user(), reason: None });
    agent.now += 500;
    agent.takes(InputKind::Timer { key: TimerKey::Call(call("2.0")) });
    agent.takes(InputKind::Timer { key: TimerKey::Call(call("2.2")) });
    agent.takes(stop());
    assert_eq!(
        told_of(&agent),
        "The run ended before a final answer (stopped).\n\nDone: no tool call succeeded.\nBlocked by: the run was stopped. \
         Denied: bash × 1 (by timeout: nobody answered in time), put × 1 (by timeout: nobody answered in time), \
         write × 1 (by user).\nLast message: let me see\nNext: continue the trace. Approve what was denied (the last such call is 2.2), \
         or allow it by a rule."
    );
}

#[test]
fn a_call_denied_only_for_want_of_a_person_is_to_be_approved_and_one_that_a_rule_denies_to_be_allowed() {
    let unattended = insisting(&denied_by("bash", "builtin.headless", "This changes files."));
    assert_eq!(helps(&unattended), Help::Approve(call("4.0")));
    let by_rule = insisting(&denied_by("bash", "bash(rm *)", "not here"));
    assert_eq!(helps(&by_rule), Help::Allow(call("4.0")));
    // A rule that denied what an approval had changed it to, and a person.
    let mut edited = Agent::asked(Limits { repeated_failures: Some(2), ..no_limits() });
    let mut person = edited.clone();
    for id in ["2.0", "4.0"] {
        let verdict = Verdict { decision: Decision::Deny, rule: "bash(rm *)".into(), reason: "not here".into() };
        let edit =
            Some(Edit { arguments: "{}".into(), verdict, places: Vec::new(), changed_by: Vec::new(), asking: None });
        edited.calls(&[planned("bash", Decision::Ask)]);
        edited.takes(InputKind::Approve { call: call(id), by: user(), edit, rule: None });
        person.calls(&[planned("bash", Decision::Ask)]);
        person.takes(InputKind::Deny { call: call(id), by: user(), reason: None });
    }
    assert_eq!([helps(&edited), helps(&person)], [Help::Allow(call("4.0")), Help::Approve(call("4.0"))]);
    assert_eq!(helps(&told()), Help::GoOn);
}

#[test]
fn a_tool_that_the_run_was_not_given_is_to_be_given() {
    let reason = "The tool \"web_fetch\" is not among the tools of this run.";
    let agent = insisting(&denied_by("web_fetch", "builtin.allowed-tools", reason));
    assert_eq!(helps(&agent), Help::Give(call("4.0")));
    for call in agent.state().calls.iter() {
        assert_eq!(tool_of(call, &agent.bodies), Some("web_fetch"));
        assert_eq!(lacking(call, &agent.bodies), Some("web_fetch"));
    }
    assert_eq!(
        told_of(&agent),
        "The run ended before a final answer (repeated failure).\n\nDone: no tool call succeeded.\n\
         Blocked by: the run was stuck in a loop. Details: tools that this run does not have were called in 2 turns in a row. \
         Denied: web_fetch × 2 (not among the tools of this run).\nLast message: let me see\n\
         Next: look at the failure, then continue the trace with an instruction. \
         Give the run the tools that it called and does not have (--tools): web_fetch."
    );
}

/// The server finds the request that is pending too large.
fn overflows(agent: &mut Agent) {
    agent.takes(model_failed(agent.request(), ModelErrorKind::Overflow, None));
}

#[test]
fn where_one_message_alone_is_too_large_for_the_server_it_is_to_be_smaller() {
    let mut agent = Agent::asked(no_limits());
    overflows(&mut agent);
    assert_eq!(helps(&agent), Help::Smaller { message: Seq(1), after: None, tokens: 10, room: 99_872 });
    assert!(told_of(&agent).contains("Next: say less (message 1 alone is too large), "), "{}", told_of(&agent));
}

#[test]
fn where_the_conversation_is_too_large_for_the_server_it_is_to_be_shorter() {
    let ended = |limits| {
        let mut agent = Agent::asked(limits);
        (0..4).for_each(|_| agent.works());
        overflows(&mut agent);
        agent.summarises();
        overflows(&mut agent);
        assert_eq!((agent.ended().reason, helps(&agent)), (FinishReason::ContextLimit, Help::Shorten));
        told_of(&agent).lines().last().unwrap().to_string()
    };
    let window = "Next: rewind, compact or clear the conversation, or use a model with a larger window.";
    assert_eq!(ended(no_limits()), window);
    let chars = Limits { context_chars: Some(20_000), ..no_limits() };
    assert_eq!(ended(chars), "Next: rewind, compact, or raise max_context_chars.");
}

#[test]
fn a_step_that_was_new_and_finished_at_once_is_told_and_so_is_a_goal_with_nothing_left_below_it() {
    let mut agent = told();
    agent.says(MessageMode::Message, "go on");
    let step = |id: &str, status| Step { id: Some(id.into()), title: Some(id.into()), status, under: None };
    let under = |step: Step, parent: &str| Step { under: Some(parent.into()), ..step };
    let steps = vec![
        step("house", None),
        under(step("kitchen", Some(GoalStatus::Completed)), "house"),
        step("garden", None),
        under(step("shed", None), "garden"),
    ];
    let reply = Reply { goals: vec![GoalOp::Set { steps }], ..*agent.reply("let me see", &[allowed("read")]) };
    agent.takes(InputKind::ModelFinished(Box::new(reply)));
    agent.takes(stop());
    agent.takes(dead("6.0", 1));
    let told = told_of(&agent);
    assert!(told.contains("Done: no tool call succeeded; kitchen.\n"), "{told}");
    assert!(told.ends_with("Still open: house; shed."), "{told}");
}

#[test]
fn what_continues_a_trace_follows_from_its_last_run_and_from_what_waits() {
    use Continuation::{Answered, Continue, Drive, Empty, FinishAnswer};
    let how = |agent: &Agent| how_to_continue(agent.state());
    let mut agent = Agent::new(no_limits());
    assert_eq!(how(&agent), Empty);
    agent.says(MessageMode::Message, "Do it.");
    assert_eq!(how(&agent), Drive);
    agent.takes(stop());
    assert_eq!((agent.ended().reason, how(&agent)), (FinishReason::Stopped, Continue));
    agent.takes(InputKind::Continue { by: user() });
    let done = agent.reply("Done.", &[]);
    agent.takes(InputKind::ModelFinished(done));
    assert_eq!((agent.ended().reason, how(&agent)), (FinishReason::Final, Answered));
    agent.takes(InputKind::Clear { by: user() });
    assert_eq!(how(&agent), Empty);

    let mut agent = Agent::asked(no_limits());
    let mut reply = agent.reply("The first half", &[]);
    reply.stop = StopReason::MaxTokens;
    agent.takes(InputKind::ModelFinished(reply.clone()));
    assert_eq!((agent.ended().reason, how(&agent)), (FinishReason::MaxOutput, FinishAnswer));

    // A message that was sent meanwhile waits: it is answered, and the answer before it is left as it is.
    let mut agent = Agent::asked(no_limits());
    agent.says(MessageMode::FollowUp, "And then?");
    agent.takes(InputKind::ModelFinished(reply));
    assert_eq!((agent.ended().reason, how(&agent)), (FinishReason::MaxOutput, Continue));
    agent.takes(InputKind::Continue { by: user() });
    assert_eq!(how(&agent), Drive);
    assert_eq!(agent.shown()[1..], ["Assistant: The first half", "User: And then?"]);
}
