//! A model server on this machine: Chat Completions over a minimal HTTP/1.1, for tests and benches.
//!
//! It runs on a thread of its own, so that tests of processes and plain tests can use it alike, answers what a closure says,
//! and checks every request against the published rules (`openai` 3.54.0, `openai/types/chat`). A request that breaks one is
//! answered with 400 and remembered in [`ModelServer::violations`].

pub mod anthropic;
mod rules;

pub use rules::check_request;

use mainpath_types::Usage;
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;

/// What the server does.
pub struct Behaviour {
    reply: Box<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>,
    record: bool,
    check: bool,
}

impl Behaviour {
    /// Answers what this function says; records and checks every request.
    pub fn new(reply: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) -> Behaviour {
        Behaviour { reply: Box::new(reply), record: true, check: true }
    }

    /// Answers the requests with these replies in order, and from then on with the last one.
    pub fn in_order(replies: Vec<Reply>) -> Behaviour {
        Behaviour::new(move |request| {
            let last = replies.len().saturating_sub(1);
            replies.get((request.n - 1).min(last)).cloned().unwrap_or(Reply::Close)
        })
    }

    /// The same without records and checks: for benches.
    pub fn fast(self) -> Behaviour {
        Behaviour { record: false, check: false, ..self }
    }

    /// The same without checks.
    pub fn unchecked(self) -> Behaviour {
        Behaviour { check: false, ..self }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Its number at this server, from 1.
    pub n: usize,
    /// Its path, such as `/v1/chat/completions`.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body as it came.
    pub bytes: Arc<Vec<u8>>,
    parsed: OnceLock<Value>,
}

impl RecordedRequest {
    /// The body as JSON; null if it is none. Parsed when first asked for.
    pub fn body(&self) -> &Value {
        self.parsed.get_or_init(|| serde_json::from_slice(&self.bytes).unwrap_or(Value::Null))
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How many messages of this role the body has.
    pub fn count(&self, role: &str) -> usize {
        let messages = self.body()["messages"].as_array();
        messages.map_or(0, |messages| messages.iter().filter(|message| message["role"] == role).count())
    }
}

/// What a request is answered with.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A model's answer, streamed if the request asks for that.
    Answer(Answer),
    /// A response made earlier by [`render`], after a delay in milliseconds: for benches.
    Rendered(Arc<Vec<u8>>, u64),
    /// A response without success.
    Error {
        /// The status.
        status: u16,
        /// More headers.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// The answer's first bytes (the response's head counts), then the connection is closed.
    CutAfter(Answer, usize),
    /// The answer's first bytes, then nothing more until the client leaves.
    Stall(Answer, usize),
    /// These bytes as they are, then the connection is closed.
    Garbage(Vec<u8>),
    /// The connection is closed without an answer.
    Close,
}

/// A model's answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its reasoning; none if empty.
    pub thinking: String,
    /// Its text; none if empty.
    pub text: String,
    /// Its calls: tool and arguments.
    pub calls: Vec<(String, String)>,
    /// What it reports to have used.
    pub usage: Usage,
    /// How long it takes, in milliseconds.
    pub delay_ms: u64,
    /// Its finish reason, if not what follows from the calls.
    pub finish_reason: Option<String>,
}

impl Answer {
    /// An answer that is one text.
    pub fn text(text: &str) -> Answer {
        Answer { text: text.into(), usage: Usage { input: 10, output: 5, ..Usage::default() }, ..Answer::default() }
    }

    /// An answer that is one call.
    pub fn call(tool: &str, arguments: Value) -> Answer {
        Answer { text: String::new(), ..Answer::text("") }.and_call(tool, arguments)
    }

