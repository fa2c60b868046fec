//! Sessions of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`.
//!
//! Facts: each line has `type`, `uuid`, `parentUuid`, `timestamp`, `sessionId`, `cwd`, `version`, `isSidechain`; what was said is in `message`,
//! in the form of Anthropic's Messages, and each block of an answer has a line of its own with the same `message.id` and the same `usage`
//! (claude-dev.tools/docs/jsonl-format; test samples in public repositories that read these files, versions 1.0.65 to 2.1.233). Where older
//! messages were summarised, a line begins anew with `logicalParentUuid` (`compact_boundary`).

use super::file::{call, count, filled, kind, lines, micros, result, text, thought, time};
use super::session::{Program, RecordedBranch, RecordedMessage, RecordedSession, Unreadable};
use super::tree::{TreeLine, ways};
use mainpath_types::Usage;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Lines that are about the program's own workings: their absence loses nothing of what was said and done.
const WORKINGS: [&str; 8] = [
    "file-history-snapshot",
    "queue-operation",
    "progress",
    "last-prompt",
    "permission-mode",
    "attachment",
    "summary",
    "system",
];

/// Reads one. Errors: the file cannot be read.
pub(super) fn read(file: &Path) -> Result<RecordedSession, Unreadable> {
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut session = RecordedSession::new(Program::ClaudeCode, name);
    let mut lines = lines(file, &mut session)?;
    let is_said = |line: &Value| matches!(line.get("type").and_then(Value::as_str), Some("user" | "assistant"));
    let aside = |line: &Value| line.get("isSidechain").and_then(Value::as_bool) == Some(true);
    // Those of an agent that it started may be in the same file, or in one of their own.
    if lines.iter().any(|line| is_said(line) && !aside(line)) {
        lines.retain(|line| {
            let stays = !(is_said(line) && aside(line));
            if !stays {
                session.leave_out("messages of agents that it started");
            }
            stays
        });
    }
    for line in &lines {
        head(line, &mut session);
    }
    let nodes: Vec<TreeLine> = lines.iter().enumerate().map(|(at, line)| node(line, at, is_said(line))).collect();
    let found = ways(&nodes, |way| widen(&lines, way));
    (0..found.beyond).for_each(|_| session.leave_out("further branches"));
    session.branches = found.ways.iter().map(|way| branch(&lines, way)).collect();
    Ok(session)
}

/// What a line says of the session.
fn head(line: &Value, session: &mut RecordedSession) {
    let or = |known: &mut Option<String>, name| *known = known.take().or_else(|| filled(line, name));
    or(&mut session.cwd, "cwd");
    or(&mut session.version, "version");
    session.begun = session.begun.or_else(|| time(line, "timestamp"));
    match line.get("type").and_then(Value::as_str).unwrap_or_default() {
        "user" | "assistant" => {}
        // The title that a person gave comes before one that was made.
        "custom-title" => session.title = filled(line, "customTitle").or_else(|| session.title.take()),
        "ai-title" => or(&mut session.title, "aiTitle"),
        "summary" => or(&mut session.title, "summary"),
        known if WORKINGS.contains(&known) => {}
        _ => session.leave_out(format!("lines of the type {}", kind(line, "type"))),
    }
}

fn node(line: &Value, at: usize, is_said: bool) -> TreeLine {
    let parent = text(line, "parentUuid").or_else(|| text(line, "logicalParentUuid"));
    let has_words = match line.pointer("/message/content") {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(blocks)) => {
            blocks.iter().any(|block| block.get("type").and_then(Value::as_str) != Some("tool_result"))
        }
        _ => false,
    };
    let id = text(line, "uuid").unwrap_or_else(|| format!("line {at}"));
    TreeLine { id, parent, tells: is_said && has_words, is_said }
}

/// The blocks of one answer, and the results of its calls, belong together however their lines are linked.
fn widen(lines: &[Value], way: &mut Vec<usize>) {
    let id = |line: &Value| line.pointer("/message/id").and_then(Value::as_str).map(String::from);
    let of = |way: &[usize]| way.iter().filter_map(|at| lines.get(*at)).filter_map(id).collect::<HashSet<String>>();
    let on_it = of(way);
    let mut wide: HashSet<usize> = way.iter().copied().collect();
    wide.extend((0..lines.len()).filter(|at| lines.get(*at).and_then(id).is_some_and(|id| on_it.contains(&id))));
    let blocks = |at: usize, wanted: &'static str, name: &'static str| {
        let content = lines.get(at).and_then(|line| line.pointer("/message/content")).and_then(Value::as_array);
        let of_kind = move |block: &&Value| block.get("type").and_then(Value::as_str) == Some(wanted);
        content.into_iter().flatten().filter(of_kind).filter_map(move |block| text(block, name))
    };
    let calls: HashSet<String> = wide.iter().flat_map(|at| blocks(*at, "tool_use", "id")).collect();
    wide.extend((0..lines.len()).filter(|at| blocks(*at, "tool_result", "tool_use_id").any(|id| calls.contains(&id))));
    *way = wide.into_iter().collect();
    way.sort_unstable();
}

fn branch(lines: &[Value], way: &[usize]) -> RecordedBranch {
    let mut messages: Vec<RecordedMessage> = Vec::new();
    let mut answers: HashMap<String, usize> = HashMap::new();
    for line in way.iter().filter_map(|at| lines.get(*at)) {
        let Some(role @ ("user" | "assistant")) = line.get("type").and_then(Value::as_str) else { continue };
        let Some(message) = line.get("message") else { continue };
        let content = blocks(message.get("content"));
        let id = text(message, "id").filter(|_| role == "assistant");
        let known = id.as_ref().and_then(|id| answers.get(id)).copied();
        let at = known.unwrap_or(messages.len());
        if known.is_none() {
            messages.push(RecordedMessage::new(role, Vec::new(), time(line, "timestamp")));
        }
        answers.extend(id.map(|id| (id, at)));
        let Some(said) = messages.get_mut(at) else { continue };
        said.extend(content);
        if role == "assistant" {
            said.model = filled(message, "model").filter(|model| model != "<synthetic>").or(said.model.take());
            // Each line of an answer has the count so far: the last one is it.
            said.usage = message.get("usage").filter(|usage| usage.is_object()).map(used).or(said.usage);
            said.cost = micros(line.get("costUSD")).or(said.cost);
        }
    }
    RecordedBranch { messages }
}

fn used(usage: &Value) -> Usage {
    let (read, written) = (count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens"));
    let input = count(usage, "input_tokens").saturating_add(read).saturating_add(written);
    Usage { input, output: count(usage, "output_tokens"), cache_read: read, cache_write: written, reasoning: 0 }
}

/// The blocks of a message; thoughts without their signatures.
fn blocks(content: Option<&Value>) -> Vec<Value> {
    match content {
        Some(Value::String(text)) => vec![super::file::block(text)],
        Some(Value::Array(blocks)) => blocks.iter().map(own).collect(),
        _ => Vec::new(),
    }
}

fn own(block: &Value) -> Value {
    match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        "thinking" => thought(text(block, "thinking").unwrap_or_default()),
        "tool_use" | "server_tool_use" => {
            call(text(block, "id"), text(block, "name"), block.get("input").cloned().unwrap_or_default())
        }
        "tool_result" => {
            let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            result(text(block, "tool_use_id"), block.get("content").cloned().unwrap_or_default(), is_error)
        }
        _ => block.clone(),
    }
}
