//! Sessions of codex: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`.
//!
//! Facts: a line is `{"timestamp","type","payload"}` with the types `session_meta`, `turn_context`, `response_item`, `event_msg`, `compacted`;
//! items are those of OpenAI's Responses (`RolloutItem` and `SessionMeta` in codex-rs/protocol/src/protocol.rs, `ResponseItem` in models.rs of
//! github.com/openai/codex). `token_count` has the usage of the last request (`last_token_usage`) and of all (`total_token_usage`), `input_tokens` with what came from
//! the cache. Before that form, a line was the item itself.

use super::file::{block, blocks, call, count, filled, kind, lines, result, text, thought, time};
use super::session::{Program, RecordedBranch, RecordedMessage, RecordedSession, Unreadable};
use mainpath_types::{Millis, Usage};
use serde_json::{Value, json};
use std::path::Path;

/// Reads one. Errors: the file cannot be read.
pub(super) fn read(file: &Path) -> Result<RecordedSession, Unreadable> {
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut session = RecordedSession::new(Program::Codex, name);
    let lines = lines(file, &mut session)?;
    let mut reading = Reading::default();
    let mut has_head = false;
    for line in &lines {
        let at = time(line, "timestamp");
        session.begun = session.begun.or(at);
        let Some(payload) = line.get("payload") else {
            // As it was at first: the head without a type, then bare items.
            match line.get("type") {
                Some(_) => reading.item(line, at, &mut session),
                None if line.get("id").is_some() && !has_head => {
                    has_head = true;
                    session.id = filled(line, "id").unwrap_or(session.id);
                }
                None => {}
            }
            continue;
        };
        match line.get("type").and_then(Value::as_str).unwrap_or_default() {
            // A forked session has the heads of those that it came from after its own.
            "session_meta" if !has_head => {
                has_head = true;
                session.id = filled(payload, "id").unwrap_or(session.id);
                session.cwd = filled(payload, "cwd");
                session.version = filled(payload, "cli_version");
                session.parent = filled(payload, "forked_from_id").or_else(|| filled(payload, "parent_thread_id"));
                session.begun = time(payload, "timestamp").or(session.begun);
                reading.provider = filled(payload, "model_provider");
                if payload.get("base_instructions").is_some_and(|text| !text.is_null()) {
                    session.leave_out("the program's own instructions");
                }
            }
            "session_meta" => {}
            "turn_context" => {
                reading.model = filled(payload, "model").or(reading.model.take());
                session.cwd = session.cwd.take().or_else(|| filled(payload, "cwd"));
            }
            "response_item" => reading.item(payload, at, &mut session),
            "event_msg" => reading.event(payload, &mut session),
            "compacted" => session.leave_out("summaries of older messages"),
            _ => session.leave_out(format!("lines of the type {}", kind(line, "type"))),
        }
    }
    session.branches = vec![RecordedBranch { messages: reading.messages }];
    Ok(session)
}

#[derive(Default)]
struct Reading {
    messages: Vec<RecordedMessage>,
    model: Option<String>,
    provider: Option<String>,
    /// All that was used by the last count.
    total: Option<Value>,
}

impl Reading {
    /// What the model says until somebody else speaks is one answer.
    fn answers(&mut self, at: Option<Millis>, block: Value) {
        if !self.messages.last().is_some_and(|last| last.is_of("assistant")) {
            let model = self.model.clone();
            let provider = self.provider.clone();
            self.messages.push(RecordedMessage {
                model,
                provider,
                ..RecordedMessage::new("assistant", Vec::new(), at)
            });
        }
        if let Some(last) = self.messages.last_mut() {
            last.extend([block]);
        }
    }

    fn says(&mut self, at: Option<Millis>, content: Vec<Value>) {
        self.messages.push(RecordedMessage::new("user", content, at));
    }

