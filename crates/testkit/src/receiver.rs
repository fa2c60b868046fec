//! An HTTP receiver on loopback: it keeps what is sent to it, and answers as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A request that was received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header; empty if it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

type Answers = dyn Fn(&Received) -> (u16, String) + Send + Sync;
type Seen = Arc<(Mutex<Vec<Received>>, Condvar)>;

/// A server for a test. It ends with its value.
pub struct Receiver {
    address: SocketAddr,
    seen: Seen,
    ended: Arc<AtomicBool>,
}

impl Receiver {
    /// Answers each request with a status and a body.
    pub fn start(answer: impl Fn(&Received) -> (u16, String) + Send + Sync + 'static) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (seen, ended): (Seen, _) = Default::default();
        let answer: Arc<Answers> = Arc::new(answer);
        let receiver = Receiver { address, seen: Arc::clone(&seen), ended: Arc::clone(&ended) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        receiver
    }

    /// Its address, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has come.
    pub fn received(&self) -> Vec<Received> {
        self.seen.0.lock().expect("no panic").clone()
    }

    /// What has come once there are so many. Panics after 20 seconds.
    pub fn wait_for(&self, count: usize) -> Vec<Received> {
        let (list, changed) = &*self.seen;
        let until = Instant::now() + Duration::from_secs(20);
        let mut list = list.lock().expect("no panic");
        while list.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{} of {count} requests came: {list:?}", list.len());
            list = changed.wait_timeout(list, left).expect("no panic").0;
        }
        list.clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, seen: &Seen, answer: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    let mut line = String::new();
    if reader.read_line(&mut line).is_err() || line.is_empty() {
        return;
    }
    let mut words = line.split_whitespace().map(String::from);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_string()));
        }
    }
    let mut received = Received { method, path, headers, body: Vec::new() };
    let length = received.header("content-length").parse().unwrap_or(0);
    received.body = vec![0; length];
    if reader.read_exact(&mut received.body).is_err() {
        return;
    }
    let (status, body) = answer(&received);
    // Kept first: who is answered may look at once.
    seen.0.lock().expect("no panic").push(received);
    seen.1.notify_all();
    let head = format!(
        "HTTP/1.1 {status} Told\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

/// Posts a body with headers, and returns the status and the body of the answer.
pub fn post(url: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
    let address = url.strip_prefix("http://").expect("an http address");
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    head += "connection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it takes it");
    stream.write_all(body).expect("it takes it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body.into())
}
