//! Whatever the answer, what goes out keeps the vendor's rules; whatever the vendor signs, it gets back.

use mainpath_providers::{Codec, Gemini, Quirks, encode};
use mainpath_testkit::model_server::gemini::check_body;
use mainpath_types::{CallId, Message, ModelRequest, Part, RequestHead, Role, Seq, Signature};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

fn gemini() -> Gemini {
    Gemini::new(Quirks::default(), "gemini")
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".into()), "[a-z ]{1,9}", "\\PC{0,9}", any::<String>()]
}

fn signature() -> impl Strategy<Value = Option<Signature>> {
    let issuer = prop_oneof![Just("gemini"), Just("anthropic"), Just("gemini-compatible@127.0.0.1:1"), Just("")];
    let value = prop_oneof![
        "[A-Za-z0-9+/]{4}",
        "[0-9]{1,2}",
        "[0-4]( [0-4](:[A-Z]{4})?){0,3}",
        "[0-9]{1,2}:[A-Z]{4}",
        "thought:[A-Z]{4}",
    ];
    option::of((issuer, value).prop_map(|(issuer, value)| Signature { issuer: issuer.into(), value }))
}

/// A signature such as the codec could have made for a call or a thought with text: another value of the same issuer
/// would be a broken log.
fn plain_signature() -> impl Strategy<Value = Option<Signature>> {
    let issuer = prop_oneof![Just("gemini"), Just("anthropic")];
    option::of((issuer, "[A-Za-z0-9+/]{8}").prop_map(|(issuer, value)| Signature { issuer: issuer.into(), value }))
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("{}".into()),
        Just(r#"{"a": [1, {"b": null}]}"#.into()),
        Just(r#"{"a": "\ud83e"}"#.into()),
        Just(r#"{"a": 1e999}"#.into()),
        Just("[]".into()),
        Just("{\"half".into()),
        any::<String>(),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_]{1,9}", "[0-9-][a-z]{0,70}", "\\PC{0,9}", any::<String>()]
}

fn answer_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => text().prop_map(Part::text),
        2 => ("[a-z]{1,9}", plain_signature()).prop_map(|(text, signature)| Part::Thinking { text, signature }),
        2 => signature().prop_map(|signature| Part::Thinking { text: String::new(), signature }),
        3 => (name(), arguments(), plain_signature())
            .prop_map(|(name, arguments, signature)| Part::ToolCall { name, arguments, signature }),
    ]
}

/// A part as the vendor could send it.
fn vendor_part() -> impl Strategy<Value = Value> {
    let signature = || option::of("[A-Za-z0-9+/]{4,8}={0,2}");
    let with = |mut part: Value, signature: Option<String>| {
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature);
        }
        part
    };
    prop_oneof![
        4 => ("\\PC{0,5}", signature()).prop_map(move |(text, signature)| with(json!({"text": text}), signature)),
        2 => ("[a-z]{0,5}", signature())
            .prop_map(move |(text, signature)| with(json!({"text": text, "thought": true}), signature)),
        2 => ("[a-z]{1,5}", signature())
            .prop_map(move |(name, signature)| with(json!({"functionCall": {"name": name, "args": {"a": [1]}}}), signature)),
    ]
}

/// What of an answer must come back, part for part: unsigned pieces of one text as one, no empty text without a signature,
/// no thought without one, ids of ours.
fn expected_back(parts: &[Value]) -> Vec<Value> {
    let mut back: Vec<Value> = Vec::new();
    let mut calls = 0;
    // Whether the text before may still grow: not when something came between that is not sent back.
    let mut open = false;
    for part in parts {
        let mut part = part.clone();
        let signed = part.get("thoughtSignature").is_some();
        if let Some(call) = part.get_mut("functionCall") {
            call["id"] = json!(format!("call_1_{calls}"));
            if calls == 0 && !signed {
                part["thoughtSignature"] = json!("skip_thought_signature_validator");
            }
            calls += 1;
            open = false;
        } else if part["text"] == "" && !signed {
            continue;
        } else if part.get("thought").is_some() {
            open = false;
            if !signed {
                continue;
            }
        } else if !signed {
            if let Some(last) = back.last_mut().filter(|_| open) {
                last["text"] = json!(format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap()));
                continue;
            }
            open = true;
        } else {
            open = false;
        }
        back.push(part);
    }
    back
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_answer_holds_the_request_with_it_keeps_the_rules(parts in vec(answer_part(), 0..8)) {
        let calls = parts.iter().filter_map(|part| match part {
            Part::ToolCall { name, .. } => Some(name.clone()),
            _ => None,
        });
        let results = calls.zip(0..).map(|(name, index)| {
            let call = CallId { seq: Seq(1), index };
            Part::ToolResult { call, name, content: Vec::new(), is_error: false }
        });
        let results = Message { seq: Some(Seq(2)), role: Role::Tool, parts: results.collect() };
        let mut messages = vec![Message { seq: Some(Seq(1)), role: Role::Assistant, parts }];
        if !results.parts.is_empty() {
            messages.push(results);
        }
        let bytes = encode(&gemini(), &ModelRequest { head: RequestHead::default(), messages });
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(check_body(&body), Ok(()), "{}", body);
    }

    #[test]
    fn no_foreign_signature_leaves(parts in vec(answer_part(), 0..8)) {
        let mut parts = parts;
        for part in &mut parts {
            if let Part::Thinking { signature: Some(signature), .. } | Part::ToolCall { signature: Some(signature), .. } = part {
                signature.value = if signature.issuer == "gemini" { "0:OURS".into() } else { "0:THEIRS".into() };
            }
        }
        let mut bytes = Vec::new();
        gemini().encode_group(&[Message { seq: Some(Seq(1)), role: Role::Assistant, parts }], &mut bytes);
        prop_assert!(!String::from_utf8(bytes).unwrap().contains("THEIRS"));
    }

    #[test]
    fn what_the_vendor_sent_comes_back_as_it_was(parts in vec(vendor_part(), 1..8), cuts in vec(any::<bool>(), 8)) {
        // In one body, and in chunks cut between any parts.
        let whole = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
        let reply = gemini().decode_reply(whole.to_string().as_bytes()).unwrap();
        let mut chunks: Vec<Vec<Value>> = vec![Vec::new()];
        for (part, cut) in parts.iter().zip(cuts) {
            if cut {
                chunks.push(Vec::new());
            }
            chunks.last_mut().unwrap().push(part.clone());
        }
        let mut stream = gemini().stream();
        for parts in chunks {
            let chunk = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
            stream.push(format!("data: {chunk}\r\n\r\n").as_bytes(), &mut |_| {}).unwrap();
        }
        prop_assert_eq!(&stream.finish().unwrap(), &reply);
        let mut element = Vec::new();
        let message = Message { seq: Some(Seq(1)), role: Role::Assistant, parts: reply.parts };
        gemini().encode_group(&[message], &mut element);
        let sent: Value = serde_json::from_slice(&element).unwrap();
        let mut expected = expected_back(&parts);
        // White space alone is not sent as a text of its own; with signatures it is a piece of one.
        let is_blank = |part: &Value| part["text"].as_str().is_some_and(|text| text.trim().is_empty());
        if expected.iter().all(|part| part.get("thoughtSignature").is_none()) {
            expected.retain(|part| !is_blank(part));
        }
        prop_assume!(!expected.iter().any(|part| is_blank(part) && part.get("thoughtSignature").is_none()));
        if expected.iter().all(|part| part.get("thought").is_some()) {
            expected.push(json!({"text": "(empty)"}));
        }
        prop_assert_eq!(&sent["parts"], &Value::Array(expected));
    }
}
