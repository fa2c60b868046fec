//! What Chat Completions requests and whole answers look like.

use crate::{assistant, call, head, result, user};
use mainpath_providers::{Codec, OpenAiChat, OutputLimit, Quirks, encode};
use mainpath_testkit::model_server::check_request;
use mainpath_types::{
    BlobHash, Message, ModelErrorKind, ModelReply, ModelRequest, Part, RequestHead, Role, Seq, Signature, Source,
    StopReason, Usage,
};
use serde_json::{Value, json};

fn body(request: &ModelRequest) -> Value {
    body_with(Quirks::default(), request)
}

fn body_with(quirks: Quirks, request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(&OpenAiChat::new(quirks, "me"), request)).unwrap()
}

fn elements(messages: Vec<Message>) -> Value {
    body(&ModelRequest { head: RequestHead { model: "m".into(), ..Default::default() }, messages })["messages"].take()
}

#[test]
fn a_whole_conversation_has_exactly_these_fields() {
    let signature = Some(Signature { issuer: "anthropic".into(), value: "OPAQUE".into() });
    let request = ModelRequest {
        head: head(true),
        messages: vec![
            user(1, "Look \"here\" – 🦀\n"),
            assistant(
                12,
                vec![
                    Part::Thinking { text: "secret thoughts".into(), signature },
                    Part::text("I look."),
                    call("look", r#"{"at": "a"}"#),
                    call("look", r#"{"at": "b"}"#),
                ],
            ),
            result(13, (12, 0), "A"),
            result(14, (12, 1), "B"),
            assistant(15, vec![Part::text("Seen.")]),
        ],
    };
    let expected = json!({
        "model": "m-1", "max_tokens": 99, "temperature": 0.7, "stream": true, "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "look", "description": "Looks.",
            "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
        }}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look \"here\" – 🦀\n"},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "call_12_0", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"a\"}"}},
                {"id": "call_12_1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"b\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_12_0", "content": "A"},
            {"role": "tool", "tool_call_id": "call_12_1", "content": "B"},
            {"role": "assistant", "content": "Seen."},
        ],
    });
    let body = body(&request);
    // 0.7 is a 32-bit number here; its shortest form is what is sent.
    assert_eq!(body, expected);
    assert_eq!(check_request(&body), Ok(()));
}

