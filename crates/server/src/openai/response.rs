//! A response: a run of a trace, as OpenAI's Responses show it.

use super::conversation::{AgentSettings, ResponseId, kept};
use super::ending::{Details, Standing, failure};
use super::told::{Phase, Text, texts};
use mainpath::types::{FinishReason, ModelErrorKind, Usage};
use mainpath::{Outcome, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A response.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResponseObject {
    /// Its name.
    pub id: String,
    /// `response`
    pub object: &'static str,
    /// When the run began, in seconds since 1970.
    pub created_at: u64,
    /// When it ended with its answer.
    pub completed_at: Option<u64>,
    /// `in_progress`, `completed`, `incomplete`, `cancelled` or `failed`.
    pub status: &'static str,
    /// Whether it was begun in the background; `null` where that is not known any more.
    pub background: Option<bool>,
    /// Why it failed.
    pub error: Option<Failure>,
    /// Why it is incomplete.
    pub incomplete_details: Option<Incomplete>,
    /// What was added to the agent's system text.
    pub instructions: Option<String>,
    /// `null`: see the limits of the preset.
    pub max_output_tokens: Option<u64>,
    /// The most tool calls, if the request said so.
    pub max_tool_calls: Option<u32>,
    /// What the caller keeps with it.
    pub metadata: BTreeMap<String, String>,
    /// The model, as the caller named it.
    pub model: String,
    /// What the model said, a message for each turn with words.
    pub output: Vec<Item>,
    /// Whether several tools may run at a time.
    pub parallel_tool_calls: bool,
    /// The response that it went on from.
    pub previous_response_id: Option<String>,
    /// How much the model thinks.
    pub reasoning: Reasoning,
    /// `true`: the trace is kept.
    pub store: bool,
    /// The sampling temperature, if the request said one.
    pub temperature: Option<f64>,
    /// The form of the answer.
    pub text: TextSettings,
    /// `auto`
    pub tool_choice: &'static str,
    /// None of the caller's.
    pub tools: Vec<Value>,
    /// `null`
    pub top_p: Option<f64>,
    /// `auto`: an agent tidies its context itself.
    pub truncation: &'static str,
    /// What all model calls of the run used.
    pub usage: Option<ResponseUsage>,
    /// Where the run is, and how it ended.
    pub mainpath: Details,
}

/// Why a response failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// `rate_limit_exceeded` or `server_error`.
    pub code: &'static str,
    /// In one line.
    pub message: String,
}

/// Why a response is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Incomplete {
    /// `max_output_tokens`, `content_filter` where it was denied what it wanted, or `null`: see `mainpath.finish_reason`.
    pub reason: Option<&'static str>,
}

/// How much the model thinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reasoning {
    /// `low`, `medium` or `high`, if the request said so.
    pub effort: Option<String>,
    /// `null`
    pub summary: Option<String>,
}

/// The form of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TextSettings {
    /// `text`, or a schema.
    pub format: Value,
}

/// A message of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Item {
    /// Its name.
    pub id: String,
    /// `message`
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `completed` or `in_progress`.
    pub status: &'static str,
    /// `assistant`
    pub role: &'static str,
    /// `commentary` before tools run, `final_answer`, or `null` while that is not known.
    pub phase: Option<&'static str>,
    /// The words.
    pub content: Vec<OutputText>,
}

/// Words.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OutputText {
    /// `output_text`
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// They.
    pub text: String,
    /// None.
    pub annotations: Vec<Value>,
    /// None.
    pub logprobs: Vec<Value>,
}

/// What was used, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResponseUsage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

/// Of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct InputDetails {
    /// Read from the vendor's cache.
    cached_tokens: u64,
    /// Written to it.
    cache_write_tokens: u64,
}

/// Of what came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct OutputDetails {
    /// Reasoning.
    reasoning_tokens: u64,
}

impl From<&Usage> for ResponseUsage {
    fn from(usage: &Usage) -> ResponseUsage {
        ResponseUsage {
            input_tokens: usage.input,
            input_tokens_details: InputDetails {
                cached_tokens: usage.cache_read,
                cache_write_tokens: usage.cache_write,
            },
            output_tokens: usage.output,
            output_tokens_details: OutputDetails { reasoning_tokens: usage.reasoning },
            total_tokens: usage.total(),
        }
    }
}

