//! `mainpath serve`: how fast it is ready, how many runs it takes a second, how soon watchers see an event, and what many of them cost.

use super::start::mainpath;
use super::traces::many;
use super::{mb, ms, runtime};
use crate::Fail;
use crate::process::{folder, now, open_files};
use crate::stats::median;
use crate::table::Row;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server as a process. It ends with this.
struct Served {
    process: Child,
    address: String,
    key: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Served {
    /// Starts it; gives also how long it took until it answered that it is ready.
    fn start(root: &Path) -> Result<Begun, Fail> {
        let home = root.join("home");
        std::fs::create_dir_all(&home)?;
        std::fs::create_dir_all(root.join("work"))?;
        std::fs::write(home.join("config.toml"), "[server]\nrate = 1000000\nconnections = 20000\n")?;
        let began = now();
        let mut process = Command::new(mainpath()?)
            .args(["serve", "--address", "127.0.0.1:0"])
            .env("MAINPATH_HOME", &home)
            .current_dir(root.join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        let line = lines.next().ok_or("the server said nothing")??;
        let address =
            line.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next()).ok_or("no address")?;
        let address = address.to_string();
        let ready = || -> std::io::Result<bool> {
            let mut stream = std::net::TcpStream::connect(&address)?;
            let head = format!("GET /ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
            std::io::Write::write_all(&mut stream, head.as_bytes())?;
            let mut text = String::new();
            std::io::Read::read_to_string(&mut stream, &mut text)?;
            Ok(text.starts_with("HTTP/1.1 200"))
        };
        while !ready()? {
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = now() - began;
        let key = std::fs::read_to_string(home.join("server/token"))?.trim().to_string();
        // What it says later is read, so that it never waits for room.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Begun { served: Served { process, address, key }, took })
    }

    fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(0) * 1024
    }
}

struct Begun {
    served: Served,
    took: u64,
}

/// A connection that is kept.
struct Client {
    stream: TcpStream,
    address: String,
    key: String,
    buffer: Vec<u8>,
}

impl Client {
    async fn new(served: &Served) -> Result<Client, Fail> {
        let stream = TcpStream::connect(&served.address).await?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, address: served.address.clone(), key: served.key.clone(), buffer: Vec::new() })
    }

    async fn ask(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<Value, Fail> {
        let (address, key, length) = (&self.address, &self.key, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n{more}content-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(head.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if let Some(end) = self.buffer.windows(4).position(|at| at == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.buffer[..end]).to_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.and_then(|length| length.trim().parse().ok()).ok_or("no length")?;
                if self.buffer.len() >= end + 4 + length {
                    let body = &self.buffer[end + 4..end + 4 + length];
                    let status = head.get(9..12).unwrap_or_default().to_string();
                    let value: Value = serde_json::from_slice(body)?;
                    return if status.starts_with('2') { Ok(value) } else { Err(format!("{status} {value}").into()) };
                }
            }
            let mut piece = [0; 16 << 10];
            let read = self.stream.read(&mut piece).await?;
            if read == 0 {
                return Err("the server closed the connection".into());
            }
            self.buffer.extend_from_slice(piece.get(..read).unwrap_or_default());
        }
    }
}

fn script(root: &Path, name: &str, text: &str) -> Result<String, Fail> {
    let file = root.join(format!("{name}.toml"));
    std::fs::write(&file, text)?;
    Ok(format!("scripted:{}", file.display()))
}

/// How a run of three turns is asked for and waited for.
struct Ask {
    path: &'static str,
    headers: &'static str,
    body: String,
    /// Whether an answer is that of such a run.
    is_answer: fn(&Value) -> bool,
}

impl Ask {
    /// An agent with all that it has by default.
    fn trace(model: &str) -> Ask {
        Ask {
            path: "/api/traces",
            headers: "prefer: wait=60\r\n",
            body: json!({"task": "Look.", "model": model}).to_string(),
            is_answer: |answer| answer["outcome"]["turns"] == 3,
        }
    }

