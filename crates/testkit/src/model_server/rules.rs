//! The rules of Chat Completions that matter, as a check of a request body.

use serde_json::Value;
use std::collections::HashSet;

/// Checks a request body against the rules of Chat Completions that matter.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check_request(body: &Value) -> Result<(), String> {
    const KNOWN: [&str; 8] = [
        "model",
        "messages",
        "tools",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
    ];
    let fields = body.as_object().ok_or("the body is no JSON object")?;
    if let Some(field) = fields.keys().find(|field| !KNOWN.contains(&field.as_str())) {
        return Err(format!("unknown field {field}"));
    }
    filled(&body["model"], "model")?;
    let is = |field: &str, ok: &dyn Fn(&Value) -> bool| match fields.get(field) {
        Some(value) if !ok(value) => Err(format!("{field} is {value}")),
        _ => Ok(()),
    };
    is("stream", &Value::is_boolean)?;
    is("max_tokens", &|value| value.as_u64().is_some_and(|n| n > 0))?;
    is("max_completion_tokens", &|value| value.as_u64().is_some_and(|n| n > 0))?;
    is("temperature", &|value| value.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t)))?;
    if fields.contains_key("max_tokens") && fields.contains_key("max_completion_tokens") {
        return Err("max_tokens and max_completion_tokens".into());
    }
    if fields.contains_key("stream_options") && body["stream"] != true {
        return Err("stream_options without stream".into());
    }
    if let Some(tools) = fields.get("tools") {
        check_tools(tools)?;
    }
    let messages = body["messages"].as_array().filter(|messages| !messages.is_empty()).ok_or("messages is empty")?;
    check_messages(messages)
}

fn filled<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    value.as_str().filter(|text| !text.is_empty()).ok_or_else(|| format!("{what} is {value}, not a text"))
}

fn check_name(value: &Value, what: &str) -> Result<(), String> {
    let name = filled(value, what)?;
    let allowed = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if allowed { Ok(()) } else { Err(format!("{what} {name:?} is not allowed")) }
}

fn check_tools(tools: &Value) -> Result<(), String> {
    let tools = tools.as_array().filter(|tools| !tools.is_empty()).ok_or("tools is empty")?;
    let mut names = HashSet::new();
    for tool in tools {
        if tool["type"] != "function" {
            return Err(format!("a tool's type is {}", tool["type"]));
        }
        let function = &tool["function"];
        check_name(&function["name"], "a tool's name")?;
        if !names.insert(function["name"].as_str()) {
            return Err(format!("two tools are named {}", function["name"]));
        }
        if function["parameters"]["type"] != "object" {
            return Err(format!("the parameters of {} are no object schema", function["name"]));
        }
        if !(function["description"].is_string() || function["description"].is_null()) {
            return Err(format!("the description of {} is no text", function["name"]));
        }
    }
    Ok(())
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut ids: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return Err(format!("messages[{at}] is {role:?} while calls are not answered: {}", listed(&open)));
        }
        let in_place = |what: String| format!("messages[{at}] ({role}): {what}");
        match role {
            "system" | "developer" if at == 0 => check_content(&message["content"], &["text"]).map_err(in_place)?,
            "system" | "developer" => return Err(in_place("not the first message".into())),
            "user" => {
                let allowed = ["text", "image_url", "input_audio", "file"];
                check_content(&message["content"], &allowed).map_err(in_place)?;
            }
            "assistant" => {
                let calls = &message["tool_calls"];
                if calls.is_null() || !message["content"].is_null() {
                    check_content(&message["content"], &["text", "refusal"]).map_err(in_place)?;
                }
                if !calls.is_null() {
                    let calls = calls.as_array().filter(|calls| !calls.is_empty());
                    for call in calls.ok_or_else(|| in_place("tool_calls is empty".into()))? {
                        let id = check_call(call).map_err(in_place)?;
                        if !ids.insert(id) {
                            return Err(in_place(format!("the id {id} was used before")));
                        }
                        open.insert(id);
                    }
                }
            }
            "tool" => {
                check_content(&message["content"], &["text"]).map_err(in_place)?;
                let id = filled(&message["tool_call_id"], "tool_call_id").map_err(in_place)?;
                if !open.remove(id) {
                    return Err(in_place(format!("{id} is no open call of the assistant message before it")));
                }
            }
            _ => return Err(in_place("no such role".into())),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls are not answered: {}", listed(&open))) }
}

