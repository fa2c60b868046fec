//! A run whose client waits for it ends when the client goes, as OpenAI's do. Runs in the background and those under an
//! `Idempotency-Key`, whose client comes back, go on.
//!
//! Where the server ends first, the next start does not continue such a run by itself: its client would send the request again, and what the
//! agent does would be done twice. A client that declares its request a retry joins the run instead.

use crate::app::App;
use crate::call::Call;
use crate::openai::headers::HEADERS;
use crate::problem::{Kind, Problem};
use mainpath::types::TraceId;
use mainpath::{Host, Trace};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::runtime::Handle;

/// The hash of a request on which its run depends. `None`: the run continues without its client.
pub fn dependent<Q, B>(call: &Call<Q, B>, is_background: bool) -> Option<String> {
    if is_background || call.headers.contains_key("idempotency-key") {
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

/// Returns true if the client declares that it sends the request again, as OpenAI's clients do
/// (openai 3.57.0 for Python, `openai/_base_client.py`, `_build_headers`).
pub fn is_retry<Q, B>(call: &Call<Q, B>) -> bool {
    let count = call.headers.get("x-stainless-retry-count").and_then(|value| value.to_str().ok());
    count.and_then(|count| count.parse::<u32>().ok()).is_some_and(|count| count > 0)
}

/// What is answered to a client whose run the end of the server cuts off.
pub fn cut_off(trace: &TraceId) -> Problem {
    Problem::new(Kind::CUT_OFF, format!("the server stops; the run is in trace {trace} and can be resumed there"))
}

/// What is answered to a client that has gone.
pub fn left() -> Problem {
    Problem::new(Kind::UNAVAILABLE, "the client has gone")
}

/// Stops a run when it is dropped before the run has ended.
pub struct Leash {
    app: Arc<App>,
    host: Host,
    trace: Option<Trace>,
}

impl Leash {
    /// For a run that a request has begun. `request`: the hash of the request, if the run depends on its client.
    pub fn new<Q, B>(call: &Call<Q, B>, trace: &Trace, request: Option<&str>) -> Leash {
        if let Some(request) = request {
            call.app.runs.depend(&call.host, trace.id(), request);
        }
        Leash { app: Arc::clone(&call.app), host: call.host.clone(), trace: request.map(|_| trace.clone()) }
    }

    /// The run has ended, or goes on without its client.
    pub fn release(&mut self) {
        self.trace = None;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // A server that ends lets its runs come to rest, and a later start goes on with them.
        let (Some(trace), true, Ok(tasks)) =
            (self.trace.take(), self.app.is_ready.load(Ordering::Acquire), Handle::try_current())
        else {
            return;
        };
        let (app, host) = (Arc::clone(&self.app), self.host.clone());
        tasks.spawn(async move {
            // A run that cannot be stopped goes on, and can be seen and stopped by its trace.
            if trace.stop().await.is_ok() {
                let _ = app.runs.drive(&host, &trace).await;
            }
        });
    }
}
