//! Callbacks of Feishu: encrypted ones, forged ones, and what is no answer.

use crate::replies::{Clerk, take};
use aes::Aes256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeEncrypt, KeyIvInit};
use http::{HeaderMap, HeaderValue};
use mainpath_people::{Answer, Channel, From, Keys, Taken, Which, decrypted};
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const KEY: &str = "an encrypt key";
const NOW: u64 = 1_700_000_000;
/// When the message was written, in milliseconds.
const WRITTEN: u64 = 1_699_999_998_765;

/// The example of the platform's documentation ("Receive events").
#[test]
fn the_published_example_is_decrypted() {
    let text = "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=";
    assert_eq!(decrypted("test key", text), Some(b"hello world".to_vec()));
    assert_eq!(decrypted("another key", text), None);
    assert_eq!(decrypted("test key", "P37w"), None);
    assert_eq!(decrypted("test key", "not base64"), None);
}

fn encrypted(event: &Value) -> Vec<u8> {
    let iv = [7u8; 16];
    let cipher = cbc::Encryptor::<Aes256>::new_from_slices(&Sha256::digest(KEY), &iv).unwrap();
    let bytes = [&iv[..], &cipher.encrypt_padded_vec::<Pkcs7>(event.to_string().as_bytes())].concat();
    json!({"encrypt": STANDARD.encode(bytes)}).to_string().into_bytes()
}

fn signed(body: &[u8], at: u64) -> HeaderMap {
    let text = [at.to_string().as_bytes(), b"nonce", KEY.as_bytes(), body].concat();
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut headers = HeaderMap::new();
    headers.insert("x-lark-request-timestamp", HeaderValue::try_from(at.to_string()).unwrap());
    headers.insert("x-lark-request-nonce", HeaderValue::from_static("nonce"));
    headers.insert("x-lark-signature", HeaderValue::try_from(hash).unwrap());
    headers
}

fn said(kind: &str, content: &str) -> Value {
    json!({"schema": "2.0", "header": {"event_type": "im.message.receive_v1", "token": "t", "create_time": "1700000000000"}, "event": {
        "sender": {"sender_id": {"open_id": "ou_lan"}},
        "message": {"message_id": "om_2", "root_id": "om_1", "parent_id": "om_1", "create_time": WRITTEN.to_string(), "chat_id": "oc_1", "message_type": kind, "content": content},
    }})
}

fn keys<'a>() -> Keys<'a> {
    Keys { has_feishu: true, encrypt_key: Some(KEY), ..Keys::default() }
}

