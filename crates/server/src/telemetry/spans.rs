//! From what ended to its span, by the GenAI conventions: `invoke_agent` for a run, `chat` for a request, `execute_tool` for a call.

use super::ids::{otel_trace_id, span_id};
use super::otlp::{Attribute, OtelSpan, Said, SpanKind};
use crate::observe::finding::{CallEnd, Finding, RequestEnd, RequestEnded, RunEnd};
use mainpath::providers::wire_model;
use mainpath::types::{FinishReason, Part, Spent, TraceId};
use serde_json::{Value, json};

/// The span of something that ended; `None` for what has none.
pub fn span_of(trace: &TraceId, finding: Finding) -> Option<OtelSpan> {
    match finding {
        Finding::Began | Finding::Step(_) => None,
        Finding::Run(ended) => Some(run(trace, &ended)),
        Finding::Request(ended) => Some(request(trace, ended)),
        Finding::Call(ended) => Some(call(trace, ended)),
    }
}

fn text(key: &'static str, value: impl Into<String>) -> Attribute {
    Attribute::text(key, value)
}

/// What is said of every measurement of a request.
pub fn measured(ended: &RequestEnd) -> Vec<Attribute> {
    let mut all = vec![text("gen_ai.operation.name", "chat")];
    all.extend(of_model(&ended.model));
    all
}

fn number(key: &'static str, value: u64) -> Attribute {
    Attribute { key, value: Said::Number(value) }
}

/// What every span says: the operation, the trace and the run by which a log is found.
fn common(trace: &TraceId, run: u32, operation: &str) -> Vec<Attribute> {
    vec![
        text("gen_ai.operation.name", operation),
        text("gen_ai.conversation.id", trace.as_str()),
        text("mainpath.run_id", format!("{trace}/{run}")),
    ]
}

/// The span that all of a run is within.
fn root(trace: &TraceId, run: u32) -> String {
    span_id(trace, run, "invoke_agent")
}

fn run(trace: &TraceId, RunEnd { run, span, reason, spent, model }: &RunEnd) -> OtelSpan {
    let mut attributes = common(trace, *run, "invoke_agent");
    attributes.push(text("gen_ai.agent.name", "mainpath"));
    attributes.extend(of_model(model));
    attributes.extend(used(spent));
    attributes.push(text("mainpath.finish_reason", reason.as_str()));
    let error = (!matches!(reason, FinishReason::Final | FinishReason::Stopped)).then(|| reason.as_str().to_string());
    attributes.extend(error.clone().map(|error| text("error.type", error)));
    OtelSpan {
        trace: otel_trace_id(trace, *run),
        id: root(trace, *run),
        parent: None,
        name: "invoke_agent mainpath".into(),
        kind: SpanKind::Internal,
        began: span.began,
        ended: span.ended,
        attributes,
        error,
    }
}

fn request(trace: &TraceId, ended: RequestEnd) -> OtelSpan {
    let RequestEnd { run, request, span, model, how, spent, stop, said } = ended;
    let mut attributes = common(trace, run, "chat");
    attributes.extend(of_model(&model));
    attributes.extend(used(&spent));
    if let Some(stop) = stop {
        attributes.push(Attribute { key: "gen_ai.response.finish_reasons", value: Said::Texts(vec![stop.into()]) });
    }
    if let Some(parts) = said {
        let message = json!([{"role": "assistant", "parts": parts.iter().filter_map(part).collect::<Vec<_>>(), "finish_reason": stop}]);
        attributes.push(text("gen_ai.output.messages", message.to_string()));
    }
    let error = match how {
        RequestEnded::Answered => None,
        RequestEnded::Malformed => Some("malformed".to_string()),
        RequestEnded::Failed(kind) => Some(kind),
        RequestEnded::Abandoned => Some("abandoned".into()),
    };
    attributes.extend(error.clone().map(|error| text("error.type", error)));
    OtelSpan {
        trace: otel_trace_id(trace, run),
        id: span_id(trace, run, &format!("chat {request}")),
        parent: Some(root(trace, run)),
        name: format!("chat {}", named(&model)).trim_end().into(),
        kind: SpanKind::Client,
        began: span.began,
        ended: span.ended,
        attributes,
        error,
    }
}

fn call(trace: &TraceId, ended: CallEnd) -> OtelSpan {
    let CallEnd { run, call, event, tool, span, at, error, words, .. } = ended;
    let tool = tool.unwrap_or_else(|| "(unknown)".into());
    let mut attributes = common(trace, run, "execute_tool");
    attributes.push(text("gen_ai.tool.name", &tool));
    attributes.push(text("gen_ai.tool.call.id", call.to_string()));
    attributes.push(text("gen_ai.tool.type", "function"));
    attributes.push(number("mainpath.event_id", event));
    if let Some(words) = words {
        attributes.push(text("gen_ai.tool.call.arguments", words.arguments));
        attributes.push(text("gen_ai.tool.call.result", words.result));
    }
    attributes.extend(error.clone().map(|error| text("error.type", error)));
    let (began, ended) = span.map_or((at, at), |span| (span.began, span.ended));
    OtelSpan {
        trace: otel_trace_id(trace, run),
        id: span_id(trace, run, &format!("execute_tool {call}")),
        parent: Some(root(trace, run)),
        name: format!("execute_tool {tool}"),
        kind: SpanKind::Internal,
        began,
        ended,
        attributes,
        error,
    }
}

/// A part of an answer as the conventions have it; `None` for what they have no form for.
fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => Some(json!({"type": "text", "content": text})),
        Part::ToolCall { name, arguments, .. } => {
            let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments.as_str()));
            Some(json!({"type": "tool_call", "name": name, "arguments": arguments}))
        }
        Part::Thinking { .. }
        | Part::StoredText { .. }
        | Part::Image { .. }
        | Part::Audio { .. }
        | Part::Document { .. }
        | Part::ToolResult { .. } => None,
    }
}

fn of_model(model: &str) -> Vec<Attribute> {
    if model.is_empty() {
        return Vec::new();
    }
    let provider = model.split_once(':').map_or(model, |(provider, _)| provider);
    // Where the conventions have a name of their own.
    let provider = match provider {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    };
    vec![text("gen_ai.provider.name", provider), text("gen_ai.request.model", named(model))]
}

/// The model as its server knows it. What is played has the name of a file of this machine, which is nobody else's business.
fn named(model: &str) -> &str {
    match model.split_once(':') {
        Some((played @ ("scripted" | "playback"), _)) => played,
        _ => wire_model(model),
    }
}

fn used(spent: &Spent) -> Vec<Attribute> {
    let usage = &spent.usage;
    let mut all =
        vec![number("gen_ai.usage.input_tokens", usage.input), number("gen_ai.usage.output_tokens", usage.output)];
    if usage.cache_read > 0 {
        all.push(number("gen_ai.usage.cache_read.input_tokens", usage.cache_read));
    }
    if usage.cache_write > 0 {
        all.push(number("gen_ai.usage.cache_creation.input_tokens", usage.cache_write));
    }
    if spent.cost > 0 {
        all.push(Attribute { key: "mainpath.cost", value: Said::Double(spent.cost as f64 / 1e6) });
    }
    all
}
