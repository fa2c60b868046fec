//! Conversations as OpenAI's clients send them: what of them is understood, and where something is not.

use super::refused::unsupported;
use crate::problem::Problem;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// A conversation that was sent, every piece of which is understood.
#[derive(Clone, Debug, PartialEq)]
pub struct SentMessages {
    /// The field in which it stands: `messages` or `input`.
    pub field: &'static str,
    /// The messages, oldest first.
    pub messages: Vec<Map<String, Value>>,
}

/// Fields of messages and items that say nothing that is used, and what they may say.
const SILENT: &[&str] = &["id", "status", "phase", "type", "annotations", "logprobs", "detail"];

impl SentMessages {
    /// The `messages` of Chat Completions. Errors: a piece that is not supported, with its place.
    pub fn chat(messages: Vec<Map<String, Value>>) -> Result<SentMessages, Problem> {
        SentMessages { field: "messages", messages }.checked()
    }

    /// The `input` of Responses, below what `instructions` say. Errors: as [`SentMessages::chat`]'s.
    pub fn input(input: &Value) -> Result<SentMessages, Problem> {
        let messages = match input {
            Value::String(text) => vec![said("user", text)],
            Value::Array(items) => {
                let object = |(at, item): (usize, &Value)| {
                    let none = || Problem::field(format!("/input/{at}"), "is no object");
                    item.as_object().cloned().ok_or_else(none)
                };
                items.iter().enumerate().map(object).collect::<Result<_, _>>()?
            }
            _ => return Err(Problem::field("/input", "is no text and no list")),
        };
        SentMessages { field: "input", messages }.checked()
    }

    /// The same with a system text before all others.
    pub fn below(mut self, instructions: Option<&str>) -> SentMessages {
        if let Some(text) = instructions {
            self.messages.insert(0, said("system", text));
        }
        self
    }

    fn checked(self) -> Result<SentMessages, Problem> {
        if self.messages.is_empty() {
            return Err(Problem::field(format!("/{}", self.field), "is empty"));
        }
        for (at, message) in self.messages.iter().enumerate() {
            check(message, &format!("/{}/{at}", self.field))?;
        }
        Ok(self)
    }

    /// What users say after the last message of the agent, as one text: what is new to a trace that has the rest. Errors: there is
    /// nothing, or something else than words of users.
    pub fn news(&self) -> Result<String, Problem> {
        let is_ours = |message: &Map<String, Value>| role(message) == "assistant" || message.get("role").is_none();
        let first = self.messages.iter().rposition(is_ours).map_or(0, |at| at + 1);
        let mut texts = Vec::new();
        for (at, message) in self.messages.iter().enumerate().skip(first) {
            let pointer = format!("/{}/{at}", self.field);
            match (role(message), message.get("content")) {
                ("user", Some(Value::String(text))) => texts.push(text.clone()),
                ("user", Some(Value::Array(parts))) => {
                    for (part_at, part) in parts.iter().enumerate() {
                        let text = part.get("text").and_then(Value::as_str).ok_or_else(|| {
                            let why = "only text can be said in a conversation that goes on: begin a new one";
                            unsupported(format!("{pointer}/content/{part_at}"), why)
                        })?;
                        texts.push(text.into());
                    }
                }
                _ => {
                    let why = "only users' messages can be said in a conversation that goes on: its instructions stay as they are";
                    return Err(unsupported(format!("{pointer}/role"), why));
                }
            }
        }
        let text = texts.join("\n\n");
        match text.trim().is_empty() {
            true => Err(Problem::field(format!("/{}", self.field), "has no user's message after the agent's last one")),
            false => Ok(text),
        }
    }
}

fn said(role: &str, text: &str) -> Map<String, Value> {
    Map::from_iter([("role".to_string(), json!(role)), ("content".to_string(), json!(text))])
}

