//! A request as a route sees it, and the answer that it gives.

use crate::access::keys::{Who, bearer};
use crate::access::scope::Scope;
use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::stream::{May, Watch};
use axum::extract::ws::WebSocketUpgrade;
use axum::http::HeaderMap;
use mainpath::rules::loosen;
use mainpath::store::Once;
use mainpath::types::{Access, ApprovalMode, CallId, TraceId};
use mainpath::{Host, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The longest that an answer is waited for by `Prefer: wait=N`, in seconds.
const LONGEST_WAIT: u64 = 600;
/// The longest key of a request, in bytes.
const LONGEST_KEY: usize = 255;

/// No parameters, or no body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A request: who asks, and what for. Its parts were held to their schemas.
pub struct Call<Q = Nothing, B = Nothing> {
    /// The server.
    pub app: Arc<App>,
    /// The key that asks.
    pub who: Who,
    /// The traces that it reaches, in its name.
    pub host: Host,
    /// The parts of the path that have names.
    pub path: BTreeMap<String, String>,
    /// The query.
    pub query: Q,
    /// The body.
    pub body: B,
    /// The headers.
    pub headers: HeaderMap,
    /// A digest of method, path and body, by which a request that is made again is known.
    pub digest: String,
    /// The socket, where one is asked for.
    pub socket: Option<WebSocketUpgrade>,
    /// Tells when the client has gone.
    pub gone: Gone,
}

/// A client that waits for its answer. When this is dropped it has its answer, or has gone.
pub struct Client {
    _here: watch::Sender<()>,
}

/// See [`Client`].
#[derive(Clone)]
pub struct Gone(watch::Receiver<()>);

impl Client {
    /// A client that is there.
    pub fn here() -> (Client, Gone) {
        let (here, gone) = watch::channel(());
        (Client { _here: here }, Gone(gone))
    }
}

impl Gone {
    /// Waits until the client has gone.
    pub async fn wait(&self) {
        let mut gone = self.0.clone();
        while gone.changed().await.is_ok() {}
    }
}

impl<Q, B> Call<Q, B> {
    /// A named part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The trace that the path names. Errors: there is none, or none that this key reaches.
    pub async fn trace(&self) -> Result<Trace, Problem> {
        self.trace_named(self.part("id")).await
    }

    /// A trace by its id. Errors: as [`Call::trace`]'s.
    pub async fn trace_named(&self, id: &str) -> Result<Trace, Problem> {
        let none = || Problem::not_found(format!("there is no trace {:?}", id.chars().take(80).collect::<String>()));
        self.trace_of(&id.parse().map_err(|_| none())?).await
    }

    /// The same by an id that was read.
    pub async fn trace_of(&self, id: &TraceId) -> Result<Trace, Problem> {
        if id.elsewhere().is_some() {
            // It is asked for there with this server's own key.
            self.needs(Scope::Admin, "a trace of another machine")?;
        }
        Ok(self.host.trace(id).await?)
    }

    /// The same, sending and deciding under the request's `Idempotency-Key`, if it has one.
    pub async fn trace_once(&self) -> Result<Trace, Problem> {
        let trace = self.trace().await?;
        Ok(match self.once()? {
            Some(once) => trace.once(once),
            None => trace,
        })
    }

    /// The same to talk to it. Errors: as [`Call::check_drive`]'s.
    pub async fn trace_to_drive(&self) -> Result<Trace, Problem> {
        let trace = self.trace_once().await?;
        self.check_drive(&trace).await?;
        Ok(trace)
    }

    /// Whoever may not decide does not have a trace act that asks nobody. Errors: this one asks nobody.
    pub async fn check_drive(&self, trace: &Trace) -> Result<(), Problem> {
        if !self.who.may(Scope::Approve)
            && let Some(spec) = trace.spec().await?
        {
            let usual = self.host.home().config.mode.unwrap_or_default();
            let asks = spec.mode != ApprovalMode::Yes && !loosen(&spec.rules);
            if !asks || spec.access != usual && matches!(spec.access, Access::WorkspaceWrite | Access::Full) {
                self.needs(Scope::Approve, "an agent that asks nobody before it acts")?;
            }
        }
        Ok(())
    }

    /// The call of a tool that the path names.
    pub fn call(&self) -> Result<CallId, Problem> {
        let name = self.part("call");
        call_named(name).ok_or_else(|| Problem::not_found(format!("there is no call {name:?}")))
    }

    /// The request's `Idempotency-Key`. Errors: it is no key, or was used for another request.
    pub fn once(&self) -> Result<Option<Once>, Problem> {
        let Some(key) = self.headers.get("idempotency-key") else { return Ok(None) };
        let text = key.to_str().unwrap_or_default();
        if text.is_empty() || text.len() > LONGEST_KEY || !text.bytes().all(|c| c.is_ascii_graphic()) {
            return Err(Problem::new(Kind::INVALID, "Idempotency-Key: 1 to 255 visible ASCII characters"));
        }
        // Keys of different senders differ, and nobody finds them from what is kept.
        let hash = |of: &[&str]| {
            let bytes = of.iter().flat_map(|part| [part.as_bytes(), b"\n"].concat()).collect::<Vec<u8>>();
            Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let key = hash(&[self.who.tenant.as_str(), &self.who.name, text]);
        let asked = hash(&[text, &self.digest]);
        let once = Once { key, asked };
        match self.app.used_keys.note(&once) {
            true => Ok(Some(once)),
            false => Err(Problem::reused()),
        }
    }

    /// Whether the key of this request is still good, whenever that is asked.
    pub fn may_watch(&self) -> May {
        let (app, name, key) = (Arc::clone(&self.app), self.who.name.clone(), bearer(&self.headers).map(String::from));
        Arc::new(move || match app.who(key.as_deref()) {
            Ok(who) => who.name == name,
            // The file of the keys cannot be opened for now.
            Err(problem) => problem.is(Kind::SCARCE),
        })
    }

    /// What ends a stream besides its trace.
    pub fn watch(&self) -> Watch {
        Watch {
            may: self.may_watch(),
            closing: self.app.closing.subscribe(),
            continues: {
                let (app, host) = (Arc::clone(&self.app), self.host.clone());
                Arc::new(move |trace: &TraceId| app.runs.is_left(&host, trace))
            },
            tenant: self.who.tenant.clone(),
            together: self.app.together.clone(),
        }
    }

    /// Waits until the server stops.
    pub async fn closing(&self) {
        let mut closing = self.app.closing.subscribe();
        let _ = closing.wait_for(|is_closing| *is_closing).await;
    }

    /// How long the caller wants to wait for the end (`Prefer: wait=N`).
    pub fn wait(&self) -> Option<Duration> {
        let values = self.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let wanted = values.flat_map(|value| value.split([',', ';'])).find_map(|part| {
            let (name, seconds) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("wait").then(|| seconds.trim().parse::<u64>().ok())?
        })?;
        Some(Duration::from_secs(wanted.min(LONGEST_WAIT)))
    }

    /// That the key may do something besides what the route needs. Errors: it may not.
    pub fn needs(&self, scope: Scope, what: &str) -> Result<(), Problem> {
        match self.who.may(scope) {
            true => Ok(()),
            false => Err(Problem::new(Kind::FORBIDDEN, format!("{what} needs a key with the scope {scope}"))),
        }
    }
}

/// A call by its number, or by the id that messages have of it.
pub fn call_named(name: &str) -> Option<CallId> {
    match name.strip_prefix("call_") {
        Some(number) => number.replacen('_', ".", 1).parse().ok(),
        None => name.parse().ok(),
    }
}

/// What a route answers: a status, headers, and a body that is an object of its schema.
pub struct Answer<T> {
    /// The status.
    pub status: u16,
    /// More headers.
    pub headers: Vec<Header>,
    /// The body.
    pub body: T,
}

/// A header of an answer.
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub value: String,
}

impl<T> Answer<T> {
    /// An answer with another status than 200.
    pub fn with(status: u16, body: T) -> Answer<T> {
        Answer { status, headers: Vec::new(), body }
    }

    /// The same with a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Answer<T> {
        self.headers.push(Header { name, value: value.into() });
        self
    }
}
