//! OpenAI's Chat Completions, which most local servers and gateways speak too.
//!
//! Source of names and shapes: the official Python package `openai` 3.54.0 (`openai/types/chat`,
//! `openai/types/completion_usage.py`, `openai/_exceptions.py`). Beyond it, `reasoning_content` and `reasoning` (DeepSeek,
//! vLLM, llama.cpp, OpenRouter, Ollama) and DeepSeek's `prompt_cache_hit_tokens` are read, what `kept.rs` describes is sent
//! back, and `cache_control` is sent where the quirks ask for cache marks (npm `@openrouter/sdk` 1.3.19, `ChatRequest`: at
//! the top of a request it marks the last block that can be cached).

mod chat;
mod kept;
mod reply;

pub use chat::OpenAiChat;

use crate::codec::{Codec, Frame, KeyHeader, Route, StreamDecoder, wire_call_id};
use crate::endpoint::{Endpoint, OutputLimit};
use crate::errors;
use crate::event_stream::EventStream;
use crate::strict::allows_strict;
use crate::text::as_text;
use crate::wire::{data_url, effort, placeholder, result_text, texts, wire_arguments, wire_name};
use crate::words::push_json;
use mainpath_types::{CallId, Message, ModelError, ModelReply, Part, RequestHead, Role, Seq, Source};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;

impl OpenAiChat {
    fn assistant<'a>(&self, message: &'a Message) -> Element<'a> {
        let text = texts(&message.parts);
        let seq = message.seq.unwrap_or(Seq(0));
        let calls = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall { name, arguments, .. } => Some((name, arguments)),
            _ => None,
        });
        let tool_calls: Vec<CallElement<'_>> = calls
            .zip(0u16..)
            .map(|((name, arguments), index)| CallElement {
                id: wire_call_id(CallId { seq, index }),
                r#type: "function",
                function: CallFunction { name: wire_name(name), arguments: wire_arguments(arguments) },
            })
            .collect();
        // Content may be null only beside calls.
        let content = (!text.is_empty() || tool_calls.is_empty()).then_some(Content::Text(text));
        let (reasoning_details, reasoning) = kept::of(&message.parts, &self.issuer);
        // Such a server misses the field where there was no reasoning, too.
        let reasoning_content = self.quirks.return_reasoning.then_some(reasoning);
        Element::Assistant { content, reasoning_content, reasoning_details, tool_calls }
    }
}

impl Codec for OpenAiChat {
    fn format(&self) -> &'static str {
        "openai-chat"
    }

    fn encode_group(&self, group: &[Message], out: &mut Vec<u8>) {
        let mut first = true;
        for message in group {
            match message.role {
                Role::User => push_element(out, &mut first, &user(&message.parts)),
                Role::Assistant => push_element(out, &mut first, &self.assistant(message)),
                Role::Tool => {
                    for part in &message.parts {
                        if let Part::ToolResult { call, content, .. } = part {
                            let element =
                                Element::Tool { tool_call_id: wire_call_id(*call), content: result_text(content) };
                            push_element(out, &mut first, &element);
                        }
                    }
                }
            }
        }
        if first && !group.is_empty() {
            // A tool message without a result is a bug of the packer; the array must stay well-formed nevertheless.
            push_element(out, &mut first, &Element::User { content: Content::Text(Cow::Borrowed("")) });
        }
    }

    fn encode_frame(&self, head: &RequestHead) -> Frame {
        let stream = head.stream && self.quirks.stream;
        let limit = |name: OutputLimit| head.max_output.filter(|_| self.quirks.output_limit == name);
        let schema = head.output_schema.as_ref().filter(|_| self.quirks.output_schema);
        let fields = HeadFields {
            model: &head.model,
            max_tokens: limit(OutputLimit::MaxTokens),
            max_completion_tokens: limit(OutputLimit::MaxCompletionTokens),
            temperature: head.temperature.filter(|t| t.is_finite() && head.effort.is_none()),
            reasoning_effort: head.effort.map(effort),
            cache_control: self.quirks.cache_marks.then_some(CacheControl { r#type: "ephemeral" }),
            response_format: schema.map(|schema| ResponseFormat {
                r#type: "json_schema",
                json_schema: JsonSchema { name: "answer", strict: allows_strict(schema), schema },
            }),
            stream,
            stream_options: stream.then_some(StreamOptions { include_usage: true }),
            tools: head.tools.iter().map(tool).collect(),
        };
        let mut before = Vec::with_capacity(1024);
        push_json(&mut before, &fields);
        before.pop();
        before.extend_from_slice(b",\"messages\":[");
        if !head.system.is_empty() {
            push_json(&mut before, &Element::System { content: &head.system });
            before.push(b',');
        }
        Frame { before, after: b"]}".to_vec() }
    }

    fn route(&self, endpoint: &Endpoint, _head: &RequestHead) -> Route {
        let key = KeyHeader { name: "authorization", prefix: "Bearer " };
        Route { url: endpoint.url("chat/completions"), headers: Vec::new(), key }
    }

    fn decode_reply(&self, body: &[u8]) -> Result<ModelReply, ModelError> {
        reply::decode(body, self)
    }

    fn decode_error(&self, status: u16, retry_after: Option<&str>, body: &[u8]) -> ModelError {
        errors::decode(status, retry_after, body)
    }

    fn stream(&self) -> Box<dyn StreamDecoder> {
        Box::new(EventStream::new(reply::Draft::new(self)))
    }
}

/// The request without its messages. The prefix that a server caches begins with tools and system text; their place
/// among the JSON fields is ours to choose, and what is long comes last.
#[derive(Serialize)]
struct HeadFields<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a serde_json::Value,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a serde_json::Value,
}

