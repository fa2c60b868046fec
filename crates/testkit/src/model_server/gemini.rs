//! Gemini's generateContent: its rules, as a check of a request, and what an answer looks like.
//!
//! The schema is made from the Python package `google-genai` 3.4.0. Rules that it does not say name their source: the
//! package, the vendor's guides (ai.google.dev/gemini-api/docs), or the words with which the server answers 400.

use super::Answer;
use super::http::{event_stream, pieces, response};
use super::schema::Schema;
use mainpath_types::Usage;
use serde_json::{Value, json};
use std::collections::HashSet;

static SCHEMA: Schema = Schema::new(include_str!("../../schemas/gemini.json"));

/// Checks a request.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check(path: &str, headers: &[(String, String)], body: &Value) -> Result<(), String> {
    check_path(path)?;
    // `_api_client.py`: the key is in x-goog-api-key; there is no other way in.
    if headers.iter().any(|(name, _)| name == "authorization") {
        return Err("the key is in authorization".into());
    }
    check_body(body)
}

/// `models.py` and `_api_client.py`: `v1/models/NAME:generateContent`, `…:streamGenerateContent?alt=sse`.
fn check_path(path: &str) -> Result<(), String> {
    let no_such = || format!("no such address: {path}");
    let (before, query) = path.split_once('?').unwrap_or((path, ""));
    let (name, method) = before.rsplit_once(':').ok_or_else(no_such)?;
    let mut folders = name.rsplit('/');
    let (model, folder, version) = (folders.next(), folders.next(), folders.next());
    let is_known = |folder: Option<&str>, known: &[&str]| folder.is_some_and(|folder| known.contains(&folder));
    let has_model = model.is_some_and(|model| !model.is_empty()) && is_known(folder, &["models", "tunedModels"]);
    if !has_model || !is_known(version, &["v1", "v1beta", "v1alpha"]) {
        return Err(no_such());
    }
    match method {
        "generateContent" => Ok(()),
        "streamGenerateContent" if query.split('&').any(|field| field == "alt=sse") => Ok(()),
        "streamGenerateContent" => Err("a stream without alt=sse is a JSON array".into()),
        _ => Err(no_such()),
    }
}

/// Checks the body of a request.
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check_body(body: &Value) -> Result<(), String> {
    SCHEMA.check(body)?;
    let config = &body["generationConfig"];
    // `GenerationConfig.temperature` of the published protocol buffers (`google-ai-generativelanguage` 0.12.1).
    if config["temperature"].as_f64().is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        return Err(format!("temperature is {}", config["temperature"]));
    }
    if config["maxOutputTokens"].as_i64().is_some_and(|n| !(1..=i64::from(i32::MAX)).contains(&n)) {
        return Err(format!("maxOutputTokens is {}", config["maxOutputTokens"]));
    }
    // "You can only set only one of thinking budget and thinking level."
    let thinking = &config["thinkingConfig"];
    if !thinking["thinkingBudget"].is_null() && !thinking["thinkingLevel"].is_null() {
        return Err("thinkingBudget and thinkingLevel".into());
    }
    if let Some(schema) = config.get("responseJsonSchema") {
        // `GenerateContentConfig.response_json_schema`.
        if config["responseMimeType"] != "application/json" {
            return Err("responseJsonSchema without responseMimeType".into());
        }
        check_references(schema)?;
    }
    check_tools(&body["tools"])?;
    if let Some(system) = body.get("systemInstruction") {
        check_parts(system, &["text"]).map_err(|what| format!("systemInstruction: {what}"))?;
    }
    check_contents(body["contents"].as_array().map(Vec::as_slice).unwrap_or_default())
}

