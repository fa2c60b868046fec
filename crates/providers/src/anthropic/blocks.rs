//! Messages as the API's content blocks.

use crate::codec::wire_call_id;
use crate::text::as_text;
use crate::wire::{placeholder, wire_arguments, wire_name};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_types::{CallId, Message, Part, Role, Seq, Signature, Source};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Stands for a text where the API wants one and there is none.
const EMPTY: &str = "[empty]";

/// Before the data of redacted thinking in [`Signature::value`], which tells it from the signature of readable thinking.
/// No signature begins like this: they are base64.
const REDACTED: &str = "redacted_thinking:";

/// The most characters of a document's title.
const MAX_TITLE: usize = 500;

/// A message on the wire.
#[derive(Serialize)]
pub(super) struct Element<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        #[serde(serialize_with = "as_text")]
        text: Cow<'a, str>,
    },
    Image {
        source: Bytes<'a>,
    },
    Document {
        source: Bytes<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    Thinking {
        #[serde(serialize_with = "as_text")]
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// Where the bytes of a picture or document are.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Bytes<'a> {
    Url {
        url: &'a str,
    },
    Base64 {
        media_type: &'static str,
        #[serde(serialize_with = "as_text")]
        data: &'a str,
    },
    Text {
        media_type: &'static str,
        #[serde(serialize_with = "as_text")]
        data: String,
    },
}

impl<'a> Element<'a> {
    /// All results of a turn.
    pub fn results(group: &'a [Message]) -> Element<'a> {
        let parts = group.iter().flat_map(|message| &message.parts);
        Element::of("user", parts.filter_map(result).collect())
    }

    /// A message of a person or the model. Thinking goes out if this issuer signed it.
    pub fn message(message: &'a Message, issuer: &str) -> Element<'a> {
        match message.role {
            Role::Assistant => Element::of("assistant", said(message, issuer)),
            Role::User | Role::Tool => Element::of("user", message.parts.iter().filter_map(shown).collect()),
        }
    }

    fn of(role: &'static str, mut content: Vec<Block<'a>>) -> Element<'a> {
        if content.is_empty() {
            content.push(Block::Text { text: EMPTY.into() });
        }
        Element { role, content }
    }
}

/// A text; `None` if it is blank, which the API refuses.
fn text<'a>(text: impl Into<Cow<'a, str>>) -> Option<Block<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then_some(Block::Text { text })
}

/// A part as text; `None` if it is blank or no content.
fn told(part: &Part) -> Option<Block<'_>> {
    match part {
        Part::Text { text: value } => text(value),
        other => placeholder(other).and_then(text),
    }
}

/// A part of a user message or a result; `None` for what has no place there.
fn shown(part: &Part) -> Option<Block<'_>> {
    let block = match part {
        Part::Image { source } => image(source),
        Part::Document { source, name, .. } => document(source, name.as_deref()),
        _ => None,
    };
    block.or_else(|| told(part))
}

fn image(source: &Source) -> Option<Block<'_>> {
    let source = match source {
        Source::Url { url } => Bytes::Url { url },
        Source::Base64 { data, media_type } => {
            let media_type = match media_type.to_ascii_lowercase().as_str() {
                "image/png" => "image/png",
                "image/jpeg" | "image/jpg" => "image/jpeg",
                "image/gif" => "image/gif",
                "image/webp" => "image/webp",
                _ => return None,
            };
            Bytes::Base64 { media_type, data }
        }
        Source::Blob { .. } => return None,
    };
    Some(Block::Image { source })
}

/// PDF by address or in base64, text as text.
fn document<'a>(source: &'a Source, name: Option<&str>) -> Option<Block<'a>> {
    let source = match source {
        Source::Url { url } => Bytes::Url { url },
        Source::Base64 { data, media_type } if media_type.eq_ignore_ascii_case("application/pdf") => {
            Bytes::Base64 { media_type: "application/pdf", data }
        }
        Source::Base64 { data, media_type } if media_type.to_ascii_lowercase().starts_with("text/") => {
            let data = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
            if data.trim().is_empty() {
                return None;
            }
            Bytes::Text { media_type: "text/plain", data }
        }
        Source::Base64 { .. } | Source::Blob { .. } => return None,
    };
    let title = name.filter(|name| !name.trim().is_empty()).map(|name| name.chars().take(MAX_TITLE).collect());
    Some(Block::Document { source, title })
}

fn result(part: &Part) -> Option<Block<'_>> {
    let Part::ToolResult { call, content, is_error, .. } = part else { return None };
    // The API refuses a failed result that is empty or holds anything but text (`anthropic` 2.12.0,
    // `anthropic/lib/tools/_toolsets/_sanitize.py`).
    let mut content: Vec<Block<'_>> = content.iter().filter_map(if *is_error { told } else { shown }).collect();
    if content.is_empty() && *is_error {
        content.push(Block::Text { text: EMPTY.into() });
    }
    Some(Block::ToolResult { tool_use_id: wire_call_id(*call), content, is_error: *is_error })
}

/// What an assistant said. Thinking and calls keep their order; other content that comes after a call goes before the first.
fn said<'a>(message: &'a Message, issuer: &str) -> Vec<Block<'a>> {
    let seq = message.seq.unwrap_or(Seq(0));
    let mut blocks = Vec::with_capacity(message.parts.len());
    let mut calls = 0u16;
    let mut before_calls = None;
    for part in &message.parts {
        match part {
            Part::Thinking { text, signature } => blocks.extend(thinking(text, signature.as_ref(), issuer)),
            Part::ToolCall { name, arguments, .. } => {
                before_calls.get_or_insert(blocks.len());
                let id = wire_call_id(CallId { seq, index: calls });
                calls = calls.saturating_add(1);
                let input = RawValue::from_string(wire_arguments(arguments).into_owned()).unwrap_or_default();
                blocks.push(Block::ToolUse { id, name: wire_name(name), input });
            }
            other => {
                if let Some(block) = told(other) {
                    let at = before_calls.unwrap_or(blocks.len());
                    blocks.insert(at, block);
                    before_calls = before_calls.map(|at| at + 1);
                }
            }
        }
    }
    // A message must not end in thinking (`anthropic` 2.12.0, `anthropic/lib/middleware/_fallbacks.py`).
    while matches!(blocks.last(), Some(Block::Thinking { .. } | Block::RedactedThinking { .. })) {
        blocks.pop();
    }
    blocks
}

/// Thinking as this issuer wants it back; `None` if it is not its own.
fn thinking<'a>(text: &'a str, signature: Option<&'a Signature>, issuer: &str) -> Option<Block<'a>> {
    let Signature { value, .. } =
        signature.filter(|signature| signature.issuer == issuer && !signature.value.is_empty())?;
    Some(match value.strip_prefix(REDACTED) {
        Some(data) => Block::RedactedThinking { data },
        None => Block::Thinking { thinking: text, signature: value },
    })
}

/// What [`Signature::value`] holds for redacted thinking.
pub(super) fn redacted(data: &str) -> String {
    format!("{REDACTED}{data}")
}
