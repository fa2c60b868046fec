//! Gemini's generateContent.
//!
//! Source of names, shapes and addresses: the official Python package `google-genai` 3.4.0 (`google/genai/types.py`, the
//! `_…_to_mldev` functions of `models.py`, `_api_client.py`). What it does not say is from the vendor's guides "Thought
//! signatures" and "OpenAI compatibility" (ai.google.dev/gemini-api/docs).

mod content;
mod name;
mod reply;
mod schema;
mod signed;

use crate::codec::{Codec, Frame, KeyHeader, Route, StreamDecoder};
use crate::endpoint::{Endpoint, Quirks};
use crate::errors;
use crate::event_stream::EventStream;
use crate::words::push_json;
use mainpath_types::{Effort, Message, ModelError, ModelReply, RequestHead, Role};
use name::function_name;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The version of the API that the package uses unless told otherwise.
const VERSION: &str = "v1";

/// The codec of generateContent.
///
/// Where it goes: the base URL is what the vendor's package is given, without a version
/// (`https://generativelanguage.googleapis.com`); `v1` is added. A base URL that ends in a version, such as
/// `…/v1beta`, keeps it.
///
/// What it does beyond renaming fields:
/// - Arguments must be an object: nothing becomes `{}`, anything else `{"unparsed_arguments": "<the text>"}`.
/// - A tool's name is sent as letters, digits, `_` and `-`, at most 64 and not beginning with a digit or `-`.
/// - A call and its result carry the call's place in the trace as their id, whatever id the vendor gave the call.
/// - A call's `thoughtSignature` goes back on it. The vendor refuses a conversation in which the first call of an answer has
///   none; for calls that another vendor's model made it documents a value to send instead.
/// - A signature of text or of thoughts is kept as a thinking part without text, placed before its text (see `signed.rs`),
///   so that no text is cut in two. Thinking that no signature of ours confirms is not sent back.
/// - Text of nothing but white space is left out, and a message with nothing else says `(empty)`: contents without parts and
///   parts without data are refused.
/// - A conversation that does not begin with a user message gets one, since a call may only follow one, as does one that
///   ends in an answer, and two answers in a row get one between them ([`Codec::between`]).
/// - Pictures, sound and documents are sent in the media types that the vendor takes, also by URL; in a tool's result
///   pictures and PDF by value. All else is named, not sent.
/// - Schemas are sent as the JSON Schema they are, but beside `$ref` only what the vendor allows there.
/// - `effort` is `thinkingLevel` (a `thinkingBudget` for models before Gemini 3) and asks for the thoughts as well.
/// - Caching needs no marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gemini {
    quirks: Quirks,
    issuer: String,
}

impl Gemini {
    /// The codec for a server with these quirks. `issuer` is who makes its signatures and alone may see them.
    pub fn new(quirks: Quirks, issuer: &str) -> Gemini {
        Gemini { quirks, issuer: issuer.into() }
    }
}

