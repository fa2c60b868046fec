//! What limits single tools and single calls: rates, caps, repetitions, approvals that expire, rules made of approvals.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world::spec;
use mainpath_types::*;
use serde_json::json;
use std::sync::Arc;

/// An agent at its first request, with these limits on one of its tools.
fn limited(limits: Limits, name: &str, change: impl Fn(&mut ToolSpec)) -> Agent {
    let mut agent = Agent::new(limits.clone());
    let mut spec = spec(limits, 100_000);
    spec.tools.iter_mut().filter(|tool| tool.name == name).for_each(change);
    agent.gives(InputKind::SetSpec { spec: Arc::new(spec), by: None }, &["spec_changed"]);
    agent.says(MessageMode::Message, "do it");
    agent
}

fn rated(calls: u32, per_ms: Millis) -> Agent {
    limited(no_limits(), "read", |tool| tool.rate = Some(RateLimit { calls, per_ms }))
}

fn busy(id: &str, attempt: u32) -> InputKind {
    let output = ToolOutput { transient: true, ..ToolOutput::failed("busy", "not now") };
    InputKind::ToolFinished { call: call(id), attempt, output, tokens: 3 }
}

fn time(id: &str) -> InputKind {
    InputKind::Timer { key: TimerKey::Call(call(id)) }
}

#[test]
fn calls_beyond_a_tools_rate_wait_and_then_start() {
    let mut agent = rated(2, 1_000);
    let made = agent.calls(&[allowed("read"), allowed("read"), allowed("read")]);
    let now = agent.now;
    let started = ["action_started 2.0 #1", "action_started 2.1 #1"].map(String::from);
    assert_eq!(made[1..3], started);
    assert_eq!(made[3], format!("call_delayed 2.2 until {}", now + 1_000));
    assert_eq!(agent.pending(), ["tool/2.0/1", "tool/2.1/1", "timer/call/2.2"]);
    agent.refuses(time("2.2"), Refusal::NotDue(now + 1_000));
    agent.gives(done("2.0", 1), &["call_resolved 2.0 Ok Result"]);
    agent.gives(done("2.1", 1), &["call_resolved 2.1 Ok Result"]);
    agent.now += 1_000;
    agent.gives(time("2.2"), &["call_due 2.2", "action_started 2.2 #1"]);
}

#[test]
fn a_rate_goes_on_from_turn_to_turn_and_survives_a_restart() {
    let mut agent = rated(1, 1_000);
    agent.works();
    let made = agent.calls(&[allowed("read"), allowed("bash")]);
    assert_eq!(made.last().unwrap(), &format!("call_delayed 4.0 until {}", agent.now + 1_000));
    let mut agent = agent.crashed();
    agent.takes(InputKind::Recovered { lost: true, tail_cut: None });
    assert_eq!(agent.pending(), ["timer/call/4.0"]);
    agent.now += 1_000;
    agent.gives(time("4.0"), &["call_due 4.0", "action_started 4.0 #1"]);
}

#[test]
fn a_call_that_waits_for_its_time_ends_with_the_run() {
    let mut agent = rated(1, 1_000);
    agent.works();
    agent.calls(&[allowed("read")]);
    let events = [
        "run_closing stopped",
        "call_resolved 4.0 Interrupted Closing",
        "turn_finished 5 results=1",
        "run_finished stopped turns=2 calls=1",
    ];
    agent.gives(stop(), &events);
}

#[test]
fn a_tool_may_be_called_so_often_in_a_run_and_again_in_the_next() {
    let mut agent = limited(no_limits(), "bash", |tool| tool.max_calls = Some(1));
    let made = agent.calls(&[allowed("bash"), allowed("bash"), allowed("write")]);
    assert_eq!(made[1..], ["action_started 2.0 #1", "call_resolved 2.1 Skipped ToolCap"]);
    agent.takes(done("2.0", 1));
    agent.takes(done("2.2", 1));
    let told = "2.1! Not started: the calls of this tool are used up for this run.";
    assert!(agent.shown().contains(&format!("Tool: {told}")), "{:?}", agent.shown());
    agent.answers("done");
    assert_eq!(agent.ended().reason, FinishReason::Final);
    agent.says(MessageMode::Message, "go on");
    let made = agent.calls(&[allowed("bash")]);
    assert_eq!(made.last().unwrap(), "action_started 8.0 #1");
}

