//! Disks that fail under the real program: strace makes its system calls fail.

use super::{long, tried};
use crate::serving::{Served, serve};
use crate::support::{Done, Place, bash, finish, scripted, wait_until};
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The program, whose calls of this kind fail. `when` is strace's: `3` is the third call, `3+` that one and all later ones.
fn failing(place: &Place, call: &str, error: &str, when: &str, args: &[&str]) -> Command {
    let plain = place.command(args);
    let mut command = Command::new("strace");
    place.surround(&mut command);
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:error={error}:when={when}")]);
    command.arg(plain.get_program()).args(plain.get_args());
    command
}

/// A model that runs three commands, one after the other.
fn three() -> ModelServer {
    let mut answers: Vec<Answer> = (1..=3).map(|n| bash(&format!("echo {n} >> effects"))).collect();
    answers.push(Answer::text("Done."));
    scripted(answers)
}

fn run(place: &Place, server: &ModelServer, call: &str, error: &str, when: &str) -> Done {
    let model = server.model();
    finish(failing(place, call, error, when, &["run", "--yes", "--model", &model, "Do it."]), None)
}

/// Checks the invariants after any failure: no panic, each command ran at most once and in order, the log verifies, and the run ends once
/// no call fails.
fn comes_to_its_end(place: &Place, done: &Done, what: &str) {
    assert!(!done.err.contains("panicked") && done.code != 101, "{what}: {done:#?}");
    let effects = |place: &Place| place.text("effects").lines().map(String::from).collect::<Vec<_>>();
    let once = |effects: &[String]| effects.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(once(&effects(place)), "{what}: {:?}", effects(place));
    for trace in place.traces() {
        place.ok(&["verify", &trace]);
        if done.code != 0 {
            let resumed = place.run(&["resume", "--yes", &trace]);
            assert!([0, 1].contains(&resumed.code), "{what}: {resumed:#?}");
        }
        place.ok(&["verify", &trace]);
    }
    assert!(once(&effects(place)), "{what}: {:?}", effects(place));
}

#[test]
fn while_no_sync_succeeds_nothing_is_done_and_the_run_fails_with_a_line() {
    // strace counts the calls of each thread by itself.
    for first in [1, 3] {
        let (place, server) = (Place::new(), three());
        let done = run(&place, &server, "fdatasync", "EIO", &format!("{first}+"));
        assert!(done.code == 1 && done.err.contains("cannot be written"), "{first}: {done:#?}");
        // The command that an append asks for runs only after the append is durable.
        let (asked, ran) = (server.count(), place.text("effects").lines().count());
        assert!(ran <= asked && ran < 3, "{first}: {ran} commands after {asked} requests");
        assert!(first > 1 || asked == 0, "a model was asked before anything was durable");
        comes_to_its_end(&place, &done, &format!("syncs fail from {first} on"));
        assert_eq!(place.text("effects").lines().count(), if place.traces().is_empty() { 0 } else { 3 }, "{first}");
    }
}

#[test]
fn one_failed_sync_is_made_good_by_writing_again() {
    let count = if long() { 24 } else { 3 };
    for nth in (1..=24).step_by(24 / count) {
        let (place, server) = (Place::new(), three());
        let done = run(&place, &server, "fdatasync", "EIO", &nth.to_string());
        assert_eq!((done.code, place.text("effects").as_str()), (0, "1\n2\n3\n"), "{nth}: {done:#?}");
        comes_to_its_end(&place, &done, &format!("sync {nth} fails"));
    }
}

#[test]
fn a_server_that_cannot_sync_acknowledges_nothing_and_is_not_ready_until_it_can() {
    let (place, server) = (Place::new(), three());
    let mut served = serve(&place);
    let start = |served: &Served| {
        let body = json!({"task": "Do it.", "model": server.model(), "approvals": "yes"}).to_string();
        served.ask("POST", "/api/traces", "", &body)
    };
    let ready = |served: &Served| served.ask("GET", "/ready", "", "").0;
    assert_eq!((start(&served).0, ready(&served)), (202, 200));
    wait_until("its commands have run", || place.text("effects").lines().count() == 3);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO"]);
    strace.args(["-p", &served.process.child.id().to_string()]).stderr(Stdio::piped());
    let mut strace = strace.spawn().unwrap();
    let mut attached = String::new();
    BufReader::new(strace.stderr.as_mut().unwrap()).read_line(&mut attached).unwrap();
    assert!(attached.contains("attached"), "{attached}");
    for _ in 0..3 {
        let (status, said) = start(&served);
        assert!(status >= 500 && said.to_string().contains("cannot be written"), "{status} {said}");
    }
    assert_eq!((ready(&served), place.text("effects").lines().count()), (503, 3));
    strace.kill().unwrap();
    strace.wait().unwrap();
    wait_until("a start is taken again", || start(&served).0 == 202);
    assert_eq!(ready(&served), 200);
    served.process.signal(rustix::process::Signal::TERM);
    let done = served.process.end();
    assert_eq!(done.err.matches("logs cannot be written").count(), 1, "{done:#?}");
}

