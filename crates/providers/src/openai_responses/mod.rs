//! OpenAI's Responses, without state on the server.
//!
//! Source of names, shapes and events: the official Python package `openai` 3.54.0 (`openai/types/responses`,
//! `openai/types/shared_params/reasoning.py`, `openai/resources/responses`). It sends the key as `Authorization: Bearer`,
//! no version header, and posts to `responses` under the base address.

mod input;
mod reply;
mod stream;

use crate::codec::{Codec, Frame, KeyHeader, Route, StreamDecoder};
use crate::endpoint::{Endpoint, Quirks};
use crate::errors;
use crate::event_stream::EventStream;
use crate::strict::allows_strict;
use crate::wire::{effort, wire_name};
use crate::words::push_json;
use mainpath_types::{Message, ModelError, ModelReply, RequestHead, ToolSpec};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The codec of Responses.
///
/// What it does beyond renaming fields:
/// - Nothing is stored on the server: `store` is false and the whole conversation is sent, with `encrypted_content` asked
///   for and returned.
/// - A reasoning item comes out as thinking whose text is the summary (or the reasoning itself, where the server shows it)
///   and whose signature is the item's JSON, which goes back byte for byte in its place. An item that the server could not
///   read again (no encrypted and no plain content, or cut by the limit) has no signature. Reasoning that nothing follows
///   in its message is not sent: the server refuses it ("without its required following item"). Reasoning that does not
///   fit what stands before it any more need not be dropped: the server itself withholds it (`input_transformations`).
/// - The `phase` of an assistant's text, which the vendor wants back, comes out as thinking without text right before that
///   text, its signature being `{"phase": …}`.
/// - Assistant texts go back as messages without an id: the server stored none that it could find. Calls go back without
///   an item id, and with `call_id` = their place in the trace.
/// - A message of which nothing can be sent (empty, or only another vendor's thinking) becomes `[empty]`: texts that are
///   empty are left out.
/// - Arguments that are no JSON object, and tool names that are not allowed, are treated as in
///   [`OpenAiChat`](crate::OpenAiChat).
/// - Tools are never `strict`: their arguments are validated before they run, and `strict` allows no optional arguments.
///   An output schema is, if its shape allows it.
/// - Beside an effort the reasoning's summary is asked for, and the temperature is left out, which reasoning models refuse.
/// - Sound has no place in the format; it is named, not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenAiResponses {
    quirks: Quirks,
    issuer: String,
}

impl OpenAiResponses {
    /// The codec for a server with these quirks. `issuer` is who makes, and alone may see, the signatures.
    pub fn new(quirks: Quirks, issuer: &str) -> OpenAiResponses {
        OpenAiResponses { quirks, issuer: issuer.into() }
    }
}

impl Codec for OpenAiResponses {
    fn format(&self) -> &'static str {
        "openai-responses"
    }

    fn encode_group(&self, group: &[Message], out: &mut Vec<u8>) {
        input::encode(group, &self.issuer, out);
    }

    fn encode_frame(&self, head: &RequestHead) -> Frame {
        let schema = head.output_schema.as_ref().filter(|_| self.quirks.output_schema);
        let fields = HeadFields {
            model: &head.model,
            store: false,
            include: ["reasoning.encrypted_content"],
            stream: head.stream && self.quirks.stream,
            max_output_tokens: head.max_output,
            temperature: head.temperature.filter(|t| t.is_finite() && head.effort.is_none()),
            reasoning: head.effort.map(|chosen| Reasoning { effort: effort(chosen), summary: "auto" }),
            text: schema.map(|schema| Text {
                format: Format { r#type: "json_schema", name: "answer", strict: allows_strict(schema), schema },
            }),
            tools: head.tools.iter().map(tool).collect(),
            instructions: &head.system,
        };
        let mut before = Vec::with_capacity(1024);
        push_json(&mut before, &fields);
        before.pop();
        before.extend_from_slice(b",\"input\":[");
        Frame { before, after: b"]}".to_vec() }
    }

    fn route(&self, endpoint: &Endpoint, _head: &RequestHead) -> Route {
        let key = KeyHeader { name: "authorization", prefix: "Bearer " };
        Route { url: endpoint.url("responses"), headers: Vec::new(), key }
    }

    fn decode_reply(&self, body: &[u8]) -> Result<ModelReply, ModelError> {
        reply::decode(body, &self.issuer)
    }

    fn decode_error(&self, status: u16, retry_after: Option<&str>, body: &[u8]) -> ModelError {
        errors::decode(status, retry_after, body)
    }

    fn stream(&self) -> Box<dyn StreamDecoder> {
        Box::new(EventStream::new(stream::Draft::new(&self.issuer)))
    }
}

/// The request without its input. What is long comes last.
#[derive(Serialize)]
struct HeadFields<'a> {
    model: &'a str,
    store: bool,
    include: [&'static str; 1],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    summary: &'static str,
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a Value,
    /// Left out, it would mean true.
    strict: bool,
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        name: wire_name(&spec.name),
        description: &spec.description,
        parameters: &spec.input_schema,
        strict: false,
    }
}
