//! Whatever conversation comes, the Messages API accepts what goes out, and what it once was sent it is sent again.

use crate::played::{Outcome, play};
use mainpath_providers::{Anthropic, Codec, Quirks, encode};
use mainpath_testkit::model_server::Answer;
use mainpath_testkit::model_server::anthropic::{check_body, events, message, sign};
use mainpath_types::{
    BlobHash, CallId, Effort, Message, ModelRequest, Part, RequestHead, Role, Seq, Signature, Source, ToolSpec,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const ISSUER: &str = "anthropic";

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n\t".into()), Just("\u{a0}".into()), "\\PC{0,12}", ".{0,12}"]
}

fn any_source() -> impl Strategy<Value = Source> {
    let hash: BlobHash = "ab".repeat(32).try_into().unwrap();
    let kinds = ["image/png", "image/tiff", "audio/wav", "application/pdf", "text/plain", "TEXT/CSV", "", "x"];
    prop_oneof![
        Just(Source::Url { url: "https://x/y".into() }),
        Just(Source::Blob { hash, media_type: "image/png".into() }),
        (prop::sample::select(kinds.to_vec()), prop::sample::select(vec!["QUJD", "ICAg", "////"]))
            .prop_map(|(kind, data)| Source::Base64 { data: data.into(), media_type: kind.into() }),
    ]
}

fn any_content() -> impl Strategy<Value = Part> {
    let hash: BlobHash = "cd".repeat(32).try_into().unwrap();
    prop_oneof![
        4 => any_text().prop_map(Part::text),
        1 => any_source().prop_map(|source| Part::Image { source }),
        1 => any_source().prop_map(|source| Part::Audio { source }),
        1 => (any_source(), prop::option::of(any_text())).prop_map(|(source, name)| Part::Document { source, name, pages: None }),
        1 => Just(Part::StoredText { hash, bytes: 70_000 }),
    ]
}

/// Thinking: our own as the server made it, readable and redacted, and that of others.
fn any_thinking() -> impl Strategy<Value = Part> {
    (any_text(), 0..4u8).prop_map(|(text, kind)| {
        let signed = |issuer: &str, value: String| Some(Signature { issuer: issuer.into(), value });
        let signature = match kind {
            0 => signed(ISSUER, sign(&text)),
            1 => signed(ISSUER, format!("redacted_thinking:{}{text}", sign(""))),
            2 => signed("openai", "OPAQUE".into()),
            _ => None,
        };
        Part::Thinking { text, signature }
    })
}

fn any_call() -> impl Strategy<Value = Part> {
    let names = prop_oneof![Just("look".to_owned()), Just("a.b c".into()), any_text(), "[é_]{60,70}"];
    let known = ["{}", "{\"a\":1}", "", "{\"a\": \"cut", "[1]", "null", "{\"a\":\"\\ud800\"}", "{\"a\":1e999}"];
    let arguments = prop_oneof![prop::sample::select(known.to_vec()).prop_map(String::from), any_text()];
    let foreign = Signature { issuer: "gemini".into(), value: "OPAQUE".into() };
    (names, arguments, prop::option::of(Just(foreign))).prop_map(|(name, arguments, signature)| Part::ToolCall {
        name,
        arguments,
        signature,
    })
}

fn any_result() -> impl Strategy<Value = (Vec<Part>, bool)> {
    (prop::collection::vec(any_content(), 0..3), any::<bool>())
}

/// A user message, or an assistant message with results for its calls: as many as there are.
#[derive(Clone, Debug)]
enum Step {
    User(Vec<Part>),
    Assistant(Vec<Part>, Vec<(Vec<Part>, bool)>),
}

fn any_step() -> impl Strategy<Value = Step> {
    let said = prop_oneof![any_content(), any_thinking(), any_call()];
    let results = prop::collection::vec(any_result(), 6);
    prop_oneof![
        prop::collection::vec(prop_oneof![4 => any_content(), 1 => any_thinking()], 0..4).prop_map(Step::User),
        (prop::collection::vec(said, 0..6), results).prop_map(|(parts, results)| Step::Assistant(parts, results)),
    ]
}