/// A row of the table: what came of a run whose calls failed.
fn row(place: &Place, done: &Done, what: &str) {
    if long() {
        println!("{what}: exit code {}, {} of 3 commands", done.code, place.text("effects").lines().count());
    }
}

#[test]
fn whichever_write_of_the_log_fails_nothing_is_repeated_and_the_run_comes_to_its_end() {
    let numbers: &[u32] = if long() { &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14] } else { &[4] };
    let mut count = 0;
    for error in ["EIO", "ENOSPC", "EDQUOT"].iter().filter(|error| long() || **error != "EDQUOT") {
        for number in numbers {
            for more in ["", "+"] {
                let mut answers: Vec<Answer> = (1..=3).map(|n| bash(&format!("echo {n} >> effects"))).collect();
                answers.insert(0, Answer::text("Hello."));
                answers.push(Answer::text("Done."));
                let (place, server) = (Place::new(), scripted(answers));
                place.run_on(&server, &["Say hello."]);
                let trace = place.trace();
                let log = place.home.join("traces").join(&trace).join("events.jsonl");
                let calls = "write,writev,pwrite64,pwritev";
                let mut command = Command::new("strace");
                let model = server.model();
                let plain = place.command(&["run", "--yes", "--trace", &trace, "--model", &model, "Do it."]);
                place.surround(&mut command);
                command.args(["-f", "-qq", "-o", "/dev/null", "-P", &log.display().to_string()]);
                command.args(["-e", &format!("inject={calls}:error={error}:when={number}{more}")]);
                command.arg(plain.get_program()).args(plain.get_args());
                let (done, what) = (finish(command, None), format!("write {error} {number}{more}"));
                row(&place, &done, &what);
                comes_to_its_end(&place, &done, &what);
                count += 1;
            }
        }
    }
    tried("disks", count, "failing writes of the log");
}

/// With the key of the first request, the same request gets the whole conversation answered, once.
#[test]
fn a_server_that_is_killed_while_it_takes_in_a_conversation_takes_in_all_of_it_when_asked_again() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("All 1,201 of them.")]));
    let messages: Vec<_> = (0..1_201)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("message {n}")}))
        .collect();
    let body = json!({"messages": messages, "model": server.model()}).to_string();
    let key = "idempotency-key: one\r\nprefer: wait=60\r\n";
    let mut served = serve(&place);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=SIGKILL"]);
    strace.args(["-p", &served.process.child.id().to_string()]).stderr(Stdio::piped());
    let mut strace = strace.spawn().unwrap();
    BufReader::new(strace.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    assert!(served.try_ask("POST", "/api/traces", key, &body).is_err(), "it is killed before it answers");
    served.process.end();
    strace.wait().unwrap();
    let mut served = serve(&place);
    let (status, answer) = served.ask("POST", "/api/traces", key, &body);
    assert_eq!((status, &answer["outcome"]["answer"]), (200, &json!("All 1,201 of them.")), "{answer}");
    let asked = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(asked.contains("message 1200\""), "the last one is answered");
    let log = std::fs::read_to_string(place.home.join("traces").join(place.trace()).join("events.jsonl")).unwrap();
    assert_eq!(log.matches("\"type\":\"message_imported\"").count(), 1_201);
    assert_eq!(log.matches("\"type\":\"run_finished\"").count(), 1);
    served.process.signal(rustix::process::Signal::TERM);
    served.process.end();
}

#[test]
fn whatever_call_fails_nothing_is_repeated_and_the_run_comes_to_its_end() {
    // Not `write`, with which the runtime also wakes its threads: those of the log fail below.
    let calls = ["fdatasync", "openat", "rename", "ftruncate", "fsync", "pwrite64"];
    let errors = ["EIO", "ENOSPC", "EMFILE", "EDQUOT"];
    let numbers: &[u32] = if long() { &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144] } else { &[5] };
    let mut count = 0;
    for call in calls {
        for error in errors.iter().filter(|error| long() || **error == "ENOSPC") {
            for number in numbers {
                for more in ["", "+"] {
                    let (place, server) = (Place::new(), three());
                    let when = format!("{number}{more}");
                    let done = run(&place, &server, call, error, &when);
                    row(&place, &done, &format!("{call} {error} {when}"));
                    comes_to_its_end(&place, &done, &format!("{call} {error} {when}"));
                    count += 1;
                }
            }
        }
    }
    tried("disks", count, "failing system calls");
}
