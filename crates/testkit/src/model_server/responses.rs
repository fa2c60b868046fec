//! Responses: the rules that matter, as a check of a request, and what an answer looks like.
//!
//! Source: `openai` 3.54.0, `openai/types/responses`; of what no type says, see [`check`].

use super::http::{event_stream, pieces, response};
use super::schema::Schema;
use super::{Answer, chat};
use serde_json::{Value, json};
use std::collections::HashSet;

static SCHEMA: Schema = Schema::new(include_str!("../../schemas/responses.json"));

/// Checks a request against the published types, and for what they do not say:
/// - a stateless request says `store: false`, and its items name no item of the server (issues of the official SDKs:
///   "Items are not persisted when `store` is set to false");
/// - every call is answered once, before anyone but the model says anything ("No tool output found for function call");
/// - reasoning has something of the same answer after it ("provided without its required following item");
/// - texts are not empty, names are allowed, arguments are a JSON object.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check(_path: &str, _headers: &[(String, String)], body: &Value) -> Result<(), String> {
    SCHEMA.check(body)?;
    if body["store"] != false {
        return Err("store is not false".into());
    }
    chat::filled(&body["model"], "model")?;
    let mut names = HashSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        chat::check_name(&tool["name"], "a tool's name")?;
        if !names.insert(tool["name"].as_str()) {
            return Err(format!("two tools are named {}", tool["name"]));
        }
        if tool["parameters"]["type"] != "object" {
            return Err(format!("the parameters of {} are no object schema", tool["name"]));
        }
    }
    check_items(body["input"].as_array().ok_or("input is no list")?)
}

fn check_items(items: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut ids: HashSet<&str> = HashSet::new();
    let mut reasoning = false;
    for (at, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        let in_place = |what: String| format!("input[{at}] ({kind}): {what}");
        if kind != "reasoning" && !item["id"].is_null() {
            return Err(in_place("it has an id, but nothing is stored".into()));
        }
        if reasoning && (kind == "function_call_output" || (kind == "message" && item["role"] != "assistant")) {
            return Err(in_place("the reasoning before it was provided without its required following item".into()));
        }
        reasoning = kind == "reasoning";
        match kind {
            "message" => {
                if !open.is_empty() && item["role"] != "assistant" {
                    return Err(in_place(format!("calls are not answered: {}", chat::listed(&open))));
                }
                check_content(&item["content"]).map_err(in_place)?;
            }
            "reasoning" => {
                let kept = item["encrypted_content"].as_str().is_some_and(|text| !text.is_empty());
                if !kept && item["content"].as_array().is_none_or(Vec::is_empty) {
                    return Err(in_place("it has no content, and nothing is stored".into()));
                }
            }
            "function_call" => {
                chat::check_name(&item["name"], "a call's name").map_err(in_place)?;
                let id = chat::filled(&item["call_id"], "call_id").map_err(in_place)?;
                let arguments = item["arguments"].as_str().unwrap_or_default();
                if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                    return Err(in_place(format!("the arguments of {id} are no JSON object: {arguments}")));
                }
                if !ids.insert(id) {
                    return Err(in_place(format!("the id {id} was used before")));
                }
                open.insert(id);
            }
            _ => {
                let id = chat::filled(&item["call_id"], "call_id").map_err(in_place)?;
                if !open.remove(id) {
                    return Err(in_place(format!("{id} is no open call")));
                }
            }
        }
    }
    if reasoning {
        return Err("the last reasoning was provided without its required following item".into());
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls are not answered: {}", chat::listed(&open))) }
}

fn check_content(content: &Value) -> Result<(), String> {
    let texts: Vec<&Value> = match content {
        Value::Array(parts) if parts.is_empty() => return Err("content is empty".into()),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")).collect(),
        text => vec![text],
    };
    if texts.iter().any(|text| **text == "") { Err("a text is empty".into()) } else { Ok(()) }
}

/// The whole HTTP response with this answer.
pub fn render(answer: &Answer, streamed: bool) -> Vec<u8> {
    if streamed { event_stream(&events(answer)) } else { response(200, &[], completed(answer).to_string().as_bytes()) }
}

/// The items of the answer.
fn items(answer: &Answer, status: &str) -> Vec<Value> {
    let mut items = Vec::new();
    if !answer.thinking.is_empty() || !answer.signature.is_empty() {
        let mut item = json!({"id": "rs_1", "type": "reasoning", "summary": []});
        if !answer.thinking.is_empty() {
            item["summary"] = json!([{"type": "summary_text", "text": answer.thinking}]);
        }
        if !answer.signature.is_empty() {
            item["encrypted_content"] = json!(answer.signature);
        }
        items.push(item);
    }
    if !answer.text.is_empty() {
        let text = json!({"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []});
        items.push(json!({"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": [text]}));
    }
    for ((name, arguments), number) in answer.calls.iter().zip(1..) {
        items.push(json!({
            "id": format!("fc_{number}"), "type": "function_call", "status": status, "call_id": format!("call_{number}"),
            "name": name, "arguments": arguments,
        }));
    }
    items
}

/// The answer as the body of a response that is not streamed. A finish reason other than `completed` is why it is
/// incomplete.
pub fn completed(answer: &Answer) -> Value {
    let reason = answer.finish_reason.as_deref().filter(|reason| *reason != "completed");
    let status = if reason.is_some() { "incomplete" } else { "completed" };
    let usage = &answer.usage;
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "test-model", "status": status, "error": null,
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "instructions": null, "metadata": {}, "parallel_tool_calls": true, "store": false, "temperature": 1.0,
        "tool_choice": "auto", "tools": [], "top_p": 1.0, "output": items(answer, status),
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total(),
        },
    })
}