impl Codec for Gemini {
    fn format(&self) -> &'static str {
        "gemini"
    }

    fn encode_group(&self, group: &[Message], out: &mut Vec<u8>) {
        content::encode(group, &self.issuer, out);
    }

    fn between(&self, before: Option<Role>, after: Option<Role>) -> Option<&'static str> {
        match (before, after) {
            (None, Some(Role::Assistant | Role::Tool)) => {
                Some(r#"{"role":"user","parts":[{"text":"(The conversation up to here is not shown.)"}]}"#)
            }
            (Some(Role::Assistant), None | Some(Role::Assistant)) | (None, None) => {
                Some(r#"{"role":"user","parts":[{"text":"(Go on.)"}]}"#)
            }
            (None, Some(Role::User))
            | (Some(Role::User | Role::Tool), _)
            | (Some(Role::Assistant), Some(Role::User | Role::Tool)) => None,
        }
    }

    fn encode_frame(&self, head: &RequestHead) -> Frame {
        let fields = HeadFields {
            system_instruction: (!head.system.trim().is_empty())
                .then(|| SystemInstruction { parts: [TextPart { text: &head.system }] }),
            tools: (!head.tools.is_empty())
                .then(|| [Tools { function_declarations: head.tools.iter().map(declaration).collect() }]),
            generation_config: self.generation_config(head),
        };
        let mut before = Vec::with_capacity(1024);
        push_json(&mut before, &fields);
        before.pop();
        if before.len() > 1 {
            before.push(b',');
        }
        before.extend_from_slice(b"\"contents\":[");
        Frame { before, after: b"]}".to_vec() }
    }

    fn route(&self, endpoint: &Endpoint, head: &RequestHead) -> Route {
        let name = head.model.replace('%', "%25");
        let folder = if name.starts_with("models/") || name.starts_with("tunedModels/") { "" } else { "models/" };
        let version = if ends_in_version(&endpoint.url("")) { String::new() } else { format!("{VERSION}/") };
        let url = |method: &str| endpoint.url(&format!("{version}{folder}{name}:{method}"));
        let url = if head.stream && self.quirks.stream {
            let url = url("streamGenerateContent");
            format!("{url}{}alt=sse", if url.contains('?') { '&' } else { '?' })
        } else {
            url("generateContent")
        };
        Route { url, headers: Vec::new(), key: KeyHeader { name: "x-goog-api-key", prefix: "" } }
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

impl Gemini {
    fn generation_config(&self, head: &RequestHead) -> Option<GenerationConfig> {
        let schema = head.output_schema.as_ref().filter(|_| self.quirks.output_schema);
        let config = GenerationConfig {
            temperature: head.temperature.filter(|t| t.is_finite()),
            max_output_tokens: head.max_output.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)),
            thinking_config: head.effort.map(|effort| thinking(&head.model, effort)),
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema.map(schema::sent),
        };
        let set = config.temperature.is_some()
            || config.max_output_tokens.is_some()
            || config.thinking_config.is_some()
            || schema.is_some();
        set.then_some(config)
    }
}

/// Whether the path of an address ends in a version of the API, such as `v1` or `v1beta`.
fn ends_in_version(url: &str) -> bool {
    let after_host = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let path = after_host.map_or("", |(_, path)| path).split('?').next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let digits = last.strip_prefix('v').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    digits.is_some_and(|rest| {
        let kind = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        last.as_bytes().get(1).is_some_and(u8::is_ascii_digit) && matches!(kind, "" | "alpha" | "beta")
    })
}

/// Models before Gemini 3 know only budgets; the numbers are those by which the vendor's OpenAI-compatible server
/// translates the same three words (guide "OpenAI compatibility").
fn thinking(model: &str, effort: Effort) -> ThinkingConfig {
    let name = model.rsplit('/').next().unwrap_or_default();
    let (level, budget) = match effort {
        Effort::Low => ("LOW", 1024),
        Effort::Medium => ("MEDIUM", 8192),
        Effort::High => ("HIGH", 24_576),
    };
    let by_budget = name.starts_with("gemini-2.");
    ThinkingConfig {
        include_thoughts: true,
        thinking_level: (!by_budget).then_some(level),
        thinking_budget: by_budget.then_some(budget),
    }
}

fn declaration(spec: &mainpath_types::ToolSpec) -> Declaration<'_> {
    Declaration {
        name: function_name(&spec.name),
        description: &spec.description,
        parameters_json_schema: schema::sent(&spec.input_schema),
    }
}

/// The request without its contents: the prefix that the server caches begins with tools and system text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HeadFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [TextPart<'a>; 1],
}

#[derive(Serialize)]
struct TextPart<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters_json_schema: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_can_end_in_a_version() {
        for url in ["https://h/v1/", "https://h/a/v1beta", "https://h/v1alpha?x=/", "https://h/v2beta3/"] {
            assert!(ends_in_version(url), "{url}");
        }
        for url in [
            "https://v1/",
            "https://h/",
            "https://h",
            "https://h/v",
            "https://h/vbeta",
            "https://h/v1/x",
            "https://h/v1.5",
        ] {
            assert!(!ends_in_version(url), "{url}");
        }
    }

    #[test]
    fn a_functions_name_begins_with_a_letter_or_an_underscore() {
        assert_eq!(function_name("read_text-file9"), "read_text-file9");
        assert_eq!(function_name("9lives"), "_9lives");
        assert_eq!(function_name("-a.b ü"), "_-a_b__");
        assert_eq!(function_name(""), "_");
        assert_eq!(function_name(&"7".repeat(80)), format!("_{}", "7".repeat(63)));
    }
}
