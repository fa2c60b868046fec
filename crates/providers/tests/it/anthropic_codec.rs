//! What requests of the Messages API and whole answers look like.

use crate::{assistant, call, head, result, user};
use mainpath_providers::{Anthropic, Codec, Endpoint, KeyHeader, Quirks, encode};
use mainpath_testkit::model_server::anthropic::{check_body, sign};
use mainpath_types::{
    BlobHash, CallId, Effort, Message, ModelErrorKind, ModelReply, ModelRequest, Part, RequestHead, Role, Seq,
    Signature, Source, StopReason, Usage,
};
use serde_json::{Value, json};

const ISSUER: &str = "anthropic";

fn codec(quirks: Quirks) -> Anthropic {
    Anthropic::new(quirks, ISSUER)
}

fn vendor() -> Quirks {
    Quirks { cache_marks: true, output_schema: true, ..Quirks::default() }
}

fn body_with(quirks: Quirks, request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(&codec(quirks), request)).unwrap()
}

fn elements(messages: Vec<Message>) -> Value {
    let head = RequestHead { model: "m".into(), ..Default::default() };
    body_with(Quirks::default(), &ModelRequest { head, messages })["messages"].take()
}

fn thinking(text: &str, issuer: &str, value: &str) -> Part {
    let signature = Some(Signature { issuer: issuer.into(), value: value.into() });
    Part::Thinking { text: text.into(), signature }
}

fn reply(body: &Value) -> ModelReply {
    codec(Quirks::default()).decode_reply(body.to_string().as_bytes()).unwrap()
}

#[test]
fn a_whole_conversation_has_exactly_these_fields() {
    let thought = "Where to look – 🦀?";
    let mut failed = result(14, (12, 1), "no such place");
    if let Part::ToolResult { is_error, .. } = &mut failed.parts[0] {
        *is_error = true;
    }
    let request = ModelRequest {
        head: RequestHead { effort: Some(Effort::Medium), ..head(true) },
        messages: vec![
            user(1, "Look \"here\"\n"),
            assistant(
                12,
                vec![
                    thinking(thought, ISSUER, &sign(thought)),
                    Part::text("I look."),
                    call("look", r#"{"at": "a"}"#),
                    call("look", r#"{"at": "b"}"#),
                ],
            ),
            result(13, (12, 0), "A"),
            failed,
            user(15, "Well?"),
            assistant(16, vec![Part::text("Seen.")]),
            user(17, "Thanks."),
        ],
    };
    let expected = json!({
        "model": "m-1", "max_tokens": 99, "stream": true, "cache_control": {"type": "ephemeral"},
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "medium"},
        "tools": [{
            "name": "look", "description": "Looks.",
            "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
            "cache_control": {"type": "ephemeral"},
        }],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look \"here\"\n"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": thought, "signature": sign(thought)},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_12_0", "name": "look", "input": {"at": "a"}},
                {"type": "tool_use", "id": "call_12_1", "name": "look", "input": {"at": "b"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_12_0", "content": [{"type": "text", "text": "A"}]},
                {"type": "tool_result", "tool_use_id": "call_12_1", "is_error": true,
                 "content": [{"type": "text", "text": "no such place"}]},
            ]},
            {"role": "user", "content": [{"type": "text", "text": "Well?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Seen."}]},
            {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
        ],
    });
    let body = body_with(vendor(), &request);
    assert_eq!(body, expected);
    assert_eq!(check_body(&body), Ok(()));
}

#[test]
fn what_is_not_set_is_not_sent_but_the_limit_always_is() {
    let head = RequestHead { model: "m".into(), system: " \n".into(), temperature: Some(0.5), ..Default::default() };
    let request = ModelRequest { head, messages: vec![user(1, "hi")] };
    let expected = json!({
        "model": "m", "max_tokens": 8192, "stream": false,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    });
    assert_eq!(body_with(Quirks::default(), &request), expected);
    let quirks = Quirks { default_output: 77, stream: false, ..Quirks::default() };
    let body =
        body_with(quirks, &ModelRequest { head: RequestHead { max_output: None, ..self::head(true) }, ..request });
    assert_eq!(
        (&body["max_tokens"], &body["stream"], &body["system"]),
        (&json!(77), &json!(false), &json!("Be brief."))
    );
}

