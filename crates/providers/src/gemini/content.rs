//! From neutral messages to contents.

use super::name::function_name;
use super::signed::{Mark, divide, mark};
use crate::codec::wire_call_id;
use crate::text::as_text;
use crate::wire::{placeholder, result_text, wire_arguments};
use crate::words::push_json;
use mainpath_types::{CallId, Message, Part, Role, Seq, Source};
use serde::Serialize;
use std::borrow::Cow;

/// What the vendor accepts in place of a signature on the first call of an answer that none of its models gave (guide
/// "Thought signatures", questions on history from other models). It is valid base64, as the field must be.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// What stands for a message without anything to send.
const EMPTY: &str = "(empty)";

/// Encodes a group as one content for each message, the results of a turn together as one.
pub(super) fn encode(group: &[Message], issuer: &str, out: &mut Vec<u8>) {
    if group.first().is_some_and(|message| message.role == Role::Tool) {
        let mut content = Content::open("user", out);
        group.iter().flat_map(|message| &message.parts).for_each(|part| result(part, &mut content));
        return content.close();
    }
    for (number, message) in group.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        if message.role == Role::Assistant {
            model(message, issuer, Content::open("model", out));
        } else {
            let mut content = Content::open("user", out);
            message.parts.iter().for_each(|part| input(part, &mut content));
            content.close();
        }
    }
}

/// A content that is being written.
struct Content<'o> {
    out: &'o mut Vec<u8>,
    /// Whether it has a part.
    begun: bool,
    /// Whether it has a part that is no thought.
    speaks: bool,
}

impl<'o> Content<'o> {
    fn open(role: &str, out: &'o mut Vec<u8>) -> Content<'o> {
        out.extend_from_slice(br#"{"role":""#);
        out.extend_from_slice(role.as_bytes());
        out.extend_from_slice(br#"","parts":["#);
        Content { out, begun: false, speaks: false }
    }

    /// Where the next part is to be written.
    fn part(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        self.speaks = true;
        self.out
    }

    fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            push_json(self.part(), &TextPart { text, ..TextPart::default() });
        }
    }

    /// A part of a text as the vendor divided it.
    fn piece(&mut self, text: &str, signature: Option<&str>) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        push_json(self.part(), &TextPart { text, thought_signature: signature, ..TextPart::default() });
    }

    fn thought(&mut self, text: &str, signature: &str) {
        let speaks = self.speaks;
        let part = TextPart { text, thought: true, thought_signature: Some(signature) };
        push_json(self.part(), &part);
        self.speaks = speaks;
    }

