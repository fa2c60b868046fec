//! Chat completions, whole and in chunks.

use super::ending::{Details, Standing, failure};
use super::error::ErrorBody;
use super::sse::Write;
use super::told::{BREAK, Step};
use mainpath::types::{Millis, TraceId, Usage};
use mainpath::{Error, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// A completion.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Completion {
    /// Its name.
    id: String,
    /// `chat.completion`
    object: &'static str,
    /// When the run began, in seconds since 1970.
    created: u64,
    /// The model, as the caller named it.
    model: String,
    /// The answer: one.
    choices: Vec<Choice>,
    /// What all model calls of the run used.
    usage: Option<CompletionUsage>,
    /// Where the run is, and how it ended.
    mainpath: Details,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct Choice {
    /// 0
    index: u32,
    /// What was said.
    message: Said,
    /// `null`: they are not supported.
    logprobs: Option<Value>,
    /// `stop`; `length` at a limit; `content_filter` where rules or people denied what the agent wanted.
    finish_reason: &'static str,
}

/// What was said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct Said {
    /// `assistant`
    role: &'static str,
    /// The answer.
    content: String,
    /// `null`
    refusal: Option<String>,
    /// None.
    annotations: Vec<Value>,
}

/// What was used, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

/// Of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct PromptDetails {
    /// Read from the vendor's cache.
    cached_tokens: u64,
}

/// Of what came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct CompletionDetails {
    /// Reasoning.
    reasoning_tokens: u64,
}

impl From<&Usage> for CompletionUsage {
    fn from(usage: &Usage) -> CompletionUsage {
        CompletionUsage {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            prompt_tokens_details: PromptDetails { cached_tokens: usage.cache_read },
            completion_tokens_details: CompletionDetails { reasoning_tokens: usage.reasoning },
        }
    }
}

impl Completion {
    /// Of a run that has ended.
    pub fn of(id: String, model: String, trace: &TraceId, record: &RunRecord) -> Completion {
        let outcome = record.outcome.as_ref();
        let content = outcome.map(|outcome| outcome.answer.clone()).unwrap_or_default();
        let message = Said { role: "assistant", content, refusal: None, annotations: Vec::new() };
        let finish_reason = finish_reason(record);
        Completion {
            id,
            object: "chat.completion",
            created: record.began / 1000,
            model,
            choices: vec![Choice { index: 0, message, logprobs: None, finish_reason }],
            usage: outcome.map(|outcome| CompletionUsage::from(&outcome.usage)),
            mainpath: Details::of(trace, record),
        }
    }
}

fn finish_reason(record: &RunRecord) -> &'static str {
    record.outcome.as_ref().map_or("length", |outcome| Standing::of(outcome.reason).finish_reason())
}

/// What is said of a run that failed; `None` of any other.
pub fn failed(record: &RunRecord) -> Option<ErrorBody> {
    let outcome = record.outcome.as_ref();
    let (message, code) = match outcome {
        Some(outcome) if Standing::of(outcome.reason) == Standing::Failed => {
            (failure(outcome), outcome.reason.as_str())
        }
        Some(_) => return None,
        None => ("the run broke off: POST /api/traces/{id}/resume goes on with it".into(), "interrupted"),
    };
    Some(ErrorBody { message, kind: "server_error".into(), param: None, code: Some(code.into()) })
}

/// A completion in chunks.
pub struct Chunks {
    id: String,
    model: String,
    created: u64,
    with_usage: bool,
    trace: TraceId,
}

impl Chunks {
    /// Of a run that began then.
    pub fn new(id: String, model: String, began: Millis, with_usage: bool, trace: &TraceId) -> Chunks {
        Chunks { id, model, created: began / 1000, with_usage, trace: trace.clone() }
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model, "choices": choices,
        });
        if self.with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn delta(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        self.chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}]))
    }

    fn words(&self, text: &str) -> String {
        line(&self.delta(json!({"content": text}), None))
    }
}

fn line(data: &Value) -> String {
    format!("data: {data}\n\n")
}

impl Write for Chunks {
    fn begin(&mut self) -> String {
        line(&self.delta(json!({"role": "assistant", "content": "", "refusal": null}), None))
    }

    fn step(&mut self, step: Step) -> String {
        match step {
            Step::Piece(text) => self.words(&text),
            // What was sent cannot be taken back.
            Step::Again(text) => self.words(&format!("{BREAK}{text}")),
            Step::Whole(_) => String::new(),
            Step::Ended(record) => {
                if let Some(error) = failed(&record) {
                    return line(&json!({"error": error}));
                }
                let mut last = self.delta(json!({}), Some(finish_reason(&record)));
                last["mainpath"] = json!(Details::of(&self.trace, &record));
                let mut text = line(&last);
                if let (true, Some(outcome)) = (self.with_usage, &record.outcome) {
                    let mut usage = self.chunk(json!([]));
                    usage["usage"] = json!(CompletionUsage::from(&outcome.usage));
                    text.push_str(&line(&usage));
                }
                text
            }
        }
    }

    fn fail(&mut self, error: &Error) -> String {
        let (message, kind) = (error.message().to_string(), "server_error".to_string());
        line(&json!({"error": ErrorBody { message, kind, param: None, code: Some("internal".into()) }}))
    }

    fn end(&mut self) -> String {
        "data: [DONE]\n\n".into()
    }
}
