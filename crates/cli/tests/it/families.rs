//! `watch` of a trace with the agents that it has started: one stream, from another process, cut and resumed.

use crate::children::task;
use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn place() -> Place {
    let place = Place::new();
    place.config("context_window = 64000\n[limits]\nmax_agent_depth = 2\n");
    place
}

fn slow(answer: Answer) -> Answer {
    Answer { delay_ms: 150, ..answer }
}

/// A model that has another agent write a file. The agent's last answer waits at the gate.
fn delegating(gate: &Gate) -> ModelServer {
    let gate = gate.clone();
    server(move |request| {
        let answer = match (task(request.body()).as_str(), request.count("assistant")) {
            ("Write the greeting.", 0) => Answer::call("write_text_file", json!({"path": "new", "content": "hello"})),
            ("Write the greeting.", _) => Answer::text("It is written.\n\nIn two lines.").behind(&gate),
            (_, 0) => Answer::call("agent", json!({"task": "Write the greeting."})),
            _ => Answer::text("The agent wrote it."),
        };
        answer.into()
    })
}

/// A model that has three agents look at once, and then another one that asks another.
fn exploring() -> ModelServer {
    server(|request| {
        let (task, turn) = (task(request.body()), request.count("assistant"));
        let answer = match (task.strip_prefix("Look at "), task.as_str(), turn) {
            (Some(_), _, 0) => slow(Answer::call("list_files", json!({"path": "."}))),
            (Some(what), ..) => Answer::text(&format!("{what} is there.")),
            (_, "Ask another.", 0) => Answer::call("agent", json!({"task": "Say why."})),
            (_, "Ask another.", _) => Answer::text("It says because."),
            (_, "Say why.", _) => Answer::text("Because."),
            (.., 0) => {
                let tasks: Vec<String> = (1..=3).map(|n| format!("Look at {n}")).collect();
                Answer::call("agent", json!({ "task": tasks }))
            }
            (.., 1) => Answer::call("agent", json!({"task": "Ask another."})),
            _ => Answer::text("Now I know."),
        };
        answer.into()
    })
}

/// An event as a line tells of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    trace: String,
    id: u64,
}

/// The events that lines tell of, each once; pieces are left out.
fn told(lines: &[Value]) -> Vec<At> {
    let at = |line: &Value| Some(At { trace: line["trace_id"].as_str().unwrap().into(), id: line["id"].as_u64()? });
    let mut told: Vec<At> = lines.iter().filter_map(at).collect();
    told.dedup();
    told
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(parsed).collect()
}

/// Whether lines tell of each log whole and in order, and of each agent between its start and its end.
fn is_whole(place: &Place, lines: &[Value]) {
    let mut by_trace: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for At { trace, id } in told(lines) {
        by_trace.entry(trace).or_default().push(id);
    }
    let expected: BTreeMap<String, Vec<u64>> = place
        .traces()
        .into_iter()
        .map(|trace| {
            let ids = place.events(&trace).iter().map(|event| event["id"].as_u64().unwrap()).collect();
            (trace, ids)
        })
        .collect();
    let root = expected.keys().find(|trace| !trace.contains('@')).unwrap().clone();
    let expected: BTreeMap<String, Vec<u64>> = expected
        .into_iter()
        .map(|(trace, ids)| {
            // By default a trace is shown from the message of its last run on.
            let from = if trace == root { 2 } else { 1 };
            (trace, ids.into_iter().filter(|id| *id >= from).collect())
        })
        .collect();
    assert_eq!(by_trace, expected);
    for (trace, _) in expected.iter().filter(|(trace, _)| trace.contains('@')) {
        let of = |line: &Value| line["trace_id"] == trace.as_str();
        let first = lines.iter().position(of).unwrap();
        let last = lines.iter().rposition(of).unwrap();
        let started = |line: &Value| line["type"] == "sub_trace_started" && line["data"]["child"] == trace.as_str();
        let ended = |line: &Value| line["type"] == "sub_trace_completed" && line["data"]["child"] == trace.as_str();
        let (started, ended) = (lines.iter().position(started).unwrap(), lines.iter().position(ended).unwrap());
        assert!(started < first && last < ended, "{trace}: {started} < {first}, {last} < {ended}");
    }
}