impl OutputText {
    /// Words.
    pub fn new(text: impl Into<String>) -> OutputText {
        OutputText { kind: "output_text", text: text.into(), annotations: Vec::new(), logprobs: Vec::new() }
    }
}

impl Item {
    /// A message that is complete: the one of this number in its response, from 0.
    pub fn of(response: &ResponseId, number: usize, text: &Text) -> Item {
        Item {
            status: "completed",
            phase: text.phase.map(|phase| match phase {
                Phase::Commentary => "commentary",
                Phase::Answer => "final_answer",
            }),
            content: vec![OutputText::new(text.text.as_str())],
            ..Item::begun(response, number)
        }
    }

    /// A message that has begun.
    pub fn begun(response: &ResponseId, number: usize) -> Item {
        let id = format!("{}_{number}", response.with("msg"));
        Item { id, kind: "message", status: "in_progress", role: "assistant", phase: None, content: Vec::new() }
    }
}

impl ResponseObject {
    /// Of a run, as far as it has come.
    pub fn of(id: &ResponseId, record: &RunRecord) -> ResponseObject {
        let outcome = record.outcome.as_ref();
        let standing = outcome.map(|outcome| Standing::of(outcome.reason));
        let known = kept(record);
        let model = known.as_ref().map_or_else(|| record.spec.model.clone(), |known| known.model.clone());
        let settings = known.unwrap_or_default();
        let previous = (id.run > 1).then(|| ResponseId { run: id.run - 1, ..id.clone() }.with("resp"));
        let output = texts(record).iter().enumerate().map(|(number, text)| Item::of(id, number, text)).collect();
        let ended = record.ended.filter(|_| standing == Some(Standing::Completed));
        ResponseObject {
            id: id.with("resp"),
            object: "response",
            created_at: record.began / 1000,
            completed_at: ended.map(|at| at / 1000),
            status: standing.map_or("in_progress", Standing::status),
            background: None,
            error: outcome.filter(|_| standing == Some(Standing::Failed)).map(why_failed),
            incomplete_details: outcome.and_then(why_incomplete),
            max_output_tokens: None,
            max_tool_calls: settings.max_tool_calls,
            model,
            output,
            parallel_tool_calls: true,
            previous_response_id: previous,
            reasoning: Reasoning { effort: settings.effort.clone(), summary: None },
            store: true,
            temperature: settings.temperature,
            text: TextSettings { format: format_of(&settings) },
            instructions: settings.instructions,
            metadata: settings.metadata.unwrap_or_default(),
            tool_choice: "auto",
            tools: Vec::new(),
            top_p: None,
            truncation: "auto",
            usage: outcome.map(|outcome| ResponseUsage::from(&outcome.usage)),
            mainpath: Details::of(&id.trace, record),
        }
    }
}

fn format_of(settings: &AgentSettings) -> Value {
    match &settings.schema {
        None => json!({"type": "text"}),
        Some(schema) => {
            let name = schema.get("title").cloned().unwrap_or_else(|| json!("answer"));
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": true, "description": null})
        }
    }
}

fn why_failed(outcome: &Outcome) -> Failure {
    let is_rate = outcome.error.as_ref().is_some_and(|error| error.kind == ModelErrorKind::RateLimit);
    Failure { code: if is_rate { "rate_limit_exceeded" } else { "server_error" }, message: failure(outcome) }
}

fn why_incomplete(outcome: &Outcome) -> Option<Incomplete> {
    let reason = match (Standing::of(outcome.reason), outcome.reason) {
        (Standing::Limited, FinishReason::MaxOutput | FinishReason::TokenBudget) => Some("max_output_tokens"),
        (Standing::Limited, _) => None,
        (Standing::Denied, _) => Some("content_filter"),
        (Standing::Completed | Standing::Cancelled | Standing::Failed, _) => return None,
    };
    Some(Incomplete { reason })
}
