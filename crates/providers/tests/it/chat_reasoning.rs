//! What compatible servers of Chat Completions know beside the format (reasoning that goes back, cache marks), effort and
//! output schemas.

use crate::{assistant, call, conversations, head, result, user};
use mainpath_providers::{Codec, OpenAiChat, OutputLimit, Quirks, encode};
use mainpath_testkit::model_server::check_request;
use mainpath_types::{Effort, Message, ModelReply, ModelRequest, Part, RequestHead, Signature, StopReason};
use proptest::prelude::*;
use serde_json::{Value, json};

const ISSUER: &str = "openrouter";

/// Details as a server may write them.
const ENTRY: &str = r#"{ "type":"reasoning.encrypted","data":"gAA\/==","format":"openai-responses-v1","index":0 }"#;

fn codec() -> OpenAiChat {
    OpenAiChat::new(Quirks { output_schema: true, ..Quirks::default() }, ISSUER)
}

fn returning() -> OpenAiChat {
    OpenAiChat::new(Quirks { return_reasoning: true, ..Quirks::default() }, ISSUER)
}

fn thought(text: &str, value: &str) -> Part {
    Part::Thinking { text: text.into(), signature: Some(Signature { issuer: ISSUER.into(), value: value.into() }) }
}

fn bytes(codec: &OpenAiChat, messages: Vec<Message>) -> String {
    let head = RequestHead { model: "m".into(), ..Default::default() };
    let bytes = encode(codec, &ModelRequest { head, messages });
    assert_eq!(check_request(&serde_json::from_slice(&bytes).unwrap()), Ok(()));
    String::from_utf8(bytes).unwrap()
}

fn messages(codec: &OpenAiChat, messages: Vec<Message>) -> Value {
    serde_json::from_str::<Value>(&bytes(codec, messages)).unwrap()["messages"].take()
}

fn streamed(codec: &OpenAiChat, deltas: &[Value]) -> ModelReply {
    let mut stream = codec.stream();
    let ends = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let chunks = deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})).chain([ends]);
    for chunk in chunks {
        stream.push(format!("data: {chunk}\n\n").as_bytes(), &mut |_| {}).unwrap();
    }
    stream.finish().unwrap()
}