#[test]
fn what_failed_for_the_moment_is_made_again_as_often_as_allowed() {
    let limits = Limits { call_retries: 1, calls: Some(1), ..no_limits() };
    for tool in ["read", "put"] {
        let mut agent = Agent::calling(limits.clone(), &[allowed(tool)]);
        agent.gives(busy("2.0", 1), &["call_retried 2.0 #1", "action_started 2.0 #2"]);
        let made = agent.takes(busy("2.0", 2));
        assert_eq!(made[0], "call_resolved 2.0 Error Result");
        assert_eq!(agent.state().run.as_ref().map(|run| run.calls), Some(1), "a repetition is no further call");
    }
}

#[test]
fn what_has_side_effects_or_failed_for_good_or_is_being_ended_is_not_made_again() {
    let limits = Limits { call_retries: 3, call_timeout_ms: Some(900), ..no_limits() };
    let mut agent = Agent::calling(limits.clone(), &[allowed("bash")]);
    assert_eq!(agent.takes(busy("2.0", 1))[0], "call_resolved 2.0 Error Result");
    let mut agent = Agent::calling(limits.clone(), &[allowed("read")]);
    assert_eq!(agent.takes(failed("2.0", 1))[0], "call_resolved 2.0 Error Result");
    let mut agent = Agent::calling(limits.clone(), &[allowed("read")]);
    agent.now += 900;
    agent.takes(time("2.0"));
    assert_eq!(agent.takes(busy("2.0", 1))[0], "call_resolved 2.0 Error Result");
    let mut agent = Agent::calling(limits, &[allowed("read")]);
    agent.takes(stop());
    assert_eq!(agent.takes(busy("2.0", 1))[0], "call_resolved 2.0 Error Result");
}

#[test]
fn a_repetition_waits_for_the_tools_rate_and_gives_way_to_a_steer() {
    let limits = Limits { call_retries: 1, ..no_limits() };
    let mut agent = limited(limits, "read", |tool| tool.rate = Some(RateLimit { calls: 1, per_ms: 1_000 }));
    agent.calls(&[allowed("read")]);
    let until = agent.now + 1_000;
    let events = ["call_retried 2.0 #1".to_string(), format!("call_delayed 2.0 until {until}")];
    agent.gives(busy("2.0", 1), &events.each_ref().map(String::as_str));
    let made = agent.says(MessageMode::Steer, "rather this");
    assert_eq!(made[1], "call_resolved 2.0 Skipped Steer");
}

#[test]
fn an_approval_that_nobody_gives_in_time_is_a_denial() {
    let limits = Limits { approval_timeout_ms: Some(5_000), ..no_limits() };
    let mut agent = Agent::calling(limits, &[planned("bash", Decision::Ask), planned("write", Decision::Ask)]);
    let due = agent.now + 5_000;
    assert_eq!(agent.pending(), ["approval/2.0", "approval/2.1", "timer/call/2.0", "timer/call/2.1"]);
    agent.refuses(time("2.0"), Refusal::NotDue(due));
    agent.takes(approve("2.1"));
    agent.now = due;
    let events = ["call_resolved 2.0 Denied ApprovalExpired", "action_started 2.1 #1"];
    agent.gives(time("2.0"), &events);
    agent.takes(done("2.1", 1));
    assert!(agent.shown().contains(&"Tool: 2.0! Denied: nobody decided on this call in time.".to_string()));
}

#[test]
fn without_a_limit_an_approval_is_waited_for_for_ever() {
    let agent = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    assert_eq!(agent.pending(), ["approval/2.0"]);
}