/// The messages of these steps, numbered, with the results of each turn after it.
fn messages(steps: &[Step]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut push = |role, parts: Vec<Part>| {
        let seq = Seq(messages.len() as u32 + 1);
        messages.push(Message { seq: Some(seq), role, parts });
        seq
    };
    for step in steps {
        match step {
            Step::User(parts) => drop(push(Role::User, parts.clone())),
            Step::Assistant(parts, results) => {
                let calls = parts.iter().filter(|part| matches!(part, Part::ToolCall { .. })).count();
                let seq = push(Role::Assistant, parts.clone());
                for (index, (content, is_error)) in (0..).zip(results.iter().take(calls).cloned()) {
                    let call = CallId { seq, index };
                    push(Role::Tool, vec![Part::ToolResult { call, name: "t".into(), content, is_error }]);
                }
            }
        }
    }
    messages
}

fn any_schema() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "maxLength": 3}}}),
        json!({"oneOf": [{"type": "object"}]}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!(true),
    ])
}

fn any_head() -> impl Strategy<Value = RequestHead> {
    let efforts = prop::sample::select(vec![Effort::Low, Effort::Medium, Effort::High]);
    let tools = prop::collection::vec(any_schema(), 0..3);
    let words = (any_text(), prop::option::of(0.0f64..3.0), prop::option::of(0..9u64));
    (words, prop::option::of(efforts), tools, prop::option::of(any_schema()), any::<bool>()).prop_map(
        |((system, temperature, max_output), effort, schemas, output_schema, stream)| {
            let tool = |(at, input_schema): (usize, Value)| ToolSpec {
                name: format!("tool.{at}"),
                description: system.clone(),
                input_schema: input_schema.into(),
                ..ToolSpec::default()
            };
            let tools = schemas.into_iter().enumerate().map(tool).collect();
            RequestHead {
                model: "m".into(),
                system: system.clone(),
                tools,
                temperature,
                max_output,
                effort,
                output_schema,
                stream,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_request_keeps_the_rules_and_no_foreign_signature_is_in_it(
        head in any_head(),
        steps in prop::collection::vec(any_step(), 0..8),
        marks: bool,
    ) {
        let quirks = Quirks { cache_marks: marks, output_schema: true, ..Quirks::default() };
        let mut messages = messages(&steps);
        messages.push(Message { seq: None, role: Role::User, parts: vec![Part::text("go on")] });
        let body = encode(&Anthropic::new(quirks, ISSUER), &ModelRequest { head, messages });
        let body: Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(check_body(&body), Ok(()), "{}", body);
        prop_assert!(!body.to_string().contains("OPAQUE"));
    }

    #[test]
    fn an_answer_is_the_same_whole_and_in_pieces_and_goes_back_with_its_thinking(
        thinking in any_text(),
        text in any_text(),
        calls in prop::collection::vec(("[a-z]{1,8}", any_text().prop_map(|text| json!({"x": text}).to_string())), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let codec = Anthropic::new(Quirks::default(), ISSUER);
        let answer = Answer { thinking, text, calls, ..Answer::default() };
        let whole = codec.decode_reply(message(&answer).to_string().as_bytes()).unwrap();
        let stream = events(&answer).concat().into_bytes();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).chain([stream.len()]).collect();
        ends.sort_unstable();
        let mut at = 0;
        let pieces: Vec<&[u8]> = ends.iter().map(|end| &stream[std::mem::replace(&mut at, *end)..*end]).collect();
        let Outcome { reply, text, thinking, calls } = play(&codec, &pieces);
        prop_assert_eq!(reply.as_ref(), Ok(&whole));
        prop_assert_eq!((text, thinking, calls), (answer.text, answer.thinking, answer.calls));

        let steps = [Step::User(vec![]), Step::Assistant(whole.parts, vec![(vec![], false); 4]), Step::User(vec![])];
        let head = RequestHead { model: "m".into(), ..RequestHead::default() };
        let body = encode(&codec, &ModelRequest { head, messages: messages(&steps) });
        let body: Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(check_body(&body), Ok(()), "{}", body);
    }

    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_a_shorter_one(
        head in any_head(),
        steps in prop::collection::vec(any_step(), 2..8),
        cut in 1..8usize,
    ) {
        let codec = Anthropic::new(Quirks { cache_marks: true, ..Quirks::default() }, ISSUER);
        let encoded = |steps: &[Step]| {
            encode(&codec, &ModelRequest { head: head.clone(), messages: messages(steps) })
        };
        let short = encoded(&steps[..cut.min(steps.len())]);
        let prefix = short.strip_suffix(b"]}").unwrap();
        // What closes a conversation that ends with an answer stands behind its messages.
        let closing = codec.between(Some(Role::Assistant), None).unwrap();
        let prefix = prefix.strip_suffix(closing.as_bytes()).unwrap_or(prefix);
        prop_assert!(encoded(&steps).starts_with(prefix));
    }
}
