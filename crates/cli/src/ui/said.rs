//! What a message says, in text.

use crate::runs::attach::{Sizes, line};
use crate::ui::text::{gist, number, one_line, plain, short};
use crate::ui::told::changed;
use mainpath::core::{Bodies, NodeKind, State, reminder, reopened_text, result_text};
use mainpath::runtime::{Hydrated, is_look_back};
use mainpath::types::{ApprovalGranted, CallId, EventId, EventKind, ModelFinished, Part, Resolution};

pub fn role(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::User => "user",
        NodeKind::Assistant { .. } => "assistant",
        NodeKind::Result(_) => "result",
        NodeKind::Malformed => "assistant (malformed)",
        NodeKind::RepairPrompt => "repair",
        NodeKind::ReflectPrompt => "reflection wanted",
        NodeKind::SummaryPrompt => "summary wanted",
        NodeKind::Skill => "skill",
        NodeKind::Injected => "reminder",
        NodeKind::Cut => "cut",
    }
}

/// What was said, and what hooks have made of its calls.
pub fn with_notes(said: String, answer: &ModelFinished) -> String {
    let notes = answer.calls.iter().filter_map(changed);
    std::iter::once(said).chain(notes).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What a message says of the run. `None`: it only looks back, or is what was found by that; the log has it.
pub fn run_body(state: &State, bodies: &Hydrated<'_>, sizes: &Sizes, kind: NodeKind, event: EventId) -> Option<String> {
    let looks_back = |call: CallId| {
        let tool = state.calls.get(call).and_then(|call| call.tool.as_deref());
        tool.is_some_and(is_look_back)
    };
    match (kind, bodies.get(event)) {
        (NodeKind::Result(call), _) if looks_back(call) => None,
        (NodeKind::Assistant { calls: 1.. }, Some(EventKind::ModelFinished(data))) => {
            let mut calls = data.calls();
            let is_shown = |part: &&Part| {
                let is_call = matches!(part, Part::ToolCall { .. });
                let call = if is_call { calls.next() } else { None };
                !call.and_then(|call| call.planned.tool.as_deref()).is_some_and(is_look_back)
            };
            let shown: Vec<Part> = data.parts.iter().filter(is_shown).cloned().collect();
            let text = with_notes(said(&shown, sizes), data);
            (!text.is_empty() || shown.len() == data.parts.len()).then_some(text)
        }
        _ => Some(body(state, bodies, sizes, kind, event)),
    }
}

/// What parts say to people.
pub fn said(parts: &[Part], sizes: &Sizes) -> String {
    let lines = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(plain(text)),
        Part::StoredText { hash, bytes } => Some(format!("[{} bytes in blob {hash}]", number(*bytes))),
        Part::ToolCall { name, arguments, .. } => Some(format!("→ {}: {}", one_line(name), gist(arguments))),
        Part::Thinking { text, .. } if text.trim().is_empty() => None,
        Part::Thinking { text, .. } => Some(format!("(thinking) {}", short(text, 300))),
        Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } => line(part, sizes),
        Part::ToolResult { .. } => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a person put in the place of the model's arguments, in a line of its own; nothing where nobody did.
fn edited(state: &State, bodies: &Hydrated<'_>, call: CallId) -> String {
    let granted = state.calls.get(call).and_then(|call| bodies.get(call.arguments));
    match granted {
        Some(EventKind::ApprovalGranted(ApprovalGranted { by, arguments: Some(arguments), .. })) => {
            format!("(with arguments of {}: {})\n", one_line(by.as_str()), gist(arguments))
        }
        _ => String::new(),
    }
}

pub fn body(state: &State, bodies: &Hydrated<'_>, sizes: &Sizes, kind: NodeKind, event: EventId) -> String {
    let said = |parts: &[Part]| said(parts, sizes);
    match (kind, bodies.get(event)) {
        (_, None) => "(erased)".into(),
        (NodeKind::Result(call), Some(EventKind::ModelFinished(data))) => {
            let told = data.call(call.index).and_then(|call| call.planned.ended()).map_or("", |(_, text)| text);
            format!("{call} {}", plain(told))
        }
        (NodeKind::Result(call), Some(EventKind::CallResolved(data))) => {
            let tool = state.calls.get(call).and_then(|call| call.tool.clone());
            let notices = data.output.iter().flat_map(|output| &output.notices);
            let notices: String = notices.map(|notice| format!("\n! {}", plain(notice))).collect();
            format!(
                "{call} {} {:?}\n{}{}{notices}",
                tool.as_deref().unwrap_or_default(),
                data.resolution,
                edited(state, bodies, call),
                said(&result_text(data))
            )
        }
        (NodeKind::Result(call), Some(EventKind::MessageImported(data))) => {
            let mut results = data.parts.iter().filter_map(|part| match part {
                Part::ToolResult { name, content, is_error, .. } => Some((name, content, is_error)),
                _ => None,
            });
            let Some((name, content, is_error)) = results.nth(usize::from(call.index)) else {
                return "(erased)".into();
            };
            let resolution = if *is_error { Resolution::Error } else { Resolution::Ok };
            format!("{call} {} {resolution:?}\n{}", one_line(name), said(content))
        }
        (_, Some(EventKind::MessageImported(data))) => said(&data.said()),
        (_, Some(EventKind::MessageQueued(data))) => said(&data.parts),
        (_, Some(EventKind::CallReopened(data))) => {
            plain(&reopened_text(state, bodies, data).unwrap_or_else(|| "(erased)".into()))
        }
        (_, Some(EventKind::RewindRequested(data))) => said(data.parts.as_deref().unwrap_or_default()),
        (_, Some(EventKind::ModelFinished(data))) => with_notes(said(&data.parts), data),
        (NodeKind::RepairPrompt, Some(EventKind::ModelMalformed(data))) => plain(&data.problem),
        (_, Some(EventKind::ModelMalformed(data))) => said(&data.parts),
        (_, Some(EventKind::SkillSelected(data))) => {
            let why = if data.reason.is_empty() { String::new() } else { format!(": {}", plain(&data.reason)) };
            format!(
                "{} ({}), about {} tokens{why}",
                one_line(&data.skill),
                one_line(&data.source),
                number(data.tokens.into())
            )
        }
        (_, Some(EventKind::Injected(data))) => plain(&reminder(data)),
        (_, Some(other)) => other.name().replace('_', " "),
    }
}
