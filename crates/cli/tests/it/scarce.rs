//! Programs that run out of open files or threads.

use crate::serving::{Served, finished, request, served, slow};
use crate::support::{Place, finish, wait_until};
use mainpath::store::{FilesStore, Options, Scope, Store};
use mainpath::types::{Event, Principal, TraceNamed};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// A server that may have this number of files open.
fn limited(place: &Place, files: usize) -> Served {
    let plain = place.command(&["serve", "--address", "127.0.0.1:0"]);
    let mut command = Command::new("sh");
    place.surround(&mut command);
    command.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", &files.to_string()]);
    command.arg(plain.get_program()).args(plain.get_args());
    served(command, place)
}

fn open_files(served: &Served) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", served.process.child.id())).map_or(0, Iterator::count)
}

/// A connection that stays open for several requests.
struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    key: String,
}

struct Answer {
    status: u16,
    retry_after: Option<String>,
    body: Value,
}

impl Connection {
    fn open(served: &Served) -> Connection {
        let stream = TcpStream::connect(&served.address).unwrap();
        Connection { stream: BufReader::new(stream), address: served.address.clone(), key: served.key.clone() }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let (address, key, length) = (&self.address, &self.key, body.len());
        write!(
            self.stream.get_mut(),
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the connection was closed: {head:?}");
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_lowercase()),
            }
        }
        let field = |name: &str| head.iter().find_map(|line| Some(line.strip_prefix(name)?.trim().to_string()));
        let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = vec![0; field("content-length:").unwrap().parse().unwrap()];
        self.stream.read_exact(&mut body).unwrap();
        Answer { status, retry_after: field("retry-after:"), body: serde_json::from_slice(&body).unwrap() }
    }
}

/// The folders of traces without a log.
fn empty_folders(place: &Place) -> Vec<String> {
    let is_empty = |trace: &String| !place.file(trace, "events.jsonl").exists();
    place.traces().into_iter().filter(is_empty).collect()
}

#[test]
fn a_server_that_can_open_no_more_files_answers_503_and_recovers() {
    let place = Place::new();
    let served = limited(&place, 96);
    let body = json!({"task": "Read it.", "model": slow(&place, 1)}).to_string();
    let mut connection = Connection::open(&served);
    assert_eq!(connection.ask("GET", "/ready", "").status, 200);
    assert_eq!(connection.ask("GET", "/api/traces", "").status, 200);
    let held: Vec<TcpStream> = (0..120).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    // A number above the limit may be inherited.
    wait_until("no file is left", || open_files(&served) >= 96);
    for (method, path, body) in [("POST", "/api/traces", body.as_str()), ("GET", "/api/traces", "")] {
        let answer = connection.ask(method, path, body);
        let kind = &answer.body["type"];
        assert_eq!((answer.status, kind), (503, &json!("/problems/out-of-files")), "{method}: {}", answer.body);
        assert_eq!(answer.retry_after.as_deref(), Some("1"), "{method}");
    }
    assert_eq!(connection.ask("GET", "/ready", "").status, 503);
    assert_eq!(place.traces(), [""; 0]);
    drop(held);
    wait_until("files are closed", || open_files(&served) < 60);
    let answer = connection.ask("POST", "/api/traces", &body);
    assert_eq!(answer.status, 202, "{}", answer.body);
    let trace = answer.body["trace_id"].as_str().unwrap();
    wait_until("it has ended", || finished(&place, trace) == 1);
    assert_eq!(connection.ask("GET", "/ready", "").status, 200);
    let Served { mut process, .. } = served;
    process.signal(Signal::TERM);
    let done = process.end();
    let lines = done.err.lines().filter(|line| line.contains("files cannot be opened"));
    assert_eq!(lines.count(), 1, "{done:#?}");
}

#[test]
fn of_more_starts_than_there_are_files_each_is_done_or_to_be_sent_again() {
    let place = Place::new();
    let served = limited(&place, 64);
    let body = json!({"task": "Read it.", "model": slow(&place, 50)}).to_string();
    let mut begun = Vec::new();
    let (address, key) = (served.address.clone(), served.key.clone());
    std::thread::scope(|scope| {
        let ask = || request(&address, &key, ("POST", "/api/traces"), "", &body).unwrap();
        let asked: Vec<_> = (0..40).map(|_| scope.spawn(ask)).collect();
        for (status, answer) in asked.into_iter().map(|asking| asking.join().unwrap()) {
            match status {
                202 => begun.push(answer["trace_id"].as_str().unwrap().to_string()),
                _ => assert_eq!((status, &answer["type"]), (503, &json!("/problems/out-of-files")), "{answer}"),
            }
        }
    });
    assert!(!begun.is_empty());
    for trace in &begun {
        wait_until("an accepted run ends", || finished(&place, trace) == 1);
    }
    assert_eq!((empty_folders(&place), place.traces().len()), (Vec::new(), begun.len()));
}

#[tokio::test]
async fn where_no_thread_can_be_started_a_command_ends_with_a_line() {
    let place = Place::new();
    // Large enough to be read by several threads.
    let named = |id: u64| {
        let data = TraceNamed { name: "x".repeat(600), by: Principal::local_user(), made: None };
        Event { id, ts: 1_795_315_500_000, turn: 0, mail: None, kind: data.into() }
    };
    let store = FilesStore::open(&place.home, Options::default()).unwrap();
    store.begin(&Scope::local(), &"t".parse().unwrap(), (1..=2_500).map(named).collect()).await.unwrap();
    drop(store);
    let mut some = (false, false);
    for when in 1..=8 {
        for args in [&["verify", "t"][..], &["ls"], &["show", "t"]] {
            let plain = place.command(args);
            let mut command = Command::new("strace");
            place.surround(&mut command);
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=clone,clone3"]);
            command.args(["-e", &format!("inject=clone,clone3:error=EAGAIN:when={when}+")]);
            command.arg(plain.get_program()).args(plain.get_args());
            let done = finish(command, None);
            assert!(!done.err.contains("panicked") && done.code <= 1, "{args:?} {when}: {done:#?}");
            assert!(done.code == 0 || done.own_lines().len() == 1, "{args:?} {when}: {done:#?}");
            some = (some.0 | (done.code == 0), some.1 | (done.code == 1));
        }
    }
    assert_eq!(some, (true, true), "some end with a line, and some need fewer threads");
}
