//! Requests to the open platform: a token for the app, messages to people and groups, the list of people.
//!
//! As its documentation has them (open.feishu.cn/document): `POST /open-apis/auth/v3/tenant_access_token/internal` ("tenant_access_token,
//! self-built apps": valid for at most two hours, `expire` in seconds), `POST /open-apis/im/v1/messages?receive_id_type=…` ("Send a
//! message": `content` is JSON in a string, and messages of one `uuid` of at most 50 characters are sent once within an hour), `GET
//! /open-apis/contact/v3/users/find_by_department` ("Get the users of a department": `0` is the root).

use crate::config::FeishuConfig;
use crate::message::{Choice, Kind, Outgoing, Unsent};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method};
use mainpath_net::{Ask, Caps, Client, NotFollowed, NotReady, Secret, WebAddress};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

const LIMIT: Duration = Duration::from_secs(10);
/// The platform of China.
const USUAL: &str = "https://open.feishu.cn";
/// A token is not used any more for so long before it expires.
const MARGIN: Duration = Duration::from_secs(60);
/// The most people that are listed.
const MOST: usize = 500;
/// The code of a token that is not valid (any more).
const STALE: [i64; 2] = [99_991_663, 99_991_661];

/// The open platform, as one app uses it.
pub(crate) struct Feishu {
    client: Client,
    base: Url,
    app_id: String,
    app_secret: String,
    token: Mutex<Option<Token>>,
    pub encrypt_key: Option<String>,
    pub verification_token: Option<String>,
}

struct Token {
    value: String,
    until: Instant,
}

/// A person of the organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// The open_id.
    pub open_id: String,
}

impl Feishu {
    /// Errors: a secret is missing, or the address is none.
    pub fn new(client: &Client, config: &FeishuConfig, secret: Secret<'_>) -> Result<Feishu, NotReady> {
        let usual = || WebAddress::try_from(USUAL.to_string());
        let base = config.url.clone().map_or_else(usual, Ok).map_err(NotReady::from)?.url().clone();
        let value = |name: &Option<mainpath_net::SecretName>| name.as_ref().map(|name| name.value(secret)).transpose();
        Ok(Feishu {
            client: client.trusting(&base),
            base,
            app_id: config.app_id.clone(),
            app_secret: config.app_secret.value(secret)?,
            token: Mutex::new(None),
            encrypt_key: value(&config.encrypt_key)?,
            verification_token: value(&config.verification_token)?,
        })
    }

    /// Sends a message to an open_id or a chat_id. Returns the platform's id of it.
    pub async fn send(&self, to: &str, message: &Outgoing) -> Result<Option<String>, Unsent> {
        let kind = if to.starts_with("oc_") { "chat_id" } else { "open_id" };
        let (msg_type, content) = match message.kind {
            Kind::Question => ("interactive", card(message)),
            Kind::Message => ("text", json!({"text": message.in_words()})),
        };
        let body = json!({"receive_id": to, "msg_type": msg_type, "content": content.to_string(), "uuid": uuid(&message.id, to)});
        let url = self.at("/open-apis/im/v1/messages", &[("receive_id_type", kind)]);
        let told = self.call(&|| Ask::post(url.clone(), &body)).await?;
        Ok(told["data"]["message_id"].as_str().map(String::from))
    }

    /// The people of the organisation whom the app may see, a bounded number of them.
    pub async fn contacts(&self) -> Result<Vec<Listed>, Unsent> {
        let (mut found, mut page) = (Vec::new(), String::new());
        loop {
            let mut query = vec![("department_id", "0"), ("page_size", "50")];
            if !page.is_empty() {
                query.push(("page_token", page.as_str()));
            }
            let url = self.at("/open-apis/contact/v3/users/find_by_department", &query);
            let told = self.call(&|| Ask::get(url.clone())).await?;
            let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_string();
            let items = told["data"]["items"].as_array().into_iter().flatten();
            found.extend(items.map(|item| Listed { name: text(item, "name"), open_id: text(item, "open_id") }));
            let next = text(&told["data"], "page_token");
            if told["data"]["has_more"] != true || next.is_empty() || next == page || found.len() >= MOST {
                found.retain(|one| !one.open_id.is_empty());
                found.truncate(MOST);
                return Ok(found);
            }
            page = next;
        }
    }

