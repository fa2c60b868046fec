//! Measures reading, appending and leasing. Run with `cargo run --release -p mainpath-store --example readlog`; with
//! the argument `read` only reading.
#![allow(clippy::unwrap_used, reason = "a measurement")]

use mainpath_store::{FilesStore, MemoryStore, Opened, Options, Salts, Scope, Store, scheduler};
use mainpath_types::{ActionStarted, CallId, Event, EventId, Seq};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn event(id: EventId) -> Event {
    let call = CallId { seq: Seq(id as u32), index: 0 };
    let started = ActionStarted { call, attempt: 1, rule: "builtin.read-only".into() };
    Event { id, ts: 1_795_315_500_000 + id, turn: id as u32 / 5, mail: None, kind: started.into() }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let (scope, trace) = (Scope::local(), "t".parse().unwrap());

    let lines = 300_000;
    let memory = MemoryStore::new(scheduler::system_clock, Salts::Seeded(1));
    let lease = memory.lease(&scope, &trace, true).await.unwrap().lease;
    let batch = (1..=lines).map(event).collect();
    let began = Instant::now();
    memory.append(&lease, 0, batch).await;
    println!("encode and hash: {:.2} us a line", began.elapsed().as_secs_f64() * 1e6 / lines as f64);
    for _ in 0..5 {
        let (began, cpu) = (Instant::now(), cpu_seconds());
        let read = memory.read(&scope, &trace, 1).await.unwrap();
        let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        assert_eq!(read.head, lines);
        println!("read: {:.0} lines/s, {:.2} us of CPU a line", lines as f64 / wall, cpu * 1e6 / lines as f64);
    }
    if std::env::args().nth(1).is_some_and(|only| only == "read") {
        return;
    }

    let dir = tempfile::tempdir_in(".").unwrap();
    let log = std::fs::OpenOptions::new().append(true).create(true).open(dir.path().join("raw")).unwrap();
    let raw = (0..2000).map(|_| {
        let began = Instant::now();
        (&log).write_all(&[b'x'; 600]).unwrap();
        log.sync_data().unwrap();
        began.elapsed()
    });
    println!("raw write + fdatasync, middle: {:?}", middle(raw.collect()));

    let store = Arc::new(FilesStore::open(&dir.path().join("data"), Options::default()).unwrap());
    let lease = store.lease(&scope, &trace, true).await.unwrap().lease;
    let mut times = Vec::new();
    for n in 0..2000 {
        let batch = vec![event(2 * n + 1), event(2 * n + 2)];
        let began = Instant::now();
        store.append(&lease, 2 * n, batch).await;
        times.push(began.elapsed());
    }
    println!("append of 2 events, middle: {:?}", middle(times.split_off(1000)));

    for count in [1_000, 10_000] {
        let began = Instant::now();
        let mut leases = Vec::new();
        for n in 0..count {
            let trace = format!("many-{count}-{n}").parse().unwrap();
            let Opened { lease, .. } = store.lease(&scope, &trace, true).await.unwrap();
            leases.push(lease);
        }
        println!("{count} leases: {:?}, {} kB resident", began.elapsed(), resident());
        let began = Instant::now();
        let tasks: Vec<_> = leases
            .into_iter()
            .map(|lease| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    for head in 0..5 {
                        store.append(&lease, head, vec![event(head + 1)]).await;
                    }
                    lease
                })
            })
            .collect();
        let mut back = Vec::new();
        for task in tasks {
            back.push(task.await.unwrap());
        }
        println!("5 appends each, all at once: {:?}", began.elapsed());
    }
    let began = Instant::now();
    drop(Arc::into_inner(store).unwrap());
    println!("close with everything to sync: {:?}", began.elapsed());
}

/// Of all threads, to 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    ticks.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
