//! The table of recovery, row by row, and the crash sweep: the log cut after every event comes to the same end.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// A question to a contact.
fn asks() -> PlannedCall {
    let asking = Asking { expires_ms: Some(60_000), default: None, to: Some("lan".into()) };
    PlannedCall { asking: Some(Box::new(asking)), ..allowed("ask") }
}

fn sent(call: CallId) -> QuestionSent {
    let (channel, to) = (Some("email".into()), "lan".into());
    QuestionSent { call, to, channel, receipt: None, problem: None, retry_at: None }
}

fn probed(answer: Probed) -> InputKind {
    InputKind::ToolProbed { call: call("2.0"), attempt: 1, answer }
}

#[test]
fn a_lost_request_is_charged_in_full_and_made_anew() {
    let mut agent = Agent::asked(no_limits()).crashed();
    let ModelCall { input, reserve, .. } = agent.state().model.unwrap();
    assert_eq!((input, reserve), (74, 138), "64 for system text and tools, 10 for the message, 64 set aside");
    agent.gives(recovered(), &["model_abandoned 1 lost=true", "model_requested 2 at 1"]);
    let charged = Usage { input: 74, output: 64, ..Usage::default() };
    let run = agent.state().run.as_ref().unwrap();
    assert_eq!((run.usage, run.cost), (charged, 74 * 3 + 64 * 15), "what the budgets are charged");
    let spent = Usage { input: 74, ..Usage::default() };
    let state = agent.state();
    assert_eq!((state.spent.usage, state.spent.cost, state.spent.about), (spent, 74 * 3, true), "what people are told");
    agent.refuses(InputKind::ModelFinished(reply(1, "late", &[])), Refusal::StaleRequest(1));
    agent.answers("done");
    assert_eq!(agent.ended().turns, 1, "the same turn, asked for again");
}

#[test]
fn repeatable_calls_run_again_as_the_next_attempt_under_the_same_effect_id() {
    for tool in ["read", "put"] {
        let before = Agent::calling(no_limits(), &[allowed(tool)]);
        let grant = |agent: &Agent| match agent.machine.pending().unwrap().into_values().next() {
            Some(Effect::RunTool { grant, .. }) => grant,
            other => panic!("a tool runs, not {other:?}"),
        };
        let mut after = before.crashed();
        after.gives(recovered(), &["action_started 2.0 #2"]);
        assert_eq!(after.pending(), ["tool/2.0/2"]);
        assert_eq!(grant(&after).effect_id(), grant(&before).effect_id());
        after.refuses(done("2.0", 1), Refusal::WrongAttempt(call("2.0"), 1));
        after.takes(done("2.0", 2));
        after.answers("done");
        assert_eq!(after.ended().calls, 1, "an attempt is no further call");
    }
}

#[test]
fn with_notify_the_model_is_told_and_nothing_runs_again() {
    let limits = Limits { recovery: Recovery::Notify, ..no_limits() };
    let mut agent = Agent::calling(limits, &[allowed("read")]).crashed();
    let events = ["call_resolved 2.0 Interrupted Crash", "turn_finished 3 results=1", "model_requested 2 at 3"];
    agent.gives(recovered(), &events);
    assert_eq!(agent.shown()[2], "Tool: 2.0! Interrupted by a restart. Call it again if it is still needed.");
}

#[test]
fn a_started_side_effect_is_never_repeated_blindly() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("bash")]).crashed();
    agent.gives(recovered(), &["call_resolved 2.0 Unknown Uncertain", "action_started 2.1 #1"]);
    assert_eq!(agent.pending(), ["tool/2.1/1"], "the one that had not started does run");
    agent.gives(done("2.0", 1), &["late_result 2.0 #1"]);
}

#[test]
fn a_tool_that_can_tell_is_asked_first() {
    let mut asked = Agent::calling(no_limits(), &[allowed("write")]).crashed();
    asked.gives(recovered(), &["call_probing 2.0"]);
    assert_eq!(asked.pending(), ["probe/2.0/1"]);
    let rest = ["turn_finished 3 results=1", "model_requested 2 at 3"];

    let mut agent = asked.clone();
    let output = ToolOutput::text("was done");
    agent.gives(probed(Probed::Done { output, tokens: 3 }), &["call_resolved 2.0 Ok Result", rest[0], rest[1]]);
    let mut agent = asked.clone();
    agent.gives(probed(Probed::Unknown), &["call_resolved 2.0 Unknown Uncertain", rest[0], rest[1]]);
    let mut agent = asked.crashed();
    agent.gives(recovered(), &[]);
    assert_eq!(agent.pending(), ["probe/2.0/1"], "a crash in a probe probes again");
    asked.takes(stop());
    assert_eq!(asked.pending(), ["probe/2.0/1"], "what may have run is looked into, also when the run is ending");
    asked.gives(
        probed(Probed::NotDone),
        &["call_resolved 2.0 Interrupted Closing", rest[0], "run_finished stopped turns=1 calls=1"],
    );
}

