//! From JSON of any of the formats to messages that may not fit together yet.

use super::form::{BadHistory, HistoryFormat};
use crate::mended::mended;
use mainpath_types::{Part, Signature, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Who speaks in a message as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Loose {
    pub speaker: Speaker,
    pub said: Vec<Part>,
    pub calls: Vec<LooseCall>,
    pub results: Vec<LooseResult>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LooseCall {
    pub id: Option<String>,
    pub name: String,
    pub arguments: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LooseResult {
    pub id: Option<String>,
    pub name: Option<String>,
    pub content: Vec<Part>,
    pub is_error: bool,
}

/// What was left out, and how often.
pub(super) type Notes = BTreeMap<&'static str, usize>;

pub(super) fn read(format: Option<HistoryFormat>, text: &str) -> Result<(Vec<Loose>, Notes), BadHistory> {
    let mut notes = Notes::new();
    let (list, system) = list(text, &mut notes)?;
    let mut messages = Vec::with_capacity(list.len());
    for said in system {
        messages.push(Loose { speaker: Speaker::System, said, calls: Vec::new(), results: Vec::new() });
    }
    for (number, value) in (1..).zip(&list) {
        let Some(fields) = value.as_object() else { return Err(BadHistory::NotAnObject(number)) };
        let parts = fields.get("parts").and_then(Value::as_array);
        let typed = parts.is_some_and(|parts| parts.iter().any(|part| part.get("type").is_some()));
        let told = match (parts, typed) {
            (Some(_), true) => HistoryFormat::Neutral,
            (Some(parts), false) if parts.is_empty() && format == Some(HistoryFormat::Neutral) => {
                HistoryFormat::Neutral
            }
            (Some(_), false) => HistoryFormat::Gemini,
            (None, _) => HistoryFormat::OpenAi,
        };
        let fits = match format {
            None => true,
            // These two share what a plain message looks like.
            Some(HistoryFormat::OpenAi | HistoryFormat::Anthropic) => told == HistoryFormat::OpenAi,
            Some(wanted) => told == wanted,
        };
        if !fits {
            return Err(BadHistory::OtherFormat(number));
        }
        if let Some(found) = item(value, &mut notes) {
            messages.extend(found);
            continue;
        }
        let role = fields.get("role").and_then(Value::as_str).ok_or(BadHistory::NoRole(number))?;
        let speaker = match role {
            "system" | "developer" => Speaker::System,
            "user" | "tool" | "function" => Speaker::User,
            "assistant" | "model" => Speaker::Assistant,
            other => {
                return Err(BadHistory::UnknownRole { message: number, role: other.chars().take(40).collect() });
            }
        };
        let mut message = Loose { speaker, said: Vec::new(), calls: Vec::new(), results: Vec::new() };
        match told {
            HistoryFormat::Neutral => neutral(value, &mut message, &mut notes),
            HistoryFormat::Gemini => {
                parts.into_iter().flatten().for_each(|part| gemini(part, &mut message, &mut notes));
            }
            HistoryFormat::OpenAi | HistoryFormat::Anthropic => content(value, role, &mut message, &mut notes),
        }
        messages.push(message);
    }
    Ok((messages, notes))
}

/// The texts of a system prompt: a text, a list of pieces, or Gemini's parts.
fn system_texts(value: &Value) -> Vec<Part> {
    match value {
        Value::String(text) => vec![Part::text(text)],
        Value::Array(pieces) => pieces.iter().flat_map(system_texts).collect(),
        Value::Object(fields) => {
            let inner = ["text", "parts", "content"].into_iter().find_map(|name| fields.get(name));
            inner.map(system_texts).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The messages of a list, of a request body, or of lines; and what a request body says to the system beside them.
fn list(given: &str, notes: &mut Notes) -> Result<(Vec<Value>, Vec<Vec<Part>>), BadHistory> {
    let text = given.trim_start_matches('\u{feff}');
    let readable = mended(text.as_bytes());
    let text = std::str::from_utf8(&readable).unwrap_or(text);
    if text.matches('\u{fffd}').count() > given.matches('\u{fffd}').count() {
        note(notes, UNREADABLE);
    }
    let whole: Result<Value, _> = serde_json::from_str(text);
    match whole {
        Ok(Value::Array(list)) => Ok((list, Vec::new())),
        Ok(Value::Object(mut fields)) => {
            // Anthropic's, Gemini's, and OpenAI's Responses' way to say what OpenAI's Chat Completions says in a message.
            let system = ["system", "systemInstruction", "system_instruction", "instructions"];
            let says = |name| fields.get(name).filter(|said| !is_nothing(said)).map(system_texts);
            let system: Vec<Vec<Part>> = system.into_iter().filter_map(says).collect();
            for name in ["messages", "contents", "input"] {
                match fields.remove(name) {
                    Some(Value::Array(list)) => return Ok((list, system)),
                    Some(Value::String(text)) if name == "input" => {
                        return Ok((vec![json!({"role": "user", "content": text})], system));
                    }
                    _ => {}
                }
            }
            if fields.contains_key("role") || fields.contains_key("type") {
                return Ok((vec![Value::Object(fields)], system));
            }
            Err(BadHistory::NoList)
        }
        Ok(_) => Err(BadHistory::NotAList),
        Err(error) => {
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let is_object = |line: &&str| line.trim_start().starts_with('{');
            if lines.len() < 2 || !lines.iter().all(is_object) {
                return Err(BadHistory::NotJson(error));
            }
            let read = lines
                .iter()
                .zip(1..)
                .map(|(text, line)| serde_json::from_str(text).map_err(|error| BadHistory::BadLine { line, error }));
            Ok((read.collect::<Result<_, _>>()?, Vec::new()))
        }
    }
}

fn string(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(Into::into)
}

fn note(notes: &mut Notes, what: &'static str) {
    *notes.entry(what).or_default() += 1;
}

/// Whether a value says nothing: null, or an empty text, list or object.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) const SYSTEM: &str = "system messages were left out: an agent's instructions come with its run";
const UNREADABLE: &str = "characters that cannot be read (half a surrogate pair) became \u{fffd}";
const UNKNOWN: &str = "pieces of an unknown kind were left out";
const THOUGHTS: &str = "thoughts were left out, which only their vendor could check";

/// JSON text of arguments that came as a value, or as text already.
fn arguments(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "{}".into(),
        Some(value) => value.to_string(),
    }
}

fn neutral(value: &Value, message: &mut Loose, notes: &mut Notes) {
    let seq = value.get("seq").and_then(Value::as_u64);
    for part in value.get("parts").and_then(Value::as_array).into_iter().flatten() {
        match serde_json::from_value::<Part>(part.clone()) {
            Ok(Part::ToolCall { name, arguments, .. }) => {
                let id = seq.map(|seq| format!("{seq}.{}", message.calls.len()));
                message.calls.push(LooseCall { id, name, arguments });
            }
            Ok(Part::ToolResult { call, name, content, is_error }) => {
                let content = content.into_iter().filter(is_sayable).collect();
                message.results.push(LooseResult { id: Some(call.to_string()), name: Some(name), content, is_error });
            }
            Ok(Part::StoredText { .. }) | Err(_) => note(notes, UNKNOWN),
            Ok(part) => message.said.push(part),
        }
    }
}

/// What can stand in a result or a person's message. What lies in another installation's blobs cannot be had.
fn is_sayable(part: &Part) -> bool {
    match part {
        Part::Text { .. } => true,
        Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } => {
            !matches!(source, Source::Blob { .. })
        }
        Part::StoredText { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => false,
    }
}

fn gemini(part: &Value, message: &mut Loose, notes: &mut Notes) {
    let either = |a: &str, b: &str| part.get(a).or_else(|| part.get(b));
    if part.get("thought").and_then(Value::as_bool) == Some(true) {
        note(notes, THOUGHTS);
    } else if let Some(text) = string(part, "text") {
        message.said.push(Part::text(text));
    } else if let Some(call) = either("functionCall", "function_call") {
        let name = string(call, "name").unwrap_or_default();
        message.calls.push(LooseCall { id: string(call, "id"), name, arguments: arguments(call.get("args")) });
    } else if let Some(result) = either("functionResponse", "function_response") {
        let response = result.get("response").cloned().unwrap_or_default();
        let is_error = response.get("error").is_some();
        let text = ["output", "result", "error"].iter().find_map(|name| string(&response, name));
        let content = vec![Part::text(text.unwrap_or_else(|| response.to_string()))];
        let (id, name) = (string(result, "id"), string(result, "name"));
        message.results.push(LooseResult { id, name, content, is_error });
    } else if let Some(data) = either("inlineData", "inline_data") {
        let media = string(data, "mimeType").or_else(|| string(data, "mime_type"));
        push_media(media, string(data, "data"), message, notes);
    } else if let Some(uri) =
        either("fileData", "file_data").and_then(|file| string(file, "fileUri").or_else(|| string(file, "file_uri")))
    {
        message.said.push(Part::Document { source: Source::Url { url: uri }, name: None, pages: None });
    } else {
        note(notes, UNKNOWN);
    }
}

/// What an item of OpenAI's Responses says that is no message: a call, its output, or a thought, of which nothing is left.
/// `None` if it is something else.
fn item(value: &Value, notes: &mut Notes) -> Option<Option<Loose>> {
    let mut message = Loose { speaker: Speaker::Assistant, said: Vec::new(), calls: Vec::new(), results: Vec::new() };
    if value.get("role").is_some() {
        return None;
    }
    match value.get("type").and_then(Value::as_str)? {
        "function_call" => {
            let (id, name) = (string(value, "call_id"), string(value, "name").unwrap_or_default());
            message.calls.push(LooseCall { id, name, arguments: arguments(value.get("arguments")) });
        }
        "function_call_output" => {
            message.speaker = Speaker::User;
            match value.get("output") {
                Some(Value::Array(pieces)) => pieces.iter().for_each(|piece| block(piece, &mut message, notes)),
                output => message.said.push(Part::text(output.and_then(Value::as_str).unwrap_or_default())),
            }
            let content = std::mem::take(&mut message.said);
            message.results.push(LooseResult { id: string(value, "call_id"), name: None, content, is_error: false });
        }
        "reasoning" => {
            note(notes, THOUGHTS);
            return Some(None);
        }
        _ => return None,
    }
    Some(Some(message))
}

/// OpenAI's and Anthropic's messages: a text or a list of pieces, and beside it OpenAI's calls.
fn content(value: &Value, role: &str, message: &mut Loose, notes: &mut Notes) {
    let mut said = Loose { said: Vec::new(), ..message.clone() };
    match value.get("content") {
        Some(Value::String(text)) => said.said.push(Part::text(text)),
        Some(Value::Array(pieces)) => pieces.iter().for_each(|piece| block(piece, &mut said, notes)),
        Some(Value::Null) | None => {}
        Some(_) => note(notes, UNKNOWN),
    }
    if let Some(refusal) = string(value, "refusal") {
        said.said.push(Part::text(refusal));
    }
    if matches!(role, "tool" | "function") {
        let id = string(value, "tool_call_id");
        message.results.push(LooseResult { id, name: string(value, "name"), content: said.said, is_error: false });
        return;
    }
    *message = said;
    for call in value.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function").unwrap_or(call);
        let name = string(function, "name").unwrap_or_default();
        let arguments = arguments(function.get("arguments"));
        message.calls.push(LooseCall { id: string(call, "id"), name, arguments });
    }
    // As it was before calls had ids.
    if let Some(call) = value.get("function_call").filter(|call| call.is_object()) {
        let name = string(call, "name").unwrap_or_default();
        message.calls.push(LooseCall { id: None, name, arguments: arguments(call.get("arguments")) });
    }
}

fn block(piece: &Value, message: &mut Loose, notes: &mut Notes) {
    let kind = piece.get("type").and_then(Value::as_str).unwrap_or_default();
    let source = piece.get("source").cloned().unwrap_or_default();
    match kind {
        "text" | "input_text" | "output_text" => {
            message.said.push(Part::text(string(piece, "text").unwrap_or_default()));
        }
        "refusal" => message.said.push(Part::text(string(piece, "refusal").unwrap_or_default())),
        "tool_use" => {
            let name = string(piece, "name").unwrap_or_default();
            message.calls.push(LooseCall { id: string(piece, "id"), name, arguments: arguments(piece.get("input")) });
        }
        "tool_result" => {
            let mut inner = Loose { said: Vec::new(), ..message.clone() };
            match piece.get("content") {
                Some(Value::String(text)) => inner.said.push(Part::text(text)),
                Some(Value::Array(pieces)) => {
                    let plain =
                        pieces.iter().filter(|piece| piece.get("type").and_then(Value::as_str) != Some("tool_result"));
                    plain.for_each(|piece| block(piece, &mut inner, notes));
                }
                Some(_) | None => {}
            }
            let is_error = piece.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            let id = string(piece, "tool_use_id");
            message.results.push(LooseResult { id, name: None, content: inner.said, is_error });
        }
        "image_url" | "input_image" => {
            let url =
                piece.get("image_url").map(|image| string(image, "url").or_else(|| image.as_str().map(Into::into)));
            match url.flatten().map(|url| (url.strip_prefix("data:").and_then(data_url), url)) {
                Some((Some((media, data)), _)) => push_media(Some(media), Some(data), message, notes),
                Some((None, url)) => message.said.push(Part::Image { source: Source::Url { url } }),
                None => note(notes, UNKNOWN),
            }
        }
        "image" | "document" => match (string(&source, "url"), string(&source, "data")) {
            (Some(url), _) if kind == "image" => message.said.push(Part::Image { source: Source::Url { url } }),
            (Some(url), _) => {
                message.said.push(Part::Document {
                    source: Source::Url { url },
                    name: string(piece, "title"),
                    pages: None,
                });
            }
            (None, data) => push_media(string(&source, "media_type"), data, message, notes),
        },
        // In no vendor's form: what may be read of a thought, without a signature.
        "thought" => {
            message.said.push(Part::Thinking { text: string(piece, "text").unwrap_or_default(), signature: None });
        }
        "thinking" | "redacted_thinking" | "reasoning" => note(notes, THOUGHTS),
        _ => note(notes, UNKNOWN),
    }
}

/// `image/png;base64,AAAA`
fn data_url(rest: &str) -> Option<(String, String)> {
    let (media, data) = rest.split_once(";base64,")?;
    Some((media.into(), data.into()))
}

fn push_media(media_type: Option<String>, data: Option<String>, message: &mut Loose, notes: &mut Notes) {
    let (Some(media_type), Some(data)) = (media_type, data) else { return note(notes, UNKNOWN) };
    let kind = media_type.split('/').next().unwrap_or_default().to_string();
    let source = Source::Base64 { data, media_type };
    message.said.push(match kind.as_str() {
        "image" => Part::Image { source },
        "audio" => Part::Audio { source },
        _ => Part::Document { source, name: None, pages: None },
    });
}

/// What nobody could check here was signed elsewhere.
pub(super) fn unsigned(part: Part) -> Option<Part> {
    match part {
        Part::Thinking { signature: Some(Signature { .. }), .. } => None,
        Part::Thinking { text, .. } if text.trim().is_empty() => None,
        part => Some(part),
    }
}
