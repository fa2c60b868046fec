//! A denial that somebody takes back: the very call is made, once, and its result joins the conversation where that stands.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world;
use mainpath_types::*;
use std::sync::Arc;

/// Somebody approves a call that was denied; rules say this of it now.
fn approves(id: &str, decision: Decision) -> InputKind {
    let verdict = Verdict { decision, rule: "test.now".into(), reason: "by the test".into() };
    let edit =
        Some(Edit { arguments: "{\"x\":1}".into(), verdict, places: Vec::new(), changed_by: Vec::new(), asking: None });
    InputKind::Approve { call: call(id), by: user(), edit, rule: None }
}

/// An agent whose call was denied, and that has given up.
fn denied() -> Agent {
    let mut agent = Agent::calling(no_limits(), &[planned("bash", Decision::Deny)]);
    agent.answers("I may not");
    agent
}

#[test]
fn a_call_that_was_denied_is_made_once_somebody_approves_it() {
    let mut agent = denied();
    let begun = [
        "approval_granted 2.0 edited=true",
        "run_started 2 Continue",
        "call_reopened 2.0 at 5",
        "action_started 5.0 #1",
    ];
    agent.gives(approves("2.0", Decision::Ask), &begun);
    assert_eq!(agent.pending(), ["tool/5.0/1"]);
    agent
        .gives(done("5.0", 1), &["call_resolved 5.0 Ok Result", "turn_finished 6 results=1", "model_requested 3 at 6"]);
    assert_eq!(
        agent.shown(),
        [
            "User: do it",
            "Assistant: let me see <bash>",
            "Tool: 2.0! Denied (test.bash): by the test",
            "Assistant: I may not",
            "User: [user has approved the call 2.0 of bash, which was denied. It is made now, just so: {\"x\":1}]",
            "User: [The result of the approved call of bash:] it worked",
        ]
    );
    agent.answers("done");
    assert_eq!(agent.ended().reason, FinishReason::Final);
    agent.refuses(approves("2.0", Decision::Ask), Refusal::AlreadyResolved(call("2.0")));
}

#[test]
fn so_is_one_that_a_person_denied_or_that_nobody_decided_on() {
    let asking = || {
        let limits = Limits { approval_timeout_ms: Some(500), ..no_limits() };
        Agent::calling(limits, &[planned("bash", Decision::Ask)])
    };
    let mut person = asking();
    person.takes(InputKind::Deny { call: call("2.0"), by: user(), reason: None });
    let mut nobody = asking();
    nobody.now += 500;
    nobody.takes(InputKind::Timer { key: TimerKey::Call(call("2.0")) });
    for mut agent in [person, nobody] {
        // The model is being asked: what was approved waits for its answer.
        agent.gives(approves("2.0", Decision::Allow), &["approval_granted 2.0 edited=true"]);
        agent.answers("I may not");
        assert_eq!(agent.pending(), ["tool/5.0/1"], "and comes before the run's end");
        let mut agent = agent.crashed();
        agent.takes(recovered());
        assert_eq!(agent.state().calls.get(call("5.0")).unwrap().state, CallState::Done(Resolution::Unknown));
        agent.answers("Who knows");
    }
}

#[test]
fn an_approval_changes_no_rule_and_reaches_only_what_is_on_the_path() {
    let mut agent = denied();
    let still = Box::new(Verdict { decision: Decision::Deny, rule: "test.now".into(), reason: "by the test".into() });
    agent.refuses(approves("2.0", Decision::Deny), Refusal::StillDenied(call("2.0"), still));
    let without = InputKind::Approve { call: call("2.0"), by: user(), edit: None, rule: None };
    agent.refuses(without, Refusal::AlreadyResolved(call("2.0")));
    agent.takes(rewind(1, Some("another way")));
    agent.refuses(approves("2.0", Decision::Ask), Refusal::OffPath(Seq(2)));
    agent.calls(&[planned("bash", Decision::Deny), planned("bash", Decision::Deny)]);
    agent.takes(approves("6.1", Decision::Ask));
    agent.takes(approves("6.0", Decision::Ask));
    agent.takes(clear());
    assert_eq!(agent.state().approvals.reopened, [], "a clear takes them back");
}

#[test]
fn several_are_made_one_after_the_other_in_the_order_of_their_approvals() {
    let mut agent = Agent::calling(no_limits(), &[planned("bash", Decision::Deny), planned("write", Decision::Deny)]);
    agent.takes(approves("2.1", Decision::Ask));
    agent.takes(approves("2.0", Decision::Ask));
    agent.answers("I may not");
    assert_eq!(agent.pending(), ["tool/6.1/1"]);
    agent.takes(done("6.1", 1));
    assert_eq!(agent.pending(), ["tool/8.0/1"]);
    agent.takes(failed("8.0", 1));
    agent.answers("one of two");
    let made: Vec<_> =
        agent.state().calls.iter().skip(2).map(|call| (call.tool.clone().unwrap(), call.state)).collect();
    assert_eq!(
        made,
        [("write".into(), CallState::Done(Resolution::Ok)), ("bash".into(), CallState::Done(Resolution::Error))]
    );
}

