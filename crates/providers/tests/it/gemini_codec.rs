//! What generateContent requests and whole answers look like.

use crate::{assistant, call, head, result, user};
use mainpath_providers::{Codec, Endpoint, Gemini, KeyHeader, Quirks, Route, encode};
use mainpath_testkit::model_server::gemini::check_body;
use mainpath_types::{
    BlobHash, Effort, Message, ModelErrorKind, ModelReply, ModelRequest, Part, RequestHead, Role, Seq, Signature,
    Source, StopReason, Usage,
};
use serde_json::{Value, json};

fn gemini() -> Gemini {
    Gemini::new(Quirks::default(), "gemini")
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(&gemini(), request)).unwrap()
}

/// The contents of a conversation, which the checks accept.
fn contents(messages: Vec<Message>) -> Value {
    let mut body = body(&ModelRequest { head: RequestHead { model: "m".into(), ..Default::default() }, messages });
    assert_eq!(check_body(&body), Ok(()));
    body["contents"].take()
}

/// The parts that one assistant message becomes.
fn model_parts(parts: Vec<Part>) -> Value {
    let mut element = Vec::new();
    gemini().encode_group(&[assistant(7, parts)], &mut element);
    let mut content: Value = serde_json::from_slice(&element).unwrap();
    assert_eq!(content["role"], "model");
    content["parts"].take()
}

fn signed(issuer: &str, value: &str) -> Option<Signature> {
    Some(Signature { issuer: issuer.into(), value: value.into() })
}

fn thinking(text: &str, signature: Option<Signature>) -> Part {
    Part::Thinking { text: text.into(), signature }
}

fn signed_call(name: &str, issuer: &str, value: &str) -> Part {
    Part::ToolCall { name: name.into(), arguments: "{}".into(), signature: signed(issuer, value) }
}

fn decode(parts: Value) -> ModelReply {
    let body = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]});
    gemini().decode_reply(body.to_string().as_bytes()).unwrap()
}

#[test]
fn a_whole_conversation_has_exactly_these_fields() {
    let request = ModelRequest {
        head: head(true),
        messages: vec![
            user(1, "Look \"here\" – 🦀\n"),
            assistant(
                12,
                vec![
                    thinking("secret thoughts", signed("anthropic", "OPAQUE")),
                    Part::text("I look."),
                    Part::ToolCall {
                        name: "look".into(),
                        arguments: r#"{"at": "a"}"#.into(),
                        signature: signed("gemini", "QUJD"),
                    },
                    call("look", r#"{"at": "b"}"#),
                ],
            ),
            result(13, (12, 0), "A"),
            result(14, (12, 1), "B"),
            assistant(15, vec![Part::text("Seen.")]),
            user(16, "Thanks."),
        ],
    };
    let expected = json!({
        "generationConfig": {"temperature": 0.7, "maxOutputTokens": 99},
        "tools": [{"functionDeclarations": [{
            "name": "look", "description": "Looks.",
            "parametersJsonSchema": {"type": "object", "properties": {"at": {"type": "string"}}},
        }]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Look \"here\" – 🦀\n"}]},
            {"role": "model", "parts": [
                {"text": "I look."},
                {"functionCall": {"id": "call_12_0", "name": "look", "args": {"at": "a"}}, "thoughtSignature": "QUJD"},
                {"functionCall": {"id": "call_12_1", "name": "look", "args": {"at": "b"}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "call_12_0", "name": "look", "response": {"output": "A"}}},
                {"functionResponse": {"id": "call_12_1", "name": "look", "response": {"output": "B"}}},
            ]},
            {"role": "model", "parts": [{"text": "Seen."}]},
            {"role": "user", "parts": [{"text": "Thanks."}]},
        ],
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn what_is_not_set_is_not_sent() {
    let head = RequestHead { model: "m".into(), system: " \n".into(), ..Default::default() };
    let request = ModelRequest { head, messages: vec![user(1, "hi")] };
    assert_eq!(body(&request), json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
}

#[test]
fn effort_is_a_level_and_a_budget_for_older_models() {
    let config = |model: &str, effort: Effort| {
        let head = RequestHead { model: model.into(), effort: Some(effort), ..Default::default() };
        let body = body(&ModelRequest { head, messages: vec![user(1, "hi")] });
        assert_eq!(check_body(&body), Ok(()));
        body["generationConfig"]["thinkingConfig"].clone()
    };
    let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    let budget = |budget: u32| json!({"includeThoughts": true, "thinkingBudget": budget});
    assert_eq!(config("gemini-3.8-flash", Effort::Low), level("LOW"));
    assert_eq!(config("models/gemini-4-argon", Effort::Medium), level("MEDIUM"));
    assert_eq!(config("anything", Effort::High), level("HIGH"));
    assert_eq!(config("gemini-2.5-flash", Effort::Low), budget(1024));
    assert_eq!(config("models/gemini-2.5-pro", Effort::High), budget(24_576));
}

#[test]
fn an_output_schema_is_sent_where_the_server_holds_to_it() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "description": "d"}}, "$defs": {"A": {"type": "string"}}});
    let head = RequestHead { model: "m".into(), output_schema: Some(schema), ..Default::default() };
    let request = ModelRequest { head, messages: vec![user(1, "hi")] };
    assert_eq!(body(&request).get("generationConfig"), None);
    let able = Gemini::new(Quirks { output_schema: true, ..Quirks::default() }, "gemini");
    let body: Value = serde_json::from_slice(&encode(&able, &request)).unwrap();
    let expected = json!({
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}},
    });
    assert_eq!(body["generationConfig"], expected);
    assert_eq!(check_body(&body), Ok(()));
}

