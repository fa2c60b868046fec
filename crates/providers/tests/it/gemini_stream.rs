//! Streamed answers of generateContent, cut in every way.

use crate::played::{self, Outcome};
use mainpath_providers::{Codec, Gemini, Quirks};
use mainpath_testkit::model_server::Answer;
use mainpath_testkit::model_server::gemini::{events, whole};
use mainpath_types::{ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};
use serde_json::{Value, json};

fn gemini() -> Gemini {
    Gemini::new(Quirks::default(), "gemini")
}

fn play(pieces: &[&[u8]]) -> Outcome {
    played::play(&gemini(), pieces)
}

fn answer() -> Answer {
    Answer {
        thinking: "Zwölf Boxkämpfer, hm … 🦀 und mehr".into(),
        text: "Grüße \u{1F469}\u{200D}\u{1F680} und noch ein längerer Text mit \"Zitat\" und \\ am Ende".into(),
        usage: Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 },
        signature: "QUJDRA==".into(),
        ..Answer::default()
    }
    .and_call("look", json!({"at": "Straße 🛣\n und weiter und weiter"}))
    .and_call("stop", json!({}))
}

fn recorded() -> Vec<u8> {
    events(&answer()).concat().into_bytes()
}

fn chunk(candidate: Value) -> String {
    format!("data: {}\n\n", json!({"candidates": [candidate]}))
}

fn text(text: &str) -> String {
    chunk(json!({"content": {"parts": [{"text": text}]}}))
}

fn decoded_whole() -> ModelReply {
    gemini().decode_reply(whole(&answer()).to_string().as_bytes()).unwrap()
}

#[test]
fn a_stream_gives_the_same_answer_as_a_whole_response_and_its_deltas_add_up() {
    let Answer { text, thinking, calls, .. } = answer();
    assert_eq!(play(&[&recorded()]), Outcome { reply: Ok(decoded_whole()), text, thinking, calls });
}

#[test]
fn every_prefix_that_lacks_the_finish_reason_is_a_cut_stream() {
    let stream = recorded();
    // The last line break of the last event need not come.
    let complete_from = stream.len() - 1;
    for end in 0..complete_from {
        assert_eq!(play(&[&stream[..end]]).reply, Err(ModelErrorKind::StreamCut), "prefix of {end} bytes");
    }
    assert_eq!(play(&[&stream[..complete_from]]).reply, Ok(decoded_whole()));
}

#[test]
fn a_texts_signature_on_an_empty_part_at_the_end_is_kept() {
    let answer = Answer { signature: "QQ==".into(), ..Answer::text("Hello") };
    let reply = play(&[events(&answer).concat().as_bytes()]).reply.unwrap();
    let signature = Some(Signature { issuer: "gemini".into(), value: "5 0:QQ==".into() });
    assert_eq!(reply.parts, [Part::Thinking { text: String::new(), signature }, Part::text("Hello")]);
}

#[test]
fn a_finish_reason_in_every_chunk_does_not_end_the_answer() {
    let piece = |text: &str| chunk(json!({"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}));
    let reply = play(&[[piece("a"), piece("b")].concat().as_bytes()]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("ab")], StopReason::End));
}

#[test]
fn a_stream_may_end_in_done_without_a_finish_reason_but_not_without_an_answer() {
    let reply = play(&[text("hi").as_bytes(), b"data: [DONE]\n\n"]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("hi")], StopReason::End));
    assert_eq!(play(&[b"data: [DONE]\n\n"]).reply, Err(ModelErrorKind::Server));
}

#[test]
fn a_call_beside_the_limit_does_not_look_complete() {
    let parts = json!([{"functionCall": {"name": "t", "args": {"a": 1}}}]);
    let stream = chunk(json!({"content": {"parts": parts}, "finishReason": "MAX_TOKENS"}));
    assert_eq!(play(&[stream.as_bytes()]).reply.unwrap().stop, StopReason::MaxTokens);
}

#[test]
fn an_answer_of_no_use_is_an_error_at_the_end() {
    let stream = [text("I will"), chunk(json!({"finishReason": "MALFORMED_FUNCTION_CALL"}))].concat();
    assert_eq!(play(&[stream.as_bytes()]).reply, Err(ModelErrorKind::Server));
}

#[test]
fn an_error_inside_the_stream_is_that_error() {
    let kind = |frame: &str| play(&[text("a").as_bytes(), frame.as_bytes()]).reply;
    use ModelErrorKind::*;
    assert_eq!(
        kind("data: {\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\"}}\n\n"),
        Err(RateLimit)
    );
    assert_eq!(
        kind("data: {\"error\":{\"code\":503,\"message\":\"m\",\"status\":\"UNAVAILABLE\"}}\n\n"),
        Err(Overloaded)
    );
    assert_eq!(kind("data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n"), Err(ContentFilter));
    assert_eq!(kind("data: {\"error\":null}\n\n"), Err(StreamCut));
}

#[test]
fn what_is_no_stream_is_a_server_error_and_never_a_panic() {
    assert_eq!(play(&[b"<!doctype html><p>hello"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: {\"candidates\":\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: \xff\xfe\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[]).reply, Err(ModelErrorKind::StreamCut));
}