#[test]
fn at_most_three_cache_marks_are_sent_and_none_in_a_message() {
    let tool = |name: &str| mainpath_types::ToolSpec { name: name.into(), ..head(true).tools[0].clone() };
    let head = RequestHead { tools: vec![tool("a"), tool("b"), tool("c")], ..head(true) };
    let request = ModelRequest { head, messages: (1..30).map(|seq| user(seq, "hi")).collect() };
    let body = body_with(vendor(), &request);
    let marked: Vec<bool> =
        body["tools"].as_array().unwrap().iter().map(|t| t.get("cache_control").is_some()).collect();
    assert_eq!(marked, [false, false, true]);
    assert_eq!(body.to_string().matches("cache_control").count(), 3);
    assert!(!body["messages"].to_string().contains("cache_control"));
}

#[test]
fn an_output_schema_is_sent_where_the_server_holds_to_it_and_it_can_be_put_that_way() {
    let sent = |quirks: Quirks, schema: Value| {
        let head = RequestHead { output_schema: Some(schema), ..head(true) };
        body_with(quirks, &ModelRequest { head, messages: vec![user(1, "hi")] })["output_config"].take()
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let strict = json!({
        "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false,
    });
    assert_eq!(sent(vendor(), schema.clone()), json!({"format": {"type": "json_schema", "schema": strict}}));
    assert_eq!(sent(Quirks::default(), schema), Value::Null);
    assert_eq!(sent(vendor(), json!({"type": "object"})), Value::Null);
}

#[test]
fn thinking_comes_back_as_it_was_made_and_where_it_stood() {
    let text = "a \"thought\"\n\u{1F469}\u{200D}\u{1F680} \\ end ";
    let made = json!([
        {"type": "thinking", "thinking": text, "signature": "EqQB+/=="},
        {"type": "redacted_thinking", "data": "Emw/+=="},
        {"type": "thinking", "thinking": "", "signature": "hidden=="},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
        {"type": "thinking", "thinking": "between", "signature": "b=="},
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"at": "b"}},
    ]);
    let answer = json!({"type": "message", "role": "assistant", "model": "m", "content": made, "stop_reason": "tool_use",
                        "usage": {"input_tokens": 1, "output_tokens": 1}});
    let parts = reply(&answer).parts;
    let expected = [
        thinking(text, ISSUER, "EqQB+/=="),
        thinking("", ISSUER, "redacted_thinking:Emw/+=="),
        thinking("", ISSUER, "hidden=="),
        Part::text("I look."),
        call("look", "{}"),
        thinking("between", ISSUER, "b=="),
        call("look", "{\"at\":\"b\"}"),
    ];
    assert_eq!(parts, expected);
    let mut sent = elements(vec![user(1, "go"), assistant(2, parts)])[1]["content"].take();
    sent[4]["id"] = json!("toolu_1");
    sent[6]["id"] = json!("toolu_2");
    assert_eq!(sent, made);
}

#[test]
fn thinking_of_others_and_thinking_without_a_signature_is_never_sent() {
    let parts = vec![
        thinking("theirs", "gemini", "OPAQUE"),
        thinking("same format, other server", "anthropic-compatible@127.0.0.1:1", "OPAQUE"),
        thinking("blank", ISSUER, ""),
        Part::Thinking { text: "unsigned".into(), signature: None },
        Part::ToolCall {
            name: "t".into(),
            arguments: "{}".into(),
            signature: Some(Signature { issuer: "gemini".into(), value: "OPAQUE".into() }),
        },
    ];
    let sent = elements(vec![user(1, "go"), assistant(2, parts)]);
    let expected = json!([{"type": "tool_use", "id": "call_2_0", "name": "t", "input": {}}]);
    assert_eq!(sent[1]["content"], expected);
}