#[test]
fn a_call_that_its_probe_found_undone_runs_as_a_new_attempt() {
    // Not through `Agent::gives`: its checks take a second attempt of a side effect for a blind one.
    let mut agent = Agent::calling(no_limits(), &[allowed("write")]).crashed();
    agent.gives(recovered(), &["call_probing 2.0"]);
    let batch = agent.machine.handle(&Input::new(agent.now, probed(Probed::NotDone))).unwrap();
    assert_eq!(batch.iter().map(show).collect::<Vec<_>>(), ["action_started 2.0 #2"]);
}

#[test]
fn who_is_waited_for_is_announced_again() {
    let waits = [
        (planned("bash", Decision::Ask), "approval/2.0"),
        (allowed("ask"), "answer/2.0"),
        (allowed("agent"), "child/2.0/0"),
    ];
    for (call, key) in waits {
        let before = Agent::calling(no_limits(), &[call]);
        let mut after = before.crashed();
        after.gives(recovered(), &[]);
        assert_eq!(after.pending(), [key]);
        assert_eq!(after.machine.pending(), before.machine.pending());
    }
}

#[test]
fn an_unconfirmed_kill_and_a_deadline_outlive_a_crash() {
    let limits = Limits { run_timeout_ms: Some(60_000), call_timeout_ms: Some(500), ..no_limits() };
    let mut agent = Agent::calling(limits, &[allowed("bash")]);
    let deadline = agent.machine.pending().unwrap()[&EffectKey::Timer(TimerKey::Run)].clone();
    agent.now = 1_500;
    agent.gives(InputKind::Timer { key: TimerKey::Call(call("2.0")) }, &["call_cancelling 2.0 Timeout"]);
    let mut agent = agent.crashed();
    agent.now = 9_000;
    agent.gives(recovered(), &[]);
    assert_eq!(agent.pending(), ["kill/2.0/1", "timer/run"]);
    assert_eq!(agent.machine.pending().unwrap()[&EffectKey::Timer(TimerKey::Run)], deadline);
}

