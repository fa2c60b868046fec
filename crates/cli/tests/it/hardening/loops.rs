//! Models that misbehave for ever, in every profile: each run ends by itself, within a stated number of requests, with the right
//! reason, and its log verifies and replays.

use super::{long, tried};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, RecordedRequest};
use serde_json::{Value, json};

/// A profile with the limits that count here.
struct Profile {
    name: &'static str,
    turns: usize,
    failures: usize,
    /// Whether a turn may have several calls.
    several: bool,
}

const PROFILES: [Profile; 4] = [
    Profile { name: "agent_core", turns: 5, failures: 2, several: false },
    Profile { name: "skills", turns: 12, failures: 3, several: false },
    Profile { name: "trace", turns: 200, failures: 5, several: true },
    Profile { name: "kernel", turns: 6, failures: 3, several: true },
];

/// A model that does the same thing for ever.
struct Misbehaviour {
    what: &'static str,
    /// Its nth answer.
    answer: fn(usize) -> Answer,
    /// The requests that it may make, for a limit of so many failures.
    requests: fn(usize) -> usize,
    ends: &'static str,
}

fn write(n: usize) -> Answer {
    Answer::call("write_text_file", json!({"path": format!("{n}.txt"), "content": "x"}))
}

fn missing(n: usize) -> Answer {
    Answer::call("read_text_file", json!({"path": format!("missing-{n}.txt")}))
}

fn many(n: usize, tool: &str, arguments: impl Fn(usize) -> Value) -> Answer {
    (1..n).fold(Answer::call(tool, arguments(0)), |answer, at| answer.and_call(tool, arguments(at)))
}

const LOOPS: &str = "repeated failure";

/// Nobody can be asked, and nothing is allowed but reading.
const MISBEHAVIOURS: [Misbehaviour; 19] = [
    Misbehaviour { what: "the same denied call", answer: |_| bash("rm x"), requests: |most| most, ends: LOOPS },
    Misbehaviour {
        what: "another denied call each time",
        answer: |n| bash(&format!("rm {n}")),
        requests: |most| most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "two denied tools in turn",
        answer: |n| if n % 2 == 0 { bash("rm x") } else { write(n) },
        requests: |most| 2 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "a denied internal call",
        answer: |n| Answer::call("goal", json!({"op": "focus", "id": n + 90})),
        requests: |most| most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "internal calls that succeed",
        answer: |n| Answer::call("goal", json!({"op": "add", "description": format!("step {n}")})),
        requests: |most| 4 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "the same look back",
        answer: |_| Answer::call("list_calls", json!({})),
        requests: |most| most.max(2) + 1,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "another look back each time",
        answer: |n| Answer::call("list_calls", json!({"limit": n + 1})),
        requests: |most| 4 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "a look back that finds nothing",
        answer: |n| Answer::call("recall_result", json!({"call": format!("{}.0", n + 500)})),
        requests: |most| 4 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "a larger window each time",
        answer: |n| Answer::call("expand_window", json!({"by": n + 1})),
        requests: |most| 4 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "a look back and a denied call in turn",
        answer: |n| if n % 2 == 0 { Answer::call("list_calls", json!({"limit": n + 1})) } else { bash("rm x") },
        requests: |most| 4 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "the same call",
        answer: |_| Answer::call("list_files", json!({})),
        requests: |most| most.max(2) + 1,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "two calls in turn",
        answer: |n| Answer::call(["list_files", "process_list"][n % 2], json!({})),
        requests: |most| 2 * most.max(2) + 1,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "three failing tools in turn",
        answer: |n| match n % 3 {
            0 => missing(n),
            1 => Answer::call("grep", json!({"pattern": "(", "path": format!("{n}")})),
            _ => Answer::call("process_output", json!({"id": format!("{n}.0")})),
        },
        requests: |most| 2 * most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "tools that are not there",
        answer: |n| Answer::call(&format!("tool_{n}"), json!({})),
        requests: |most| most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "arguments that break the schema",
        answer: |n| Answer::call("read_text_file", json!({"path": n})),
        requests: |most| most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "a hundred denied calls in each answer",
        answer: |n| many(100, "bash", |at| json!({"command": format!("rm {n} {at}")})),
        requests: |most| most,
        ends: LOOPS,
    },
    Misbehaviour {
        what: "a hundred times the same call in each answer",
        answer: |_| many(100, "list_files", |_| json!({})),
        requests: |most| most.max(2) + 1,
        ends: LOOPS,
    },
    Misbehaviour { what: "empty answers", answer: |_| Answer::text(""), requests: |_| 2, ends: "protocol error" },
    Misbehaviour {
        what: "a call that says nothing, and an empty answer",
        answer: |n| if n == 0 { bash("") } else { Answer::text(" \n") },
        requests: |_| 3,
        ends: "protocol error",
    },
];