fn check_tools(tools: &Value) -> Result<(), String> {
    let mut names = HashSet::new();
    for function in tools.as_array().into_iter().flatten().flat_map(|tool| listed(&tool["functionDeclarations"])) {
        check_name(&function["name"])?;
        // "Duplicate function declaration found".
        if !names.insert(function["name"].as_str()) {
            return Err(format!("two functions are named {}", function["name"]));
        }
        let schema = &function["parametersJsonSchema"];
        // `FunctionDeclaration.parameters_json_schema`.
        if schema["type"] != "object" || function.get("parameters").is_some() {
            return Err(format!("parametersJsonSchema of {} is no object schema", function["name"]));
        }
        check_references(schema)?;
    }
    Ok(())
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// `FunctionDeclaration.name`; 64 is what the published protocol buffers say, the package says 128.
fn check_name(name: &Value) -> Result<(), String> {
    let text = name.as_str().unwrap_or_default();
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let allowed = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
    if begins && allowed && text.len() <= 64 { Ok(()) } else { Err(format!("a function is named {name}")) }
}

/// `GenerateContentConfig.response_json_schema`: beside `$ref` only what begins with `$`.
fn check_references(schema: &Value) -> Result<(), String> {
    let inner: Vec<&Value> = match schema {
        Value::Object(fields) => {
            let is_reference = fields.get("$ref").is_some_and(Value::is_string);
            if is_reference && let Some(beside) = fields.keys().find(|key| !key.starts_with('$')) {
                return Err(format!("{beside} beside $ref"));
            }
            fields.iter().filter(|(key, _)| *key != "default" && *key != "enum").map(|(_, value)| value).collect()
        }
        Value::Array(schemas) => schemas.iter().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().try_for_each(check_references)
}

/// The data of a part: exactly one field (`Part`).
const DATA: [&str; 5] = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];

fn check_parts(content: &Value, allowed: &[&str]) -> Result<(), String> {
    let parts = listed(&content["parts"]);
    // "must include at least one parts field".
    if parts.is_empty() {
        return Err("no parts".into());
    }
    for part in parts {
        let data: Vec<&str> = DATA.into_iter().filter(|field| part.get(field).is_some()).collect();
        match data.as_slice() {
            [one] if allowed.contains(one) => {}
            _ => return Err(format!("a part with {data:?}")),
        }
        // "Model input cannot be empty"; an empty part is there for its signature (guide "Thought signatures").
        let is_blank = part["text"].as_str().is_some_and(|text| text.trim().is_empty());
        if is_blank && part.get("thoughtSignature").is_none() && !text_is_a_piece(parts) {
            return Err("a part without text".into());
        }
        for blob in [&part["inlineData"], &part["fileData"]] {
            check_media_type(blob)?;
        }
        if let Some(call) = part.get("functionCall") {
            check_name(&call["name"])?;
            check_id(call)?;
        }
        if let Some(result) = part.get("functionResponse") {
            check_name(&result["name"])?;
            check_id(result)?;
            for part in listed(&result["parts"]) {
                check_media_type(&part["inlineData"])?;
            }
        }
    }
    Ok(())
}

/// Whether the vendor itself has divided the text into parts, of which one may be a line break.
fn text_is_a_piece(parts: &[Value]) -> bool {
    parts.iter().any(|part| part.get("text").is_some() && part.get("thoughtSignature").is_some())
}

fn check_id(call: &Value) -> Result<(), String> {
    if call["id"] == "" { Err("an empty id".into()) } else { Ok(()) }
}

/// Guides on image, audio and document understanding.
fn check_media_type(blob: &Value) -> Result<(), String> {
    let Some(media_type) = blob["mimeType"].as_str() else { return Ok(()) };
    let known = [
        "image/png",
        "image/jpeg",
        "image/webp",
        "image/heic",
        "image/heif",
        "audio/wav",
        "audio/mp3",
        "audio/aiff",
        "audio/aac",
        "audio/ogg",
        "audio/flac",
        "application/pdf",
    ];
    if known.contains(&media_type) || media_type.starts_with("text/") {
        Ok(())
    } else {
        Err(format!("unsupported media type {media_type}"))
    }
}

fn check_contents(contents: &[Value]) -> Result<(), String> {
    // "contents is not specified"; "Requests ending with a model turn are not supported."
    match contents.last() {
        None => return Err("contents is empty".into()),
        Some(last) if last["role"] != "user" => return Err("the last content is the model's".into()),
        Some(_) => {}
    }
    // The calls of the content before, by id and name.
    let mut open: Vec<(&Value, &Value)> = Vec::new();
    let mut ids = HashSet::new();
    let mut before = &Value::Null;
    for (at, content) in contents.iter().enumerate() {
        let in_place = |what: String| format!("contents[{at}] ({}): {what}", content["role"].as_str().unwrap_or("?"));
        let parts = listed(&content["parts"]);
        let of = |field: &str| -> Vec<(&Value, &Value)> {
            parts.iter().filter_map(|part| part.get(field)).map(|call| (&call["id"], &call["name"])).collect()
        };
        let results = of("functionResponse");
        // "Please ensure that the number of function response parts is equal to the number of function call parts of the
        // function call turn"; results share their content with nothing else.
        if results != open {
            return Err(in_place(format!("the results of {open:?} are {results:?}")));
        }
        if !results.is_empty() && results.len() != parts.len() {
            return Err(in_place("results beside other parts".into()));
        }
        // `Content.role`.
        match content["role"].as_str() {
            Some("user") => {
                let allowed = ["text", "inlineData", "fileData", "functionResponse"];
                check_parts(content, &allowed).map_err(in_place)?;
                open = Vec::new();
            }
            Some("model") => {
                check_parts(content, &["text", "functionCall"]).map_err(in_place)?;
                open = of("functionCall");
                // "Please ensure that function call turn comes immediately after a user turn or after a function response
                // turn."
                if !open.is_empty() && before != "user" {
                    return Err(in_place("a call that follows no user content".into()));
                }
                if let Some((id, _)) = open.iter().find(|(id, _)| id.is_string() && !ids.insert(id.as_str())) {
                    return Err(in_place(format!("the id {id} was used before")));
                }
                // "Function call is missing a thought_signature"; in one content only the first needs one.
                let first = parts.iter().find(|part| part.get("functionCall").is_some());
                if first.is_some_and(|part| part.get("thoughtSignature").is_none()) {
                    return Err(in_place("the first call has no thoughtSignature".into()));
                }
            }
            _ => return Err(in_place("no such role".into())),
        }
        before = &content["role"];
    }
    Ok(())
}

/// The whole HTTP response with this answer.
pub fn render(answer: &Answer, streamed: bool) -> Vec<u8> {
    if streamed { event_stream(&events(answer)) } else { response(200, &[], whole(answer).to_string().as_bytes()) }
}

fn finish_reason(answer: &Answer) -> &str {
    answer.finish_reason.as_deref().unwrap_or("STOP")
}

fn usage(usage: &Usage) -> Value {
    let mut fields = json!({
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "totalTokenCount": usage.total(),
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    });
    if usage.cache_read > 0 {
        fields["cachedContentTokenCount"] = json!(usage.cache_read);
    }
    if usage.reasoning > 0 {
        fields["thoughtsTokenCount"] = json!(usage.reasoning);
    }
    fields
}

/// A response or a chunk of a stream with these parts.
fn chunk(parts: &[Value], finish_reason: Option<&str>, usage: Value) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "test-model", "responseId": "r-1"})
}