    /// The same with one call more.
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Answer {
        self.calls.push((tool.into(), arguments.to_string()));
        self
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Reply {
        Reply::Answer(answer)
    }
}

struct Shared {
    behaviour: Behaviour,
    count: AtomicUsize,
    connections: AtomicUsize,
    left: AtomicUsize,
    requests: Mutex<Vec<RecordedRequest>>,
    violations: Mutex<Vec<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running server. It ends when this is dropped.
pub struct ModelServer {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When the system has no port or thread for it.
    pub fn start(behaviour: Behaviour) -> io::Result<ModelServer> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
            // Thousands connect at once.
            socket.listen(16_384)?
        };
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            behaviour,
            count: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            requests: Mutex::default(),
            violations: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let owned = Arc::clone(&shared);
        let serve = async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        owned.connections.fetch_add(1, Ordering::Relaxed);
                        let shared = Arc::clone(&owned);
                        tokio::spawn(async move {
                            // A client that leaves is no failure of the server.
                            let _ = serve(stream, &shared).await;
                        });
                    }
                    // Out of files: wait until some connections are closed.
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let thread = std::thread::Builder::new().name("model-server".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(ModelServer { addr, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base address that a client is given, such as `http://127.0.0.1:40001/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// The model's name for `mainpath run --model`.
    pub fn model(&self) -> String {
        format!("openai-compatible:{}#test-model", self.url())
    }

    /// The requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        locked(&self.shared.requests).clone()
    }

    /// How many requests have come.
    pub fn count(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// How many connections have been opened.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// How many clients closed their connection in the middle of an answer that stalled.
    pub fn left(&self) -> usize {
        self.shared.left.load(Ordering::Relaxed)
    }

    /// What was wrong with requests so far.
    pub fn violations(&self) -> Vec<String> {
        locked(&self.shared.violations).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(raw) = read_request(&mut stream, &mut buffer).await? {
        if raw.method == "GET" && raw.path.ends_with("/models") {
            let list = json!({"object": "list", "data": [{"id": "test-model", "object": "model", "created": 0, "owned_by": "test"}]});
            stream.write_all(&response(200, &[], list.to_string().as_bytes())).await?;
            continue;
        }
        let n = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
        let request = RecordedRequest {
            n,
            path: raw.path,
            headers: raw.headers,
            bytes: Arc::new(raw.body),
            parsed: OnceLock::new(),
        };
        let violation = if shared.behaviour.check { check(&raw.method, &request).err() } else { None };
        let reply = match violation {
            Some(violation) => {
                let body = json!({"error": {"message": violation, "type": "invalid_request_error", "code": null, "param": null}});
                locked(&shared.violations).push(format!("request {n}: {violation}"));
                Reply::Error { status: 400, headers: Vec::new(), body: body.to_string() }
            }
            None => (shared.behaviour.reply)(&request),
        };
        let streamed = match &reply {
            Reply::Answer(_) | Reply::CutAfter(..) | Reply::Stall(..) => request.body()["stream"] == true,
            Reply::Rendered(..) | Reply::Error { .. } | Reply::Garbage(_) | Reply::Close => false,
        };
        if shared.behaviour.record {
            locked(&shared.requests).push(request);
        }
        match reply {
            Reply::Answer(answer) => {
                wait(answer.delay_ms).await;
                stream.write_all(&render(&answer, streamed)).await?;
            }
            Reply::Rendered(bytes, delay_ms) => {
                wait(delay_ms).await;
                stream.write_all(&bytes).await?;
            }
            Reply::Error { status, headers, body } => {
                stream.write_all(&response(status, &headers, body.as_bytes())).await?
            }
            Reply::CutAfter(answer, bytes) => {
                let rendered = render(&answer, streamed);
                stream.write_all(&rendered[..bytes.min(rendered.len())]).await?;
                return stream.shutdown().await;
            }
            Reply::Stall(answer, bytes) => {
                let rendered = render(&answer, streamed);
                stream.write_all(&rendered[..bytes.min(rendered.len())]).await?;
                // A closed connection is an end or an error, depending on what was still under way.
                while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {}
                shared.left.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            Reply::Garbage(bytes) => {
                stream.write_all(&bytes).await?;
                return stream.shutdown().await;
            }
            Reply::Close => return Ok(()),
        }
    }
    Ok(())
}

async fn wait(delay_ms: u64) {
    if delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
}

struct Raw {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The next request of a connection; `None` when the client has left.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Raw>> {
    let mut searched = 0;
    let head = loop {
        if let Some(at) = buffer[searched..].windows(4).position(|window| window == b"\r\n\r\n") {
            break searched + at;
        }
        searched = buffer.len().saturating_sub(3);
        if buffer.len() > 1 << 16 {
            return Err(bad("the request's head has no end"));
        }
        // An idle connection holds no buffer.
        stream.readable().await?;
        buffer.reserve(4096);
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let text = std::str::from_utf8(&buffer[..head]).map_err(|_| bad("the request's head is no text"))?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let length = match header("content-length") {
        Some(length) => length.parse().map_err(|_| bad("bad content-length"))?,
        None if header("transfer-encoding").is_some() => {
            stream.write_all(&response(411, &[], b"send a content-length")).await?;
            return Ok(None);
        }
        None => 0,
    };
    let body_start = head + 4;
    if header("expect").is_some() && buffer.len() == body_start {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    buffer.reserve((body_start + length).saturating_sub(buffer.len()));
    while buffer.len() < body_start + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let rest = buffer.split_off(body_start + length);
    let mut body = std::mem::replace(buffer, rest);
    body.drain(..body_start);
    Ok(Some(Raw { method, path, headers, body }))
}

/// A whole response with a JSON body.
fn response(status: u16, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut out =
        format!("HTTP/1.1 {status} .\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n").into_bytes();
    for (name, value) in headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// The whole HTTP response with this answer.
pub fn render(answer: &Answer, streamed: bool) -> Vec<u8> {
    if !streamed {
        return response(200, &[], completion(answer).to_string().as_bytes());
    }
    let mut out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for event in events(answer) {
        out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

fn finish_reason(answer: &Answer) -> &str {
    let by_calls = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    answer.finish_reason.as_deref().unwrap_or(by_calls)
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

/// The answer as the body of a response that is not streamed.
pub fn completion(answer: &Answer) -> Value {
    let calls: Vec<Value> = (answer.calls.iter().zip(0..))
        .map(|((name, arguments), index)| {
            json!({"id": format!("call_{index}"), "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    if !answer.text.is_empty() {
        message["content"] = json!(answer.text);
    }
    if !answer.thinking.is_empty() {
        message["reasoning_content"] = json!(answer.thinking);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "test-model",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(answer)}],
        "usage": usage(&answer.usage),
    })
}

/// The answer as the events of a stream, each with its blank line.
pub fn events(answer: &Answer) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
            "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    events.extend(pieces(&answer.thinking).map(|text| delta(json!({"reasoning_content": text}))));
    events.extend(pieces(&answer.text).map(|text| delta(json!({"content": text}))));
    for ((name, arguments), index) in answer.calls.iter().zip(0..) {
        let function = json!({"name": name, "arguments": ""});
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
        events.push(delta(json!({"tool_calls": [call]})));
        let more = |text: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]});
        events.extend(pieces(arguments).map(|text| delta(more(text))));
    }
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(answer)}]), Value::Null));
    events.push(chunk(json!([]), usage(&answer.usage)));
    events.push("data: [DONE]\n\n".into());
    events
}

/// A text in pieces of about 24 bytes.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (24..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

fn check(method: &str, request: &RecordedRequest) -> Result<(), String> {
    if method != "POST" || !request.path.ends_with("/chat/completions") {
        return Err(format!("no such address: {method} {}", request.path));
    }
    let content_type = request.header("content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Err(format!("the content type is {content_type:?}, not application/json"));
    }
    check_request(request.body())
}
