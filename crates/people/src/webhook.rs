//! The webhook: what is posted, and what a reply says.

use crate::config::WebhookConfig;
use crate::error::ChannelError;
use crate::message::{AgentWord, Outgoing, Unsent};
use crate::signature::{key, sign, verify};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use mainpath_net::{Ask, Caps, Client, NotFollowed, Secret};
use mainpath_tools::unique_json;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

/// How long one try may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Posts messages to an address of the owner's.
pub(crate) struct Webhook {
    client: Client,
    url: Url,
    pub secret: String,
}

impl Webhook {
    /// Errors: the secret is missing, or nothing can be signed with it.
    pub fn new(client: &Client, config: &WebhookConfig, secret: Secret<'_>) -> Result<Webhook, ChannelError> {
        let url = config.url.url().clone();
        let (name, secret) = (config.secret.as_str(), config.secret.value(secret)?);
        key(&secret).map_err(|problem| ChannelError::Signing { name: name.into(), problem })?;
        Ok(Webhook { client: client.trusting(&url), url, secret })
    }

    /// Posts a message once. Errors: it was not taken.
    pub async fn send(&self, to: &str, message: &Outgoing, now: u64) -> Result<(), Unsent> {
        let body = body(to, message).to_string();
        let mut ask = Ask::post(self.url.clone(), &Value::Null);
        for (name, value) in sign(&self.secret, &message.id, now, body.as_bytes()).headers {
            let value =
                HeaderValue::try_from(value).map_err(|_| Unsent::for_good("its id cannot be sent in a header"))?;
            ask.headers.insert(name, value);
        }
        ask.body = Some(Bytes::from(body));
        let moved = "a webhook that has moved is put right in the configuration";
        let stay = |_: &http::Method, _: &Url| Err(NotFollowed::Refused(moved.into()));
        let answer = self.client.send(ask, Caps::within(LIMIT), &stay).await;
        let answer =
            answer.map_err(|problem| Unsent::for_now(format!("the webhook cannot be reached: {}", problem.text)))?;
        match answer.status {
            200..300 => Ok(()),
            status @ (408 | 425 | 429 | 500..) => {
                Err(Unsent::for_now(format!("the webhook answered with HTTP {status}")))
            }
            status => Err(Unsent::for_good(format!("the webhook refused it with HTTP {status}"))),
        }
    }
}

/// A message as JSON.
fn body(to: &str, message: &Outgoing) -> Value {
    let Outgoing { id, kind, trace, text, choices, files, expires_at, default } = message;
    let mut body = json!({"type": kind, "id": id, "trace": trace, "to": to, "text": text});
    if !choices.is_empty() {
        body["choices"] = json!(choices);
    }
    if !files.is_empty() {
        body["files"] = json!(files);
    }
    for (name, value) in [("expires_at", expires_at), ("default", default)] {
        if let Some(value) = value {
            body[name] = json!(value);
        }
    }
    body
}

/// A reply by webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The id of the question.
    pub question: String,
    /// The answer: words, or the number of a choice.
    pub answer: String,
    /// The contact who gave it, if the reply says so.
    pub by: Option<String>,
}

/// Why a reply was refused: the status and one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong.
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    question: String,
    answer: Words,
    #[serde(default)]
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "answer is a text or a number")]
enum Words {
    Text(String),
    Number(u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordBody {
    from_agent_id: String,
    content: String,
    #[serde(default)]
    conversation_id: Option<String>,
    #[serde(default)]
    trace: Option<String>,
}

/// Reads a body that is a JSON object. An array is invalid: serde would assign its elements to the fields in order. Errors: the body is not
/// an object, or it has a duplicate field.
fn object<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    match unique_json(body)? {
        Value::Object(fields) => T::deserialize(fields),
        _ => Err(serde_json::Error::custom("the body is not an object")),
    }
}

/// Reads a message of another system's agent, once it is known to be genuine and new. Errors: it is not, or is no such message.
pub fn read_word(secret: &str, headers: &HeaderMap, body: &[u8], now: u64) -> Result<AgentWord, Refused> {
    let id = verify(secret, headers, body, now).map_err(|why| Refused { status: 401, why: why.to_string() })?;
    let wrong = |why: String| Refused { status: 400, why };
    let WordBody { from_agent_id, content, conversation_id, trace } = object(body)
        .map_err(|error| wrong(format!("the body is not {{\"from_agent_id\", \"content\", \"trace\"}}: {error}")))?;
    if from_agent_id.trim().is_empty() || content.trim().is_empty() {
        return Err(wrong("from_agent_id and content must not be empty".into()));
    }
    // Who goes on with a conversation may know it by the trace alone.
    let trace = trace.or_else(|| conversation_id.clone());
    let trace = trace.ok_or_else(|| wrong("the trace that the message is for is missing: trace".into()))?;
    Ok(AgentWord { from: from_agent_id, trace, conversation: conversation_id, id, text: content })
}

/// Reads a reply, once it is known to be genuine and new. Errors: it is not, or says nothing that is an answer.
pub fn read_reply(secret: &str, headers: &HeaderMap, body: &[u8], now: u64) -> Result<Reply, Refused> {
    verify(secret, headers, body, now).map_err(|why| Refused { status: 401, why: why.to_string() })?;
    let wrong = |why: String| Refused { status: 400, why };
    let Body { question, answer, by } =
        object(body).map_err(|error| wrong(format!("the body is not {{\"question\", \"answer\"}}: {error}")))?;
    let answer = match answer {
        Words::Text(text) => text,
        Words::Number(number) => number.to_string(),
    };
    if answer.trim().is_empty() {
        return Err(wrong("the answer is empty".into()));
    }
    Ok(Reply { question, answer, by })
}