    fn at(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(path);
        url.set_query(None);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// A request with the app's token; with a new one where the platform does not know it any more.
    async fn call(&self, ask: &(dyn Fn() -> Ask + Sync)) -> Result<Value, Unsent> {
        let told = self.call_with(ask(), &self.token().await?).await?;
        let told = match told["code"].as_i64() {
            Some(code) if STALE.contains(&code) => {
                *self.token.lock().await = None;
                self.call_with(ask(), &self.token().await?).await?
            }
            _ => told,
        };
        self.well(told)
    }

    async fn call_with(&self, mut ask: Ask, token: &str) -> Result<Value, Unsent> {
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| Unsent::for_good("Feishu gave a token that cannot be sent"))?;
        value.set_sensitive(true);
        ask.headers.insert(AUTHORIZATION, value);
        self.ask(ask).await
    }

    async fn token(&self) -> Result<String, Unsent> {
        let mut kept = self.token.lock().await;
        if let Some(token) = kept.as_ref().filter(|token| token.until > Instant::now()) {
            return Ok(token.value.clone());
        }
        let url = self.at("/open-apis/auth/v3/tenant_access_token/internal", &[]);
        let told = self.ask(Ask::post(url, &json!({"app_id": self.app_id, "app_secret": self.app_secret}))).await?;
        let told = self.well(told)?;
        let value = told["tenant_access_token"].as_str().filter(|token| !token.is_empty());
        let value = value.ok_or_else(|| Unsent::for_now("Feishu's answer holds no tenant_access_token"))?.to_string();
        let lasts = Duration::from_secs(told["expire"].as_u64().unwrap_or(0).min(7_200));
        *kept = Some(Token { value: value.clone(), until: Instant::now() + lasts.saturating_sub(MARGIN) });
        Ok(value)
    }

    async fn ask(&self, ask: Ask) -> Result<Value, Unsent> {
        let moved = "the platform's address is put right in the configuration";
        let stay = |_: &Method, _: &Url| Err(NotFollowed::Refused(moved.into()));
        let answer = self.client.send(ask, Caps::within(LIMIT), &stay).await;
        let answer =
            answer.map_err(|problem| Unsent::for_now(format!("Feishu cannot be reached: {}", problem.text)))?;
        // The platform says what is wrong in the body, also under 400.
        match serde_json::from_slice(&answer.body) {
            Ok(told @ Value::Object(_)) if answer.status < 500 => Ok(told),
            _ => Err(Unsent::for_now(format!("Feishu answered with HTTP {}", answer.status))),
        }
    }

    /// Errors: the platform says that it did not do what was asked.
    fn well(&self, told: Value) -> Result<Value, Unsent> {
        match told["code"].as_i64() {
            Some(0) => Ok(told),
            Some(code) => {
                let words: String = told["msg"].as_str().unwrap_or_default().chars().take(300).collect();
                Err(Unsent::for_good(format!("Feishu refused it: {words} (code {code})")))
            }
            None => Err(Unsent::for_now("Feishu's answer does not say whether it did it")),
        }
    }
}

/// What the platform knows a message by, so that one that is sent twice within an hour arrives once.
fn uuid(id: &str, to: &str) -> String {
    let hash = Sha256::digest(format!("{id}\n{to}"));
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A question as a card ("Card JSON 1.0"): its words, and a button for each choice. A button comes back with what stands in its `value`.
fn card(message: &Outgoing) -> Value {
    let plain = |text: &str| json!({"tag": "plain_text", "content": text});
    let mut elements = vec![json!({"tag": "div", "text": plain(&message.in_words())})];
    if !message.choices.is_empty() {
        let buttons = (1..).zip(&message.choices).map(|(number, Choice { label, .. })| {
            json!({"tag": "button", "text": plain(label), "value": {"question": message.id, "answer": number.to_string()}})
        });
        elements.push(json!({"tag": "action", "actions": buttons.collect::<Vec<Value>>()}));
    }
    elements.push(json!({"tag": "note", "elements": [plain(&format!("Reply to this message to answer. Question {}", message.id))]}));
    json!({"config": {"wide_screen_mode": true}, "header": {"title": plain("An agent asks")}, "elements": elements})
}