#[test]
fn what_is_not_set_is_not_sent() {
    let head = RequestHead { model: "m".into(), ..Default::default() };
    let request = ModelRequest { head, messages: vec![user(1, "hi")] };
    let expected = json!({"model": "m", "stream": false, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(body(&request), expected);
}

#[test]
fn quirks_choose_the_limits_field_and_switch_streaming_off() {
    let quirks = Quirks { output_limit: OutputLimit::MaxCompletionTokens, stream: false, ..Quirks::default() };
    let body = body_with(quirks, &ModelRequest { head: head(true), messages: vec![user(1, "hi")] });
    assert_eq!(body["max_completion_tokens"], 99);
    assert_eq!((body.get("max_tokens"), body.get("stream_options")), (None, None));
    assert_eq!(body["stream"], false);
}

#[test]
fn a_body_without_messages_is_still_json() {
    let request = ModelRequest { head: head(false), messages: Vec::new() };
    assert_eq!(body(&request)["messages"], json!([{"role": "system", "content": "Be brief."}]));
    assert_eq!(elements(Vec::new()), json!([]));
}

#[test]
fn arguments_that_are_no_object_are_wrapped_so_that_servers_accept_the_turn() {
    let sent = |arguments: &str| {
        let mut messages = elements(vec![assistant(1, vec![call("t", arguments)])]);
        messages[0]["tool_calls"][0]["function"]["arguments"].take().as_str().unwrap().to_owned()
    };
    assert_eq!(sent("{ \"a\" : 1 }\n"), "{ \"a\" : 1 }\n");
    assert_eq!(sent(""), "{}");
    assert_eq!(sent(" \n"), "{}");
    assert_eq!(sent("{\"a\": \"cut"), r#"{"unparsed_arguments":"{\"a\": \"cut"}"#);
    assert_eq!(sent("[1]"), r#"{"unparsed_arguments":"[1]"}"#);
    assert_eq!(sent("null"), r#"{"unparsed_arguments":"null"}"#);
    assert_eq!(sent("{} {}"), r#"{"unparsed_arguments":"{} {}"}"#);
    assert_eq!(sent(r#"{"a":"\ud800"}"#), r#"{"unparsed_arguments":"{\"a\":\"\\ud800\"}"}"#);
}

#[test]
fn a_tool_name_that_a_model_invented_cannot_make_servers_refuse_the_conversation() {
    let sent = |name: &str| {
        let mut messages = elements(vec![assistant(1, vec![call(name, "{}")])]);
        messages[0]["tool_calls"][0]["function"]["name"].take().as_str().unwrap().to_owned()
    };
    assert_eq!(sent("read_text-file9"), "read_text-file9");
    assert_eq!(sent("functions.bash <x>ü"), "functions_bash__x__");
    assert_eq!(sent(""), "_");
    assert_eq!(sent(&"é".repeat(70)), "_".repeat(64));
}

#[test]
fn an_assistant_message_without_text_has_null_beside_calls_and_empty_text_otherwise() {
    let thinking = Part::Thinking { text: "hm".into(), signature: None };
    let messages = elements(vec![assistant(1, vec![thinking]), assistant(2, vec![call("t", "{}")])]);
    assert_eq!(messages[0], json!({"role": "assistant", "content": ""}));
    assert_eq!(messages[1]["content"], Value::Null);
}

#[test]
fn content_parts_are_sent_where_the_format_has_a_place_and_named_where_not() {
    let base64 = |media_type: &str| Source::Base64 { data: "QUJD".into(), media_type: media_type.into() };
    let hash: BlobHash = "ab".repeat(32).try_into().unwrap();
    let parts = vec![
        Part::text("see"),
        Part::text(""),
        Part::Image { source: base64("image/png") },
        Part::Image { source: Source::Url { url: "https://x/y.png".into() } },
        Part::Image { source: Source::Blob { hash, media_type: "image/webp".into() } },
        Part::Audio { source: base64("audio/mpeg") },
        Part::Audio { source: base64("audio/x-wav") },
        Part::Audio { source: base64("audio/ogg") },
        Part::Document { source: base64("application/pdf"), name: Some("a.pdf".into()), pages: None },
        Part::Document { source: Source::Url { url: "https://x/a.pdf".into() }, name: None, pages: None },
    ];
    let mut tool = result(3, (2, 0), "out");
    if let Part::ToolResult { content, .. } = &mut tool.parts[0] {
        content.push(Part::Image { source: base64("image/png") });
    }
    let messages =
        vec![Message { seq: Some(Seq(1)), role: Role::User, parts }, assistant(2, vec![call("t", "{}")]), tool];
    let messages = elements(messages);
    let expected = json!([
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "text", "text": "[image not shown here: image/webp]"},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
        {"type": "text", "text": "[audio not shown here: audio/ogg]"},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
        {"type": "text", "text": "[document not shown here: https://x/a.pdf]"},
    ]);
    assert_eq!(messages[0]["content"], expected);
    assert_eq!(messages[2]["content"], "out\n[image not shown here: image/png]");
    assert_eq!(check_request(&json!({"model": "m", "messages": messages})), Ok(()));
}

#[test]
fn a_tool_message_without_a_result_does_not_break_the_array() {
    let odd = Message { seq: None, role: Role::Tool, parts: Vec::new() };
    let expected =
        json!([{"role": "user", "content": "a"}, {"role": "user", "content": ""}, {"role": "user", "content": "b"}]);
    assert_eq!(elements(vec![user(1, "a"), odd, user(2, "b")]), expected);
}

#[test]
fn a_whole_answer_is_read_with_thinking_calls_and_usage() {
    let body = json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "m-1-2026",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": null, "message": {
            "role": "assistant", "content": "I look.", "refusal": null, "reasoning_content": "hm",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"é\"}"}},
                {"id": "b", "type": "function", "function": {"name": "stop", "arguments": ""}},
                {"id": "c", "type": "function", "function": {"name": "odd", "arguments": {"an": "object"}}},
            ],
        }}],
        "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 7},
        },
    });
    let reply = OpenAiChat::default().decode_reply(body.to_string().as_bytes());
    let expected = ModelReply {
        parts: vec![
            Part::Thinking { text: "hm".into(), signature: None },
            Part::text("I look."),
            call("look", "{\"at\": \"é\"}"),
            call("stop", "{}"),
            call("odd", "{\"an\":\"object\"}"),
        ],
        usage: Some(Usage { input: 100, output: 20, cache_read: 64, cache_write: 8, reasoning: 7 }),
        stop: StopReason::ToolCalls,
        model: Some("m-1-2026".into()),
    };
    assert_eq!(reply, Ok(expected));
}

