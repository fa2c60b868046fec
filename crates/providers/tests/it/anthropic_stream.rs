//! Streamed answers of the Messages API, cut in every way, and one over a real connection.

use crate::played::{self, Outcome};
use crate::{call, head, user};
use mainpath_providers::{Anthropic, Call, Codec, Endpoint, HttpClient, HttpProvider, Key, Provider, Quirks, encode};
use mainpath_testkit::model_server::{Answer, Behaviour, ModelServer, Reply, anthropic};
use mainpath_types::{ModelErrorKind, ModelReply, ModelRequest, Part, Signature, StopReason, Usage};
use serde_json::{Value, json};
use std::sync::Arc;

fn codec() -> Anthropic {
    Anthropic::new(Quirks::default(), "anthropic")
}

fn play(pieces: &[&[u8]]) -> Outcome {
    played::play(&codec(), pieces)
}

fn answer() -> Answer {
    Answer {
        thinking: "Zwölf Boxkämpfer, hm … 🦀 und mehr".into(),
        text: "Grüße \u{1F469}\u{200D}\u{1F680} und noch ein längerer Text mit \"Zitat\" und \\ am Ende".into(),
        usage: Usage { input: 100, output: 20, cache_read: 64, cache_write: 9, reasoning: 7 },
        ..Answer::default()
    }
    .and_call("look", json!({"at": "Straße 🛣\n und weiter und weiter"}))
    .and_call("stop", json!({}))
}

fn recorded() -> Vec<u8> {
    anthropic::events(&answer()).concat().into_bytes()
}

fn whole() -> ModelReply {
    codec().decode_reply(anthropic::message(&answer()).to_string().as_bytes()).unwrap()
}

fn frame(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn start(index: u64, block: Value) -> String {
    frame(json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn delta(index: u64, delta: Value) -> String {
    frame(json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn end(reason: &str) -> String {
    frame(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}))
        + &frame(json!({"type": "message_stop"}))
}

#[test]
fn a_stream_gives_the_same_answer_as_a_whole_response_and_its_deltas_add_up() {
    let outcome = play(&[&recorded()]);
    let Answer { text, thinking, calls, .. } = answer();
    assert_eq!(outcome, Outcome { reply: Ok(whole()), text, thinking: thinking.clone(), calls });
    let signature = Some(Signature { issuer: "anthropic".into(), value: anthropic::sign(&thinking) });
    assert_eq!(whole().parts[0], Part::Thinking { text: thinking, signature });
    assert_eq!(whole().usage, Some(answer().usage));
}

#[test]
fn every_prefix_that_lacks_the_stop_reason_is_a_cut_stream() {
    let stream = recorded();
    let text = String::from_utf8(stream.clone()).unwrap();
    let reason_at = text.find("event: message_delta").unwrap();
    let complete_from = reason_at + text[reason_at..].find("\n\n").unwrap() + 2;
    for end in 0..stream.len() {
        let expected = if end < complete_from { Err(ModelErrorKind::StreamCut) } else { Ok(whole()) };
        assert_eq!(play(&[&stream[..end]]).reply, expected, "prefix of {end} bytes");
    }
}

#[test]
fn events_blocks_and_deltas_that_are_not_known_are_ignored() {
    let stream = [
        frame(json!({"type": "event_of_tomorrow", "delta": "x", "message": 7})),
        frame(json!({"type": "message_start", "message": {"type": "message", "content": [], "model": "m"}})),
        frame(json!({"type": "ping"})),
        start(0, json!({"type": "block_of_tomorrow", "text": "no"})),
        delta(0, json!({"type": "text_delta", "text": "no"})),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "citations_delta", "citation": {"type": "c"}})),
        delta(1, json!({"type": "delta_of_tomorrow", "poem": "no"})),
        delta(1, json!({"type": "text_delta", "text": "yes"})),
        delta(9, json!({"type": "text_delta", "text": "no such block"})),
        end("end_turn"),
    ];
    let outcome = play(&[stream.concat().as_bytes()]);
    let reply = ModelReply {
        parts: vec![Part::text("yes")],
        usage: Some(Usage { output: 3, ..Usage::default() }),
        stop: StopReason::End,
        model: Some("m".into()),
    };
    assert_eq!(outcome, Outcome { reply: Ok(reply), text: "yes".into(), thinking: "".into(), calls: vec![] });
}

#[test]
fn later_counts_of_a_stream_replace_earlier_ones_and_unsaid_ones_stay() {
    let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1,
                       "output_tokens": 1});
    let stream = [
        frame(json!({"type": "message_start", "message": {"usage": usage}})),
        start(0, json!({"type": "text", "text": "x"})),
        frame(json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 4, "input_tokens": 6}})),
        end("end_turn"),
    ];
    let reply = play(&[stream.concat().as_bytes()]).reply.unwrap();
    let expected = Usage { input: 9, output: 3, cache_read: 2, cache_write: 1, reasoning: 0 };
    assert_eq!((reply.parts, reply.usage), (vec![Part::text("x")], Some(expected)));
}

#[test]
fn a_stream_may_end_without_a_stop_reason_but_not_without_an_answer() {
    let stop = frame(json!({"type": "message_stop"}));
    let reply = play(&[start(0, json!({"type": "text", "text": "hi"})).as_bytes(), stop.as_bytes()]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("hi")], StopReason::End));
    assert_eq!(play(&[stop.as_bytes()]).reply, Err(ModelErrorKind::Server));
}

