//! From the vendor's answer, whole or in pieces, to the neutral one.

use super::blocks::redacted;
use crate::errors;
use crate::event_stream::{self, Progress};
use crate::mended::{Count, Word, or_none};
use crate::wire::unheard;
use crate::words::{error, snippet};
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// More content blocks than this in one answer are garbage, not an answer.
const MAX_BLOCKS: usize = 4096;

/// A whole answer or one event of a stream, each with the fields of its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(default)]
    index: Count,
    /// Of `message_start`.
    #[serde(borrow, default)]
    message: Option<WireMessage<'a>>,
    /// Of `content_block_start`.
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    /// Of `content_block_delta` and `message_delta`.
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    /// Of `message_delta`.
    #[serde(default, deserialize_with = "or_none")]
    usage: Option<WireUsage>,
    /// Of `error`.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// What tells the type of an event, block or piece when the rest is not as expected.
#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

/// Why something could not be added to the answer.
enum Refused {
    /// It has not the shape that its type has.
    Misshapen,
    /// The server said so, or there is too much.
    Error(ModelError),
}

impl From<ModelError> for Refused {
    fn from(error: ModelError) -> Refused {
        Refused::Error(error)
    }
}

/// Reads something that has a type. `None` if the type is none of these: the vendor adds types without a new version of
/// the API, and they may have any shape.
fn read<'a, T: Deserialize<'a>>(json: &'a [u8], types: &[&str]) -> Result<Option<T>, Refused> {
    serde_json::from_slice(json).map(Some).or_else(|_| match serde_json::from_slice::<Typed>(json) {
        Ok(typed) if !types.contains(&typed.r#type.as_str()) => Ok(None),
        _ => Err(Refused::Misshapen),
    })
}

const EVENTS: [&str; 5] = ["message_start", "content_block_start", "content_block_delta", "message_delta", "error"];
const BLOCKS: [&str; 4] = ["text", "thinking", "redacted_thinking", "tool_use"];
const DELTAS: [&str; 4] = ["text_delta", "thinking_delta", "signature_delta", "input_json_delta"];

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    model: Word,
    #[serde(default)]
    stop_reason: Word,
    #[serde(default, deserialize_with = "or_none")]
    usage: Option<WireUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    r#type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    /// Of `redacted_thinking`.
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct WireDelta {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
}

/// The `delta` of `message_delta`.
#[derive(Deserialize)]
struct WireEnd {
    #[serde(default)]
    stop_reason: Word,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default, deserialize_with = "or_none")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Deserialize)]
struct OutputDetails {
    #[serde(default)]
    thinking_tokens: Count,
}

impl WireUsage {
    /// Counts of a stream are totals so far; one that is not said again stays.
    fn update(&mut self, newer: WireUsage) {
        let update = |known: &mut Count, newer: Count| known.0 = newer.0.or(known.0);
        update(&mut self.input_tokens, newer.input_tokens);
        update(&mut self.output_tokens, newer.output_tokens);
        update(&mut self.cache_creation_input_tokens, newer.cache_creation_input_tokens);
        update(&mut self.cache_read_input_tokens, newer.cache_read_input_tokens);
        self.output_tokens_details = newer.output_tokens_details.or(self.output_tokens_details);
    }

    /// `None` if it says nothing. What was cached is no part of `input_tokens` there and is one of
    /// [`Usage::input`] here.
    fn neutral(self) -> Option<Usage> {
        let cache_read = self.cache_read_input_tokens.0.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.0.unwrap_or(0);
        self.input_tokens.0.or(self.output_tokens.0)?;
        Some(Usage {
            input: self.input_tokens.0.unwrap_or(0).saturating_add(cache_read).saturating_add(cache_write),
            output: self.output_tokens.0.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: self.output_tokens_details.and_then(|details| details.thinking_tokens.0).unwrap_or(0),
        })
    }
}

/// An answer under construction.
pub(super) struct Draft {
    issuer: Box<str>,
    blocks: Vec<(u64, Block)>,
    calls: u16,
    usage: WireUsage,
    model: Option<String>,
    stop_reason: Option<String>,
}

enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        /// Its place among the calls.
        place: u16,
        name: String,
        /// The whole input, if it came with the block's start.
        input: String,
        /// The input in pieces.
        arguments: String,
    },
    /// A kind that is not ours, such as the tools that the vendor runs.
    Other,
}