#[test]
fn finish_reasons_become_stop_reasons_and_calls_win_over_stop() {
    let stop = |reason: Value, calls: bool| {
        let calls = if calls { json!([{"function": {"name": "t", "arguments": "{}"}}]) } else { Value::Null };
        let body = json!({"choices": [{"finish_reason": reason, "message": {"content": "x", "tool_calls": calls}}]});
        let reply = OpenAiChat::default().decode_reply(body.to_string().as_bytes()).unwrap();
        assert_eq!((reply.usage, reply.model), (None, None));
        reply.stop
    };
    assert_eq!(stop(json!("stop"), false), StopReason::End);
    assert_eq!(stop(json!("stop"), true), StopReason::ToolCalls);
    assert_eq!(stop(json!("tool_calls"), true), StopReason::ToolCalls);
    assert_eq!(stop(json!("tool_calls"), false), StopReason::End);
    assert_eq!(stop(json!("length"), true), StopReason::MaxTokens);
    assert_eq!(stop(json!("content_filter"), false), StopReason::ContentFilter);
    assert_eq!(stop(json!("eos"), false), StopReason::End);
    assert_eq!(stop(Value::Null, true), StopReason::ToolCalls);
}

#[test]
fn a_call_that_the_limit_cut_keeps_its_text_and_does_not_look_complete() {
    let reply = |arguments: &str| {
        let call = json!({"id": "a", "type": "function", "function": {"name": "t", "arguments": arguments}});
        let body = json!({"choices": [{"index": 0, "finish_reason": "length", "message": {"tool_calls": [call]}}]});
        OpenAiChat::default().decode_reply(body.to_string().as_bytes()).unwrap()
    };
    let expected = |arguments: &str| ModelReply {
        parts: vec![call("t", arguments)],
        usage: None,
        stop: StopReason::MaxTokens,
        model: None,
    };
    assert_eq!(reply("{\"a\": 1"), expected("{\"a\": 1"));
    assert_eq!(reply(""), expected(""));
}

#[test]
fn other_servers_ways_of_saying_it_are_read_too() {
    let message = |message: Value| {
        let body = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                          "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}});
        OpenAiChat::default().decode_reply(body.to_string().as_bytes()).unwrap()
    };
    let thought = |text: &str| Part::Thinking { text: text.into(), signature: None };
    assert_eq!(message(json!({"content": "a", "reasoning": "r"})).parts, [thought("r"), Part::text("a")]);
    assert_eq!(message(json!({"content": "a", "reasoning": "r", "reasoning_content": "r"})).parts[0], thought("r"));
    let parts =
        json!([{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    assert_eq!(message(json!({"content": parts})).parts, [Part::text("ab")]);
    assert_eq!(message(json!({"content": null, "refusal": "no"})).parts, [Part::text("no")]);
    assert_eq!(message(json!({"content": ""})).usage.unwrap().cache_read, 4);
}

#[test]
fn a_success_that_is_no_answer_is_a_server_error_that_shows_what_came() {
    for body in
        ["<html>\nhi</html>", "", "{}", r#"{"choices":[]}"#, r#"{"choices":[{"index":0}]}"#, "[1]", "{\"choices\":"]
    {
        let error = OpenAiChat::default().decode_reply(body.as_bytes()).unwrap_err();
        assert_eq!((error.kind, error.status), (ModelErrorKind::Server, None), "{body}");
        let start = "the server answered with something that is not a chat completion: ";
        assert!(error.message.starts_with(start) && !error.message.contains('\n'), "{}", error.message);
    }
    let error = OpenAiChat::default().decode_reply(b"<html>").unwrap_err();
    let expected = "the server answered with something that is not a chat completion: \"<html>\"; is the base URL right (it often ends in /v1)?";
    assert_eq!(error.message, expected);
}
