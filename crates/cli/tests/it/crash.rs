//! The command killed by SIGKILL, at random moments and at the worst ones, and resumed to the end.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const KILLS: u32 = 50;
const ANSWER: &str = "All of it is done.";

/// The effects of the script's calls of bash: each call's line in `effects.log`.
const TAGS: [&str; 6] = ["t0", "t1", "t3", "t4", "t5a", "t5b"];

/// The end of a command that holds its call until the test has written `go`, or `go-CALL` for this call.
const HELD: &str = "call=${MAINPATH_CALL##*/}; until [ -e go ] || [ -e \"go-${call%%#*}\" ]; do sleep 0.02; done";

/// Six turns of calls with all that can be interrupted, then the answer.
fn work() -> ModelServer {
    let read = json!({"path": "input.txt"});
    let write = json!({"path": "out.txt", "content": "written\n"});
    let edit = json!({"path": "out.txt", "edits": [{"old_text": "written", "new_text": "edited"}]});
    let echo = |tag: &str| json!({"command": format!("echo {tag} >> effects.log")});
    let answers = vec![
        bash("echo t0 >> effects.log"),
        Answer::call("read_text_file", read.clone()).and_call("read_text_file", read).and_call("bash", echo("t1")),
        Answer::call("write_text_file", write),
        bash(&format!("echo t3 >> effects.log; {HELD}")),
        bash(&format!("{HELD}; echo t4 >> effects.log")),
        Answer::call("edit_text_file", edit).and_call("bash", echo("t5a")).and_call("bash", echo("t5b")),
        Answer::text(ANSWER),
    ];
    scripted(answers.into_iter().map(|answer| Answer { delay_ms: 10, ..answer }).collect())
}

/// One trace and what is known of it.
struct Life {
    place: Place,
    server: ModelServer,
    trace: Option<String>,
    /// Every whole line that any of its processes printed.
    acknowledged: Vec<String>,
    /// The whole lines of the log at the last kill.
    durable: Vec<u8>,
    kills: u32,
}

impl Life {
    fn new() -> Life {
        let place = Place::new();
        std::fs::write(place.work.join("input.txt"), "some input\n").unwrap();
        Life { place, server: work(), trace: None, acknowledged: Vec::new(), durable: Vec::new(), kills: 0 }
    }

    /// Lets every call end that is held.
    fn release(&self) {
        std::fs::write(self.place.work.join("go"), "").unwrap();
    }

    /// Begins or carries on.
    fn start(&self) -> Process {
        match &self.trace {
            Some(trace) => self.place.start(&["resume", trace, "--yes", "--json"]),
            None => self.place.start_run(&self.server, &["--yes", "--json", "Do the work."]),
        }
    }

    /// Kills a process; what it had said must be there ever after.
    fn kill(&mut self, process: Process) {
        let (lines, alive) = process.kill();
        self.kills += u32::from(alive);
        if self.trace.is_none() {
            // One without its task was never announced; whoever started it begins again.
            let has_task =
                |trace: &String| self.place.events(trace).iter().any(|event| event["type"] == "message_queued");
            self.trace = self.place.traces().into_iter().find(has_task);
        }
        assert!(self.trace.is_some() || lines.is_empty(), "announced and not there: {lines:?}");
        self.acknowledged.extend(lines);
        if let Some(trace) = &self.trace {
            let log = self.place.log(trace);
            assert!(log.starts_with(&self.durable), "{}", String::from_utf8_lossy(&log));
            let whole = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.durable = log[..whole].to_vec();
        }
    }

    fn is_over(&self) -> bool {
        let Some(trace) = &self.trace else { return false };
        let last = self.place.events(trace).pop();
        last.is_some_and(|event| event["type"] == "run_finished")
    }

    /// Carries on to the end, and checks everything that was promised.
    ///
    /// Gives how many calls nobody could tell the end of.
    fn end(mut self) -> usize {
        if !self.is_over() {
            let mut process = self.start();
            let done = process.end();
            assert_eq!(done.code, 0, "{done:#?}");
            let first = parsed(done.out.lines().next().unwrap());
            self.trace.get_or_insert_with(|| first["trace_id"].as_str().unwrap().to_string());
            self.acknowledged.append(&mut process.seen);
        }
        let trace = self.trace.clone().unwrap();
        self.place.quiet();
        let shown = self.place.ok(&["show", &trace, "--events"]);
        let mut kept = shown.split_inclusive('\n');
        for line in self.acknowledged.iter().filter(|line| is_durable(line)) {
            assert!(kept.any(|kept| kept == line), "lost or changed after it was printed: {line}\nin\n{shown}");
        }
        assert!(self.place.log(&trace).starts_with(&self.durable));
        assert_eq!(self.server.violations(), Vec::<String>::new());
        let events = self.place.events(&trace);
        let resolutions = resolutions(&events);
        self.check_effects(&events, &resolutions);
        let finished = events.last().unwrap();
        assert_eq!((&finished["type"], &finished["data"]["reason"]), (&json!("run_finished"), &json!("final")));
        let verified = self.place.ok(&["verify", &trace]);
        assert!(verified.lines().any(|line| line == "the chain verifies"), "{verified}");
        let replayed = self.place.ok(&["replay", &trace]);
        assert!(replayed.contains("rebuilt identically"), "{replayed}");
        assert!(self.place.ok(&["show", &trace]).contains(ANSWER));
        resolutions.values().filter(|end| *end == "unknown").count()
    }

