//! The model server: Chat Completions with answers made beforehand, in a process of its own.
//!
//! A request says in its model's name what it wants ([`Plan`]) and between `@` and `;` in its first message which run it
//! belongs to. For every run the server notes how long it took from the last byte of an answer to the first byte, and to the
//! whole, of the next request. The clock is read just before the answer is written, so that writing it counts as ours.

use crate::Fail;
use crate::agent::text;
use crate::process::{now, open_files};
use mainpath_testkit::model_server::{Answer, render};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// What a run is answered with: so many turns with one call each, then a final answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Turns with a call.
    pub turns: u32,
    /// How long every answer takes, in milliseconds.
    pub delay: u64,
    /// How many bytes each call returns.
    pub result: u32,
    /// Whether the final answer never comes.
    pub hold: bool,
    /// Whether the call is of the tool that a person has to allow.
    pub ask: bool,
    /// How many bytes the final answer has.
    pub say: u32,
}

impl Plan {
    /// So many turns, answered at once, with results of 100 bytes.
    pub const fn turns(turns: u32) -> Plan {
        Plan { turns, delay: 0, result: 100, hold: false, ask: false, say: 66 }
    }

    /// The model's name that asks for it.
    pub fn name(self) -> String {
        let Plan { turns, delay, result, hold, ask, say } = self;
        format!("t{turns}-d{delay}-r{result}-h{}-a{}-s{say}", u8::from(hold), u8::from(ask))
    }

    fn read(name: &str) -> Option<Plan> {
        let mut numbers = name.split('-').map(|part| part.get(1..).and_then(|digits| digits.parse::<u64>().ok()));
        let mut next = || numbers.next().flatten();
        Some(Plan {
            turns: u32::try_from(next()?).ok()?,
            delay: next()?,
            result: u32::try_from(next()?).ok()?,
            hold: next()? != 0,
            ask: next()? != 0,
            say: u32::try_from(next()?).ok()?,
        })
    }
}

/// What the server saw of a run. Times in nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// When its first request came, on the clock of [`now`].
    pub began: u64,
    /// When its last request came.
    pub last: u64,
    /// From each answer's last byte to the next request's first byte.
    pub first: Vec<u64>,
    /// From each answer's last byte to the next request's last byte.
    pub whole: Vec<u64>,
    /// How many bytes of body the last request had.
    pub bytes: u64,
    #[serde(skip)]
    answered: u64,
    #[serde(skip)]
    requests: u32,
}

#[derive(Default)]
struct Board {
    runs: HashMap<String, Seen>,
    answers: HashMap<(u32, bool, bool, u64), Rc<[u8]>>,
    held: u64,
}

type Shared = Rc<RefCell<Board>>;

