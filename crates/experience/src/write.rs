//! From entries to text, and small changes in what people wrote.

use crate::block::Block;
use crate::entry::{Entry, Status};
use mainpath_types::Origin;
use std::fmt::Write;

/// The text of a new entry.
pub(crate) fn text_of(entry: &Entry) -> String {
    let mut text = String::from("---\n");
    let mut line = |name: &str, value: &str| text.extend([name, ": ", value, "\n"]);
    line("id", &entry.id);
    line("category", &quoted(&entry.category));
    line("state", &list(entry.state.iter().map(String::as_str)));
    line("intent", &list(entry.intent.iter().map(String::as_str)));
    line("helpful", &entry.helpful.to_string());
    line("harmful", &entry.harmful.to_string());
    if let Some(trace) = &entry.trace_id {
        line("trace_id", &quoted(trace));
    }
    if let Some(at) = &entry.created_at {
        line("created_at", &quoted(at));
    }
    line("origin", &list(entry.origin.iter().map(|origin| name_of(*origin))));
    line("status", name_of_status(entry.status));
    text.push_str("---\n\n");
    text.push_str(&tame(&entry.text));
    text.push('\n');
    text
}

/// A text in which no line can be taken for the beginning of front matter.
pub(crate) fn tame(text: &str) -> String {
    let lines = text.trim().lines().map(|line| {
        let line = line.trim_end_matches('\r');
        if line.trim_start_matches('\u{feff}').trim_end() == "---" { "- - -" } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Sets a field of a block's front matter: the line that has it is replaced, or one is added at its end. Everything else stays as it
/// was written.
pub(crate) fn with_field(text: &str, block: &Block, name: &str, value: &str) -> Option<String> {
    let front = block.front.clone()?;
    let inside = text.get(front.clone())?;
    let mut at = front.start;
    let prefix = format!("{name}:");
    let line = format!("{name}: {value}\n");
    for old in inside.split_inclusive('\n') {
        if old.starts_with(&prefix) {
            return Some(format!("{}{line}{}", text.get(..at)?, text.get(at + old.len()..)?));
        }
        at += old.len();
    }
    Some(format!("{}{line}{}", text.get(..front.end)?, text.get(front.end..)?))
}

/// How an origin is written.
pub(crate) fn name_of(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "user",
        Origin::Workspace => "workspace",
        Origin::Web => "web",
        Origin::Mcp => "mcp",
        Origin::Message => "message",
        Origin::Model => "model",
    }
}

/// How a status is written.
pub(crate) fn name_of_status(status: Status) -> &'static str {
    match status {
        Status::Waiting => "waiting",
        Status::Accepted => "accepted",
    }
}

/// A text as YAML reads it, on one line. JSON is YAML; what would end a line there is written as an escape.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain) {
        return text.into();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn list<'t>(items: impl Iterator<Item = &'t str>) -> String {
    format!("[{}]", items.map(quoted).collect::<Vec<_>>().join(", "))
}