#[test]
fn hidden_and_redacted_thinking_keeps_its_signature() {
    let stream = [
        start(0, json!({"type": "redacted_thinking", "data": "AAA="})),
        start(1, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(1, json!({"type": "signature_delta", "signature": "BBB="})),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "x"})),
        end("end_turn"),
    ];
    let signed = |value: &str| {
        let signature = Some(Signature { issuer: "anthropic".into(), value: value.into() });
        Part::Thinking { text: String::new(), signature }
    };
    let expected = [signed("redacted_thinking:AAA="), signed("BBB="), Part::text("x")];
    assert_eq!(play(&[stream.concat().as_bytes()]).reply.unwrap().parts, expected);
}

#[test]
fn a_call_cut_by_the_limit_keeps_its_incomplete_text() {
    let played = |pieces: &[&str], reason: &str| {
        let mut stream = start(0, json!({"type": "tool_use", "id": "a", "name": "t", "input": {}}));
        stream.extend(pieces.iter().map(|text| delta(0, json!({"type": "input_json_delta", "partial_json": text}))));
        let reply = play(&[(stream + &end(reason)).as_bytes()]).reply.unwrap();
        (reply.parts, reply.stop)
    };
    assert_eq!(played(&["", "{\"a", "\": 1"], "max_tokens"), (vec![call("t", "{\"a\": 1")], StopReason::MaxTokens));
    assert_eq!(played(&[], "model_context_window_exceeded"), (vec![call("t", "")], StopReason::MaxTokens));
    assert_eq!(played(&[], "tool_use"), (vec![call("t", "{}")], StopReason::ToolCalls));
}

#[test]
fn an_input_that_comes_whole_with_the_start_counts_unless_pieces_follow() {
    let played = |pieces: &[&str]| {
        let mut stream = start(0, json!({"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}}));
        stream.extend(pieces.iter().map(|text| delta(0, json!({"type": "input_json_delta", "partial_json": text}))));
        play(&[(stream + &end("tool_use")).as_bytes()]).reply.unwrap().parts
    };
    assert_eq!(played(&[]), [call("t", "{\"x\":1}")]);
    assert_eq!(played(&["{\"y\":", "2}"]), [call("t", "{\"y\":2}")]);
}

#[test]
fn an_error_inside_the_stream_is_that_error() {
    use ModelErrorKind::*;
    let kind = |kind: &str, message: &str| {
        let error = frame(json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}));
        let opening = start(0, json!({"type": "text", "text": "half"}));
        play(&[opening.as_bytes(), error.as_bytes()]).reply
    };
    assert_eq!(kind("overloaded_error", "Overloaded"), Err(Overloaded));
    assert_eq!(kind("rate_limit_error", "m"), Err(RateLimit));
    assert_eq!(kind("invalid_request_error", "m"), Err(BadRequest));
    assert_eq!(kind("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), Err(Overflow));
    assert_eq!(kind("timeout_error", "m"), Err(Timeout));
    assert_eq!(kind("permission_error", "m"), Err(Auth));
    assert_eq!(kind("api_error", "m"), Err(Server));
    assert_eq!(kind("error_of_tomorrow", "m"), Err(Server));
    assert_eq!(play(&[b"event: error\ndata: out of memory\n\n"]).reply, Err(Server));
    assert_eq!(play(&[b"event: error\ndata: {\"type\":\"error\"}\n\n"]).reply, Err(Server));
}

#[test]
fn what_is_no_stream_is_a_server_error_and_never_a_panic() {
    assert_eq!(play(&[b"<!doctype html><p>hello"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: {\"type\":\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: {\"choices\":[]}\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: {\"type\":\"message_start\",\"message\":7}\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[frame(json!({"type": "message_stop"})).as_bytes()]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[]).reply, Err(ModelErrorKind::StreamCut));
    let many: String = (0..5000).map(|index| start(index, json!({"type": "text", "text": "x"}))).collect();
    assert_eq!(play(&[many.as_bytes()]).reply, Err(ModelErrorKind::Server));
}

#[tokio::test]
async fn a_request_over_a_connection_keeps_the_rules_and_its_stream_is_read() {
    let rendered = Arc::new(anthropic::render(&answer(), true));
    let server = ModelServer::start(Behaviour::in_order(vec![Reply::Rendered(rendered, 0)]).unchecked()).unwrap();
    let mut endpoint = Endpoint::new(&format!("http://{}", server.addr())).unwrap();
    endpoint.key = Key::new("sk-ant-test");
    endpoint.headers = vec![("anthropic-version".into(), "2026-10-21".into())];
    let provider = HttpProvider::new(&HttpClient::new(), endpoint, Box::new(codec()));
    let request = ModelRequest { head: head(true), messages: vec![user(1, "go")] };
    let body = vec![encode(provider.codec(), &request).into()];
    let mut text = String::new();
    let mut deltas = |delta| {
        if let mainpath_types::Delta::Text { text: more } = delta {
            text.push_str(&more);
        }
    };
    let reply = provider.call(Call { body, head: &request.head, request: 1 }, &mut deltas).await;
    assert_eq!((reply, text), (Ok(whole()), answer().text));
    let [seen] = server.requests().try_into().unwrap();
    assert_eq!(anthropic::check(&seen.path, &seen.headers, seen.body()), Ok(()));
    assert_eq!(seen.header("authorization"), Some("Bearer sk-ant-test"));
}
