//! The agent core as a tool that other systems call.

use crate::support::{Answer, Place, READS, WRITES, read, read_until, until};
use mainpath_testkit::model_server::{Answer as Said, Behaviour, ModelServer, Reply};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const ADDRESS: &str = "/v1/agent_core/execute";

/// A script that answers at once.
const FINAL: &str = "[[turn]]\nfinal = \"Done.\"\n";

/// A request with a prompt.
fn prompt(model: &str, config: Value) -> Value {
    let mut all = json!({"model": model, "max_steps": 5, "allowed_tools": ["read"]});
    all.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    json!({"config": all, "prompt": "Look around."})
}

/// The outputs of a run, without what no test knows.
fn outputs(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}{}", answer.head, answer.body);
    without_times(answer.json()["outputs"]["agent_core"].clone())
}

fn without_times(mut outputs: Value) -> Value {
    for step in outputs["trace"].as_array_mut().unwrap() {
        assert!(step["elapsed_ms"].as_u64().is_some(), "{step}");
        step["elapsed_ms"] = 0.into();
    }
    for used in outputs["used_tools"].as_object_mut().unwrap().values_mut() {
        assert!(used["total_ms"].as_u64().is_some(), "{used}");
        used["total_ms"] = 0.into();
    }
    outputs
}

