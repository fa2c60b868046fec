//! Wrong requests: one clear problem, and nothing done.

use crate::support::{Answer, Place, READS, WRITES};
use mainpath::Error;
use mainpath::index::IndexError;
use mainpath_server::problem::Problem;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn pointers(problem: &Value) -> Vec<&str> {
    problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_field_is_named() {
    let place = Place::start().await;
    let wrong = json!({
        "task": 1, "temperature": 3, "limits": {"max_tokens": -1, "max_turns": 1}, "mode": "chat", "surprise": true,
    });
    let answer = place.post("/api/traces", wrong).await;
    assert_eq!((answer.status, answer.header("content-type")), (422, Some("application/problem+json")));
    let problem = answer.json();
    assert_eq!(problem["type"], "/problems/invalid");
    let mut named = pointers(&problem);
    named.sort_unstable();
    assert_eq!(named, ["/limits/max_tokens", "/limits/max_turns", "/mode", "/surprise", "/task", "/temperature"]);
    let answer = place.get("/api/traces?limit=0&cursor=%00&what=1").await;
    assert_eq!(pointers(&answer.json()), ["/what", "/limit"], "{}", answer.body);
    let answer = place.get("/api/traces?cursor=abc").await;
    assert_eq!((answer.status, pointers(&answer.json())), (422, vec!["/cursor"]));
    let model = place.model(READS);
    for (body, pointer) in [
        (json!({}), "/task"),
        (json!({"task": "  "}), "/task"),
        (json!({"task": "a", "messages": []}), "/messages"),
        (json!({"messages": [{"role": "assistant", "content": "hi"}], "model": model}), "/messages"),
        (json!({"messages": [], "model": model}), "/messages"),
        (json!({"task": "a", "agent": "nobody", "model": model}), "/agent"),
        (json!({"task": "a", "model": "nobody"}), "/model"),
        (json!({"task": "a"}), "/model"),
        (json!({"task": "a", "model": "scripted:/dev/zero"}), "/model"),
        (json!({"task": "a", "model": model, "parent_trace_id": "nobody"}), "/parent_trace_id"),
        (json!({"task": "a", "model": model, "prompt_name": "../x"}), "/prompt_name"),
        (json!({"task": "a", "rules": {"deny": ["bash("]}, "model": model}), "/rules/deny/0"),
    ] {
        let answer = place.post("/api/traces", body.clone()).await;
        assert!(matches!(answer.status, 404 | 422), "{body}: {}", answer.body);
        if answer.status == 422 {
            assert_eq!(pointers(&answer.json()), [pointer], "{body}: {}", answer.body);
        }
    }
    assert_eq!(place.get("/api/traces").await.json(), json!({"traces": []}));
    place.end().await;
}

/// A server whose home has presets and a secret.
async fn with_presets() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let (home, work) = (dir.path().join("home"), dir.path().join("work"));
    std::fs::create_dir_all(home.join("agents")).unwrap();
    std::fs::create_dir_all(work.join(".mainpath/agents")).unwrap();
    std::fs::create_dir_all(work.join(".git")).unwrap();
    std::fs::write(home.join("config.toml"), "[secrets]\nTILL = \"correct-horse-battery\"\n").unwrap();
    let preset = |folder: &str, name: &str, more: &str| {
        let text = format!("---\nname: {name}\ndescription: It helps.\n{more}---\nHelp.\n");
        std::fs::write(dir.path().join(folder).join(format!("{name}.md")), text).unwrap();
    };
    preset("home/agents", "faulty", "max_turns: many\n");
    preset("home/agents", "skilled", "skills: [no-such-skill]\n");
    preset("work/.mainpath/agents", "untrusted", "");
    Place::again(dir, |_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_of_a_new_agent_that_is_wrong_is_named_by_its_pointer() {
    let place = with_presets().await;
    let model = place.model(READS);
    let key = format!("key-{}", "0".repeat(24));
    let secret = "bash(echo correct-horse-battery)";
    let unpriced = "openai-compatible:http://127.0.0.1:9/v1#m";
    let elsewhere = "scripted:/correct-horse-battery.toml";
    // What is sent besides the usual task and model, and the fields that are named; null takes one away.
    let wrong = [
        (json!({"task": 1}), "/task"),
        (json!({"task": null}), "/task"),
        (json!({"task": "  "}), "/task"),
        (json!({"task": "/no-such-skill now"}), "/task"),
        (json!({"messages": []}), "/messages"),
        (json!({"task": null, "messages": []}), "/messages"),
        (json!({"task": null, "messages": [{"role": "assistant", "content": "hi"}]}), "/messages"),
        (json!({"task": null, "messages": [{"role": "nobody"}]}), "/messages"),
        (json!({"model": 1}), "/model"),
        (json!({"model": null}), "/model"),
        (json!({"model": "nobody"}), "/model"),
        (json!({"model": "no-such-provider:x"}), "/model"),
        (json!({"model": "scripted:/dev/zero"}), "/model"),
        (json!({"model": "playback:x#"}), "/model"),
        (json!({"model": elsewhere}), "/model"),
        (json!({"agent": 1}), "/agent"),
        (json!({"agent": "nobody"}), "/agent"),
        (json!({"agent": "faulty"}), "/agent"),
        (json!({"agent": "skilled"}), "/agent"),
        (json!({"agent": "untrusted"}), "/agent"),
        (json!({"agent_type": 1}), "/agent_type"),
        (json!({"agent_type": "nobody"}), "/agent_type"),
        (json!({"workspace": 1}), "/workspace"),
        (json!({"workspace": "/etc"}), "/workspace"),
        (json!({"workspace": ".git"}), "/workspace"),
        (json!({"trace_id": "../x"}), "/trace_id"),
        (json!({"trace_id": "running"}), "/trace_id"),
        (json!({"trace_id": key}), "/trace_id"),
        (json!({"trace_id": "correct-horse-battery"}), "/trace_id"),
        (json!({"name": "a\nb"}), "/name"),
        (json!({"uid": 1}), "/uid"),
        (json!({"system_prompt": 1}), "/system_prompt"),
        (json!({"prompt_name": "../x"}), "/prompt_name"),
        (json!({"prompt_name": "missing"}), "/prompt_name"),
        (json!({"instructions": 1}), "/instructions"),
        (json!({"temperature": 3}), "/temperature"),
        (json!({"effort": "much"}), "/effort"),
        (json!({"tools": ["read", 1]}), "/tools/1"),
        (json!({"tools": ["no_such_tool"]}), "/tools"),
        (json!({"tools": ["read", "read"]}), "/tools"),
        (json!({"skills": [1]}), "/skills/0"),
        (json!({"skills": ["no-such-skill"]}), "/skills"),
        (json!({"mode": "chat"}), "/mode"),
        (json!({"enable_memory": 1}), "/enable_memory"),
        (json!({"auto_execute_tools": 1}), "/auto_execute_tools"),
        (json!({"approvals": "maybe"}), "/approvals"),
        (json!({"access": "all"}), "/access"),
        (json!({"rules": {"allow": ["read", "bash("]}}), "/rules/allow/1"),
        (json!({"rules": {"allow": ["read", "bsh(ls)"]}}), "/rules/allow/1"),
        (json!({"rules": {"allow": ["read", "write(content=*x*)"]}}), "/rules/allow/1"),
        (json!({"rules": {"ask": ["read", "bash("]}}), "/rules/ask/1"),
        (json!({"rules": {"deny": ["read", "bash("]}}), "/rules/deny/1"),
        (json!({"rules": {"deny": ["read", "bash", "goal(colour=red)"]}}), "/rules/deny/2"),
        (json!({"rules": {"deny": ["read", secret]}}), "/rules/deny/1"),
        (json!({"rules": {"never": []}}), "/rules/never"),
        (json!({"limits": {"max_iterations": -1}}), "/limits/max_iterations"),
        (json!({"limits": {"max_tool_calls": -1}}), "/limits/max_tool_calls"),
        (json!({"limits": {"max_calls_per_turn": -1}}), "/limits/max_calls_per_turn"),
        (json!({"limits": {"max_script_runs": -1}}), "/limits/max_script_runs"),
        (json!({"limits": {"max_tokens": -1}}), "/limits/max_tokens"),
        (json!({"limits": {"max_cost_micros": -1}}), "/limits/max_cost_micros"),
        (json!({"limits": {"max_cost_micros": 5}, "model": unpriced}), "/limits/max_cost_micros"),
        (json!({"limits": {"timeout_s": -1}}), "/limits/timeout_s"),
        (json!({"limits": {"call_timeout_s": -1}}), "/limits/call_timeout_s"),
        (json!({"limits": {"approval_timeout_s": -1}}), "/limits/approval_timeout_s"),
        (json!({"limits": {"repeated_failures": -1}}), "/limits/repeated_failures"),
        (json!({"output_schema": 1}), "/output_schema"),
        (json!({"output_schema": {"type": 1}}), "/output_schema"),
        (json!({"fallback": [model, 1]}), "/fallback/1"),
        (json!({"fallback": [model, "nope:z"]}), "/fallback/1"),
        (json!({"fallback": [model, model, elsewhere]}), "/fallback/2"),
        (json!({"parent_trace_id": "nobody"}), "/parent_trace_id"),
        (json!({"parent_goal_id": "one"}), "/parent_goal_id"),
        (json!({"context": 1}), "/context"),
        (json!({"surprise": 1}), "/surprise"),
    ];
    let mut told = Vec::new();
    for (more, pointer) in &wrong {
        let mut body = json!({"task": "Look.", "model": model});
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        fields.retain(|_, value| !value.is_null());
        let (status, fields, said) = placed(&place.post("/api/traces", body).await);
        if (status, fields) != (422, vec![format!("body {pointer}")]) {
            told.push(format!("{more}: {status} {said}"));
        }
    }
    assert_eq!(told, [""; 0]);
    assert_eq!(place.get("/api/traces").await.json(), json!({"traces": []}));
    // A new field is another line of this table.
    let document = place.get("/openapi.json").await.json();
    let schemas = &document["components"]["schemas"];
    let fields = |name: &str, at: &str| -> Vec<String> {
        schemas[name]["properties"].as_object().unwrap().keys().map(|field| format!("{at}/{field}")).collect()
    };
    let all = [fields("NewAgent", ""), fields("NewAgentRules", "/rules"), fields("NewAgentLimits", "/limits")].concat();
    let is_missing = |field: &&String| !wrong.iter().any(|(_, pointer)| pointer.starts_with(field.as_str()));
    assert_eq!(all.iter().filter(is_missing).collect::<Vec<_>>(), [""; 0]);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_names_a_skill_which_may_not_be_used_is_refused() {
    let place = Place::start().await;
    let folder = place.work().join(".mainpath/skills/theirs");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), "---\nname: theirs\ndescription: It helps.\n---\nHelp.\n").unwrap();
    let body = json!({"task": "/theirs now", "model": place.model(READS)});
    let answer = place.post("/api/traces", body).await;
    let detail = "the skill \"theirs\" of this project cannot be used: you have not trusted it; look at it, then: mainpath skills trust theirs";
    let title = "It cannot do that as it stands";
    let told = json!({"type": "/problems/refused", "status": 409, "title": title, "detail": detail});
    assert_eq!((answer.status, answer.json()), (409, told));
    assert_eq!(place.get("/api/traces").await.json(), json!({"traces": []}));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_json_too_large_or_breaks_off_is_said() {
    let place = Place::with(|settings| settings.max_body = 1000).await;
    for body in ["", "{", "[1", "\u{0}"] {
        let answer = place.ask("POST", "/api/traces/x/steer", &[place.bearer()], body).await;
        assert_eq!((answer.status, answer.json()["type"].clone()), (400, json!("/problems/not-json")), "{body:?}");
    }
    let large = format!("{{\"task\":\"{}\"}}", "a".repeat(2000));
    let answer = place.ask("POST", "/api/traces", &[place.bearer()], &large).await;
    assert_eq!((answer.status, answer.json()["type"].clone()), (413, json!("/problems/too-large")));
    // Without a length, in chunks.
    let mut stream = tokio::net::TcpStream::connect(place.address).await.unwrap();
    let head = format!(
        "POST /api/traces HTTP/1.1\r\nhost: {}\r\n{}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        place.address,
        place.bearer()
    );
    stream.write_all(format!("{head}7d0\r\n{}\r\n0\r\n\r\n", "b".repeat(2000)).as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
    // It breaks off, and the server lives.
    let mut stream = tokio::net::TcpStream::connect(place.address).await.unwrap();
    let head = head.replace("transfer-encoding: chunked", "content-length: 500");
    stream.write_all(format!("{head}{{\"task\"").as_bytes()).await.unwrap();
    drop(stream);
    assert_eq!(place.get("/health").await.status, 200);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_with_tricks_and_unknown_addresses_are_not_found() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    for id in ["..", "%2e%2e", "..%2f..%2fetc", "a%00b", &"x".repeat(5000), "nobody", "%ff", "home", "server"] {
        let answer = place.get(&format!("/api/traces/{id}")).await;
        assert!(matches!(answer.status, 404 | 400), "{id}: {} {}", answer.status, answer.body);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{id}: {}", answer.body);
    }
    assert_eq!(place.get("/nothing").await.json()["type"], "/problems/not-found");
    let wrong = place.ask("DELETE", "/api/traces", &[place.bearer()], "").await;
    assert_eq!((wrong.status, wrong.json()["type"].clone()), (405, json!("/problems/method-not-allowed")));
    assert_eq!(
        place.post(&format!("/api/traces/{trace}/approvals/9.9"), json!({"decision": "approve"})).await.status,
        404
    );
    assert_eq!(
        place.post(&format!("/api/traces/{trace}/approvals/x"), json!({"decision": "approve"})).await.status,
        404
    );
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_are_found_by_tool_and_by_time_and_events_by_turn_and_from_the_end() {
    let place = Place::start().await;
    let reads = place.run(READS).await;
    let says = place.run("[[turn]]\nfinal = \"Nothing to do.\"").await;
    let found = async |query: &str| {
        let answer = place.get(&format!("/api/traces?{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let json = answer.json();
        let ids = json["traces"].as_array().unwrap().iter().map(|row| row["trace_id"].as_str().unwrap().to_string());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(found("tool=read_text_file").await, std::slice::from_ref(&reads));
    assert!(found("tool=bash").await.is_empty() && found("tool=%27%22%29").await.is_empty());
    assert_eq!(found("since=2020-01-01T00:00:00Z").await, [says.clone(), reads.clone()]);
    assert_eq!(found("since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00.5Z").await.len(), 2);
    assert!(
        found("until=2020-01-01T00:00:00Z").await.is_empty() && found("since=2999-01-01T00:00:00Z").await.is_empty()
    );
    let answer = place.get("/api/traces?since=yesterday&until=2020-01-01T00:00:00Z").await;
    assert_eq!((answer.status, pointers(&answer.json())), (422, vec!["/since"]));

    let whole = place.get(&format!("/api/traces/{reads}/events?limit=500")).await.json();
    let (events, head) = (whole["events"].as_array().unwrap(), whole["head"].as_u64().unwrap());
    let page = place.get(&format!("/api/traces/{reads}/events?last=true&limit=3")).await.json();
    let last: Vec<&Value> = events.iter().filter(|event| event["id"].as_u64().unwrap() > head - 3).collect();
    assert_eq!((page["events"].as_array().unwrap().iter().collect::<Vec<_>>(), &page["next"]), (last, &Value::Null));
    assert_eq!(place.get(&format!("/api/traces/{reads}/events?last=true&limit=500")).await.json(), whole);
    let page = place.get(&format!("/api/traces/{reads}/events?turn=2&limit=500")).await.json();
    let turn: Vec<&Value> = events.iter().filter(|event| event["turn"].as_u64() >= Some(2)).collect();
    assert_eq!(page["events"].as_array().unwrap().iter().collect::<Vec<_>>(), turn);
    assert_eq!(page["events"][0]["type"], "turn_started");
    assert_eq!(place.get(&format!("/api/traces/{reads}/events?turn=9")).await.status, 404);
    for (query, pointer) in [("turn=1&last=true", "/turn"), ("after=3&last=true", "/last"), ("after=3&turn=1", "/turn")]
    {
        let answer = place.get(&format!("/api/traces/{reads}/events?{query}")).await;
        assert_eq!((answer.status, pointers(&answer.json())), (422, vec![pointer]), "{query}");
    }
    let stream = [place.bearer(), "accept: text/event-stream".into()];
    let answer = place.ask("GET", &format!("/api/traces/{reads}/events?turn=1"), &stream, "").await;
    assert_eq!((answer.status, pointers(&answer.json())), (422, vec!["/turn"]));
    place.end().await;
}

/// All of a list that is read by twos.
async fn by_twos(place: &Place, list: &str, name: &str) -> Vec<Value> {
    let list = format!("{list}{}limit=2", if list.contains('?') { '&' } else { '?' });
    let (mut seen, mut address) = (Vec::new(), list.clone());
    loop {
        let page = place.get(&address).await.json();
        let part = page[name].as_array().unwrap();
        assert!(part.len() <= 2, "{page}");
        seen.extend(part.clone());
        match page["next"].as_str() {
            Some(next) => address = format!("{list}&cursor={next}"),
            None => return seen,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_people_is_listed_in_parts() {
    let place = Place::start().await;
    let asks =
        "[[turn]]\ncalls = [{ tool = \"ask_human\", args = { question = \"Which?\" } }]\n[[turn]]\nfinal = \"Done.\"\n";
    let (mut writing, mut asking) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        writing.push(place.run(WRITES).await);
        asking.push(place.run(asks).await);
    }
    for (list, name, mut all) in [("/api/approvals", "approvals", writing), ("/api/questions", "questions", asking)] {
        all.reverse();
        let listed = by_twos(&place, list, name).await;
        let whose: Vec<&str> = listed.iter().map(|one| one["trace_id"].as_str().unwrap()).collect();
        assert_eq!(whose, all, "{list}");
        let answer = place.get(&format!("{list}?cursor=abc")).await;
        assert_eq!((answer.status, pointers(&answer.json())), (422, vec!["/cursor"]), "{list}");
    }
    assert!(by_twos(&place, "/api/traces/running", "traces").await.is_empty());
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_is_found_in_parts() {
    let place = Place::start().await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(place.run("[[turn]]\nfinal = \"A heron.\"\n").await);
    }
    runs.reverse();
    let found = by_twos(&place, "/api/search?q=heron", "places").await;
    let whose: Vec<&str> = found.iter().map(|one| one["trace"]["trace_id"].as_str().unwrap()).collect();
    assert_eq!(whose, runs);
    // One after the last of all, and texts that are none.
    let after_all = place.get("/api/search?q=heron&cursor=MSBh.1").await;
    assert_eq!((after_all.status, after_all.json()), (200, json!({"places": []})));
    for wrong in ["abc", "abc.1", "MSBh.x", "."] {
        let answer = place.get(&format!("/api/search?q=heron&cursor={wrong}")).await;
        assert_eq!((answer.status, pointers(&answer.json())), (422, vec!["/cursor"]), "{wrong}");
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_go_on_where_they_ended() {
    let place = Place::start().await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(place.run(READS).await);
    }
    let rows = by_twos(&place, "/api/traces", "traces").await;
    let seen: Vec<&str> = rows.iter().map(|row| row["trace_id"].as_str().unwrap()).collect();
    all.reverse();
    assert_eq!(seen, all);
    let trace = &all[0];
    let whole = place.get(&format!("/api/traces/{trace}/messages")).await.json();
    let (mut said, mut address) = (Vec::new(), format!("/api/traces/{trace}/messages?limit=1"));
    loop {
        let page = place.get(&address).await.json();
        said.extend(page["messages"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => address = format!("/api/traces/{trace}/messages?limit=1&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(json!(said), whole["messages"]);
    assert_eq!(said.len(), 4);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_goes_back_and_is_copied() {
    let place = Place::start().await;
    let trace = place.run(READS).await;
    let waits = || vec![place.bearer(), "prefer: wait=20".to_string()];
    let say = |body: Value| {
        let (address, headers) = (format!("/api/traces/{trace}/run"), waits());
        let place = &place;
        async move { place.ask("POST", &address, &headers, &body.to_string()).await }
    };
    let more = say(json!({"messages": [{"role": "user", "content": "And now?"}]})).await;
    assert_eq!(
        (more.status, more.json()["status"].clone(), more.json()["outcome"]["run"].clone()),
        (200, json!("ended"), json!(2))
    );
    let back = say(json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "Another way."}]}], "after_sequence": 1})).await;
    assert_eq!((back.status, back.json()["outcome"]["run"].clone()), (200, json!(3)), "{}", back.body);
    let path = place.get(&format!("/api/traces/{trace}/messages")).await.json();
    let texts: Vec<&str> =
        path["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(texts, ["Look around.", "Another way."]);
    let all = place.get(&format!("/api/traces/{trace}/messages?mode=all")).await.json();
    assert!(all["messages"].as_array().unwrap().len() > path["messages"].as_array().unwrap().len());
    let copy = place.post(&format!("/api/traces/{trace}/fork"), json!({"at_sequence": 1})).await;
    assert_eq!(copy.status, 201, "{}", copy.body);
    let copied = copy.json()["trace_id"].as_str().unwrap().to_string();
    let compared = place.get(&format!("/api/compare?a={trace}&b={copied}")).await.json();
    assert_eq!(compared["common"], 1, "{compared}");
    for wrong in [json!({"messages": [{"role": "assistant", "content": "x"}]}), json!({"messages": [{"role": "user"}]})]
    {
        assert_eq!(say(wrong).await.status, 422);
    }
    place.end().await;
}

/// Where the fields stand that a problem names, and what it says in a line.
fn placed(answer: &Answer) -> (u16, Vec<String>, String) {
    let problem = answer.json();
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    let place = |error: &Value| format!("{} {}", error["in"].as_str().unwrap(), error["pointer"].as_str().unwrap());
    (answer.status, errors.iter().map(place).collect(), problem["detail"].as_str().unwrap().into())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_where_it_stands() {
    let place = Place::start().await;
    let (trace, model) = (place.run(READS).await, place.model(READS));
    let own = format!("/api/traces/{trace}");
    for (path, field, detail) in [
        (format!("{own}/context?turn=99"), "query /turn", format!("{trace} has no turn 99: it has turns 1 to 2")),
        ("/api/agents?workspace=/etc".into(), "query /workspace", String::new()),
        ("/api/traces?status=bad".into(), "query /status", "\"bad\" is not one of".into()),
        (format!("{own}/events?after=2&since_event_id=9"), "query /since_event_id", "is another name of after".into()),
    ] {
        let (status, fields, said) = placed(&place.get(&path).await);
        assert_eq!((status, fields), (422, vec![field.to_string()]), "{path}: {said}");
        assert!(said.starts_with(&format!("{field}: {detail}")), "{said}");
    }
    let start = |more: Value| {
        let mut body = json!({"task": "Look.", "model": model});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let none = format!("trace {trace} has no message 999; its last is 4");
    for (path, body, field, detail) in [
        ("/api/traces".to_string(), start(json!({"fallback": [model, "nope:z"]})), "body /fallback/1", ""),
        ("/api/traces".into(), start(json!({"rules": {"allow": ["read", "bash("]}})), "body /rules/allow/1", ""),
        ("/api/traces".into(), start(json!({"trace_id": "../x"})), "body /trace_id", ""),
        (format!("{own}/restore"), json!({"at_sequence": 999}), "body /at_sequence", &none),
        (format!("{own}/fork"), json!({"at_sequence": 999}), "body /at_sequence", &none),
        (format!("{own}/run"), json!({"after_sequence": 999}), "body /after_sequence", &none),
        (format!("{own}/regenerate"), json!({"after_sequence": 999}), "body /after_sequence", &none),
        (format!("{own}/rewind"), json!({"after_sequence": 999, "message": "x"}), "body /after_sequence", &none),
        (
            format!("{own}/run"),
            json!({"task": "more"}),
            "body /task",
            "is no field here; the fields are after_sequence, messages",
        ),
        (format!("{own}/resume"), json!({"task": "more"}), "body /task", "is no field here; there are none"),
    ] {
        let (status, fields, said) = placed(&place.post(&path, body).await);
        assert_eq!((status, fields), (422, vec![field.to_string()]), "{path}: {said}");
        assert!(said.starts_with(&format!("{field}: {detail}")), "{said}");
    }
    let twice = place.ask("POST", "/api/traces", &[place.bearer()], "{\"task\":\"a\",\"task\":\"b\"}").await;
    let (status, _, said) = placed(&twice);
    assert_eq!(
        (status, said),
        (400, "the body is not JSON: the name \"task\" is there twice at line 1 column 23".into())
    );
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_read_from_its_beginning_is_there_and_damaged() {
    let place = Place::start().await;
    let file = |trace: &str| place.dir.path().join(format!("home/traces/{trace}/events.jsonl"));
    let flipped = |mut log: Vec<u8>| {
        log[0] ^= 1;
        log
    };
    let beheaded = |log: Vec<u8>| log.splitn(2, |byte| *byte == b'\n').nth(1).unwrap().to_vec();
    let emptied = |_: Vec<u8>| Vec::new();
    let spoilt: [&dyn Fn(Vec<u8>) -> Vec<u8>; 3] = [&flipped, &beheaded, &emptied];
    for spoil in spoilt {
        let trace = place.run(READS).await;
        let log = std::fs::read(file(&trace)).unwrap();
        std::fs::write(file(&trace), spoil(log)).unwrap();
        let seen = place.get(&format!("/api/traces/{trace}")).await;
        assert_eq!((seen.status, seen.json()["status"].clone()), (200, json!("damaged")), "{}", seen.body);
        let checked = place.get(&format!("/api/traces/{trace}/verify")).await;
        assert_eq!((checked.status, checked.json()["holds"].clone()), (200, json!(false)), "{}", checked.body);
        let said = place.get(&format!("/api/traces/{trace}/messages")).await;
        assert_eq!((said.status, said.json()), (200, json!({"messages": []})));
        let events = place.get(&format!("/api/traces/{trace}/events")).await;
        assert_eq!((events.status, events.json()), (200, json!({"events": [], "head": 0})));
        let more = json!({"messages": [{"role": "user", "content": "More."}]});
        assert_eq!(place.post(&format!("/api/traces/{trace}/run"), more).await.status, 409);
    }
    // Of one that can be read up to a line, a copy goes on.
    let trace = place.run(READS).await;
    let log = std::fs::read_to_string(file(&trace)).unwrap();
    let lines: Vec<&str> = log.lines().enumerate().map(|(at, line)| if at == 2 { "garbage" } else { line }).collect();
    std::fs::write(file(&trace), lines.join("\n") + "\n").unwrap();
    let why = format!(
        "the log of trace {trace} is damaged or newer than this program, and can only be read; fork the trace to go on in a copy of what \
         can be read"
    );
    for path in ["run", "resume", "compact"] {
        let refused = place.post(&format!("/api/traces/{trace}/{path}"), json!({})).await;
        let said = refused.json();
        assert_eq!((refused.status, &said["type"], &said["detail"]), (409, &json!("/problems/refused"), &json!(why)));
    }
    place.end().await;
}

#[test]
fn a_full_disk_is_507_in_words() {
    for (kind, why) in [
        (std::io::ErrorKind::StorageFull, "nothing can be written: the disk is full"),
        (std::io::ErrorKind::ReadOnlyFilesystem, "nothing can be written: the disk is read-only"),
    ] {
        let problem = Problem::from(Error::from(std::io::Error::from(kind)));
        assert_eq!((problem.status, problem.detail.as_str()), (507, why));
    }
    let problem = Problem::from(Error::from(IndexError::Full("i.sqlite".into())));
    assert_eq!(
        (problem.status, problem.detail.as_str()),
        (507, "the index i.sqlite cannot be written: the disk is full")
    );
}