fn role(message: &Map<String, Value>) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn check(message: &Map<String, Value>, pointer: &str) -> Result<(), Problem> {
    let kind = message.get("type").map(|kind| kind.as_str().unwrap_or_default());
    let wanted: &[&str] = match (message.get("role"), kind) {
        (Some(role), None | Some("message")) => match role.as_str().unwrap_or_default() {
            "system" | "developer" | "user" => &["role", "content"],
            "assistant" => &["role", "content", "refusal", "tool_calls"],
            "tool" => &["role", "content", "tool_call_id"],
            _ => {
                let why = "only system, developer, user, assistant and tool are supported";
                return Err(unsupported(format!("{pointer}/role"), why));
            }
        },
        (None, Some("function_call")) => &["call_id", "name", "arguments"],
        (None, Some("function_call_output")) => &["call_id", "output"],
        (_, Some(_)) => {
            let why = "only messages, function_call and function_call_output are supported";
            return Err(unsupported(format!("{pointer}/type"), why));
        }
        (None, None) => return Err(Problem::field(format!("{pointer}/role"), "is missing")),
    };
    for (name, value) in message {
        let says = !value.is_null() && *value != json!([]);
        if says && !wanted.contains(&name.as_str()) && !SILENT.contains(&name.as_str()) {
            return Err(unsupported(format!("{pointer}/{name}"), "is not supported"));
        }
    }
    let is_empty_allowed = message.contains_key("tool_calls") || message.contains_key("refusal");
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(at, part)| check_part(part, &format!("{pointer}/content/{at}")))
        }
        None | Some(Value::Null) if kind.is_some_and(|kind| kind.starts_with("function")) || is_empty_allowed => Ok(()),
        _ => Err(Problem::field(format!("{pointer}/content"), "is no text and no list of parts")),
    }
}

fn check_part(part: &Value, pointer: &str) -> Result<(), Problem> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let field = match kind {
        "text" | "input_text" | "output_text" => "text",
        "refusal" => "refusal",
        "image_url" | "input_image" => return check_image(part, pointer),
        "" => return Err(Problem::field(format!("{pointer}/type"), "is missing")),
        _ => {
            let why = format!("{kind} is not supported: only text and images are");
            return Err(unsupported(format!("{pointer}/type"), why));
        }
    };
    match part.get(field) {
        Some(Value::String(_)) => Ok(()),
        _ => Err(Problem::field(format!("{pointer}/{field}"), "is no text")),
    }
}

/// Whether this is an address from which images come, or an image itself.
fn is_image(url: &str) -> bool {
    match url.strip_prefix("data:image/").and_then(|data| data.split_once(";base64,")) {
        Some((_, data)) => !data.is_empty() && STANDARD.decode(data).is_ok(),
        None => url.starts_with("https://") || url.starts_with("http://"),
    }
}

fn check_image(part: &Value, pointer: &str) -> Result<(), Problem> {
    let image = part.get("image_url");
    let url = image.and_then(|image| image.get("url").unwrap_or(image).as_str());
    if !url.is_some_and(is_image) {
        let what = "is no image: give its address (https://…), or data:image/TYPE;base64,…";
        return Err(unsupported(format!("{pointer}/image_url"), what));
    }
    let detail = part.get("detail").or_else(|| image.and_then(|image| image.get("detail")));
    match detail.and_then(Value::as_str) {
        None | Some("auto") => Ok(()),
        Some(_) => Err(unsupported(format!("{pointer}/image_url/detail"), "only auto is supported")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(messages: Value) -> Result<SentMessages, (String, String)> {
        let messages =
            messages.as_array().unwrap().iter().map(|message| message.as_object().unwrap().clone()).collect();
        SentMessages::chat(messages).map_err(|problem| (problem.errors[0].pointer.clone(), problem.detail))
    }

    #[test]
    fn what_is_not_understood_is_named_by_its_place() {
        for (messages, place) in [
            (json!([{"role": "nobody", "content": "x"}]), "/messages/0/role"),
            (json!([{"content": "x"}]), "/messages/0/role"),
            (json!([{"role": "user", "content": 1}]), "/messages/0/content"),
            (json!([{"role": "user", "content": "x", "name": "anna"}]), "/messages/0/name"),
            (json!([{"role": "user", "content": [{"type": "input_audio"}]}]), "/messages/0/content/0/type"),
            (json!([{"role": "user", "content": [{"type": "text"}]}]), "/messages/0/content/0/text"),
            (json!([{"type": "item_reference", "id": "x"}]), "/messages/0/type"),
            (json!([{"role": "assistant", "content": "x", "audio": {"id": "y"}}]), "/messages/0/audio"),
            (
                json!([{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]),
                "/messages/0/content/0/image_url",
            ),
        ] {
            assert_eq!(chat(messages.clone()).map_err(|(pointer, _)| pointer), Err(place.into()), "{messages}");
        }
        let usual = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": "1", "refusal": null, "annotations": [], "audio": null, "tool_calls": null},
            {"role": "user", "content": "two"},
        ]);
        assert_eq!(chat(usual).unwrap().news(), Ok("two".into()));
    }
}