#[test]
fn it_is_a_call_of_its_own_under_what_holds_now() {
    let spec = |per_ms, timeout_ms, effect| {
        let mut spec = world::spec(no_limits(), 100_000);
        let tool = ToolSpec { rate: Some(RateLimit { calls: 1, per_ms }), timeout_ms, effect, ..spec.tools[0].clone() };
        spec.tools[0] = tool;
        spec
    };
    let mut agent = Agent::with_spec(spec(1_000, Some(200), EffectClass::ReadOnly));
    agent.says(MessageMode::Message, "do it");
    agent.calls(&[allowed("read"), planned("read", Decision::Ask)]);
    // It was approved, waited for its time, and was denied after all.
    agent.gives(approve("2.1"), &["approval_granted 2.1 edited=false", "call_delayed 2.1 until 2000"]);
    agent.takes(InputKind::Deny { call: call("2.1"), by: user(), reason: None });
    agent.takes(done("2.0", 1));
    agent.answers("I may not");
    let mut other = spec(9_000, Some(700), EffectClass::Idempotent);
    other.tools[0].can_probe = true;
    agent.takes(InputKind::SetSpec { spec: Arc::new(other), by: None });
    agent.now = 5_000;
    let begun = [
        "approval_granted 2.1 edited=true",
        "run_started 2 Continue",
        "call_reopened 2.1 at 6",
        "call_delayed 6.1 until 10000",
    ];
    agent.gives(approves("2.1", Decision::Ask), &begun);
    let event = |name| agent.log.iter().rfind(|event| event.kind.name() == name).unwrap().id;
    let made = agent.state().calls.get(call("6.1")).unwrap();
    let verdict = Verdict { decision: Decision::Ask, rule: "test.now".into(), reason: "by the test".into() };
    let as_it_is = Call {
        id: call("6.1"),
        tool: Some("read".into()),
        effect: EffectClass::Idempotent,
        can_probe: true,
        timeout_ms: Some(700),
        state: CallState::Ready,
        attempt: 0,
        started: 5_000,
        not_before: 10_000,
        judged: Some(Box::new(Judged { verdict, places: Vec::new() })),
        question: None,
        approved: true,
        arguments: event("approval_granted"),
        result: event("call_reopened"),
        tokens: 0,
        memory: None,
        once: false,
        // Denied again, it can be approved again.
        reopened: false,
        may_be_late: false,
    };
    assert_eq!(*made, as_it_is);
    agent.now = 10_000;
    agent.gives(InputKind::Timer { key: TimerKey::Call(call("6.1")) }, &["call_due 6.1", "action_started 6.1 #1"]);
    let timer = &agent.machine.pending().unwrap()[&EffectKey::Timer(TimerKey::Call(call("6.1")))];
    assert_eq!(*timer, Effect::Timer { at: 10_700 });
}

#[test]
fn a_call_runs_with_the_arguments_of_the_model_of_a_hook_or_of_an_approval() {
    let hooked = PlannedCall { arguments: Some("{\"by\":\"hook\"}".into()), ..allowed("bash") };
    let mut agent = Agent::calling(no_limits(), &[allowed("read"), hooked, planned("write", Decision::Ask)]);
    agent.takes(done("2.0", 1));
    agent.takes(done("2.1", 1));
    agent.takes(approves("2.2", Decision::Allow));
    agent.takes(done("2.2", 1));
    let arguments = |id: &str| {
        let held = agent.state().calls.get(call(id)).unwrap().arguments;
        arguments_in(agent.bodies.get(held).unwrap(), call(id))
    };
    assert_eq!(["2.0", "2.1", "2.2"].map(arguments), [Some("{}"), Some("{\"by\":\"hook\"}"), Some("{\"x\":1}")]);
    let other = agent.bodies.get(agent.state().calls.get(call("2.2")).unwrap().result).unwrap();
    assert_eq!(arguments_in(other, call("2.2")), None, "a result holds none");
}

#[test]
fn its_result_can_be_shown_again() {
    let mut agent = denied();
    agent.takes(approves("2.0", Decision::Ask));
    agent.takes(done("5.0", 1));
    agent.answers("done");
    agent.takes(InputKind::RecallCalls { calls: vec![call("5.0")] });
    agent.says(MessageMode::Message, "and now");
    let again = "User: The result of the earlier call 5.0 of bash, shown again:\n\nit worked";
    assert!(agent.shown().contains(&again.to_string()), "{:#?}", agent.shown());
}

#[test]
fn the_model_is_told_which_arguments_were_put_in_the_place_of_its_own() {
    let hooked = PlannedCall { arguments: Some("{\"by\":\"hook\"}".into()), ..allowed("bash") };
    let mut agent = Agent::calling(no_limits(), &[hooked]);
    agent.takes(done("2.0", 1));
    let told = "Tool: 2.0 [The arguments of this call were changed by the owner's rules: {\"by\":\"hook\"}]\nit worked";
    assert_eq!(agent.shown()[2], told);
}