fn listed(ids: &HashSet<&str>) -> String {
    let mut ids: Vec<&str> = ids.iter().copied().collect();
    ids.sort_unstable();
    ids.join(", ")
}

fn check_call(call: &Value) -> Result<&str, String> {
    let id = filled(&call["id"], "a call's id")?;
    if call["type"] != "function" {
        return Err(format!("the type of {id} is {}", call["type"]));
    }
    check_name(&call["function"]["name"], "a call's name")?;
    let arguments = filled(&call["function"]["arguments"], "a call's arguments")?;
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => Ok(id),
        _ => Err(format!("the arguments of {id} are no JSON object: {arguments}")),
    }
}

fn check_content(content: &Value, allowed: &[&str]) -> Result<(), String> {
    let parts = match content {
        Value::String(_) => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts,
        other => return Err(format!("content is {other}")),
    };
    for part in parts {
        let kind = part["type"].as_str().unwrap_or_default();
        if !allowed.contains(&kind) {
            return Err(format!("a part of type {kind:?}"));
        }
        match kind {
            "image_url" => filled(&part["image_url"]["url"], "image_url.url").map(drop)?,
            "input_audio" => {
                filled(&part["input_audio"]["data"], "input_audio.data")?;
                let format = filled(&part["input_audio"]["format"], "input_audio.format")?;
                if !matches!(format, "wav" | "mp3") {
                    return Err(format!("input_audio.format is {format}"));
                }
            }
            "file" => filled(&part["file"]["file_data"], "file.file_data").map(drop)?,
            kind if !part[kind].is_string() => return Err(format!("{kind} is {}", part[kind])),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        let mut body = good();
        change(&mut body);
        check_request(&body).unwrap_err()
    }

    fn good() -> Value {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "a", "arguments": "{}"}});
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 5, "temperature": 0.7,
            "tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": "u"}}]},
                {"role": "assistant", "content": null, "tool_calls": [call("x"), call("y")]},
                {"role": "tool", "tool_call_id": "y", "content": ""},
                {"role": "tool", "tool_call_id": "x", "content": "1"},
                {"role": "assistant", "content": "done"},
            ],
        })
    }

    #[test]
    fn a_request_that_keeps_the_rules_passes_and_every_broken_rule_is_named() {
        assert_eq!(check_request(&good()), Ok(()));
        let last = |body: &mut Value| body["messages"].as_array_mut().unwrap().pop();
        assert_eq!(refused(|b| b["messages"] = json!([])), "messages is empty");
        assert_eq!(refused(|b| b["n"] = json!(1)), "unknown field n");
        assert_eq!(refused(|b| b["model"] = json!("")), "model is \"\", not a text");
        assert_eq!(refused(|b| b["stream"] = json!(false)), "stream_options without stream");
        assert_eq!(refused(|b| b["max_tokens"] = json!(0)), "max_tokens is 0");
        assert_eq!(refused(|b| b["temperature"] = json!(3)), "temperature is 3");
        assert_eq!(refused(|b| b["tools"] = json!([])), "tools is empty");
        assert_eq!(
            refused(|b| b["tools"][0]["function"]["name"] = json!("a b")),
            "a tool's name \"a b\" is not allowed"
        );
        assert_eq!(
            refused(|b| b["messages"][3]["tool_call_id"] = json!("z")),
            "messages[3] (tool): z is no open call of the assistant message before it"
        );
        assert_eq!(
            refused(|b| b["messages"][4]["tool_call_id"] = json!("y")),
            "messages[4] (tool): y is no open call of the assistant message before it"
        );
        assert_eq!(refused(|b| drop((last(b), last(b)))), "calls are not answered: x");
        assert_eq!(
            refused(|b| b["messages"][4] = json!({"role": "user", "content": "u"})),
            "messages[4] is \"user\" while calls are not answered: x"
        );
        assert_eq!(
            refused(|b| b["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{")),
            "messages[2] (assistant): the arguments of x are no JSON object: {"
        );
        assert_eq!(
            refused(|b| b["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!({})),
            "messages[2] (assistant): a call's arguments is {}, not a text"
        );
        assert_eq!(refused(|b| b["messages"][5]["content"] = Value::Null), "messages[5] (assistant): content is null");
        assert_eq!(
            refused(|b| b["messages"][5]["role"] = json!("system")),
            "messages[5] (system): not the first message"
        );
    }
}