fn agents(place: &Place) -> Vec<String> {
    place.traces().into_iter().filter(|trace| trace.contains('@')).collect()
}

#[test]
fn an_agent_is_watched_with_the_trace_that_has_started_it_while_it_works() {
    let gate = Gate::default();
    let (place, server) = (place(), delegating(&gate));
    let mut running = place.start_run(&server, &["--yes", "Have it written."]);
    wait_until("its run has begun", || has_begun(&place));
    let root = newest_root(&place);
    let mut json = place.start(&["watch", &root, "--json"]);
    let mut people = place.start(&["watch", &root]);
    // It is seen before it ends, and both watch before it does.
    json.find(|line| parsed(line)["trace_id"].as_str().unwrap().contains('@')).unwrap();
    wait_until("both watch", || pipes_of_watchers(&place, &root) == 2);
    assert_eq!(place.events(&root).iter().filter(|event| event["type"] == "sub_trace_completed").count(), 0);
    gate.open();
    let (ran, json, people) = (running.end(), json.end(), people.end());
    assert_eq!((ran.code, json.code, people.code), (0, 0, 0), "{ran:#?} {json:#?} {people:#?}");
    is_whole(&place, &lines(&json.out));
    let name = agents(&place).remove(0).split_once('@').unwrap().1.to_string();
    let of_agent: Vec<&str> = people.err.lines().filter(|line| line.starts_with(&name)).collect();
    let expected = [
        format!("{name} → write_text_file: new"),
        format!("{name} ✓ write_text_file"),
        format!("{name} It is written."),
        name.clone(),
        format!("{name} In two lines."),
        format!("{name} ■ final · turns 2 · calls 1 · tokens"),
    ];
    assert_eq!(of_agent.len(), expected.len(), "{people:#?}");
    for (line, expected) in of_agent.iter().zip(&expected) {
        assert!(line.starts_with(expected.as_str()), "{line:?} does not begin with {expected:?}");
    }
    let others: Vec<&str> = people.err.lines().filter(|line| !line.starts_with(&name)).collect();
    assert!(others[0] == "· said: Have it written." && others[1].starts_with("→ agent: {"), "{others:#?}");
    assert_eq!(others[2], format!("→ agent {name} starts: Write the greeting."));
    assert!(others[3].starts_with(&format!("✓ agent {name} is done (2 turns, ")), "{others:#?}");
    // Alone.
    let alone = place.ok(&["watch", &root, "--json", "--no-children"]);
    assert!(lines(&alone).iter().all(|line| line["trace_id"] == root.as_str()), "{alone}");
    assert!(alone.contains("sub_trace_completed"), "{alone}");
    let alone = place.run(&["watch", &root, "--no-children"]);
    assert_eq!((alone.code, alone.err.contains(&format!("\n{name} "))), (0, false), "{alone:#?}");
    // An agent is watched by its own name as well.
    let own = place.run(&["watch", &agents(&place)[0]]);
    assert!(own.code == 0 && own.err.contains("\n→ write_text_file: new\n"), "{own:#?}");
}

/// How many processes watch a trace live.
fn pipes_of_watchers(place: &Place, trace: &str) -> usize {
    let names =
        std::fs::read_dir(place.home.join("traces").join(trace)).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("watch-")).count()
}

/// Whether the run of the root is on record.
fn has_begun(place: &Place) -> bool {
    !place.traces().is_empty() && String::from_utf8_lossy(&place.log(&newest_root(place))).contains("\"run_started\"")
}

fn newest_root(place: &Place) -> String {
    place.traces().into_iter().find(|trace| !trace.contains('@')).unwrap()
}

