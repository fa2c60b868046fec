//! Models that go round in circles: every one ends, within a stated number of requests, and is told before where it can be.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// What comes of a call.
#[derive(Clone)]
enum Comes {
    Works(String),
    /// It waits, and what it waits for goes on.
    Waits,
    Fails(String),
    Denied,
    NoSuchTool,
    /// An internal tool answers at once.
    Inside(String),
    /// The same, and the answer is an aside where it may be one.
    Aside(String),
}

use Comes::*;

/// A call that a model makes: tool, arguments, what comes of it.
type Made = (&'static str, String, Comes);

fn made(tool: &'static str, arguments: impl ToString, comes: Comes) -> Vec<Made> {
    vec![(tool, arguments.to_string(), comes)]
}

fn works(text: &str) -> Comes {
    Works(text.into())
}

fn plan(tool: &str, comes: &Comes) -> PlannedCall {
    match comes {
        Works(_) | Waits | Fails(_) => allowed(tool),
        Denied => planned(tool, Decision::Deny),
        NoSuchTool => PlannedCall { problem: Some("there is no such tool".into()), ..PlannedCall::default() },
        Inside(text) | Aside(text) => PlannedCall { answer: Some(text.clone()), ..allowed(tool) },
    }
}

/// Has a model do this, answer after answer, until its run has ended.
#[track_caller]
fn live(limits: &Limits, acts: impl Fn(u32) -> Vec<Made>) -> Agent {
    let mut agent = Agent::asked(limits.clone());
    for answer in 0.. {
        assert!(answer < 1_000, "it goes on for ever");
        let calls = acts(answer);
        let mut parts = vec![Part::text("let me see")];
        parts.extend(calls.iter().map(|(tool, arguments, _)| Part::ToolCall {
            name: tool.to_string(),
            arguments: arguments.clone(),
            signature: None,
        }));
        let planned = calls.iter().map(|(tool, _, comes)| plan(tool, comes)).collect();
        let aside = calls.iter().all(|(_, _, comes)| matches!(comes, Aside(_)));
        let reply = Reply { tokens: 10, aside, ..Reply::new(agent.request(), parts, planned) };
        agent.takes(InputKind::ModelFinished(Box::new(reply)));
        while let Some(open) = agent.state().turn_calls().iter().find(|call| call.state == CallState::Started) {
            let (id, attempt) = (open.id, open.attempt);
            let output = match &calls[usize::from(id.index)].2 {
                Works(text) => ToolOutput::text(text),
                Waits => ToolOutput { still_waiting: true, ..ToolOutput::text("no news") },
                Fails(text) => ToolOutput::failed("exit_code", text),
                other => unreachable!("a call that starts: {}", plan("", other).ended().is_some()),
            };
            agent.takes(InputKind::ToolFinished { call: id, attempt, output, tokens: 5 });
        }
        if agent.state().branch.is_some_and(|branch| branch.by == SummaryMode::Rules) {
            agent.summarises();
        }
        if agent.state().run.is_none() {
            break;
        }
    }
    agent
}

/// Why the run was closed, in words.
fn why(agent: &Agent) -> String {
    agent
        .newest(|kind| if let EventKind::RunClosing(data) = kind { Some(data.why.clone()) } else { None })
        .unwrap_or_default()
}

/// Results below which the model was told that it repeats itself.
fn told(agent: &Agent) -> usize {
    let of = |event: &Event| match &event.kind {
        EventKind::ModelFinished(data) => data.calls.iter().filter(|planned| planned.repeated > 0).count(),
        EventKind::CallResolved(data) => usize::from(data.repeated > 0),
        _ => 0,
    };
    agent.log.iter().map(of).sum()
}

const PROFILES: [Profile; 4] = [Profile::AgentCore, Profile::Skills, Profile::Trace, Profile::Kernel];

/// The limits of a profile that count failures, and no others: what ends a run here is a circle.
fn circles(profile: Profile) -> (Limits, u32) {
    let limits = Limits { turns: Some(500), calls: None, ..profile.limits() };
    let most = limits.repeated_failures.expect("every profile has one");
    (limits, most)
}

#[test]
fn every_circle_ends_in_every_profile_within_its_number_of_requests() {
    type Acts = fn(u32) -> Vec<Made>;
    // With the answers that it takes, for a limit of so many failures.
    type Circle = (&'static str, Acts, fn(u32) -> u32);
    let circles_of: [Circle; 15] = [
        ("the same call is denied", |_| made("bash", "{}", Denied), |most| most),
        ("other arguments are denied", |n| made("bash", n, Denied), |most| most),
        ("two tools are denied in turn", |n| made(["bash", "write"][n as usize % 2], n, Denied), |most| 2 * most),
        (
            "three tools fail in turn",
            |n| made(["bash", "write", "read"][n as usize % 3], n, Fails(n.to_string())),
            |most| 2 * most,
        ),
        ("a tool that is not there", |n| made("nonesuch", n, NoSuchTool), |most| most),
        ("a call that plans", |n| made("read", n, Inside(n.to_string())), |most| 4 * most),
        ("a look back", |n| made("read", n, Aside(n.to_string())), |most| 4 * most),
        ("the same look back", |_| made("read", "{}", Aside("nothing".into())), |most| most.max(2) + 1),
        (
            "a denied call and a look back",
            |n| made("bash", n, if n % 2 == 0 { Denied } else { Aside(n.to_string()) }),
            |most| 2 * most - 1,
        ),
        ("the same call", |_| made("read", "{}", works("the same")), |most| most.max(2) + 1),
        ("a wait without end", |_| made("read", "wait", Waits), |most| 20 * most.max(2) + 1),
        ("two waits without end", |n| made("read", n % 2, Waits), |most| 40 * most.max(2) + 1),
        (
            "a look after each wait",
            |n| made("read", n % 2, if n % 2 == 0 { Waits } else { works("the same") }),
            |most| 40 * most.max(2) + 1,
        ),
        ("two calls in turn", |n| made("read", n % 2, works("the same")), |most| 2 * most.max(2) + 1),
        (
            "the same failing call beside one that works",
            |_| [made("bash", "{}", Fails("no".into())), made("read", "{}", works("yes"))].concat(),
            |most| most.max(2) + 1,
        ),
    ];
    for profile in PROFILES {
        let (limits, most) = circles(profile);
        for (what, acts, answers) in &circles_of {
            if limits.calls_per_turn == Some(1) && acts(0).len() > 1 {
                continue;
            }
            let agent = live(&limits, acts);
            let ended = agent.ended();
            assert_eq!(ended.reason, FinishReason::RepeatedFailure, "{profile:?}: {what}");
            assert_eq!(agent.state().counts.requests, answers(most), "{profile:?}: {what}: {}", why(&agent));
            assert!(!why(&agent).is_empty());
        }
    }
}

#[test]
fn the_model_is_told_once_that_a_call_comes_to_the_same_and_the_next_one_ends_the_run() {
    let (limits, _) = circles(Profile::Kernel);
    let agent = live(&limits, |_| made("read", "{}", works("the same")));
    assert_eq!((agent.state().counts.requests, told(&agent)), (4, 1));
    let shown: Vec<String> = agent
        .state()
        .calls
        .iter()
        .map(|call| {
            let item = Item::Result { seq: call.id.seq, call: call.id, event: call.result, shown: Shown::Whole };
            match &message(agent.state(), &agent.bodies, &item).unwrap().parts[0] {
                Part::ToolResult { content, .. } => text_of(content),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let note = "[This same call has come to this same result 3 times. Making it again will end the run: try something else, or give \
                your final answer.]";
    assert_eq!(shown, ["the same", "the same", &format!("the same\n{note}"), "the same"]);
    assert_eq!(why(&agent), "the same call returned the same result again and again, even after a warning");
}

#[test]
fn what_changes_is_no_circle() {
    let (limits, _) = circles(Profile::Kernel);
    let limits = Limits { turns: Some(60), ..limits };
    // A process that is looked at again and again, and has said something more each time.
    let polls = live(&limits, |n| made("read", "{}", Works(format!("line {n}"))));
    // A test that fails, something that is mended, and the test again.
    let mends = live(&limits, |n| match n % 2 {
        0 => made("bash", "test", Fails("the same".into())),
        _ => made("write", n, works("written")),
    });
    // Two calls with one result that is always new between them.
    let both = live(&limits, |n| [made("read", "{}", works("same")), made("read", n, works("same"))].concat());
    // A long wait, with a look at something else now and then.
    let waits =
        live(&limits, |n| if n % 2 == 0 { made("read", "wait", Waits) } else { made("read", "{}", works("same")) });
    for agent in [polls, mends, both, waits] {
        assert_eq!((agent.ended().reason, agent.ended().turns, told(&agent)), (FinishReason::MaxTurns, 60, 0));
    }
}

#[test]
fn an_answer_counts_once_however_many_calls_it_makes() {
    let (limits, most) = circles(Profile::Trace);
    // The model has seen none of them fail before it made the last.
    let failing = live(&limits, |n| (0..30).flat_map(|i| made("bash", n * 100 + i, Fails("no".into()))).collect());
    assert_eq!((failing.ended().reason, failing.state().counts.requests), (FinishReason::RepeatedFailure, most));
    let same = live(&limits, |_| (0..30).flat_map(|_| made("read", "{}", works("same"))).collect());
    assert_eq!((same.ended().reason, same.state().counts.requests), (FinishReason::RepeatedFailure, most + 1));
}

#[test]
fn a_person_who_says_something_begins_the_count_anew() {
    let (limits, most) = circles(Profile::Kernel);
    let mut agent = Agent::asked(limits);
    for answer in 0..most * 3 {
        if answer % most == most - 1 {
            agent.says(MessageMode::Steer, "do try again");
        }
        agent.calls(&[planned("bash", Decision::Deny)]);
    }
    assert!(agent.state().run.is_some());
}

#[test]
fn looks_back_are_no_more_in_a_run_than_its_turns() {
    let limits = Limits { turns: Some(8), ..circles(Profile::Trace).0 };
    // Two looks before each call that works: the looks are used up, and the rest are turns.
    let agent = live(&limits, |n| match n % 3 {
        2 => made("bash", n, works("done")),
        _ => made("read", n, Aside(n.to_string())),
    });
    assert_eq!(
        (agent.ended().reason, agent.ended().turns, agent.state().counts.requests),
        (FinishReason::MaxTurns, 8, 16)
    );
}

#[test]
fn no_limit_is_no_limit_and_so_is_0() {
    for repeated_failures in [None, Some(0)] {
        let limits = Limits { turns: Some(40), repeated_failures, ..no_limits() };
        let agent = live(&limits, |_| made("bash", "{}", Denied));
        assert_eq!((agent.ended().reason, agent.ended().turns), (FinishReason::MaxTurns, 40));
    }
}

#[test]
fn a_circle_is_the_same_after_a_restart() {
    let (limits, _) = circles(Profile::Trace);
    let mut agent = Agent::asked(limits);
    for _ in 0..4 {
        agent.calls(&[planned("bash", Decision::Deny)]);
        agent = agent.crashed();
        agent.takes(recovered());
    }
    agent.calls(&[planned("bash", Decision::Deny)]);
    assert_eq!(agent.ended().reason, FinishReason::RepeatedFailure);
    assert_eq!(why(&agent), "bash failed or was denied in 5 turns in a row");
}

#[test]
fn of_several_calls_that_come_to_the_same_each_is_told_of_once() {
    let (limits, _) = circles(Profile::Kernel);
    let two = live(&limits, |_| [made("read", "1", works("same")), made("read", "2", works("same"))].concat());
    let twice = live(&limits, |_| [made("read", "1", works("same")), made("read", "1", works("same"))].concat());
    assert_eq!([told(&two), told(&twice)], [2, 1]);
}

#[test]
fn what_is_told_of_a_repeated_call_is_counted_with_its_result() {
    let (limits, _) = circles(Profile::Kernel);
    let note = "[This same call has come to this same result 3 times. Making it again will end the run: try something else, or give \
                your final answer.]";
    for (comes, alone) in [(works("the same"), 5), (Inside("the same".into()), estimate("the same"))] {
        let agent = live(&limits, |_| made("read", "{}", comes.clone()));
        let sizes: Vec<u32> = agent.state().calls.iter().map(|call| call.tokens).collect();
        assert_eq!(sizes, [alone, alone, alone + estimate(note), alone]);
    }
}
