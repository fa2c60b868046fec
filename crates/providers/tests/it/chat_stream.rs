//! Streamed answers of Chat Completions, cut in every way.

use crate::call;
use crate::played::{self, Outcome};
use mainpath_providers::{Codec, OpenAiChat};
use mainpath_testkit::model_server::{Answer, completion, events};
use mainpath_types::{ModelErrorKind, ModelReply, Part, StopReason, Usage};
use serde_json::{Value, json};

fn play(pieces: &[&[u8]]) -> Outcome {
    played::play(&OpenAiChat::default(), pieces)
}

fn answer() -> Answer {
    Answer {
        thinking: "Zwölf Boxkämpfer, hm … 🦀 und mehr".into(),
        text: "Grüße \u{1F469}\u{200D}\u{1F680} und noch ein längerer Text mit \"Zitat\" und \\ am Ende".into(),
        usage: Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 },
        ..Answer::default()
    }
    .and_call("look", json!({"at": "Straße 🛣\n und weiter und weiter"}))
    .and_call("stop", json!({}))
}

fn recorded() -> Vec<u8> {
    events(&answer()).concat().into_bytes()
}

fn chunk(choice: Value) -> String {
    format!("data: {}\n\n", json!({"choices": [choice]}))
}

fn whole() -> ModelReply {
    OpenAiChat::default().decode_reply(completion(&answer()).to_string().as_bytes()).unwrap()
}

#[test]
fn a_stream_gives_the_same_answer_as_a_whole_response_and_its_deltas_add_up() {
    let outcome = play(&[&recorded()]);
    let Answer { text, thinking, calls, .. } = answer();
    assert_eq!(outcome, Outcome { reply: Ok(whole()), text, thinking, calls });
}

#[test]
fn every_prefix_that_lacks_the_finish_reason_is_a_cut_stream() {
    let stream = recorded();
    let text = String::from_utf8(stream.clone()).unwrap();
    let reason_at = text.find("\"finish_reason\":\"tool_calls\"").unwrap();
    let complete_from = reason_at + text[reason_at..].find("\n\n").unwrap() + 2;
    for end in 0..stream.len() {
        let reply = play(&[&stream[..end]]).reply;
        if end < complete_from {
            assert_eq!(reply, Err(ModelErrorKind::StreamCut), "prefix of {end} bytes");
        } else {
            // Complete; only the usage, which comes last, may be missing.
            let reply = reply.unwrap();
            assert_eq!((reply.parts, reply.stop), (whole().parts, StopReason::ToolCalls), "prefix of {end} bytes");
        }
    }
}

#[test]
fn a_stream_may_end_in_done_without_a_finish_reason_but_not_without_an_answer() {
    let text = chunk(json!({"index": 0, "delta": {"content": "hi"}}));
    let reply = play(&[text.as_bytes(), b"data: [DONE]\n\n"]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("hi")], StopReason::End));
    assert_eq!(play(&[b"data: [DONE]\n\n"]).reply, Err(ModelErrorKind::Server));
}

#[test]
fn a_call_cut_by_the_limit_keeps_its_incomplete_text() {
    let stream = [
        chunk(
            json!({"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": "{\"a"}}]}}),
        ),
        chunk(json!({"index": 0, "delta": {}, "finish_reason": "length"})),
        "data: [DONE]\n\n".into(),
    ];
    let reply = play(&[stream.concat().as_bytes()]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![call("t", "{\"a")], StopReason::MaxTokens));
}

#[test]
fn calls_are_told_apart_by_index_by_id_or_by_name() {
    let played = |calls: &[Value]| {
        let mut stream: String = calls.iter().map(|call| chunk(json!({"delta": {"tool_calls": [call]}}))).collect();
        stream += &chunk(json!({"delta": {}, "finish_reason": "stop"}));
        play(&[stream.as_bytes()]).reply.unwrap().parts
    };
    let expected = [call("a", "{\"x\":1}"), call("b", "{\"y\":2}")];
    let by_index = [
        json!({"index": 1, "id": "p", "function": {"name": "a", "arguments": "{\"x\""}}),
        json!({"index": 7, "id": "q", "function": {"name": "b"}}),
        json!({"index": 1, "function": {"arguments": ":1}"}}),
        json!({"index": 7, "function": {"arguments": "{\"y\":2}"}}),
    ];
    assert_eq!(played(&by_index), expected);
    let all_index_zero = [
        json!({"index": 0, "id": "p", "function": {"name": "a", "arguments": "{\"x\":1}"}}),
        json!({"index": 0, "id": "q", "function": {"name": "b", "arguments": "{\"y\":"}}),
        json!({"index": 0, "id": "q", "function": {"arguments": "2}"}}),
    ];
    assert_eq!(played(&all_index_zero), expected);
    let no_index = [
        json!({"id": "p", "function": {"name": "a", "arguments": "{\"x\":1}"}}),
        json!({"id": "q", "function": {"name": "b", "arguments": "{\"y\":2}"}}),
    ];
    assert_eq!(played(&no_index), expected);
    let only_names = [
        json!({"function": {"name": "a", "arguments": {"x": 1}}}),
        json!({"function": {"name": "b", "arguments": {"y": 2}}}),
    ];
    assert_eq!(played(&only_names), expected);
}

#[test]
fn only_the_first_choice_counts() {
    let stream = [
        chunk(json!({"index": 0, "delta": {"content": "yes"}})),
        chunk(json!({"index": 1, "delta": {"content": "no"}, "finish_reason": "length"})),
        chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"})),
    ];
    let reply = play(&[stream.concat().as_bytes()]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("yes")], StopReason::End));
}

#[test]
fn an_error_inside_the_stream_is_that_error() {
    let kind = |frame: &str| play(&[frame.as_bytes()]).reply;
    use ModelErrorKind::*;
    assert_eq!(kind("data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n"), Err(RateLimit));
    assert_eq!(kind("data: {\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}\n\n"), Err(Overflow));
    assert_eq!(kind("data: {\"error\":\"out of memory\"}\n\n"), Err(Server));
    assert_eq!(kind("event: error\ndata: out of memory\n\n"), Err(Server));
    assert_eq!(kind("data: {\"error\":null,\"choices\":[]}\n\n"), Err(StreamCut));
}

#[test]
fn what_is_no_stream_is_a_server_error_and_never_a_panic() {
    assert_eq!(play(&[b"<!doctype html><p>hello"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: {\"choices\":\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b"data: \xff\xfe\n\n"]).reply, Err(ModelErrorKind::Server));
    assert_eq!(play(&[b": only a comment\n\n"]).reply, Err(ModelErrorKind::StreamCut));
    assert_eq!(play(&[]).reply, Err(ModelErrorKind::StreamCut));
}
