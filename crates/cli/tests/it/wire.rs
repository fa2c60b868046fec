//! Events under their published names: as lines while a run goes on, and as a file beside the log.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn of<'a>(lines: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["type"] == kind)
}

fn one(lines: &[Value], kind: &str) -> Value {
    let found: Vec<&Value> = of(lines, kind).collect();
    assert_eq!(found.len(), 1, "{kind}: {found:#?}");
    found[0].clone()
}

/// The order in which names first appear.
fn names(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

#[test]
fn a_run_for_programs_has_deltas_and_every_line_says_whose_it_is() {
    let place = Place::new();
    let server = scripted(vec![
        Answer { text: "I look first.".into(), ..bash("echo heron; echo stork >&2; exit 3") },
        Answer::text("It printed heron."),
    ]);
    let done = place.run_on(&server, &["--yes", "--json", "Look."]);
    let all = lines(&done.out);
    let trace = place.trace();
    for line in &all {
        assert_eq!(
            (&line["trace_id"], line["v"].is_number(), line["ts"].is_string()),
            (&json!(trace), true, true),
            "{line}"
        );
        assert!(line["run_id"].as_str().unwrap().starts_with(&format!("{trace}/")), "{line}");
    }
    let text = |kind: &str| of(&all, kind).map(|line| line["data"]["text"].as_str().unwrap()).collect::<String>();
    assert_eq!(text("assistant_delta"), "I look first.It printed heron.");
    assert!(text("tool_output_delta").contains("heron"), "{all:#?}");
    assert_eq!(text("arguments_delta"), "{\"command\":\"echo heron; echo stork >&2; exit 3\"}");
    let partial = one(&all, "action_partial");
    assert_eq!((&partial["data"], &partial["turn"]), (&json!({"request": 1, "index": 0, "tool": "bash"}), &json!(1)));
    let turns: Vec<&Value> = of(&all, "turn_started").map(|line| &line["turn"]).collect();
    assert_eq!(turns, [1, 2]);
    let planned = one(&all, "action_planned");
    assert_eq!((&planned["data"]["reason"], &planned["data"]["tool"]), (&json!("I look first."), &json!("bash")));
    let executed = one(&all, "action_executed");
    assert_eq!(executed["data"]["result"]["error"], "exit_code", "{executed}");
    // Pieces are seen before what they are pieces of, and have no number to resume from.
    let names = names(&all);
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(
        at("assistant_delta") < at("model_response") && at("tool_output_delta") < at("action_executed"),
        "{names:?}"
    );
    let is_piece =
        |line: &&Value| line["type"].as_str().unwrap().ends_with("_delta") || line["type"] == "action_partial";
    assert!(all.iter().filter(is_piece).all(|line| line["id"].is_null()));
    // What is durable of it is the file beside the log, line by line.
    let durable: String = all.iter().filter(|line| !is_piece(line)).map(|line| format!("{line}\n")).collect();
    let file = || std::fs::read_to_string(place.file(&trace, "wire.jsonl")).unwrap();
    assert_eq!(file(), durable);
    std::fs::remove_file(place.file(&trace, "wire.jsonl")).unwrap();
    place.ok(&["replay"]);
    assert_eq!(file(), durable, "it comes back as it was");
}

#[test]
fn the_text_protocol_shows_what_is_known_before_the_turn_is_complete() {
    let place = Place::new();
    let plan = json!({
        "plan": {"goal": "Look", "steps": [{"id": "1", "title": "List", "status": "in_progress"}, {"id": "2", "title": "Tell"}],
                 "assumptions": [], "constraints": {"max_turns": 3, "never": ["delete", "write"]}},
        "action": {"type": "tool", "tool": "list_files", "args": {}, "reason": "only a list can tell"},
    });
    let next = json!({
        "plan": {"goal": "Look", "steps": [{"id": "1", "title": "List", "status": "completed"}, {"id": "3", "title": "Say"}]},
        "action": {"type": "tool", "tool": "list_files", "args": {"path": "."}, "reason": "once more"},
    });
    let last = json!({
        "plan_update": {"steps": [{"id": "3", "status": "completed"}]},
        "action": {"type": "final_answer", "reason": "it is known"}, "final_answer": {"content": "Nothing there."},
    });
    let server = scripted([plan, next, last].map(|turn| Answer::text(&turn.to_string())).into());
    let done = place.run_on(&server, &["--yes", "--json", "--profile", "skills", "--protocol", "json", "Look."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let all = lines(&done.out);
    let early: Vec<(&str, &str)> = of(&all, "action_partial")
        .filter_map(|line| Some((line["data"]["path"].as_str()?, line["data"]["value"].as_str()?)))
        .collect();
    let first = [
        ("$.action.type", "tool"),
        ("$.action.tool", "list_files"),
        ("$.plan.steps[0].title", "List"),
        ("$.plan.steps[1].title", "Tell"),
    ];
    for known in first.iter().chain(&[("$.plan.steps[1].title", "Say"), ("$.action.type", "final_answer")]) {
        assert!(early.contains(known), "{known:?} in {early:?}");
    }
    let said: String = of(&all, "assistant_delta").map(|line| line["data"]["text"].as_str().unwrap()).collect();
    assert_eq!(said, "Nothing there.");
    let reasons: Vec<&Value> = of(&all, "action_planned").map(|line| &line["data"]["reason"]).collect();
    assert_eq!(reasons, ["only a list can tell", "once more"]);
    // One plan is created once, what takes its place is an update, and each has the goals' numbers.
    let plans: Vec<(&str, &Value)> = all
        .iter()
        .filter(|line| line["type"].as_str().unwrap().starts_with("plan_"))
        .map(|line| (line["type"].as_str().unwrap(), &line["data"]))
        .collect();
    let kinds: Vec<&str> = plans.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["plan_created", "plan_updated", "plan_updated"]);
    let created = plans[0].1;
    assert_eq!((&created["mission"], &created["op"]), (&json!("Look"), &json!("set")));
    assert_eq!(created["constraints"], json!({"max_turns": 3, "never": ["delete", "write"]}), "as it was given");
    let step = json!({"id": "1", "title": "List", "status": "in_progress", "goal": 1});
    assert_eq!(created["steps"][0], step);
    assert_eq!(plans[2].1["steps"], json!([{"id": "3", "title": "Say", "status": "completed", "goal": 3}]));
    let goals: Value =
        serde_json::from_slice(&std::fs::read(place.file(&place.trace(), "goal.json")).unwrap()).unwrap();
    assert_eq!(goals["constraints"], json!([]), "what the newer plan does not name is no part of it");
}

#[test]
fn what_a_trace_belongs_to_is_in_its_meta_and_prices_are_exact() {
    let place = Place::new();
    std::fs::create_dir_all(&place.home).unwrap();
    let price = "[[model]]\nname = \"openai-compatible:*\"\nprice = { input = 1_000_000, output = 2_000_000 }\n";
    std::fs::write(place.home.join("models.toml"), price).unwrap();
    let server = scripted(vec![Answer::text("Done."), Answer::text("Again.")]);
    let more = ["--session", "pond", "--agent-type", "explore", "--parent-trace", "20260101-up", "--parent-goal", "3"];
    let ran =
        place.run_on(&server, &[&more[..], &["--context", "team=birds", "--context", "n=[1,2]", "Look."]].concat());
    assert_eq!(ran.code, 0, "{ran:#?}");
    let trace = place.trace();
    let meta =
        || -> Value { serde_json::from_slice(&std::fs::read(place.file(&trace, "meta.json")).unwrap()).unwrap() };
    let expected = json!({
        "agent_type": "explore", "session": "pond", "parent_trace_id": "20260101-up", "parent_goal_id": 3,
        "context": {"team": "birds", "n": [1, 2]}, "mode": "agent", "total_cost": 0.00002, "total_cost_micros": 20,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&meta()[name], value, "{name}");
    }
    // It stays what it was, and the words of the model's instructions are the same.
    place.run_on(&server, &["--session", "pond", "Again."]);
    assert_eq!(meta()["context"], expected["context"]);
    place.ok(&["replay"]);
    place.run_on(&server, &["--context", "none", "x"]).fails(2, "");
}

#[test]
fn a_request_made_again_with_less_names_its_session_and_a_fixed_reason() {
    use mainpath_testkit::model_server::Reply;
    let place = Place::new();
    let server = server(|request| match request.count("user") {
        1 if request.n == 1 => Reply::Error { status: 404, headers: Vec::new(), body: "{}".into() },
        _ => Answer::text("Here.").into(),
    });
    let done = place.run_on(&server, &["--json", "--session", "pond", "Look."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let repacked = one(&lines(&done.out), "request_repacked");
    let data = &repacked["data"];
    assert_eq!(
        (&data["chat_id"], &data["reason"], &data["retry"]),
        (&json!("pond"), &json!("http_404_fallback"), &json!(1))
    );
    assert!(data["message"].as_str().unwrap().contains("404"), "{data}");
}

#[test]
fn changes_of_the_plan_and_of_limits_are_printed_and_exported_with_their_numbers() {
    let place = Place::new();
    let set = json!({"op": "set", "steps": [{"id": "a", "title": "Look"}, {"id": "b", "title": "Write"}], "constraints": ["Delete nothing"]});
    let server = scripted(vec![
        Answer::call("goal", set).and_call("goal", json!({"op": "focus", "id": 1})),
        Answer::call("goal", json!({"op": "done", "summary": "Nothing there"}))
            .and_call("goal", json!({"op": "add", "description": "Check"})),
        Answer::text("Done."),
    ]);
    let ran = place.run_on(&server, &["--max-turns", "7", "Put the house in order."]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let printed: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("· plan: ")).collect();
    let expected = [
        "· plan: constraints: Delete nothing",
        "· plan: [>] 1. Look (a)",
        "· plan: [ ] 2. Write (b)",
        "· plan: [x] 1. Look (a) → Nothing there",
        "· plan: [ ] 3. Check",
    ];
    assert_eq!(printed, expected, "{}", ran.err);
    let trace = place.trace();
    place.ok(&["export", &trace, "--format", "trace-dir", "--out", "there"]);
    let folder = place.work.join("there").join(&trace);
    let events = lines(&std::fs::read_to_string(folder.join("events.jsonl")).unwrap());
    let ids: Vec<&Value> = events.iter().map(|line| &line["event_id"]).collect();
    assert_eq!(ids, [1, 2, 3], "{events:#?}");
    let told: Vec<(&str, &Value)> =
        events.iter().map(|line| (line["event"].as_str().unwrap(), &line["data"]["id"])).collect();
    assert_eq!(told, [("goal_updated", &json!(1)), ("goal_updated", &json!(1)), ("goal_added", &json!(3))]);
    let meta: Value = serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["last_event_id"], 3);
    let result: Value =
        serde_json::from_slice(&std::fs::read(folder.join(format!("messages/{trace}-0003.json"))).unwrap()).unwrap();
    let shown = result["content"]["result"].as_str().unwrap();
    assert!(shown.starts_with("Mission: Put the house in order."), "{result}");
    // A limit that changes is said, and on record.
    let server = scripted(vec![Answer::text("Again.")]);
    let again = place.run_on(&server, &["--trace", &trace, "--max-turns", "9", "And again."]);
    assert!(again.err.contains("· limits changed: turns 7 → 9\n"), "{}", again.err);
    let wire = lines(&std::fs::read_to_string(place.file(&trace, "wire.jsonl")).unwrap());
    assert_eq!(one(&wire, "budget_changed")["data"], json!({"turns": {"from": 7, "to": 9}, "by": "user"}));
}
