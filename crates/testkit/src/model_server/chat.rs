//! Chat Completions: the rules that matter, as a check of a request, and what an answer looks like.
//!
//! Source: `openai` 3.54.0, `openai/types/chat`.

use super::Answer;
use super::http::{event_stream, pieces, response};
use super::schema::Schema;
use mainpath_types::Usage;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Checks a request.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check(_path: &str, _headers: &[(String, String)], body: &Value) -> Result<(), String> {
    check_request(body)
}

static SCHEMA: Schema = Schema::new(include_str!("../../schemas/chat.json"));

/// Checks a request body against the published types, and for what they do not say: the order of messages, that every
/// call is answered once and directly after it, names, arguments, empty lists, limits that exclude each other. Beside the
/// published fields, what compatible servers publish is allowed: `cache_control`, and in an assistant's message the
/// reasoning that they want back (`reasoning_content`, `reasoning_details`).
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check_request(body: &Value) -> Result<(), String> {
    let openai = without_extensions(body)?;
    SCHEMA.check(openai.as_ref().unwrap_or(body))?;
    let fields = body.as_object().ok_or("the body is no JSON object")?;
    filled(&body["model"], "model")?;
    let is = |field: &str, ok: &dyn Fn(&Value) -> bool| match fields.get(field) {
        Some(value) if !ok(value) => Err(format!("{field} is {value}")),
        _ => Ok(()),
    };
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

/// The body without what only compatible servers know, if there is any; its shape is checked here.
fn without_extensions(body: &Value) -> Result<Option<Value>, String> {
    let messages = body["messages"].as_array();
    let (text, details) = ("reasoning_content", "reasoning_details");
    let has = |message: &Value| message.get(text).is_some() || message.get(details).is_some();
    if body.get("cache_control").is_none() && !messages.is_some_and(|messages| messages.iter().any(has)) {
        return Ok(None);
    }
    let mut body = body.clone();
    let mark = body.as_object_mut().and_then(|fields| fields.remove("cache_control"));
    if mark.is_some_and(|mark| mark != json!({"type": "ephemeral"})) {
        return Err("cache_control is no mark".into());
    }
    for (at, message) in body["messages"].as_array_mut().into_iter().flatten().enumerate() {
        let Some(message) = message.as_object_mut().filter(|message| message["role"] == "assistant") else { continue };
        if message.remove(text).is_some_and(|text| !text.is_string()) {
            return Err(format!("messages[{at}]: {text} is no text"));
        }
        let entry = |entry: &Value| entry["type"].as_str().is_some_and(|kind| kind.starts_with("reasoning."));
        let list = |list: Value| list.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(entry));
        if message.remove(details).is_some_and(|value| !list(value)) {
            return Err(format!("messages[{at}]: {details} is no list of reasoning details"));
        }
    }
    Ok(Some(body))
}

pub(super) fn filled<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    value.as_str().filter(|text| !text.is_empty()).ok_or_else(|| format!("{what} is {value}, not a text"))
}

pub(super) fn check_name(value: &Value, what: &str) -> Result<(), String> {
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

pub(super) fn listed(ids: &HashSet<&str>) -> String {
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

/// The whole HTTP response with this answer.
pub fn render(answer: &Answer, streamed: bool) -> Vec<u8> {
    if streamed { event_stream(&events(answer)) } else { response(200, &[], completion(answer).to_string().as_bytes()) }
}

fn finish_reason(answer: &Answer) -> &str {
    let by_calls = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    answer.finish_reason.as_deref().unwrap_or(by_calls)
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

/// The answer as the body of a response that is not streamed.
pub fn completion(answer: &Answer) -> Value {
    let calls: Vec<Value> = (answer.calls.iter().zip(0..))
        .map(|((name, arguments), index)| {
            json!({"id": format!("call_{index}"), "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    if !answer.text.is_empty() {
        message["content"] = json!(answer.text);
    }
    if !answer.thinking.is_empty() {
        message["reasoning_content"] = json!(answer.thinking);
    }
    if !answer.signature.is_empty() {
        message["reasoning_details"] = json!([encrypted(answer)]);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "test-model",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(answer)}],
        "usage": usage(&answer.usage),
    })
}

/// Reasoning as OpenRouter hides it.
fn encrypted(answer: &Answer) -> Value {
    json!({"type": "reasoning.encrypted", "id": "rs_1", "index": 0, "format": "openai-responses-v1", "data": answer.signature})
}

/// The answer as the events of a stream, each with its blank line.
pub fn events(answer: &Answer) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
            "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    events.extend(pieces(&answer.thinking).map(|text| delta(json!({"reasoning_content": text}))));
    if !answer.signature.is_empty() {
        events.push(delta(json!({"reasoning_details": [encrypted(answer)]})));
    }
    events.extend(pieces(&answer.text).map(|text| delta(json!({"content": text}))));
    for ((name, arguments), index) in answer.calls.iter().zip(0..) {
        let function = json!({"name": name, "arguments": ""});
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
        events.push(delta(json!({"tool_calls": [call]})));
        let more = |text: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]});
        events.extend(pieces(arguments).map(|text| delta(more(text))));
    }
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(answer)}]), Value::Null));
    events.push(chunk(json!([]), usage(&answer.usage)));
    events.push("data: [DONE]\n\n".into());
    events
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(refused(|b| b["input"] = json!(1)).contains("'input' was unexpected"));
        assert!(
            refused(|b| b["reasoning_effort"] = json!("huge"))
                .starts_with("/reasoning_effort: \"huge\" is not one of ")
        );
        assert_eq!(
            refused(|b| b["messages"][5]["reasoning_details"] = json!([{"type": "other"}])),
            "messages[5]: reasoning_details is no list of reasoning details"
        );
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
            "/messages/2/tool_calls/0/function/arguments: {} is not of type \"string\""
        );
        assert_eq!(refused(|b| b["messages"][5]["content"] = Value::Null), "messages[5] (assistant): content is null");
        assert_eq!(
            refused(|b| b["messages"][5]["role"] = json!("system")),
            "messages[5] (system): not the first message"
        );
    }
}
