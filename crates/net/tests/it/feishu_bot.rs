//! Against an endpoint that checks signatures as the service does.

use crate::server::{Reply, Request, Server, Then, raw, redirect, reply};
use crate::support::{World, client, pair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_net::{FeishuBot, FeishuBotConfig};
use mainpath_tools::Tools;
use mainpath_types::EffectClass;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

const SECRET: &str = "group-secret";

fn world(server: &Server, config: Value) -> World {
    let config: FeishuBotConfig = serde_json::from_value(config).unwrap();
    let url = server.url("/open-apis/bot/v2/hook/0000-token");
    let secret = move |name: &str| match name {
        "HOOK" => Some(url.clone()),
        "SIGN" => Some(SECRET.to_string()),
        _ => None,
    };
    World::new(Tools::new().with(FeishuBot::new(&client(&[]), &config, &secret).unwrap()))
}

/// HMAC-SHA256 over nothing, spelled out after RFC 2104.
fn mac(key: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    match key.len() > 64 {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let with = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::digest(with(0x36));
    Sha256::digest([&with(0x5c)[..], &inner[..]].concat()).to_vec()
}

/// What the service would answer.
fn service(request: &Request) -> Reply {
    let message: Value = serde_json::from_str(&request.body).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let told: u64 = message["timestamp"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
    let wanted = STANDARD.encode(mac(format!("{told}\n{SECRET}").as_bytes()));
    let right = told.abs_diff(now) < 3_600 && message["sign"] == wanted.as_str() && request.method == "POST";
    let answer = match right {
        true => json!({"code": 0, "data": {}, "msg": "success"}),
        false => json!({"code": 19021, "msg": "sign match fail or timestamp is not within one hour from current time"}),
    };
    reply(200, &[("content-type", "application/json")], answer.to_string())
}

#[tokio::test]
async fn a_signed_message_is_taken() {
    let server = Server::new(service).await;
    let world = world(&server, json!({"webhook": "HOOK", "secret": "SIGN"}));
    assert_eq!(world.say("feishu_bot", json!({"text": "Hello 世界"})).await, pair("ok", "The message was sent."));
    let [request] = server.seen().try_into().unwrap();
    let mut message: Value = serde_json::from_str(&request.body).unwrap();
    assert!(message["timestamp"].take().is_string() && message["sign"].take().is_string());
    assert_eq!(
        message,
        json!({"msg_type": "text", "content": {"text": "Hello 世界"}, "timestamp": null, "sign": null})
    );
    assert_eq!(request.path, "/open-apis/bot/v2/hook/0000-token");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(world.tools.doc("feishu_bot").unwrap().effect, EffectClass::MessageSend);
}

#[tokio::test]
async fn a_message_without_signature_is_refused_by_one_who_wants_it() {
    let server = Server::new(service).await;
    let world = world(&server, json!({"webhook": "HOOK"}));
    let told = "Feishu did not take the message: sign match fail or timestamp is not within one hour from current time (code 19021).";
    assert_eq!(world.say("feishu_bot", json!({"text": "Hello"})).await, pair("refused", told));
}

#[tokio::test]
async fn cards_are_sent_as_they_are() {
    let server = Server::new(|_| reply(200, &[], r#"{"StatusCode":0,"StatusMessage":"success"}"#)).await;
    let world = world(&server, json!({"webhook": "HOOK"}));
    let card = json!({"header": {"title": {"tag": "plain_text", "content": "T"}}, "elements": []});
    assert_eq!(world.say("feishu_bot", json!({"card": card})).await, pair("ok", "The message was sent."));
    let message: Value = serde_json::from_str(&server.seen()[0].body).unwrap();
    assert_eq!(message, json!({"msg_type": "interactive", "card": card}));
}

#[tokio::test]
async fn the_address_that_lets_anybody_write_is_never_shown() {
    let answers: [fn() -> Reply; 4] = [
        || reply(500, &[], "/open-apis/bot/v2/hook/0000-token failed"),
        || redirect(302, "/elsewhere"),
        || raw("nonsense\r\n\r\n", Then::Close),
        || reply(200, &[], "?"),
    ];
    for (answer, code) in answers.into_iter().zip(["http_status", "redirect", "connection", "bad_answer"]) {
        let server = Server::new(move |_| answer()).await;
        let (told, text) = world(&server, json!({"webhook": "HOOK"})).say("feishu_bot", json!({"text": "x"})).await;
        assert_eq!((told.as_str(), text.contains("0000-token")), (code, false), "{text}");
    }
}

#[tokio::test]
async fn what_is_no_message_is_not_sent() {
    let server = Server::new(service).await;
    let world = world(&server, json!({"webhook": "HOOK", "secret": "SIGN"}));
    for args in [json!({}), json!({"text": " "}), json!({"text": "a", "card": {}}), json!({"card": "x"})] {
        assert_eq!(world.say("feishu_bot", args).await.0, "invalid_arguments");
    }
    assert_eq!(world.say("feishu_bot", json!({"text": "x".repeat(21_000)})).await.0, "too_large");
    assert_eq!(server.seen(), []);
    let config: FeishuBotConfig = serde_json::from_value(json!({"webhook": "HOOK"})).unwrap();
    let told =
        |value: &'static str| FeishuBot::new(&client(&[]), &config, &|_| Some(value.into())).err().unwrap().to_string();
    assert_eq!(told("not an address with a token"), "HOOK holds no address");
    assert_eq!(told(""), "HOOK is not set; set that variable, or HOOK under [secrets]");
}
