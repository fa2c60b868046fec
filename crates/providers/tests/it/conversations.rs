//! Random conversations as a packer may hand them out: valid, but as odd as models, people and changes of vendor make
//! them. Whatever comes, a codec must send what its vendor accepts.

use mainpath_types::{
    BlobHash, CallId, Effort, Message, ModelRequest, Part, RequestHead, Role, Seq, Signature, Source, ToolSpec,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A whole request. `own` are parts with signatures that the vendor made itself; such of other vendors are mixed in.
pub fn request(own: Vec<Part>) -> impl Strategy<Value = ModelRequest> {
    (head(), messages(own)).prop_map(|(head, messages)| ModelRequest { head, messages })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".into()), Just("Grüße \"🦀\" \\ \u{0} \u{2028}".into()), "[ -~]{1,30}"]
}

fn source() -> impl Strategy<Value = Source> {
    let media_type = prop::sample::select(vec!["image/png", "application/pdf", "audio/mpeg", "audio/x-wav", "odd"]);
    let hash: BlobHash = "ab".repeat(32).try_into().unwrap();
    prop_oneof![
        Just(Source::Url { url: "https://example.com/a".into() }),
        media_type.clone().prop_map(|media_type| Source::Base64 { data: "QUJD".into(), media_type: media_type.into() }),
        media_type.prop_map(move |media_type| Source::Blob { hash: hash.clone(), media_type: media_type.into() }),
    ]
}

fn content() -> impl Strategy<Value = Part> {
    let hash: BlobHash = "cd".repeat(32).try_into().unwrap();
    prop_oneof![
        4 => text().prop_map(Part::text),
        1 => Just(Part::StoredText { hash, bytes: 20_000 }),
        1 => source().prop_map(|source| Part::Image { source }),
        1 => source().prop_map(|source| Part::Audio { source }),
        1 => (source(), prop::option::of(Just("a.pdf".to_owned())))
            .prop_map(|(source, name)| Part::Document { source, name, pages: None }),
    ]
}

fn foreign() -> impl Strategy<Value = Option<Signature>> {
    let issuers = vec!["anthropic", "gemini", "openai-compatible@10.0.0.1:80"];
    let signature = |issuer: &str| Signature { issuer: issuer.into(), value: "FOREIGN".into() };
    prop::option::of(prop::sample::select(issuers).prop_map(signature))
}

fn arguments() -> impl Strategy<Value = String> {
    let known = vec!["{}", "", " ", "{\"a\": 1}", "[1]", "null", "{\"a\": \"cut", "{} {}", "not json", "\"{}\""];
    prop::sample::select(known).prop_map(str::to_owned)
}

fn said(own: Vec<Part>) -> impl Strategy<Value = Part> {
    let name = prop::sample::select(vec!["look", "", "functions.bash <x>", "é", "3d", "a-b_c"]);
    let long = "x".repeat(200);
    let name = prop_oneof![6 => name.prop_map(str::to_owned), 1 => Just(long)];
    prop_oneof![
        3 => text().prop_map(Part::text),
        1 => (text(), foreign()).prop_map(|(text, signature)| Part::Thinking { text, signature }),
        1 => prop::sample::select(own),
        2 => (name, arguments(), foreign())
            .prop_map(|(name, arguments, signature)| Part::ToolCall { name, arguments, signature }),
    ]
}

#[derive(Clone, Debug)]
enum Said {
    User(Vec<Part>),
    /// An assistant's parts, and what its calls return.
    Assistant(Vec<Part>, Vec<Vec<Part>>),
}

fn messages(own: Vec<Part>) -> impl Strategy<Value = Vec<Message>> {
    let parts = prop::collection::vec(content(), 0..4);
    let results = prop::collection::vec(prop::collection::vec(content(), 0..3), 6);
    let turn = prop_oneof![
        parts.prop_map(Said::User),
        (prop::collection::vec(said(own), 0..6), results).prop_map(|(parts, results)| Said::Assistant(parts, results)),
    ];
    prop::collection::vec(turn, 0..8).prop_map(|turns| {
        let mut messages = Vec::new();
        let mut seq = 0;
        let mut add = |role, parts| {
            seq += 1;
            messages.push(Message { seq: Some(Seq(seq)), role, parts });
            seq
        };
        for turn in turns {
            match turn {
                Said::User(parts) => drop(add(Role::User, parts)),
                Said::Assistant(parts, results) => {
                    let names: Vec<String> = parts
                        .iter()
                        .filter_map(
                            |part| if let Part::ToolCall { name, .. } = part { Some(name.clone()) } else { None },
                        )
                        .collect();
                    let of = add(Role::Assistant, parts);
                    for ((name, content), index) in names.into_iter().zip(results).zip(0..) {
                        let call = CallId { seq: Seq(of), index };
                        add(Role::Tool, vec![Part::ToolResult { call, name, content, is_error: index % 2 == 1 }]);
                    }
                }
            }
        }
        // Whoever asks a model has said something last.
        if messages.last().is_some_and(|last| last.role == Role::Assistant) {
            messages.push(Message { seq: None, role: Role::User, parts: vec![Part::text("And?")] });
        }
        messages
    })
}

fn head() -> impl Strategy<Value = RequestHead> {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: if name == "look" { "Looks.".into() } else { String::new() },
        input_schema: json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}).into(),
        ..ToolSpec::default()
    };
    let tools = prop::sample::subsequence(vec![tool("look"), tool("mcp.server/do"), tool("a-b")], 0..=3);
    let schemas: Vec<Value> = vec![
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"pattern": "^x"}}}),
        json!({"type": "array", "items": {"type": "integer"}}),
    ];
    let efforts = vec![Effort::Low, Effort::Medium, Effort::High];
    (
        prop::sample::select(vec!["", "Be brief."]),
        tools,
        prop::option::of(0.0f64..2.0),
        prop::option::of(2000u64..50_000),
        prop::option::of(prop::sample::select(efforts)),
        prop::option::of(prop::sample::select(schemas)),
        any::<bool>(),
    )
        .prop_map(|(system, tools, temperature, max_output, effort, output_schema, stream)| RequestHead {
            model: "m-1".into(),
            system: system.into(),
            tools,
            temperature,
            max_output,
            effort,
            output_schema,
            stream,
        })
}
