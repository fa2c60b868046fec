//! From messages to the items of the request's `input`.

use crate::codec::wire_call_id;
use crate::text::as_text;
use crate::wire::{data_url, placeholder, result_text, wire_arguments, wire_name};
use crate::words::push_json;
use mainpath_types::{CallId, Message, Part, Role, Seq, Signature, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Stands for a message of which nothing can be sent.
const EMPTY: &str = "[empty]";

/// An item of the input. Assistant texts take the short form of a message, which has no id.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Cow<'a, str>>,
    },
    Call {
        r#type: &'static str,
        call_id: String,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_text")]
        arguments: Cow<'a, str>,
    },
    Output {
        r#type: &'static str,
        call_id: String,
        output: Content<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(serialize_with = "as_text")] Cow<'a, str>),
    Parts(Vec<Value>),
}

impl<'a> Item<'a> {
    fn said(role: &'static str, text: &'a str) -> Item<'a> {
        Item::Message { role, content: Content::Text(Cow::Borrowed(text)), phase: None }
    }
}

/// What the signature of a thinking part holds, if this vendor made it: a whole reasoning item, or what belongs to the
/// text after it.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    phase: Option<Cow<'a, str>>,
}

pub(super) fn encode(group: &[Message], issuer: &str, out: &mut Vec<u8>) {
    let mut elements = Elements { out, first: true };
    for message in group {
        match message.role {
            Role::User => elements.push(&user(&message.parts)),
            Role::Assistant => assistant(message, issuer, &mut elements),
            Role::Tool => {
                for part in &message.parts {
                    if let Part::ToolResult { call, content, .. } = part {
                        let call_id = wire_call_id(*call);
                        elements.push(&Item::Output {
                            r#type: "function_call_output",
                            call_id,
                            output: output(content),
                        });
                    }
                }
            }
        }
    }
    if elements.first && !group.is_empty() {
        let role = if group[0].role == Role::Assistant { "assistant" } else { "user" };
        elements.push(&Item::said(role, EMPTY));
    }
}

/// Elements of a JSON array, separated by commas.
struct Elements<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Elements<'_> {
    fn push(&mut self, item: &Item<'_>) {
        self.separate();
        push_json(self.out, item);
    }

    /// A whole item as it came.
    fn push_raw(&mut self, json: &str) {
        self.separate();
        self.out.extend_from_slice(json.as_bytes());
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }
}

fn user(parts: &[Part]) -> Item<'_> {
    let content = match parts {
        [Part::Text { text }] if !text.is_empty() => Content::Text(Cow::Borrowed(text)),
        _ => {
            let parts: Vec<Value> = parts.iter().filter_map(input_part).collect();
            if parts.is_empty() { Content::Text(Cow::Borrowed(EMPTY)) } else { Content::Parts(parts) }
        }
    };
    Item::Message { role: "user", content, phase: None }
}

/// A part of a user's message or of a tool's output; `None` for what has no place in one.
fn input_part(part: &Part) -> Option<Value> {
    let text = |text: &str| json!({"type": "input_text", "text": text});
    // `detail` must be there in messages; auto is its default.
    let image = |url: &str| json!({"type": "input_image", "image_url": url, "detail": "auto"});
    Some(match part {
        Part::Text { text: said } if said.is_empty() => return None,
        Part::Text { text: said } => text(said),
        Part::Image { source: Source::Url { url } } => image(url),
        Part::Image { source: Source::Base64 { data, media_type } } => image(&data_url(media_type, data)),
        Part::Document { source: Source::Url { url }, .. } => json!({"type": "input_file", "file_url": url}),
        Part::Document { source: Source::Base64 { data, media_type }, name, .. } => {
            let filename = name.as_deref().unwrap_or("document");
            json!({"type": "input_file", "filename": filename, "file_data": data_url(media_type, data)})
        }
        Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } | Part::StoredText { .. } => {
            text(&placeholder(part)?)
        }
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => return None,
    })
}

/// Plain text where it is text only: every compatible server takes that.
fn output(content: &[Part]) -> Content<'_> {
    let with_bytes = |part: &Part| match part {
        Part::Image { source } | Part::Document { source, .. } => !matches!(source, Source::Blob { .. }),
        _ => false,
    };
    if content.iter().any(with_bytes) {
        Content::Parts(content.iter().filter_map(input_part).collect())
    } else {
        Content::Text(result_text(content))
    }
}

fn assistant(message: &Message, issuer: &str, elements: &mut Elements<'_>) {
    let seq = message.seq.unwrap_or(Seq(0));
    let mut index = 0u16;
    let mut phase = None;
    // Reasoning waits for what follows it.
    let mut reasoning: Vec<&str> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Thinking { signature, .. } => {
                phase = None;
                match kept(signature.as_ref(), issuer) {
                    Some((json, Kept { r#type: Some(kind), .. })) if kind == "reasoning" => reasoning.push(json),
                    Some((_, Kept { phase: Some(known), .. })) => phase = Some(known),
                    _ => {}
                }
            }
            Part::Text { text } => {
                let phase = phase.take();
                if !text.is_empty() {
                    reasoning.drain(..).for_each(|json| elements.push_raw(json));
                    let content = Content::Text(Cow::Borrowed(text));
                    elements.push(&Item::Message { role: "assistant", content, phase });
                }
            }
            Part::ToolCall { name, arguments, .. } => {
                reasoning.drain(..).for_each(|json| elements.push_raw(json));
                let call_id = wire_call_id(CallId { seq, index });
                index = index.saturating_add(1);
                let (name, arguments) = (wire_name(name), wire_arguments(arguments));
                elements.push(&Item::Call { r#type: "function_call", call_id, name, arguments });
            }
            Part::StoredText { .. } | Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } => {
                if let Some(text) = placeholder(part) {
                    reasoning.drain(..).for_each(|json| elements.push_raw(json));
                    elements.push(&Item::said("assistant", &text));
                }
            }
            Part::ToolResult { .. } => {}
        }
    }
}

/// What a signature holds; `None` if it is another vendor's, or no JSON object.
fn kept<'a>(signature: Option<&'a Signature>, issuer: &str) -> Option<(&'a str, Kept<'a>)> {
    let Signature { value, .. } = signature.filter(|signature| signature.issuer == issuer)?;
    let kept = serde_json::from_str(value).ok()?;
    value.starts_with('{').then_some((value, kept))
}
