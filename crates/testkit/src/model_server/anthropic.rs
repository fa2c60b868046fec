//! Anthropic's Messages API: the rules of its requests, and its answers.
//!
//! The shape of a request is checked against `schemas/anthropic.json`, made from the Python package `anthropic` 2.12.0. Rules
//! that no schema says are below, each with its source: that package, or the vendor's pages under platform.claude.com/docs.

use super::Answer;
use super::http::{event_stream, pieces, response};
use super::schema::Schema;
use mainpath_types::Usage;
use serde_json::{Value, json};
use std::collections::HashSet;

static SCHEMA: Schema = Schema::new(include_str!("../../schemas/anthropic.json"));

/// Checks a request.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check(path: &str, headers: &[(String, String)], body: &Value) -> Result<(), String> {
    // `anthropic/resources/messages/messages.py`.
    if path != "/v1/messages" {
        return Err(format!("no such address: {path}"));
    }
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    // `anthropic/_constants.py`.
    match header("anthropic-version") {
        Some("2026-10-21") => {}
        version => return Err(format!("anthropic-version is {version:?}")),
    }
    // `anthropic/_client.py`.
    if header("authorization").is_some_and(|value| !value.starts_with("Bearer ")) {
        return Err("authorization is no bearer".into());
    }
    check_body(body)
}

/// Checks the body of a request.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check_body(body: &Value) -> Result<(), String> {
    SCHEMA.check(body)?;
    check_head(body)?;
    let mut marks = 0;
    count_marks(body, &mut marks);
    // docs: build-with-claude/prompt-caching.
    if marks > 4 {
        return Err(format!("{marks} cache marks"));
    }
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (at, message) in messages.iter().enumerate() {
        check_message(message).map_err(|what| format!("messages[{at}] ({}): {what}", text(&message["role"])))?;
    }
    check_turns(messages)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_blank(value: &Value) -> bool {
    text(value).trim().is_empty()
}

fn check_head(body: &Value) -> Result<(), String> {
    if is_blank(&body["model"]) {
        return Err("model is empty".into());
    }
    let limit = body["max_tokens"].as_u64().filter(|limit| *limit > 0).ok_or("max_tokens is not above 0")?;
    // `anthropic/types/thinking_config_enabled_param.py`.
    let thinking = &body["thinking"];
    if thinking["type"] == "enabled" && !(1024..limit).contains(&thinking["budget_tokens"].as_u64().unwrap_or(0)) {
        return Err("thinking.budget_tokens is below 1024 or not below max_tokens".into());
    }
    // "text content blocks must be non-empty", "must contain non-whitespace text": what the API answers.
    match &body["system"] {
        Value::String(system) if system.trim().is_empty() => return Err("system is blank".into()),
        Value::Array(blocks) if blocks.iter().any(|block| is_blank(&block["text"])) => {
            return Err("a system block is blank".into());
        }
        _ => {}
    }
    let mut names = HashSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        let name = text(&tool["name"]);
        check_name(name)?;
        if !names.insert(name) {
            return Err(format!("two tools are named {name}"));
        }
        // docs: agents-and-tools/tool-use/define-tools; alternatives at the top are what the API answers with 400.
        let schema = &tool["input_schema"];
        if schema["type"] != "object" || ["anyOf", "oneOf", "allOf"].iter().any(|key| schema.get(key).is_some()) {
            return Err(format!("the input schema of {name} is no plain object schema"));
        }
    }
    match body["output_config"].get("format") {
        Some(format) if !format.is_null() => check_output(&format["schema"]),
        _ => Ok(()),
    }
}

/// docs: agents-and-tools/tool-use/define-tools.
fn check_name(name: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(format!("the tool name {name:?} is not allowed"))
}

