//! The text protocol: one JSON object a turn, in one of two dialects.

use super::error::TurnError;
use super::words::Fields;
use mainpath_types::{Dialect, GoalOp, Message, Part, Role, Signature, TextForm, text_of};
use serde_json::{Value, json};

/// Who signs the wording of an answer that says more than its turn: no vendor, so no vendor is sent it as a signature.
pub const TEXT_ISSUER: &str = "text-protocol";

/// The actions of the skills dialect that are calls of tools with the same names.
const SKILL_ACTIONS: [&str; 3] = ["select_skills", "load_resource", "run_script"];

/// A turn that was read out of an answer's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Its parts: one call, or the final answer as text; before them the model's own words, where they say more.
    pub parts: Vec<Part>,
    /// What it makes of the plan.
    pub goals: Vec<GoalOp>,
    /// Whether it had to be picked out of fences or prose.
    pub tolerated: bool,
}

/// Reads the one JSON object that a turn is. Errors: what is wrong, for the model.
pub fn parse(text: &str, form: TextForm) -> Result<Parsed, TurnError> {
    let bare = text.trim();
    if bare.is_empty() {
        return Err(TurnError::Empty);
    }
    let (value, words, tolerated) = match serde_json::from_str::<Value>(bare) {
        Ok(value) => (value, bare, false),
        Err(error) if form.tolerant => {
            let (value, words) = embedded(bare).ok_or_else(|| no_json(bare, error))?;
            (value, words, true)
        }
        Err(error) => return Err(no_json(bare, error)),
    };
    let (part, goals) = match form.dialect {
        Dialect::AgentCore => (agent_core(value.clone(), form.tolerant)?, Vec::new()),
        Dialect::Skills => skills(value.clone(), form.tolerant)?,
    };
    let mut parts = vec![part];
    if serde_json::from_str::<Value>(&wording(&parts, form.dialect)).ok().as_ref() != Some(&value) {
        let signature = Some(Signature { issuer: TEXT_ISSUER.into(), value: words.into() });
        parts.insert(0, Part::Thinking { text: String::new(), signature });
    }
    Ok(Parsed { parts, goals, tolerated })
}

fn no_json(text: &str, error: serde_json::Error) -> TurnError {
    if !text.starts_with('{') {
        return TurnError::NoObject { fenced: text.starts_with("```") };
    }
    if error.is_eof() {
        return TurnError::Incomplete(error);
    }
    match first_value(text) {
        Some(_) => TurnError::Trailing { line: error.line(), column: error.column() },
        None => TurnError::BadJson(error),
    }
}

/// The JSON value that a text begins with, and its own text.
fn first_value(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, text.get(..values.byte_offset())?))
}

/// The first JSON object inside a fence or prose, and its text.
fn embedded(text: &str) -> Option<(Value, &str)> {
    // Each try is linear, so there are only so many.
    text.match_indices('{').take(32).find_map(|(at, _)| first_value(text.get(at..)?))
}

fn agent_core(value: Value, tolerant: bool) -> Result<Part, TurnError> {
    let mut fields = Fields::new("", value)?;
    let part = match fields.text("type")?.as_str() {
        "action" => {
            let (name, arguments) = (fields.text("tool")?, fields.object("args")?);
            Part::ToolCall { name, arguments, signature: None }
        }
        "final" => Part::text(answer(fields.needed("answer")?)),
        other => return Err(TurnError::value("type", other, "\"action\" or \"final\"")),
    };
    fields.end(tolerant)?;
    Ok(part)
}

