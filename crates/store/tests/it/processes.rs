//! This binary runs itself again as another process. The part to play comes in the environment; without it, the parts
//! return at once.

use crate::Home;
use mainpath_store::conformance::{event, events};
use mainpath_store::*;
use mainpath_types::{EventId, TraceId};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const DATA: &str = "MAINPATH_TEST_DATA";

/// Another process that plays `part`, and what it says.
struct Other {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Other {
    fn play(part: &str, data: &Path) -> Other {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([&format!("processes::{part}"), "--exact", "--nocapture", "--test-threads=1"])
            .env(DATA, data)
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Other { child, says }
    }

    /// The next line that begins with `@`, without it; `None` at the end.
    fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.says.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The test harness may have written before it on the same line.
            if let Some((_, said)) = line.split_once('@')
                && let Some(said) = said.strip_suffix('\n')
            {
                return Some(said.to_owned());
            }
        }
    }

    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = Vec::new();
        while let Some(line) = self.line() {
            rest.push(line);
        }
        rest
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn data() -> Option<PathBuf> {
    std::env::var_os(DATA).map(PathBuf::from)
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "@{text}").unwrap();
    out.flush().unwrap();
}

fn name(n: usize) -> TraceId {
    format!("t{n}").parse().unwrap()
}

/// Part: appends to five traces at once for ever and says what was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn part_appends_for_ever() {
    let Some(data) = data() else { return };
    let store = Arc::new(FilesStore::open(&data, Options::default()).unwrap());
    let mut tasks = Vec::new();
    for n in 0..5 {
        let Opened { lease, log } = store.lease(&Scope::local(), &name(n), true).await.unwrap();
        let (store, mut head) = (Arc::clone(&store), log.head);
        tasks.push(tokio::spawn(async move {
            // Longer than it will live.
            while head < 1_000_000 {
                let answer = store.append(&lease, head, events(head + 1, head + 2)).await;
                assert_eq!(answer, Appended::Committed { head: head + 2 });
                head += 2;
                say(&format!("{n} {head}"));
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_process_loses_no_acknowledged_event() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeMap<usize, EventId> = BTreeMap::new();
    for round in 0..10 {
        let mut other = Other::play("part_appends_for_ever", dir.path());
        let mut said = Vec::new();
        // Killed at another moment each time.
        for _ in 0..(1 + round * 37) {
            said.push(other.line().expect("the other process ended by itself"));
        }
        said.extend(other.kill());
        for line in said {
            let (n, head) = line.split_once(' ').unwrap();
            acknowledged.insert(n.parse().unwrap(), head.parse().unwrap());
        }
        let store = FilesStore::open(dir.path(), Options::default()).unwrap();
        for (n, head) in &acknowledged {
            let Opened { lease: _lease, log } = store.lease(&Scope::local(), &name(*n), false).await.unwrap();
            assert_eq!(log.damage, None);
            assert!(log.head >= *head, "trace {n}: {} events there, {head} acknowledged", log.head);
            assert!(log.events == events(1, log.head));
        }
    }
    assert!(!acknowledged.is_empty());
}

/// Part: owns a trace until it is told to end.
#[tokio::test]
async fn part_owns_a_trace() {
    let Some(data) = data() else { return };
    let store = FilesStore::open(&data, Options::default()).unwrap();
    let lease = store.lease(&Scope::local(), &name(0), true).await.unwrap().lease;
    assert_eq!(store.append(&lease, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    say("ready");
    let mut line = String::new();
    let mut head = 1;
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        assert_eq!(
            store.append(&lease, head, vec![event(head + 1, &line)]).await,
            Appended::Committed { head: head + 1 }
        );
        head += 1;
        line.clear();
    }
}

#[tokio::test]
async fn another_process_is_named_as_the_owner_until_it_dies() {
    let home = Home::new();
    let mut other = Other::play("part_owns_a_trace", home.dir.path());
    assert_eq!(other.line().as_deref(), Some("ready"));
    let id = other.child.id();
    let held = home.store.lease(&Scope::local(), &name(0), false).await.unwrap_err();
    let owner = || home.store.owner(&Scope::local(), &name(0)).unwrap();
    assert!(matches!(owner(), Some(mainpath_store::Owner::Process(_))), "{:?}", owner());
    assert_eq!(
        held.to_string(),
        format!("trace t0 is being run by process {id}; stop it there, or wait until it is done")
    );
    other.kill();
    assert_eq!(owner(), None);
    let Opened { lease, log } = home.store.lease(&Scope::local(), &name(0), false).await.unwrap();
    assert_eq!((log.events, lease.epoch()), (events(1, 1), 2));
    assert_eq!(owner(), Some(mainpath_store::Owner::ThisProcess));
}

#[tokio::test]
async fn appends_of_another_process_reach_subscribers() {
    let home = Home::new();
    let mut other = Other::play("part_owns_a_trace", home.dir.path());
    assert_eq!(other.line().as_deref(), Some("ready"));
    let mut head = home.store.subscribe(&Scope::local(), &name(0)).unwrap();
    assert_eq!(*head.borrow_and_update(), 1);
    let mut tell = other.child.stdin.take().unwrap();
    for n in 2..=4 {
        writeln!(tell, "go on").unwrap();
        let seen = tokio::time::timeout(Duration::from_secs(20), head.wait_for(|head| *head == n)).await;
        assert!(seen.is_ok_and(|seen| seen.is_ok()), "event {n} was not announced");
    }
    let read = home.store.read(&Scope::local(), &name(0), 3).await.unwrap();
    assert_eq!(read.events, [event(3, "go on\n"), event(4, "go on\n")]);
}

/// Part: posts a message.
#[tokio::test]
async fn part_posts_mail() {
    let Some(data) = data() else { return };
    let store = FilesStore::open(&data, Options::default()).unwrap();
    let anna = Scope { principal: "anna".parse().unwrap(), ..Scope::local() };
    let id = store.post(&anna, &name(0), true, "{\"stop\":true}".into()).await.unwrap();
    say(&id.to_string());
}

#[tokio::test]
async fn mail_of_another_process_wakes_the_owner() {
    let home = Home::new();
    let scheduler = home.store.scheduler();
    let _lease = home.store.lease(&Scope::local(), &name(0), true).await.unwrap();
    let mut other = Other::play("part_posts_mail", home.dir.path());
    let wake = tokio::time::timeout(Duration::from_secs(20), scheduler.next()).await.expect("no wake");
    assert_eq!(wake, Wake { tenant: Scope::local().tenant, trace: name(0) });
    assert_eq!(other.line().as_deref(), Some("1"));
    let mail = home.store.mail(&Scope::local(), &name(0), 0).await.unwrap();
    let seen: Vec<_> = mail.iter().map(|m| (m.id, m.from.as_str(), m.urgent, m.body.as_str())).collect();
    assert_eq!(seen, [(1, "anna", true, "{\"stop\":true}")]);
}