    fn close(mut self) {
        if !self.speaks {
            self.text(EMPTY);
        }
        self.out.extend_from_slice(b"]}");
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct TextPart<'a> {
    #[serde(serialize_with = "as_text")]
    text: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum MediaPart<'a> {
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'a str,
        #[serde(serialize_with = "as_text")]
        data: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    FileData { mime_type: &'a str, file_uri: &'a str },
}

fn model(message: &Message, issuer: &str, mut content: Content<'_>) {
    let seq = message.seq.unwrap_or(Seq(0));
    let mut index = 0;
    // How the text that comes next is divided.
    let mut division: Vec<(usize, Option<&str>)> = Vec::new();
    for part in &message.parts {
        let pieces = std::mem::take(&mut division);
        if let Part::Text { text } = part
            && let Some(pieces) = divide(text, &pieces)
        {
            pieces.iter().for_each(|(text, signature)| content.piece(text, *signature));
            continue;
        }
        on_empty_parts(&pieces, &mut content);
        match part {
            Part::Text { text } => content.text(text),
            Part::Thinking { text, signature: Some(signature) } if signature.issuer == issuer => {
                match mark(&signature.value) {
                    _ if !text.is_empty() => content.thought(text, &signature.value),
                    Mark::Thought(value) => content.thought("", value),
                    Mark::Text(pieces) => division = pieces,
                }
            }
            Part::ToolCall { name, arguments, signature } => {
                let own = signature.as_ref().filter(|signature| signature.issuer == issuer);
                let stand_in = (index == 0).then_some(FOREIGN_CALL);
                let signature = own.map(|signature| signature.value.as_str()).or(stand_in);
                call(CallId { seq, index }, name, arguments, signature, content.part());
                index = index.saturating_add(1);
            }
            other => content.text(&placeholder(other).unwrap_or_default()),
        }
    }
    on_empty_parts(&division, &mut content);
    content.close();
}

/// Signatures without the text that they belong to.
fn on_empty_parts(division: &[(usize, Option<&str>)], content: &mut Content<'_>) {
    division.iter().for_each(|(_, signature)| content.piece("", *signature));
}

fn call(id: CallId, name: &str, arguments: &str, signature: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"functionCall":{"id":"#);
    push_json(out, &wire_call_id(id));
    out.extend_from_slice(br#","name":"#);
    push_json(out, &function_name(name));
    out.extend_from_slice(br#","args":"#);
    out.extend_from_slice(wire_arguments(arguments).trim().as_bytes());
    out.push(b'}');
    if let Some(signature) = signature {
        out.extend_from_slice(br#","thoughtSignature":"#);
        push_json(out, signature);
    }
    out.push(b'}');
}

/// A part of a user message.
fn input(part: &Part, content: &mut Content<'_>) {
    match (part, media(part)) {
        (_, Some(media)) => push_json(content.part(), &media),
        (Part::Text { text }, _) => content.text(text),
        (other, _) => content.text(&placeholder(other).unwrap_or_default()),
    }
}

fn media(part: &Part) -> Option<MediaPart<'_>> {
    let (Part::Image { source } | Part::Audio { source } | Part::Document { source, .. }) = part else { return None };
    match source {
        Source::Base64 { data, media_type } => {
            Some(MediaPart::InlineData { mime_type: wire_media_type(part, media_type)?, data })
        }
        Source::Url { url } if ["https://", "http://", "gs://"].iter().any(|start| url.starts_with(start)) => {
            Some(MediaPart::FileData { mime_type: media_type_of_url(part, url)?, file_uri: url })
        }
        Source::Url { .. } | Source::Blob { .. } => None,
    }
}

/// A media type that the vendor takes, in its words (guides on image, audio and document understanding).
fn wire_media_type(part: &Part, media_type: &str) -> Option<&'static str> {
    let plain = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known: &[&'static str] = match part {
        Part::Image { .. } => &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
        Part::Audio { .. } => &["audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"],
        _ => &["application/pdf", "text/plain", "text/html", "text/css", "text/csv", "text/markdown", "text/xml"],
    };
    let name = match plain.as_str() {
        "image/jpg" => "image/jpeg",
        "audio/mpeg" => "audio/mp3",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/x-aiff" => "audio/aiff",
        "audio/x-flac" => "audio/flac",
        other => other,
    };
    known.iter().find(|known| **known == name).copied()
}

/// The media type is a required field; an address names it by its ending or is taken for the commonest of its kind.
fn media_type_of_url(part: &Part, url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ending =
        path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
    let (kind, commonest) = match part {
        Part::Image { .. } => ("image", "image/jpeg"),
        Part::Audio { .. } => ("audio", "audio/mp3"),
        _ => ("text", "application/pdf"),
    };
    match ending.as_deref() {
        Some("txt") => Some("text/plain"),
        Some("md") => Some("text/markdown"),
        Some("htm") => Some("text/html"),
        Some("gif" | "svg" | "bmp" | "tif" | "tiff") => None,
        Some("jpg") => Some("image/jpeg"),
        Some(ending) => wire_media_type(part, &format!("{kind}/{ending}")).or(Some(commonest)),
        None => Some(commonest),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultPart<'a> {
    function_response: FunctionResponse<'a>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: String,
    name: Cow<'a, str>,
    response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<MediaPart<'a>>,
}

/// The vendor's words for what a function gave and for why it failed.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(#[serde(serialize_with = "as_text")] Cow<'a, str>),
    Error(#[serde(serialize_with = "as_text")] Cow<'a, str>),
}

fn result(part: &Part, content: &mut Content<'_>) {
    let Part::ToolResult { call, name, content: given, is_error } = part else { return };
    // By value, and no sound: a result's parts take less than a message's.
    let by_value = |part: &Part| match (part, media(part)) {
        (Part::Audio { .. }, _) => false,
        (_, Some(MediaPart::InlineData { mime_type, .. })) => mime_type != "image/heic" && mime_type != "image/heif",
        _ => false,
    };
    let parts: Vec<MediaPart<'_>> = given.iter().filter(|part| by_value(part)).filter_map(media).collect();
    let text = if parts.is_empty() {
        result_text(given)
    } else {
        Cow::Owned(result_text(&given.iter().filter(|part| !by_value(part)).cloned().collect::<Vec<_>>()).into_owned())
    };
    let response = if *is_error { Response::Error(text) } else { Response::Output(text) };
    let part = ResultPart {
        function_response: FunctionResponse { id: wire_call_id(*call), name: function_name(name), response, parts },
    };
    push_json(content.part(), &part);
}