    /// The agent core as a tool of other systems.
    fn execute(model: &str) -> Ask {
        let config = json!({"model": model, "allowed_tools": ["read_text_file"], "max_steps": 10});
        Ask {
            path: "/v1/agent_core/execute",
            headers: "",
            body: json!({"prompt": "Look.", "config": config}).to_string(),
            is_answer: |answer| answer["outputs"]["agent_core"]["trace"][1]["step"] == 2,
        }
    }
}

/// Runs of three turns, so many at once, for so long: how many a second.
async fn runs(served: &Served, ask: Ask, at_once: usize, seconds: u64) -> Result<f64, Fail> {
    let (done, until) = (Arc::new(AtomicUsize::new(0)), now() + seconds * 1_000_000_000);
    let began = now();
    let ask = Arc::new(ask);
    let mut clients = Vec::new();
    for _ in 0..at_once {
        let (mut client, done, ask) = (Client::new(served).await?, Arc::clone(&done), Arc::clone(&ask));
        clients.push(tokio::spawn(async move {
            while now() < until {
                let answer = client.ask("POST", ask.path, ask.headers, &ask.body).await?;
                if !(ask.is_answer)(&answer) {
                    return Err::<(), Fail>(format!("a run did not end as it should: {answer}").into());
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
    }
    for client in clients {
        client.await??;
    }
    Ok(done.load(Ordering::Relaxed) as f64 / ((now() - began) as f64 / 1e9))
}

/// Of so many watchers of one trace, how long after its event was written each has seen it: the 99th of a hundred.
async fn watchers(served: &Served, model: &str, many: usize) -> Result<f64, Fail> {
    let mut client = Client::new(served).await?;
    let body = json!({"task": "Look.", "model": model}).to_string();
    let begun = client.ask("POST", "/api/traces", "prefer: wait=60\r\n", &body).await?;
    let trace = begun["trace_id"].as_str().ok_or("no trace")?.to_string();
    let seen: Arc<Vec<AtomicU64>> = Arc::new((0..many).map(|_| AtomicU64::new(0)).collect());
    let ready = Arc::new(AtomicUsize::new(0));
    for n in 0..many {
        let (seen, ready) = (Arc::clone(&seen), Arc::clone(&ready));
        let mut stream = TcpStream::connect(&served.address).await?;
        let head = format!(
            "GET /api/traces/{trace}/events?follow=true&deltas=false HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\naccept: text/event-stream\r\n\r\n",
            served.address, served.key
        );
        stream.write_all(head.as_bytes()).await?;
        tokio::spawn(async move {
            let (mut piece, mut is_ready, mut tail) = ([0; 32 << 10], false, String::new());
            while let Ok(read) = stream.read(&mut piece).await {
                if read == 0 {
                    return;
                }
                tail.push_str(&String::from_utf8_lossy(piece.get(..read).unwrap_or_default()));
                if !is_ready && tail.contains("event: run_finished") {
                    is_ready = true;
                    ready.fetch_add(1, Ordering::Relaxed);
                }
                if tail.contains("event: trace_named") {
                    if let Some(seen) = seen.get(n) {
                        seen.store(now(), Ordering::Relaxed);
                    }
                    tail.clear();
                }
                let keep = tail.len().saturating_sub(64);
                tail.drain(..tail.floor_char_boundary(keep));
            }
        });
    }
    while ready.load(Ordering::Relaxed) < many {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut late = Vec::new();
    for round in 0..5 {
        seen.iter().for_each(|seen| seen.store(0, Ordering::Relaxed));
        let began = now();
        client
            .ask(
                "POST",
                &format!("/api/traces/{trace}/rename"),
                "",
                &json!({"name": format!("round {round}")}).to_string(),
            )
            .await?;
        while seen.iter().any(|seen| seen.load(Ordering::Relaxed) == 0) {
            if now() - began > 20_000_000_000 {
                return Err("a watcher saw nothing".into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        late.extend(seen.iter().map(|seen| (seen.load(Ordering::Relaxed) - began) as f64));
    }
    Ok(percentile(&mut late, 99))
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() * percent / 100).min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// The server.
pub fn served(quick: bool) -> Result<Vec<Row>, Fail> {
    open_files();
    let (traces, many_watchers, connections) = if quick { (2_000, 100, 1_000) } else { (100_000, 1_000, 10_000) };
    let (place, tokio) = (folder()?, runtime()?);
    let root = place.path();
    let look = "[[turn]]\ncalls = [{ tool = \"read_text_file\", args = { path = \"a.txt\" } }]\n";
    let model = script(root, "three", &format!("{look}{look}[[turn]]\nfinal = \"Looked.\"\n"))?;
    let Begun { served, .. } = Served::start(root)?;
    std::fs::write(root.join("work/a.txt"), "hello\n")?;
    std::thread::sleep(Duration::from_millis(300));
    let idle = served.memory("VmRSS:");
    let seconds = if quick { 2 } else { 10 };
    let rate = tokio.block_on(runs(&served, Ask::trace(&model), 32, seconds))?;
    // What grows once, such as the allocator's own, has grown by now.
    let warm = served.memory("VmRSS:");
    let more = tokio.block_on(runs(&served, Ask::trace(&model), 32, seconds))? * seconds as f64;
    let left_behind = served.memory("VmRSS:").saturating_sub(warm) as f64 / more;
    let executed = tokio.block_on(runs(&served, Ask::execute(&model), 32, seconds))?;
    drop(served);
    let fresh = folder()?;
    let Begun { served, .. } = Served::start(fresh.path())?;
    std::fs::write(fresh.path().join("work/a.txt"), "hello\n")?;
    let late = tokio.block_on(watchers(&served, &model, many_watchers))?;
    drop(served);
    let Begun { served, .. } = Served::start(fresh.path())?;
    let before = served.memory("VmRSS:");
    let open = tokio.block_on(async {
        let mut open = Vec::new();
        for _ in 0..connections {
            let mut client = Client::new(&served).await?;
            client.ask("GET", "/health", "", "").await?;
            open.push(client);
        }
        Ok::<u64, Fail>(served.memory("VmRSS:"))
    })?;
    drop(served);
    let large = folder()?;
    tokio.block_on(many(&large.path().join("home"), traces))?;
    drop(Served::start(large.path())?);
    let starts: Result<Vec<f64>, Fail> = (0..5).map(|_| Ok(Served::start(large.path())?.took as f64)).collect();
    let start = median(&starts?);
    let Begun { served, .. } = Served::start(large.path())?;
    let look = tokio.block_on(async {
        let mut client = Client::new(&served).await?;
        let mut took = Vec::new();
        for n in 0..1_000 {
            let trace = format!("20260101-{:06}", n * (traces / 1_000).max(1) % traces);
            let began = now();
            client.ask("GET", &format!("/api/traces/{trace}"), "", "").await?;
            took.push((now() - began) as f64);
        }
        Ok::<f64, Fail>(percentile(&mut took, 99))
    })?;
    Ok(vec![
        Row::goal(
            "server: runs of three turns, log synced, 32 clients",
            ">= 1,500 a second",
            format!("{rate:.0} a second"),
            rate >= 1500.0,
        ),
        Row::goal(
            "server: the same by `/v1/agent_core/execute`",
            ">= 1,500 a second",
            format!("{executed:.0} a second"),
            executed >= 1500.0,
        ),
        Row::goal(
            "server: memory that a run leaves behind",
            "< 4 KB",
            format!("{left_behind:.0} B"),
            left_behind < 4096.0,
        ),
        Row::goal(&format!("server: `GET /api/traces/ID` with {traces} traces, p99"), "< 5 ms", ms(look), look < 5e6),
        Row::goal(
            &format!("server: an event to {many_watchers} watchers, from the request that makes it, p99"),
            "< 20 ms",
            ms(late),
            late < 20e6,
        ),
        Row::goal(
            &format!("server: {connections} open connections"),
            "< 300 MB",
            format!("{} ({} without)", mb(open), mb(before)),
            open < 300_000_000,
        ),
        Row::goal("server: idle", "< 30 MiB", mb(idle), idle < 30 << 20),
        Row::goal(&format!("server: start to ready with {traces} traces"), "< 100 ms", ms(start), start < 100e6),
    ])
}