    fn item(&mut self, item: &Value, at: Option<Millis>, session: &mut RecordedSession) {
        let id = || text(item, "call_id").or_else(|| text(item, "id"));
        match item.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message" => match item.get("role").and_then(Value::as_str) {
                Some("user") => self.says(at, pieces(item.get("content"))),
                Some("assistant") => pieces(item.get("content")).into_iter().for_each(|piece| self.answers(at, piece)),
                _ => session.leave_out("messages of the program to the model"),
            },
            "reasoning" => {
                let texts = ["summary", "content"].into_iter().filter_map(|name| item.get(name)?.as_array());
                let texts: Vec<String> = texts.flatten().filter_map(|piece| filled(piece, "text")).collect();
                match texts.is_empty() {
                    true => session.leave_out("thoughts that only their vendor can read"),
                    false => self.answers(at, thought(texts.join("\n\n"))),
                }
            }
            "function_call" => {
                let arguments = text(item, "arguments").unwrap_or_default();
                let input = serde_json::from_str::<Value>(&arguments).ok().filter(Value::is_object);
                self.answers(
                    at,
                    call(id(), text(item, "name"), input.unwrap_or_else(|| json!({"arguments": arguments}))),
                );
            }
            "custom_tool_call" => {
                let input = json!({"input": item.get("input").cloned().unwrap_or_default()});
                self.answers(at, call(id(), text(item, "name"), input));
            }
            "local_shell_call" => {
                let input = item.get("action").cloned().unwrap_or_default();
                self.answers(at, call(id(), Some("local_shell".into()), input));
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let (content, failed) = output(item.get("output"));
                self.says(at, vec![result(id(), content, failed)]);
            }
            _ => session.leave_out(format!("items of the type {}", kind(item, "type"))),
        }
    }

    fn event(&mut self, event: &Value, session: &mut RecordedSession) {
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "token_count" => {
                let Some(info) = event.get("info").filter(|info| info.is_object()) else { return };
                let total = info.get("total_token_usage").cloned();
                // It is told again where only the limits of the account have changed.
                if total.is_some() && total == self.total {
                    return;
                }
                self.total = total;
                let Some(last) = info.get("last_token_usage").map(used) else { return };
                let answer = self.messages.iter_mut().rev().find(|message| message.is_of("assistant"));
                match answer {
                    Some(answer) => answer.usage = Some(sum(answer.usage.unwrap_or_default(), last)),
                    None => session.leave_out("counts of tokens before the first answer"),
                }
            }
            "thread_rolled_back" => session.leave_out("turns taken back: their messages are kept"),
            // The others tell what the items tell, or what was shown meanwhile.
            _ => {}
        }
    }
}

fn sum(mut usage: Usage, other: Usage) -> Usage {
    usage += other;
    usage
}

fn used(usage: &Value) -> Usage {
    Usage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cache_read: count(usage, "cached_input_tokens"),
        cache_write: 0,
        reasoning: count(usage, "reasoning_output_tokens"),
    }
}

/// The pieces of a message in Anthropic's form.
fn pieces(content: Option<&Value>) -> Vec<Value> {
    blocks(content, piece)
}

fn piece(piece: &Value) -> Value {
    match piece.get("type").and_then(Value::as_str) {
        Some("input_text" | "output_text" | "text") => block(text(piece, "text").unwrap_or_default()),
        _ => piece.clone(),
    }
}

/// What a call gave: a text, pieces, or an object with them and whether it went well.
fn output(output: Option<&Value>) -> (Value, bool) {
    match output {
        Some(Value::Object(fields)) => {
            let failed = fields.get("success").and_then(Value::as_bool) == Some(false);
            (fields.get("content").map(|content| Value::Array(pieces(Some(content)))).unwrap_or_default(), failed)
        }
        Some(given @ Value::Array(_)) => (Value::Array(pieces(Some(given))), false),
        Some(given) => (given.clone(), false),
        None => (Value::Null, false),
    }
}
