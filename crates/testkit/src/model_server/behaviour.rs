//! What a server does: what requests it has seen, and what it answers them with.

use super::answer::Answer;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// What the server does.
pub struct Behaviour {
    pub(super) reply: Box<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>,
    pub(super) record: bool,
    pub(super) check: bool,
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
    pub(super) parsed: OnceLock<Value>,
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
    /// A response made earlier by [`render`](super::render), after a delay in milliseconds: for benches.
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
    /// What a request gets that breaks a rule: status 400 and this text, which is remembered as a violation.
    Refuse(String),
    /// The answer's first bytes (the response's head counts), then the connection is closed.
    CutAfter(Answer, usize),
    /// The answer's first bytes, then nothing more until the client leaves.
    Stall(Answer, usize),
    /// These bytes as they are, then the connection is closed.
    Garbage(Vec<u8>),
    /// The connection is closed without an answer.
    Close,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Reply {
        Reply::Answer(answer)
    }
}