/// The server's own program: says its port on standard output and ends when standard input does.
pub fn serve() -> Result<(), Fail> {
    open_files();
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let listener = socket.listen(16_384)?;
        println!("{}", listener.local_addr()?);
        let shared = Shared::default();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let shared = Rc::clone(&shared);
                    tokio::task::spawn_local(async move {
                        // A client that leaves is no failure of the server.
                        let _ = connection(stream, shared).await;
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
}

async fn connection(mut stream: TcpStream, shared: Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        stream.readable().await?;
        buffer.reserve(16 * 1024);
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
        let first = now();
        let head = loop {
            if let Some(at) = find(&buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let length = content_length(buffer.get(..head).unwrap_or_default());
        buffer.reserve((head + length).saturating_sub(buffer.len()));
        while buffer.len() < head + length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let whole = now();
        let (head, body) = buffer.split_at(head);
        if let Some(query) = head.strip_prefix(b"GET /") {
            let path = query.split(|byte| *byte == b' ').next().unwrap_or_default();
            let text = control(&shared, &String::from_utf8_lossy(path));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
            stream.write_all(&[head.as_bytes(), text.as_bytes()].concat()).await?;
            buffer.clear();
            continue;
        }
        let start = body.get(..body.len().min(8192)).unwrap_or_default();
        let plan = between(start, b"\"model\":\"", b'"').and_then(Plan::read);
        let (Some(plan), Some(run)) = (plan, name(body)) else {
            stream.write_all(b"HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n").await?;
            buffer.clear();
            continue;
        };
        let bytes = body.len() as u64;
        // A connection that waits holds no request.
        buffer = Vec::new();
        let (answer, last) = shared.borrow_mut().note(&run, plan, Arrival { first, whole }, bytes);
        if last && plan.hold {
            shared.borrow_mut().held += 1;
            std::future::pending::<()>().await;
        }
        if plan.delay > 0 {
            tokio::time::sleep(Duration::from_millis(plan.delay)).await;
        }
        if let Some(seen) = shared.borrow_mut().runs.get_mut(&run) {
            seen.answered = now();
        }
        stream.write_all(&answer).await?;
    }
}

/// When the first byte of a request came, and its last; nanoseconds since the server began.
struct Arrival {
    first: u64,
    whole: u64,
}

impl Board {
    /// Notes a request and gives its answer, and whether that is the final one.
    fn note(&mut self, run: &str, plan: Plan, Arrival { first, whole }: Arrival, bytes: u64) -> (Rc<[u8]>, bool) {
        if !self.runs.contains_key(run) {
            self.runs.insert(run.into(), Seen { began: first, ..Seen::default() });
        }
        let seen = self.runs.entry(run.into()).or_default();
        if seen.requests > 0 {
            seen.first.push(first.saturating_sub(seen.answered));
            seen.whole.push(whole.saturating_sub(seen.answered));
        }
        seen.requests += 1;
        seen.last = first;
        seen.bytes = bytes;
        let last = seen.requests > plan.turns;
        // Four characters a token, in steps, so that few answers are made.
        let counted = (bytes / 4).next_multiple_of(64);
        let key = if last { (plan.say, last, false, counted) } else { (plan.result, last, plan.ask, counted) };
        let answer = self.answers.entry(key).or_insert_with(|| {
            let mut answer = match (last, plan.ask) {
                (true, _) => Answer::text(&text(plan.say as usize)),
                (false, true) => Answer::call("act", json!({"bytes": plan.result})),
                (false, false) => Answer::call("look", json!({"bytes": plan.result})),
            };
            answer.usage.input = counted;
            render(&answer, true).into()
        });
        (Rc::clone(answer), last)
    }
}

fn control(shared: &Shared, path: &str) -> String {
    let board = shared.borrow();
    match path.split_once('/') {
        Some(("stats", prefix)) => {
            let runs: HashMap<&String, &Seen> =
                board.runs.iter().filter(|(name, _)| name.starts_with(prefix)).collect();
            serde_json::to_string(&runs).unwrap_or_default()
        }
        _ => board.held.to_string(),
    }
}

/// Where some bytes are in others.
pub fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The name that a task begins with: `@name;`. System text and tools may stand before it.
fn name(body: &[u8]) -> Option<String> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let begins = (0..body.len().min(1 << 17)).filter(|at| body[*at] == b'@');
    begins.map(|at| &body[at + 1..]).find_map(|rest| {
        let length = rest.iter().take_while(|byte| is_name(byte)).count();
        let whole = length > 0 && rest.get(length) == Some(&b';');
        whole.then(|| String::from_utf8_lossy(&rest[..length]).into_owned())
    })
}

fn between<'a>(bytes: &'a [u8], start: &[u8], end: u8) -> Option<&'a str> {
    let rest = bytes.get(find(bytes, start)? + start.len()..)?;
    std::str::from_utf8(rest.get(..rest.iter().position(|byte| *byte == end)?)?).ok()
}

/// The length that the head of a request announces; 0 if it announces none.
fn content_length(head: &[u8]) -> usize {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = text.split("content-length:").nth(1).and_then(|rest| rest.split("\r\n").next());
    value.and_then(|digits| digits.trim().parse().ok()).unwrap_or(0)
}

/// The server as its client sees it. It ends with this.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub addr: SocketAddr,
}

impl Server {
    /// Starts it. Errors: this program cannot be started again.
    pub fn start() -> Result<Server, Fail> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("__server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("the server has no output")?).read_line(&mut line)?;
        Ok(Server { child, addr: line.trim().parse()? })
    }

    /// The model that answers by this plan, in Mainpath's notation.
    pub fn model(&self, plan: Plan) -> String {
        format!("openai-compatible:http://{}/v1#{}", self.addr, plan.name())
    }

    /// What was seen of the runs whose names begin so.
    pub fn seen(&self, prefix: &str) -> Result<HashMap<String, Seen>, Fail> {
        Ok(serde_json::from_str(&self.get(&format!("stats/{prefix}"))?)?)
    }

    /// How many requests are held.
    pub fn held(&self) -> Result<u64, Fail> {
        Ok(self.get("held")?.parse()?)
    }

    fn get(&self, path: &str) -> Result<String, Fail> {
        let mut stream = std::net::TcpStream::connect(self.addr)?;
        write!(stream, "GET /{path} HTTP/1.1\r\n\r\n")?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let body = text.split_once("\r\n\r\n").ok_or("the server said nothing")?.1;
        Ok(body.into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends anyway when its standard input closes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
