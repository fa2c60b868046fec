//! A server that answers as a test wants, well or badly.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is sent, and what comes after it.
pub struct Reply {
    pub bytes: Vec<u8>,
    pub then: Then,
}

pub enum Then {
    /// The end.
    Close,
    /// Nothing, for ever.
    Hold,
    /// These bytes again and again, until nobody takes them any more.
    Repeat(Vec<u8>),
}

/// A whole answer.
pub fn reply(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 {status} .\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| bytes.push_str(&format!("{name}: {value}\r\n")));
    bytes.push_str("\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body);
    Reply { bytes, then: Then::Close }
}

/// A redirect.
pub fn redirect(status: u16, to: &str) -> Reply {
    reply(status, &[("location", to)], "moved")
}

/// These very bytes.
pub fn raw(bytes: impl AsRef<[u8]>, then: Then) -> Reply {
    Reply { bytes: bytes.as_ref().to_vec(), then }
}

/// A server on a free port of 127.0.0.1, until it is dropped.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    /// How many connections ended before the server had sent all it wanted.
    left: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn new(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, left) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<Mutex<usize>>::default());
        let (seen_there, left_there, answer) = (seen.clone(), left.clone(), Arc::new(answer));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, answer.clone(), seen_there.clone(), left_there.clone()));
            }
        });
        Server { port, seen, left, task }
    }

    /// An address on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// It, as an entry of `allow_private`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    pub fn left(&self) -> usize {
        *self.left.lock().unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Arc<impl Fn(&Request) -> Reply>,
    seen: Arc<Mutex<Vec<Request>>>,
    left: Arc<Mutex<usize>>,
) {
    let Some(request) = read(&mut stream).await else { return };
    let Reply { bytes, then } = answer(&request);
    seen.lock().unwrap().push(request);
    let mut sent = stream.write_all(&bytes).await;
    match then {
        Then::Close => {
            let _ = stream.shutdown().await;
        }
        // A client that leaves is seen by the end of what it sends.
        Then::Hold => sent = stream.read(&mut [0]).await.and(Err(std::io::ErrorKind::BrokenPipe.into())),
        Then::Repeat(bytes) => {
            while sent.is_ok() {
                sent = stream.write_all(&bytes).await;
            }
        }
    }
    if sent.is_err() {
        *left.lock().unwrap() += 1;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_string(), first.next()?.to_string());
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()));
    let headers: Vec<(String, String)> = lines.map(|line| header(line).unwrap()).collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, length)| length.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { method, path, headers, body: String::from_utf8(bytes[end..].to_vec()).unwrap() })
}