#[test]
fn an_encrypted_and_signed_reply_is_handed_on() {
    let body = encrypted(&said("text", r#"{"text":"@_user_1 yes, do"}"#));
    let clerk = Clerk::new(Taken::Recorded("t/2.0".into()));
    assert_eq!(take("/people/feishu", &signed(&body, NOW), &body, keys(), &clerk, NOW), (200, json!({})));
    let answer = Answer {
        channel: Channel::Feishu,
        which: Which::SentAs { receipts: vec!["om_1".into(), "om_1".into()], written: WRITTEN },
        from: From::Feishu { open_id: "ou_lan".into(), chat_id: "oc_1".into() },
        text: "yes, do".into(),
    };
    assert_eq!(clerk.taken(), [answer]);
}

#[test]
fn what_is_no_reply_answers_in_a_talk_with_the_bot_alone_and_nowhere_else() {
    let mut event = said("text", r#"{"text":"yes"}"#);
    let message = event["event"]["message"].as_object_mut().unwrap();
    message.retain(|name, _| !matches!(name.as_str(), "parent_id" | "root_id"));
    for (chat, expected) in [("p2p", vec![Which::Only { written: WRITTEN }]), ("group", vec![])] {
        event["event"]["message"]["chat_type"] = json!(chat);
        let (body, clerk) = (encrypted(&event), Clerk::new(Taken::Recorded("t/2.0".into())));
        assert_eq!(take("/people/feishu", &signed(&body, NOW), &body, keys(), &clerk, NOW), (200, json!({})));
        assert_eq!(clerk.taken().into_iter().map(|answer| answer.which).collect::<Vec<_>>(), expected, "{chat}");
    }
}

#[test]
fn a_message_that_does_not_say_when_it_was_written_answers_nothing() {
    for time in [json!(null), json!(""), json!("soon"), json!("-1")] {
        let mut event = said("text", r#"{"text":"yes"}"#);
        event["event"]["message"]["create_time"] = time.clone();
        let (body, clerk) = (encrypted(&event), Clerk::new(Taken::Recorded("t/2.0".into())));
        assert_eq!(take("/people/feishu", &signed(&body, NOW), &body, keys(), &clerk, NOW), (200, json!({})));
        assert_eq!(clerk.taken(), [], "{time}");
    }
}

#[test]
fn a_button_says_why_its_answer_was_not_taken() {
    let event = json!({"header": {"event_type": "card.action.trigger"}, "event": {"operator": {"open_id": "ou_lan"},
        "action": {"value": {"question": "t/2.0", "answer": "9"}}, "context": {"open_chat_id": "oc_1"}}});
    let (body, clerk) = (encrypted(&event), Clerk::new(Taken::NoChoice("9 is none".into())));
    let told = take("/people/feishu", &signed(&body, NOW), &body, keys(), &clerk, NOW);
    assert_eq!(told, (200, json!({"toast": {"type": "warning", "content": "9 is none"}})));
    assert_eq!(clerk.taken().pop().map(|answer| answer.which), Some(Which::Id("t/2.0".into())));
}

#[test]
fn what_is_forged_old_or_in_the_clear_is_refused() {
    let body = encrypted(&said("text", r#"{"text":"yes"}"#));
    let clerk = Clerk::new(Taken::Recorded("t/2.0".into()));
    let refused = |headers: &HeaderMap, body: &[u8], now: u64| {
        let (status, told) = take("/people/feishu", headers, body, keys(), &clerk, now);
        assert_eq!(clerk.taken(), []);
        (status, told["error"].as_str().unwrap().to_string())
    };
    assert_eq!(refused(&HeaderMap::new(), &body, NOW), (401, "the signature is missing".into()));
    assert_eq!(refused(&signed(b"another body", NOW), &body, NOW), (401, "the signature is wrong".into()));
    assert_eq!(refused(&signed(&body, NOW), &body, NOW + 301), (401, "it is older than 5 minutes".into()));
    let clear = said("text", r#"{"text":"yes"}"#).to_string().into_bytes();
    assert_eq!(refused(&signed(&clear, NOW), &clear, NOW), (401, "the body is not encrypted".into()));
    let garbage = br#"{"encrypt":"AAAA"}"#;
    assert_eq!(refused(&signed(garbage, NOW), garbage, NOW), (401, "the body cannot be decrypted to JSON".into()));
    let (status, why) = refused(&signed(b"[", NOW), b"[", NOW);
    assert!((status, why.starts_with("the body is not JSON: ")) == (400, true), "{status} {why}");
    let none = Keys { has_feishu: true, ..Keys::default() };
    let (status, _) = take("/people/feishu", &signed(&clear, NOW), &clear, none, &clerk, NOW);
    assert_eq!((status, clerk.taken().len()), (403, 0), "without any key nobody is believed");
}

/// Whoever recorded an encrypted body could read it byte by byte if a right padding had an answer of its own.
#[test]
fn every_changed_body_gets_the_same_answer_whatever_its_padding_is() {
    let body = encrypted(&said("text", r#"{"text":"yes"}"#));
    let recorded: Value = serde_json::from_slice(&body).unwrap();
    let bytes = STANDARD.decode(recorded["encrypt"].as_str().unwrap()).unwrap();
    let clerk = Clerk::new(Taken::Recorded("t/2.0".into()));
    let wrong_signature = {
        let mut headers = signed(&body, NOW);
        headers.insert("x-lark-signature", HeaderValue::from_static("0000"));
        headers
    };
    for (headers, why) in [(HeaderMap::new(), "the signature is missing"), (wrong_signature, "the signature is wrong")]
    {
        let mut answers = std::collections::BTreeMap::new();
        for changed in 0..=255_u8 {
            // The last byte of the block before the last decides what padding is seen.
            let mut bytes = bytes.clone();
            let place = bytes.len() - 17;
            bytes[place] ^= changed;
            let body = json!({"encrypt": STANDARD.encode(bytes)}).to_string();
            let told = take("/people/feishu", &headers, body.as_bytes(), keys(), &clerk, NOW);
            *answers.entry((told.0, told.1["error"].as_str().unwrap_or_default().to_string())).or_insert(0) += 1;
        }
        assert_eq!(answers, [((401, why.to_string()), 256)].into());
    }
    assert_eq!(clerk.taken(), []);
}

#[test]
fn a_body_that_names_a_field_twice_is_refused() {
    let clerk = Clerk::new(Taken::Recorded("t/2.0".into()));
    let keys = Keys { has_feishu: true, verification_token: Some("t"), ..Keys::default() };
    let once = said("text", r#"{"text":"yes"}"#).to_string();
    let twice = once.replace(r#""open_id":"ou_lan""#, r#""open_id":"ou_other","open_id":"ou_lan""#);
    assert_ne!(once, twice);
    let told = take("/people/feishu", &HeaderMap::new(), twice.as_bytes(), keys, &clerk, NOW);
    let why = told.1["error"].as_str().unwrap();
    assert!(told.0 == 400 && why.starts_with("the body is not JSON: the name \"open_id\" is there twice"), "{told:?}");
    assert_eq!(clerk.taken(), []);
    assert_eq!(take("/people/feishu", &HeaderMap::new(), once.as_bytes(), keys, &clerk, NOW), (200, json!({})));
    assert_eq!(clerk.taken().len(), 1);
}

#[test]
fn the_check_of_an_address_is_answered_and_what_is_no_answer_is_passed_over() {
    let clerk = Clerk::new(Taken::Recorded("t/2.0".into()));
    let challenge = encrypted(&json!({"type": "url_verification", "challenge": "c1", "token": "t"}));
    let told = take("/people/feishu", &HeaderMap::new(), &challenge, keys(), &clerk, NOW);
    assert_eq!(told, (200, json!({"challenge": "c1"})));
    let others = [
        said("image", r#"{"image_key":"i"}"#),
        said("text", "no json"),
        said("text", r#"{"text":"@_user_1 "}"#),
        json!({"header": {"event_type": "contact.user.created_v3"}}),
        json!([]),
    ];
    for other in others {
        let body = encrypted(&other);
        assert_eq!(
            take("/people/feishu", &signed(&body, NOW), &body, keys(), &clerk, NOW),
            (200, json!({})),
            "{other}"
        );
    }
    assert_eq!(clerk.taken(), []);
}

proptest! {
    #[test]
    fn no_body_makes_decryption_fail_loudly(bytes in any::<Vec<u8>>()) {
        let _ = decrypted(KEY, &STANDARD.encode(bytes));
    }
}
