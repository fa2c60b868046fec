//! Streamed answers of Responses, cut in every way.

use crate::call;
use crate::played::{Outcome, play};
use mainpath_providers::{Codec, OpenAiResponses, Quirks};
use mainpath_testkit::model_server::Answer;
use mainpath_testkit::model_server::responses::{completed, events};
use mainpath_types::{ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

fn codec() -> OpenAiResponses {
    OpenAiResponses::new(Quirks::default(), "openai")
}

fn answer() -> Answer {
    Answer {
        thinking: "Zwölf Boxkämpfer, hm … 🦀".into(),
        signature: "gAAAAA==".into(),
        text: "Grüße \u{1F469}\u{200D}\u{1F680} mit \"Zitat\" und \\".into(),
        usage: Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 },
        ..Answer::default()
    }
    .and_call("look", json!({"at": "Straße 🛣\n"}))
    .and_call("stop", json!({}))
}

fn recorded() -> Vec<u8> {
    events(&answer()).concat().into_bytes()
}

fn whole() -> ModelReply {
    codec().decode_reply(completed(&answer()).to_string().as_bytes()).unwrap()
}

fn event(event: Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

fn played(events: &[Value]) -> Outcome {
    let stream: String = events.iter().cloned().map(event).collect();
    play(&codec(), &[stream.as_bytes()])
}

#[test]
fn a_stream_gives_the_same_answer_as_a_whole_response_and_its_deltas_add_up() {
    let reply = whole();
    let Part::Thinking { signature: Some(Signature { issuer, value }), .. } = &reply.parts[0] else { panic!() };
    // What the last event of the item has, not what the first one has.
    assert!(issuer == "openai" && value.contains(r#""encrypted_content":"gAAAAA==""#), "{value}");
    let Answer { text, thinking, calls, .. } = answer();
    assert_eq!(play(&codec(), &[&recorded()]), Outcome { reply: Ok(reply), text, thinking, calls });
}

#[test]
fn every_prefix_that_lacks_the_last_event_is_a_cut_stream() {
    let stream = recorded();
    for end in 0..stream.len() {
        assert_eq!(play(&codec(), &[&stream[..end]]).reply, Err(ModelErrorKind::StreamCut), "prefix of {end} bytes");
    }
}

#[test]
fn a_call_cut_by_the_limit_keeps_its_incomplete_text() {
    let cut = Answer { finish_reason: Some("max_output_tokens".into()), ..Answer::default() };
    let cut = Answer { calls: vec![("t".into(), "{\"a".into())], ..cut };
    let stream = events(&cut).concat();
    assert!(stream.contains("event: response.incomplete\n"));
    let reply = play(&codec(), &[stream.as_bytes()]).reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![call("t", "{\"a")], StopReason::MaxTokens));
}

#[test]
fn summary_parts_are_apart_and_refusals_are_text() {
    let thought = |part: u64, text: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": part, "delta": text});
    let summary = json!([{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]);
    let reasoning = json!({"type": "reasoning", "summary": summary});
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let outcome = played(&[
        thought(0, "o"),
        thought(0, "ne"),
        thought(1, "two"),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.refusal.delta", "output_index": 1, "delta": "No."}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": refusal}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
    ]);
    let thinking = Part::Thinking { text: "one\n\ntwo".into(), signature: None };
    let expected = ModelReply {
        parts: vec![thinking, Part::text("No.")],
        usage: None,
        stop: StopReason::ContentFilter,
        model: None,
    };
    assert_eq!(outcome.reply, Ok(expected));
    assert_eq!((outcome.thinking.as_str(), outcome.text.as_str()), ("one\n\ntwo", "No."));
}

#[test]
fn servers_that_send_less_are_understood() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}]});
    let called = json!({"type": "function_call", "name": "t", "arguments": "{}"});
    let completed = |output: Value| json!({"type": "response.completed", "response": {"output": output}});
    let expected = Outcome {
        reply: Ok(ModelReply {
            parts: vec![Part::text("hi"), call("t", "{}")],
            usage: None,
            stop: StopReason::ToolCalls,
            model: None,
        }),
        text: "hi".into(),
        thinking: String::new(),
        calls: vec![("t".into(), "{}".into())],
    };
    // Only the end.
    assert_eq!(played(&[completed(json!([message, called]))]), expected);
    // Whole items and an end without them.
    let done =
        |place: u64, item: &Value| json!({"type": "response.output_item.done", "output_index": place, "item": item});
    assert_eq!(played(&[done(0, &message), done(1, &called), completed(json!([]))]), expected);
    // Pieces without whole items and without places.
    let added = |item: Value| json!({"type": "response.output_item.added", "item": item});
    let pieces = [
        added(json!({"type": "message", "content": []})),
        json!({"type": "response.output_text.delta", "delta": "h"}),
        json!({"type": "response.output_text.delta", "delta": "i"}),
        added(json!({"type": "function_call", "name": "t", "arguments": ""})),
        json!({"type": "response.function_call_arguments.delta", "delta": "{}"}),
        completed(Value::Null),
    ];
    assert_eq!(played(&pieces), expected);
}

