//! Questions to people: sent to whom they are for, answered, or expired; also over crashes.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn answered(text: &str) -> InputKind {
    InputKind::Answered(Answered { call: call("2.0"), output: ToolOutput::text(text), tokens: 3, by: user() })
}

fn asking(expires_ms: Option<u64>, default: Option<&str>, to: Option<&str>) -> PlannedCall {
    let asking = Asking { expires_ms, default: default.map(Into::into), to: to.map(Into::into) };
    PlannedCall { asking: Some(Box::new(asking)), ..allowed("ask") }
}

fn due() -> InputKind {
    InputKind::Timer { key: TimerKey::Call(call("2.0")) }
}

fn went(problem: Option<&str>, retry_at: Option<u64>) -> InputKind {
    let problem = problem.map(String::from);
    let channel = problem.is_none().then(|| "webhook".into());
    let receipt = problem.is_none().then(|| "om_1".into());
    InputKind::QuestionSent(QuestionSent { call: call("2.0"), to: "lan".into(), channel, receipt, problem, retry_at })
}

#[test]
fn a_question_that_expires_gives_its_default_and_says_so() {
    let agent = Agent::calling(no_limits(), &[asking(Some(5_000), Some("blue"), None)]);
    assert_eq!(agent.pending(), ["answer/2.0", "timer/call/2.0"]);
    let at = agent.now + 5_000;
    assert_eq!(answer_due(agent.state(), call("2.0")), Some(at));
    // The time goes on over a restart.
    let mut agent = agent.crashed();
    agent.takes(recovered());
    assert_eq!(agent.pending(), ["answer/2.0", "timer/call/2.0"]);
    agent.now = at - 1;
    agent.refuses(due(), Refusal::NotDue(at));
    agent.now = at + 86_400_000;
    let events = ["call_resolved 2.0 Ok QuestionExpired", "turn_finished 3 results=1", "model_requested 2 at 3"];
    agent.gives(due(), &events);
    assert_eq!(agent.shown()[2], "Tool: 2.0 Nobody answered in time, so the default counts: blue");
    agent.refuses(answered("red"), Refusal::AlreadyResolved(call("2.0")));
    agent.answers("done");
}

#[test]
fn without_a_default_the_model_is_told_that_nobody_answered() {
    let mut agent = Agent::calling(no_limits(), &[asking(Some(5_000), None, None)]);
    agent.now += 5_000;
    agent.takes(due());
    assert_eq!(agent.shown()[2], "Tool: 2.0! Nobody answered in time, and the question has no default.");
    assert_eq!(agent.state().calls.get(call("2.0")).unwrap().state, CallState::Done(Resolution::Error));
}

#[test]
fn an_answer_in_time_ends_the_waiting() {
    let mut agent = Agent::calling(no_limits(), &[asking(Some(5_000), Some("blue"), None)]);
    agent.now += 4_999;
    agent.takes(answered("red"));
    assert_eq!(agent.shown()[2], "Tool: 2.0 red");
    agent.now += 1;
    agent.refuses(due(), Refusal::NoTimer);
}

#[test]
fn a_question_for_somebody_is_sent_until_that_is_on_record() {
    let agent = Agent::calling(no_limits(), &[asking(None, None, Some("lan"))]);
    assert_eq!(agent.pending(), ["answer/2.0", "send/2.0"]);
    assert!(!agent.machine.pending().unwrap().keys().all(|key| key.is_waiting()), "it is not parked unsent");
    // Nobody knows whether it had gone: it goes again, by the same id.
    let mut agent = agent.crashed();
    agent.takes(recovered());
    assert_eq!(agent.pending(), ["answer/2.0", "send/2.0"]);
    agent.gives(went(None, None), &["question_sent"]);
    assert_eq!(agent.pending(), ["answer/2.0"]);
    let question = agent.state().calls.get(call("2.0")).unwrap().question.clone().unwrap();
    assert_eq!((question.sent, question.receipt.as_deref()), (true, Some("om_1")));
    agent.refuses(went(None, None), Refusal::NotWaiting(call("2.0")));
    let mut agent = agent.crashed();
    agent.takes(recovered());
    assert_eq!(agent.pending(), ["answer/2.0"], "what went does not go again");
    agent.takes(answered("yes"));
    agent.refuses(went(None, None), Refusal::AlreadyResolved(call("2.0")));
    assert_eq!(agent.state().calls.get(call("2.0")).unwrap().question, None);
}

#[test]
fn what_could_not_be_sent_is_sent_again_in_its_time_unless_it_expires_first() {
    let mut agent = Agent::calling(no_limits(), &[asking(Some(9_000), None, Some("lan"))]);
    let began = agent.now;
    agent.takes(went(Some("nobody there"), Some(began + 4_000)));
    let timer =
        |agent: &Agent| match agent.machine.pending().unwrap().get(&EffectKey::Timer(TimerKey::Call(call("2.0")))) {
            Some(Effect::Timer { at }) => *at - began,
            other => panic!("a timer, not {other:?}"),
        };
    assert_eq!(timer(&agent), 4_000);
    agent.now = began + 4_000;
    agent.gives(due(), &["call_due 2.0"]);
    assert_eq!(agent.pending(), ["answer/2.0", "timer/call/2.0", "send/2.0"]);
    assert_eq!(timer(&agent), 9_000);
    agent.takes(went(Some("nobody there"), Some(began + 20_000)));
    assert_eq!(timer(&agent), 9_000);
    agent.now = began + 9_000;
    let events = ["call_resolved 2.0 Error QuestionExpired", "turn_finished 3 results=1", "model_requested 2 at 3"];
    agent.gives(due(), &events);
}

#[test]
fn who_approves_a_question_with_other_arguments_says_when_that_one_expires() {
    let ask = PlannedCall { verdict: planned("ask", Decision::Ask).verdict, ..asking(Some(9_000), None, Some("lan")) };
    let mut agent = Agent::calling(no_limits(), &[ask]);
    assert_eq!(agent.pending(), ["approval/2.0"]);
    let verdict = Verdict { decision: Decision::Allow, rule: "fresh".into(), reason: String::new() };
    let asking = Some(Box::new(Asking { expires_ms: Some(50), default: None, to: None }));
    let edit = Edit { arguments: "{}".into(), verdict, places: Vec::new(), changed_by: Vec::new(), asking };
    agent.takes(InputKind::Approve { call: call("2.0"), by: user(), edit: Some(edit), rule: None });
    assert_eq!(agent.pending(), ["answer/2.0", "timer/call/2.0"], "it goes to nobody any more");
    assert_eq!(answer_due(agent.state(), call("2.0")), Some(agent.now + 50));
}

#[test]
fn a_run_that_is_stopped_asks_no_longer() {
    let mut agent = Agent::calling(no_limits(), &[asking(Some(5_000), None, Some("lan"))]);
    agent.takes(stop());
    assert_eq!(agent.pending(), Vec::<String>::new());
    agent.refuses(answered("yes"), Refusal::AlreadyResolved(call("2.0")));
}