    /// No effect twice, and what the log says of each is true.
    fn check_effects(&self, events: &[Value], resolutions: &BTreeMap<String, String>) {
        let effects = self.place.text("effects.log");
        let started = count(events, "action_started");
        for (call, tag) in bash_calls(events) {
            let lines = effects.lines().filter(|line| *line == tag).count();
            let starts = started.get(&call).copied().unwrap_or(0);
            assert!(starts <= 1, "{call} ({tag}) was started {starts} times");
            match resolutions[&call].as_str() {
                "ok" => assert_eq!(lines, 1, "{call} ({tag}) is said to have run: {effects}"),
                "unknown" => assert!(lines <= 1, "{call} ({tag}) ran {lines} times: {effects}"),
                other => panic!("{call} ({tag}) ended as {other}"),
            }
        }
        let other: Vec<&str> = effects.lines().filter(|line| !TAGS.contains(line)).collect();
        assert!(other.is_empty(), "{other:?}");
        assert_eq!(self.place.text("input.txt"), "some input\n");
    }
}

/// How often each call has an event of this type.
fn count(events: &[Value], name: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(|event| event["type"] == name) {
        *counts.entry(event["data"]["call"].as_str().unwrap().to_string()).or_default() += 1;
    }
    counts
}

/// How each call ended. Every call has one end, and only calls do.
fn resolutions(events: &[Value]) -> BTreeMap<String, String> {
    let mut ends = BTreeMap::new();
    for event in events.iter().filter(|event| event["type"] == "call_resolved") {
        let call = event["data"]["call"].as_str().unwrap().to_string();
        let end = event["data"]["resolution"].as_str().unwrap().to_string();
        assert_eq!(ends.insert(call.clone(), end), None, "{call} ended twice");
    }
    let made: Vec<String> = calls(events).into_iter().map(|(call, _)| call).collect();
    assert_eq!(
        ends.keys().collect::<Vec<_>>(),
        made.iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
    ends
}

/// Every call that a model made: its id and its arguments.
fn calls(events: &[Value]) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for event in events.iter().filter(|event| event["type"] == "model_finished") {
        let parts = event["data"]["parts"].as_array().unwrap().iter().filter(|part| part["type"] == "tool_call");
        for (index, part) in parts.enumerate() {
            calls.push((format!("{}.{index}", event["data"]["seq"]), part["arguments"].as_str().unwrap().to_string()));
        }
    }
    calls
}

/// The calls of bash, each with its tag.
fn bash_calls(events: &[Value]) -> Vec<(String, &'static str)> {
    let tag = |arguments: &str| TAGS.into_iter().find(|tag| arguments.contains(&format!("echo {tag} ")));
    calls(events).into_iter().filter_map(|(call, arguments)| Some((call, tag(&arguments)?))).collect()
}

/// About as many lines as a run prints.
const LINES: usize = 80;

/// Lives that are killed at random moments until each has had its share: shortly after the start, or after a line drawn by lot. A
/// process that prints fewer lines has ended before.
fn random_lives(seed: u64, kills: u32) -> u32 {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut done = 0;
    while done < kills {
        let mut life = Life::new();
        life.release();
        let most = rng.u32(1..=4).min(kills - done);
        while life.kills < most && !life.is_over() {
            let mut process = life.start();
            let (nth, mut printed) = (rng.usize(0..LINES), 0);
            let after = match nth.checked_sub(LINES / 8) {
                None => rng.u64(0..200_000),
                Some(nth) => {
                    process.find(|_| {
                        printed += 1;
                        printed > nth
                    });
                    // What it does next is then at any point.
                    rng.u64(0..20_000)
                }
            };
            std::thread::sleep(Duration::from_micros(after));
            life.kill(process);
        }
        done += life.kills;
        life.end();
    }
    done
}

