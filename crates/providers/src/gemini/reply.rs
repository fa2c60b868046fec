//! From the vendor's answer, whole or in pieces, to the neutral one.

use super::signed::{Run, of_thought};
use crate::errors;
use crate::event_stream::{self, Progress};
use crate::mended::{Count, Word, or_none};
use crate::wire::unheard;
use crate::words::{error, one_line, snippet};
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

/// More parts than this in one answer are garbage, not an answer. Pieces of one text count as one.
const MAX_PARTS: usize = 4096;

/// A whole answer or one chunk of a stream: they have the same shape.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(default)]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "or_none")]
    usage_metadata: Option<WireUsage>,
    #[serde(default)]
    model_version: Word,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Count,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(default)]
    finish_reason: Word,
    #[serde(default)]
    finish_message: Word,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<WirePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default)]
    thought_signature: Option<String>,
    #[serde(borrow, default)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    #[serde(default)]
    prompt_token_count: Count,
    #[serde(default)]
    tool_use_prompt_token_count: Count,
    #[serde(default)]
    candidates_token_count: Count,
    #[serde(default)]
    thoughts_token_count: Count,
    #[serde(default)]
    cached_content_token_count: Count,
}

impl WireUsage {
    /// The prompt includes what is cached; the total is the sum of the first four, so thoughts are counted apart from the
    /// candidates (`GenerateContentResponseUsageMetadata.total_token_count`). `None` if it says nothing.
    fn neutral(self) -> Option<Usage> {
        self.prompt_token_count.0.or(self.candidates_token_count.0)?;
        let sum = |a: Count, b: Count| a.0.unwrap_or(0).saturating_add(b.0.unwrap_or(0));
        Some(Usage {
            input: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            output: sum(self.candidates_token_count, self.thoughts_token_count),
            cache_read: self.cached_content_token_count.0.unwrap_or(0),
            cache_write: 0,
            reasoning: self.thoughts_token_count.0.unwrap_or(0),
        })
    }
}

/// An answer under construction.
#[derive(Default)]
pub(super) struct Draft {
    issuer: String,
    blocks: Vec<Block>,
    calls: u16,
    usage: Option<Usage>,
    model: Option<String>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

enum Block {
    Thought { text: String, signature: Option<String> },
    Text(Run),
    Call { name: String, arguments: String, signature: Option<String> },
}

impl Draft {
    pub(super) fn new(issuer: &str) -> Draft {
        Draft { issuer: issuer.into(), ..Draft::default() }
    }

    fn add(&mut self, chunk: Chunk<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        if let Some(body) = chunk.error.filter(|raw| raw.get() != "null") {
            return Err(errors::in_answer(body.get()));
        }
        if let Some(usage) = chunk.usage_metadata.and_then(WireUsage::neutral) {
            self.usage = Some(usage);
        }
        if self.model.is_none() {
            self.model = chunk.model_version.0.filter(|model| !model.is_empty());
        }
        let candidates = chunk.candidates.unwrap_or_default();
        if candidates.is_empty()
            && let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason)
        {
            let message = format!("the server's content filter refused the request: {}", one_line(&reason, 100));
            return Err(error(ModelErrorKind::ContentFilter, message));
        }
        // One answer is asked for; what a server sends beside the first is not ours.
        for candidate in candidates.into_iter().filter(|candidate| candidate.index.0.unwrap_or(0) == 0) {
            for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
                self.add_part(part, deltas)?;
            }
            if let Some(reason) = candidate.finish_reason.0.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(reason.to_ascii_uppercase());
                self.finish_message = candidate.finish_message.0;
            }
        }
        Ok(())
    }

    fn add_part(&mut self, part: WirePart<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            let name = call.name.unwrap_or_default();
            let arguments = call.args.map(RawValue::get).filter(|args| *args != "null").unwrap_or("{}").to_owned();
            deltas(Delta::Arguments { index: self.calls, name: Some(name.clone()), text: arguments.clone() });
            self.calls = self.calls.saturating_add(1);
            self.blocks.push(Block::Call { name, arguments, signature });
        } else if part.text.as_ref().is_some_and(|text| !text.is_empty()) || signature.is_some() {
            let text = part.text.unwrap_or_default();
            let thought = part.thought == Some(true);
            match (self.blocks.last_mut(), thought) {
                (Some(Block::Thought { text: known, signature: None }), true) if signature.is_none() => {
                    known.push_str(&text);
                }
                (_, true) => self.blocks.push(Block::Thought { text: text.clone(), signature }),
                (Some(Block::Text(run)), false) => run.push(&text, signature),
                (_, false) => {
                    let mut run = Run::default();
                    run.push(&text, signature);
                    self.blocks.push(Block::Text(run));
                }
            }
            if !text.is_empty() {
                deltas(if thought { Delta::Thinking { text } } else { Delta::Text { text } });
            }
        }
        let pieces = self.blocks.last().map_or(0, |block| if let Block::Text(run) = block { run.len() } else { 1 });
        if self.blocks.len() > MAX_PARTS || pieces > MAX_PARTS {
            let message = format!("the server sent more than {MAX_PARTS} parts in one answer");
            return Err(error(ModelErrorKind::Server, message));
        }
        Ok(())
    }

    fn reply(&mut self) -> Result<ModelReply, ModelError> {
        let draft = std::mem::take(self);
        let stop = stop_reason(draft.finish_reason.as_deref(), draft.calls > 0)
            .ok_or_else(|| failed(&draft.finish_reason, &draft.finish_message))?;
        let issuer = draft.issuer;
        let signed = |value| Signature { issuer: issuer.clone(), value };
        let mut parts = Vec::with_capacity(draft.blocks.len());
        for block in draft.blocks {
            match block {
                Block::Thought { text, signature } => {
                    let signature = signature.map(|signature| signed(of_thought(&text, signature)));
                    parts.push(Part::Thinking { text, signature });
                }
                Block::Text(run) => parts.extend(run.into_parts(&issuer)),
                Block::Call { name, arguments, signature } => {
                    parts.push(Part::ToolCall { name, arguments, signature: signature.map(signed) });
                }
            }
        }
        Ok(ModelReply { parts, usage: draft.usage, stop, model: draft.model })
    }
}