#[test]
fn limits_beyond_the_formats_integers_are_its_largest() {
    let head = RequestHead { max_output: Some(u64::MAX), temperature: Some(f64::NAN), ..Default::default() };
    let body = body(&ModelRequest { head, messages: vec![user(1, "hi")] });
    assert_eq!(body["generationConfig"], json!({"maxOutputTokens": 2_147_483_647}));
}

#[test]
fn the_address_has_the_version_the_model_and_the_method() {
    let route = |base: &str, model: &str, stream: bool| {
        let head = RequestHead { model: model.into(), stream, ..Default::default() };
        gemini().route(&Endpoint::new(base).unwrap(), &head)
    };
    let url = |base: &str, model: &str, stream: bool| route(base, model, stream).url;
    let host = "https://generativelanguage.googleapis.com";
    let key = KeyHeader { name: "x-goog-api-key", prefix: "" };
    let expected =
        Route { url: format!("{host}/v1/models/gemini-3.8-flash:generateContent"), headers: Vec::new(), key };
    assert_eq!(route(host, "gemini-3.8-flash", false), expected);
    assert_eq!(url(host, "models/m", true), format!("{host}/v1/models/m:streamGenerateContent?alt=sse"));
    assert_eq!(url(&format!("{host}/v1beta/"), "m", false), format!("{host}/v1beta/models/m:generateContent"));
    assert_eq!(url("http://h/proxy", "tunedModels/t", false), "http://h/proxy/v1/tunedModels/t:generateContent");
    assert_eq!(url("http://h/v1?tenant=a", "m", true), "http://h/v1/models/m:streamGenerateContent?tenant=a&alt=sse");
    assert_eq!(url("http://h", "a?b#c%2e", false), "http://h/v1/models/a%3Fb%23c%252e:generateContent");
    let whole = Gemini::new(Quirks { stream: false, ..Quirks::default() }, "gemini");
    let head = RequestHead { model: "m".into(), stream: true, ..Default::default() };
    assert_eq!(whole.route(&Endpoint::new("http://h").unwrap(), &head).url, "http://h/v1/models/m:generateContent");
}

#[test]
fn the_bytes_before_a_new_message_never_change() {
    let mut messages = vec![user(1, "go")];
    let encoded =
        |messages: &[Message]| encode(&gemini(), &ModelRequest { head: head(true), messages: messages.into() });
    let mut before = encoded(&messages);
    for seq in (2..40).step_by(3) {
        messages.push(assistant(seq, vec![call("look", "{}"), call("look", "not json")]));
        messages.push(result(seq + 1, (seq, 0), "x"));
        messages.push(result(seq + 2, (seq, 1), "y"));
        let now = encoded(&messages);
        assert!(now.starts_with(before.strip_suffix(b"]}").unwrap()));
        before = now;
    }
}