#[test]
fn a_message_does_not_end_in_thinking_and_never_is_empty() {
    let own = || thinking("t", ISSUER, "s");
    let sent = elements(vec![
        user(1, ""),
        assistant(2, vec![own()]),
        user(3, " \n"),
        assistant(4, vec![own(), Part::text("said"), own(), own()]),
        assistant(5, vec![Part::text(""), Part::text("x"), Part::text(" ")]),
        Message { seq: None, role: Role::User, parts: vec![own(), call("t", "{}")] },
        Message { seq: None, role: Role::Tool, parts: vec![] },
    ]);
    let text = |text: &str| json!({"type": "text", "text": text});
    let expected = json!([
        {"role": "user", "content": [text("[empty]")]},
        {"role": "assistant", "content": [text("[empty]")]},
        {"role": "user", "content": [text("[empty]")]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, text("said")]},
        {"role": "assistant", "content": [text("x")]},
        {"role": "user", "content": [text("[empty]")]},
        {"role": "user", "content": [text("[empty]")]},
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn text_after_a_call_goes_before_the_first_call_and_calls_keep_their_numbers() {
    let parts = vec![Part::text("a"), call("x", "{}"), Part::text("b"), call("y", "{}"), Part::text("c")];
    let sent = elements(vec![user(1, "go"), assistant(7, parts)]);
    let expected = json!([
        {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": "c"},
        {"type": "tool_use", "id": "call_7_0", "name": "x", "input": {}},
        {"type": "tool_use", "id": "call_7_1", "name": "y", "input": {}},
    ]);
    assert_eq!(sent[1]["content"], expected);
}

#[test]
fn a_conversation_that_begins_with_an_assistant_message_gets_a_user_message_before_it() {
    let sent = elements(vec![assistant(7, vec![Part::text("a")]), user(8, "b")]);
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "[earlier messages are not shown]"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": [{"type": "text", "text": "b"}]},
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn arguments_are_always_an_object_that_every_parser_reads() {
    let sent = |arguments: &str| {
        elements(vec![user(1, "go"), assistant(2, vec![call("t", arguments)])])[1]["content"][0]["input"].take()
    };
    let wrapped = |arguments: &str| json!({"unparsed_arguments": arguments});
    assert_eq!(sent("{ \"a\" : 1 }\n"), json!({"a": 1}));
    assert_eq!(sent(" \n"), json!({}));
    for odd in ["{\"a\": \"cut", "[1]", "null", "{} {}", "{\"a\": \"\\ud800\"}", "{\"a\": 1e999}"] {
        assert_eq!(sent(odd), wrapped(odd));
    }
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(500), "]".repeat(500));
    assert_eq!(sent(&deep), wrapped(&deep));
}

#[test]
fn content_parts_are_sent_where_the_format_has_a_place_and_named_where_not() {
    let base64 = |media_type: &str| Source::Base64 { data: "QUJD".into(), media_type: media_type.into() };
    let hash: BlobHash = "ab".repeat(32).try_into().unwrap();
    let document =
        |source: Source, name: Option<&str>| Part::Document { source, name: name.map(str::to_owned), pages: None };
    let parts = vec![
        Part::text("see"),
        Part::Image { source: base64("image/png") },
        Part::Image { source: base64("image/JPG") },
        Part::Image { source: base64("image/tiff") },
        Part::Image { source: Source::Url { url: "https://x/y.png".into() } },
        Part::Image { source: Source::Blob { hash, media_type: "image/webp".into() } },
        Part::Audio { source: base64("audio/mpeg") },
        document(base64("application/pdf"), Some("a.pdf")),
        document(base64("text/markdown"), Some(" ")),
        document(base64("application/zip"), None),
        document(Source::Url { url: "https://x/a.pdf".into() }, None),
    ];
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = |source: Value| json!({"type": "image", "source": source});
    let shown = json!([
        text("see"),
        image(json!({"type": "base64", "media_type": "image/png", "data": "QUJD"})),
        image(json!({"type": "base64", "media_type": "image/jpeg", "data": "QUJD"})),
        text("[image not shown here: image/tiff]"),
        image(json!({"type": "url", "url": "https://x/y.png"})),
        text("[image not shown here: image/webp]"),
        text("[audio not shown here: audio/mpeg]"),
        {"type": "document", "title": "a.pdf",
         "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ABC"}},
        text("[document not shown here: application/zip]"),
        {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}},
    ]);
    let answered = |index: u16, is_error: bool| Message {
        seq: Some(Seq(3)),
        role: Role::Tool,
        parts: vec![Part::ToolResult {
            call: CallId { seq: Seq(2), index },
            name: "t".into(),
            content: parts.clone(),
            is_error,
        }],
    };
    let messages = vec![
        Message { seq: Some(Seq(1)), role: Role::User, parts: parts.clone() },
        assistant(2, vec![parts[1].clone(), parts[7].clone(), call("t", "{}"), call("t", "{}")]),
        answered(0, false),
        answered(1, true),
    ];
    let request = ModelRequest { head: RequestHead { model: "m".into(), ..Default::default() }, messages };
    let body = body_with(Quirks::default(), &request);
    assert_eq!(body["messages"][0]["content"], shown);
    let said = [text("[image not shown here: image/png]"), text("[document not shown here: application/pdf]")];
    assert_eq!(body["messages"][1]["content"].as_array().unwrap()[..2], said);
    assert_eq!(body["messages"][2]["content"][0]["content"], shown);
    let failed = body["messages"][2]["content"][1]["content"].as_array().unwrap();
    assert_eq!((failed.len(), failed.iter().all(|block| block["type"] == "text")), (11, true));
    assert_eq!(check_body(&body), Ok(()));
}

#[test]
fn a_result_may_be_empty_unless_it_failed() {
    let answered = |index: u16, is_error: bool| Message {
        seq: None,
        role: Role::Tool,
        parts: vec![Part::ToolResult {
            call: CallId { seq: Seq(2), index },
            name: "t".into(),
            content: vec![Part::text("")],
            is_error,
        }],
    };
    let calls = assistant(2, vec![call("t", "{}"), call("t", "{}")]);
    let sent = elements(vec![user(1, "go"), calls, answered(0, false), answered(1, true)]);
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "call_2_0"},
        {"type": "tool_result", "tool_use_id": "call_2_1", "content": [{"type": "text", "text": "[empty]"}],
         "is_error": true},
    ]);
    assert_eq!(sent[2]["content"], expected);
}

