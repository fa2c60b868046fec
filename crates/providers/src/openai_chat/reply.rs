//! From the vendor's answer, whole or in pieces, to the neutral one.

use super::chat::OpenAiChat;
use super::kept::{self, Details};
use crate::errors;
use crate::event_stream::{self, Progress};
use crate::mended::{Count, Word, or_none};
use crate::wire::unheard;
use crate::words::{error, snippet};
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// More calls than this in one answer are garbage, not an answer.
const MAX_CALLS: usize = 4096;

/// A whole answer or one chunk of a stream: they differ in whether a choice has `message` or `delta`.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default)]
    model: Word,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default, deserialize_with = "or_none")]
    usage: Option<WireUsage>,
    /// Some servers report errors with status 200 or in mid-stream.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Count,
    #[serde(borrow, default)]
    message: Option<WireMessage<'a>>,
    #[serde(borrow, default)]
    delta: Option<WireMessage<'a>>,
    #[serde(default)]
    finish_reason: Word,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(default)]
    content: Option<Text>,
    #[serde(default)]
    refusal: Word,
    #[serde(default)]
    reasoning_content: Word,
    #[serde(default)]
    reasoning: Word,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<WireCall<'a>>>,
}

/// Text, or parts of which those with text count. Read by hand: this is in every piece of every answer, and serde would
/// copy it first to try one form after the other.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.into()))
            }

            fn visit_string<E>(self, text: String) -> Result<Text, E> {
                Ok(Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
                let mut text = String::new();
                while let Some(part) = parts.next_element::<TextPart>()? {
                    text.push_str(&part.text.unwrap_or_default());
                }
                Ok(Text(text))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(default)]
    index: Count,
    #[serde(default)]
    id: Word,
    #[serde(borrow, default)]
    function: Option<WireFunction<'a>>,
}

#[derive(Deserialize)]
struct WireFunction<'a> {
    #[serde(default)]
    name: Word,
    /// A string by the format; some servers send the object itself.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default, deserialize_with = "or_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "or_none")]
    completion_tokens_details: Option<CompletionDetails>,
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
}

#[derive(Clone, Copy, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    cache_write_tokens: Count,
}

#[derive(Clone, Copy, Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Count,
}

impl WireUsage {
    /// `None` if it says nothing: a row of zeros would pass for a count.
    fn neutral(self) -> Option<Usage> {
        let details = self.prompt_tokens_details;
        let cached = details.and_then(|d| d.cached_tokens.0).or(self.prompt_cache_hit_tokens.0);
        self.prompt_tokens.0.or(self.completion_tokens.0)?;
        Some(Usage {
            input: self.prompt_tokens.0.unwrap_or(0),
            output: self.completion_tokens.0.unwrap_or(0),
            cache_read: cached.unwrap_or(0),
            cache_write: details.and_then(|d| d.cache_write_tokens.0).unwrap_or(0),
            reasoning: self.completion_tokens_details.and_then(|d| d.reasoning_tokens.0).unwrap_or(0),
        })
    }
}

/// An answer under construction.
#[derive(Default)]
pub(super) struct Draft {
    codec: OpenAiChat,
    text: String,
    thinking: String,
    details: Details,
    refusal: bool,
    calls: Vec<CallDraft>,
    usage: Option<Usage>,
    model: Option<String>,
    finish_reason: Option<String>,
}

#[derive(Default)]
struct CallDraft {
    /// The vendor's number for it, under which later pieces come.
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Draft {
    pub(super) fn new(codec: &OpenAiChat) -> Draft {
        Draft { codec: codec.clone(), ..Draft::default() }
    }

    /// Whether nothing has come that could be part of an answer.
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.thinking.is_empty() && self.calls.is_empty()
    }