#[test]
fn a_rule_made_of_an_approval_is_kept_once_and_comes_back_with_the_log() {
    let ask = planned("bash", Decision::Ask);
    let mut agent = Agent::calling(no_limits(), &[ask.clone(), ask.clone(), ask]);
    let with_rule = |id: &str, rule: Option<&str>| InputKind::Approve {
        call: call(id),
        by: user(),
        edit: None,
        rule: rule.map(Into::into),
    };
    agent.takes(with_rule("2.0", Some("bash(make test)")));
    agent.takes(with_rule("2.1", Some("bash(make test)")));
    agent.takes(with_rule("2.2", None));
    let rules: Vec<&str> = agent.state().approvals.rules.iter().map(|rule| &**rule).collect();
    assert_eq!(rules, ["bash(make test)"]);
    assert_eq!(agent.crashed().state().approvals.rules, agent.state().approvals.rules);
}

#[test]
fn a_call_may_take_no_longer_than_its_tool_and_the_run_both_let_it() {
    for (own, run, most) in [(Some(900), Some(400), 400), (Some(300), Some(400), 300), (Some(900), None, 900)] {
        let limits = Limits { call_timeout_ms: run, ..no_limits() };
        let mut agent = limited(limits, "read", |tool| tool.timeout_ms = own);
        agent.calls(&[allowed("read")]);
        agent.refuses(time("2.0"), Refusal::NotDue(agent.now + most));
    }
}

#[test]
fn an_approval_says_when_it_comes_too_late() {
    let limits = Limits { approval_timeout_ms: Some(500), ..no_limits() };
    let mut agent = Agent::calling(limits, &[allowed("read"), planned("bash", Decision::Ask), allowed("write")]);
    let due = |agent: &Agent| ["2.0", "2.1", "2.2", "9.0"].map(|id| approval_due(agent.state(), call(id)));
    assert_eq!(due(&agent), [None, Some(1_500), None, None]);
    agent.takes(approve("2.1"));
    assert_eq!(due(&agent), [None; 4]);
    let asked = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    assert_eq!(approval_due(asked.state(), call("2.0")), None, "for as long as it takes");
}

#[test]
fn no_window_of_that_time_holds_more_calls_wherever_it_begins() {
    for limit in [(2, 10_000), (1, 700), (3, 1_000), (7, 50)].map(|(calls, per_ms)| RateLimit { calls, per_ms }) {
        let (mut window, mut starts, mut now) = (Window::default(), Vec::new(), 5_000);
        for step in 0..200 {
            // Calls come in bursts and with pauses.
            now += [0, 0, 1, limit.per_ms / 3, limit.per_ms * 2][step % 5];
            now = window.wait(limit, now).unwrap_or(now);
            assert_eq!(window.wait(limit, now), None);
            window.take(limit, now);
            starts.push(now);
        }
        for start in &starts {
            let within = starts.iter().filter(|other| (*start..start + limit.per_ms).contains(other)).count();
            assert!(within <= limit.calls as usize, "{limit:?}: {within} calls from {start} on");
        }
        assert!(json!(window).as_array().unwrap().len() <= limit.calls as usize);
    }
}

#[test]
fn as_many_as_the_limit_start_at_once_and_the_next_when_the_first_has_left() {
    let limit = RateLimit { calls: 2, per_ms: 10_000 };
    let mut window = Window::default();
    let mut at = |now| {
        let wait = window.wait(limit, now);
        window.take(limit, wait.unwrap_or(now));
        wait
    };
    assert_eq!([at(0), at(4_000), at(5_000), at(11_000)], [None, None, Some(10_000), Some(14_000)]);
}

#[test]
fn odd_limits_and_times_never_fail() {
    for (limit, wait) in [
        (RateLimit { calls: 0, per_ms: 0 }, None),
        (RateLimit { calls: u32::MAX, per_ms: Millis::MAX }, None),
        (RateLimit { calls: 0, per_ms: Millis::MAX }, Some(Millis::MAX)),
    ] {
        let mut window = Window::default();
        window.take(limit, Millis::MAX);
        window.take(limit, 0);
        assert_eq!(window.wait(limit, 0), wait, "{limit:?}");
    }
}
