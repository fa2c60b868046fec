//! The server: a thread that listens, checks and answers.

use super::behaviour::{Behaviour, RecordedRequest, Reply};
use super::format::Format;
use super::http::{read_request, response};
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;

pub(super) struct Shared {
    behaviour: Behaviour,
    count: AtomicUsize,
    connections: AtomicUsize,
    left: AtomicUsize,
    requests: Mutex<Vec<RecordedRequest>>,
    /// The whole responses, with the requests' numbers.
    pub(super) responses: Mutex<Vec<(usize, Arc<Vec<u8>>)>>,
    violations: Mutex<Vec<String>>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running server. It ends when this is dropped.
pub struct ModelServer {
    addr: SocketAddr,
    pub(super) shared: Arc<Shared>,
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
            responses: Mutex::default(),
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
        self.url_of(Format::Chat)
    }

    /// The model's name for `mainpath run --model`.
    pub fn model(&self) -> String {
        self.model_of(Format::Chat)
    }

    /// The model's name for `mainpath run --model`, so that it is spoken to in this format.
    pub fn model_of(&self, format: Format) -> String {
        format!("{}:{}#test-model", format.name_and_base().0, self.url_of(format))
    }

    /// The base address that the format's own SDK would be given.
    pub fn url_of(&self, format: Format) -> String {
        format!("http://{}{}", self.addr, format.name_and_base().1)
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
        let format = Format::of_path(&request.path);
        let checked = if shared.behaviour.check { check(&raw.method, format, &request) } else { Ok(()) };
        let reply = match checked {
            Err(violation) => Reply::Refuse(violation),
            Ok(()) => (shared.behaviour.reply)(&request),
        };
        let streamed = match &reply {
            Reply::Answer(_) | Reply::CutAfter(..) | Reply::Stall(..) => {
                format.is_some_and(|format| format.is_streamed(&request.path, request.body()))
            }
            Reply::Rendered(..) | Reply::Error { .. } | Reply::Refuse(_) | Reply::Garbage(_) | Reply::Close => false,
        };
        // An unchecked server answers at any path, in Chat Completions.
        let spoken = format.unwrap_or(Format::Chat);
        if shared.behaviour.record {
            locked(&shared.requests).push(request);
        }
        let mut at = 0;
        let whole = match reply {
            Reply::Answer(answer) => {
                wait(answer.delay_ms).await;
                if let Some(gate) = &answer.gate {
                    gate.passed().await;
                }
                let rendered = spoken.render(&answer, streamed);
                if answer.pause_ms > 0 || answer.end_gate.is_some() {
                    let begins = |at: &usize| rendered[*at..].starts_with(b"data: ");
                    at = (0..rendered.len()).rev().filter(begins).nth(2).unwrap_or(0);
                    stream.write_all(&rendered[..at]).await?;
                    wait(answer.pause_ms).await;
                    if let Some(gate) = &answer.end_gate {
                        gate.passed().await;
                    }
                }
                Arc::new(rendered)
            }
            Reply::Rendered(bytes, delay_ms) => {
                wait(delay_ms).await;
                bytes
            }
            Reply::Error { status, headers, body } => Arc::new(response(status, &headers, body.as_bytes())),
            Reply::Refuse(violation) => {
                let body = json!({"error": {"message": violation, "type": "invalid_request_error", "code": null, "param": null}});
                locked(&shared.violations).push(format!("request {n}: {violation}"));
                Arc::new(response(400, &[], body.to_string().as_bytes()))
            }
            Reply::CutAfter(answer, bytes) => {
                let rendered = spoken.render(&answer, streamed);
                stream.write_all(&rendered[..bytes.min(rendered.len())]).await?;
                return stream.shutdown().await;
            }
            Reply::Stall(answer, bytes) => {
                let rendered = spoken.render(&answer, streamed);
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
        };
        if shared.behaviour.record {
            locked(&shared.responses).push((n, Arc::clone(&whole)));
        }
        stream.write_all(&whole[at..]).await?;
    }
    Ok(())
}

async fn wait(delay_ms: u64) {
    if delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
}

fn check(method: &str, format: Option<Format>, request: &RecordedRequest) -> Result<(), String> {
    let format =
        format.filter(|_| method == "POST").ok_or_else(|| format!("no such address: {method} {}", request.path))?;
    let content_type = request.header("content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Err(format!("the content type is {content_type:?}, not application/json"));
    }
    format.check(&request.path, &request.headers, request.body())
}
