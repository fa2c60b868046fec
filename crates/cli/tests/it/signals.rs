//! Ctrl-C, as a signal.

use crate::support::*;
use mainpath::core::estimate;
use mainpath::types::Usage;
use mainpath_testkit::model_server::{Answer, Format, ModelServer, Reply};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const STOPPED: &str = "The run ended before a final answer (stopped).";

/// The first request gets this, all others the answer.
fn first(reply: impl Into<Reply>) -> ModelServer {
    let reply = reply.into();
    server(move |request| if request.n == 1 { reply.clone() } else { Answer::text("Done after all.").into() })
}

/// Whoever counts its turns counts the one that was cut short.
fn counts_one_turn(place: &Place) {
    let listed = parsed(&place.ok(&["ls", "--json"]));
    let counted = place.ok(&["stats", "--json"]);
    let total = parsed(counted.lines().last().unwrap())["total"].clone();
    assert_eq!((&listed["turns"], &total["turns"]["count"]), (&1.into(), &1.into()), "{listed} {total}");
    // So do they all say whether what it used was estimated.
    assert_eq!((&listed["about"], &total["about"]), (&total["about"], &listed["about"]), "{listed} {total}");
    assert!(listed["about"].is_boolean(), "{listed}");
}

fn resumes(place: &Place) {
    counts_one_turn(place);
    let done = place.run(&["resume", "--yes"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done after all.\n"), "{done:#?}");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

#[test]
fn the_first_interrupt_stops_a_tool_and_the_run() {
    let (place, server) = (Place::new(), first(bash("echo $$ > pid; sleep 30")));
    let mut process = place.start_run(&server, &["--yes", "Do it."]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n'));
    process.signal(Signal::INT);
    let done = process.end();
    assert!(done.code == 130 && done.report().starts_with(STOPPED), "{done:#?}");
    let trace = place.trace();
    let expected = [
        "stopping at the next checkpoint; Ctrl-C again stops at once".to_string(),
        format!("stopped; continue with mainpath resume {trace}"),
    ];
    assert_eq!(done.own_lines(), expected);
    assert_eq!(place.tools(), Vec::<u32>::new());
    assert_eq!(place.events(&trace).pop().unwrap()["data"]["reason"], "stopped");
    resumes(&place);
}

#[test]
fn the_first_interrupt_gives_up_an_answer_that_is_still_coming() {
    let (place, server) = (Place::new(), first(Answer { delay_ms: 50_000, ..Answer::text("Never.") }));
    let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
    wait_until("the server is asked", || server.count() == 1);
    process.event("model_request");
    process.signal(Signal::INT);
    let done = process.end();
    assert_eq!(done.code, 130, "{done:#?}");
    let ends: Vec<_> = done.out.lines().map(|line| parsed(line)["type"].clone()).collect();
    assert_eq!(ends[ends.len() - 3..], ["run_closing", "model_abandoned", "run_finished"]);
    resumes(&place);
}

#[test]
fn an_interrupt_in_the_middle_of_an_answer_books_what_came_of_it_and_says_that_it_is_an_estimate() {
    const PRICE: [u64; 2] = [3_000_000, 15_000_000];
    let words: String = (0..240).map(|n| format!("heron {n} ")).collect();
    for format in [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini] {
        let counted = Usage { input: 1_000, output: 5, ..Usage::default() };
        let whole = Answer { usage: Usage { output: 700, ..counted }, ..Answer::text(&words) };
        let half = format.render(&whole, true).len() / 2;
        let (place, server) = (Place::new(), {
            let after = Answer { usage: counted, ..Answer::text("Done after all.") };
            server(move |request| match request.n {
                1 => Reply::Stall(whole.clone(), half),
                _ => after.clone().into(),
            })
        });
        let model = server.model_of(format);
        let (kind, _) = model.split_once(':').unwrap();
        let [input, output] = PRICE;
        let price = format!("[[model]]\nname = \"{kind}:*\"\nprice = {{ input = {input}, output = {output} }}\n");
        std::fs::create_dir_all(&place.home).unwrap();
        std::fs::write(place.home.join("models.toml"), price).unwrap();
        let mut process = place.start(&["run", "--model", &model, "--yes", "--json", "Do it."]);
        let said = |lines: &str| -> String {
            let lines = lines.lines().map(parsed).filter(|line| line["type"] == "assistant_delta");
            lines.map(|line| line["data"]["text"].as_str().unwrap().to_string()).collect()
        };
        while said(&process.seen.concat()).len() < 400 {
            process.event("assistant_delta");
        }
        process.signal(Signal::INT);
        let done = process.end();
        assert_eq!(done.code, 130, "{done:#?}");
        let seen = said(&done.out);
        assert!(words.starts_with(&seen), "{seen}");
        let events = place.events(&place.trace());
        let last = |name: &str| events.iter().rfind(|event| event["type"] == name).unwrap()["data"].clone();
        let (asked, given_up, ended) = (last("model_requested"), last("model_abandoned"), last("run_finished"));
        let used = |usage: &Value| ["input", "output"].map(|name| usage[name].as_u64().unwrap());
        let [input, output] = used(&ended["usage"]);
        // What may lie between what was seen and what had come: pieces that were on their way to the screen.
        let most = u64::from(estimate(&words));
        let least = u64::from(estimate(&seen));
        assert!((least..most).contains(&output), "{kind}: {output} of {least} to {most}: {ended}");
        assert!(input > 0 && input <= asked["input"].as_u64().unwrap(), "{kind}: {input}: {asked}");
        assert_eq!(ended["cost"], (input * PRICE[0] + output * PRICE[1]).div_ceil(1_000_000), "{kind}");
        assert_eq!((&ended["reason"], &ended["about"]), (&"stopped".into(), &true.into()), "{kind}");
        assert_eq!(given_up["spent"]["usage"], ended["usage"], "{kind}");
        assert!(given_up["usage"]["output"].as_u64().unwrap() > 2 * most, "the reserve is another number: {given_up}");
        // Of the next one the vendor's count is taken, and nothing is an estimate.
        assert_eq!(place.run(&["resume", "--yes"]).out, "Done after all.\n", "{kind}");
        let ended = place.events(&place.trace()).pop().unwrap()["data"].clone();
        assert_eq!((used(&ended["usage"]), &ended["about"]), ([1_000, 5], &Value::Null), "{kind}");
        place.ok(&["verify"]);
        place.ok(&["replay"]);
    }
}

#[test]
fn the_first_interrupt_cuts_the_wait_before_a_retry_short() {
    let headers = vec![("retry-after".to_string(), "50".to_string())];
    let busy = Reply::Error { status: 503, headers, body: "{}".into() };
    let (place, server) = (Place::new(), first(busy));
    let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
    let failed = process.event("model_failed");
    assert!(failed["data"]["retry_at"].is_u64(), "{failed}");
    process.signal(Signal::INT);
    let done = process.end();
    assert_eq!(done.code, 130, "{done:#?}");
    resumes(&place);
}

/// The processes that a process has started, and those that they have started.
fn descendants(of: u32) -> Vec<Pid> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()
    };
    let parents: Vec<(u32, u32)> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let (mut found, mut at) = (vec![of], 0);
    while let Some(of) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid));
        at += 1;
    }
    found[1..].iter().map(|pid| Pid::from_raw(pid.cast_signed()).unwrap()).collect()
}