#[test]
fn the_key_is_a_bearer_and_the_base_is_what_the_vendors_package_is_given() {
    let endpoint = Endpoint::new("https://api.anthropic.com").unwrap();
    let route = codec(Quirks::default()).route(&endpoint, &head(true));
    assert_eq!(route.url, "https://api.anthropic.com/v1/messages");
    assert_eq!((route.headers, route.key), (vec![], KeyHeader { name: "authorization", prefix: "Bearer " }));
}

#[test]
fn a_whole_answer_is_read_with_calls_and_usage() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-2026", "stop_reason": "tool_use",
        "stop_sequence": null, "container": null,
        "content": [
            {"type": "text", "text": "I ", "citations": null},
            {"type": "text", "text": "look.", "citations": []},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
            {"type": "kind_of_tomorrow", "text": 7, "name": ["x"]},
            {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "é"}},
            {"type": "tool_use", "id": "b", "name": "stop", "input": {}},
        ],
        "usage": {
            "input_tokens": 100, "cache_creation_input_tokens": 8, "cache_read_input_tokens": 64, "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 7}, "service_tier": "standard", "server_tool_use": null,
        },
    });
    let expected = ModelReply {
        parts: vec![Part::text("I "), Part::text("look."), call("look", "{\"at\":\"é\"}"), call("stop", "{}")],
        usage: Some(Usage { input: 172, output: 20, cache_read: 64, cache_write: 8, reasoning: 7 }),
        stop: StopReason::ToolCalls,
        model: Some("claude-x-2026".into()),
    };
    assert_eq!(reply(&body), expected);
}

