//! What Responses requests and whole answers look like.

use crate::{assistant, call, conversations, head, result, user};
use mainpath_providers::{Codec, Endpoint, KeyHeader, OpenAiResponses, Quirks, Route, encode};
use mainpath_testkit::model_server::responses::check;
use mainpath_types::{
    Effort, Message, ModelError, ModelErrorKind, ModelReply, ModelRequest, Part, RequestHead, Role, Seq, Signature,
    Source, StopReason, Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const ISSUER: &str = "openai";

/// A reasoning item as a server may write it: with white space and escapes that no serializer of ours would make.
const ITEM: &str = r#"{ "id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"I \u0061m"} ],"encrypted_content":"gAA\/=="}"#;

fn codec() -> OpenAiResponses {
    OpenAiResponses::new(Quirks { output_schema: true, ..Quirks::default() }, ISSUER)
}

fn sent(value: &str) -> Part {
    Part::Thinking { text: "I am".into(), signature: Some(Signature { issuer: ISSUER.into(), value: value.into() }) }
}

fn encoded(request: &ModelRequest) -> Vec<u8> {
    let bytes = encode(&codec(), request);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(check("/v1/responses", &[], &body), Ok(()), "{body}");
    bytes
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_slice(&encoded(request)).unwrap()
}

fn bare(messages: Vec<Message>) -> ModelRequest {
    ModelRequest { head: RequestHead { model: "m".into(), ..Default::default() }, messages }
}

fn items(messages: Vec<Message>) -> Value {
    body(&bare(messages))["input"].take()
}

#[test]
fn a_whole_conversation_has_exactly_these_fields() {
    let request = ModelRequest {
        head: RequestHead { effort: Some(Effort::High), ..head(true) },
        messages: vec![
            user(1, "Look \"here\" – 🦀\n"),
            assistant(
                12,
                vec![sent(ITEM), Part::text("I look."), call("look", r#"{"at": "a"}"#), call("look", r#"{"at": "b"}"#)],
            ),
            result(13, (12, 0), "A"),
            result(14, (12, 1), ""),
            assistant(15, vec![Part::text("Seen.")]),
        ],
    };
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": arguments});
    let expected = json!({
        "model": "m-1", "store": false, "include": ["reasoning.encrypted_content"], "stream": true,
        "max_output_tokens": 99, "reasoning": {"effort": "high", "summary": "auto"},
        "tools": [{
            "type": "function", "name": "look", "description": "Looks.", "strict": false,
            "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
        }],
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Look \"here\" – 🦀\n"},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I am"}], "encrypted_content": "gAA/=="},
            {"role": "assistant", "content": "I look."},
            call("call_12_0", "{\"at\": \"a\"}"),
            call("call_12_1", "{\"at\": \"b\"}"),
            {"type": "function_call_output", "call_id": "call_12_0", "output": "A"},
            {"type": "function_call_output", "call_id": "call_12_1", "output": ""},
            {"role": "assistant", "content": "Seen."},
        ],
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn what_is_not_set_is_not_sent() {
    let expected = json!({
        "model": "m", "store": false, "include": ["reasoning.encrypted_content"], "stream": false,
        "input": [{"role": "user", "content": "hi"}],
    });
    assert_eq!(body(&bare(vec![user(1, "hi")])), expected);
    assert_eq!(body(&bare(Vec::new()))["input"], json!([]));
}

#[test]
fn the_temperature_is_sent_only_where_no_effort_is() {
    let with = |effort| body(&ModelRequest { head: RequestHead { effort, ..head(false) }, messages: vec![] });
    assert_eq!((&with(None)["temperature"], with(None).get("reasoning")), (&json!(0.7), None));
    assert_eq!(with(Some(Effort::Low)).get("temperature"), None);
    assert_eq!(with(Some(Effort::Medium))["reasoning"], json!({"effort": "medium", "summary": "auto"}));
}

#[test]
fn an_output_schema_is_strict_where_its_shape_allows_it_and_left_out_where_the_server_has_none() {
    let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": {}}});
    for (schema, strict) in [(closed, true), (open, false)] {
        let head = RequestHead { output_schema: Some(schema.clone()), ..head(false) };
        let request = ModelRequest { head, messages: vec![] };
        let expected = json!({"format": {"type": "json_schema", "name": "answer", "strict": strict, "schema": schema}});
        assert_eq!(body(&request)["text"], expected);
        let without: Value = serde_json::from_slice(&encode(&OpenAiResponses::default(), &request)).unwrap();
        assert_eq!(without.get("text"), None);
    }
}

#[test]
fn a_request_goes_to_responses_with_a_bearer_key() {
    let route = codec().route(&Endpoint::new("https://api.openai.com/v1").unwrap(), &head(true));
    let key = KeyHeader { name: "authorization", prefix: "Bearer " };
    assert_eq!(route, Route { url: "https://api.openai.com/v1/responses".into(), headers: Vec::new(), key });
    assert_eq!(codec().format(), "openai-responses");
}

#[test]
fn a_reasoning_item_goes_back_byte_for_byte_in_its_place() {
    let other = ITEM.replace("rs_1", "rs_2");
    let message = assistant(2, vec![sent(ITEM), Part::text("a"), sent(&other), call("t", "{}")]);
    let bytes = encoded(&bare(vec![message, result(3, (2, 0), "x")]));
    let text = String::from_utf8(bytes).unwrap();
    let expected = format!(
        r#""input":[{ITEM},{{"role":"assistant","content":"a"}},{other},{{"type":"function_call","call_id":"call_2_0","#
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn what_comes_out_of_an_answer_is_what_goes_back() {
    let answer = format!(
        r#"{{"status":"completed","output":[{ITEM},
        {{"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{{"type":"output_text","text":"I look.","annotations":[]}}]}},
        {{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"look","arguments":"{{}}"}}]}}"#
    );
    let reply = codec().decode_reply(answer.as_bytes()).unwrap();
    let phase = Signature { issuer: ISSUER.into(), value: r#"{"phase":"commentary"}"#.into() };
    let expected = vec![
        sent(ITEM),
        Part::Thinking { text: String::new(), signature: Some(phase) },
        Part::text("I look."),
        call("look", "{}"),
    ];
    assert_eq!((&reply.parts, reply.stop), (&expected, StopReason::ToolCalls));
    let text = String::from_utf8(encoded(&bare(vec![assistant(1, reply.parts), result(2, (1, 0), "x")]))).unwrap();
    let back = format!(
        r#""input":[{ITEM},{{"role":"assistant","content":"I look.","phase":"commentary"}},{{"type":"function"#
    );
    assert!(text.contains(&back), "{text}");
}

#[test]
fn foreign_and_damaged_signatures_and_reasoning_that_nothing_follows_are_not_sent() {
    let foreign = |value: &str| Part::Thinking {
        text: "secret".into(),
        signature: Some(Signature { issuer: "openai-responses@other".into(), value: value.into() }),
    };
    let unsigned = Part::Thinking { text: "secret".into(), signature: None };
    let said = || Part::text("a");
    let only_text = json!([{"role": "assistant", "content": "a"}]);
    for before in [foreign(ITEM), unsigned, sent("{"), sent("[\"reasoning\"]"), sent("{} {}"), sent("\"x\""), sent("")]
    {
        assert_eq!(items(vec![assistant(1, vec![before, said()])]), only_text);
    }
    assert_eq!(items(vec![assistant(1, vec![said(), sent(ITEM)])]), only_text);
    assert_eq!(items(vec![assistant(1, vec![said(), sent(ITEM), Part::text("")])]), only_text);
    // The phase belongs to the text right after it.
    let phase = || sent("{\"phase\":\"final_answer\"}");
    let two = items(vec![assistant(1, vec![phase(), Part::text("a"), Part::text("b")])]);
    assert_eq!(two[0]["phase"], "final_answer");
    assert_eq!(two[1].get("phase"), None);
    assert_eq!(items(vec![assistant(1, vec![phase(), Part::text(""), said()])]), only_text);
}

#[test]
fn messages_of_which_nothing_can_be_sent_stay_in_place() {
    let odd = Message { seq: None, role: Role::Tool, parts: Vec::new() };
    let thinking = Part::Thinking { text: "hm".into(), signature: None };
    let sent = items(vec![user(1, ""), assistant(2, vec![thinking]), odd, assistant(3, vec![sent(ITEM)])]);
    let empty = |role: &str| json!({"role": role, "content": "[empty]"});
    assert_eq!(sent, json!([empty("user"), empty("assistant"), empty("user"), empty("assistant")]));
}

#[test]
fn content_parts_are_sent_where_the_format_has_a_place_and_named_where_not() {
    let base64 = |media_type: &str| Source::Base64 { data: "QUJD".into(), media_type: media_type.into() };
    let url = |url: &str| Source::Url { url: url.into() };
    let hash = "ab".repeat(32).try_into().unwrap();
    let parts = vec![
        Part::text("see"),
        Part::text(""),
        Part::Image { source: base64("image/png") },
        Part::Image { source: url("https://x/y.png") },
        Part::Image { source: Source::Blob { hash, media_type: "image/webp".into() } },
        Part::Audio { source: base64("audio/mpeg") },
        Part::Document { source: base64("application/pdf"), name: Some("a.pdf".into()), pages: None },
        Part::Document { source: url("https://x/a.pdf"), name: None, pages: None },
    ];
    let mut tool = result(3, (2, 0), "out");
    if let Part::ToolResult { content, .. } = &mut tool.parts[0] {
        content.push(Part::Image { source: base64("image/png") });
    }
    let mut named = result(4, (2, 1), "out");
    if let Part::ToolResult { content, .. } = &mut named.parts[0] {
        content.push(Part::Audio { source: base64("audio/wav") });
    }
    let asked = assistant(2, vec![call("t", "{}"), call("t", "")]);
    let sent = items(vec![Message { seq: Some(Seq(1)), role: Role::User, parts }, asked, tool, named]);
    let text = |text: &str| json!({"type": "input_text", "text": text});
    let image = |url: &str| json!({"type": "input_image", "image_url": url, "detail": "auto"});
    let expected = json!([
        text("see"),
        image("data:image/png;base64,QUJD"),
        image("https://x/y.png"),
        text("[image not shown here: image/webp]"),
        text("[audio not shown here: audio/mpeg]"),
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
        {"type": "input_file", "file_url": "https://x/a.pdf"},
    ]);
    assert_eq!(sent[0]["content"], expected);
    assert_eq!(sent[3]["output"], json!([text("out"), image("data:image/png;base64,QUJD")]));
    assert_eq!(sent[4]["output"], "out\n[audio not shown here: audio/wav]");
}

#[test]
fn a_whole_answer_is_read_with_thinking_calls_and_usage() {
    let text = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let body = json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m-1-2026", "status": "completed", "error": null,
        "incomplete_details": null,
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [
                {"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"},
            ]},
            {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": null},
            {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": 7, "content": "odd"},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text("I "), text("look.")]},
            {"id": "fc_1", "type": "function_call", "call_id": "a", "name": "look", "arguments": "{\"at\": \"é\"}"},
            {"id": "fc_2", "type": "function_call", "call_id": "b", "name": "stop", "arguments": ""},
            {"id": "fc_3", "type": "function_call", "call_id": "c", "name": "odd", "arguments": {"an": "object"}},
        ],
        "usage": {
            "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
            "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
            "output_tokens_details": {"reasoning_tokens": 7},
        },
    });
    let expected = ModelReply {
        parts: vec![
            Part::Thinking { text: "one\n\ntwo".into(), signature: None },
            Part::text("I look."),
            call("look", "{\"at\": \"é\"}"),
            call("stop", "{}"),
            call("odd", "{\"an\":\"object\"}"),
        ],
        usage: Some(Usage { input: 100, output: 20, cache_read: 64, cache_write: 8, reasoning: 7 }),
        stop: StopReason::ToolCalls,
        model: Some("m-1-2026".into()),
    };
    assert_eq!(codec().decode_reply(body.to_string().as_bytes()), Ok(expected));
}

#[test]
fn reasoning_that_the_server_could_not_read_again_has_no_signature() {
    let signed = |item: Value| {
        let body = json!({"output": [item]}).to_string();
        match &codec().decode_reply(body.as_bytes()).unwrap().parts[..] {
            [Part::Thinking { signature, .. }] => signature.is_some(),
            other => panic!("{other:?}"),
        }
    };
    let shown = json!([{"type": "reasoning_text", "text": "shown"}]);
    let summary = json!([{"type": "summary_text", "text": "s"}]);
    assert!(signed(json!({"type": "reasoning", "summary": [], "encrypted_content": "x"})));
    assert!(signed(json!({"type": "reasoning", "content": shown})));
    assert!(!signed(json!({"type": "reasoning", "summary": summary})));
    assert!(!signed(
        json!({"type": "reasoning", "summary": summary, "encrypted_content": "x", "status": "incomplete"})
    ));
}

#[test]
fn the_end_of_an_answer_becomes_a_stop_reason() {
    let stop = |status: &str, reason: Value, item: Value| {
        let details = json!({"reason": reason});
        let body = json!({"status": status, "incomplete_details": details, "output": [item]}).to_string();
        codec().decode_reply(body.as_bytes()).unwrap().stop
    };
    let said = json!({"type": "message", "content": [{"type": "output_text", "text": "a"}]});
    let refused = json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]});
    let called = json!({"type": "function_call", "name": "t", "arguments": "{\"a"});
    let cut = json!({"type": "function_call", "name": "t", "arguments": "{\"a", "status": "incomplete"});
    assert_eq!(stop("completed", Value::Null, said.clone()), StopReason::End);
    assert_eq!(stop("completed", Value::Null, called.clone()), StopReason::ToolCalls);
    assert_eq!(stop("completed", Value::Null, refused), StopReason::ContentFilter);
    assert_eq!(stop("completed", Value::Null, cut), StopReason::MaxTokens);
    assert_eq!(stop("incomplete", json!("max_output_tokens"), called.clone()), StopReason::MaxTokens);
    assert_eq!(stop("incomplete", json!("content_filter"), said.clone()), StopReason::ContentFilter);
    assert_eq!(stop("incomplete", json!("something new"), said), StopReason::MaxTokens);
    assert_eq!(stop("incomplete", Value::Null, called), StopReason::MaxTokens);
}

#[test]
fn a_call_that_the_limit_cut_keeps_its_text_and_does_not_look_complete() {
    for arguments in ["{\"a\": 1", ""] {
        let item = json!({"type": "function_call", "name": "t", "arguments": arguments, "status": "incomplete"});
        let body =
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [item]});
        let reply = codec().decode_reply(body.to_string().as_bytes()).unwrap();
        assert_eq!((reply.parts, reply.stop), (vec![call("t", arguments)], StopReason::MaxTokens));
    }
}