/// The subset of `anthropic/lib/_parse/_transform.py`.
fn check_output(schema: &Value) -> Result<(), String> {
    const KNOWN: [&str; 14] = [
        "$defs",
        "$ref",
        "type",
        "anyOf",
        "allOf",
        "enum",
        "const",
        "title",
        "description",
        "properties",
        "additionalProperties",
        "required",
        "items",
        "minItems",
    ];
    let fields = schema.as_object().ok_or_else(|| format!("the output schema has {schema} in it"))?;
    for (key, value) in fields {
        match key.as_str() {
            "$defs" | "properties" => {
                value.as_object().into_iter().flatten().try_for_each(|(_, part)| check_output(part))?
            }
            "anyOf" | "allOf" => value.as_array().into_iter().flatten().try_for_each(check_output)?,
            "items" => check_output(value)?,
            "additionalProperties" if value != false => return Err("an object of the output schema is open".into()),
            "minItems" if value.as_u64().is_none_or(|least| least > 1) => return Err(format!("minItems is {value}")),
            "type" if !value.is_string() => return Err(format!("a type of the output schema is {value}")),
            "format" if fields.get("type").is_some_and(|kind| kind == "string") => {}
            key if !KNOWN.contains(&key) => return Err(format!("the output schema has {key}")),
            _ => {}
        }
    }
    if fields.get("type").is_some_and(|kind| kind == "object") && !fields.contains_key("additionalProperties") {
        return Err("an object of the output schema is open".into());
    }
    Ok(())
}

fn count_marks(value: &Value, marks: &mut usize) {
    match value {
        Value::Object(fields) => {
            *marks += usize::from(fields.get("cache_control").is_some_and(Value::is_object));
            fields.values().for_each(|part| count_marks(part, marks));
        }
        Value::Array(parts) => parts.iter().for_each(|part| count_marks(part, marks)),
        _ => {}
    }
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn check_message(message: &Value) -> Result<(), String> {
    match &message["content"] {
        Value::String(content) if content.trim().is_empty() => return Err("content is blank".into()),
        // "the server rejects empty-content turns": `anthropic/lib/middleware/_fallbacks.py`.
        Value::Array(content) if content.is_empty() => return Err("content is empty".into()),
        _ => {}
    }
    let is_assistant = message["role"] == "assistant";
    let mut after_call = false;
    for block in blocks(message) {
        let kind = text(&block["type"]);
        let at_home = match kind {
            "thinking" | "redacted_thinking" | "tool_use" => is_assistant,
            // docs: api/migration-2026-10-21 for documents; pictures are input.
            "image" | "document" | "tool_result" => !is_assistant,
            _ => true,
        };
        if !at_home {
            return Err(format!("{kind} in a message of this role"));
        }
        // "`tool_use` ids were found without `tool_result` blocks immediately after": what the API answers to text after a call.
        if after_call && kind == "text" {
            return Err("text after tool_use".into());
        }
        after_call |= kind == "tool_use";
        check_block(block)?;
    }
    // `anthropic/lib/middleware/_fallbacks.py`.
    match blocks(message).last().map(|block| text(&block["type"])) {
        Some(kind @ ("thinking" | "redacted_thinking")) => Err(format!("the final block is {kind}")),
        _ => Ok(()),
    }
}

fn check_block(block: &Value) -> Result<(), String> {
    let kind = text(&block["type"]);
    match kind {
        "text" if is_blank(&block["text"]) => Err("a text block is blank".into()),
        "text" if block["citations"].as_array().is_some_and(|citations| !citations.is_empty()) => {
            Err("a text block has citations".into())
        }
        "thinking" if text(&block["signature"]) != sign(text(&block["thinking"])) => {
            Err("a thinking block is not as it was made".into())
        }
        "redacted_thinking" if !text(&block["data"]).starts_with(&sign("")) => {
            Err("a redacted_thinking block is not as it was made".into())
        }
        "tool_use" => check_name(text(&block["name"])).and_then(|()| check_id(text(&block["id"]))),
        "tool_result" => check_result(block),
        "image" | "document" => match ["data", "url"].iter().find_map(|field| block["source"].get(field)) {
            Some(value) if is_blank(value) => Err(format!("the {kind}'s source is empty")),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// "String should match pattern": what the API answers to other ids.
fn check_id(id: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !id.is_empty() && id.bytes().all(allowed) { Ok(()) } else { Err(format!("the id {id:?} is not allowed")) }
}

/// `anthropic/lib/tools/_toolsets/_sanitize.py`.
fn check_result(block: &Value) -> Result<(), String> {
    blocks(block).iter().try_for_each(check_block)?;
    if block["is_error"] != true {
        return Ok(());
    }
    let is_empty = match &block["content"] {
        Value::String(content) => content.is_empty(),
        content => content.as_array().is_none_or(Vec::is_empty),
    };
    if is_empty || blocks(block).iter().any(|part| part["type"] != "text") {
        return Err("a failed tool_result is empty or holds more than text".into());
    }
    Ok(())
}

/// The order of turns: consecutive messages of one role are one turn (`anthropic/types/message_create_params.py`).
fn check_turns(messages: &[Value]) -> Result<(), String> {
    let turns: Vec<(&str, Vec<&Value>)> = messages
        .chunk_by(|a, b| a["role"] == b["role"])
        .map(|turn| (text(&turn[0]["role"]), turn.iter().flat_map(blocks).collect()))
        .collect();
    // "first message must use the \"user\" role"; "The conversation must end with a user message" (docs: api/errors).
    match (turns.first(), turns.last()) {
        (Some(("user", _)), Some(("user", _))) => {}
        (None, _) | (_, None) => return Err("messages is empty".into()),
        _ => return Err("the conversation does not begin and end with a user message".into()),
    }
    let mut used: HashSet<&str> = HashSet::new();
    let mut open: HashSet<&str> = HashSet::new();
    for (role, blocks) in &turns {
        // docs: agents-and-tools/tool-use/handle-tool-calls: results in the next message, before anything else.
        let mut others = false;
        for block in blocks {
            let id = |field: &str| text(&block[field]);
            match id("type") {
                "tool_result" if others => return Err(format!("the result of {} is not first", id("tool_use_id"))),
                "tool_result" if !open.remove(id("tool_use_id")) => {
                    return Err(format!("{} is no open call of the turn before", id("tool_use_id")));
                }
                "tool_result" => {}
                _ => others = true,
            }
        }
        if !open.is_empty() {
            let mut open: Vec<&str> = open.into_iter().collect();
            open.sort_unstable();
            return Err(format!("calls are not answered in the next turn: {}", open.join(", ")));
        }
        if *role == "assistant" {
            for id in blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| text(&block["id"])) {
                if !used.insert(id) {
                    return Err(format!("the id {id} was used before"));
                }
                open.insert(id);
            }
        }
    }
    Ok(())
}

/// The signature that this server puts on a thinking text, and wants back with it.
pub fn sign(thinking: &str) -> String {
    // FNV-1a.
    let hash = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("Signed+{:016x}/==", thinking.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}

/// The whole HTTP response with this answer.
pub fn render(answer: &Answer, streamed: bool) -> Vec<u8> {
    if streamed { event_stream(&events(answer)) } else { response(200, &[], message(answer).to_string().as_bytes()) }
}

/// Chat's words for why an answer ends are understood as well, so that one scenario serves all formats.
fn stop_reason(answer: &Answer) -> &str {
    match answer.finish_reason.as_deref() {
        None | Some("stop" | "tool_calls") => {
            if answer.calls.is_empty() {
                "end_turn"
            } else {
                "tool_use"
            }
        }
        Some("length") => "max_tokens",
        Some("content_filter") => "refusal",
        Some(other) => other,
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    })
}

/// The answer as the body of a response that is not streamed.
pub fn message(answer: &Answer) -> Value {
    let mut content = Vec::new();
    if !answer.thinking.is_empty() {
        content.push(json!({"type": "thinking", "thinking": answer.thinking, "signature": sign(&answer.thinking)}));
    }
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text, "citations": null}));
    }
    for ((name, arguments), index) in answer.calls.iter().zip(0..) {
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        content.push(json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": input}));
    }
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model", "content": content,
        "stop_reason": stop_reason(answer), "stop_sequence": null, "stop_details": null, "container": null,
        "diagnostics": null, "usage": usage(&answer.usage),
    })
}