fn tool(spec: &mainpath_types::ToolSpec) -> Tool<'_> {
    let function =
        ToolFunction { name: wire_name(&spec.name), description: &spec.description, parameters: &spec.input_schema };
    Tool { r#type: "function", function }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Element<'a> {
    System {
        #[serde(serialize_with = "as_text")]
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallElement<'a>>,
    },
    Tool {
        tool_call_id: String,
        #[serde(serialize_with = "as_text")]
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(serialize_with = "as_text")] Cow<'a, str>),
    Parts(Vec<serde_json::Value>),
}

#[derive(Serialize)]
struct CallElement<'a> {
    id: String,
    r#type: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_text")]
    arguments: Cow<'a, str>,
}

fn push_element(out: &mut Vec<u8>, first: &mut bool, element: &Element<'_>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    push_json(out, element);
}

fn user(parts: &[Part]) -> Element<'_> {
    let only_text = parts.iter().all(|part| matches!(part, Part::Text { .. }));
    let is_empty = |part: &Part| matches!(part, Part::Text { text } if text.is_empty());
    let content = match parts {
        _ if only_text => Content::Text(texts(parts)),
        _ => Content::Parts(parts.iter().filter(|part| !is_empty(part)).filter_map(input_part).collect()),
    };
    Element::User { content }
}

/// A part of a user message; `None` for parts that have no place in one.
fn input_part(part: &Part) -> Option<serde_json::Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    Some(match part {
        Part::Text { text: value } => text(value),
        Part::Image { source: Source::Url { url } } => json!({"type": "image_url", "image_url": {"url": url}}),
        Part::Image { source: Source::Base64 { data, media_type } } => {
            json!({"type": "image_url", "image_url": {"url": data_url(media_type, data)}})
        }
        Part::Audio { source: Source::Base64 { data, media_type } } if audio_format(media_type).is_some() => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": audio_format(media_type)}})
        }
        Part::Document { source: Source::Base64 { data, media_type }, name, .. } => {
            let filename = name.as_deref().unwrap_or("document");
            json!({"type": "file", "file": {"filename": filename, "file_data": data_url(media_type, data)}})
        }
        Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } | Part::StoredText { .. } => {
            text(&placeholder(part)?)
        }
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => return None,
    })
}

/// The format knows two kinds of sound.
fn audio_format(media_type: &str) -> Option<&'static str> {
    match media_type.rsplit('/').next().unwrap_or_default() {
        "wav" | "x-wav" | "wave" | "vnd.wave" => Some("wav"),
        "mp3" | "mpeg" => Some("mp3"),
        _ => None,
    }
}
