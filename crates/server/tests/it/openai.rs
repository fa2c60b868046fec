//! The OpenAI-compatible face, over raw requests. What the vendor's own clients make of it is in `openai_sdk.rs`.

use crate::support::{Answer, Place, READS, WRITES, read, read_until, unchunked, until};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

/// A script that fails for good.
const FAILS: &str =
    "[[turn]]\nerror = { kind = \"bad_request\", message = \"no such thing\", times = 9 }\nfinal = \"never\"\n";
/// A script that takes long before its answer.
const SLOW: &str = "[[turn]]\ntext = \"I look.\"\ncalls = [{ tool = \"read_text_file\", args = { path = \"README.md\" } }]\n\
                    [[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n";

/// The data of a stream, one for each event.
fn events(answer: &Answer) -> Vec<Value> {
    assert!(answer.header("content-type").unwrap().starts_with("text/event-stream"), "{}", answer.head);
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn chat(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "What does it say?"}]})
}

fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn traces(place: &Place) -> Vec<String> {
    let page = place.get("/api/traces").await.json();
    page["traces"].as_array().unwrap().iter().map(|trace| trace["trace_id"].as_str().unwrap().into()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_the_answer_of_a_run_whose_trace_is_there() {
    let place = Place::start().await;
    let script = format!("{READS}usage = {{ input = 100, output = 7, cache_read = 20, reasoning = 3 }}\n");
    let model = place.model(&script);
    let answer =
        place.post("/v1/chat/completions", with(chat(&model), json!({"user": "anna", "n": 1, "tools": []}))).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let trace = answer.header("mainpath-trace").unwrap().to_string();
    let mut said = answer.json();
    let prompt = said["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(prompt > 100, "the first turn is counted too: {prompt}");
    assert_eq!(said["usage"]["total_tokens"], prompt + said["usage"]["completion_tokens"].as_u64().unwrap());
    assert_eq!(said["usage"]["prompt_tokens_details"], json!({"cached_tokens": 20}));
    assert_eq!(said["usage"]["completion_tokens_details"], json!({"reasoning_tokens": 3}));
    assert!(said["created"].as_u64().unwrap() > 1_600_000_000);
    said.as_object_mut().unwrap().retain(|key, _| key != "usage" && key != "created");
    assert_eq!(
        said,
        json!({
            "id": format!("chatcmpl_{trace}_1"), "object": "chat.completion", "model": model,
            "choices": [{
                "index": 0, "logprobs": null, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "It says hello.", "refusal": null, "annotations": []},
            }],
            "mainpath": {
                "trace_id": trace, "run": 1, "finish_reason": "final", "is_said": true, "turns": 2,
                "tools": {"read_text_file": 1}, "cost_micros": 0,
            },
        })
    );
    let page = place.get(&format!("/api/traces/{trace}/events?limit=500")).await.json();
    let spec = page["events"].as_array().unwrap().iter().find(|event| event["type"] == "spec_changed").unwrap().clone();
    assert_eq!(
        (&spec["data"]["spec"]["mode"], &spec["data"]["spec"]["preset"]["name"]),
        (&json!("deny"), &json!("default"))
    );
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_chunks_says_what_the_agent_says_and_ends_with_done() {
    let place = Place::start().await;
    let body = with(chat(&place.model(READS)), json!({"stream": true, "stream_options": {"include_usage": true}}));
    let answer = place.post("/v1/chat/completions", body).await;
    assert!(answer.body.ends_with("data: [DONE]\n\n"), "{}", answer.body);
    let chunks = events(&answer);
    let first = &chunks[0];
    assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": "", "refusal": null}));
    let texts = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    assert_eq!(texts.collect::<String>(), "I look.\n\nIt says hello.");
    let reasons: Vec<&Value> =
        chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).filter(|why| !why.is_null()).collect();
    assert_eq!(reasons, ["stop"]);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["total_tokens"].as_u64().unwrap() > 0);
    assert!(others.iter().all(|chunk| chunk["usage"].is_null() && chunk["id"] == last["id"]), "{others:?}");
    assert_eq!(others.last().unwrap()["mainpath"]["finish_reason"], "final");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_honoured_is_a_typed_400_and_begins_nothing() {
    let place = Place::start().await;
    let model = place.model(READS);
    let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    let image = json!([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]);
    for (more, param, code) in [
        (json!({"tools": tool}), "tools", "unsupported_parameter"),
        (json!({"functions": [{"name": "f"}]}), "functions", "unsupported_parameter"),
        (json!({"n": 2}), "n", "unsupported_parameter"),
        (json!({"logprobs": true}), "logprobs", "unsupported_parameter"),
        (json!({"top_p": 0.5}), "top_p", "unsupported_parameter"),
        (json!({"seed": 1}), "seed", "unsupported_parameter"),
        (json!({"stop": ["x"]}), "stop", "unsupported_parameter"),
        (json!({"max_tokens": 10}), "max_tokens", "unsupported_parameter"),
        (json!({"max_completion_tokens": 10}), "max_completion_tokens", "unsupported_parameter"),
        (json!({"modalities": ["text", "audio"]}), "modalities", "unsupported_parameter"),
        (json!({"audio": {"voice": "x"}}), "audio", "unsupported_parameter"),
        (json!({"store": true}), "store", "unsupported_parameter"),
        (json!({"reasoning_effort": "xhigh"}), "reasoning_effort", "unsupported_parameter"),
        (json!({"service_tier": "flex"}), "service_tier", "unsupported_parameter"),
        (json!({"stream_options": {"include_usage": true}}), "stream_options", "unsupported_parameter"),
        (json!({"messages": image}), "messages[0].content[0].type", "unsupported_parameter"),
        (json!({"messages": []}), "messages", "invalid_value"),
        (json!({"messages": [{"role": "assistant", "content": "x"}]}), "messages", "invalid_value"),
        (json!({"messages": "x"}), "messages", "invalid_value"),
        (json!({"temperature": 3}), "temperature", "invalid_value"),
        (json!({"response_format": {"type": "grammar"}}), "response_format", "invalid_value"),
        (json!({"colour": "red"}), "colour", "unknown_parameter"),
    ] {
        let answer = place.post("/v1/chat/completions", with(chat(&model), more.clone())).await;
        assert_eq!(answer.status, 400, "{more}: {}", answer.body);
        let error = &answer.json()["error"];
        assert_eq!(
            (&error["type"], &error["param"]),
            (&json!("invalid_request_error"), &json!(param)),
            "{more}: {error}"
        );
        assert_eq!(error["code"], code, "{more}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(param), "{error}");
    }
    for (more, param) in [
        (json!({"store": false}), "store"),
        (json!({"conversation": "c"}), "conversation"),
        (json!({"include": ["reasoning.encrypted_content"]}), "include"),
        (json!({"truncation": "disabled"}), "truncation"),
        (json!({"prompt": {"id": "p"}}), "prompt"),
        (json!({"tools": [{"type": "web_search"}]}), "tools"),
        (json!({"reasoning": {"summary": "auto"}}), "reasoning.summary"),
        (json!({"text": {"verbosity": "low"}}), "text.verbosity"),
        (json!({"input": [{"type": "item_reference", "id": "x"}]}), "input[0].type"),
    ] {
        let answer = place.post("/v1/responses", with(json!({"model": model, "input": "Hi"}), more.clone())).await;
        let error = &answer.json()["error"];
        assert_eq!((answer.status, &error["param"]), (400, &json!(param)), "{more}: {error}");
    }
    assert_eq!(traces(&place).await, Vec::<String>::new());
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_goes_wrong_below_v1_is_said_in_the_form_that_the_clients_read() {
    let place = Place::start().await;
    let wrong = ["authorization: Bearer mp_wrong".to_string()];
    let read = format!("authorization: Bearer {}", place.new_key("reader", &[mainpath_server::Scope::Read], "local"));
    let none = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    for (method, path, headers, body, status, kind, code) in [
        ("GET", "/v1/models", &wrong[..], "", 401, "invalid_request_error", "invalid_api_key"),
        ("GET", "/v1/models", &[read][..], "", 403, "permission_error", "forbidden"),
        ("GET", "/v1/nothing", &[place.bearer()][..], "", 404, "invalid_request_error", "not_found"),
        ("PUT", "/v1/models", &[place.bearer()][..], "", 405, "invalid_request_error", "method_not_allowed"),
        (
            "GET",
            "/v1/models/mainpath/nobody",
            &[place.bearer()][..],
            "",
            404,
            "invalid_request_error",
            "model_not_found",
        ),
        (
            "POST",
            "/v1/chat/completions",
            &[place.bearer()][..],
            none.as_str(),
            404,
            "invalid_request_error",
            "model_not_found",
        ),
        ("POST", "/v1/chat/completions", &[place.bearer()][..], "{", 400, "invalid_request_error", "not_json"),
        ("GET", "/v1/responses/resp_none_1", &[place.bearer()][..], "", 404, "invalid_request_error", "not_found"),
        ("POST", "/v1/responses/x/cancel", &[place.bearer()][..], "", 404, "invalid_request_error", "not_found"),
        (
            "GET",
            "/v1/models",
            &["host: evil.example".into(), place.bearer()][..],
            "",
            403,
            "permission_error",
            "foreign_origin",
        ),
    ] {
        let answer = place.ask(method, path, headers, body).await;
        let error = answer.json()["error"].clone();
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        assert_eq!(
            (error["type"].as_str(), error["code"].as_str()),
            (Some(kind), Some(code)),
            "{method} {path}: {error}"
        );
        let fields: Vec<&String> = error.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["code", "message", "param", "type"]);
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    // Other addresses keep their own.
    let problem = place.ask("GET", "/api/traces", &wrong, "").await;
    assert_eq!(problem.header("content-type"), Some("application/problem+json"));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_preset_is_a_model_and_runs_on_the_model_of_the_server() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["work", "home"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
    }
    let script = dir.path().join("script.toml");
    std::fs::write(&script, "[[turn]]\nfinal = \"Found.\"\n").unwrap();
    std::fs::write(dir.path().join("home/config.toml"), format!("model = \"scripted:{}\"\n", script.display()))
        .unwrap();
    let place = Place::again(dir, |_| {}).await;
    let listed = place.get("/v1/models").await.json();
    let names: Vec<&str> =
        listed["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["mainpath/analyst", "mainpath/default", "mainpath/evaluate", "mainpath/explore"]);
    let explore = json!({"id": "mainpath/explore", "object": "model", "created": 0, "owned_by": "builtin"});
    for path in ["/v1/models/mainpath/explore", "/v1/models/mainpath%2Fexplore"] {
        assert_eq!(place.get(path).await.json(), explore, "{path}");
    }
    let answer = place.post("/v1/chat/completions", chat("mainpath/explore")).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "Found.", "{answer}");
    assert_eq!(answer["model"], "mainpath/explore");
    let trace = answer["mainpath"]["trace_id"].as_str().unwrap();
    let page = place.get(&format!("/api/traces/{trace}/events?limit=500")).await.json();
    let spec = page["events"].as_array().unwrap().iter().find(|event| event["type"] == "spec_changed").unwrap().clone();
    let tools: Vec<&str> =
        spec["data"]["spec"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"grep") && !tools.contains(&"bash"), "{tools:?}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_be_asked_is_denied_unless_the_caller_lets_it_wait() {
    let place = Place::start().await;
    let model = place.model(WRITES);
    let denied = place.post("/v1/chat/completions", chat(&model)).await.json();
    assert_eq!(denied["mainpath"]["finish_reason"], "final", "{denied}");
    assert!(!place.work().join("a.txt").exists());
    // Nor does a question of the agent keep the caller waiting.
    let asks = "[[turn]]\ncalls = [{ tool = \"ask_human\", args = { question = \"Which?\" } }]\n[[turn]]\nfinal = \"I chose.\"\n";
    let answered = place.post("/v1/chat/completions", chat(&place.model(asks))).await.json();
    assert_eq!(answered["choices"][0]["message"]["content"], "I chose.", "{answered}");
    let body = json!({"model": model, "input": "Write it.", "background": true});
    let asks = [place.bearer(), "mainpath-approvals: ask".into()];
    let begun = place.ask("POST", "/v1/responses", &asks, &body.to_string()).await;
    assert_eq!((begun.status, begun.json()["status"].as_str()), (200, Some("in_progress")), "{}", begun.body);
    let (id, trace) =
        (begun.json()["id"].as_str().unwrap().to_string(), begun.header("mainpath-trace").unwrap().to_string());
    let path = format!("/v1/responses/{id}");
    let waits = until("the response", async || {
        let response = place.get(&path).await.json();
        response["mainpath"]["waits_for"][0].as_str().map(String::from)
    })
    .await;
    let call = waits.strip_prefix("approval ").unwrap();
    let address = format!("/api/traces/{trace}/approvals/{call}");
    assert_eq!(place.post(&address, json!({"decision": "approve"})).await.status, 202);
    let done = until("the response", async || {
        let response = place.get(&path).await.json();
        (response["status"] == "completed").then_some(response)
    })
    .await;
    assert_eq!(done["output"][0]["content"][0]["text"], "Written.", "{done}");
    assert_eq!(std::fs::read_to_string(place.work().join("a.txt")).unwrap(), "x");
    // A key that only runs lets nothing through unasked.
    let runs = format!("authorization: Bearer {}", place.new_key("ci", &[mainpath_server::Scope::Run], "local"));
    let headers = [runs, "mainpath-approvals: yes".into()];
    let refused = place.ask("POST", "/v1/chat/completions", &headers, &chat(&model).to_string()).await;
    assert_eq!((refused.status, refused.json()["error"]["type"].as_str()), (403, Some("permission_error")));
    // Nor does it go on with an agent that somebody else let do everything.
    let owner = [place.bearer(), "mainpath-approvals: yes".into(), "mainpath-session: free".into()];
    assert_eq!(place.ask("POST", "/v1/chat/completions", &owner, &chat(&model).to_string()).await.status, 200);
    let headers = [headers[0].clone(), owner[1].clone(), owner[2].clone()];
    let refused = place.ask("POST", "/v1/chat/completions", &headers, &chat(&model).to_string()).await;
    assert_eq!(
        (refused.status, refused.json()["error"]["type"].as_str()),
        (403, Some("permission_error")),
        "{}",
        refused.body
    );
    place.end().await;
}

/// The numbers and types of events, without the words.
fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_streamed_as_typed_events_and_read_on_from_any_of_them() {
    let place = Place::start().await;
    let body =
        json!({"model": place.model(READS), "input": "What does it say?", "instructions": "Be brief.", "stream": true});
    let answer = place.post("/v1/responses", body).await;
    let all = events(&answer);
    let mut seen = kinds(&all);
    seen.dedup();
    let message = [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ];
    let wanted =
        [&["response.created", "response.in_progress"][..], &message, &message, &["response.completed"]].concat();
    assert_eq!(seen, wanted);
    let names = answer.body.lines().filter_map(|line| line.strip_prefix("event: "));
    assert_eq!(names.collect::<Vec<_>>(), kinds(&all));
    let numbers: Vec<u64> = all.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers[0] == 0 && numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    let done = &all.last().unwrap()["response"];
    let texts: Vec<(&Value, &Value)> =
        done["output"].as_array().unwrap().iter().map(|item| (&item["phase"], &item["content"][0]["text"])).collect();
    let (on_the_way, last) =
        ((json!("commentary"), json!("I look.\n\n")), (json!("final_answer"), json!("It says hello.")));
    assert_eq!(texts, [(&on_the_way.0, &on_the_way.1), (&last.0, &last.1)]);
    assert_eq!((&done["status"], &done["instructions"]), (&json!("completed"), &json!("Be brief.")));
    // What was streamed is what is fetched.
    let id = done["id"].as_str().unwrap();
    let fetched = place.get(&format!("/v1/responses/{id}")).await.json();
    assert_eq!(with(fetched, json!({"background": false})), *done);
    let words = |events: &[Value]| -> String { events.iter().filter_map(|event| event["delta"].as_str()).collect() };
    let whole = words(&all);
    assert_eq!(whole, "I look.\n\nIt says hello.");
    let last = *numbers.last().unwrap();
    for after in 0..=last {
        let rest = events(&place.get(&format!("/v1/responses/{id}?stream=true&starting_after={after}")).await);
        assert!(rest.iter().all(|event| event["sequence_number"].as_u64().unwrap() > after), "{after}: {rest:?}");
        let before: Vec<Value> = events(&place.get(&format!("/v1/responses/{id}?stream=true")).await);
        let last_seen: String = seen_up_to(&before, after);
        assert_eq!(last_seen + &words(&rest), whole, "{after}");
        let after_it =
            all.iter().filter(|event| event["delta"].is_null() && event["sequence_number"].as_u64().unwrap() > after);
        let others: Vec<&Value> = rest.iter().filter(|event| event["delta"].is_null()).collect();
        assert_eq!(kinds_of(&others), kinds_of(&after_it.collect::<Vec<_>>()), "{after}");
    }
    place.end().await;
}

fn kinds_of(events: &[&Value]) -> Vec<String> {
    events.iter().map(|event| event["type"].as_str().unwrap().to_string()).collect()
}

/// The words that a reader has who was cut off right after an event of this number; a delta bears the number of its last letter.
fn seen_up_to(events: &[Value], after: u64) -> String {
    let mut seen = String::new();
    for event in events.iter().filter(|event| event["delta"].is_string()) {
        let (delta, last) = (event["delta"].as_str().unwrap(), event["sequence_number"].as_u64().unwrap());
        let first = last + 1 - delta.chars().count() as u64;
        seen.extend(delta.chars().take(usize::try_from((after + 1).saturating_sub(first)).unwrap()));
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_goes_on_from_any_earlier_one_and_leaves_what_came_after() {
    let place = Place::start().await;
    let model = place.model("[[turn]]\nfinal = \"One.\"\n[[turn]]\nfinal = \"Two.\"\n[[turn]]\nfinal = \"Three.\"\n");
    let ask = async |previous: Option<&str>, text: &str| {
        let body = json!({"model": model, "input": text, "previous_response_id": previous});
        let answer = place.post("/v1/responses", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    let text = |response: &Value| response["output"][0]["content"][0]["text"].as_str().unwrap().to_string();
    let one = ask(None, "one").await;
    let first = one["id"].as_str().unwrap();
    let two = ask(Some(first), "two").await;
    assert_eq!((text(&two), &two["previous_response_id"]), ("Two.".into(), &one["id"]));
    assert_eq!(two["mainpath"]["trace_id"], one["mainpath"]["trace_id"]);
    let other = ask(Some(first), "something else").await;
    assert_eq!(text(&other), "Two.");
    assert_ne!(other["mainpath"]["trace_id"], one["mainpath"]["trace_id"]);
    let three = ask(two["id"].as_str(), "three").await;
    assert_eq!((text(&three), &three["mainpath"]["trace_id"]), ("Three.".into(), &one["mainpath"]["trace_id"]));
    let said =
        place.get(&format!("/api/traces/{}/messages", other["mainpath"]["trace_id"].as_str().unwrap())).await.body;
    assert!(said.contains("something else") && !said.contains("three"), "{said}");
    for (more, param) in [
        (json!({"instructions": "Be rude."}), "instructions"),
        (json!({"temperature": 1.5}), "temperature"),
        (json!({"input": [{"role": "system", "content": "Be rude."}]}), "input[0].role"),
        (json!({"model": "mainpath/explore"}), "model"),
    ] {
        let body = with(json!({"model": model, "input": "x", "previous_response_id": three["id"]}), more);
        let answer = place.post("/v1/responses", body).await;
        assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!(param)), "{}", answer.body);
    }
    let none =
        place.post("/v1/responses", json!({"model": model, "input": "x", "previous_response_id": "resp_none_1"})).await;
    assert_eq!((none.status, &none.json()["error"]["param"]), (404, &json!("previous_response_id")));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_a_conversation_of_which_clients_send_all_or_what_is_new() {
    let place = Place::start().await;
    let model = place.model("[[turn]]\nfinal = \"One.\"\n[[turn]]\nfinal = \"Two.\"\n[[turn]]\nfinal = \"Three.\"\n");
    let headers = [place.bearer(), "mainpath-session: anna".into()];
    let ask = async |headers: &[String], messages: Value| {
        let body = json!({"model": model, "messages": messages, "user": "anna"});
        let answer = place.ask("POST", "/v1/chat/completions", headers, &body.to_string()).await;
        let said = answer.json();
        (
            said["choices"][0]["message"]["content"].as_str().unwrap_or(&answer.body).to_string(),
            said["mainpath"]["trace_id"].clone(),
        )
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let system = json!({"role": "system", "content": "Be brief."});
    let (one, trace) = ask(&headers, json!([system, user("one")])).await;
    let (two, again) =
        ask(&headers, json!([system, user("one"), {"role": "assistant", "content": "One."}, user("two")])).await;
    assert_eq!((one.as_str(), two.as_str(), &again), ("One.", "Two.", &trace));
    let by_trace = [place.bearer(), format!("mainpath-session: {}", trace.as_str().unwrap())];
    let (three, again) = ask(&by_trace, json!([user("three")])).await;
    assert_eq!((three.as_str(), &again), ("Three.", &trace));
    let said = place.get(&format!("/api/traces/{}/messages", trace.as_str().unwrap())).await.body;
    assert_eq!(said.matches("\"content\":\"one\"").count(), 1, "{said}");
    // `user` alone begins a new trace each time: clients send the whole conversation.
    let (first, lone) =
        ask(&headers[..1], json!([user("one"), {"role": "assistant", "content": "One."}, user("two")])).await;
    assert_eq!(first, "Two.");
    assert_ne!(lone, trace);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_a_form_is_that_alone_also_in_a_stream() {
    let place = Place::start().await;
    let script = r#"
[[turn]]
text = "I look."
calls = [{ tool = "read_text_file", args = { path = "README.md" } }]
[[turn]]
final = "{\"greeting\": 1}"
[[turn]]
final = "{\"greeting\": \"hello\"}"
"#;
    let schema = json!({"type": "object", "properties": {"greeting": {"type": "string"}}, "required": ["greeting"], "additionalProperties": false});
    let form = json!({"type": "json_schema", "json_schema": {"name": "greeting", "strict": true, "schema": schema}});
    let body = with(chat(&place.model(script)), json!({"response_format": form, "stream": true}));
    let chunks = events(&place.post("/v1/chat/completions", body).await);
    let texts = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    assert_eq!(texts.collect::<String>(), "{\"greeting\": \"hello\"}");
    let form = json!({"format": {"type": "json_schema", "name": "greeting", "schema": schema}});
    let body = json!({"model": place.model(script), "input": "x", "text": form});
    let response = place.post("/v1/responses", body).await.json();
    assert_eq!(response["output"].as_array().unwrap().len(), 1, "{response}");
    assert_eq!(response["output"][0]["content"][0]["text"], "{\"greeting\": \"hello\"}");
    assert_eq!(response["text"]["format"]["name"], "greeting");
    // A schema that cannot be used is named where it stands.
    let wrong = json!({"type": "nothing"});
    let form = json!({"format": {"type": "json_schema", "name": "greeting", "schema": wrong}});
    let body = json!({"model": place.model(script), "input": "x", "text": form});
    let refused = place.post("/v1/responses", body).await;
    assert_eq!((refused.status, refused.json()["error"]["param"].clone()), (400, json!("text.format.schema")));
    let form = json!({"type": "json_schema", "json_schema": {"name": "greeting", "schema": wrong}});
    let refused =
        place.post("/v1/chat/completions", with(chat(&place.model(script)), json!({"response_format": form}))).await;
    assert_eq!(
        (refused.status, refused.json()["error"]["param"].clone()),
        (400, json!("response_format.json_schema.schema"))
    );
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_failed_says_so_and_is_not_begun_again_by_the_client() {
    let place = Place::start().await;
    let model = place.model(FAILS);
    let answer = place.post("/v1/chat/completions", chat(&model)).await;
    assert_eq!((answer.status, answer.header("x-should-retry")), (502, Some("false")), "{}", answer.body);
    let error = &answer.json()["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("server_error"), &json!("model_error")));
    assert!(error["message"].as_str().unwrap().contains("no such thing"), "{error}");
    let streamed = events(&place.post("/v1/chat/completions", with(chat(&model), json!({"stream": true}))).await);
    assert_eq!(streamed.last().unwrap()["error"]["code"], "model_error");
    let response = place.post("/v1/responses", json!({"model": model, "input": "x"})).await;
    let said = response.json();
    assert_eq!((response.status, &said["status"], &said["output"]), (200, &json!("failed"), &json!([])));
    assert_eq!(said["error"]["code"], "server_error");
    let body = json!({"model": model, "input": "x", "stream": true});
    assert_eq!(kinds(&events(&place.post("/v1/responses", body).await)).last(), Some(&"response.failed"));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_at_a_limit_says_which_and_gives_what_it_has() {
    let place = Place::start().await;
    let body = json!({"model": place.model(READS), "input": "x", "max_tool_calls": 1});
    assert_eq!(place.post("/v1/responses", body).await.json()["status"], "completed");
    let loops = "[[turn]]\ncalls = [{ tool = \"read_text_file\", args = { path = \"README.md\" } }]\n".repeat(3);
    let body = json!({"model": place.model(&loops), "input": "x", "max_tool_calls": 2});
    let response = place.post("/v1/responses", body).await.json();
    assert_eq!(
        (&response["status"], &response["incomplete_details"]),
        (&json!("incomplete"), &json!({"reason": null})),
        "{response}"
    );
    assert_eq!(
        (&response["mainpath"]["finish_reason"], &response["mainpath"]["is_said"]),
        (&json!("max_tool_calls"), &json!(false))
    );
    assert!(!response["output"][0]["content"][0]["text"].as_str().unwrap().is_empty());
    place.end().await;
}

/// How the newest trace stands.
async fn standing(place: &Place, trace: &str) -> Option<String> {
    let page = place.get(&format!("/api/traces/{trace}/events?limit=500")).await.json();
    let ended = page["events"].as_array()?.iter().find(|event| event["type"] == "run_finished")?.clone();
    ended["data"]["reason"].as_str().map(String::from)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_when_its_client_goes_unless_it_has_a_key_or_is_in_the_background() {
    let place = Place::start().await;
    let body = with(chat(&place.model(SLOW)), json!({"stream": true})).to_string();
    let mut stream = place.send("POST", "/v1/chat/completions", &[place.bearer()], &body).await;
    let mut text = String::new();
    while !text.contains("I look.") {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    assert!(!unchunked(text.split_once("\r\n\r\n").unwrap().1).is_empty());
    drop(stream);
    let gone = traces(&place).await.remove(0);
    assert_eq!(until("the response", async || standing(&place, &gone).await).await, "stopped");
    // Under a key it goes on, and the same request is the same run.
    let quick = SLOW.replace("60000", "800");
    let body = chat(&place.model(&quick)).to_string();
    let headers = [place.bearer(), "idempotency-key: once".into()];
    let stream = place.send("POST", "/v1/chat/completions", &headers, &body).await;
    let kept = until("the response", async || traces(&place).await.into_iter().find(|trace| *trace != gone)).await;
    drop(stream);
    let answer = place.ask("POST", "/v1/chat/completions", &headers, &body).await;
    assert_eq!(answer.header("mainpath-trace"), Some(kept.as_str()), "{}", answer.body);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Late.");
    assert_eq!(traces(&place).await.len(), 2);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_in_the_background_is_fetched_followed_and_cancelled() {
    let place = Place::start().await;
    let model = place.model(SLOW);
    let begun = place.post("/v1/responses", json!({"model": model, "input": "x", "background": true})).await.json();
    assert_eq!((&begun["status"], &begun["background"]), (&json!("in_progress"), &json!(true)), "{begun}");
    let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
    let early =
        place.post("/v1/responses", json!({"model": model, "input": "y", "previous_response_id": begun["id"]})).await;
    assert_eq!((early.status, early.header("x-should-retry")), (409, Some("false")), "{}", early.body);
    let half = until("the response", async || {
        let response = place.get(&path).await.json();
        (response["output"][0]["content"][0]["text"] == "I look.\n\n").then_some(response)
    })
    .await;
    assert_eq!((&half["status"], &half["usage"]), (&json!("in_progress"), &json!(null)));
    let address = format!("{path}?stream=true&starting_after=1");
    let mut follows = place.send("GET", &address, &[place.bearer()], "").await;
    // Whoever follows is there before it is cancelled.
    let mut followed = read_until(&mut follows, "response.output_item.added").await;
    let cancelled = place.post(&format!("{path}/cancel"), json!({})).await;
    follows.read_to_string(&mut followed).await.unwrap();
    let followed = read(&followed);
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")), "{}", cancelled.body);
    let seen = events(&followed);
    assert_eq!(seen.last().unwrap()["response"]["status"], "cancelled");
    assert_eq!(seen[0]["type"], "response.output_item.added");
    assert_eq!(place.post(&format!("{path}/cancel"), json!({})).await.json()["status"], "cancelled");
    place.end().await;
}