impl event_stream::Draft for Draft {
    const EVENT: &'static str = "generateContent chunk";

    fn event(&mut self, data: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<Option<Progress>, ModelError> {
        // `[DONE]` is not this format's way to end, but that of servers which translate.
        event_stream::take(data, |chunk| self.add(chunk, deltas))
    }

    /// The answer is complete at the end of the bytes if the server has said why it ended. A reason is no end by itself:
    /// some servers give one with every chunk.
    fn finish(&mut self, done: bool) -> Result<Option<ModelReply>, ModelError> {
        let complete = self.finish_reason.is_some() || (done && !self.blocks.is_empty());
        if complete { self.reply().map(Some) } else { Ok(None) }
    }
}

/// By `FinishReason` of the package; `None` for an answer that is of no use. `CONTINUATION` is the server's own limit on one
/// request.
fn stop_reason(finish_reason: Option<&str>, has_calls: bool) -> Option<StopReason> {
    match finish_reason {
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") if has_calls => Some(StopReason::ToolCalls),
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") => Some(StopReason::End),
        Some("MAX_TOKENS" | "CONTINUATION") => Some(StopReason::MaxTokens),
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "ESCALATION"
            | "MODEL_ARMOR"
            | "PUP_LIMITED_DISABLED"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Some(StopReason::ContentFilter),
        Some(_) => None,
    }
}

/// `MALFORMED_FUNCTION_CALL` and its like: the model may do better when asked again, but not without a signature that the
/// conversation lacks.
fn failed(reason: &Option<String>, said: &Option<String>) -> ModelError {
    let reason = one_line(reason.as_deref().unwrap_or_default(), 60);
    let kind = match reason.as_str() {
        "MISSING_THOUGHT_SIGNATURE" => ModelErrorKind::BadRequest,
        _ => ModelErrorKind::Server,
    };
    let said = said.as_deref().map(|said| one_line(said, 200)).filter(|said| !said.is_empty());
    let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
    error(kind, format!("the model's answer ended with {reason}{said} and is of no use"))
}

/// The answer in a whole body, or in one that lists the chunks of a stream.
pub(super) fn decode(body: &[u8], issuer: &str) -> Result<ModelReply, ModelError> {
    let no_answer = || {
        let message = format!(
            "the server answered with something that is not a generateContent answer: {}; is the base URL right (it stands before /v1/models)?",
            snippet(body)
        );
        error(ModelErrorKind::Server, message)
    };
    let is_list = body.trim_ascii_start().starts_with(b"[");
    let chunks: Result<Vec<Chunk<'_>>, _> =
        if is_list { serde_json::from_slice(body) } else { serde_json::from_slice(body).map(|chunk| vec![chunk]) };
    let mut draft = Draft::new(issuer);
    let mut answered = false;
    for chunk in chunks.map_err(|_| no_answer())? {
        answered |= chunk.candidates.as_ref().is_some_and(|candidates| !candidates.is_empty());
        draft.add(chunk, &mut unheard)?;
    }
    if answered { draft.reply() } else { Err(no_answer()) }
}