#[test]
fn killed_at_random_moments_nothing_acknowledged_is_lost_and_nothing_is_done_twice() {
    let workers: Vec<_> =
        (0..4u32).map(|n| std::thread::spawn(move || random_lives(n.into(), KILLS.div_ceil(4)))).collect();
    let kills: u32 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert!(kills >= KILLS, "{kills}");
}

/// Killed as soon as this start of a call is known, the calls counted from the beginning of the run.
fn killed_at_start(nth: usize) -> usize {
    let mut life = Life::new();
    let mut process = life.start();
    for _ in 0..nth {
        let started = process.event("action_started");
        let call = started["data"]["call"].as_str().unwrap();
        std::fs::write(life.place.work.join(format!("go-{call}")), "").unwrap();
    }
    process.event("action_started");
    life.kill(process);
    life.release();
    life.end()
}

#[test]
fn killed_between_the_start_of_a_call_and_its_result_no_call_is_done_twice() {
    let share = |n: usize| (0..10).filter(move |nth| nth % 3 == n).map(killed_at_start).sum::<usize>();
    let workers: Vec<_> = (0..3).map(|n| std::thread::spawn(move || share(n))).collect();
    let unknown: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    // At least the two calls that were held were killed in the gap.
    assert!(unknown >= 2, "{unknown}");
}

/// One call of bash and then the answer, killed in the middle of the call; gives the place, its trace, and how it ended.
fn killed_in(command: &str, until: impl Fn(&Place) -> bool) -> (Place, String) {
    let (place, server) = (Place::new(), scripted(vec![bash(command), Answer::text(ANSWER)]));
    let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
    process.event("action_started");
    wait_until("the moment for the kill", || until(&place));
    process.kill();
    let trace = place.trace();
    let resumed = place.run(&["resume", &trace, "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "All of it is done.\n"), "{resumed:#?}");
    let ends: Vec<String> = resolutions(&place.events(&trace)).into_values().collect();
    assert_eq!(ends, ["unknown"]);
    // The model was told, so that it can look instead of trying again.
    let told = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(told.contains("tool_call_id") && told.to_lowercase().contains("unknown"), "{told}");
    (place, trace)
}

#[test]
fn a_call_whose_effect_was_done_before_the_crash_is_not_done_again() {
    let (place, _) = killed_in("echo x >> effects.log; sleep 20", |place| place.text("effects.log") == "x\n");
    place.quiet();
    assert_eq!(place.text("effects.log"), "x\n");
}

#[test]
fn a_call_whose_owner_was_killed_never_writes() {
    let (place, _) =
        killed_in("echo $$ > pid; sleep 20; echo late >> effects.log", |place| place.text("pid").ends_with('\n'));
    place.quiet();
    assert_eq!(place.tools(), Vec::<u32>::new());
    assert_eq!(place.text("effects.log"), "");
}

#[test]
fn a_daemon_of_a_call_does_not_outlive_the_owner_either() {
    let command = "setsid -f sh -c 'echo $$ > pid; sleep 20; echo late >> effects.log'; sleep 20";
    let (place, _) = killed_in(command, |place| place.text("pid").ends_with('\n'));
    place.quiet();
    assert_eq!(place.text("effects.log"), "");
}

#[test]
fn a_run_that_is_killed_again_at_every_resume_still_comes_to_its_end() {
    let mut life = Life::new();
    life.release();
    for _ in 0..12 {
        if life.is_over() {
            break;
        }
        let mut process = life.start();
        // Killed at the first thing that it does.
        process.find(|line| matches!(parsed(line)["type"].as_str(), Some("action_started" | "model_request")));
        life.kill(process);
    }
    life.end();
}

#[test]
fn a_log_without_its_last_line_end_is_said_to_be_torn_by_whoever_shows_it() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    let trace = place.trace();
    for args in [&["show", &trace] as &[&str], &["export", &trace]] {
        assert!(!place.run(args).err.contains("incomplete"), "{args:?}");
    }
    let log = place.log(&trace);
    std::fs::write(place.file(&trace, "events.jsonl"), &log[..log.len() - 1]).unwrap();
    let last = log[..log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    let torn = format!("{} bytes of an incomplete last line", log.len() - 2 - last);
    assert!(place.run(&["verify", &trace]).out.contains(&torn));
    let shown = place.run(&["show", &trace]);
    assert!(shown.code == 0 && shown.err.contains(&format!("! the log has {torn}: not shown")), "{shown:#?}");
    let exported = place.run(&["export", &trace]);
    assert!(exported.err.contains(&format!("! the log has {torn}: not exported")), "{exported:#?}");
}
