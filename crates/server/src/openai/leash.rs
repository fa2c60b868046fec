//! A run whose client waits for it ends when the client goes, as OpenAI's do. Runs in the background and those under an
//! `Idempotency-Key`, whose client comes back, go on.

use crate::app::App;
use crate::call::Call;
use crate::problem::{Kind, Problem};
use mainpath::{Host, Trace};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::runtime::Handle;

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
    /// For a run that a request has begun.
    pub fn new<Q, B>(call: &Call<Q, B>, trace: &Trace) -> Leash {
        let stays = call.headers.contains_key("idempotency-key");
        Leash { app: Arc::clone(&call.app), host: call.host.clone(), trace: (!stays).then(|| trace.clone()) }
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
