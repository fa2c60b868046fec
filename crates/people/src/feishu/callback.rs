//! What the open platform posts: the check of an address, messages to the bot, and buttons of cards.
//!
//! As its documentation has them ("Receive events", "Receive callbacks", open.feishu.cn/document): the signature in `X-Lark-Signature` is the
//! SHA-256, in hexadecimal, of `X-Lark-Request-Timestamp`, `X-Lark-Request-Nonce`, the Encrypt Key and the body as it came; a body
//! `{"encrypt": "…"}` is base64 of 16 bytes for the start of AES-256-CBC and what was encrypted with the SHA-256 of the Encrypt Key, padded
//! as PKCS #7 has it. The check of an address (`url_verification`) is answered with its `challenge` and is not signed.

use crate::signature::check_age;
use crate::webhook::Refused;
use aes::Aes256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use http::HeaderMap;
use mainpath_tools::unique_json;
use serde_json::Value;
use sha2::{Digest, Sha256};

const SIGNATURE: &str = "x-lark-signature";

/// What a genuine callback says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Callback {
    /// The address is checked: this comes back.
    Challenge(String),
    /// Somebody answers.
    Reply(FeishuReply),
    /// Something else.
    Other,
}

/// An answer that came by Feishu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeishuReply {
    /// The question's id, where a button has it.
    pub question: Option<String>,
    /// The messages that it is a reply to, the nearest first.
    pub receipts: Vec<String>,
    /// When it was written, in milliseconds since 1970. Of a button: 0, for it names its question.
    pub written: u64,
    /// The person.
    pub open_id: String,
    /// The chat that it was said in.
    pub chat_id: String,
    /// The answer.
    pub text: String,
    /// Whether a button was pressed.
    pub button: bool,
}

/// What callbacks are known by to be genuine. One of them at least has to be there.
pub(crate) struct Check<'a> {
    pub encrypt_key: Option<&'a str>,
    pub verification_token: Option<&'a str>,
}

fn refused(status: u16, why: impl Into<String>) -> Refused {
    Refused { status, why: why.into() }
}

/// Reads a callback. Errors: it is not genuine, too old, or nothing that the platform posts.
///
/// Nothing of an encrypted body is decrypted before its signature is checked, except where it has none: then it can only be the check of an
/// address, and everything else gets the same answer. Two answers would say whether the padding was right, and that decrypts a body without
/// the key.
pub(crate) fn read(check: &Check<'_>, headers: &HeaderMap, body: &[u8], now: u64) -> Result<Callback, Refused> {
    let outer = unique_json(body).map_err(|error| refused(400, format!("the body is not JSON: {error}")))?;
    match (check.encrypt_key, outer["encrypt"].as_str()) {
        (Some(key), Some(text)) if headers.contains_key(SIGNATURE) => {
            check_signature(key, headers, body, now)?;
            let event = opened(key, text).ok_or_else(|| refused(401, "the body cannot be decrypted to JSON"))?;
            check_token(check, &event)?;
            Ok(understood(&event))
        }
        (Some(key), Some(text)) => {
            let event = opened(key, text).filter(|event| check_token(check, event).is_ok());
            event.as_ref().and_then(challenge).ok_or_else(|| refused(401, "the signature is missing"))
        }
        (None, Some(_)) => Err(refused(403, "the body is encrypted; set encrypt_key in [people.feishu]")),
        // With a key the platform encrypts everything that it posts.
        (Some(_), None) => Err(refused(401, "the body is not encrypted")),
        (None, None) if check.verification_token.is_none() => {
            Err(refused(403, "replies by Feishu need encrypt_key or verification_token in [people.feishu]"))
        }
        (None, None) => {
            check_token(check, &outer)?;
            if let Some(challenge) = challenge(&outer) {
                return Ok(challenge);
            }
            check_created(&outer, now)?;
            Ok(understood(&outer))
        }
    }
}

/// The event in an encrypted body. `None`: it was not encrypted with this key, or is not JSON.
fn opened(key: &str, text: &str) -> Option<Value> {
    unique_json(decrypted(key, text)?).ok()
}