#[test]
fn every_stop_reason_has_a_meaning() {
    let stop = |reason: Value, calls: bool| {
        let mut content = vec![json!({"type": "text", "text": "x"})];
        if calls {
            content.push(json!({"type": "tool_use", "id": "a", "name": "t", "input": {}}));
        }
        let reply = reply(&json!({"type": "message", "content": content, "stop_reason": reason}));
        assert_eq!((reply.usage, reply.model), (None, None));
        reply.stop
    };
    use StopReason::*;
    for reason in ["end_turn", "stop_sequence", "tool_use", "of_tomorrow"] {
        assert_eq!((stop(json!(reason), false), stop(json!(reason), true)), (End, ToolCalls), "{reason}");
    }
    assert_eq!((stop(json!("pause_turn"), false), stop(json!("pause_turn"), true)), (MaxTokens, ToolCalls));
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        assert_eq!((stop(json!(reason), false), stop(json!(reason), true)), (MaxTokens, MaxTokens), "{reason}");
    }
    assert_eq!(stop(json!("refusal"), true), ContentFilter);
    assert_eq!(stop(Value::Null, true), ToolCalls);
}

#[test]
fn a_call_that_the_limit_cut_does_not_look_complete_in_a_whole_answer() {
    let cut = |input: Value| {
        let call = |name: &str, input: &Value| json!({"type": "tool_use", "id": name, "name": name, "input": input});
        let content = json!([call("a", &json!({"x": 1})), call("b", &input)]);
        reply(&json!({"type": "message", "content": content, "stop_reason": "max_tokens"}))
    };
    assert_eq!(cut(json!({"y": "half"})).parts, [call("a", "{\"x\":1}"), call("b", "{\"y\":\"half\"")]);
    assert_eq!(cut(json!({})).parts, [call("a", "{\"x\":1}"), call("b", "")]);
}

#[test]
fn a_success_that_is_no_answer_is_a_server_error_that_shows_what_came() {
    let failed = |body: &[u8]| codec(Quirks::default()).decode_reply(body).unwrap_err();
    for body in ["<html>\nhi</html>", "", "{}", r#"{"type":"completion"}"#, "[1]", "{\"content\":"] {
        let error = failed(body.as_bytes());
        assert_eq!((error.kind, error.status), (ModelErrorKind::Server, None), "{body}");
        let start = "the server answered with something that is not an Anthropic message: ";
        assert!(error.message.starts_with(start) && !error.message.contains('\n'), "{}", error.message);
    }
    let error =
        failed(br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#);
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
}

#[test]
fn failed_responses_have_the_kinds_that_the_vendor_documents() {
    use ModelErrorKind::*;
    let said = |status: u16, kind: &str, message: &str, code: Option<&str>| {
        let details = code.map(|code| json!({"error_code": code}));
        let body = json!({"type": "error", "request_id": "req_1",
                          "error": {"type": kind, "message": message, "details": details}});
        codec(Quirks::default()).decode_error(status, Some("3"), body.to_string().as_bytes())
    };
    let kinds = [
        (400, "invalid_request_error", "messages: bad", BadRequest),
        (400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum", Overflow),
        (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199 + 9 > 200", Overflow),
        (401, "authentication_error", "invalid key", Auth),
        (402, "billing_error", "no credit", BadRequest),
        (403, "permission_error", "no", Auth),
        (404, "not_found_error", "model: x", NotFound),
        (409, "conflict_error", "busy", BadRequest),
        (413, "request_too_large", "too large", Overflow),
        (429, "rate_limit_error", "slow down", RateLimit),
        (500, "api_error", "oh", Server),
        (504, "timeout_error", "late", Timeout),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ];
    for (status, kind, message, expected) in kinds {
        let error = said(status, kind, message, None);
        assert_eq!((error.kind, error.status, error.retry_after_ms), (expected, Some(status), Some(3000)), "{kind}");
        assert!(error.message.ends_with(message), "{}", error.message);
    }
    let limit = |code: &str| said(429, "rate_limit_error", "limit", Some(code)).kind;
    assert_eq!(limit("ramp_limit_exceeded"), RateLimit);
    assert_eq!(limit("contract_spend_limit_reached"), BadRequest);
    assert_eq!(limit("enforced_spend_limit_reached"), BadRequest);
}