/// The answer as the events of a stream, each with its blank line.
pub fn events(answer: &Answer) -> Vec<String> {
    let mut start = message(&Answer { usage: Usage { output: 1, reasoning: 0, ..answer.usage }, ..Answer::default() });
    start["stop_reason"] = Value::Null;
    let mut events = vec![event(json!({"type": "message_start", "message": start})), event(json!({"type": "ping"}))];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(event(json!({"type": "content_block_start", "index": index, "content_block": start})));
        for delta in deltas {
            events.push(event(json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        events.push(event(json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if !answer.thinking.is_empty() {
        let mut deltas: Vec<Value> =
            pieces(&answer.thinking).map(|text| json!({"type": "thinking_delta", "thinking": text})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": sign(&answer.thinking)}));
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if !answer.text.is_empty() {
        let deltas = pieces(&answer.text).map(|text| json!({"type": "text_delta", "text": text})).collect();
        block(json!({"type": "text", "text": "", "citations": null}), deltas);
    }
    for ((name, arguments), number) in answer.calls.iter().zip(0..) {
        let start = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}});
        let empty = json!({"type": "input_json_delta", "partial_json": ""});
        let more = pieces(arguments).map(|text| json!({"type": "input_json_delta", "partial_json": text}));
        block(start, std::iter::once(empty).chain(more).collect());
    }
    let delta =
        json!({"stop_reason": stop_reason(answer), "stop_sequence": null, "stop_details": null, "container": null});
    events.push(event(json!({"type": "message_delta", "delta": delta, "usage": usage(&answer.usage)})));
    events.push(event(json!({"type": "message_stop"})));
    events
}

fn event(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", text(&data["type"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn good() -> Value {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "a", "input": {}});
        let mark = json!({"type": "ephemeral"});
        json!({
            "model": "m", "max_tokens": 5, "stream": true, "cache_control": mark,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "string"}}},
            "tools": [{"name": "a", "description": "d", "input_schema": {"type": "object"}, "cache_control": mark}],
            "system": [{"type": "text", "text": "s", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": "t"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": sign("hm")}, call("x"), call("y"),
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "y"},
                    {"type": "tool_result", "tool_use_id": "x", "is_error": true, "content": "no"},
                ]},
                {"role": "user", "content": [
                    {"type": "text", "text": "u"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                ]},
            ],
        })
    }

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        let mut body = good();
        change(&mut body);
        check_body(&body).unwrap_err()
    }

    #[test]
    fn a_request_that_keeps_the_rules_passes_and_every_broken_rule_of_its_head_is_named() {
        assert_eq!(check_body(&good()), Ok(()));
        assert_eq!(
            refused(|b| b["temperature"] = json!(1)),
            "the body: Additional properties are not allowed ('temperature' was unexpected)"
        );
        assert_eq!(refused(|b| b["stream"] = json!("yes")), "/stream: \"yes\" is not of type \"boolean\"");
        assert_eq!(refused(|b| b["model"] = json!(" ")), "model is empty");
        assert_eq!(refused(|b| b["max_tokens"] = json!(0)), "max_tokens is not above 0");
        assert_eq!(
            refused(|b| drop(b.as_object_mut().unwrap().remove("max_tokens"))),
            "the body: \"max_tokens\" is a required property"
        );
        assert_eq!(
            refused(|b| b["thinking"] = json!({"type": "enabled", "budget_tokens": 1024})),
            "thinking.budget_tokens is below 1024 or not below max_tokens"
        );
        assert_eq!(refused(|b| b["system"] = json!("")), "system is blank");
        assert_eq!(refused(|b| b["system"][0]["text"] = json!("\n")), "a system block is blank");
        assert_eq!(refused(|b| b["tools"][0]["name"] = json!("a b")), "the tool name \"a b\" is not allowed");
        assert_eq!(refused(|b| b["tools"] = json!([b["tools"][0], b["tools"][0]])), "two tools are named a");
        for schema in [json!({}), json!({"type": "object", "anyOf": [{}]})] {
            assert_eq!(
                refused(|b| b["tools"][0]["input_schema"] = schema),
                "the input schema of a is no plain object schema"
            );
        }
        let output = |schema: Value| refused(|b| b["output_config"]["format"]["schema"] = schema);
        assert_eq!(output(json!({"type": "object"})), "an object of the output schema is open");
        assert_eq!(output(json!({"anyOf": [{"type": "integer", "minimum": 1}]})), "the output schema has minimum");
        assert_eq!(output(json!({"type": "array", "minItems": 2})), "minItems is 2");
    }

    #[test]
    fn every_broken_rule_of_a_message_is_named() {
        let mark = json!({"type": "ephemeral"});
        let marked = json!([{"type": "text", "text": "u", "cache_control": mark}, {"type": "text", "text": "v", "cache_control": mark}]);
        assert_eq!(refused(|b| b["messages"][3]["content"] = marked), "5 cache marks");
        let content = |at: usize, content: Value| refused(|b| b["messages"][at]["content"] = content);
        assert_eq!(content(3, json!([])), "messages[3] (user): content is empty");
        assert_eq!(content(3, json!(" ")), "messages[3] (user): content is blank");
        assert_eq!(content(3, json!([{"type": "text", "text": ""}])), "messages[3] (user): a text block is blank");
        assert_eq!(
            content(3, json!([{"type": "text", "text": "u", "id": 1}])),
            "/messages/3/content/0: Additional properties are not allowed ('id' was unexpected)"
        );
        assert_eq!(
            content(
                3,
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/x", "data": "QUJD"}}])
            ),
            "/messages/3/content/0/source/media_type: \"image/x\" is not one of \"image/jpeg\", \"image/png\" or 2 other candidates"
        );
        let block = |at: usize, block: Value| {
            refused(|b| {
                let content = b["messages"][1]["content"].as_array_mut().unwrap();
                content.insert(at, block);
            })
        };
        let text = json!({"type": "text", "text": "t"});
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": sign("hm")});
        let document = json!({"type": "document", "source": {"type": "url", "url": "u"}});
        assert_eq!(block(2, text), "messages[1] (assistant): text after tool_use");
        assert_eq!(block(3, thinking.clone()), "messages[1] (assistant): the final block is thinking");
        assert_eq!(block(0, document), "messages[1] (assistant): document in a message of this role");
        assert_eq!(content(3, json!([thinking])), "messages[3] (user): thinking in a message of this role");
        let changed = "messages[1] (assistant): a thinking block is not as it was made";
        assert_eq!(refused(|b| b["messages"][1]["content"][0]["thinking"] = json!("hm ")), changed);
        assert_eq!(refused(|b| b["messages"][1]["content"][0]["signature"] = json!("")), changed);
        let failed = "messages[2] (user): a failed tool_result is empty or holds more than text";
        assert_eq!(refused(|b| b["messages"][2]["content"][0]["is_error"] = json!(true)), failed);
        assert_eq!(
            refused(|b| b["messages"][2]["content"][1]["content"] =
                json!([{"type": "image", "source": {"type": "url", "url": "u"}}])),
            failed
        );
        assert_eq!(
            refused(|b| b["messages"][1]["content"][1]["input"] = json!("{}")),
            "/messages/1/content/1/input: \"{}\" is not of type \"object\""
        );
        assert_eq!(
            refused(|b| b["messages"][1]["content"][1]["id"] = json!("a:b")),
            "messages[1] (assistant): the id \"a:b\" is not allowed"
        );
    }

    #[test]
    fn every_broken_order_of_turns_is_named() {
        let messages = |change: &dyn Fn(&mut Vec<Value>)| refused(|b| change(b["messages"].as_array_mut().unwrap()));
        let ends = "the conversation does not begin and end with a user message";
        assert_eq!(messages(&|m| m.clear()), "messages is empty");
        assert_eq!(messages(&|m| drop(m.remove(0))), ends);
        assert_eq!(messages(&|m| m.truncate(2)), ends);
        assert_eq!(messages(&|m| drop(m.remove(2))), "calls are not answered in the next turn: x, y");
        assert_eq!(messages(&|m| m.swap(2, 3)), "the result of y is not first");
        assert_eq!(
            messages(&|m| m[2]["content"][0]["tool_use_id"] = json!("z")),
            "z is no open call of the turn before"
        );
        assert_eq!(
            messages(&|m| m[2]["content"][0]["tool_use_id"] = json!("x")),
            "x is no open call of the turn before"
        );
        assert_eq!(
            messages(&|m| drop(m[2]["content"].as_array_mut().unwrap().pop())),
            "calls are not answered in the next turn: x"
        );
        assert_eq!(messages(&|m| m[1]["content"][2]["id"] = json!("x")), "the id x was used before");
        // Two messages of one role are one turn.
        let mut body = good();
        let results = body["messages"][2]["content"].as_array_mut().unwrap();
        let second = json!({"role": "user", "content": [results.pop().unwrap()]});
        body["messages"].as_array_mut().unwrap().insert(3, second);
        assert_eq!(check_body(&body), Ok(()));
    }

    #[test]
    fn address_version_and_key_are_checked() {
        let version = ("anthropic-version".to_owned(), "2026-10-21".to_owned());
        let key = |value: &str| ("authorization".to_owned(), value.to_owned());
        assert_eq!(check("/v1/messages", &[version.clone(), key("Bearer k")], &good()), Ok(()));
        for path in ["/messages", "/v1/v1/messages", "/v1/messages/"] {
            assert_eq!(check(path, from_ref(&version), &good()), Err(format!("no such address: {path}")));
        }
        assert_eq!(check("/v1/messages", &[], &good()), Err("anthropic-version is None".into()));
        assert_eq!(check("/v1/messages", &[version, key("k")], &good()), Err("authorization is no bearer".into()));
    }
}