#[test]
fn a_success_that_is_no_answer_is_an_error_that_says_what_came() {
    let kind = |body: &str| -> ModelError {
        let error = codec().decode_reply(body.as_bytes()).unwrap_err();
        assert!(!error.message.contains('\n'), "{}", error.message);
        error
    };
    for body in
        ["<html>\nhi</html>", "", "{}", "[1]", r#"{"output":null}"#, r#"{"output":"#, r#"{"object":"chat.completion"}"#]
    {
        let error = kind(body);
        assert_eq!(error.kind, ModelErrorKind::Server);
        assert!(
            error.message.starts_with("the server answered with something that is not a response object: "),
            "{body}"
        );
    }
    use ModelErrorKind::*;
    assert_eq!(kind(r#"{"status":"failed","output":[]}"#).kind, Server);
    assert_eq!(kind(r#"{"status":"queued","output":[]}"#).kind, Server);
    assert_eq!(kind(r#"{"output":[{"type":"message","content":7}]}"#).kind, Server);
    let failed =
        |code: &str| kind(&json!({"status": "failed", "error": {"code": code, "message": "m"}}).to_string()).kind;
    assert_eq!(failed("server_error"), Server);
    assert_eq!(failed("rate_limit_exceeded"), RateLimit);
    assert_eq!(failed("invalid_prompt"), BadRequest);
    assert_eq!(failed("invalid_image_format"), BadRequest);
    assert_eq!(failed("image_content_policy_violation"), ContentFilter);
    assert_eq!(failed("bio_policy"), ContentFilter);
    assert_eq!(failed("context_length_exceeded"), Overflow);
}

fn own() -> Vec<Part> {
    let damaged = ITEM.replace("reasoning", "other");
    [ITEM, r#"{"phase":"commentary"}"#, &ITEM[1..], &damaged].map(sent).into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_in_what_goes_out_is_accepted(request in conversations::request(own())) {
        let body: Value = serde_json::from_slice(&encode(&codec(), &request)).unwrap();
        prop_assert_eq!(check("/v1/responses", &[], &body), Ok(()));
    }
}