#[test]
fn arguments_that_are_no_object_are_wrapped_so_that_the_body_stays_sound() {
    let sent = |arguments: &str| model_parts(vec![call("t", arguments)])[0]["functionCall"]["args"].take();
    let wrapped = |arguments: &str| json!({"unparsed_arguments": arguments});
    assert_eq!(sent(" {\"a\": 1}\n"), json!({"a": 1}));
    assert_eq!(sent(""), json!({}));
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    for odd in ["{\"a\": \"cut", "[1]", "null", "{} {}", r#"{"a": "\ud800"}"#, r#"{"a": 1e999}"#, deep.as_str()] {
        assert_eq!(sent(odd), wrapped(odd), "{odd}");
    }
    // The order in which the model wrote them is kept.
    let mut bytes = Vec::new();
    gemini().encode_group(&[assistant(7, vec![call("t", r#"{"b":1,"a":2}"#)])], &mut bytes);
    assert!(String::from_utf8(bytes).unwrap().contains(r#""args":{"b":1,"a":2}"#));
}

#[test]
fn signatures_of_calls_go_back_on_their_calls_and_foreign_ones_are_never_sent() {
    let skip = "skip_thought_signature_validator";
    let signatures = |parts: Vec<Part>| -> Vec<Value> {
        model_parts(parts).as_array().unwrap().iter().map(|part| part["thoughtSignature"].clone()).collect()
    };
    let own = |value: &str| signed_call("t", "gemini", value);
    assert_eq!(signatures(vec![own("QQ=="), call("t", "{}")]), [json!("QQ=="), Value::Null]);
    assert_eq!(signatures(vec![own("QQ=="), own("Qg==")]), [json!("QQ=="), json!("Qg==")]);
    assert_eq!(signatures(vec![call("t", "{}"), call("t", "{}")]), [json!(skip), Value::Null]);
    let foreign = signed_call("t", "gemini-compatible@127.0.0.1:1", "Qw==");
    assert_eq!(signatures(vec![foreign.clone(), foreign]), [json!(skip), Value::Null]);
    assert_eq!(signatures(vec![thinking("hm", None), Part::text("a"), call("t", "{}")]), [Value::Null, json!(skip)]);
}

#[test]
fn every_division_of_a_text_by_signatures_comes_back_exactly() {
    let text = |text: &str| json!({"text": text});
    let signed = |text: &str, signature: &str| json!({"text": text, "thoughtSignature": signature});
    let thought = |text: &str, signature: &str| json!({"text": text, "thought": true, "thoughtSignature": signature});
    let called = |signature: &str| json!({"functionCall": {"id": "call_7_0", "name": "t", "args": {"a": 1}}, "thoughtSignature": signature});
    let exact = [
        json!([text("plain")]),
        json!([signed("whole", "QQ==")]),
        json!([text("ä🦀"), signed("", "QQ==")]),
        json!([text("a"), signed("bc", "QQ=="), text("\n"), signed("ü", "Qg=="), text("z")]),
        json!([signed("", "QQ==")]),
        json!([signed("", "QQ=="), signed("", "Qg==")]),
        json!([signed("", "QQ=="), text("after")]),
        json!([thought("hm", "QQ=="), signed("text", "Qg=="), called("Qw==")]),
        json!([thought("", "QQ=="), text("text")]),
        json!([signed("", "QQ=="), called("Qw==")]),
        json!([text("a"), signed("", "QQ=="), called("Qw=="), text("b"), signed("", "Qg==")]),
    ];
    for parts in exact {
        let reply = decode(parts.clone());
        let shown: usize = reply.parts.iter().filter(|part| matches!(part, Part::Text { .. })).count();
        assert!(shown <= 2, "a text stays whole: {reply:?}");
        assert_eq!(model_parts(reply.parts), parts);
    }
}

#[test]
fn a_texts_signature_is_kept_before_the_whole_text() {
    let reply = decode(json!([{"text": "Hello"}, {"text": " you"}, {"text": "!", "thoughtSignature": "QQ=="}]));
    assert_eq!(reply.parts, [thinking("", signed("gemini", "9 1:QQ==")), Part::text("Hello you!")]);
}

#[test]
fn a_text_that_changed_since_is_whole_and_its_signatures_stand_alone() {
    let mark = || thinking("", signed("gemini", "5 1:QQ=="));
    let alone = json!({"text": "", "thoughtSignature": "QQ=="});
    assert_eq!(model_parts(vec![mark(), Part::text("changed")]), json!([alone, {"text": "changed"}]));
    // Not at the boundary of a character.
    assert_eq!(model_parts(vec![mark(), Part::text("aaaaü")]), json!([alone, {"text": "aaaaü"}]));
    assert_eq!(model_parts(vec![mark()]), json!([alone]));
    assert_eq!(
        model_parts(vec![mark(), mark(), Part::text("Hello!")]),
        json!([alone, {"text": "Hello"}, {"text": "!", "thoughtSignature": "QQ=="}])
    );
    for odd in ["", "x", "1:", "5 x", "18446744073709551616:QQ=="] {
        model_parts(vec![thinking("", signed("gemini", odd)), Part::text("Hello!")]);
    }
}

#[test]
fn thinking_goes_back_only_with_a_signature_of_ours() {
    let parts = vec![
        thinking("unsigned", None),
        thinking("foreign", signed("anthropic", "QQ==")),
        thinking("", signed("anthropic", "5 0:QQ==")),
        thinking("own", signed("gemini", "Qg==")),
        Part::text("Hello"),
    ];
    let expected = json!([{"text": "own", "thought": true, "thoughtSignature": "Qg=="}, {"text": "Hello"}]);
    assert_eq!(model_parts(parts), expected);
}

#[test]
fn a_message_without_anything_to_send_says_so() {
    let empty = json!([{"text": "(empty)"}]);
    assert_eq!(model_parts(vec![]), empty);
    assert_eq!(model_parts(vec![Part::text(""), Part::text(" \n"), thinking("hm", None)]), empty);
    let thought = json!({"text": "own", "thought": true, "thoughtSignature": "Qg=="});
    assert_eq!(model_parts(vec![thinking("own", signed("gemini", "Qg=="))]), json!([thought, {"text": "(empty)"}]));
    assert_eq!(contents(vec![user(1, "")])[0]["parts"], empty);
    let odd = Message { seq: None, role: Role::Tool, parts: Vec::new() };
    assert_eq!(contents(vec![user(1, "a"), odd, user(2, "b")])[1], json!({"role": "user", "parts": empty}));
}

#[test]
fn a_conversation_begins_and_ends_with_the_user_and_two_answers_are_kept_apart() {
    let text = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    let go_on = text("user", "(Go on.)");
    let messages = vec![assistant(1, vec![Part::text("a")]), assistant(2, vec![Part::text("b")])];
    let expected = json!([
        text("user", "(The conversation up to here is not shown.)"),
        text("model", "a"),
        go_on,
        text("model", "b"),
        go_on
    ]);
    assert_eq!(contents(messages), expected);
    assert_eq!(contents(vec![]), json!([go_on]));
    assert_eq!(contents(vec![user(1, "a"), user(2, "b")]), json!([text("user", "a"), text("user", "b")]));
}

#[test]
fn a_tools_name_that_a_model_invented_is_made_one_that_the_vendor_takes() {
    let mut wrong = result(3, (2, 0), "no such tool");
    if let Part::ToolResult { name, is_error, .. } = &mut wrong.parts[0] {
        *name = "9 <lives>".into();
        *is_error = true;
    }
    let contents = contents(vec![user(1, "go"), assistant(2, vec![call("9 <lives>", "{}")]), wrong]);
    assert_eq!(contents[1]["parts"][0]["functionCall"]["name"], "_9__lives_");
    let expected =
        json!([{"functionResponse": {"id": "call_2_0", "name": "_9__lives_", "response": {"error": "no such tool"}}}]);
    assert_eq!(contents[2]["parts"], expected);
}

#[test]
fn content_parts_are_sent_where_the_format_has_a_place_and_named_where_not() {
    let base64 = |media_type: &str| Source::Base64 { data: "QUJD".into(), media_type: media_type.into() };
    let at = |url: &str| Source::Url { url: url.into() };
    let hash: BlobHash = "ab".repeat(32).try_into().unwrap();
    let parts = vec![
        Part::text("see"),
        Part::Image { source: base64("image/PNG") },
        Part::Image { source: base64("image/gif") },
        Part::Image { source: at("https://x/y.WEBP?z=1.gif") },
        Part::Image { source: at("https://x/y") },
        Part::Image { source: at("file:///etc/passwd") },
        Part::Image { source: Source::Blob { hash, media_type: "image/webp".into() } },
        Part::Audio { source: base64("audio/mpeg") },
        Part::Audio { source: base64("audio/x-wav") },
        Part::Audio { source: base64("audio/midi") },
        Part::Document { source: base64("application/pdf"), name: Some("a.pdf".into()), pages: None },
        Part::Document { source: base64("text/plain; charset=utf-8"), name: None, pages: None },
        Part::Document { source: base64("application/zip"), name: None, pages: None },
        Part::Document { source: at("https://x/a.pdf"), name: None, pages: None },
    ];
    let mut tool = result(3, (2, 0), "out");
    if let Part::ToolResult { content, .. } = &mut tool.parts[0] {
        content.push(Part::Image { source: base64("image/png") });
        content.push(Part::Image { source: at("https://x/y.png") });
        content.push(Part::Audio { source: base64("audio/wav") });
        content.push(Part::Document { source: base64("application/pdf"), name: None, pages: None });
    }
    let user = Message { seq: Some(Seq(1)), role: Role::User, parts };
    let contents = contents(vec![user, assistant(2, vec![call("look", "{}")]), tool]);
    let inline = |media_type: &str| json!({"inlineData": {"mimeType": media_type, "data": "QUJD"}});
    let file = |media_type: &str, url: &str| json!({"fileData": {"mimeType": media_type, "fileUri": url}});
    let expected = json!([
        {"text": "see"},
        inline("image/png"),
        {"text": "[image not shown here: image/gif]"},
        file("image/webp", "https://x/y.WEBP?z=1.gif"),
        file("image/jpeg", "https://x/y"),
        {"text": "[image not shown here: file:///etc/passwd]"},
        {"text": "[image not shown here: image/webp]"},
        inline("audio/mp3"),
        inline("audio/wav"),
        {"text": "[audio not shown here: audio/midi]"},
        inline("application/pdf"),
        inline("text/plain"),
        {"text": "[document not shown here: application/zip]"},
        file("application/pdf", "https://x/a.pdf"),
    ]);
    assert_eq!(contents[0]["parts"], expected);
    let expected = json!({
        "id": "call_2_0", "name": "look",
        "response": {"output": "out\n[image not shown here: https://x/y.png]\n[audio not shown here: audio/wav]"},
        "parts": [inline("image/png"), inline("application/pdf")],
    });
    assert_eq!(contents[2]["parts"], json!([{"functionResponse": expected}]));
}

#[test]
fn a_whole_answer_is_read_with_thinking_calls_and_usage() {
    let body = json!({
        "candidates": [{"index": 0, "finishReason": "STOP", "safetyRatings": [], "content": {"role": "model", "parts": [
            {"text": "hm", "thought": true},
            {"text": "I look."},
            {"functionCall": {"name": "look", "args": {"at": "é"}, "id": "x1"}, "thoughtSignature": "QUJD"},
            {"functionCall": {"name": "stop"}},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"somethingNew": {"a": 1}},
        ]}}, {"index": 1, "content": {"parts": [{"text": "no"}]}}],
        "usageMetadata": {
            "promptTokenCount": 90, "toolUsePromptTokenCount": 10, "candidatesTokenCount": 13, "thoughtsTokenCount": 7,
            "cachedContentTokenCount": 64, "totalTokenCount": 120, "trafficType": "ON_DEMAND",
        },
        "modelVersion": "gemini-3.8-flash-001", "responseId": "r",
    });
    let expected = ModelReply {
        parts: vec![
            thinking("hm", None),
            Part::text("I look."),
            Part::ToolCall {
                name: "look".into(),
                arguments: "{\"at\":\"é\"}".into(),
                signature: signed("gemini", "QUJD"),
            },
            call("stop", "{}"),
        ],
        usage: Some(Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 }),
        stop: StopReason::ToolCalls,
        model: Some("gemini-3.8-flash-001".into()),
    };
    assert_eq!(gemini().decode_reply(body.to_string().as_bytes()), Ok(expected.clone()));
    // Servers that do not know alt=sse send the chunks as a list.
    assert_eq!(gemini().decode_reply(json!([body]).to_string().as_bytes()), Ok(expected));
}

#[test]
fn finish_reasons_become_stop_reasons_and_useless_answers_errors() {
    let read = |reason: Value, calls: bool| {
        let part = if calls { json!({"functionCall": {"name": "t", "args": {}}}) } else { json!({"text": "x"}) };
        let candidate = json!({"content": {"parts": [part]}, "finishReason": reason, "finishMessage": "bad\ncall"});
        gemini().decode_reply(json!({"candidates": [candidate]}).to_string().as_bytes())
    };
    let stop = |reason: &str, calls: bool| read(json!(reason), calls).unwrap().stop;
    assert_eq!((stop("STOP", false), stop("STOP", true)), (StopReason::End, StopReason::ToolCalls));
    assert_eq!((stop("MAX_TOKENS", true), stop("CONTINUATION", false)), (StopReason::MaxTokens, StopReason::MaxTokens));
    assert_eq!(read(Value::Null, true).unwrap().stop, StopReason::ToolCalls);
    for filter in ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"] {
        assert_eq!(stop(filter, true), StopReason::ContentFilter);
    }
    let kind = |reason: &str| read(json!(reason), true).unwrap_err().kind;
    for useless in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "OTHER", "NEW_ONE"] {
        assert_eq!(kind(useless), ModelErrorKind::Server);
    }
    assert_eq!(kind("MISSING_THOUGHT_SIGNATURE"), ModelErrorKind::BadRequest);
    let message = read(json!("MALFORMED_FUNCTION_CALL"), false).unwrap_err().message;
    assert_eq!(message, "the model's answer ended with MALFORMED_FUNCTION_CALL (bad call) and is of no use");
}

#[test]
fn an_answer_that_a_filter_left_without_content_is_an_answer() {
    let body =
        json!({"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": {"promptTokenCount": 4}});
    let usage = Some(Usage { input: 4, ..Usage::default() });
    let expected = ModelReply { parts: vec![], usage, stop: StopReason::ContentFilter, model: None };
    assert_eq!(gemini().decode_reply(body.to_string().as_bytes()), Ok(expected));
}

#[test]
fn a_blocked_prompt_is_refused_by_the_filter() {
    let body =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}});
    let error = gemini().decode_reply(body.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::ContentFilter);
    assert_eq!(error.message, "the server's content filter refused the request: PROHIBITED_CONTENT");
}

#[test]
fn a_success_that_is_no_answer_is_a_server_error_that_shows_what_came() {
    for body in ["<html>\nhi</html>", "", "{}", "[]", r#"{"candidates":[]}"#, "[1]", "{\"candidates\":", "null"] {
        let error = gemini().decode_reply(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Server, "{body}");
        assert!(error.message.contains("base URL") && !error.message.contains('\n'), "{}", error.message);
    }
}

#[test]
fn an_answer_of_endless_parts_is_refused() {
    let many = |part: Value| {
        let other = json!({"text": "x", "thought": true});
        let parts: Vec<Value> = (0..10_000).map(|n| if n % 2 == 0 { part.clone() } else { other.clone() }).collect();
        let body = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
        gemini().decode_reply(body.to_string().as_bytes()).unwrap_err().message
    };
    let expected = "the server sent more than 4096 parts in one answer";
    assert_eq!(many(json!({"functionCall": {"name": "t"}})), expected);
    assert_eq!(many(json!({"text": "y"})), expected);
}