/// Runs a model that misbehaves, and holds its trace to all that is promised.
fn held(profile: &Profile, one: &Misbehaviour, protocol: &str) {
    let answer = one.answer;
    let in_text = protocol == "json";
    let server = server(move |request| {
        let answer = answer(request.n - 1);
        if in_text { as_text(answer).into() } else { answer.into() }
    });
    let place = Place::new();
    let model = server.model();
    let done = place.run(&["run", "-m", &model, "--profile", profile.name, "--protocol", protocol, "Do it."]);
    let (requests, what) = (turns_of(&server.requests()), format!("{}, {protocol}: {}", profile.name, one.what));
    let most = (one.requests)(profile.failures);
    assert!(requests <= most, "{what}: {requests} requests, {most} are the most: {done:#?}");
    let reason = done.err.lines().find_map(|line| line.strip_prefix("■ ")).and_then(|line| line.split(" · ").next());
    // Turns that come first are a reason as well.
    let by_turns = requests >= profile.turns && reason == Some("turn limit");
    assert!(by_turns || reason == Some(one.ends), "{what}: {reason:?} after {requests} requests: {done:#?}");
    assert_eq!((done.code, server.violations()), (done.code.max(1), Vec::new()), "{what}: {done:#?}");
    assert!(done.report().contains("\nBlocked by: ") && done.report().contains("\nNext: "), "{what}: {done:#?}");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
    assert_eq!(std::fs::read_dir(&place.work).unwrap().count(), 0, "{what}");
}

/// How many of these requests are no part of making a summary. There are no more of those than of the others, and a few.
fn turns_of(requests: &[RecordedRequest]) -> usize {
    let summarises = |request: &&RecordedRequest| {
        request.body().to_string().contains("The conversation is about to outgrow the context window")
    };
    let turns = requests.len() - requests.iter().filter(summarises).count();
    assert!(requests.len() <= 2 * turns + 10, "{} requests, {turns} of them turns", requests.len());
    turns
}

/// An answer as the text protocol has it: its first call.
fn as_text(answer: Answer) -> Answer {
    match answer.calls.first() {
        Some((tool, args)) => {
            let args: Value = serde_json::from_str(args).unwrap();
            Answer::text(&json!({"type": "action", "tool": tool, "args": args}).to_string())
        }
        None => answer,
    }
}

#[test]
fn every_model_that_misbehaves_for_ever_is_ended() {
    // In short: every misbehaviour in one profile, each profile in turn.
    let cases: Vec<(&Profile, &Misbehaviour, &str)> = MISBEHAVIOURS
        .iter()
        .enumerate()
        .flat_map(|(at, one)| {
            let profiles = PROFILES.iter().enumerate().filter(move |(which, _)| long() || which % 4 == at % 4);
            profiles.flat_map(move |(_, profile)| {
                let text = if long() && profile.name == "agent_core" { Some("json") } else { None };
                let fits = profile.several || !one.what.contains("in each answer");
                [Some("native"), text]
                    .into_iter()
                    .flatten()
                    .filter(move |_| fits)
                    .map(move |protocol| (profile, one, protocol))
            })
        })
        .collect();
    std::thread::scope(|scope| {
        for half in cases.chunks(cases.len().div_ceil(2)) {
            scope.spawn(move || half.iter().for_each(|(profile, one, protocol)| held(profile, one, protocol)));
        }
    });
    tried("loops", cases.len(), "models that misbehave for ever, in four profiles: all ended in time");
}

#[test]
fn models_that_misbehave_at_random_are_ended_by_their_turns_at_the_latest() {
    let seeds = if long() { 150 } else { 6 };
    for seed in 0..seeds {
        let server = server(move |request| {
            let drawn = draw(seed * 1_000 + request.n as u64);
            (MISBEHAVIOURS[drawn % 17].answer)(drawn / 17 % 40).into()
        });
        let place = Place::new();
        let (model, profile) = (server.model(), &PROFILES[seed as usize % 4]);
        let done = place.run(&[
            "run",
            "-m",
            &model,
            "--profile",
            profile.name,
            "--protocol",
            "native",
            "--max-turns",
            "30",
            "Do it.",
        ]);
        let requests = turns_of(&server.requests());
        // At most as many looks back as turns, and none of these models needs a repair.
        assert!(done.code != 0 && requests <= 60, "seed {seed}: {requests} requests: {done:#?}");
        assert_eq!(server.violations(), Vec::<String>::new(), "seed {seed}");
        place.ok(&["verify"]);
        place.ok(&["replay"]);
    }
    tried("loops", seeds as usize, "models that misbehave at random: all ended within 30 turns and 60 requests");
}

/// A number that follows from another and looks like none (SplitMix64).
fn draw(seed: u64) -> usize {
    let mut drawn = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (drawn ^ (drawn >> 31)) as usize >> 1
}
