//! Replies that come in by HTTP: from the parts of a request to the parts of a response, whatever server is around it.

use crate::feishu::callback::{Callback, Check, FeishuReply, read};
use crate::message::{AgentWord, Channel, WordTaken};
use crate::webhook::{Refused, Reply, read_reply, read_word};
use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde_json::{Value, json};

/// Where webhook replies are posted to.
const WEBHOOK: &str = "/people/webhook";
/// Where other systems post messages of their agents to.
const AGENTS: &str = "/webhook/a2a-messages";
/// Where Feishu posts to.
const FEISHU: &str = "/people/feishu";

/// A request.
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path, without what follows a `?`.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body as it came.
    pub body: &'a [u8],
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The body: JSON.
    pub body: Value,
}

/// What replies are known by to be genuine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys<'a> {
    /// The secret of the webhook.
    pub webhook: Option<&'a str>,
    /// Whether there is an app of Feishu's.
    pub has_feishu: bool,
    /// Its Encrypt Key.
    pub encrypt_key: Option<&'a str>,
    /// Its Verification Token.
    pub verification_token: Option<&'a str>,
}

/// A genuine answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The channel that it came by.
    pub channel: Channel,
    /// What it answers.
    pub which: Which,
    /// Who gave it.
    pub from: From,
    /// Its words, or the number of a choice.
    pub text: String,
}

/// Which question is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one of this id.
    Id(String),
    /// The one that was sent as one of these messages.
    SentAs {
        /// The messages, by the names that the channel gave them.
        receipts: Vec<String>,
        /// When the answer was written, in milliseconds since 1970.
        written: u64,
    },
    /// The only one that the person was asked.
    Only {
        /// When the answer was written, in milliseconds since 1970.
        written: u64,
    },
}

impl Which {
    /// When the answer was written, in milliseconds since 1970. `None`: it names its question, and needs no time to tell it from others.
    pub fn written(&self) -> Option<u64> {
        match self {
            Which::Id(_) => None,
            Which::SentAs { written, .. } | Which::Only { written } => Some(*written),
        }
    }
}

/// Who gives an answer, as the channel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// Somebody who has the webhook's secret, for this contact where one is named.
    Holder(Option<String>),
    /// A person of Feishu, in a chat.
    Feishu {
        /// The person's open_id.
        open_id: String,
        /// The chat's id.
        chat_id: String,
    },
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on record, for this question.
    Recorded(String),
    /// The question was answered before, or has ended otherwise.
    Already(String),
    /// Nothing of that kind is asked.
    NotAsked(String),
    /// Somebody else was asked.
    NotTheirs,
    /// It picks no choice of the question, which stays open.
    NoChoice(String),
    /// It could not be recorded; a later try may do better.
    Failed(String),
}

/// Who takes answers and messages.
pub trait Desk: Send + Sync {
    /// Takes a message of an agent. It returns once the message is durable.
    fn word(&self, word: AgentWord) -> BoxFuture<'_, WordTaken>;

    /// Takes an answer that is genuine. It returns once the answer is durable.
    fn answer(&self, answer: Answer) -> BoxFuture<'_, Taken>;
}

impl Response {
    fn new(status: u16, body: Value) -> Response {
        Response { status, body }
    }

    /// That a request is refused, and why.
    pub fn refused(status: u16, why: &str) -> Response {
        Response::new(status, json!({"error": why}))
    }
}

/// What follows from a request. `now`: seconds since 1970.
pub async fn handle(request: Request<'_>, keys: Keys<'_>, desk: &dyn Desk, now: u64) -> Response {
    let answered = match (request.path, request.method) {
        (WEBHOOK, "POST") => webhook(&request, keys, desk, now).await,
        (FEISHU, "POST") => feishu(&request, keys, desk, now).await,
        (AGENTS, "POST") => agents(&request, keys, desk, now).await,
        (WEBHOOK | FEISHU | AGENTS, _) => Err(Refused { status: 405, why: "only POST is taken here".into() }),
        _ => Err(Refused {
            status: 404,
            why: format!("there is nothing here; replies go to {WEBHOOK} or {FEISHU}, messages of agents to {AGENTS}"),
        }),
    };
    answered.unwrap_or_else(|Refused { status, why }| Response::refused(status, &why))
}

