//! Runs whose clients wait for the answer, and what becomes of them when the client disconnects or the server stops.
//!
//! Where the server ends first, the next start does not continue such a run by itself: its client would send the request again, and what the
//! agent does would be done twice. A client that declares its request a retry joins the run instead. Runs in the background and those under
//! an `Idempotency-Key`, whose client comes back, continue.

use crate::app::App;
use crate::call::Call;
use crate::errors::Errors;
use crate::openai::headers::HEADERS;
use crate::problem::{Kind, Problem};
use axum::body::Body;
use axum::http::{HeaderValue, Response};
use mainpath::types::TraceId;
use mainpath::{Host, Run, Trace};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::runtime::Handle;

/// The hash of a request on which its run depends. `None`: the run continues without its client.
pub fn dependent<Q, B>(call: &Call<Q, B>, is_background: bool) -> Option<String> {
    if is_background || is_under_key(call) {
        return None;
    }
    let mut hash = Sha256::new();
    let headers = HEADERS.iter().map(|(name, _)| call.headers.get(name.to_ascii_lowercase()));
    let headers = headers.map(|value| value.map_or(&b""[..], |value| value.as_bytes()));
    let who = [call.who.tenant.as_str().as_bytes(), call.who.name.as_bytes(), call.digest.as_bytes()];
    for part in who.into_iter().chain(headers) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_under_key<Q, B>(call: &Call<Q, B>) -> bool {
    call.headers.contains_key("idempotency-key")
}

/// Returns true if the client declares that it sends the request again, as OpenAI's clients do
/// (openai 3.57.0 for Python, `openai/_base_client.py`, `_build_headers`).
pub fn is_retry<Q, B>(call: &Call<Q, B>) -> bool {
    let count = call.headers.get("x-stainless-retry-count").and_then(|value| value.to_str().ok());
    count.and_then(|count| count.parse::<u32>().ok()).is_some_and(|count| count > 0)
}

/// The problem for a client that waits while the server stops. The next start continues a run under an `Idempotency-Key` and one that no
/// client waits for: the request may be sent again.
pub fn stopping<Q, B>(call: &Call<Q, B>, trace: &TraceId, is_background: bool) -> Problem {
    if is_background || is_under_key(call) {
        return Problem { retry_after: Some(1), ..Problem::new(Kind::UNAVAILABLE, "the server stops") };
    }
    Problem::new(Kind::CUT_OFF, format!("the server stops; the run is in trace {trace} and can be resumed there"))
}

/// The answer to such a client, in the form of its route.
pub fn stopped<Q, B>(call: &Call<Q, B>, trace: &TraceId, form: Errors) -> Response<Body> {
    with_traces(form.response(&stopping(call, trace, false)), trace, None)
}

/// Names the trace of an answer, and the run that the end of the server cut off.
pub fn with_traces(mut response: Response<Body>, trace: &TraceId, cut_off: Option<&TraceId>) -> Response<Body> {
    for (name, trace) in [("mainpath-trace", Some(trace)), ("mainpath-cut-off", cut_off)] {
        if let Some(value) = trace.and_then(|trace| HeaderValue::try_from(trace.as_str()).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The problem for a client that has disconnected.
pub fn left() -> Problem {
    Problem::new(Kind::UNAVAILABLE, "the client has gone")
}

/// A run that the end of an earlier server process cut off while a client waited for it with the same request.
pub struct CutOffRun {
    trace: Trace,
    request: String,
}

impl CutOffRun {
    /// Takes the run of a request with this hash, which is then not found again.
    pub async fn take<Q, B>(call: &Call<Q, B>, request: Option<&str>) -> Option<CutOffRun> {
        let request = request?;
        let trace = call.app.runs.take_cut_off(&call.host, request, call.app.now()).await?;
        Some(CutOffRun { trace, request: request.into() })
    }

    /// The id of its trace.
    pub fn id(&self) -> &TraceId {
        self.trace.id()
    }

    /// Continues it for the client that waited for it. Returns the run and its number.
    ///
    /// # Errors
    /// As many runs are driven as may, the key may not drive this one, or its log cannot be read.
    pub async fn join<Q, B>(&self, call: &Call<Q, B>) -> Result<(Run, u32), Problem> {
        let _slot = call.app.runs.room(&call.host)?;
        call.check_drive(&self.trace).await?;
        let number = self.trace.state().await?.counts.runs;
        let run = self.trace.follow_run(number).await?;
        call.app.runs.drive(&call.host, &self.trace).await?;
        Ok((run, number))
    }

    /// Makes it findable again after the request failed.
    pub fn put_back<Q, B>(self, call: &Call<Q, B>) {
        call.app.runs.put_back_cut_off(&call.host, self.request, self.trace.id().clone());
    }
}

/// What becomes of a run whose client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisconnect {
    /// It is stopped, as OpenAI's runs are.
    Stop,
    /// It continues, also after a restart of the server.
    Continue,
}

/// Ties a run to the client that waits for it, until it is released or dropped.
pub struct ClientGuard {
    app: Arc<App>,
    host: Host,
    trace: Option<Trace>,
    then: OnDisconnect,
}

impl ClientGuard {
    /// For the run that a request started. `request`: the hash of the request, if the run depends on its client.
    pub fn new<Q, B>(call: &Call<Q, B>, trace: &Trace, request: Option<&str>, then: OnDisconnect) -> ClientGuard {
        if let Some(request) = request {
            call.app.runs.depend(&call.host, trace.id(), request);
        }
        ClientGuard { app: Arc::clone(&call.app), host: call.host.clone(), trace: request.map(|_| trace.clone()), then }
    }

    /// The run has ended, or continues without its client.
    pub fn release(&mut self) {
        self.trace = None;
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        // The runs of a server that stops come to rest; the client that waits is told so.
        let (Some(trace), true) = (self.trace.take(), self.app.is_ready.load(Ordering::Acquire)) else { return };
        if self.then == OnDisconnect::Continue {
            return self.app.runs.free(&self.host, trace.id());
        }
        let Ok(tasks) = Handle::try_current() else { return };
        let (app, host) = (Arc::clone(&self.app), self.host.clone());
        tasks.spawn(async move {
            // A run that cannot be stopped continues, and can be seen and stopped by its trace.
            if trace.stop().await.is_ok() {
                let _ = app.runs.drive(&host, &trace).await;
            }
        });
    }
}