#[test]
fn reasoning_details_go_back_byte_for_byte_to_who_made_them() {
    let answer = format!(
        r#"{{"choices":[{{"index":0,"finish_reason":"stop","message":{{"content":"a","reasoning":"hm","reasoning_details":[{ENTRY}]}}}}]}}"#
    );
    let reply = codec().decode_reply(answer.as_bytes()).unwrap();
    assert_eq!(reply.parts, [thought("hm", &format!("[{ENTRY}]")), Part::text("a")]);
    let back = bytes(&codec(), vec![user(1, "x"), assistant(2, reply.parts.clone())]);
    let expected = format!(r#"{{"role":"assistant","content":"a","reasoning_details":[{ENTRY}]}}"#);
    assert!(back.contains(&expected), "{back}");
    let elsewhere = OpenAiChat::new(Quirks::default(), "other");
    assert_eq!(messages(&elsewhere, vec![assistant(2, reply.parts)]), json!([{"role": "assistant", "content": "a"}]));
}

#[test]
fn details_in_pieces_become_entries_and_unsigned_ones_are_left_out() {
    let piece = |index: u64, text: &str| json!({"reasoning_details": [{"type": "reasoning.text", "text": text, "index": index, "format": "anthropic-claude-v1", "signature": null}]});
    let signed = json!({"reasoning_details": [{"type": "reasoning.text", "signature": "S", "index": 0}]});
    let reply = streamed(
        &codec(),
        &[
            piece(0, "Gr"),
            piece(0, "üße"),
            signed,
            piece(1, "!"),
            json!({"reasoning_details": "odd"}),
            json!({"content": "a"}),
        ],
    );
    let expected =
        r#"[{"format":"anthropic-claude-v1","index":0,"signature":"S","text":"Grüße","type":"reasoning.text"}]"#;
    assert_eq!(reply.parts, [thought("Grüße!", expected), Part::text("a")]);
}

#[test]
fn the_text_of_reasoning_goes_back_where_the_quirks_say_so() {
    let reply = streamed(
        &returning(),
        &[json!({"reasoning_content": "h"}), json!({"reasoning_content": "m"}), json!({"content": "a"})],
    );
    assert_eq!(reply.parts, [thought("hm", "reasoning_content"), Part::text("a")]);
    let foreign = Part::Thinking { text: "no".into(), signature: None };
    let conversation = vec![
        assistant(1, [vec![foreign], reply.parts, vec![call("t", "{}")]].concat()),
        result(2, (1, 0), "x"),
        assistant(3, vec![Part::text("b")]),
    ];
    let sent = messages(&returning(), conversation.clone());
    assert_eq!((&sent[0]["reasoning_content"], &sent[2]["reasoning_content"]), (&json!("hm"), &json!("")));
    let sent = messages(&codec(), conversation);
    assert_eq!((sent[0].get("reasoning_content"), sent[2].get("reasoning_content")), (None, None));
}

#[test]
fn damaged_details_are_not_sent() {
    for value in ["[", "{}", "[1] 2", "", "\"[]\""] {
        let sent = messages(&codec(), vec![assistant(1, vec![thought("hm", value), Part::text("a")])]);
        assert_eq!(sent, json!([{"role": "assistant", "content": "a"}]), "{value}");
    }
}

#[test]
fn a_refusal_is_a_stop_by_the_filter() {
    let reply = streamed(&codec(), &[json!({"refusal": "I can"}), json!({"refusal": "not."})]);
    assert_eq!((reply.parts, reply.stop), (vec![Part::text("I cannot.")], StopReason::ContentFilter));
}

#[test]
fn cache_marks_are_one_field_at_the_top() {
    let quirks = Quirks { cache_marks: true, ..Quirks::default() };
    let body: Value = serde_json::from_str(&bytes(&OpenAiChat::new(quirks, ISSUER), vec![user(1, "x")])).unwrap();
    assert_eq!(body["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(body["messages"], json!([{"role": "user", "content": "x"}]));
}

#[test]
fn effort_and_output_schema_have_their_fields() {
    let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let head = |effort, schema: &Value| RequestHead { effort, output_schema: Some(schema.clone()), ..head(false) };
    let body = |codec: &OpenAiChat, head: RequestHead| -> Value {
        let body =
            serde_json::from_slice(&encode(codec, &ModelRequest { head, messages: vec![user(1, "x")] })).unwrap();
        assert_eq!(check_request(&body), Ok(()));
        body
    };
    let with = body(&codec(), head(Some(Effort::Low), &closed));
    assert_eq!((&with["reasoning_effort"], with.get("temperature")), (&json!("low"), None));
    let format = json!({"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": closed}});
    assert_eq!(with["response_format"], format);
    let open = body(&codec(), head(None, &json!({"type": "object", "title": "open"})));
    assert_eq!((open.get("reasoning_effort"), &open["temperature"]), (None, &json!(0.7)));
    assert_eq!(open["response_format"]["json_schema"]["strict"], false);
    assert_eq!(body(&returning(), head(None, &closed)).get("response_format"), None);
}

fn own() -> Vec<Part> {
    [format!("[{ENTRY}]").as_str(), "reasoning_content", ENTRY, "["].map(|value| thought("hm", value)).into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_in_what_goes_out_is_accepted(request in conversations::request(own()), returning in any::<bool>()) {
        let quirks = Quirks {
            output_schema: returning,
            return_reasoning: returning,
            cache_marks: returning,
            output_limit: if returning { OutputLimit::MaxTokens } else { OutputLimit::MaxCompletionTokens },
            ..Quirks::default()
        };
        let body: Value = serde_json::from_slice(&encode(&OpenAiChat::new(quirks, ISSUER), &request)).unwrap();
        // The format wants a message; a conversation has one.
        if body["messages"] != json!([]) {
            prop_assert_eq!(check_request(&body), Ok(()));
        }
    }
}