    fn add(&mut self, chunk: Chunk<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        if let Some(body) = chunk.error.filter(|raw| raw.get() != "null") {
            return Err(errors::in_answer(body.get()));
        }
        if let Some(usage) = chunk.usage.and_then(WireUsage::neutral) {
            self.usage = Some(usage);
        }
        if self.model.is_none() {
            self.model = chunk.model.0.filter(|model| !model.is_empty());
        }
        let choices = chunk.choices.unwrap_or_default();
        // One answer is asked for; what a server sends beside the first is not ours.
        for choice in choices.into_iter().filter(|choice| choice.index.0.unwrap_or(0) == 0) {
            let streamed = choice.message.is_none();
            if let Some(message) = choice.message.or(choice.delta) {
                self.add_message(message, streamed, deltas)?;
            }
            if let Some(reason) = choice.finish_reason.0.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(reason);
            }
        }
        Ok(())
    }

    fn add_message(
        &mut self,
        message: WireMessage<'_>,
        streamed: bool,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), ModelError> {
        let in_details = self.add_details(message.reasoning_details, streamed)?;
        // Servers that send several of the fields send the same text in all.
        let thinking = [message.reasoning_content.0, message.reasoning.0, Some(in_details)];
        if let Some(text) = thinking.into_iter().flatten().find(|text| !text.is_empty()) {
            self.thinking.push_str(&text);
            deltas(Delta::Thinking { text });
        }
        let content = match message.content {
            Some(Text(text)) => text,
            None => String::new(),
        };
        // A refusal is what the model says instead of content.
        let refusal = message.refusal.0.unwrap_or_default();
        self.refusal |= !refusal.is_empty();
        for text in [content, refusal] {
            if !text.is_empty() {
                self.text.push_str(&text);
                deltas(Delta::Text { text });
            }
        }
        for call in message.tool_calls.unwrap_or_default() {
            self.add_call(call, deltas)?;
        }
        Ok(())
    }

    /// Keeps the entries and returns the readable text in them.
    fn add_details(&mut self, list: Option<&RawValue>, streamed: bool) -> Result<String, ModelError> {
        let entries: Vec<&RawValue> = list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
        if self.details.len() + entries.len() > MAX_CALLS {
            let message = format!("the server sent more than {MAX_CALLS} reasoning details in one answer");
            return Err(error(ModelErrorKind::Server, message));
        }
        Ok(entries.into_iter().map(|entry| self.details.add(entry, streamed)).collect())
    }

    fn add_call(&mut self, call: WireCall<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        let id = call.id.0.unwrap_or_default();
        let (name, arguments) = match call.function {
            Some(function) => (function.name.0.unwrap_or_default(), function.arguments.map(argument_text)),
            None => (String::new(), None),
        };
        let place = self.place_of(call.index.0, &id, &name);
        let place = match place {
            Some(place) => place,
            None if self.calls.len() >= MAX_CALLS => {
                return Err(error(
                    ModelErrorKind::Server,
                    format!("the server sent more than {MAX_CALLS} calls in one answer"),
                ));
            }
            None => {
                self.calls.push(CallDraft { number: call.index.0, ..CallDraft::default() });
                self.calls.len() - 1
            }
        };
        let draft = &mut self.calls[place];
        if draft.id.is_empty() {
            draft.id = id;
        }
        let new_name = (draft.name.is_empty() && !name.is_empty()).then_some(name);
        if let Some(name) = &new_name {
            draft.name.clone_from(name);
        }
        let text = arguments.unwrap_or_default();
        draft.arguments.push_str(&text);
        if new_name.is_some() || !text.is_empty() {
            let index = u16::try_from(place).unwrap_or(u16::MAX);
            deltas(Delta::Arguments { index, name: new_name, text });
        }
        Ok(())
    }

    /// Which call a piece belongs to; `None` for a new one. By the format the index says it. Some servers leave the index
    /// out or give every call the same: there, another id begins another call.
    fn place_of(&self, number: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let place = match number {
            Some(_) => self.calls.iter().rposition(|call| call.number == number),
            None => self.calls.len().checked_sub(1),
        }?;
        let known = &self.calls[place];
        let other_id = !id.is_empty() && !known.id.is_empty() && known.id != id;
        // Without any ids and numbers, a second name is a second call.
        let other_name = number.is_none() && id.is_empty() && !name.is_empty() && !known.name.is_empty();
        (!other_id && !other_name).then_some(place)
    }

    /// The answer. A call without arguments gets `{}`, unless the answer was cut: then its arguments stay as they are.
    fn reply(&mut self) -> ModelReply {
        let draft = std::mem::take(self);
        let stop = match stop_reason(draft.finish_reason.as_deref(), !draft.calls.is_empty()) {
            StopReason::End if draft.refusal => StopReason::ContentFilter,
            stop => stop,
        };
        let mut parts = Vec::new();
        let returned = draft.codec.quirks.return_reasoning && !draft.thinking.is_empty();
        let value = draft.details.value().or_else(|| returned.then(|| kept::TEXT.into()));
        if !draft.thinking.is_empty() || value.is_some() {
            let signature = value.map(|value| Signature { issuer: draft.codec.issuer, value });
            parts.push(Part::Thinking { text: draft.thinking, signature });
        }
        if !draft.text.is_empty() {
            parts.push(Part::text(draft.text));
        }
        for CallDraft { name, mut arguments, .. } in draft.calls {
            if arguments.trim().is_empty() && stop == StopReason::ToolCalls {
                arguments = "{}".into();
            }
            parts.push(Part::ToolCall { name, arguments, signature: None });
        }
        ModelReply { parts, usage: draft.usage, stop, model: draft.model }
    }
}

impl event_stream::Draft for Draft {
    const EVENT: &'static str = "chat completion";

    fn event(&mut self, data: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<Option<Progress>, ModelError> {
        event_stream::take(data, |chunk| self.add(chunk, deltas))
    }

    /// The answer is complete with `[DONE]`, or at the end of the bytes if the server has said why it ended: some
    /// servers leave `[DONE]` out.
    fn finish(&mut self, done: bool) -> Result<Option<ModelReply>, ModelError> {
        let complete = self.finish_reason.is_some() || (done && !self.is_empty());
        Ok(complete.then(|| self.reply()))
    }
}

/// By the format `stop`, `length`, `tool_calls`, `content_filter`, `function_call`. Some servers say `stop` beside calls, and
/// other words for the limit.
fn stop_reason(finish_reason: Option<&str>, has_calls: bool) -> StopReason {
    match finish_reason {
        Some("length" | "max_tokens" | "model_length") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::ContentFilter,
        _ if has_calls => StopReason::ToolCalls,
        _ => StopReason::End,
    }
}

fn argument_text(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
        text => text.to_owned(),
    }
}

/// The answer in a whole body.
pub(super) fn decode(body: &[u8], codec: &OpenAiChat) -> Result<ModelReply, ModelError> {
    let no_answer = || {
        let message = format!(
            "the server answered with something that is not a chat completion: {}; is the base URL right (it often ends in /v1)?",
            snippet(body)
        );
        error(ModelErrorKind::Server, message)
    };
    let chunk: Chunk<'_> = serde_json::from_slice(body).map_err(|_| no_answer())?;
    let has_choice =
        chunk.choices.as_ref().is_some_and(|choices| choices.iter().any(|choice| choice.message.is_some()));
    let mut draft = Draft::new(codec);
    draft.add(chunk, &mut unheard)?;
    if has_choice { Ok(draft.reply()) } else { Err(no_answer()) }
}