#[test]
fn agents_that_have_ended_are_told_in_the_order_in_which_it_happened() {
    let (place, server) = (place(), exploring());
    let done = place.run_on(&server, &["--yes", "Find it all."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Now I know.\n"), "{done:#?}");
    let root = newest_root(&place);
    assert_eq!(agents(&place).len(), 5);
    let whole = lines(&place.ok(&["watch", &root, "--json"]));
    is_whole(&place, &whole);
    // Those that work at once are told at once.
    let seconds: Vec<&str> = whole.iter().map(|line| line["ts"].as_str().unwrap()).collect();
    let late = seconds.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert_eq!(late, 0, "{seconds:#?}");
    let people = place.run(&["watch", &root]);
    let below = agents(&place).into_iter().find(|trace| trace.matches('@').count() == 2).unwrap();
    let below = below.split_once('@').unwrap().1.to_string();
    assert!(people.err.contains(&format!("\n{below} Because.\n")), "{people:#?}");
    // The last run alone.
    let server = scripted(vec![Answer::text("Nothing else.")]);
    place.run_on(&server, &["--trace", &root, "And now?"]);
    let last = lines(&place.ok(&["watch", &root, "--json"]));
    assert!(last.iter().all(|line| line["trace_id"] == root.as_str()), "{last:#?}");
    let all = lines(&place.ok(&["watch", &root, "--json", "--from", "1"]));
    let all = told(&all);
    assert_eq!(all[0], At { trace: root.clone(), id: 1 });
    assert!(told(&whole).iter().chain(&told(&last)).all(|at| all.contains(at)), "{all:#?}");
}

#[test]
fn a_stream_that_was_cut_anywhere_goes_on_without_a_gap_and_without_repeating_anything() {
    let (place, server) = (place(), exploring());
    assert_eq!(place.run_on(&server, &["--yes", "Find it all."]).code, 0);
    let root = newest_root(&place);
    let whole = told(&lines(&place.ok(&["watch", &root, "--json"])));
    for cut in (1..whole.len()).step_by(3) {
        let seen = &whole[..cut];
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for at in seen {
            last.insert(&at.trace, at.id + 1);
        }
        let mut args = vec!["watch".to_string(), root.clone(), "--json".into()];
        for (trace, next) in last {
            let from = if trace == root { next.to_string() } else { format!("{trace}={next}") };
            args.extend(["--from".into(), from]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut rest = told(&lines(&place.ok(&args)));
        rest.extend_from_slice(seen);
        let (mut rest, mut expected) = (rest, whole.clone());
        rest.sort();
        expected.sort();
        assert_eq!(rest, expected, "cut at {cut}");
    }
    // An agent of which nothing is said is told whole, unless it had ended by then.
    let started = whole.iter().find(|at| at.trace.contains('@')).unwrap().clone();
    let before = whole.iter().take_while(|at| **at != started).last().unwrap().id;
    let rest = told(&lines(&place.ok(&["watch", &root, "--json", "--from", &(before + 1).to_string()])));
    assert!(rest.contains(&At { id: 1, ..started.clone() }), "{rest:#?}");
    let end = whole.iter().rev().find(|at| at.trace == root).unwrap().id;
    let rest = told(&lines(&place.ok(&["watch", &root, "--json", "--from", &end.to_string()])));
    assert_eq!(rest, [At { trace: root.clone(), id: end }]);
    // By the name that people see.
    let name = started.trace.split_once('@').unwrap().1;
    let rest = place.ok(&["watch", &root, "--json", "--from", "2", "--from", &format!("{name}=3")]);
    let first = told(&lines(&rest)).into_iter().find(|at| at.trace == started.trace).unwrap();
    assert_eq!(first.id, 3);
    place.run(&["watch", &root, "--from", "nobody=3"]).fails(1, "there is no agent \"nobody\" of ");
    place.run(&["watch", &root, "--from", "x"]).fails(2, "\"x\" is no number of an event");
}

#[test]
fn what_an_agent_asks_is_said_with_the_command_that_answers_it() {
    let gate = Gate::default();
    gate.open();
    let (place, server) = (place(), delegating(&gate));
    place.run_on(&server, &["--park", "Have it written."]).fails(5, "needs approval");
    let child = agents(&place).remove(0);
    let (root, name) = child.split_once('@').unwrap();
    let how = format!(
        "{name} ? call 2.0 (write_text_file: new) needs approval: mainpath approve {child} --call 2.0 && mainpath resume {root}"
    );
    for args in [vec!["watch", root], vec!["watch", root, "--no-children"], vec!["watch", root, "--json"]] {
        let waits = place.run(&args);
        assert!(waits.code == 5 && waits.err.lines().any(|line| line == how), "{args:?}: {waits:#?}");
        assert!(!waits.err.contains("is not running"), "{waits:#?}");
    }
    // While it is asked at a terminal, and until it has gone on.
    let (place, server) = (self::place(), delegating(&gate));
    let terminal = Terminal::run(&place, &server);
    terminal.shows("[l]ater, [?]:", 1);
    let child = agents(&place).remove(0);
    let (root, name) = child.split_once('@').unwrap();
    let told = place.root().join("told");
    let file = std::fs::File::create(&told).unwrap();
    let mut watching = place.command(&["watch", root]).stderr(file).spawn().unwrap();
    let watched = || std::fs::read_to_string(&told).unwrap();
    wait_until("it is told", || watched().contains(" ? "));
    place.ok(&["approve", &child, "--call", "2.0"]);
    let (code, screen) = terminal.end();
    assert_eq!((code, watching.wait().unwrap().code()), (0, Some(0)), "{screen} {}", watched());
    let how = format!(
        "{name} ? call 2.0 (write_text_file: new) needs approval: at its terminal, or mainpath approve {child} --call 2.0"
    );
    assert!(watched().lines().any(|line| line == how), "{}", watched());
    assert!(watched().contains(&format!("\n✓ agent {name} is done ")), "{}", watched());
}

#[test]
fn a_question_of_an_agent_is_said_with_the_command_that_answers_it() {
    let place = place();
    let server = server(|request| {
        let answer = match (task(request.body()).as_str(), request.count("assistant")) {
            ("Ask for it.", 0) => Answer::call("ask_human", json!({"question": "Which?"})),
            ("Ask for it.", _) => Answer::text("Asked."),
            (_, 0) => Answer::call("agent", json!({"task": "Ask for it."})),
            _ => Answer::text("Done."),
        };
        answer.into()
    });
    assert_eq!(place.run_on(&server, &["Do it."]).code, 5);
    let child = agents(&place).remove(0);
    let (root, name) = child.split_once('@').unwrap();
    let waits = place.run(&["watch", root]);
    let how = format!("{name} ? call 2.0 asks (Which?): mainpath answer {child} 2.0 TEXT && mainpath resume {root}");
    assert!(waits.code == 5 && waits.err.lines().any(|line| line == how), "{waits:#?}");
}

#[test]
fn a_root_and_its_agents_that_were_killed_are_watched_to_where_they_were() {
    let place = place();
    let server = server(|request| match task(request.body()).as_str() {
        "Take long." => Answer { delay_ms: 50_000, ..Answer::text("late") }.into(),
        _ => Answer::call("agent", json!({"task": "Take long."})).into(),
    });
    let running = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the agent asks", || server.count() == 2);
    let root = newest_root(&place);
    let mut watching = place.start(&["watch", &root]);
    running.kill();
    let left = watching.end();
    assert_eq!(left.code, 130, "{left:#?}");
    assert!(
        left.err.ends_with(&format!("{root} is not running; continue with: mainpath resume {root}\n")),
        "{left:#?}"
    );
}

#[test]
fn no_line_of_what_a_command_prints_is_torn_by_an_agent() {
    let place = place();
    let server = server(|request| {
        let answer = match (task(request.body()).as_str(), request.count("assistant")) {
            ("Look.", 0..4) => Answer { delay_ms: 60, ..Answer::call("list_files", json!({"path": "."})) },
            ("Look.", _) => Answer::text("Seen."),
            (_, 0) => {
                let printing = "for n in 1 2 3 4 5 6 7 8; do printf 'begin %s ' $n; sleep 0.1; echo end; done";
                Answer::call("agent", json!({"task": ["Look."]})).and_call("bash", json!({ "command": printing }))
            }
            _ => Answer::text("Done."),
        };
        answer.into()
    });
    let mut running = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("its run has begun", || has_begun(&place));
    let mut watching = place.start(&["watch", &newest_root(&place)]);
    let (ran, watched) = (running.end(), watching.end());
    assert_eq!((ran.code, watched.code), (0, 0), "{ran:#?} {watched:#?}");
    let printed: Vec<&str> =
        watched.err.lines().filter(|line| line.contains("begin") || line.contains("end")).collect();
    let torn = |line: &&&str| !(line.contains("for n in") || line.contains("begin ") && line.ends_with(" end"));
    assert_eq!(printed.iter().filter(torn).count(), 0, "{printed:#?}");
}