impl Draft {
    /// An empty answer; its signatures are this issuer's.
    pub fn new(issuer: &str) -> Draft {
        Draft {
            issuer: issuer.into(),
            blocks: Vec::new(),
            calls: 0,
            usage: WireUsage::default(),
            model: None,
            stop_reason: None,
        }
    }

    fn add(&mut self, event: Event<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<Progress, Refused> {
        match &*event.r#type {
            "error" => return Err(errors::in_answer(event.error.map_or("{}", RawValue::get)).into()),
            "message_start" => {
                if let Some(message) = event.message {
                    self.message(message, deltas)?;
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start(event.index.0.unwrap_or(0), block, deltas)?;
                }
            }
            "content_block_delta" => {
                let delta = event.delta.map_or(Ok(None), |delta| read(delta.get().as_bytes(), &DELTAS))?;
                if let Some(delta) = delta {
                    self.grow(event.index.0.unwrap_or(0), delta, deltas);
                }
            }
            "message_delta" => {
                self.usage.update(event.usage.unwrap_or_default());
                let end: Option<WireEnd> = event.delta.map_or(Ok(None), |delta| read(delta.get().as_bytes(), &[]))?;
                self.stop_reason = end.and_then(|end| end.stop_reason.0).or(self.stop_reason.take());
            }
            "message_stop" => return Ok(Progress::Done),
            // Pings, ends of blocks, and what is not known.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn message(&mut self, message: WireMessage<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<(), Refused> {
        self.model = message.model.0.filter(|model| !model.is_empty()).or(self.model.take());
        self.usage.update(message.usage.unwrap_or_default());
        self.stop_reason = message.stop_reason.0.or(self.stop_reason.take());
        for (block, index) in message.content.unwrap_or_default().into_iter().zip(0..) {
            self.start(index, block, deltas)?;
        }
        Ok(())
    }

    fn start(&mut self, index: u64, block: &RawValue, deltas: &mut dyn FnMut(Delta)) -> Result<(), Refused> {
        if self.blocks.len() >= MAX_BLOCKS {
            let message = format!("the server sent more than {MAX_BLOCKS} content blocks in one answer");
            return Err(error(ModelErrorKind::Server, message).into());
        }
        let Some(block) = read::<WireBlock<'_>>(block.get().as_bytes(), &BLOCKS)? else {
            self.blocks.push((index, Block::Other));
            return Ok(());
        };
        let mut first = WireDelta::default();
        let new = match &*block.r#type {
            "text" => {
                first.text = block.text;
                Block::Text(String::new())
            }
            "thinking" => {
                first.thinking = block.thinking;
                first.signature = block.signature;
                Block::Thinking { text: String::new(), signature: String::new() }
            }
            "redacted_thinking" => Block::Redacted(block.data.unwrap_or_default()),
            "tool_use" => {
                let (place, name) = (self.calls, block.name.unwrap_or_default());
                self.calls = self.calls.saturating_add(1);
                deltas(Delta::Arguments { index: place, name: Some(name.clone()), text: String::new() });
                let input = block.input.map(RawValue::get).filter(|input| *input != "null").unwrap_or_default();
                Block::Call { place, name, input: input.to_owned(), arguments: String::new() }
            }
            _ => Block::Other,
        };
        self.blocks.push((index, new));
        self.grow(index, first, deltas);
        Ok(())
    }

    /// Adds a piece to the block of this number; one that fits no block is ignored.
    fn grow(&mut self, index: u64, piece: WireDelta, deltas: &mut dyn FnMut(Delta)) {
        let Some((_, block)) = self.blocks.iter_mut().rfind(|(known, _)| *known == index) else { return };
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        match block {
            Block::Text(whole) => {
                if let Some(text) = some(piece.text) {
                    whole.push_str(&text);
                    deltas(Delta::Text { text });
                }
            }
            Block::Thinking { text: whole, signature } => {
                // A signature comes in one piece.
                if let Some(value) = some(piece.signature) {
                    *signature = value;
                }
                if let Some(text) = some(piece.thinking) {
                    whole.push_str(&text);
                    deltas(Delta::Thinking { text });
                }
            }
            Block::Call { place, arguments, .. } => {
                if let Some(text) = some(piece.partial_json) {
                    arguments.push_str(&text);
                    deltas(Delta::Arguments { index: *place, name: None, text });
                }
            }
            Block::Redacted(_) | Block::Other => {}
        }
    }

    /// The answer. A call without arguments gets `{}`, unless the answer was cut: then its arguments stay as they are. In a
    /// whole answer the server has closed what the model had not; there the last call is opened again, so that it does
    /// not pass for a complete one.
    fn reply(&mut self) -> ModelReply {
        let stop = stop_reason(self.stop_reason.take().as_deref(), self.calls > 0);
        let sign = |value: String| Some(Signature { issuer: self.issuer.to_string(), value });
        let mut parts: Vec<Part> = Vec::with_capacity(self.blocks.len());
        let blocks = std::mem::take(&mut self.blocks);
        let last = blocks.len().saturating_sub(1);
        for (at, (_, block)) in blocks.into_iter().enumerate() {
            match block {
                Block::Text(text) => {
                    if !text.is_empty() {
                        parts.push(Part::text(text));
                    }
                }
                Block::Thinking { text, signature } => {
                    if !text.is_empty() || !signature.is_empty() {
                        let signature = (!signature.is_empty()).then_some(signature).and_then(sign);
                        parts.push(Part::Thinking { text, signature });
                    }
                }
                Block::Redacted(data) => {
                    parts.push(Part::Thinking { text: String::new(), signature: sign(redacted(&data)) });
                }
                Block::Call { name, input, mut arguments, .. } => {
                    if arguments.trim().is_empty() && input.len() > "{}".len() {
                        arguments = input;
                        if stop == StopReason::MaxTokens && at == last {
                            arguments.pop();
                        }
                    } else if arguments.trim().is_empty() && stop == StopReason::ToolCalls {
                        arguments = "{}".into();
                    }
                    parts.push(Part::ToolCall { name, arguments, signature: None });
                }
                Block::Other => {}
            }
        }
        ModelReply { parts, usage: self.usage.neutral(), stop, model: self.model.take() }
    }
}

