//! The server of another machine: what is asked of it, and why it did not answer.

use mainpath_net::{Api, ApiAsk};
use mainpath_runtime::Unbegun;
use mainpath_store::StoreError;
use mainpath_types::TraceId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io;

/// The most bytes of one answer.
const MOST: usize = 16 << 20;

/// What to do about a certificate of an authority of one's own.
const TRUST: &str =
    "Its certificate must be of an authority that this machine trusts; SSL_CERT_FILE names a file of them";

/// The server of another machine.
pub(crate) struct PeerServer {
    /// Its host, as ids name it.
    pub host: String,
    api: Api,
}

/// A request that was not answered as it should.
#[derive(Debug)]
pub(crate) struct Unanswered {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Whether it may be asked for again.
    pub is_for_now: bool,
    /// One line for people.
    pub why: String,
}

/// A request about a trace.
#[derive(Clone, Copy, Default)]
pub(crate) struct PeerAsk<'a> {
    /// The parts of the path.
    pub path: &'a [&'a str],
    /// The query.
    pub query: &'a str,
    /// What is posted.
    pub body: Option<&'a serde_json::Value>,
    /// A key under which the same is done once.
    pub once: Option<&'a str>,
    /// How long the server may wait for something to tell.
    pub wait: Option<std::time::Duration>,
}

/// Problem details (RFC 9457), as far as they are told on.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    title: String,
    detail: String,
    errors: Vec<FieldDetail>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FieldDetail {
    pointer: String,
    detail: String,
}

impl PeerServer {
    /// The server at this host.
    pub fn new(host: String, api: Api) -> PeerServer {
        PeerServer { host, api }
    }

    /// Its address.
    pub fn address(&self) -> &str {
        self.api.url().as_str().trim_end_matches('/')
    }

    /// Asks for bytes. Errors: they were not given.
    pub async fn bytes(&self, ask: PeerAsk<'_>) -> Result<Vec<u8>, Unanswered> {
        let PeerAsk { path, query, body, once, wait } = ask;
        let answer = self.api.send(ApiAsk { path, query, body, once, wait, most: MOST }).await;
        let answer = answer.map_err(|problem| Unanswered {
            status: None,
            is_for_now: matches!(problem.code, "connection" | "timeout"),
            why: match problem.code {
                "insecure" => format!("{}: {} {TRUST}", self.address(), problem.text),
                _ => format!("{} cannot be reached: {}", self.address(), problem.text),
            },
        })?;
        match answer.status {
            200..300 if answer.cut => Err(self.wrong("the answer is too long")),
            200..300 => Ok(answer.body),
            status => Err(Unanswered {
                status: Some(status),
                is_for_now: matches!(status, 408 | 425 | 429 | 500..),
                why: self.refusal(status, &answer.body),
            }),
        }
    }

    /// Asks for JSON. Errors: it was not given.
    pub async fn json<T: DeserializeOwned>(&self, ask: PeerAsk<'_>) -> Result<T, Unanswered> {
        self.read(&self.bytes(ask).await?)
    }

    /// Reads JSON. Errors: it is none of this kind.
    pub fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Unanswered> {
        serde_json::from_slice(bytes).map_err(|error| {
            self.wrong(&format!("its answer cannot be read ({error}); it may be a server of another version"))
        })
    }

    fn wrong(&self, why: &str) -> Unanswered {
        Unanswered { status: Some(200), is_for_now: false, why: format!("{}: {why}", self.address()) }
    }

    fn refusal(&self, status: u16, body: &[u8]) -> String {
        let details: Details = serde_json::from_slice(body).unwrap_or_default();
        let field = details.errors.first().map(|field| format!("{}: {}", field.pointer, field.detail));
        let words = field.unwrap_or(if details.detail.is_empty() { details.title } else { details.detail });
        let words: String = words.chars().filter(|letter| !letter.is_control()).take(300).collect();
        let help = match status {
            401 => "; its key is not known there (mainpath keys list)",
            _ => "",
        };
        format!("{} refused it with HTTP {status}: {words}{help}", self.address())
    }
}

impl Unanswered {
    /// As what the store says of a trace.
    pub fn of(self, trace: &TraceId) -> StoreError {
        match self.status {
            Some(404) => StoreError::NotFound { trace: trace.clone() },
            _ => {
                // Whoever waits for it asks again only after the first kind.
                let kind = if self.is_for_now { io::ErrorKind::NotConnected } else { io::ErrorKind::PermissionDenied };
                StoreError::Io { doing: format!("ask for {trace}"), source: io::Error::new(kind, self.why) }
            }
        }
    }
}

impl From<Unanswered> for Unbegun {
    fn from(unanswered: Unanswered) -> Unbegun {
        Unbegun { is_for_now: unanswered.is_for_now, why: unanswered.why }
    }
}