/// The answer as the events of a stream, each with its blank line.
pub fn events(answer: &Answer) -> Vec<String> {
    let end = completed(answer);
    let mut begun = end.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    begun["incomplete_details"] = Value::Null;
    let mut events = Events::default();
    events.push("response.created", json!({"response": begun}));
    events.push("response.in_progress", json!({"response": begun}));
    for (item, place) in end["output"].as_array().into_iter().flatten().zip(0..) {
        events.item(item, place);
    }
    let kind = if end["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
    events.push(kind, json!({"response": end}));
    events.0
}

#[derive(Default)]
struct Events(Vec<String>);

impl Events {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.0.len());
        self.0.push(format!("event: {kind}\ndata: {event}\n\n"));
    }

    fn item(&mut self, item: &Value, place: u64) {
        let at = |more: Value| {
            let mut event = json!({"item_id": item["id"], "output_index": place});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let mut added = item.clone();
        for (field, empty) in [("status", json!("in_progress")), ("content", json!([])), ("arguments", json!(""))] {
            if item.get(field).is_some() {
                added[field] = empty;
            }
        }
        let (thinking, text) = (&item["summary"][0]["text"], &item["content"][0]["text"]);
        if !item["summary"].is_null() {
            added["summary"] = json!([]);
            // What comes first may be a part only.
            added["encrypted_content"] = json!("PART");
        }
        self.push("response.output_item.added", json!({"output_index": place, "item": added}));
        if let Some(thinking) = thinking.as_str() {
            let part = |text: &str| at(json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}}));
            self.push("response.reasoning_summary_part.added", part(""));
            for delta in pieces(thinking) {
                let event = at(json!({"summary_index": 0, "delta": delta, "obfuscation": "x"}));
                self.push("response.reasoning_summary_text.delta", event);
            }
            self.push("response.reasoning_summary_text.done", at(json!({"summary_index": 0, "text": thinking})));
            self.push("response.reasoning_summary_part.done", part(thinking));
        }
        if let Some(text) = text.as_str() {
            let part = |text: &str| {
                at(json!({"content_index": 0, "part": {"type": "output_text", "text": text, "annotations": []}}))
            };
            self.push("response.content_part.added", part(""));
            for delta in pieces(text) {
                let event = at(json!({"content_index": 0, "delta": delta, "logprobs": [], "obfuscation": "x"}));
                self.push("response.output_text.delta", event);
            }
            self.push("response.output_text.done", at(json!({"content_index": 0, "text": text, "logprobs": []})));
            self.push("response.content_part.done", part(text));
        }
        if let Some(arguments) = item["arguments"].as_str() {
            for delta in pieces(arguments) {
                self.push("response.function_call_arguments.delta", at(json!({"delta": delta})));
            }
            self.push("response.function_call_arguments.done", at(json!({"arguments": arguments})));
        }
        self.push("response.output_item.done", json!({"output_index": place, "item": item}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Value {
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "a", "arguments": "{}"});
        let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": ""});
        json!({
            "model": "m", "store": false, "stream": true, "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low", "summary": "auto"},
            "tools": [{"type": "function", "name": "a", "parameters": {"type": "object"}, "strict": false}],
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "t"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                {"role": "assistant", "content": "I look.", "phase": "commentary"},
                call("x"), call("y"), output("y"), output("x"),
                {"role": "assistant", "content": "done"},
            ],
        })
    }

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        let mut body = good();
        change(&mut body);
        check("/v1/responses", &[], &body).unwrap_err()
    }

    #[test]
    fn a_request_that_keeps_the_rules_passes_and_every_broken_rule_is_named() {
        assert_eq!(check("/v1/responses", &[], &good()), Ok(()));
        assert!(refused(|b| b["messages"] = json!([])).contains("messages"));
        assert!(refused(|b| b["input"][0]["content"][0]["type"] = json!("text")).starts_with("/input"));
        assert!(
            refused(|b| b["reasoning"]["effort"] = json!("huge"))
                .starts_with("/reasoning/effort: \"huge\" is not one of ")
        );
        assert!(refused(|b| drop(b["tools"][0].as_object_mut().unwrap().remove("strict"))).contains("strict"));
        assert!(refused(|b| b["input"][3]["arguments"] = json!({})).starts_with("/input"));
        assert_eq!(refused(|b| b["store"] = json!(true)), "store is not false");
        assert_eq!(refused(|b| b["input"][2]["content"] = json!("")), "input[2] (message): a text is empty");
        assert_eq!(
            refused(|b| b["input"][3]["id"] = json!("fc_1")),
            "input[3] (function_call): it has an id, but nothing is stored"
        );
        assert_eq!(
            refused(|b| b["input"][1]["encrypted_content"] = Value::Null),
            "input[1] (reasoning): it has no content, and nothing is stored"
        );
        assert_eq!(
            refused(|b| b["input"][2]["role"] = json!("user")),
            "input[2] (message): the reasoning before it was provided without its required following item"
        );
        assert_eq!(
            refused(|b| b["input"][6]["call_id"] = json!("y")),
            "input[6] (function_call_output): y is no open call"
        );
        assert_eq!(
            refused(|b| b["input"][6] = json!({"role": "user", "content": "u"})),
            "input[6] (message): calls are not answered: x"
        );
    }
}