#[test]
fn the_second_interrupt_ends_at_once() {
    let (place, server) = (Place::new(), first(bash("trap '' TERM; echo $$ > pid; sleep 30; echo late > late")));
    let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n'));
    // The tool and its launcher stand still, so that the first interrupt cannot end the run before the second one comes.
    let started = descendants(process.child.id());
    assert!(started.len() > 1, "{started:?}");
    started.iter().for_each(|pid| kill_process(*pid, Signal::STOP).unwrap());
    process.signal(Signal::INT);
    process.event("call_cancelling");
    process.signal(Signal::INT);
    wait_until("it has ended", || !is_alive(process.child.id()));
    // Those that are gone need no signal.
    started.iter().for_each(|pid| kill_process(*pid, Signal::CONT).unwrap_or_default());
    let done = process.end();
    assert_eq!(done.code, 130, "{done:#?}");
    let trace = place.trace();
    assert_eq!(done.own_lines()[1], format!("interrupted; continue with mainpath resume {trace}"), "{done:#?}");
    assert!(!done.out.contains("call_resolved") && !done.out.contains("run_finished"), "{done:#?}");
    place.quiet();
    assert_eq!(place.tools(), Vec::<u32>::new());
    // The stop was for the process that is gone: the next one answers at once.
    let resumed = place.run(&["resume", "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "Done after all.\n"), "{resumed:#?}");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
    assert_eq!(place.text("late"), "");
}

#[test]
fn a_stop_that_its_process_never_read_stops_nothing_else() {
    for next in [&["resume", "--yes"][..], &["run", "--yes", "-c", "And now?"]] {
        let (place, server) = (Place::new(), first(bash("echo $$ > pid; sleep 30")));
        let mut process = place.start_run(&server, &["--yes", "Do it."]);
        wait_until("the tool runs", || place.text("pid").ends_with('\n'));
        process.signal(Signal::STOP);
        assert!(place.ok(&["stop"]).ends_with(" stops at the next checkpoint\n"));
        process.signal(Signal::KILL);
        assert_eq!(process.end().code, 137);
        place.quiet();
        let done = place.run(next);
        assert_eq!((done.code, done.out.as_str()), (0, "Done after all.\n"), "{next:?}: {done:#?}");
        let ends = place.events(&place.trace()).into_iter().filter(|event| event["type"] == "run_finished");
        let reasons: Vec<Value> = ends.map(|event| event["data"]["reason"].clone()).collect();
        assert_eq!(reasons, ["stopped", "final"]);
        place.ok(&["verify"]);
        place.ok(&["replay"]);
    }
}

#[test]
fn the_report_of_a_stopped_run_is_about_that_run() {
    let slow = "echo x >> began; sleep 30";
    let answers = vec![bash("echo one >> effects"), Answer::text("The first end."), bash(slow), Answer::text("Never.")];
    let (place, server) = (Place::new(), scripted(answers));
    assert_eq!(place.run_on(&server, &["--yes", "Write one."]).code, 0);
    let mut process = place.start(&["run", "-c", "--yes", "Wait."]);
    wait_until("the tool runs", || place.text("began") == "x\n");
    process.signal(Signal::INT);
    let done = process.end();
    let expected = format!(
        "{STOPPED}\n\nDone: no tool call succeeded.\nBlocked by: the run was stopped.\nNext: continue the trace."
    );
    assert_eq!((done.code, done.report().trim_end()), (130, expected.as_str()), "{done:#?}");
}

#[test]
fn a_run_that_was_asked_to_terminate_or_lost_its_terminal_stops_at_a_checkpoint() {
    for signal in [Signal::TERM, Signal::HUP] {
        let (place, server) = (Place::new(), first(bash("echo $$ > pid; sleep 30")));
        let args = ["run", "--model", &server.model(), "--yes", "Do it."];
        let mut process = Process::start(place.command_that_hears_hangups(&args));
        wait_until("the tool runs", || place.text("pid").ends_with('\n'));
        process.signal(signal);
        let done = process.end();
        assert!(done.code == 130 && done.report().starts_with(STOPPED), "{done:#?}");
        assert_eq!(done.own_lines()[0], "stopping at the next checkpoint; a second signal stops at once");
        assert_eq!(place.tools(), Vec::<u32>::new());
        assert_eq!(place.events(&place.trace()).pop().unwrap()["data"]["reason"], "stopped");
        resumes(&place);
    }
}

#[test]
fn under_nohup_a_terminal_that_goes_stops_nothing() {
    let (place, server) = (Place::new(), first(bash("echo $$ > pid; sleep 1; echo slept > slept")));
    let model = server.model();
    let mut command = std::process::Command::new("nohup");
    place.surround(&mut command);
    command.args([env!("CARGO_BIN_EXE_mainpath"), "run", "--model", &model, "--yes", "Do it."]);
    let mut process = Process::start(command);
    wait_until("the tool runs", || place.text("pid").ends_with('\n'));
    process.signal(Signal::HUP);
    let done = process.end();
    assert_eq!((done.code, done.out.as_str()), (0, "Done after all.\n"), "{done:#?}");
    assert_eq!(place.text("slept"), "slept\n");
}
