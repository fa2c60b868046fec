//! Anthropic's Messages API, which some local servers and gateways speak too.
//!
//! Source of names and shapes: the official Python package `anthropic` 2.12.0 (`anthropic/types/message_create_params.py` and
//! what it refers to, `anthropic/_client.py` for the key's header, `anthropic/lib/streaming/_messages.py` for streams), which
//! speaks version 2026-10-21 of the API. The version goes into a header of the endpoint, since other servers want others.

mod blocks;
mod reply;
mod schema;

use crate::codec::{Codec, Frame, KeyHeader, Route, StreamDecoder};
use crate::endpoint::{Endpoint, Quirks};
use crate::errors;
use crate::event_stream::EventStream;
use crate::wire::{effort, wire_name};
use crate::words::push_json;
use blocks::Element;
use mainpath_types::{Message, ModelError, ModelReply, RequestHead, Role, ToolSpec};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The codec of the Messages API.
///
/// What it does beyond renaming fields:
/// - `temperature` is never sent: the API refuses it since version 2026-10-21.
/// - `max_tokens` is always sent; where the request names none, it is [`Quirks::default_output`].
/// - An effort becomes adaptive thinking, with the thinking shown as summaries, and `output_config.effort`. Models before
///   Claude 4.6 know neither and refuse the request.
/// - Cache marks ([`Quirks::cache_marks`]) are three of the four that are allowed: after the tools, after the system text,
///   and the request's own `cache_control`, which the server applies to the last block. So no message ever changes its bytes.
/// - An output schema ([`Quirks::output_schema`]) is brought into the subset that the API holds answers to, which may be
///   weaker or narrower than the schema; what cannot be brought there is left out. The caller validates either way.
/// - Texts that are empty or blank are left out, because the API refuses them; a message of which nothing is left says
///   `[empty]`.
/// - Thinking goes back as it came, and only to its issuer. Thinking at the end of a message is left out: the API refuses
///   a message that ends in it.
/// - From Claude Fable 5.1 on the API may refuse thinking if anything before it is not as it was when it was made
///   (platform.claude.com/docs, build-with-claude/preserved-thinking). A codec cannot see that: who changes what came
///   before drops the signatures of the thinking after it.
/// - What an assistant says after a call is put before its first call: the API takes only results after a call.
/// - The results of a turn are one message. A failed result carries text only, the others pictures and documents too.
/// - Arguments that are no JSON object are sent as `{"unparsed_arguments": "<the text>"}`; a tool name that is not allowed has
///   `_` in place of what is not, and at most 64 characters.
/// - A conversation that begins with an assistant message gets a user message before it, which the API demands. One that
///   ends with an assistant message is sent as it is; models since Claude 4.6 refuse it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anthropic {
    quirks: Quirks,
    issuer: Box<str>,
}

impl Anthropic {
    /// The codec for a server with these quirks. `issuer` is who makes and may see signatures of thinking.
    pub fn new(quirks: Quirks, issuer: &str) -> Anthropic {
        Anthropic { quirks, issuer: issuer.into() }
    }
}

impl Codec for Anthropic {
    fn format(&self) -> &'static str {
        "anthropic"
    }

    // From Claude Fable 5.1 on the API refuses thinking that stands after anything that has changed since (the vendor's
    // documentation, "Preserved thinking").
    fn binds_thinking(&self) -> bool {
        true
    }

    /// A conversation begins with the user; and it ends with one, as the newer models do not carry on an answer.
    fn between(&self, before: Option<Role>, after: Option<Role>) -> Option<&'static str> {
        match (before, after) {
            (None, Some(Role::Assistant)) => {
                Some(r#"{"role":"user","content":[{"type":"text","text":"[earlier messages are not shown]"}]}"#)
            }
            (Some(Role::Assistant), None) => Some(r#"{"role":"user","content":[{"type":"text","text":"Go on."}]}"#),
            _ => None,
        }
    }

    fn encode_group(&self, group: &[Message], out: &mut Vec<u8>) {
        match group {
            [] => {}
            [message, ..] if message.role == Role::Tool => push_json(out, &Element::results(group)),
            _ => {
                for (number, message) in group.iter().enumerate() {
                    if number > 0 {
                        out.push(b',');
                    }
                    push_json(out, &Element::message(message, &self.issuer));
                }
            }
        }
    }

    fn encode_frame(&self, head: &RequestHead) -> Frame {
        let mark = self.quirks.cache_marks.then_some(CACHE_MARK);
        let last = head.tools.len().saturating_sub(1);
        let format = head.output_schema.as_ref().filter(|_| self.quirks.output_schema).and_then(schema::output);
        let effort = head.effort.map(effort);
        let output_config =
            OutputConfig { effort, format: format.map(|schema| Format { r#type: "json_schema", schema }) };
        let fields = HeadFields {
            model: &head.model,
            max_tokens: head.max_output.unwrap_or(self.quirks.default_output).max(1),
            stream: head.stream && self.quirks.stream,
            cache_control: mark,
            thinking: effort.map(|_| Thinking { r#type: "adaptive", display: "summarized" }),
            output_config: (output_config.effort.is_some() || output_config.format.is_some()).then_some(output_config),
            tools: head.tools.iter().enumerate().map(|(at, spec)| tool(spec, mark.filter(|_| at == last))).collect(),
            system: (!head.system.trim().is_empty()).then(|| match mark {
                Some(_) => {
                    System::Marked([SystemBlock { r#type: "text", text: &head.system, cache_control: CACHE_MARK }])
                }
                None => System::Text(&head.system),
            }),
        };
        let mut before = Vec::with_capacity(1024);
        push_json(&mut before, &fields);
        before.pop();
        before.extend_from_slice(b",\"messages\":[");
        Frame { before, after: b"]}".to_vec() }
    }

    fn route(&self, endpoint: &Endpoint, _head: &RequestHead) -> Route {
        let key = KeyHeader { name: "authorization", prefix: "Bearer " };
        Route { url: endpoint.url("v1/messages"), headers: Vec::new(), key }
    }

    fn decode_reply(&self, body: &[u8]) -> Result<ModelReply, ModelError> {
        reply::decode(body, &self.issuer)
    }

    fn decode_error(&self, status: u16, retry_after: Option<&str>, body: &[u8]) -> ModelError {
        errors::decode(status, retry_after, body)
    }

    fn stream(&self) -> Box<dyn StreamDecoder> {
        Box::new(EventStream::new(reply::Draft::new(&self.issuer)))
    }
}

/// The request without its messages. What is long comes last, in the order in which the server caches it.
#[derive(Serialize)]
struct HeadFields<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheMark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<System<'a>>,
}

#[derive(Clone, Copy, Serialize)]
struct CacheMark {
    r#type: &'static str,
}

const CACHE_MARK: CacheMark = CacheMark { r#type: "ephemeral" };

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    display: &'static str,
}

#[derive(Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
}

#[derive(Serialize)]
struct Format {
    r#type: &'static str,
    schema: Value,
}

#[derive(Serialize)]
#[serde(untagged)]
enum System<'a> {
    Text(&'a str),
    Marked([SystemBlock<'a>; 1]),
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: CacheMark,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheMark>,
}

fn tool(spec: &ToolSpec, cache_control: Option<CacheMark>) -> Tool<'_> {
    Tool {
        name: wire_name(&spec.name),
        description: &spec.description,
        input_schema: schema::input(&spec.input_schema),
        cache_control,
    }
}