/// A call comes whole or not at all: half of one is left out.
fn calls(answer: &Answer) -> Vec<Value> {
    let mut calls: Vec<Value> = (answer.calls.iter().zip(0..))
        .filter_map(|((name, arguments), index)| {
            let args: Value = serde_json::from_str(arguments).ok()?;
            Some(json!({"functionCall": {"name": name, "args": args, "id": format!("vendor-{index}")}}))
        })
        .collect();
    if let Some(first) = calls.first_mut().filter(|_| !answer.signature.is_empty()) {
        first["thoughtSignature"] = json!(answer.signature);
    }
    calls
}

/// The answer as the body of a response that is not streamed.
pub fn whole(answer: &Answer) -> Value {
    let mut parts = Vec::new();
    if !answer.thinking.is_empty() {
        parts.push(json!({"text": answer.thinking, "thought": true}));
    }
    if !answer.text.is_empty() {
        parts.push(json!({"text": answer.text}));
    }
    parts.extend(calls(answer));
    if answer.calls.is_empty()
        && let Some(last) = parts.last_mut().filter(|_| !answer.signature.is_empty())
    {
        last["thoughtSignature"] = json!(answer.signature);
    }
    chunk(&parts, Some(finish_reason(answer)), usage(&answer.usage))
}

/// The answer as the events of a stream, each with its blank line. There is no event that only ends it: the last has the
/// reason. The signature of a text comes on an empty part at the end (guide "Thought signatures").
pub fn events(answer: &Answer) -> Vec<String> {
    let mut parts: Vec<Value> = pieces(&answer.thinking).map(|text| json!({"text": text, "thought": true})).collect();
    parts.extend(pieces(&answer.text).map(|text| json!({"text": text})));
    parts.extend(calls(answer));
    let mut last = json!({"text": ""});
    if answer.calls.is_empty() && !answer.signature.is_empty() {
        last["thoughtSignature"] = json!(answer.signature);
    }
    let so_far = json!({"promptTokenCount": answer.usage.input, "totalTokenCount": answer.usage.input});
    let mut chunks: Vec<Value> = parts.into_iter().map(|part| chunk(&[part], None, so_far.clone())).collect();
    chunks.push(chunk(&[last], Some(finish_reason(answer)), usage(&answer.usage)));
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Value {
        let call = |id: &str| json!({"functionCall": {"id": id, "name": "a", "args": {}}});
        let result = |id: &str| json!({"functionResponse": {"id": id, "name": "a", "response": {"output": ""}}});
        let mut first = call("x");
        first["thoughtSignature"] = json!("QUJD");
        json!({
            "systemInstruction": {"parts": [{"text": "s"}]},
            "tools": [{"functionDeclarations": [{"name": "a", "parametersJsonSchema": {"type": "object"}}]}],
            "generationConfig": {
                "temperature": 0.7, "maxOutputTokens": 5, "responseMimeType": "application/json",
                "responseJsonSchema": {"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}},
                "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "LOW"},
            },
            "contents": [
                {"role": "user", "parts": [{"text": "t"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]},
                {"role": "model", "parts": [{"text": "hm", "thought": true, "thoughtSignature": "QQ=="}, first, call("y")]},
                {"role": "user", "parts": [result("x"), result("y")]},
                {"role": "model", "parts": [{"text": "done"}, {"text": "", "thoughtSignature": "QQ=="}]},
                {"role": "user", "parts": [{"text": "go on"}]},
            ],
        })
    }

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        let mut body = good();
        change(&mut body);
        check_body(&body).unwrap_err()
    }

    #[test]
    fn a_request_that_keeps_the_rules_passes_and_every_broken_rule_is_named() {
        assert_eq!(check_body(&good()), Ok(()));
        let by_schema = |change: fn(&mut Value), words: &str| {
            let said = refused(change);
            assert!(said.contains(words), "{said}");
        };
        by_schema(|b| b["model"] = json!("m"), "'model' was unexpected");
        by_schema(|b| b["contents"][0]["parts"][0]["type"] = json!("text"), "/contents/0/parts/0");
        by_schema(
            |b| b["contents"][1]["parts"][1]["functionCall"]["args"] = json!("{}"),
            "/contents/1/parts/1/functionCall/args",
        );
        by_schema(|b| b["contents"][1]["parts"][1]["thoughtSignature"] = json!("no base64"), "thoughtSignature");
        by_schema(|b| b["generationConfig"]["thinkingConfig"]["thinkingLevel"] = json!("low"), "thinkingLevel");
        by_schema(|b| drop(b.as_object_mut().unwrap().remove("contents")), "\"contents\" is a required property");

        let config = |field: &'static str, value: Value| refused(|b| b["generationConfig"][field] = value);
        assert_eq!(config("temperature", json!(3)), "temperature is 3");
        assert_eq!(config("maxOutputTokens", json!(0)), "maxOutputTokens is 0");
        assert_eq!(config("responseMimeType", json!("text/plain")), "responseJsonSchema without responseMimeType");
        assert_eq!(config("responseJsonSchema", json!({"$ref": "#", "title": "t"})), "title beside $ref");
        assert_eq!(
            config("thinkingConfig", json!({"thinkingLevel": "LOW", "thinkingBudget": 1})),
            "thinkingBudget and thinkingLevel"
        );
        let function =
            |field: &'static str, value: Value| refused(|b| b["tools"][0]["functionDeclarations"][0][field] = value);
        assert_eq!(function("name", json!("9a")), "a function is named \"9a\"");
        assert_eq!(function("parametersJsonSchema", json!({})), "parametersJsonSchema of \"a\" is no object schema");
        let twice = |b: &mut Value| {
            let tools = b["tools"].as_array_mut().unwrap();
            tools.push(tools[0].clone());
        };
        assert_eq!(refused(twice), "two functions are named \"a\"");
        assert_eq!(refused(|b| b["systemInstruction"]["parts"] = json!([])), "systemInstruction: no parts");
    }

    #[test]
    fn the_order_of_contents_is_checked() {
        let parts = |at: usize, parts: Value| refused(|b| b["contents"][at]["parts"] = parts);
        let without = |at: usize| refused(|b| drop(b["contents"].as_array_mut().unwrap().remove(at)));
        assert_eq!(refused(|b| b["contents"] = json!([])), "contents is empty");
        assert_eq!(without(4), "the last content is the model's");
        assert_eq!(without(0), "contents[0] (model): a call that follows no user content");
        assert!(without(2).starts_with("contents[2] (model): the results of [(String(\"x\"), String(\"a\")), "));
        assert!(without(1).starts_with("contents[1] (user): the results of [] are [(String(\"x\")"));
        assert_eq!(refused(|b| b["contents"][3]["role"] = json!("assistant")), "contents[3] (assistant): no such role");
        assert_eq!(parts(0, json!([])), "contents[0] (user): no parts");
        assert_eq!(parts(4, json!([{"text": " "}])), "contents[4] (user): a part without text");
        assert_eq!(parts(4, json!([{"thought": true}])), "contents[4] (user): a part with []");
        assert_eq!(
            parts(3, json!([{"inlineData": {"mimeType": "image/png", "data": ""}}])),
            "contents[3] (model): a part with [\"inlineData\"]"
        );
        assert_eq!(
            parts(0, json!([{"inlineData": {"mimeType": "image/gif", "data": ""}}])),
            "contents[0] (user): unsupported media type image/gif"
        );
        assert_eq!(
            refused(|b| b["contents"][2]["parts"].as_array_mut().unwrap().push(json!({"text": "t"}))),
            "contents[2] (user): results beside other parts"
        );
        assert!(refused(|b| b["contents"][2]["parts"].as_array_mut().unwrap().reverse()).contains("the results of"));
        assert!(
            refused(|b| b["contents"][2]["parts"][0]["functionResponse"]["name"] = json!("b"))
                .contains("the results of")
        );
        let unsigned =
            |b: &mut Value| drop(b["contents"][1]["parts"][1].as_object_mut().unwrap().remove("thoughtSignature"));
        assert_eq!(refused(unsigned), "contents[1] (model): the first call has no thoughtSignature");
        let same_id = |b: &mut Value| {
            for (at, kind) in [(1, "functionCall"), (2, "functionResponse")] {
                let parts = b["contents"][at]["parts"].as_array_mut().unwrap();
                parts.last_mut().unwrap()[kind]["id"] = json!("x");
            }
        };
        assert_eq!(refused(same_id), "contents[1] (model): the id \"x\" was used before");
    }

    #[test]
    fn the_path_and_the_key_are_checked() {
        let checked = |path: &str| check(path, &[], &good());
        for path in ["/v1/models/m:generateContent", "/v1beta/tunedModels/m:streamGenerateContent?x=1&alt=sse"] {
            assert_eq!(checked(path), Ok(()), "{path}");
        }
        for path in ["/models/m:generateContent", "/v1/models/:generateContent", "/v1/models/a/b:generateContent"] {
            assert_eq!(checked(path), Err(format!("no such address: {path}")));
        }
        let stream = "/v1/models/m:streamGenerateContent";
        assert_eq!(checked(stream), Err("a stream without alt=sse is a JSON array".into()));
        let headers = [("authorization".to_owned(), "Bearer x".to_owned())];
        let refused = check("/v1/models/m:generateContent", &headers, &good());
        assert_eq!(refused, Err("the key is in authorization".into()));
    }

    #[test]
    fn an_answer_has_the_parts_of_the_real_ones() {
        let answer = Answer { thinking: "hm".into(), signature: "QQ==".into(), ..Answer::text("hi") };
        let parts = json!([{"text": "hm", "thought": true}, {"text": "hi", "thoughtSignature": "QQ=="}]);
        assert_eq!(whole(&answer)["candidates"][0]["content"]["parts"], parts);
        let streamed: Vec<Value> = events(&answer)
            .iter()
            .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
            .collect();
        let parts: Vec<&Value> = streamed.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
        let expected = [
            json!({"text": "hm", "thought": true}),
            json!({"text": "hi"}),
            json!({"text": "", "thoughtSignature": "QQ=="}),
        ];
        assert_eq!(parts, expected.iter().collect::<Vec<_>>());
        let reasons: Vec<&Value> = streamed.iter().map(|chunk| &chunk["candidates"][0]["finishReason"]).collect();
        assert_eq!(reasons, [&Value::Null, &Value::Null, &json!("STOP")]);
    }
}