#[test]
fn events_and_items_of_kinds_that_nobody_asked_for_are_ignored() {
    let outcome = played(&[
        json!({"type": "response.queued", "response": 7}),
        json!({"type": "response.shell_call_output_content.delta", "output_index": 0, "delta": {"stdout": "x"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "brand_new", "content": 5}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "brand_new", "content": 5}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "hi"}),
        json!({"type": "response.completed", "response": {}}),
    ]);
    let reply = outcome.reply.unwrap();
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("hi")], StopReason::End));
}

#[test]
fn an_error_inside_the_stream_is_that_error() {
    use ModelErrorKind::*;
    let kind = |event: Value| played(&[event]).reply;
    let failed = |code: &str| json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "m"}}});
    assert_eq!(
        kind(json!({"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": null})),
        Err(RateLimit)
    );
    assert_eq!(
        kind(json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}})),
        Err(BadRequest)
    );
    assert_eq!(kind(json!({"type": "error", "code": null, "message": "m"})), Err(Server));
    assert_eq!(kind(failed("context_length_exceeded")), Err(Overflow));
    assert_eq!(kind(failed("server_error")), Err(Server));
    assert_eq!(kind(json!({"type": "response.failed", "response": {"error": null}})), Err(Server));
    let play = |text: &str| play(&codec(), &[text.as_bytes()]).reply;
    assert_eq!(play("data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n"), Err(RateLimit));
    assert_eq!(play("event: error\ndata: out of memory\n\n"), Err(Server));
}

#[test]
fn what_is_no_stream_is_a_server_error_and_never_a_panic() {
    let play = |bytes: &[u8]| play(&codec(), &[bytes]).reply;
    assert_eq!(play(b"<!doctype html><p>hello"), Err(ModelErrorKind::Server));
    assert_eq!(play(b"data: {\"type\":\n\n"), Err(ModelErrorKind::Server));
    assert_eq!(play(b"data: {\"choices\":[]}\n\n"), Err(ModelErrorKind::Server));
    assert_eq!(play(b"data: [DONE]\n\n"), Err(ModelErrorKind::Server));
    assert_eq!(play(b": only a comment\n\n"), Err(ModelErrorKind::StreamCut));
    assert_eq!(play(b""), Err(ModelErrorKind::StreamCut));
    let too_many: String = (0..5000)
        .map(|place| event(json!({"type": "response.output_text.delta", "output_index": place, "delta": "x"})))
        .collect();
    assert_eq!(play(too_many.as_bytes()), Err(ModelErrorKind::Server));
}

/// An event of any kind, at any place, with or without its fields.
fn any_event() -> impl Strategy<Value = Value> {
    let kinds = vec![
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.completed",
        "response.incomplete",
        "response.new_kind",
    ];
    let item = prop::sample::select(vec![
        json!({"type": "message", "phase": "commentary", "content": [{"type": "output_text", "text": "é"}]}),
        json!({"type": "message", "content": null}),
        json!({"type": "function_call", "name": "t", "arguments": "{\"a\":1}"}),
        json!({"type": "function_call"}),
        json!({"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        json!({"type": "new"}),
        json!({}),
    ]);
    let places = prop::option::of(prop::sample::select(vec![0, 1, 2, u64::MAX]));
    (prop::sample::select(kinds), places, 0u64..2, item).prop_map(|(kind, place, part, item)| {
        let mut event = json!({
            "type": kind, "summary_index": part, "delta": "ü", "item": item,
            "response": {"model": "m", "output": [item]},
        });
        if let Some(place) = place {
            event["output_index"] = json!(place);
        }
        event
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_in_any_order_give_an_answer_or_an_error_the_same_for_every_cut(
        events in prop::collection::vec(any_event(), 0..20),
        size in 1usize..50,
    ) {
        let stream: String = events.into_iter().map(event).collect();
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        prop_assert_eq!(play(&codec(), &pieces), play(&codec(), &[stream.as_bytes()]));
    }
}