async fn webhook(request: &Request<'_>, keys: Keys<'_>, desk: &dyn Desk, now: u64) -> Result<Response, Refused> {
    let secret =
        keys.webhook.ok_or_else(|| Refused { status: 404, why: "[people.webhook] is not configured".into() })?;
    let Reply { question, answer, by } = read_reply(secret, request.headers, request.body, now)?;
    let answer = Answer { channel: Channel::Webhook, which: Which::Id(question), from: From::Holder(by), text: answer };
    Ok(match desk.answer(answer).await {
        Taken::Recorded(question) => Response::new(200, json!({"status": "recorded", "question": question})),
        // The sender need not try again.
        Taken::Already(why) => Response::new(200, json!({"status": "already_answered", "detail": why})),
        Taken::NotAsked(why) => Response::refused(404, &why),
        Taken::NoChoice(why) => Response::refused(400, &why),
        Taken::NotTheirs => Response::refused(403, "somebody else was asked"),
        Taken::Failed(why) => Response::refused(503, &why),
    })
}

async fn agents(request: &Request<'_>, keys: Keys<'_>, desk: &dyn Desk, now: u64) -> Result<Response, Refused> {
    let secret =
        keys.webhook.ok_or_else(|| Refused { status: 404, why: "[people.webhook] is not configured".into() })?;
    let word = read_word(secret, request.headers, request.body, now)?;
    Ok(match desk.word(word).await {
        WordTaken::Received => Response::new(200, json!({"status": "received"})),
        WordTaken::Before => Response::new(200, json!({"status": "already_received"})),
        WordTaken::NoTrace(why) => Response::refused(404, &why),
        WordTaken::Refused(why) => Response::refused(409, &why),
        WordTaken::Failed(why) => Response::refused(503, &why),
    })
}

async fn feishu(request: &Request<'_>, keys: Keys<'_>, desk: &dyn Desk, now: u64) -> Result<Response, Refused> {
    if !keys.has_feishu {
        return Err(Refused { status: 404, why: "[people.feishu] is not configured".into() });
    }
    let check = Check { encrypt_key: keys.encrypt_key, verification_token: keys.verification_token };
    let reply = match read(&check, request.headers, request.body, now)? {
        Callback::Challenge(challenge) => return Ok(Response::new(200, json!({"challenge": challenge}))),
        // What is not for us is not sent again.
        Callback::Other => return Ok(Response::new(200, json!({}))),
        Callback::Reply(reply) if reply.text.trim().is_empty() => return Ok(Response::new(200, json!({}))),
        Callback::Reply(reply) => reply,
    };
    let FeishuReply { question, receipts, written, open_id, chat_id, text, button } = reply;
    let which = match (question, receipts.is_empty()) {
        (Some(id), _) => Which::Id(id),
        (None, false) => Which::SentAs { receipts, written },
        (None, true) => Which::Only { written },
    };
    let answer = Answer { channel: Channel::Feishu, which, from: From::Feishu { open_id, chat_id }, text };
    let (kind, words) = match desk.answer(answer).await {
        Taken::Recorded(_) => ("success", "Recorded".to_string()),
        Taken::Already(why) | Taken::NotAsked(why) | Taken::NoChoice(why) => ("warning", why),
        Taken::NotTheirs => ("error", "Somebody else was asked".into()),
        Taken::Failed(why) => return Err(Refused { status: 503, why }),
    };
    // The platform sends again what is not answered with 200. A card shows the words to who pressed the button.
    Ok(Response::new(200, if button { json!({"toast": {"type": kind, "content": words}}) } else { json!({}) }))
}