fn check_token(check: &Check<'_>, event: &Value) -> Result<(), Refused> {
    let token = event["header"]["token"].as_str().or_else(|| event["token"].as_str()).unwrap_or_default();
    match check.verification_token {
        Some(expected) if !same(expected, token) => Err(refused(401, "the verification token is wrong")),
        _ => Ok(()),
    }
}

/// The check of an address. Whoever could encrypt it, or knows the token, has the key.
fn challenge(event: &Value) -> Option<Callback> {
    (event["type"] == "url_verification")
        .then(|| Callback::Challenge(event["challenge"].as_str().unwrap_or_default().into()))
}

fn understood(event: &Value) -> Callback {
    challenge(event).or_else(|| reply(event).map(Callback::Reply)).unwrap_or(Callback::Other)
}

/// Without a signature, the time that the event itself states counts.
fn check_created(event: &Value, now: u64) -> Result<(), Refused> {
    let created = event["header"]["create_time"].as_str().and_then(|text| text.parse::<u64>().ok());
    // Milliseconds; callbacks of cards have microseconds.
    let seconds = created.map(|time| if time > 100_000_000_000_000 { time / 1_000_000 } else { time / 1_000 });
    let at = seconds.ok_or_else(|| refused(401, "it does not say when it was made (create_time)"))?;
    check_age(at, now).map_err(|why| refused(401, why.to_string()))
}

fn check_signature(key: &str, headers: &HeaderMap, body: &[u8], now: u64) -> Result<(), Refused> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let timestamp = header("x-lark-request-timestamp");
    let mut hash = Sha256::new();
    for part in [timestamp.as_bytes(), header("x-lark-request-nonce").as_bytes(), key.as_bytes(), body] {
        hash.update(part);
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if !same(&hash, &header(SIGNATURE).to_ascii_lowercase()) {
        return Err(refused(401, "the signature is wrong"));
    }
    let at = timestamp.parse().map_err(|_| refused(401, "x-lark-request-timestamp is not a number of seconds"))?;
    check_age(at, now).map_err(|why| refused(401, why.to_string()))
}

/// Compares without telling by its time where they differ.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

/// What was encrypted with an Encrypt Key. `None`: it was not, or not with this one.
pub fn decrypted(key: &str, text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (iv, rest) = bytes.split_at_checked(16)?;
    let cipher = cbc::Decryptor::<Aes256>::new_from_slices(&Sha256::digest(key), iv).ok()?;
    cipher.decrypt_padded_vec::<Pkcs7>(rest).ok()
}

/// The answer in an event. `None`: there is none in it.
fn reply(event: &Value) -> Option<FeishuReply> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let inner = &event["event"];
    match event["header"]["event_type"].as_str()? {
        "im.message.receive_v1" => {
            let message = &inner["message"];
            if message["message_type"] != "text" {
                return None;
            }
            let content: Value = serde_json::from_str(message["content"].as_str()?).ok()?;
            let receipts = [&message["parent_id"], &message["root_id"]].map(text);
            let receipts: Vec<String> = receipts.into_iter().filter(|id| !id.is_empty()).collect();
            // What people say in a group is an answer only where it replies to the question.
            if receipts.is_empty() && message["chat_type"] != "p2p" {
                return None;
            }
            Some(FeishuReply {
                question: None,
                receipts,
                // Without it nobody knows which question it was written after.
                written: message["create_time"].as_str()?.parse().ok()?,
                open_id: inner["sender"]["sender_id"]["open_id"].as_str()?.into(),
                chat_id: text(&message["chat_id"]),
                text: without_mentions(content["text"].as_str()?),
                button: false,
            })
        }
        "card.action.trigger" => Some(FeishuReply {
            question: Some(inner["action"]["value"]["question"].as_str()?.into()),
            receipts: Vec::new(),
            written: 0,
            open_id: inner["operator"]["open_id"].as_str()?.into(),
            chat_id: text(&inner["context"]["open_chat_id"]),
            text: inner["action"]["value"]["answer"].as_str()?.into(),
            button: true,
        }),
        _ => None,
    }
}

/// A text without the names of those whom it calls: they stand in it as `@_user_1`.
fn without_mentions(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.starts_with("@_user_")).collect();
    words.join(" ").trim().to_string()
}
