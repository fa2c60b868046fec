//! A server on a free port, and a small client.

use mainpath::Host;
use mainpath_server::{Keys, NewKey, Scope, Server, Settings};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Bounds a wait. Nothing here takes this long; what does, hangs.
pub const LONG: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer. Fails when that takes absurdly long.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads from a stream until its text holds `wanted`. Gives all that came.
pub async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let (mut seen, mut some) = (Vec::new(), [0; 4096]);
    let come = async {
        while !String::from_utf8_lossy(&seen).contains(wanted) {
            let read = stream.read(&mut some).await.unwrap();
            assert!(read > 0, "it ended before {wanted:?}: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&some[..read]);
        }
    };
    tokio::time::timeout(LONG, come).await.unwrap_or_else(|_| panic!("waited in vain for {wanted:?}"));
    String::from_utf8(seen).unwrap()
}

pub struct Place {
    pub dir: TempDir,
    pub address: SocketAddr,
    pub key: String,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}{}", self.head, self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Place {
    /// A server with usual settings, changed by `change`.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::fs::write(dir.path().join("work/README.md"), "hello world\n").unwrap();
        Place::again(dir, change).await
    }

    pub async fn start() -> Place {
        Place::with(|_| {}).await
    }

    /// A server over what an earlier one left.
    pub async fn again(dir: TempDir, change: impl FnOnce(&mut Settings)) -> Place {
        let home = dir.path().join("home");
        let host = Host::from_folder(&home).unwrap();
        let mut settings = Settings::usual(dir.path().join("work"));
        settings.address = "127.0.0.1:0".parse().unwrap();
        settings.rate = None;
        change(&mut settings);
        let server = Server::bind(host, settings).await.unwrap();
        let (address, key) = (server.address().unwrap(), std::fs::read_to_string(server.token_file()).unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let until = async {
                let _ = stopped.await;
            };
            server.serve(until, |line| eprintln!("! {line}")).await.unwrap();
        });
        Place { dir, address, key: key.trim().into(), stop: Some(stop), served: Some(served) }
    }

    /// Ends it in order, and gives what it leaves.
    pub async fn end(mut self) -> TempDir {
        let _ = self.stop.take().unwrap().send(());
        self.served.take().unwrap().await.unwrap();
        self.dir
    }

    /// The model that plays a script.
    pub fn model(&self, script: &str) -> String {
        let file = self.dir.path().join(format!("script-{}.toml", fastrand_name(script)));
        std::fs::write(&file, script).unwrap();
        format!("scripted:{}", file.display())
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn new_key(&self, name: &str, scopes: &[Scope], tenant: &str) -> String {
        let keys = Keys::open(&self.dir.path().join("home/server")).unwrap();
        let wanted =
            NewKey { name: name.into(), scopes: scopes.to_vec(), tenant: tenant.parse().unwrap(), expires: None };
        keys.make(wanted, 1).unwrap()
    }

    /// A request with these header lines.
    pub async fn ask(&self, method: &str, path: &str, headers: &[String], body: &str) -> Answer {
        let mut stream = self.send(method, path, headers, body).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        read(&String::from_utf8(bytes).unwrap())
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        if !headers.iter().any(|line| line.to_lowercase().starts_with("host:")) {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        headers.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        stream
    }

    pub fn bearer(&self) -> String {
        format!("authorization: Bearer {}", self.key)
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[self.bearer()], "").await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, &[self.bearer()], &body.to_string()).await
    }

    /// Starts an agent and waits until its run has ended or waits for somebody. Gives its trace.
    pub async fn run(&self, script: &str) -> String {
        let body = serde_json::json!({"task": "Look around.", "model": self.model(script)});
        let headers = [self.bearer(), "prefer: wait=20".into()];
        let answer = self.ask("POST", "/api/traces", &headers, &body.to_string()).await;
        assert!(matches!(answer.status, 200 | 202), "{} {}", answer.head, answer.body);
        answer.json()["trace_id"].as_str().unwrap().into()
    }
}

fn fastrand_name(script: &str) -> u64 {
    script.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

/// An answer, its chunks put together.
pub fn read(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
        true => unchunked(body),
        false => body.into(),
    };
    Answer { status, head: head.into(), body }
}

pub fn unchunked(body: &str) -> String {
    let (mut rest, mut whole) = (body, String::new());
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || after.len() < size {
            break;
        }
        whole.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}

/// A script that reads a file, and ends.
pub const READS: &str = r#"
[[turn]]
text = "I look."
calls = [{ tool = "read_text_file", args = { path = "README.md" } }]
[[turn]]
final = "It says hello."
"#;

/// A script that wants to write a file, and ends.
pub const WRITES: &str = r#"
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "a.txt", content = "x" } }]
[[turn]]
final = "Written."
"#;
