//! Sessions of pi: `~/.pi/agent/sessions/--FOLDER--/TIME_ID.jsonl`.
//!
//! Facts: the first line is `{"type":"session","version","id","timestamp","cwd","parentSession"}`, each other has `type`, `id`, `parentId`, `timestamp`; the session is the
//! way from its last line to the root (`session-manager.ts` of packages/coding-agent, github.com/badlogic/pi-mono, version 3 of the format; version 1 has no ids). Messages have the
//! roles `user`, `assistant`, `toolResult`, `bashExecution`; usage counts fresh input apart from what came from the cache, cost is in dollars (packages/ai/src/types.ts).

use super::file::{block, blocks, call, count, filled, kind, lines, micros, result, text, thought, time};
use super::session::{Program, RecordedBranch, RecordedMessage, RecordedSession, SessionProblem, Unreadable};
use super::tree::{TreeLine, ways};
use mainpath_types::Usage;
use serde_json::{Value, json};
use std::path::Path;

/// The newest version of the format that is known.
const NEWEST: u64 = 3;

/// Reads one. Errors: the file cannot be read, has no head, or is of a newer version.
pub(super) fn read(file: &Path) -> Result<RecordedSession, Unreadable> {
    let mut session = RecordedSession::new(Program::Pi, String::new());
    let mut lines = lines(file, &mut session)?;
    let is_head = |line: &Value| line.get("type").and_then(Value::as_str) == Some("session");
    let Some(head) = lines.first().filter(|first| is_head(first)).cloned() else {
        return Err(SessionProblem::NoHead.of(file));
    };
    let version = match head.get("version") {
        None => Some(1),
        Some(Value::String(text)) => text.parse().ok(),
        Some(version) => version.as_u64(),
    };
    let version = version.ok_or_else(|| SessionProblem::Version(head["version"].clone()).of(file))?;
    if version > NEWEST {
        return Err(SessionProblem::Newer { version, newest: NEWEST }.of(file));
    }
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    session.id = filled(&head, "id").unwrap_or(name);
    session.cwd = filled(&head, "cwd");
    session.parent = filled(&head, "parentSession");
    session.begun = time(&head, "timestamp");
    lines.remove(0);
    for line in &lines {
        match line.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message" | "custom_message" | "model_change" | "thinking_level_change" | "label" | "custom" => {}
            "session_info" => session.title = filled(line, "name").or(session.title.take()),
            "compaction" => session.leave_out("summaries of older messages"),
            "branch_summary" => session.leave_out("summaries of other branches"),
            _ => session.leave_out(format!("lines of the type {}", kind(line, "type"))),
        }
    }
    // Before lines had names, each followed the one above it.
    let name = |at: usize| format!("line {at}");
    let node = |(at, line): (usize, &Value)| {
        let (id, parent) = match version {
            1 => (name(at), at.checked_sub(1).map(name)),
            _ => (text(line, "id").unwrap_or_else(|| name(at)), text(line, "parentId")),
        };
        let is_said =
            line.get("message").is_some() || line.get("type").and_then(Value::as_str) == Some("custom_message");
        TreeLine { id, parent, tells: is_said, is_said }
    };
    let nodes: Vec<TreeLine> = lines.iter().enumerate().map(node).collect();
    let found = ways(&nodes, |_| {});
    (0..found.beyond).for_each(|_| session.leave_out("further branches"));
    for way in &found.ways {
        let said = way.iter().filter_map(|at| lines.get(*at)).filter_map(|line| said(line, &mut session));
        let messages = said.collect();
        session.branches.push(RecordedBranch { messages });
    }
    Ok(session)
}

fn said(line: &Value, session: &mut RecordedSession) -> Option<RecordedMessage> {
    let stamp = time(line, "timestamp");
    let Some(message) = line.get("message") else {
        let is_custom = line.get("type").and_then(Value::as_str) == Some("custom_message");
        return is_custom.then(|| RecordedMessage::new("user", pieces(line.get("content")), stamp));
    };
    let at = time(message, "timestamp").or(stamp);
    match message.get("role").and_then(Value::as_str).unwrap_or_default() {
        "user" | "custom" | "hookMessage" => Some(RecordedMessage::new("user", pieces(message.get("content")), at)),
        "assistant" => {
            let usage = message.get("usage").filter(|usage| usage.is_object());
            Some(RecordedMessage {
                model: filled(message, "model"),
                provider: filled(message, "provider"),
                usage: usage.map(used),
                cost: micros(usage.and_then(|usage| usage.pointer("/cost/total"))),
                ..RecordedMessage::new("assistant", pieces(message.get("content")), at)
            })
        }
        "toolResult" => {
            let failed = message.get("isError").and_then(Value::as_bool).unwrap_or(false);
            let content = Value::Array(pieces(message.get("content")));
            Some(RecordedMessage::new("user", vec![result(text(message, "toolCallId"), content, failed)], at))
        }
        // What a person ran by hand, and showed to the model.
        "bashExecution" => {
            let (command, output) =
                (text(message, "command").unwrap_or_default(), text(message, "output").unwrap_or_default());
            Some(RecordedMessage::new("user", vec![block(format!("$ {command}\n{output}"))], at))
        }
        _ => {
            session.leave_out(format!("messages of the role {}", kind(message, "role")));
            None
        }
    }
}

fn used(usage: &Value) -> Usage {
    let (read, written) = (count(usage, "cacheRead"), count(usage, "cacheWrite"));
    let input = count(usage, "input").saturating_add(read).saturating_add(written);
    Usage { input, output: count(usage, "output"), cache_read: read, cache_write: written, reasoning: 0 }
}

/// The pieces of a message in Anthropic's form.
fn pieces(content: Option<&Value>) -> Vec<Value> {
    blocks(content, piece)
}

fn piece(piece: &Value) -> Value {
    match piece.get("type").and_then(Value::as_str).unwrap_or_default() {
        "thinking" => thought(text(piece, "thinking").unwrap_or_default()),
        "toolCall" => call(text(piece, "id"), text(piece, "name"), piece.get("arguments").cloned().unwrap_or_default()),
        "image" => json!({"type": "image", "source": {
            "type": "base64", "media_type": piece.get("mimeType"), "data": piece.get("data")
        }}),
        _ => piece.clone(),
    }
}
