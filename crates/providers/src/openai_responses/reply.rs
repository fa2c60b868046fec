//! From the items of an answer to the neutral one.

use crate::errors;
use crate::mended::{Count, Word, or_none};
use crate::words::{error, snippet};
use mainpath_types::{ModelError, ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The object that a whole answer is, and that the first and last events of a stream carry.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(default)]
    pub(super) model: Word,
    #[serde(default)]
    status: Word,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_none")]
    incomplete_details: Option<Incomplete>,
    #[serde(borrow, default)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(default, deserialize_with = "or_none")]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Word,
}

#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default, deserialize_with = "or_none")]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default, deserialize_with = "or_none")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    cache_write_tokens: Count,
}

#[derive(Clone, Copy, Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: Count,
}

impl WireUsage {
    /// `None` if it says nothing.
    fn neutral(self) -> Option<Usage> {
        let input = self.input_tokens_details;
        self.input_tokens.0.or(self.output_tokens.0)?;
        Some(Usage {
            input: self.input_tokens.0.unwrap_or(0),
            output: self.output_tokens.0.unwrap_or(0),
            cache_read: input.and_then(|details| details.cached_tokens.0).unwrap_or(0),
            cache_write: input.and_then(|details| details.cache_write_tokens.0).unwrap_or(0),
            reasoning: self.output_tokens_details.and_then(|details| details.reasoning_tokens.0).unwrap_or(0),
        })
    }
}

impl Response<'_> {
    /// How the answer ended.
    ///
    /// # Errors
    /// What the server says if it failed, and that it has not answered if it has not.
    pub(super) fn ending(&self) -> Result<Ending, ModelError> {
        if let Some(body) = self.error.filter(|raw| raw.get() != "null") {
            return Err(errors::in_answer(body.get()));
        }
        let stop = match self.status.0.as_deref() {
            Some(status @ ("failed" | "cancelled" | "queued" | "in_progress")) => {
                let message = format!("the server ended the answer with the status {status}");
                return Err(error(ModelErrorKind::Server, message));
            }
            _ => match self.incomplete_details.as_ref().and_then(|details| details.reason.0.as_deref()) {
                Some("content_filter") => Some(StopReason::ContentFilter),
                // `max_output_tokens`; by whatever else it was cut, the answer is not whole.
                Some(_) => Some(StopReason::MaxTokens),
                None if self.status.0.as_deref() == Some("incomplete") => Some(StopReason::MaxTokens),
                None => None,
            },
        };
        Ok(Ending { stop, usage: self.usage.and_then(WireUsage::neutral), model: self.model.0.clone() })
    }
}

/// What the end of an answer says about the whole.
pub(super) struct Ending {
    /// Why it is incomplete; `None` if it is complete.
    pub(super) stop: Option<StopReason>,
    usage: Option<Usage>,
    pub(super) model: Option<String>,
}

impl Ending {
    /// The end of an answer of which no more is read.
    pub(super) fn cut() -> Ending {
        Ending { stop: Some(StopReason::MaxTokens), usage: None, model: None }
    }
}

/// An item of an answer.
pub(super) enum Item {
    /// Reasoning, and the item as it came if the server can read it again.
    Reasoning { text: String, whole: Option<String> },
    /// What is said, and whether it is a refusal.
    Message { text: String, phase: Option<String>, refusal: bool },
    /// A call, and whether it was cut.
    Call { name: String, arguments: String, cut: bool },
}

#[derive(Deserialize)]
struct WireItem<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    #[serde(default)]
    phase: Word,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    encrypted_content: Option<&'a RawValue>,
    #[serde(default)]
    name: Word,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    text: Word,
    #[serde(default)]
    refusal: Word,
}