/// The wrong fields that an answer names.
fn wrong(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 422, "{}", answer.body);
    let errors = answer.json()["errors"].as_array().unwrap().clone();
    errors
        .iter()
        .map(|error| format!("{} {}", error["pointer"].as_str().unwrap(), error["detail"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn a_run_is_answered_with_its_outputs_field_by_field() {
    let place = Place::start().await;
    let answer = place.post(ADDRESS, prompt(&place.model(READS), json!({"primary_output": "final_answer"}))).await;
    let trace = answer.json()["trace_id"].as_str().unwrap().to_string();
    assert_eq!(answer.header("location"), Some(format!("/api/traces/{trace}").as_str()));
    assert_eq!(
        outputs(&answer),
        json!({
            "final_answer": "It says hello.",
            "trace": [{
                "step": 1,
                "action": {"tool": "read_text_file", "args": {"path": "README.md"}},
                "observation": "hello world\n",
                "elapsed_ms": 0,
            }],
            "used_tools": {"read_text_file": {"count": 1, "total_ms": 0}},
            "finish_reason": "final",
        })
    );
    let known = place.get(&format!("/api/traces/{trace}")).await.json();
    assert_eq!((known["status"].as_str(), known["finish_reason"].as_str()), (Some("completed"), Some("final")));
    let keys: Vec<String> = answer.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["outputs", "trace_id"]);
}

#[tokio::test]
async fn every_wrong_field_is_named_by_its_pointer() {
    let place = Place::start().await;
    let model = place.model(FINAL);
    let body = json!({
        "config": {"temperature": 3, "max_steps": 0, "allowed_tools": "read", "colour": 1, "primary_output": "trace", "timeout": 0},
        "prompt": 7, "more": 1,
    });
    let told = wrong(&place.post(ADDRESS, body).await);
    for pointer in [
        "/config/temperature",
        "/config/max_steps",
        "/config/allowed_tools",
        "/config/colour",
        "/config/primary_output",
        "/config/timeout",
        "/prompt",
        "/more",
    ] {
        assert!(told.iter().any(|line| line.starts_with(&format!("{pointer} "))), "{pointer}: {told:#?}");
    }
    assert!(told.iter().any(|line| line.contains("model")), "{told:#?}");
    // What only the host knows is told together, too.
    let body = json!({"config": {
        "model": "nobody:knows", "max_steps": 1, "allowed_tools": ["read", "no_such_tool", "read_text_file", "ask_human", "web_fetch"],
    }});
    let told = wrong(&place.post(ADDRESS, body).await);
    let pointers: Vec<&str> = told.iter().filter_map(|line| line.split(' ').next()).collect();
    let all = [
        "/prompt",
        "/config/allowed_tools/1",
        "/config/allowed_tools/2",
        "/config/allowed_tools/3",
        "/config/allowed_tools/4",
        "/config/model",
    ];
    assert_eq!(pointers, all, "{told:#?}");
    assert!(told[3].contains("nobody can be asked"), "{told:#?}");
    // Also where the schema does not allow the request.
    let body = json!({"config": {"model": "nope", "allowed_tools": ["zz"], "max_steps": 0}});
    let told = wrong(&place.post(ADDRESS, body).await);
    let mut pointers: Vec<&str> = told.iter().filter_map(|line| line.split(' ').next()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/config/allowed_tools/0", "/config/max_steps", "/config/model", "/prompt"], "{told:#?}");
    let told = wrong(&place.post(ADDRESS, json!({"config": {}})).await);
    let mut pointers: Vec<&str> = told.iter().filter_map(|line| line.split(' ').next()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/config/allowed_tools", "/config/max_steps", "/config/model", "/prompt"], "{told:#?}");
    for (more, pointer) in [
        (json!({"prompt": " "}), "/prompt is empty"),
        (json!({"prompt": "x", "messages_json": []}), "/messages_json give prompt or messages_json, not both"),
        (json!({"messages_json": []}), "/messages_json has no message to answer"),
        (json!({"messages_json": "{"}), "/messages_json it is not JSON"),
        (
            json!({"messages_json": [{"role": "assistant", "content": "Hi."}]}),
            "/messages_json the last message is not a user's",
        ),
    ] {
        let mut body = json!({"config": {"model": model, "max_steps": 1, "allowed_tools": []}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let told = wrong(&place.post(ADDRESS, body).await);
        assert!(told.len() == 1 && told[0].starts_with(pointer), "{told:#?}");
    }
    assert_eq!(place.get("/api/traces").await.json(), json!({"traces": []}));
}

#[tokio::test]
async fn a_conversation_that_is_kept_elsewhere_is_answered_in_any_vendors_form() {
    let (place, server) = (Place::start().await, talker());
    let neutral = json!([
        {"role": "user", "parts": [{"type": "text", "text": "I am Ada."}]},
        {"role": "assistant", "parts": [{"type": "text", "text": "Hello Ada."}]},
        {"role": "user", "parts": [{"type": "text", "text": "Who am I?"}]},
    ]);
    let openai = json!([
        {"role": "user", "content": "I am Ada."}, {"role": "assistant", "content": "Hello Ada."}, {"role": "user", "content": "Who am I?"},
    ]);
    let gemini = json!([
        {"role": "user", "parts": [{"text": "I am Ada."}]}, {"role": "model", "parts": [{"text": "Hello Ada."}]},
        {"role": "user", "parts": [{"text": "Who am I?"}]},
    ]);
    for messages in [neutral, openai.clone(), gemini, openai.to_string().into()] {
        let body = json!({"config": {"model": server.model(), "max_steps": 2, "allowed_tools": []}, "messages_json": messages});
        let answer = place.post(ADDRESS, body).await;
        assert_eq!(outputs(&answer)["final_answer"], "3 messages", "{messages}");
    }
    assert_eq!(server.violations(), Vec::<String>::new());
}

/// A model that says in the text protocol how many messages it was shown.
fn talker() -> ModelServer {
    ModelServer::start(Behaviour::new(|request| {
        let said = request.count("user") + request.count("assistant");
        Reply::from(Said::text(&json!({"type": "final", "answer": format!("{said} messages")}).to_string()))
    }))
    .unwrap()
}

#[tokio::test]
async fn the_model_speaks_one_bare_object_a_turn_and_is_asked_again_once() {
    let place = Place::start().await;
    let action = json!({"type": "action", "tool": "read_text_file", "args": {"path": "README.md"}}).to_string();
    let last = json!({"type": "final", "answer": "Read."}).to_string();
    let replies =
        |texts: &[&str]| Behaviour::in_order(texts.iter().map(|text| Reply::from(Said::text(text))).collect());
    let server = ModelServer::start(replies(&[&action, &format!("Here you are: {last}"), &last])).unwrap();
    let answer = place.post(ADDRESS, prompt(&server.model(), json!({}))).await;
    let repaired = outputs(&answer);
    assert_eq!(
        (&repaired["final_answer"], &repaired["finish_reason"]),
        (&json!("Read."), &json!("final")),
        "{repaired}"
    );
    assert_eq!(repaired["trace"].as_array().unwrap().len(), 1);
    assert!(server.requests()[0].body()["tools"].is_null(), "tools are described in the text");
    let server = ModelServer::start(replies(&["I say it in words.", "Again in words."])).unwrap();
    let answer = place.post(ADDRESS, prompt(&server.model(), json!({}))).await;
    let refused = outputs(&answer);
    assert_eq!((&refused["finish_reason"], &refused["trace"]), (&json!("protocol_error"), &json!([])));
}

#[tokio::test]
async fn limits_and_denials_have_their_own_words() {
    let place = Place::start().await;
    let answer = place.post(ADDRESS, prompt(&place.model(READS), json!({"max_steps": 1}))).await;
    assert_eq!(outputs(&answer)["finish_reason"], "max_turns");
    // Nobody can be asked: what would need a person is denied, and the model is told.
    let answer = place.post(ADDRESS, prompt(&place.model(WRITES), json!({"allowed_tools": ["write_text_file"]}))).await;
    let denied = outputs(&answer);
    assert_eq!((&denied["trace"][0]["error"], &denied["used_tools"]), (&json!("denied"), &json!({})), "{denied}");
    assert!(denied["trace"][0]["observation"].as_str().unwrap().starts_with("Denied"), "{denied}");
    assert!(!place.work().join("a.txt").exists());
    // A tool that is not among those that are allowed is none.
    let answer = place.post(ADDRESS, prompt(&place.model(READS), json!({"allowed_tools": ["grep"]}))).await;
    assert_ne!(outputs(&answer)["trace"][0]["error"], Value::Null);
    assert_eq!(outputs(&answer)["used_tools"], json!({}));
    // Arguments that the tool does not take never run.
    let script = "[[turn]]\ncalls = [{ tool = \"read_text_file\", args = { file = \"README.md\" } }]\n[[turn]]\nfinal = \"No.\"\n";
    let answer = outputs(&place.post(ADDRESS, prompt(&place.model(script), json!({}))).await);
    assert_eq!((&answer["trace"][0]["error"], &answer["used_tools"]), (&json!("refused"), &json!({})), "{answer}");
}

#[tokio::test]
async fn an_observation_is_what_the_model_saw_cut_and_without_secrets() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("work")).unwrap();
    std::fs::create_dir_all(dir.path().join("home")).unwrap();
    std::fs::write(dir.path().join("home/config.toml"), "[secrets]\nTILL = \"correct-horse-battery\"\n").unwrap();
    std::fs::write(dir.path().join("work/README.md"), format!("correct-horse-battery {}\n", "x".repeat(300))).unwrap();
    let place = Place::again(dir, |_| {}).await;
    let answer = place.post(ADDRESS, prompt(&place.model(READS), json!({"observation_max_len": 60}))).await;
    let outputs = outputs(&answer);
    let seen = outputs["trace"][0]["observation"].as_str().unwrap();
    assert_eq!((seen.chars().count(), seen.ends_with("xx […]")), (64, true), "{seen}");
    assert!(!answer.body.contains("correct-horse"), "{}", answer.body);
}

#[tokio::test]
async fn under_one_key_it_is_one_run_and_streamed_it_is_the_same() {
    let place = Place::start().await;
    let body = prompt(&place.model(READS), json!({})).to_string();
    let once = |accept: &str| vec![place.bearer(), "idempotency-key: order-7".into(), format!("accept: {accept}")];
    let first = place.ask("POST", ADDRESS, &once("application/json"), &body).await;
    let again = place.ask("POST", ADDRESS, &once("*/*"), &body).await;
    assert_eq!((first.status, &first.body), (200, &again.body));
    let other = prompt(&place.model(FINAL), json!({})).to_string();
    assert_eq!(place.ask("POST", ADDRESS, &once("*/*"), &other).await.status, 409);
    let streamed = place.ask("POST", ADDRESS, &once("text/event-stream"), &body).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    let frames: Vec<&str> = streamed.body.split("\n\n").filter(|frame| frame.contains("event: ")).collect();
    let names: Vec<&str> =
        frames.iter().filter_map(|frame| frame.lines().find_map(|line| line.strip_prefix("event: "))).collect();
    for name in ["run_started", "action_planned", "action_executed", "observation_recorded", "run_finished"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!((names.last(), names.iter().filter(|name| **name == "result").count()), (Some(&"result"), 1));
    let data = frames.last().unwrap().lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let result: Value = serde_json::from_str(data).unwrap();
    let first = first.json();
    assert_eq!((&result["outputs"], &result["trace_id"]), (&first["outputs"], &first["trace_id"]));
}

/// A script that takes longer than the server is there.
const LATE: &str = "[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n";

/// The traces that run now, of a request with these words.
async fn running(place: &Place, task: &str) -> Option<String> {
    let running = place.get("/api/traces/running").await.json();
    let rows = running["traces"].as_array()?.iter();
    let row = rows.into_iter().find(|row| row["task"].as_str().is_some_and(|known| known.contains(task)))?;
    row["trace_id"].as_str().map(String::from)
}

/// Sends a request that waits. Returns its connection and its trace.
async fn waits(place: &Place, task: &str, headers: &[String]) -> (TcpStream, String) {
    let mut body = prompt(&place.model(LATE), json!({}));
    body["prompt"] = task.into();
    let headers = [&[place.bearer()], headers].concat();
    let stream = place.send("POST", ADDRESS, &headers, &body.to_string()).await;
    let trace = until("the run", async || running(place, task).await).await;
    (stream, trace)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_answered_when_the_server_stops_and_the_work_is_not_doubled() {
    let place = Place::with(|settings| settings.rest = Duration::from_millis(500)).await;
    let (mut plain, first) = waits(&place, "Say one.", &[]).await;
    let (mut streamed, second) = waits(&place, "Say two.", &["accept: text/event-stream".into()]).await;
    let key = "idempotency-key: order-9".to_string();
    let (mut keyed, third) = waits(&place, "Say three.", std::slice::from_ref(&key)).await;
    read_until(&mut streamed, "event: open").await;
    let dir = place.end().await;
    let mut text = String::new();
    plain.read_to_string(&mut text).await.unwrap();
    let answer = read(&text);
    assert_eq!((answer.status, answer.json()["type"].clone()), (503, json!("/problems/run-cut-off")), "{text}");
    assert_eq!((answer.header("x-should-retry"), answer.header("mainpath-trace")), (Some("false"), Some(&*first)));
    assert!(answer.json()["detail"].as_str().unwrap().contains(&first), "{text}");
    let mut text = String::new();
    streamed.read_to_string(&mut text).await.unwrap();
    assert!(text.contains("event: problem\n") && text.contains("/problems/run-cut-off"), "{text}");
    assert!(text.contains(&second) && !text.contains("event: result"), "{text}");
    let mut text = String::new();
    keyed.read_to_string(&mut text).await.unwrap();
    let answer = read(&text);
    let wanted = (503, Some("1"), None);
    assert_eq!((answer.status, answer.header("retry-after"), answer.header("x-should-retry")), wanted, "{text}");
    // The next start continues the run under a key alone.
    let marks = std::fs::read_to_string(dir.path().join("home/server/running.log")).unwrap();
    let depends = |trace: &str| {
        let mut lines = marks.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        lines.any(|words| words.len() == 3 && words[0] == "@" && words[2] == trace)
    };
    assert_eq!([&first, &second, &third].map(|trace| depends(trace)), [true, true, false], "{marks}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_caller_goes_away_is_left_to_the_next_start() {
    let place = Place::with(|settings| settings.rest = Duration::from_millis(500)).await;
    let marks = place.dir.path().join("home/server/running.log");
    for (task, accept) in [("Say one.", "accept: application/json"), ("Say two.", "accept: text/event-stream")] {
        let (mut stream, trace) = waits(&place, task, &[accept.into()]).await;
        if accept.ends_with("stream") {
            read_until(&mut stream, "event: open").await;
        }
        drop(stream);
        let is_free =
            async || std::fs::read_to_string(&marks).unwrap().contains(&format!("@ - {trace}\n")).then_some(());
        until("its mark", is_free).await;
        assert!(running(&place, task).await.is_some(), "it continues");
    }
    place.end().await;
}