/// An answer that is to match a schema may be JSON itself.
fn answer(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn skills(value: Value, tolerant: bool) -> Result<(Part, Vec<GoalOp>), TurnError> {
    let mut fields = Fields::new("", value)?;
    let mut goals = Vec::new();
    for plan in ["plan", "plan_update"] {
        if let Some(value) = fields.take(plan) {
            goals.extend(super::plan::read(plan, value, tolerant)?);
        }
    }
    let mut action = Fields::new("action", fields.needed("action")?)?;
    let reason = action.optional_text("reason")?;
    let part = match action.text("type")?.as_str() {
        "final_answer" => {
            let mut last = Fields::new("final_answer", fields.needed("final_answer")?)?;
            let text = answer(last.needed("content")?);
            last.end(tolerant)?;
            action.end(tolerant)?;
            Part::text(text)
        }
        "tool" => {
            let (name, arguments) = (action.text("tool")?, action.object("args")?);
            action.end(tolerant)?;
            Part::ToolCall { name, arguments, signature: None }
        }
        name if SKILL_ACTIONS.contains(&name) => {
            // These want it as an argument.
            let arguments = action.rest_with("reason", reason);
            Part::ToolCall { name: name.into(), arguments, signature: None }
        }
        other => {
            let known = format!("\"{}\", \"tool\" or \"final_answer\"", SKILL_ACTIONS.join("\", \""));
            return Err(TurnError::value("action.type", other, known));
        }
    };
    fields.end(tolerant)?;
    Ok((part, goals))
}

/// The same message as the text protocol shows it: a turn as its JSON object, results as what was observed.
pub fn render(message: Message, dialect: Dialect) -> Message {
    let Message { seq, role, parts } = message;
    match role {
        Role::User => Message { seq, role, parts },
        Role::Assistant => {
            let text = wording(&parts, dialect);
            let is_thought = |part: &Part| matches!(part, Part::Thinking { .. }) && own_words(part).is_none();
            let mut shown: Vec<Part> = parts.into_iter().filter(is_thought).collect();
            shown.push(Part::text(text));
            Message { seq, role, parts: shown }
        }
        Role::Tool => Message { seq, role: Role::User, parts: parts.into_iter().flat_map(observed).collect() },
    }
}

fn own_words(part: &Part) -> Option<&str> {
    match part {
        Part::Thinking { signature: Some(signature), .. } if signature.issuer == TEXT_ISSUER => Some(&signature.value),
        _ => None,
    }
}

/// A turn as its JSON object: the model's own words where they were kept. A turn of another protocol may have several
/// calls; then each is an object of its own.
fn wording(parts: &[Part], dialect: Dialect) -> String {
    if let Some(words) = parts.iter().find_map(own_words) {
        return words.into();
    }
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall { name, arguments, .. } => Some(action(name, arguments, dialect)),
        _ => None,
    });
    let mut lines: Vec<String> = calls.collect();
    if lines.is_empty() {
        let answer = text_of(parts);
        lines.push(match dialect {
            Dialect::AgentCore => json!({"type": "final", "answer": answer}).to_string(),
            Dialect::Skills => {
                json!({"action": {"type": "final_answer"}, "final_answer": {"content": answer}}).to_string()
            }
        });
    }
    lines.join("\n")
}

fn action(name: &str, arguments: &str, dialect: Dialect) -> String {
    // What is no JSON object was refused when it came; it is shown as the text that it is.
    let args = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
    match (dialect, args) {
        (Dialect::AgentCore, args) => json!({"type": "action", "tool": name, "args": args}).to_string(),
        (Dialect::Skills, Value::Object(mut action)) if SKILL_ACTIONS.contains(&name) => {
            action.insert("type".into(), name.into());
            json!({"action": action}).to_string()
        }
        (Dialect::Skills, args) => json!({"action": {"type": "tool", "tool": name, "args": args}}).to_string(),
    }
}

fn observed(part: Part) -> Vec<Part> {
    let Part::ToolResult { name, content, is_error, .. } = part else { return vec![part] };
    let how = if is_error { "failed" } else { "ok" };
    let mut parts = vec![Part::text(format!("Observation ({name}, {how}):"))];
    parts.extend(content);
    // One text where it is nothing but text.
    if parts.iter().all(|part| matches!(part, Part::Text { .. })) {
        parts = vec![Part::text(text_of(&parts))];
    }
    parts
}