#[test]
fn a_process_that_reads_its_own_log_again_has_lost_nothing() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]).crashed();
    agent.gives(InputKind::Recovered { lost: false, tail_cut: None }, &[]);
    assert_eq!(agent.pending(), ["tool/2.0/1"]);
    agent
        .gives(done("2.0", 1), &["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "model_requested 2 at 3"]);
}

#[test]
fn a_cut_tail_is_noted_before_anything_is_healed() {
    let cut = TailCut { bytes: 17, kept: "events.cut".into() };
    let mut agent = Agent::asked(no_limits()).crashed();
    let events = ["tail_cut", "model_abandoned 1 lost=true", "model_requested 2 at 1"];
    agent.gives(InputKind::Recovered { lost: true, tail_cut: Some(cut) }, &events);
}

/// A model that does the same work whenever it sees the same conversation, and kind people and tools.
fn serve(agent: &mut Agent) {
    for _ in 0..100 {
        if agent.log.len() <= 1 {
            agent.says(MessageMode::Message, "do it");
        }
        let Some((key, _)) = agent.machine.pending().unwrap().into_iter().find(|(key, _)| !is_timer(*key)) else {
            return;
        };
        agent.now += 7;
        match key {
            EffectKey::Model(_) => {
                let shown = agent.shown();
                let calls = match shown.iter().filter(|line| line.starts_with("Assistant")).count() {
                    0 => vec![allowed("read"), allowed("read"), allowed("bash"), allowed("write")],
                    1 => vec![planned("bash", Decision::Ask), asks(), allowed("agent"), allowed("put")],
                    _ => Vec::new(),
                };
                let reply = agent.reply(if calls.is_empty() { "all done" } else { "working" }, &calls);
                agent.takes(InputKind::ModelFinished(reply));
            }
            EffectKey::Tool(call, attempt) => drop(agent.takes(done(&call.to_string(), attempt))),
            EffectKey::Kill(call, attempt) => drop(agent.takes(dead(&call.to_string(), attempt))),
            EffectKey::Probe(call, attempt) => {
                drop(agent.takes(InputKind::ToolProbed { call, attempt, answer: Probed::Unknown }));
            }
            EffectKey::Approval(call) => drop(agent.takes(approve(&call.to_string()))),
            EffectKey::Child(call, nth) => drop(agent.takes(child_next(agent, call, nth))),
            EffectKey::EndChild(..) => unreachable!("nobody ends the run"),
            EffectKey::HandBack(call) => {
                drop(agent.takes(InputKind::HandedBack { call, output: ToolOutput::text("found"), tokens: 3 }));
            }
            EffectKey::Answer(call) => {
                let answered = Answered { call, output: ToolOutput::text("yes"), tokens: 3, by: user() };
                agent.takes(InputKind::Answered(answered));
            }
            EffectKey::Hooks(turn) => {
                let said = HookText { hook: "news".into(), text: "nothing new".into(), problem: None };
                agent.takes(InputKind::ContextTexts { turn, texts: vec![said] });
            }
            EffectKey::Summary(_) => drop(agent.summarises()),
            EffectKey::Send(call) => drop(agent.takes(InputKind::QuestionSent(sent(call)))),
            EffectKey::Timer(_) => unreachable!("left out above"),
        }
    }
    panic!("no end");
}

fn is_timer(key: EffectKey) -> bool {
    matches!(key, EffectKey::Timer(_))
}

#[test]
fn a_log_cut_after_any_event_comes_to_the_same_end() {
    comes_to_the_same_end(Agent::new(Limits { run_timeout_ms: Some(1_000_000), ..no_limits() }));
}

#[test]
fn a_log_with_reminders_cut_after_any_event_comes_to_the_same_end() {
    comes_to_the_same_end(Agent::reminded(&["news"]));
}

fn comes_to_the_same_end(mut whole: Agent) {
    serve(&mut whole);
    let expected = Some(Ending { reason: FinishReason::Final, answer: "all done".into(), is_said: true });
    assert_eq!(ending(whole.state(), &whole.bodies), expected);
    assert!(whole.log.len() > 25, "a life with something to cut: {}", whole.log.len());
    for events in 1..=whole.log.len() {
        let mut agent = whole.reopened(events);
        agent.takes(recovered());
        // A second crash, right after the first one's healing.
        let mut agent = agent.crashed();
        agent.takes(recovered());
        serve(&mut agent);
        assert_eq!(ending(agent.state(), &agent.bodies), expected, "cut after {events} events");
        assert_eq!(agent.log[..events], whole.log[..events], "what was there stays, byte for byte");
        assert_eq!(agent.state().counts.runs, 1);
        let starts = |id: CallId| {
            let start = |event: &&Event| matches!(&event.kind, EventKind::ActionStarted(data) if data.call == id);
            agent.log.iter().filter(start).count()
        };
        for call in agent.state().calls.iter() {
            assert!(call.state.is_done(), "cut after {events} events: {} is open", call.id);
            assert!(call.effect.may_repeat() || starts(call.id) <= 1, "cut after {events} events: {} twice", call.id);
        }
    }
}

#[test]
fn a_lost_request_is_charged_with_the_margin_for_what_is_not_known_and_told_without_it() {
    let spec = Spec { size_margin: 50, ..mainpath_testkit::world::spec(no_limits(), 100_000) };
    let mut agent = Agent::with_spec(spec);
    agent.says(MessageMode::Message, "do it");
    let mut agent = agent.crashed();
    agent.takes(recovered());
    let lost = agent.newest(|kind| if let EventKind::ModelAbandoned(data) = kind { Some(data.clone()) } else { None });
    let charged = Usage { input: 111, output: 64, ..Usage::default() };
    let spent = Spent { usage: Usage { input: 74, ..Usage::default() }, cost: 222, about: true };
    assert_eq!(lost, ModelAbandoned { request: 1, lost: true, usage: charged, cost: 1_293, spent: Some(spent) });
}

#[test]
fn what_only_ends_something_is_not_held_back_while_more_was_said() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    let more = Input { more: true, ..Input::new(agent.now, done("2.0", 1)) };
    assert_eq!(agent.offer(&more).unwrap(), ["call_resolved 2.0 Ok Result", "turn_finished 3 results=1"]);
    assert!(agent.machine.holds_back());
}

#[test]
fn files_are_kept_or_restored_only_where_there_are_any() {
    let mut agent = Agent::calling(no_limits(), &[allowed("write")]);
    agent.refuses(InputKind::KeepFiles { call: call("2.0"), attempt: 1, changes: Vec::new() }, Refusal::Empty);
    agent.refuses(InputKind::RestoreFiles { to: 3, changes: Vec::new(), by: user() }, Refusal::Empty);
}

#[test]
fn the_bodies_of_a_log_are_found_however_it_was_put_together() {
    let agent = told();
    let whole: Log = agent.log.iter().cloned().collect();
    let kinds: Log = agent.log.iter().map(|event| (event.id, event.kind.clone())).collect();
    for event in &agent.log {
        assert_eq!([whole.get(event.id), kinds.get(event.id)], [Some(&event.kind); 2]);
    }
}
