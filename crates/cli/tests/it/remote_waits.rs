//! A run that waits for an agent on another machine whose server never reports its end: what ends the run ends the wait.

use crate::machines::{handed, hands_on_at};
use crate::support::{Place, Process, newest, wait_until};
use mainpath::core::{Input, InputKind, Machine};
use mainpath::types::{MessageMode, MessageQueued, Part, Principal, Profile, Spec, TraceId};
use mainpath_testkit::model_server::ModelServer;
use mainpath_testkit::receiver::{Received, Receiver};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// The server of another machine. It takes every task and all mail, answers at once, and nothing drives its agents.
struct Far {
    place: Place,
    server: Receiver,
    model: ModelServer,
}

impl Far {
    fn start() -> Far {
        let server = Receiver::start(answer);
        let place = Place::new();
        place.config(&format!(
            "context_window = 128000\n[peers.far]\nurl = {:?}\nkey = \"FAR_KEY\"\nabout = \"Has a fast machine.\"\n\
             [secrets]\nFAR_KEY = \"far-key-far-key\"\n",
            server.url()
        ));
        let model = hands_on_at(server.url());
        Far { place, server, model }
    }

    /// Starts a run, and returns when it has read the log of its agent.
    fn waits(&self, args: &[&str]) -> Process {
        let run = self.place.start_run(&self.model, &[&["--yes"], args, &["Have it read."]].concat());
        wait_until("the log is read", || self.count("/log?after=0&events=true") > 0);
        run
    }

    /// How many requests had this in their paths.
    fn count(&self, path: &str) -> usize {
        self.server.received().iter().filter(|request| request.path.contains(path)).count()
    }

    /// The last run was ended, and so was the wait: the stop was sent but not confirmed.
    fn was_stopped(&self, problem: &str) {
        let host = self.server.url().replace("http://", "");
        let ended = handed(&self.place, &newest(&self.place));
        let unsure = format!("{problem}it did not confirm that it stopped; it may continue on {host}");
        assert_eq!((&ended[0]["outcome"], &ended[0]["problem"]), (&json!("stopped"), &json!(unsure)));
        let stop = json!({"mail": {"type": "stop"}});
        let mail = self.server.received().into_iter().filter(|request| request.path.ends_with("/mail"));
        assert_eq!(mail.map(|request| request.json()).collect::<Vec<_>>(), [stop]);
    }
}

fn answer(request: &Received) -> (u16, String) {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let id = match path.split('/').nth(3) {
        Some(id) => id.to_string(),
        None => request.json()["trace_id"].as_str().unwrap().to_string(),
    };
    let body = match path.rsplit('/').next() {
        Some("log") => {
            let after = query.split(['=', '&']).nth(1).and_then(|after| after.parse().ok()).unwrap();
            log(&id, after, query.ends_with("events=true"))
        }
        Some("mail") => json!({"trace_id": id, "mail": 1}),
        _ => json!({"trace_id": id, "status": "started", "watch": ""}),
    };
    (if path.ends_with("log") { 200 } else { 202 }, body.to_string())
}

/// The log of an agent that was killed when it had asked its model.
fn log(id: &str, after: u64, with_events: bool) -> Value {
    let trace: TraceId = id.parse().unwrap();
    let (mut machine, mut log) = (Machine::new(trace), Vec::new());
    let said = MessageQueued {
        mode: MessageMode::Message,
        parts: vec![Part::text("Read a.txt.")],
        typed: None,
        tokens: 5,
        demands: 0,
        demanded: Vec::new(),
        from: Principal::local_user(),
    };
    let spec = Arc::new(Spec::new("scripted:none", Profile::Trace));
    for kind in [InputKind::SetSpec { spec, by: None }, InputKind::UserMessage(said)] {
        log.extend(machine.handle(&Input::new(1_700_000_000_000, kind)).unwrap());
        machine.commit(log.len() as u64);
    }
    let head = log.len() as u64;
    let events = log.into_iter().filter(|event| with_events && event.id > after).collect::<Vec<_>>();
    let through = if with_events { head } else { after.min(head) };
    json!({"events": events, "through": through, "head": head, "is_driven": false})
}

#[test]
fn an_interrupt_ends_a_run_that_waits_for_an_agent_on_another_machine() {
    let far = Far::start();
    let mut run = far.waits(&[]);
    run.signal(Signal::INT);
    let done = run.end();
    assert_eq!(done.code, 130, "{done:#?}");
    far.was_stopped("");
}

#[test]
fn a_time_limit_ends_a_run_that_waits_for_an_agent_on_another_machine() {
    let far = Far::start();
    let done = far.waits(&["--timeout", "2s"]).end();
    assert!(done.err.contains("time limit"), "{done:#?}");
    far.was_stopped("its time is up; ");
}

#[test]
fn an_agent_that_nothing_drives_is_resumed_and_asked_for_a_few_times_a_second_at_most() {
    let far = Far::start();
    let began = Instant::now();
    let mut run = far.waits(&[]);
    wait_until("its server is asked to resume it", || far.count("/resume") > 0);
    let (asked, took) = (far.server.received().len(), began.elapsed().as_secs_f64());
    assert!((asked as f64) < 4.0 * took, "{asked} requests in {took} s");
    run.signal(Signal::TERM);
    let done = run.end();
    assert_eq!(far.count("/resume"), 1);
    let lines: Vec<&str> = done.err.lines().filter(|line| line.contains("mainpath resume t")).collect();
    let notices = done.err.matches("no process on 127.0.0.1").count();
    assert_eq!(notices, 1, "{lines:#?} {done:#?}");
    assert!(
        done.err.contains("; its server was asked to resume it; to do it on that machine: mainpath resume "),
        "{done:#?}"
    );
    far.was_stopped("");
}