impl event_stream::Draft for Draft {
    const EVENT: &'static str = "event of an Anthropic message";

    fn event(&mut self, data: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<Option<Progress>, ModelError> {
        let outcome = match read(data, &EVENTS) {
            Ok(Some(event)) => self.add(event, deltas),
            Ok(None) => Ok(Progress::More),
            Err(refused) => Err(refused),
        };
        match outcome {
            Ok(progress) => Ok(Some(progress)),
            Err(Refused::Misshapen) => Ok(None),
            Err(Refused::Error(error)) => Err(error),
        }
    }

    /// The answer is complete with `message_stop`, or at the end of the bytes if the server has said why it ended, which
    /// it does after the last block.
    fn finish(&mut self, done: bool) -> Result<Option<ModelReply>, ModelError> {
        let complete = self.stop_reason.is_some() || (done && !self.blocks.is_empty());
        Ok(complete.then(|| self.reply()))
    }
}

/// By the format `end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `pause_turn`, `refusal`,
/// `model_context_window_exceeded`. A pause is for tools that the vendor runs, which are not asked for; what it leaves is no
/// whole answer.
fn stop_reason(said: Option<&str>, has_calls: bool) -> StopReason {
    match said {
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
        Some("refusal") => StopReason::ContentFilter,
        _ if has_calls => StopReason::ToolCalls,
        Some("pause_turn") => StopReason::MaxTokens,
        _ => StopReason::End,
    }
}

/// The answer in a whole body.
pub(super) fn decode(body: &[u8], issuer: &str) -> Result<ModelReply, ModelError> {
    let no_answer = || {
        let message = format!(
            "the server answered with something that is not an Anthropic message: {}; is the base URL right (without /v1)?",
            snippet(body)
        );
        error(ModelErrorKind::Server, message)
    };
    let message: WireMessage<'_> = serde_json::from_slice(body).map_err(|_| no_answer())?;
    match (message.r#type.as_deref(), message.error) {
        (_, Some(said)) => Err(errors::in_answer(said.get())),
        (Some("message"), None) => {
            let mut draft = Draft::new(issuer);
            match draft.message(message, &mut unheard) {
                Ok(()) => Ok(draft.reply()),
                Err(Refused::Misshapen) => Err(no_answer()),
                Err(Refused::Error(error)) => Err(error),
            }
        }
        _ => Err(no_answer()),
    }
}