/// Reads an item; `Ok(None)` for kinds that are not asked for.
pub(super) fn item(raw: &RawValue) -> Result<Option<Item>, ModelError> {
    let unreadable = || {
        let message = format!("the server sent an output item that cannot be read: {}", snippet(raw.get().as_bytes()));
        error(ModelErrorKind::Server, message)
    };
    let wire: WireItem<'_> = serde_json::from_str(raw.get()).map_err(|_| unreadable())?;
    let pieces = |value: Option<&RawValue>| -> Result<Vec<Piece>, ModelError> {
        let pieces: Option<Vec<Piece>> =
            value.map_or(Ok(None), |value| serde_json::from_str(value.get())).map_err(|_| unreadable())?;
        Ok(pieces.unwrap_or_default())
    };
    let joined = |pieces: Vec<Piece>, between: &str| -> String {
        let texts: Vec<String> = pieces.into_iter().filter_map(|piece| piece.text.0).collect();
        texts.join(between)
    };
    let cut = matches!(wire.status.as_deref(), Some("incomplete" | "in_progress"));
    Ok(match wire.r#type.as_deref() {
        Some("reasoning") => {
            let (summary, content) = (joined(pieces(wire.summary)?, "\n\n"), joined(pieces(wire.content)?, "\n\n"));
            let encrypted = wire.encrypted_content.is_some_and(|value| !matches!(value.get(), "null" | "\"\""));
            let readable = !cut && (encrypted || !content.is_empty());
            let text = if summary.is_empty() { content } else { summary };
            Some(Item::Reasoning { text, whole: readable.then(|| raw.get().to_owned()) })
        }
        Some("message") => {
            let mut text = String::new();
            let mut refusal = false;
            for piece in pieces(wire.content)? {
                text.push_str(&piece.text.0.unwrap_or_default());
                refusal |= piece.refusal.0.is_some();
                text.push_str(&piece.refusal.0.unwrap_or_default());
            }
            Some(Item::Message { text, phase: wire.phase.0, refusal })
        }
        Some("function_call") => {
            let arguments = wire.arguments.map(argument_text).unwrap_or_default();
            Some(Item::Call { name: wire.name.0.unwrap_or_default(), arguments, cut })
        }
        _ => None,
    })
}

/// A string by the format; an object is taken as its text.
fn argument_text(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
        text => text.to_owned(),
    }
}

/// The answer that these items are. A call without arguments gets `{}`, unless the answer was cut.
pub(super) fn reply(items: impl Iterator<Item = Item>, ending: Ending, issuer: &str) -> ModelReply {
    let mut parts = Vec::new();
    let (mut calls, mut refused, mut cut_call) = (false, false, false);
    let mut sign = |value: String| Signature { issuer: issuer.into(), value };
    for item in items {
        match item {
            Item::Reasoning { text, whole } if !text.is_empty() || whole.is_some() => {
                parts.push(Part::Thinking { text, signature: whole.map(&mut sign) });
            }
            Item::Message { text, phase, refusal } if !text.is_empty() => {
                refused |= refusal;
                if let Some(phase) = phase {
                    let value = serde_json::json!({"phase": phase}).to_string();
                    parts.push(Part::Thinking { text: String::new(), signature: Some(sign(value)) });
                }
                parts.push(Part::text(text));
            }
            Item::Call { name, arguments, cut } => {
                calls = true;
                cut_call |= cut;
                parts.push(Part::ToolCall { name, arguments, signature: None });
            }
            Item::Reasoning { .. } | Item::Message { .. } => {}
        }
    }
    let stop = match ending.stop {
        Some(stop) => stop,
        None if cut_call => StopReason::MaxTokens,
        None if refused => StopReason::ContentFilter,
        None if calls => StopReason::ToolCalls,
        None => StopReason::End,
    };
    if stop == StopReason::ToolCalls {
        for part in &mut parts {
            if let Part::ToolCall { arguments, .. } = part
                && arguments.trim().is_empty()
            {
                *arguments = "{}".into();
            }
        }
    }
    ModelReply { parts, usage: ending.usage, stop, model: ending.model.filter(|model| !model.is_empty()) }
}

/// The answer in a whole body.
pub(super) fn decode(body: &[u8], issuer: &str) -> Result<ModelReply, ModelError> {
    let no_answer = || {
        let message = format!(
            "the server answered with something that is not a response object: {}; is the base URL right (it often ends in /v1)?",
            snippet(body)
        );
        error(ModelErrorKind::Server, message)
    };
    let response: Response<'_> = serde_json::from_slice(body).map_err(|_| no_answer())?;
    let ending = response.ending()?;
    let items: Vec<Option<Item>> =
        response.output.ok_or_else(no_answer)?.into_iter().map(item).collect::<Result<_, _>>()?;
    Ok(reply(items.into_iter().flatten(), ending, issuer))
}
